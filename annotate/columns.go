package annotate

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cgemu/cgemu/cgout"
)

// grouped returns a count with commas.
func grouped(c cgout.Count) string { return groupDigits(c.String()) }

func groupDigits(digits string) string {
	sign := ""
	if digits[0] == '-' {
		digits, sign = digits[1:], "-"
	}
	var b strings.Builder
	b.WriteString(sign)
	for i := range len(digits) {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteByte(digits[i])
	}
	return b.String()
}

// exact is the bound below which integers are exact as doubles.
const exact = 1 << 53

// percent returns 100*c/t, rounded once, with one decimal. t is not 0.
func percent(c, t cgout.Count) string {
	n, ok1 := c.Int64()
	d, ok2 := t.Int64()
	var f float64
	switch {
	case c.Sign() == 0:
		f = math.Copysign(0, float64(t.Sign()))
	case ok1 && ok2 && n > -exact/100 && n < exact/100 && d > -exact && d < exact:
		f = float64(n*100) / float64(d)
	default:
		hundred := new(big.Int).Mul(c.Big(), big.NewInt(100))
		f, _ = new(big.Rat).SetFrac(hundred, t.Big()).Float64()
	}
	return strconv.FormatFloat(f, 'f', 1, 64) + "%"
}

// A column is one event in a table: widths for the count, its share, and the
// cumulative share.
type column struct {
	event    int
	name     string
	total    cgout.Count
	percents bool
	derived  *Derived // instead of an event
	w        [3]int
}

// share returns the share of a plain or inner row.
func (c *column) share(n cgout.Count) string {
	switch {
	case !c.percents || n.Sign() == 0:
		return ""
	case c.total.Sign() == 0:
		return " (n/a)"
	}
	return " (" + percent(n, c.total) + ")"
}

// outerShare and cumulative return the two shares of an outer row.
func (c *column) outerShare(n cgout.Count) string {
	switch {
	case !c.percents:
		return ""
	case c.total.Sign() == 0:
		return " (n/a,"
	}
	return " (" + percent(n, c.total) + ","
}

func (c *column) cumulative(n cgout.Count) string {
	switch {
	case !c.percents:
		return ""
	case c.total.Sign() == 0:
		return " n/a)"
	}
	return " " + percent(n, c.total) + ")"
}

// fit widens a column to a text of part i.
func (c *column) fit(i int, text string) { c.w[i] = max(c.w[i], len(text)) }

// A layout is the columns of a table.
type layout []*column

// newLayout returns columns for the events shown, as wide as 0.
func (r *textReport) newLayout() layout {
	var l layout
	for _, e := range r.show {
		l = append(l, &column{event: e, name: r.o.visible(r.m.events[e]), total: r.m.total[e], percents: r.o.Percents})
	}
	for i := range r.derived {
		l = append(l, &column{name: r.o.visible(r.derived[i].Name), derived: &r.derived[i]})
	}
	return l
}

// text returns a derived column's text of a row.
func (d Derived) text(n, parent counts) string {
	f, ok := d.Value(n, parent)
	switch {
	case !ok:
		return "n/a"
	case d.Unit == unitPercent:
		return strconv.FormatFloat(f, 'f', 2, 64) + "%"
	}
	whole, _ := big.NewFloat(f).Int(nil)
	return groupDigits(whole.String())
}

// fitDerived makes derived columns fit a row.
func (l layout) fitDerived(n, parent counts) {
	for _, c := range l {
		if c.derived != nil {
			c.fit(0, c.derived.text(n, parent))
		}
	}
}

// extremes are the least and the greatest of some counts and 0, which alone
// decide widths.
type extremes struct{ lo, hi counts }

func newExtremes(events int) extremes {
	return extremes{make(counts, events), make(counts, events)}
}

func (x extremes) add(c counts) {
	for i, n := range c {
		if n.Cmp(x.lo[i]) < 0 {
			x.lo[i] = n
		}
		if n.Cmp(x.hi[i]) > 0 {
			x.hi[i] = n
		}
	}
}

// fitPlain makes columns fit rows without cumulative shares.
func (l layout) fitPlain(x extremes) layout {
	for _, c := range l {
		if c.derived != nil {
			continue
		}
		for _, n := range []cgout.Count{x.lo[c.event], x.hi[c.event]} {
			c.fit(0, grouped(n))
			c.fit(1, c.share(n))
		}
	}
	return l
}

// fitOuter makes columns fit rows with cumulative shares.
func (l layout) fitOuter(x, sums extremes) layout {
	for _, c := range l {
		if c.derived != nil {
			continue
		}
		for _, n := range []cgout.Count{x.lo[c.event], x.hi[c.event]} {
			c.fit(0, grouped(n))
			c.fit(1, c.outerShare(n))
		}
		c.fit(2, c.cumulative(sums.lo[c.event]))
		c.fit(2, c.cumulative(sums.hi[c.event]))
	}
	return l
}

// header returns the line above a table.
func (l layout) header(prefix, suffix string) string {
	var b strings.Builder
	b.WriteString(prefix)
	for _, c := range l {
		b.WriteString(c.name)
		fill(&b, '_', c.w[0]+c.w[1]+c.w[2]-utf8.RuneCountInString(c.name))
		b.WriteByte(' ')
	}
	return b.String() + suffix + "\n"
}

// row writes the columns of a row. texts returns the three parts of a column.
func (l layout) row(b *strings.Builder, texts func(c *column) [3]string) {
	for _, c := range l {
		fill(b, ' ', utf8.RuneCountInString(c.name)-c.w[0]-c.w[1]-c.w[2])
		for i, text := range texts(c) {
			fill(b, ' ', c.w[i]-len(text))
			b.WriteString(text)
		}
		b.WriteByte(' ')
	}
}

func fill(b *strings.Builder, with byte, n int) {
	for range max(n, 0) {
		b.WriteByte(with)
	}
}

// plain returns a row without cumulative shares. Parent is what it is a part of.
func (l layout) plain(n, parent counts, text string) string {
	var b strings.Builder
	l.row(&b, func(c *column) [3]string {
		if c.derived != nil {
			return [3]string{c.derived.text(n, parent)}
		}
		return [3]string{grouped(n[c.event]), c.share(n[c.event])}
	})
	return b.String() + " " + text + "\n"
}

// empty returns a row without counts.
func (l layout) empty(text string) string {
	var b strings.Builder
	l.row(&b, func(*column) [3]string { return [3]string{"."} })
	return b.String() + " " + text + "\n"
}

// outer returns a row with cumulative shares.
func (l layout) outer(n, sum, parent counts, text string) string {
	var b strings.Builder
	l.row(&b, func(c *column) [3]string {
		if c.derived != nil {
			return [3]string{c.derived.text(n, parent)}
		}
		return [3]string{grouped(n[c.event]), c.outerShare(n[c.event]), c.cumulative(sum[c.event])}
	})
	return b.String() + " " + text + "\n"
}

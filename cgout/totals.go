package cgout

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
)

// WriteTotals writes the totals of p as Cachegrind 3.24 prints them at exit, from
// the line `I refs:` on, each line after prefix (`==PID== `). One thing differs:
// where there is no conditional, or no indirect branch, Cachegrind counts one.
func (p *Profile) WriteTotals(w io.Writer, prefix string) error {
	t := totals{w: bufio.NewWriter(w), prefix: prefix, n: map[string]uint64{}}
	for i, c := range p.Totals() {
		t.n[p.Events[i]] = c
	}
	t.w1 = len(Group(t.n["Ir"]))
	t.w2 = len(Group(max(t.n["Dr"], t.n["Bc"])))
	t.w3 = len(Group(max(t.n["Dw"], t.n["Bi"])))

	t.one("I refs:       ", t.n["Ir"])
	if _, ok := t.n["Dr"]; ok {
		t.caches()
	}
	if _, ok := t.n["Bc"]; ok {
		t.branches()
	}
	return t.w.Flush()
}

type totals struct {
	w          *bufio.Writer
	prefix     string
	n          map[string]uint64 // by event
	w1, w2, w3 int               // widths of the columns
}

func (t *totals) caches() {
	n := t.n
	t.one("I1  misses:   ", n["I1mr"])
	t.one("LLi misses:   ", n["ILmr"])
	// Nothing divides by zero: Cachegrind makes 1 of these totals once they
	// have been printed.
	ir := max(n["Ir"], 1)
	t.printf("I1  miss rate: %*s%%\n", t.w1, rate(n["I1mr"], ir, 2))
	t.printf("LLi miss rate: %*s%%\n", t.w1, rate(n["ILmr"], ir, 2))
	t.printf("\n")

	const rdwr = "%s %*s  (%*s rd   + %*s wr)\n"
	t.three(rdwr, "D refs:       ", n["Dr"], n["Dw"])
	t.three(rdwr, "D1  misses:   ", n["D1mr"], n["D1mw"])
	t.three(rdwr, "LLd misses:   ", n["DLmr"], n["DLmw"])
	d, dr, dw := max(n["Dr"]+n["Dw"], 1), max(n["Dr"], 1), max(n["Dw"], 1)
	const rates = "%s %*s%% (%*s%%     + %*s%%  )\n"
	t.printf(rates, "D1  miss rate:", t.w1, rate(n["D1mr"]+n["D1mw"], d, 1),
		t.w2, rate(n["D1mr"], dr, 1), t.w3, rate(n["D1mw"], dw, 1))
	t.printf(rates, "LLd miss rate:", t.w1, rate(n["DLmr"]+n["DLmw"], d, 1),
		t.w2, rate(n["DLmr"], dr, 1), t.w3, rate(n["DLmw"], dw, 1))
	t.printf("\n")

	t.three(rdwr, "LL refs:      ", n["D1mr"]+n["I1mr"], n["D1mw"])
	t.three(rdwr, "LL misses:    ", n["DLmr"]+n["ILmr"], n["DLmw"])
	t.printf(rates, "LL miss rate: ", t.w1, rate(n["DLmr"]+n["ILmr"]+n["DLmw"], ir+d, 1),
		t.w2, rate(n["DLmr"]+n["ILmr"], ir+dr, 1), t.w3, rate(n["DLmw"], dw, 1))
}

func (t *totals) branches() {
	n := t.n
	const condInd = "%s %*s  (%*s cond + %*s ind)\n"
	t.printf("\n")
	t.three(condInd, "Branches:     ", n["Bc"], n["Bi"])
	t.three(condInd, "Mispredicts:  ", n["Bcm"], n["Bim"])
	b, bc, bi := max(n["Bc"]+n["Bi"], 1), max(n["Bc"], 1), max(n["Bi"], 1)
	t.printf("Mispred rate:  %*s%% (%*s%%     + %*s%%   )\n", t.w1, rate(n["Bcm"]+n["Bim"], b, 1),
		t.w2, rate(n["Bcm"], bc, 1), t.w3, rate(n["Bim"], bi, 1))
}

func (t *totals) one(label string, n uint64) {
	t.printf("%s %*s\n", label, t.w1, Group(n))
}

// three prints the sum of a and b, and both.
func (t *totals) three(format, label string, a, b uint64) {
	t.printf(format, label, t.w1, Group(a+b), t.w2, Group(a), t.w3, Group(b))
}

func (t *totals) printf(format string, args ...any) {
	t.w.WriteString(t.prefix)
	fmt.Fprintf(t.w, format, args...)
}

// rate returns 100*part/whole with some decimals. It rounds as Valgrind's printf
// does: what remains after the last digit must be more than a half.
func rate(part, whole uint64, decimals int) string {
	value := float64(part) * 100 / float64(whole)
	integer := uint64(value)
	scale := uint64(1)
	for range decimals {
		scale *= 10
	}
	scaled := (value - float64(integer)) * float64(scale)
	fraction := uint64(scaled)
	if scaled-float64(fraction) > 0.5 {
		fraction++
	}
	if fraction == scale {
		integer, fraction = integer+1, 0
	}
	return fmt.Sprintf("%d.%0*d", integer, decimals, fraction)
}

// Group returns n with commas between groups of three digits.
func Group(n uint64) string {
	digits := strconv.FormatUint(n, 10)
	var b []byte
	for i := range len(digits) {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b = append(b, ',')
		}
		b = append(b, digits[i])
	}
	return string(b)
}

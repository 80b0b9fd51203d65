package annotate

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/cgemu/cgemu/cgout"
	"github.com/cgemu/cgemu/internal/python"
)

// WriteText writes what cg_annotate does, of the sum of the profiles: the same
// bytes, if the options are those that it has. Nothing is written if a profile
// cannot be read; if the sources do not account for all counts, it says so at the
// end, by an error.
//
// It is no method of Report, since its rules depend on how cg_annotate holds what
// it has read: see RATIONALE.md, "Why two ways from a profile to its report?".
func WriteText(w io.Writer, o Options, profiles ...Input) error {
	return writeText(w, &o, false, profiles)
}

// WriteTextDiff writes what cg_annotate --diff does: WriteText of the new profile
// less the old.
func WriteTextDiff(w io.Writer, o Options, old, new Input) error {
	return writeText(w, &o, true, []Input{old, new})
}

func writeText(w io.Writer, o *Options, difference bool, profiles []Input) error {
	if len(profiles) == 0 {
		return errNoProfile
	}
	if difference && o.calls() {
		r, err := CompareCalls(*o, profiles[0], profiles[1])
		if err != nil {
			return err
		}
		return r.WriteTree(w)
	}
	if err := o.check(); err != nil {
		return err
	}
	m, err := load(o, difference, profiles)
	if err != nil {
		return err
	}
	if err := o.checkWanted(m); err != nil {
		return err
	}
	r := textReport{m: m, o: o, read: sourceReader{files: o.files()}}
	if r.show = m.columns(o.Show); r.show == nil {
		r.show = m.columns(m.events)
	}
	if r.sort = m.columns(o.Sort); r.sort == nil {
		r.sort = m.columns(m.events)
	}
	if r.derived, err = deriveds(o.Derived, m.events, r.show); err != nil {
		return err
	}
	if o.calls() {
		if r.calls, err = NewCalls(*o, profiles...); err != nil {
			return err
		}
		if r.callFunctions, r.callsLeft, err = r.calls.shown(); err != nil {
			return err
		}
	}
	return buffered(w, func(w *bufio.Writer) error {
		r.Writer = w
		return r.write()
	})
}

// buffered calls write with a buffer in front of w.
func buffered(w io.Writer, write func(*bufio.Writer) error) error {
	b := bufio.NewWriterSize(w, 1<<16)
	err := write(b)
	if err2 := b.Flush(); err == nil {
		err = err2
	}
	return err
}

// A textReport is the text of cg_annotate being written.
type textReport struct {
	*bufio.Writer
	m          *model
	o          *Options
	show, sort []int // columns
	derived    []Derived
	read       sourceReader
	// shown are the files of the File:function table.
	shown []string
	// calls is the call graph, if it is asked for; callFunctions are those of its functions that are shown, and
	// callsLeft is how many are not.
	calls         *CallReport
	callFunctions []*CallFunction
	callsLeft     int
	// lineCalls are the calls shown below source lines, by file and line.
	lineCalls map[string]map[int][]sourceCall
}

var rule = strings.Repeat("-", 80)

func (r *textReport) heading(title string) {
	r.WriteString(r.paint(bold, fmt.Sprintf("%s\n-- %s\n%s\n", rule, r.o.visible(title), rule)))
}

// write writes the report. The error is the check at the very end.
func (r *textReport) write() error {
	r.metadata()
	r.summary()
	if r.calls != nil {
		r.callTables()
	} else {
		r.shown = r.pairs("File:function summary", "file:function", "< ", r.m.byFile)
		r.pairs("Function:file summary", "function:file", "> ", r.m.byFunc)
	}
	if !r.o.Sources {
		return nil
	}
	a := newAnnotated(len(r.m.events))
	slices.Sort(r.shown)
	for _, name := range r.shown {
		if name != cgout.Unknown {
			r.source(name, a)
		}
	}
	return r.annotationSummary(a)
}

func (r *textReport) names(columns []int) string {
	var list []string
	for _, i := range columns {
		list = append(list, r.o.visible(r.m.events[i]))
	}
	return strings.Join(list, " ")
}

func (r *textReport) metadata() {
	r.heading("Metadata")
	if r.o.Invocation != "" {
		fmt.Fprintf(r, "Invocation:       %s\n", r.o.visible(r.o.Invocation))
	}
	r.descriptions()
	for i, p := range r.m.profiles {
		title := "Command:         "
		if len(r.m.profiles) > 1 {
			title = fmt.Sprintf("%-17s", fmt.Sprintf("Command %d:", i+1))
			if i >= 9 {
				title = fmt.Sprintf("%-18s", fmt.Sprintf("Command %d:", i+1))
			}
		}
		text := p.cmd
		if i > 0 && r.m.profiles[i-1].cmd == p.cmd {
			text = fmt.Sprintf("(same as Command %d)", i)
		}
		fmt.Fprintf(r, "%s %s\n", title, r.o.visible(text))
	}
	onOff := map[bool]string{true: "on", false: "off"}
	fmt.Fprintf(r, "Events recorded:  %s\n", r.o.visible(strings.Join(r.m.events, " ")))
	fmt.Fprintf(r, "Events shown:     %s\n", r.names(r.show))
	fmt.Fprintf(r, "Event sort order: %s\n", r.names(r.sort))
	fmt.Fprintf(r, "Threshold:        %s%%\n", python.FormatFloat(r.o.Threshold))
	fmt.Fprintf(r, "Annotation:       %s\n\n", onOff[r.o.Sources])
}

func (r *textReport) descriptions() {
	same := true
	for _, p := range r.m.profiles {
		same = same && slices.Equal(p.desc, r.m.profiles[0].desc)
	}
	for i, p := range r.m.profiles {
		if !same {
			fmt.Fprintf(r, "Description %d:\n", i+1)
		}
		for _, d := range p.desc {
			fmt.Fprintln(r, r.o.visible(d))
		}
		if same {
			return
		}
	}
}

func (r *textReport) summary() {
	r.heading("Summary")
	x := newExtremes(len(r.m.events))
	x.add(r.m.total)
	l := r.newLayout().fitPlain(x)
	l.fitDerived(r.m.total, r.m.total)
	r.WriteString(l.header("", "") + "\n")
	r.WriteString(l.plain(r.m.total, r.m.total, "PROGRAM TOTALS") + "\n")
}

// An entry is a row of a table of pairs, and its inner rows.
type entry struct {
	name  string
	sum   counts
	upTo  counts // cumulative
	inner []entry
	alone bool // on one line with its only inner one
}

// pairs writes a table and returns the outer names in it.
func (r *textReport) pairs(title, suffix, mark string, t pairTable) (shown []string) {
	list := r.entries(t)
	events := len(r.m.events)
	x, sums := newExtremes(events), newExtremes(events)
	running := make(counts, events)
	for i := range list {
		e := &list[i]
		x.add(e.sum)
		running.add(e.sum)
		e.upTo = slices.Clone(running)
		sums.add(e.upTo)
		for _, in := range e.inner {
			x.add(in.sum)
		}
		shown = append(shown, e.name)
	}
	l := r.newLayout().fitOuter(x, sums)
	for _, e := range list {
		l.fitDerived(e.sum, r.m.total)
		for _, in := range e.inner {
			l.fitDerived(in.sum, e.sum)
		}
	}
	r.heading(title)
	r.WriteString(l.header("  ", " "+suffix) + "\n")
	for _, e := range list {
		text := e.name + ":"
		if e.alone {
			text += e.inner[0].name
		}
		r.WriteString(r.heat(e.sum, mark+l.outer(e.sum, e.upTo, r.m.total, r.o.visible(text))))
		if !e.alone {
			for _, in := range e.inner {
				r.WriteString(r.heat(in.sum, "  "+l.plain(in.sum, e.sum, "  "+r.o.visible(in.name))))
			}
		}
		r.WriteByte('\n')
	}
	return shown
}

// entries returns what the threshold leaves of a table, sorted.
func (r *textReport) entries(t pairTable) []entry {
	primary := r.sort[0]
	limit := r.limit(primary)
	var list []entry
	for name, inner := range t {
		e := entry{name: name, sum: make(counts, len(r.m.events))}
		for _, in := range inner.list {
			e.sum.add(in.counts)
			if atLeast(in.counts[primary].Abs(), limit) {
				e.inner = append(e.inner, entry{name: in.name, sum: in.counts})
			}
		}
		if len(e.inner) == 0 {
			continue
		}
		e.alone = len(e.inner) == 1 && e.inner[0].sum.equal(e.sum)
		r.sortEntries(e.inner)
		list = append(list, e)
	}
	r.sortEntries(list)
	if top := r.o.Top; top > 0 && len(list) > top {
		list = list[:top]
	}
	return list
}

func (r *textReport) sortEntries(list []entry) {
	slices.SortFunc(list, func(a, b entry) int {
		for _, i := range r.sort {
			if c := b.sum[i].Abs().Cmp(a.sum[i].Abs()); c != 0 {
				return c
			}
		}
		return cmp.Compare(b.name, a.name)
	})
}

// limit returns the count that the threshold asks for.
func (r *textReport) limit(event int) float64 {
	return share(r.o.Threshold, r.m.total[event])
}

// share returns some per cent of a count, in cg_annotate's order of operations.
func share(percent float64, total cgout.Count) float64 {
	f, _ := new(big.Float).SetInt(total.Abs().Big()).Float64()
	return percent * f / 100
}

// atLeast compares exactly.
func atLeast(c cgout.Count, limit float64) bool {
	if n, ok := c.Int64(); ok && n < exact {
		return float64(n) >= limit
	}
	return new(big.Float).SetInt(c.Big()).Cmp(big.NewFloat(limit)) >= 0
}

// annotated are the counts by what became of them, for the last table.
type annotated struct {
	lines, unknownLines, different, unreadable counts
}

func newAnnotated(events int) *annotated {
	zero := func() counts { return make(counts, events) }
	return &annotated{zero(), zero(), zero(), zero()}
}

func (r *textReport) annotationSummary(a *annotated) error {
	below, unknown := make(counts, len(r.m.events)), make(counts, len(r.m.events))
	for _, name := range slices.Sorted(maps.Keys(r.m.sources)) {
		_, inTable := slices.BinarySearch(r.shown, name)
		switch {
		case name == cgout.Unknown:
			unknown.add(r.m.fileTotal(name))
		case !inTable:
			below.add(r.m.fileTotal(name))
		}
	}
	type row struct {
		counts
		text string
	}
	rows := []row{
		{a.lines, "  annotated: files known & above threshold & readable, line numbers known"},
		{a.unknownLines, "  annotated: files known & above threshold & readable, line numbers unknown"},
		{a.different, "unannotated: files known & above threshold & two or more non-identical"},
		{a.unreadable, "unannotated: files known & above threshold & unreadable "},
		{below, "unannotated: files known & below threshold"},
		{unknown, "unannotated: files unknown"},
	}
	if r.o.filtered() {
		rows = append(rows, row{r.m.left, "unannotated: left out by --only or --focus"})
	}
	x := newExtremes(len(r.m.events))
	sum := make(counts, len(r.m.events))
	for _, row := range rows {
		x.add(row.counts)
		sum.add(row.counts)
	}
	l := r.newLayout().fitPlain(x)
	for _, row := range rows {
		l.fitDerived(row.counts, r.m.total)
	}
	r.heading("Annotation summary")
	r.WriteString(l.header("", "") + "\n")
	for _, row := range rows {
		r.WriteString(l.plain(row.counts, r.m.total, row.text))
	}
	if r.o.filtered() && !slices.ContainsFunc(a.lines, nonZero) && slices.ContainsFunc(below, nonZero) && r.o.Threshold > 0 {
		r.WriteString("(--threshold=0 shows functions and files below the threshold)\n")
	}
	r.WriteByte('\n')
	if !sum.equal(r.m.total) {
		return errors.New("`summary:` line doesn't match computed annotated counts\n" +
			"- summary:   " + cgout.List(r.m.total) + "\n- annotated: " + cgout.List(sum))
	}
	return nil
}

// fileTotal returns the sum of a file's counts.
func (m *model) fileTotal(name string) counts {
	sum := make(counts, len(m.events))
	if t := m.byFile[name]; t != nil {
		for _, fn := range t.list {
			sum.add(fn.counts)
		}
	}
	return sum
}

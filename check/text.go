package check

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/cgemu/cgemu/cgout"
)

// maxMoved is how many functions of a benchmark are shown.
const maxMoved = 8

// WriteText writes r for a terminal or a log: a line for each event of each benchmark, below it what moved it, and at the end how many
// benchmarks there are of which verdict. Benchmarks that are as before take one line.
func (r *Report) WriteText(w io.Writer) error {
	t := r.newText()
	if r.Against != "" {
		t.printf("compared with %s\n", r.Against)
	}
	for i := range r.Results {
		t.result(&r.Results[i])
	}
	t.summary(r)
	_, err := io.WriteString(w, t.String())
	return err
}

// WriteResult writes the i-th result alone, as WriteText does.
func (r *Report) WriteResult(w io.Writer, i int) error {
	t := r.newText()
	t.result(&r.Results[i])
	_, err := io.WriteString(w, t.String())
	return err
}

// A text is a report being written.
type text struct {
	strings.Builder
	// update is the command by which the baseline takes today's counts.
	update string
}

func (r *Report) newText() *text { return &text{update: cmp.Or(r.Update, "cgemu check --update")} }

func (t *text) printf(format string, args ...any) { fmt.Fprintf(&t.Builder, format, args...) }

func (t *text) result(r *Result) {
	switch r.Verdict {
	case Failed:
		t.printf("%s: FAILED: %v\n", r.Name, r.Err)
		return
	case Same:
		t.printf("%s: as before", r.Name)
		for _, c := range r.Changes {
			if c.Function == "" {
				t.printf(", %s %s", c.Event, cgout.Group(c.New))
			}
		}
		t.printf("\n")
		return
	}
	for _, c := range r.Changes {
		t.change(r.Name, c)
	}
	if !r.Changes[0].Unknown {
		t.functions(r)
	}
	for _, d := range r.Differs {
		t.printf("    %s: %s\n", d.What, d.sentence(t.update))
	}
}

func (t *text) change(name string, c Change) {
	what := c.Event
	if c.Function != "" {
		what += " in " + c.Function
	}
	if c.Unknown {
		t.printf("%s: new: %s %s\n", name, what, cgout.Group(c.New))
		return
	}
	t.printf("%s: %s %s -> %s (%s", name, what, cgout.Group(c.Old), cgout.Group(c.New), percent(c.Old, c.New))
	if c.Exceeded {
		t.printf(", limit %s): REGRESSION\n", c.Limit)
		return
	}
	t.printf(")\n")
}

// functions shows what moved the first event.
func (t *text) functions(r *Result) {
	if len(r.Functions) == 0 {
		return
	}
	total := r.Changes[0].Delta()
	for i, f := range r.Functions {
		if i == maxMoved {
			t.printf("    … and %d other functions\n", len(r.Functions)-i)
			break
		}
		t.printf("    %15s %s%s:%s%s\n", signed(f.Delta()), part(f.Delta(), total), f.File, f.Func, f.state())
		for _, l := range f.Lines {
			if f.Delta() > 0 && ours(l.File) && l.Line > 0 {
				t.printf("    %15s        %s:%d: %s now\n", "", l.File, l.Line, cgout.Group(l.Count))
			}
		}
	}
	t.printf("    %15s in your code, %s in libraries and elsewhere\n", signed(r.Own), signed(r.Elsewhere))
}

// state says if f is on one side only.
func (f Moved) state() string {
	switch {
	case f.File == cgout.Unknown && f.Func == cgout.Unknown:
		return " (code without symbols)"
	case f.Gone:
		return " (gone)"
	case f.Added:
		return " (new)"
	case f.Small:
		return " (new, or small before)"
	}
	return ""
}

// sentence says what is to be thought of d. update is the command that takes today's counts.
func (d Difference) sentence(update string) string {
	change := fmt.Sprintf("%q was %q", d.New, d.Old)
	if strings.HasPrefix(d.What, programPrefix) {
		switch {
		case d.Old == "":
			return "was not started before"
		case d.New == "":
			return "is not started any more"
		}
		return "another build"
	}
	if strings.HasPrefix(d.What, inputPrefix) {
		switch {
		case d.Old == "":
			return "was not read before"
		case d.New == "":
			return "is not read any more"
		}
		return "is not as it was: the counts may differ for that"
	}
	switch d.What {
	case "program":
		return "another build"
	case "trace-children":
		return "whether other processes count is not as it was: the counts do not compare; " + update
	case "compiler":
		return change + ": another compiler makes another program"
	case "libraries":
		return "other libraries than those of the baseline: their part may have moved for that"
	case "stdin":
		return "another input: the counts do not compare; " + update
	case "counting":
		return change + ": the rules of counting have changed; " + update
	}
	return change + ": the counts do not compare; " + update
}

// summary counts the verdicts.
func (t *text) summary(r *Report) {
	var parts []string
	for _, v := range []Verdict{Failed, Regression, Unlike, New, Changed, Improved, Same} {
		n := 0
		for _, x := range r.Results {
			if x.Verdict == v {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, v))
		}
	}
	s := "s"
	if len(r.Results) == 1 {
		s = ""
	}
	t.printf("%d benchmark%s: %s\n", len(r.Results), s, strings.Join(parts, ", "))
}

// percent is how far a count went, "+2.00 %", or by how much if that is next to nothing.
func percent(old, new uint64) string {
	if old == 0 {
		return "+" + cgout.Group(new)
	}
	p := (float64(new) - float64(old)) / float64(old) * 100
	if new != old && math.Abs(p) < 0.01 {
		return signed(int64(new - old))
	}
	return fmt.Sprintf("%+.2f %%", p)
}

func signed(x int64) string {
	if x < 0 {
		return "-" + cgout.Group(uint64(-x))
	}
	return "+" + cgout.Group(uint64(x))
}

// part is which part of a change delta is.
func part(delta, total int64) string {
	if total == 0 {
		return strings.Repeat(" ", 8)
	}
	return fmt.Sprintf("%5.1f %% ", float64(delta)/float64(total)*100)
}

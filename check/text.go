package check

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"strings"

	"github.com/cgemu/cgemu/annotate"
	"github.com/cgemu/cgemu/cgout"
)

// maxMoved is how many functions of a benchmark are shown.
const maxMoved = 8

// WriteText writes r for a terminal or a log: a line for each event of each benchmark, with the benchmark's verdict,
// below it what moved it, and at the end in what several differ from their baselines, and how many benchmarks there are
// of which verdict. Benchmarks that are the same take one line.
func (r *Report) WriteText(w io.Writer) error {
	t := r.newText()
	if r.Against != "" {
		t.printf("compared with %s\n", r.Against)
	}
	t.shared = t.sharedBy(r)
	for i := range r.Results {
		t.result(&r.Results[i])
	}
	t.sharedDifferences(r)
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
	// shared are lines about differences that several benchmarks have, with the names of these: they are said once, at
	// the end.
	shared map[string][]string
}

func (r *Report) newText() *text { return &text{update: cmp.Or(r.Update, "cgemu check --update")} }

// printf writes lines, in which names of a program's, and what it said, do nothing to a terminal.
func (t *text) printf(format string, args ...any) {
	for line := range strings.Lines(fmt.Sprintf(format, args...)) {
		line, ended := strings.CutSuffix(line, "\n")
		t.WriteString(annotate.Visible(line))
		if ended {
			t.WriteByte('\n')
		}
	}
}

func (t *text) result(r *Result) {
	switch r.Verdict {
	case Failed:
		t.printf("%s: %s: %v\n", r.Name, r.Verdict, r.Err)
		return
	case Same:
		var counts []string
		for _, c := range r.Changes {
			if c.Function == "" {
				counts = append(counts, c.Event+" "+cgout.Group(c.New))
			}
		}
		t.printf("%s: %s: %s\n", r.Name, r.Verdict, strings.Join(counts, ", "))
		return
	}
	for _, c := range r.Changes {
		t.change(r, c)
	}
	if !r.Changes[0].Unknown {
		t.functions(r)
	}
	for _, line := range t.differences(r) {
		if t.shared[line] == nil {
			t.printf("%s", line)
		}
	}
}

// differences are lines that say in what r differs from its baseline.
func (t *text) differences(r *Result) (lines []string) {
	if r.Verdict == Same {
		return nil
	}
	for _, d := range r.Differs {
		lines = append(lines, fmt.Sprintf("    %s: %s\n", d.What, d.sentence(t.update)))
	}
	return lines
}

// sharedBy are the lines that more than one result has, with the names of those.
func (t *text) sharedBy(r *Report) map[string][]string {
	by := map[string][]string{}
	for i := range r.Results {
		for _, line := range t.differences(&r.Results[i]) {
			by[line] = append(by[line], r.Results[i].Name)
		}
	}
	maps.DeleteFunc(by, func(_ string, names []string) bool { return len(names) < 2 })
	return by
}

// sharedDifferences writes the shared lines, those of the same benchmarks below one line with their names.
func (t *text) sharedDifferences(r *Report) {
	ran := 0
	for _, x := range r.Results {
		if x.Verdict != Failed {
			ran++
		}
	}
	var heads []string // of which benchmarks the lines below are
	below := map[string]string{}
	for i := range r.Results {
		for _, line := range t.differences(&r.Results[i]) {
			names := t.shared[line]
			if len(names) == 0 || names[0] != r.Results[i].Name {
				continue // said by this one alone, or below an earlier one's head
			}
			head := "all that ran"
			if len(names) < ran {
				head = someNames(names)
			}
			if below[head] == "" {
				heads = append(heads, head)
			}
			below[head] += line
		}
	}
	for _, head := range heads {
		t.printf("%s:\n%s", head, below[head])
	}
}

// someNames are the first of names, and how many others there are.
func someNames(names []string) string {
	const most = 6
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d others", strings.Join(names[:most], ", "), len(names)-most)
}

// change writes a line of a count of r.
func (t *text) change(r *Result, c Change) {
	what := c.Event
	if c.Function != "" {
		what += " in " + c.Function
	}
	t.printf("%s: %s: %s ", r.Name, r.Verdict, what)
	if c.Unknown {
		t.printf("%s%s\n", cgout.Group(c.New), c.lacking(r.Verdict))
		return
	}
	beyond := ""
	if c.Exceeded {
		beyond = ", beyond " + c.Limit.String()
	}
	t.printf("%s -> %s (%s%s)\n", cgout.Group(c.Old), cgout.Group(c.New), percent(c.Old, c.New), beyond)
}

// lacking says of a count that there is none before, where the verdict does not.
func (c Change) lacking(v Verdict) string {
	if c.Unknown && v != New {
		return " (not in the baseline)"
	}
	return ""
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
	if len(r.Results) == 0 {
		t.printf("no benchmark was run\n")
		return
	}
	var parts []string
	for _, v := range verdicts {
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

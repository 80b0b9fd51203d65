package annotate

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/cgemu/cgemu/cgout"
	"github.com/cgemu/cgemu/internal/glob"
)

// title is what tables call a function: file, name and object.
func (f *CallFunction) title() string { return f.File + ":" + f.Name + " [" + f.Object + "]" }

// text is a number of calls, or two: `12x`, `10x to 12x`.
func (c Calls) text(compare bool) string {
	times := func(n uint64) string { return groupDigits(strconv.FormatUint(n, 10)) + "x" }
	if !compare || c.Old == c.Count {
		return times(c.Count)
	}
	return times(c.Old) + " to " + times(c.Count)
}

// main is the cost that functions are sorted by.
func (r *CallReport) main(f *CallFunction) Row {
	if r.r.o.Inclusive {
		return f.Inclusive
	}
	return f.Self
}

// shown returns the functions that the options ask for, and how many others are left out for their cost.
func (r *CallReport) shown() (list []*CallFunction, left int, err error) {
	o := &r.r.o
	wants, found := r.r.wants(), false
	for _, f := range r.Functions {
		if !r.selected(f) {
			continue
		}
		found = true
		if wants(r.main(f)) && (o.Top == 0 || len(list) < o.Top) {
			list = append(list, f)
		} else {
			left++
		}
	}
	if !found && o.filtered() {
		err = &NothingWantedError{o.Only, o.Focus}
	}
	return list, left, err
}

// selected reports whether Options.Only and Focus leave f in.
func (r *CallReport) selected(f *CallFunction) bool {
	return r.r.o.wantsFile(f.File) && r.r.o.wantsFunction(f.plain)
}

// treeGrid is the table of functions with their callers and callees, as callgrind_annotate has it: `<` is a caller, `>`
// a callee, `*` the function.
func (r *CallReport) treeGrid(fns []*CallFunction) *grid {
	g := newGrid(r.r, "file:function [object]")
	tree := r.r.o.Tree
	for i, f := range fns {
		if tree == TreeNone {
			g.add(r.r, r.main(f), r.Total, f.title())
			continue
		}
		if i > 0 {
			g.gap()
		}
		if tree != TreeCalling {
			for _, a := range r.changed(f.Callers) {
				g.add(r.r, a.Row, r.Total, "< "+a.title(a.Caller, r.Compare))
			}
		}
		g.add(r.r, r.main(f), r.Total, "* "+f.title())
		if tree != TreeCaller {
			for _, a := range r.changed(f.Callees) {
				g.add(r.r, a.Row, r.Total, "> "+a.title(a.Callee, r.Compare))
			}
		}
	}
	return g
}

// changed returns the arcs that trees show: of a comparison those that differ.
func (r *CallReport) changed(arcs []*CallArc) (list []*CallArc) {
	for _, a := range arcs {
		if !r.Compare || a.Calls.Count != a.Calls.Old || slices.ContainsFunc(r.Show, func(e int) bool { return a.Counts[e].Sign() != 0 }) {
			list = append(list, a)
		}
	}
	return list
}

// title is what tables of a function call the other one of an arc.
func (a *CallArc) title(other *CallFunction, compare bool) string {
	text := fmt.Sprintf("%s:%s (%s) [%s]", other.File, other.Name, a.Calls.text(compare), other.Object)
	if a.Recursive {
		text += " (recursive)"
	}
	return text
}

// heading says what treeGrid shows.
func (r *CallReport) heading() string {
	text := "Functions by their own cost"
	if r.r.o.Inclusive {
		text = "Functions by their inclusive cost"
	}
	switch r.r.o.Tree {
	case TreeCaller:
		text += ", with callers (<)"
	case TreeCalling:
		text += ", with the functions that they call (>)"
	case TreeBoth:
		text += ", with callers (<) and the functions that they call (>)"
	}
	return text
}

// section writes the heading of a part.
func (r *CallReport) section(w *bufio.Writer, title string) {
	s := fmt.Sprintf("%s\n-- %s\n%s\n", rule, r.r.o.visible(title), rule)
	if r.r.o.Color {
		s = paint(bold, s)
	}
	io.WriteString(w, s)
}

// WriteTree writes a table of functions, with their own or inclusive cost, and with callers or callees, as
// Options.Inclusive and Options.Tree say.
func (r *CallReport) WriteTree(w io.Writer) error {
	fns, left, err := r.shown()
	if err != nil {
		return err
	}
	return buffered(w, func(w *bufio.Writer) error {
		r.profiles(w)
		r.section(w, "Total")
		total := newGrid(r.r, "")
		total.add(r.r, r.Total, r.Total, "PROGRAM TOTALS")
		total.write(w, r.r, false)
		r.writeFunctions(w, fns, left)
		return nil
	})
}

// profiles says what is reported.
func (r *CallReport) profiles(w *bufio.Writer) {
	o := &r.r.o
	r.section(w, "Profiles")
	for i, p := range r.Profiles {
		name := ""
		if r.Compare {
			name = []string{"Old: ", "New: "}[i]
		}
		fmt.Fprintf(w, "%s%s\n     %s\n", name, o.visible(p.Name), o.visible(p.Cmd))
	}
	fmt.Fprintf(w, "Sort order: %s\n\n", o.visible(strings.Join(r.r.names(r.Sort), " ")))
}

// writeFunctions writes the table of functions.
func (r *CallReport) writeFunctions(w *bufio.Writer, fns []*CallFunction, left int) {
	r.section(w, r.heading())
	r.treeGrid(fns).write(w, r.r, r.r.o.Color)
	if left > 0 {
		fmt.Fprintf(w, "%d functions are not shown", left)
		if r.r.thresholdLeftOut() {
			w.WriteString(" (--threshold=0 shows them)")
		}
		w.WriteString("\n\n")
	}
	r.writeCycles(w)
}

// writeCycles writes a table of cycles, beside inclusive costs: of their functions these are the most that they can be.
// There is none without a cycle of functions that are asked for.
func (r *CallReport) writeCycles(w *bufio.Writer) {
	if !r.r.o.Inclusive {
		return
	}
	wants := r.r.wants()
	cycles := slices.DeleteFunc(slices.Clone(r.Cycles), func(c CallCycle) bool {
		return !wants(c.Inclusive) || !slices.ContainsFunc(c.Functions, r.selected)
	})
	if len(cycles) == 0 {
		return
	}
	r.section(w, "Cycles of functions that call each other, by their inclusive cost")
	g := newGrid(r.r, "cycle")
	for _, c := range cycles {
		const most = 4
		text := fmt.Sprintf("%s, %d functions:", c.Name, len(c.Functions))
		for i, f := range c.Functions[:min(most, len(c.Functions))] {
			if i > 0 {
				text += ","
			}
			text += " " + f.plain
		}
		if len(c.Functions) > most {
			text += ", …"
		}
		g.add(r.r, c.Inclusive, r.Total, text)
	}
	g.write(w, r.r, r.r.o.Color)
}

// WriteCallers writes of the functions whose names are like one of the globs who calls them, and whom they call, with
// the lines that do: the one that costs most comes first. A glob without `*` and `?` that no name equals is one for a
// part of a name. It is an error if there is none.
func (r *CallReport) WriteCallers(w io.Writer, globs ...string) error {
	fns, left, err := r.asked(globs)
	if err != nil {
		return err
	}
	return buffered(w, func(w *bufio.Writer) error {
		if r.Compare {
			r.profiles(w)
		}
		for _, f := range fns {
			r.peek(w, f)
		}
		if left > 0 {
			fmt.Fprintf(w, "%d more functions are like that\n", left)
		}
		return nil
	})
}

// asked returns the functions that globs name, and how many more Options.Top leaves out.
func (r *CallReport) asked(globs []string) (fns []*CallFunction, left int, err error) {
	fns = r.named(globs)
	if len(fns) == 0 {
		return nil, 0, fmt.Errorf("no function is like %s: cgemu annotate --inclusive=yes lists them", strings.Join(globs, " or "))
	}
	if top := r.r.o.Top; top > 0 && len(fns) > top {
		fns, left = fns[:top], len(fns)-top
	}
	return fns, left, nil
}

// named returns the functions that globs name, those that are told apart by their callers also by what stands before
// them.
func (r *CallReport) named(globs []string) (list []*CallFunction) {
	for _, like := range []func(pattern, name string) bool{
		glob.Match,
		func(pattern, name string) bool {
			fn, _, _ := strings.Cut(name, "'")
			return glob.Match(pattern, fn)
		},
		func(pattern, name string) bool { return pattern != "" && strings.Contains(name, pattern) },
	} {
		for _, f := range r.Functions {
			if r.r.o.wantsFile(f.File) && slices.ContainsFunc(globs, func(p string) bool { return like(p, f.plain) || like(p, f.Name) }) {
				list = append(list, f)
			}
		}
		if len(list) > 0 {
			break
		}
	}
	slices.SortStableFunc(list, func(a, b *CallFunction) int { return r.r.compare(a.Inclusive, b.Inclusive) })
	return list
}

// peek writes a function's callers, its costs and its callees.
func (r *CallReport) peek(w *bufio.Writer, f *CallFunction) {
	r.section(w, f.title())
	g := newGrid(r.r, "calls", "")
	g.right = 1
	add := func(mark string, a *CallArc, other *CallFunction) {
		text := mark + " " + other.Name
		if other.Object != f.Object {
			text += " [" + other.Object + "]"
		}
		if a.Recursive {
			text += " (recursive)"
		}
		if len(a.Sites) == 1 {
			g.add(r.r, a.Row, r.Total, a.Calls.text(r.Compare), text+"  "+a.Sites[0].place())
			return
		}
		g.add(r.r, a.Row, r.Total, a.Calls.text(r.Compare), text)
		for _, s := range a.Sites {
			if !a.Recursive {
				g.add(r.r, s.Row, r.Total, s.Calls.text(r.Compare), "      "+s.place())
			} else { // what they cost once is not known
				g.note(s.Calls.text(r.Compare), "      "+r.r.o.visible(s.place()))
			}
		}
	}
	for _, a := range f.Callers {
		add("<", a, a.Caller)
	}
	if len(f.Callers) > 0 {
		g.gap()
	}
	g.add(r.r, f.Inclusive, r.Total, f.Called.text(r.Compare), "* "+f.Name+", inclusive")
	g.add(r.r, f.Self, r.Total, "", "* "+f.Name+", itself")
	if len(f.Callees) > 0 {
		g.gap()
	}
	for _, a := range f.Callees {
		add(">", a, a.Callee)
	}
	g.write(w, r.r, r.r.o.Color)
}

// note adds a row without numbers of events.
func (g *grid) note(texts ...string) {
	row := make([]string, len(g.heading)-len(texts), len(g.heading))
	g.rows, g.of = append(g.rows, append(row, texts...)), append(g.of, Row{})
}

// place is where a call stands.
func (s CallSite) place() string {
	if s.Line == 0 {
		return s.File
	}
	return s.File + ":" + strconv.Itoa(s.Line)
}

// A sourceCall is a call as it is shown below its source line.
type sourceCall struct {
	counts // nil if what the calls cost once is not known: they are recursive
	text   string
}

// sourceCalls returns the calls by file and line.
func (r *CallReport) sourceCalls() map[string]map[int][]sourceCall {
	files := map[string]map[int][]sourceCall{}
	for _, f := range r.Functions {
		for _, a := range f.Callees {
			for _, s := range a.Sites {
				if files[s.File] == nil {
					files[s.File] = map[int][]sourceCall{}
				}
				text := fmt.Sprintf("  => %s:%s (%s)", a.Callee.File, a.Callee.Name, s.Calls.text(false))
				call := sourceCall{s.Counts, text}
				if a.Recursive {
					call = sourceCall{text: text + " (recursive)"}
				}
				files[s.File][s.Line] = append(files[s.File][s.Line], call)
			}
		}
	}
	for _, lines := range files {
		for _, calls := range lines {
			slices.SortStableFunc(calls, func(a, b sourceCall) int {
				if a.counts == nil || b.counts == nil {
					return cmp.Or(cmp.Compare(len(b.counts), len(a.counts)), cmp.Compare(a.text, b.text))
				}
				return cmp.Or(r.r.compare(Row{Counts: a.counts}, Row{Counts: b.counts}), cmp.Compare(a.text, b.text))
			})
		}
	}
	return files
}

// callTables writes the table of functions of a call graph in place of those of cg_annotate.
func (r *textReport) callTables() {
	r.calls.writeFunctions(r.Writer, r.callFunctions, r.callsLeft)
	for _, f := range r.callFunctions {
		if r.m.sources[f.File] != nil && !slices.Contains(r.shown, f.File) {
			r.shown = append(r.shown, f.File)
		}
	}
	if t := r.o.Tree; t == TreeCalling || t == TreeBoth {
		r.lineCalls = r.calls.sourceCalls()
	}
}

// callsAt writes the calls of a line.
func (r *textReport) callsAt(l layout, file string, line cgout.Count) {
	n, _ := line.Int64()
	for _, c := range r.lineCalls[file][int(n)] {
		text := l.empty(r.o.visible(c.text))
		if c.counts != nil {
			text = l.plain(c.counts, r.m.total, r.o.visible(c.text))
		}
		r.WriteString(r.paint(dim, text))
	}
}

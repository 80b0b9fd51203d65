package cgout

import (
	"cmp"
	"fmt"
	"slices"
)

// Difference describes the first place where the files of p and q differ: the description, or, in the
// order of the file, a cost centre and an event; then likewise the counts by instruction, and the call graph. It
// calls what p has the first run's, what q has the second's. It is "" if the files are equal.
func (p *Profile) Difference(q *Profile) string {
	switch {
	case !slices.Equal(p.Desc, q.Desc):
		return fmt.Sprintf("desc: is %q in the first run, %q in the second", p.Desc, q.Desc)
	case p.Cmd != q.Cmd:
		return fmt.Sprintf("cmd: is %q in the first run, %q in the second", p.Cmd, q.Cmd)
	}
	if text := differ(p.Events, q.Events, p.list(), q.list(), costOrder); text != "" {
		return text
	}
	var a, b Insns
	if p.Insns != nil {
		a = *p.Insns
	}
	if q.Insns != nil {
		b = *q.Insns
	}
	if text := differ(a.Events, b.Events, a.List, b.List, insnOrder); text != "" {
		return text
	}
	switch {
	case p.Graph == nil && q.Graph == nil:
		return ""
	case p.Graph == nil:
		return "only the second run has a call graph"
	case q.Graph == nil:
		return "only the first run has a call graph"
	}
	events := append([]string{"calls"}, p.Events...)
	return differ(events, events, p.Graph.list(), q.Graph.list(), insnOrder)
}

// list returns costs, calls and jumps as differ compares them: their counts are the number of calls or jumps, 0 for
// costs, and the events'.
func (g *CallGraph) list() (out []Insn) {
	for c := range g.Costs {
		in := Insn{Object: c.Func.Object, File: c.File, Func: c.Func.Name, Line: c.Line, Counts: append([]uint64{0}, c.Counts...)}
		if !allZero(in.Counts) {
			out = append(out, in)
		}
	}
	for c := range g.Calls {
		inlined := ""
		if c.Inlined {
			inlined = ", inlined"
		}
		in := Insn{
			Object: c.Caller.Object, File: c.File, Func: c.Caller.Name, Line: c.Line,
			Text: fmt.Sprintf("%s (%s:%d, %s)%s", c.Callee.Name, c.Callee.File, c.CalleeLine, c.Callee.Object, inlined), Counts: append([]uint64{c.Count}, c.Counts...),
		}
		if !allZero(in.Counts) {
			out = append(out, in)
		}
	}
	for j := range g.Jumps {
		in := Insn{
			Object: j.Func.Object, File: j.File, Func: j.Func.Name, Line: j.Line, Text: fmt.Sprintf("jumps to %s (%s:%d)", j.TargetFunc, j.TargetFile, j.TargetLine),
			Counts: make([]uint64, 1+g.events),
		}
		if in.Counts[0] = j.Count; j.Conditional {
			in.Text += fmt.Sprintf(", %d executions", j.Executed)
		}
		if j.Count > 0 {
			out = append(out, in)
		}
	}
	slices.SortStableFunc(out, func(a, b Insn) int { return insnOrder(&a, &b) })
	return out
}

// list returns the cost centres in the file's order, but those with no counts, which are not in it.
func (p *Profile) list() []Insn {
	var out []Insn
	p.Each(func(file, fn string, line int, counts []uint64) {
		if slices.ContainsFunc(counts, func(n uint64) bool { return n != 0 }) {
			out = append(out, Insn{File: file, Func: fn, Line: line, Counts: slices.Clone(counts)})
		}
	})
	return out
}

func costOrder(a, b *Insn) int {
	return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Func, b.Func), cmp.Compare(a.Line, b.Line))
}

// insnOrder is the order of Insns.
func insnOrder(a, b *Insn) int {
	return cmp.Or(cmp.Compare(a.Object, b.Object), cmp.Compare(a.Addr, b.Addr), cmp.Compare(a.Line, b.Line),
		cmp.Compare(a.File, b.File), cmp.Compare(a.Func, b.Func), slices.Compare(a.Code, b.Code), cmp.Compare(a.Text, b.Text))
}

// differ finds the first difference of two lists in one order, whose counts are of events.
func differ(events, events2 []string, list, list2 []Insn, order func(a, b *Insn) int) string {
	if !slices.Equal(events, events2) {
		return fmt.Sprintf("events: are %q in the first run, %q in the second", events, events2)
	}
	for i := range max(len(list), len(list2)) {
		c := 0
		switch {
		case i == len(list):
			c = 1
		case i == len(list2):
			c = -1
		default:
			c = order(&list[i], &list2[i])
		}
		switch {
		case c < 0:
			return fmt.Sprintf("%s: only the first run has it", list[i].place())
		case c > 0:
			return fmt.Sprintf("%s: only the second run has it", list2[i].place())
		}
		for e, n := range list[i].Counts {
			if n2 := list2[i].Counts[e]; n != n2 {
				return fmt.Sprintf("%s: %s is %d in the first run, %d in the second", list[i].place(), events[e], n, n2)
			}
		}
	}
	return ""
}

// place names a cost centre or an instruction.
func (in *Insn) place() string {
	text := fmt.Sprintf("%s:%d (%s)", in.File, in.Line, in.Func)
	switch {
	case in.Code == nil && in.Text != "":
		text += " calls " + in.Text
	case in.Code != nil:
		text = fmt.Sprintf("%s+%#x, %s", in.Object, in.Addr, text)
	}
	return text
}

package profiler

import (
	"fmt"
	"slices"

	"github.com/cgemu/cgemu/cgout"
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/internal/jitnames"
	"github.com/cgemu/cgemu/internal/numbering"
)

// maxLate is how many addresses and pairs of them an attribution keeps until names may be known: some 40 MB with all
// simulations.
const maxLate = 1 << 18

// A lateTable has what was counted of code in no object, such as a JIT compiler's, that has no name yet, or of code
// called by such. Such compilers may write their names as late as at the end of the program.
type lateTable struct {
	lines numbering.Table[lateCode]
	rows  []uint64 // of line i, width from i*width on
	calls numbering.Table[lateCall]
	sums  []uint64 // of calls i: how many, and width counts, from i*(width+1) on
}

// A lateCode is a line of a function, or an instruction of one without a name.
type lateCode struct {
	fn   funcKey
	file string
	line int
}

// A lateCall is calls of one function by another.
type lateCall struct {
	caller, callee   funcKey
	file             string
	line, calleeLine int
}

// isFull reports whether there is no room for what has no number yet.
func (t *lateTable) isFull() bool { return t.lines.Len()+t.calls.Len() >= maxLate }

// code returns the row of a line, nil if there is no room for it.
func (t *lateTable) code(k lateCode, width int) []uint64 {
	if t.isFull() && t.lines.Find(k) < 0 {
		return nil
	}
	i, isNew := t.lines.Number(k)
	if isNew {
		t.rows = append(t.rows, make([]uint64, width)...)
	}
	return t.rows[i*width : (i+1)*width]
}

// call returns the sums of calls, nil if there is no room for them.
func (t *lateTable) call(k lateCall, width int) []uint64 {
	if t.isFull() && t.calls.Find(k) < 0 {
		return nil
	}
	i, isNew := t.calls.Number(k)
	if isNew {
		t.sums = append(t.sums, make([]uint64, width+1)...)
	}
	return t.sums[i*(width+1) : (i+1)*(width+1)]
}

// jitName returns the name that the program gave the code at a, if it did.
func (c *attribution) jitName(a emu.Addr) (jitnames.Function, bool) {
	if !c.byObject {
		return jitnames.Function{}, false
	}
	return c.jit.At(uint64(a))
}

// lateName is what code at a is called in the end, name if nothing else is known.
func (c *attribution) lateName(a emu.Addr, name string) string {
	if f, ok := c.jitName(a); ok {
		return f.Name
	}
	return name
}

// settle gives all that was counted of code without a name the names that are known now.
func (c *attribution) settle() {
	c.settleInto(c.profile, c.graph)
	c.late, c.inlines = lateTable{}, inlineTable{}
	clear(c.jumps)
	if c.insns != nil {
		c.insns.rename(func(k funcKey) string { return c.function(k).Name })
	}
}

// settleInto adds what was counted of code without a name, and of inlined functions, to a profile and its graph, nil if
// it has none.
func (c *attribution) settleInto(p *cgout.Profile, graph *cgout.CallGraph) {
	c.addInlinedCalls(graph)
	c.addJumps(graph)
	t, width := &c.late, len(c.row)
	for i, code := range t.lines.Values() {
		fn, row := c.function(code.fn), t.rows[i*width:(i+1)*width]
		p.Add(code.file, fn.Name, code.line, row...)
		if graph != nil {
			graph.AddCost(fn, code.file, code.line, row...)
		}
	}
	for i, k := range t.calls.Values() {
		sums := t.sums[i*(width+1) : (i+1)*(width+1)]
		graph.AddCall(cgout.Call{
			Caller: c.function(k.caller), File: k.file, Line: k.line, Callee: c.function(k.callee), CalleeLine: k.calleeLine, Count: sums[0], Counts: sums[1:],
		})
	}
}

// totals are the sums of all counts that were not taken.
func (c *attribution) totals() []uint64 {
	width := len(c.row)
	sums := make([]uint64, width)
	c.each(func() {
		for i, n := range c.profile.Totals() {
			sums[i] += n
		}
		for i, n := range c.late.rows {
			sums[i%width] += n
		}
	})
	return sums
}

// Named is told that the program calls code f from now on, and calls that were counted so far of code that is there and
// has no name.
func (p *Profiler) Named(f jitnames.Function) {
	if p.calls != nil { // Which functions call each other is known by names, too.
		p.Invalidate(emu.Addr(f.Lo), emu.Addr(f.Hi))
		p.renamed = p.renamed || p.costs.seen.has(f)
	}
	if !p.costs.jit.Add(f) && !p.manyNames {
		p.manyNames = true
		p.costs.objects.Warn(fmt.Errorf("process %d names too many functions that it makes, or too large ones: some stay without", p.pid))
	}
}

// namelessCode is code in no object that had no name when it was executed, by the units of namelessUnit bytes that hold
// it. To an engine that records calls all of it is one function, and what it knows of jumps within that has to be
// forgotten when a part gets a name.
type namelessCode struct {
	units map[emu.Addr]bool
	// all says that it is too much to be known apart.
	all bool
}

const (
	namelessUnit = 16
	maxNameless  = 1 << 18
)

func (n *namelessCode) note(a emu.Addr) {
	if n.all = n.all || len(n.units) == maxNameless; n.all {
		return
	}
	if n.units == nil {
		n.units = map[emu.Addr]bool{}
	}
	n.units[a/namelessUnit] = true
}

// has reports whether some of f may be among it.
func (n *namelessCode) has(f jitnames.Function) bool {
	first, last := emu.Addr(f.Lo)/namelessUnit, emu.Addr(f.Hi-1)/namelessUnit
	if n.all {
		return true
	}
	if last-first < emu.Addr(len(n.units)) {
		for u := first; u <= last; u++ {
			if n.units[u] {
				return true
			}
		}
		return false
	}
	for u := range n.units {
		if u >= first && u <= last {
			return true
		}
	}
	return false
}

// pages returns the pages on which it is, in order.
func (n *namelessCode) pages() (list []emu.Addr) {
	for u := range n.units {
		list = append(list, (u * namelessUnit).PageDown())
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// forgetNameless has the engine forget all code that had no name, since some of it has got one. It is to be called
// before the engine runs: names come in many at a time.
func (p *Profiler) forgetNameless() {
	p.renamed = false
	seen := p.costs.seen
	p.costs.seen = namelessCode{}
	if seen.all {
		for _, v := range p.space.VMAs() {
			if !v.File && v.Prot&mem.Exec != 0 {
				p.Invalidate(v.Lo, v.Hi)
			}
		}
		return
	}
	for _, page := range seen.pages() {
		p.Invalidate(page, page+emu.PageSize)
	}
}

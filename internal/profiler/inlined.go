package profiler

import (
	"github.com/cgemu/cgemu/cgout"
	"github.com/cgemu/cgemu/dwarfmap"
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/callgraph"
	"github.com/cgemu/cgemu/internal/numbering"
)

// A funcKey is a function that costs belong to: outer is what holds its code, without callers, in the function that is
// inlined there, nil for none. context is that in which it was executed. at is where its code is, if that is in no
// object and has no name yet, 0 for other code.
type funcKey struct {
	in      *dwarfmap.Inlined
	outer   cgout.Func
	context callgraph.Context
	at      emu.Addr
}

// key returns the function at a, which was looked up last and whose place is loc, in a context.
func (c *attribution) key(a emu.Addr, loc dwarfmap.Loc, context callgraph.Context) (k funcKey, begin dwarfmap.Loc) {
	k.outer, begin = c.owner(a, loc)
	if k.in, k.context = c.in, context; c.nameless {
		k.at = a
	}
	return k, begin
}

// isLate reports whether k may get other names than those that are known.
func (c *attribution) isLate(k *funcKey) bool { return k.at != 0 || c.lateIn(k.context) }

// function is the function of k, by the names that are known now.
func (c *attribution) function(k funcKey) cgout.Func {
	if k.at != 0 {
		k.outer.Name = c.lateName(k.at, k.outer.Name)
	}
	if k.in == nil {
		k.outer.Name = c.inContext(k.outer.Name, k.context)
		return k.outer
	}
	return cgout.Func{Object: k.outer.Object, File: k.in.File, Name: c.inlinedInContext(k.in, k.outer.Name, k.context)}
}

// An inlineTable has what inlined functions cost with all that they call, from which the calls to them in a call graph
// are made.
//
// Of the functions at an instruction, one inlined into the other, only the innermost one's entry gets a count: the
// calls of those around it are made of the sums when the graph is taken.
type inlineTable struct {
	functions numbering.Table[funcKey]
	sums      []uint64 // of function i: how often it was entered, and width counts, from i*(width+1) on
}

// of returns the sums of a function.
func (t *inlineTable) of(k funcKey, width int) []uint64 {
	i, isNew := t.functions.Number(k)
	if isNew {
		t.sums = append(t.sums, make([]uint64, width+1)...)
	}
	return t.sums[i*(width+1) : (i+1)*(width+1)]
}

// addInlined adds costs to k's function, if it is inlined: it has them below inlined functions of its own.
func (c *attribution) addInlined(k funcKey, costs []uint64) {
	if k.in == nil {
		return
	}
	sums := c.inlines.of(k, len(costs))
	for i, n := range costs {
		sums[1+i] += n
	}
}

// enterInlined counts n executions of the instruction at va, in k's function, as calls of the inlined functions that
// are entered there.
func (c *attribution) enterInlined(k funcKey, va, n uint64) {
	for _, k.in = range c.object.Entered(va) {
		c.inlines.of(k, len(c.row))[0] += n
	}
}

// addInlinedCalls adds the calls of inlined functions to a graph.
func (c *attribution) addInlinedCalls(graph *cgout.CallGraph) {
	t := &c.inlines
	for i, k := range t.functions.Values() {
		width := len(t.sums) / t.functions.Len()
		sums := t.sums[i*width : (i+1)*width]
		entered := sums[0]
		for k.in != nil {
			callee, in := c.function(k), k.in
			k.in = in.Outer
			graph.AddCall(cgout.Call{
				Caller: c.function(k), File: in.CallFile, Line: in.CallLine, Callee: callee, CalleeLine: in.Line, Count: entered, Inlined: true, Counts: sums[1:],
			})
			entered = 0
		}
	}
}

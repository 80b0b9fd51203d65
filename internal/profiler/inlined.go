package profiler

import (
	"github.com/cgemu/cgemu/cgout"
	"github.com/cgemu/cgemu/dwarfmap"
	"github.com/cgemu/cgemu/emu/callgraph"
)

// An inlineTable has what inlined functions cost with all that they call, from which the calls to them in a call graph are made.
//
// Of the functions at an instruction, one inlined into the other, only the innermost one's entry gets a count: the calls of those around it
// are made of the sums when the graph is taken.
type inlineTable struct {
	index map[inlineKey]int
	list  []inlineKey
	sums  []uint64 // of list[i]: how often it was entered, and width counts, from i*(width+1) on
}

// An inlineKey is an inlined function, and the function that holds its code, in a context.
type inlineKey struct {
	in      *dwarfmap.Inlined
	outer   cgout.Func
	context callgraph.Context
}

// of returns the sums of a function.
func (t *inlineTable) of(k inlineKey, width int) []uint64 {
	i, ok := t.index[k]
	if !ok {
		if t.index == nil {
			t.index = map[inlineKey]int{}
		}
		i = len(t.list)
		t.index[k] = i
		t.list = append(t.list, k)
		t.sums = append(t.sums, make([]uint64, width+1)...)
	}
	return t.sums[i*(width+1) : (i+1)*(width+1)]
}

// inner returns the innermost function at what was looked up last, which fn holds. If that is an inlined one, which a call graph knows as if it were not, it adds costs
// to it, which it has below inlined functions of its own.
func (c *attribution) inner(fn cgout.Func, costs []uint64) cgout.Func {
	k := inlineKey{c.in, fn, c.context}
	if c.in != nil {
		sums := c.inlines.of(k, len(costs))
		for i, n := range costs {
			sums[1+i] += n
		}
	}
	return c.inlined(c.in, k)
}

// enterInlined counts n executions of the instruction at va, in fn, as calls of the inlined functions that are entered there.
func (c *attribution) enterInlined(fn cgout.Func, va, n uint64) {
	for _, in := range c.object.Entered(va) {
		c.inlines.of(inlineKey{in, fn, c.context}, len(c.row))[0] += n
	}
}

// addInlinedCalls adds the calls of inlined functions to a graph.
func (c *attribution) addInlinedCalls(graph *cgout.CallGraph) {
	t := &c.inlines
	for i, k := range t.list {
		width := len(t.sums) / len(t.list)
		sums := t.sums[i*width : (i+1)*width]
		entered := sums[0]
		for in := k.in; in != nil; in = in.Outer {
			graph.AddCall(cgout.Call{
				Caller: c.inlined(in.Outer, k), File: in.CallFile, Line: in.CallLine, Callee: c.inlined(in, k),
				CalleeLine: in.Line, Count: entered, Inlined: true, Counts: sums[1:],
			})
			entered = 0
		}
	}
}

// inlined is a function that is inlined in that of k, or that itself for nil.
func (c *attribution) inlined(in *dwarfmap.Inlined, k inlineKey) cgout.Func {
	fn := k.outer
	if in == nil {
		fn.Name = c.inContext(fn.Name, k.context)
		return fn
	}
	return cgout.Func{Object: fn.Object, File: in.File, Name: c.inlinedInContext(in, fn.Name, k.context)}
}

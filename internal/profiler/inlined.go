package profiler

import (
	"github.com/cgemu/cgemu/cgout"
	"github.com/cgemu/cgemu/dwarfmap"
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

// An inlineKey is an inlined function, and the function that holds its code.
type inlineKey struct {
	in    *dwarfmap.Inlined
	outer cgout.Func
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

// inlinedFunc is an inlined function as a call graph knows it: as it would be if it were not inlined.
func (c *attribution) inlinedFunc(in *dwarfmap.Inlined) cgout.Func {
	return cgout.Func{Object: c.last.Path, File: in.File, Name: in.Func}
}

// addInlined adds costs, which fn has below inlined functions of its own, to the innermost one, in. It returns that function.
func (c *attribution) addInlined(in *dwarfmap.Inlined, fn cgout.Func, costs []uint64) cgout.Func {
	sums := c.inlines.of(inlineKey{in, fn}, len(costs))
	for i, n := range costs {
		sums[1+i] += n
	}
	return c.inlinedFunc(in)
}

// enterInlined counts n executions of the instruction at va, in fn, as calls of the inlined functions that are entered there.
func (c *attribution) enterInlined(fn cgout.Func, va, n uint64) {
	for _, in := range c.object.Entered(va) {
		c.inlines.of(inlineKey{in, fn}, len(c.row))[0] += n
	}
}

// addCalls adds the calls of inlined functions to a graph.
func (t *inlineTable) addCalls(graph *cgout.CallGraph) {
	for i, k := range t.list {
		width := len(t.sums) / len(t.list)
		sums := t.sums[i*width : (i+1)*width]
		entered := sums[0]
		for in := k.in; in != nil; in = in.Outer {
			caller := k.outer
			if in.Outer != nil {
				caller = cgout.Func{Object: k.outer.Object, File: in.Outer.File, Name: in.Outer.Func}
			}
			graph.AddCall(cgout.Call{
				Caller: caller, File: in.CallFile, Line: in.CallLine, Callee: cgout.Func{Object: k.outer.Object, File: in.File, Name: in.Func},
				CalleeLine: in.Line, Count: entered, Inlined: true, Counts: sums[1:],
			})
			entered = 0
		}
	}
}

package cgout

import (
	"cmp"
	"fmt"
	"slices"
)

// A FunctionGraph is a CallGraph by function: what each costs itself and with what it calls, who calls it, and whom it
// calls. It holds all functions that cost something, call or are called.
type FunctionGraph struct {
	// Functions are sorted by object, file and name.
	Functions []*Function
	// Cycles are sets of two or more functions that call each other in a circle. The one that costs most, inclusively
	// and by the first event, is the first; its number is 1.
	Cycles []*Cycle
	// Totals are the costs of all functions.
	Totals []uint64
}

// A Function is a node of a FunctionGraph. Costs are one count for each event. A sum that does not fit stays at the
// greatest value.
type Function struct {
	Func
	// Line is where the function begins, 0 if it was never called or that is not known.
	Line int
	// Self is what it costs without the functions that it calls.
	Self []uint64
	// Inclusive is what it costs with them. Calls of itself are not counted twice. Of a function in a cycle calls do
	// not tell how much of the cycle's cost is its own and below it: Inclusive is the most that it can be, which is
	// never more than the cycle's. It is never more than Totals.
	Inclusive []uint64
	// Called is how often it was called, by itself too.
	Called uint64
	// Callers are the calls to it, Callees those that it made. Those with the greatest inclusive cost of the first
	// event come first.
	Callers, Callees []*Arc
	// Cycle is the cycle that the function is part of, nil if none. Calling itself alone makes none.
	Cycle *Cycle

	index int // in FunctionGraph.Functions
}

// Label returns the function's name, as Callgrind's tools write it: with its cycle behind it, `name <cycle 1>`.
func (f *Function) Label() string {
	if f.Cycle == nil {
		return f.Name
	}
	return f.Name + " " + f.Cycle.Label()
}

// An Arc is all calls of one function by another.
type Arc struct {
	Caller, Callee *Function
	// Count is how many calls there were, Counts their inclusive cost. That of an arc within a cycle holds the cost of
	// calls further in more than once.
	Count  uint64
	Counts []uint64
	// Sites are the source lines that call, sorted by file and line.
	Sites []CallSite
}

// Recursive reports whether the caller may be active already: it calls itself, or both are in one cycle.
func (a *Arc) Recursive() bool {
	return a.Caller == a.Callee || a.Caller.Cycle != nil && a.Caller.Cycle == a.Callee.Cycle
}

// Inclusive is what the calls cost, inclusively and once: Counts, but where calls are recursive no more than the caller
// and the callee cost, each of which is the most that it can be.
func (a *Arc) Inclusive() []uint64 {
	if !a.Recursive() {
		return a.Counts
	}
	counts := slices.Clone(a.Counts)
	for e := range counts {
		counts[e] = min(counts[e], a.Caller.Inclusive[e], a.Callee.Inclusive[e])
	}
	return counts
}

// A CallSite is a source line that calls a function, how often it does and the inclusive cost.
type CallSite struct {
	File   string
	Line   int
	Count  uint64
	Counts []uint64
}

// A Cycle is functions that call each other in a circle.
type Cycle struct {
	// Number is the cycle's place in FunctionGraph.Cycles, from 1 on.
	Number int
	// Functions are sorted as those of the graph.
	Functions []*Function
	// Self is the sum of what its functions cost themselves; Inclusive is that and what they call outside.
	Self, Inclusive []uint64
}

// Label returns the cycle's name: `<cycle 1>`.
func (c *Cycle) Label() string { return fmt.Sprintf("<cycle %d>", c.Number) }

// Functions adds up the graph by function. The result shares nothing with g.
func (g *CallGraph) Functions() *FunctionGraph {
	fg := &FunctionGraph{Totals: make([]uint64, g.events)}
	nodes := map[Func]*Function{}
	node := func(fn Func) *Function {
		f := nodes[fn]
		if f == nil {
			f = &Function{Func: fn, Self: make([]uint64, g.events)}
			nodes[fn] = f
			fg.Functions = append(fg.Functions, f)
		}
		return f
	}
	for c := range g.Costs {
		if !allZero(c.Counts) {
			accumulateUint64(node(c.Func).Self, c.Counts)
			accumulateUint64(fg.Totals, c.Counts)
		}
	}
	arcs := map[[2]*Function]*Arc{}
	for c := range g.Calls {
		if c.Count == 0 && allZero(c.Counts) {
			continue
		}
		caller, callee := node(c.Caller), node(c.Callee)
		a := arcs[[2]*Function{caller, callee}]
		if a == nil {
			a = &Arc{Caller: caller, Callee: callee, Counts: make([]uint64, g.events)}
			arcs[[2]*Function{caller, callee}] = a
			caller.Callees, callee.Callers = append(caller.Callees, a), append(callee.Callers, a)
		}
		a.add(c)
	}
	slices.SortFunc(fg.Functions, func(a, b *Function) int { return a.compare(b.Func) })
	for i, f := range fg.Functions {
		f.index = i
	}
	fg.findCycles()
	for _, f := range fg.Functions {
		f.include(fg.Totals)
	}
	return fg
}

// add adds calls, which come in the order of their lines.
func (a *Arc) add(c Call) {
	a.Count = saturated(a.Count, c.Count)
	accumulateUint64(a.Counts, c.Counts)
	a.Callee.Called = saturated(a.Callee.Called, c.Count)
	if a.Callee.Line == 0 {
		a.Callee.Line = c.CalleeLine
	}
	if n := len(a.Sites); n > 0 && a.Sites[n-1].File == c.File && a.Sites[n-1].Line == c.Line {
		last := &a.Sites[n-1]
		last.Count = saturated(last.Count, c.Count)
		accumulateUint64(last.Counts, c.Counts)
		return
	}
	a.Sites = append(a.Sites, CallSite{c.File, c.Line, c.Count, slices.Clone(c.Counts)})
}

// findCycles finds the strongly connected components of the graph by Tarjan's algorithm, without recursion: a graph may
// be deep.
func (fg *FunctionGraph) findCycles() {
	type visit struct{ f, next int } // next: which callee comes next
	const done = -1
	var (
		order   = make([]int, len(fg.Functions)) // when each was reached, from 1 on; 0 if not yet, done if its component is known
		low     = make([]int, len(fg.Functions))
		reached int
		stack   []int // functions whose component is not known yet
		active  []visit
	)
	enter := func(f int) {
		reached++
		order[f], low[f] = reached, reached
		stack, active = append(stack, f), append(active, visit{f, 0})
	}
	for root := range fg.Functions {
		if order[root] != 0 {
			continue
		}
		for enter(root); len(active) > 0; {
			v := &active[len(active)-1]
			f := v.f
			if callees := fg.Functions[f].Callees; v.next < len(callees) {
				callee := callees[v.next].Callee.index
				v.next++
				switch {
				case order[callee] == 0:
					enter(callee)
				case order[callee] != done:
					low[f] = min(low[f], order[callee])
				}
				continue
			}
			active = active[:len(active)-1]
			if len(active) > 0 {
				caller := active[len(active)-1].f
				low[caller] = min(low[caller], low[f])
			}
			if low[f] != order[f] {
				continue
			}
			i := len(stack) - 1
			for order[stack[i]] = done; stack[i] != f; order[stack[i]] = done {
				i--
			}
			fg.addCycle(stack[i:])
			stack = stack[:i]
		}
	}
	slices.SortFunc(fg.Cycles, func(a, b *Cycle) int {
		return cmp.Or(-slices.Compare(a.Inclusive, b.Inclusive), cmp.Compare(a.Functions[0].index, b.Functions[0].index))
	})
	for i, c := range fg.Cycles {
		c.Number = i + 1
	}
}

// addCycle makes a cycle of a component, if it has more than one function.
func (fg *FunctionGraph) addCycle(members []int) {
	if len(members) < 2 {
		return
	}
	c := &Cycle{Self: make([]uint64, len(fg.Totals))}
	for _, i := range slices.Sorted(slices.Values(members)) {
		fg.Functions[i].Cycle = c
		c.Functions = append(c.Functions, fg.Functions[i])
		accumulateUint64(c.Self, fg.Functions[i].Self)
	}
	c.Inclusive = slices.Clone(c.Self)
	for _, f := range c.Functions {
		for _, a := range f.Callees {
			if !a.Recursive() {
				accumulateUint64(c.Inclusive, a.Counts)
			}
		}
	}
	for e, n := range fg.Totals {
		c.Inclusive[e] = min(c.Inclusive[e], n)
	}
	fg.Cycles = append(fg.Cycles, c)
}

// include computes the inclusive cost and sorts the calls. Totals are of all functions: in files of Callgrind's calls
// may cost a little more.
func (f *Function) include(totals []uint64) {
	f.Inclusive = slices.Clone(f.Self)
	for _, a := range f.Callees {
		if a.Caller != a.Callee {
			accumulateUint64(f.Inclusive, a.Counts)
		}
	}
	for e, n := range totals {
		f.Inclusive[e] = min(f.Inclusive[e], n)
		if f.Cycle != nil {
			f.Inclusive[e] = min(f.Inclusive[e], f.Cycle.Inclusive[e])
		}
	}
	byCost := func(other func(*Arc) *Function) func(a, b *Arc) int {
		return func(a, b *Arc) int {
			return cmp.Or(-slices.Compare(a.Counts, b.Counts), -cmp.Compare(a.Count, b.Count), cmp.Compare(other(a).index, other(b).index))
		}
	}
	slices.SortFunc(f.Callers, byCost(func(a *Arc) *Function { return a.Caller }))
	slices.SortFunc(f.Callees, byCost(func(a *Arc) *Function { return a.Callee }))
}

// accumulateUint64 adds counts to sum, which has as many.
func accumulateUint64(sum, counts []uint64) {
	for e, n := range counts {
		sum[e] = saturated(sum[e], n)
	}
}

package cgout

import (
	"cmp"
	"fmt"
	"slices"
)

// A CallGraph says who called whom in a run, beside a Profile of it that has the costs by line. It knows functions by the object
// that holds them, too, and so has the costs a second time: those of the profile are the sums of them by file, name and line.
//
// AddCost and AddCall add up in any order; Costs and Calls yield them in the order of files.
type CallGraph struct {
	events int
	costs  sums[costKey]
	calls  sums[callKey]
}

// A Func is a function: the object (the program or library) that holds its code, the file where its source begins and its
// name. What is not known is Unknown.
type Func struct{ Object, File, Name string }

// compare is the order of functions.
func (f Func) compare(g Func) int {
	return cmp.Or(cmp.Compare(f.Object, g.Object), cmp.Compare(f.File, g.File), cmp.Compare(f.Name, g.Name))
}

// A Cost is what a source line of a function costs itself, without the functions that are called there. The line lies in another file
// than the function if it was inlined.
type Cost struct {
	Func   Func
	File   string
	Line   int
	Counts []uint64 // one for each event
}

// A Call is the calls that one source line made to one function.
type Call struct {
	Caller Func
	File   string // where the call stands
	Line   int
	Callee Func
	// CalleeLine is where the callee begins, in its own file.
	CalleeLine int
	// Count is how many calls there were.
	Count uint64
	// Counts are what the callee cost and what it called, from being called to coming back: its inclusive cost. A function
	// that calls itself, at once or by others, has the inner calls' cost in that of the outer ones, too.
	Counts []uint64
}

type costKey struct {
	fn   Func
	file string
	line int
}

func (k costKey) compare(l costKey) int {
	return cmp.Or(k.fn.compare(l.fn), cmp.Compare(k.file, l.file), cmp.Compare(k.line, l.line))
}

type callKey struct {
	site       costKey
	callee     Func
	calleeLine int
}

func (k callKey) compare(l callKey) int {
	return cmp.Or(k.site.compare(l.site), k.callee.compare(l.callee), cmp.Compare(k.calleeLine, l.calleeLine))
}

// sums are rows of counts by key.
type sums[K comparable] struct {
	index map[K]int
	keys  []K
	rows  []uint64 // of key i: width of them from i*width on
	last  int      // the one that was added to last
}

// add adds counts to the row of key, which has width of them; missing counts are 0.
func (s *sums[K]) add(key K, width int, counts []uint64) {
	row := s.row(key, width)
	for e, n := range counts {
		row[e] = saturated(row[e], n)
	}
}

// row returns the row of key, which it has from now on.
func (s *sums[K]) row(key K, width int) []uint64 {
	if s.last >= len(s.keys) || s.keys[s.last] != key {
		s.last = s.at(key, width)
	}
	return s.rows[s.last*width : (s.last+1)*width]
}

// at returns the index of key.
func (s *sums[K]) at(key K, width int) int {
	i, ok := s.index[key]
	if !ok {
		if s.index == nil {
			s.index = map[K]int{}
		}
		i = len(s.keys)
		s.index[key] = i
		s.keys = append(s.keys, key)
		s.rows = append(s.rows, make([]uint64, width)...)
	}
	return i
}

// each calls f for all rows, in order; it ends when f returns false.
func (s *sums[K]) each(width int, compare func(a, b K) int, f func(key K, row []uint64) bool) {
	order := make([]int, len(s.keys))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return compare(s.keys[a], s.keys[b]) })
	for _, i := range order {
		if !f(s.keys[i], s.rows[i*width:(i+1)*width:(i+1)*width]) {
			return
		}
	}
}

// NewCallGraph returns an empty graph for a number of events.
func NewCallGraph(events int) *CallGraph { return &CallGraph{events: events} }

// AddCost adds what a line costs itself. Missing counts are 0. A sum that does not fit stays at the greatest value. It
// panics if there are more counts than events.
func (g *CallGraph) AddCost(fn Func, file string, line int, counts ...uint64) {
	g.check(counts)
	g.costs.add(costKey{fn, file, line}, g.events, counts)
}

// CostsOf returns what a line costs itself, one count per event, to be changed before anything else is added: who counts may have to take back what came too early, so that
// differences are added modulo 2^64.
func (g *CallGraph) CostsOf(fn Func, file string, line int) []uint64 {
	return g.costs.row(costKey{fn, file, line}, g.events)
}

// CallsOf returns likewise how often a line calls a function, and, behind that, what these calls cost.
func (g *CallGraph) CallsOf(caller Func, file string, line int, callee Func, calleeLine int) []uint64 {
	return g.calls.row(callKey{costKey{caller, file, line}, callee, calleeLine}, g.events+1)
}

// AddCall adds calls, as AddCost adds costs.
func (g *CallGraph) AddCall(c Call) {
	g.check(c.Counts)
	key := callKey{costKey{c.Caller, c.File, c.Line}, c.Callee, c.CalleeLine}
	g.calls.add(key, g.events+1, append([]uint64{c.Count}, c.Counts...))
}

func (g *CallGraph) check(counts []uint64) {
	if len(counts) > g.events {
		panic(fmt.Sprintf("BUG: cgout: %d counts for %d events", len(counts), g.events))
	}
}

// Costs yields the costs, sorted by function (its object, file and name), file and line. Counts must not be changed.
func (g *CallGraph) Costs(yield func(Cost) bool) {
	g.costs.each(g.events, costKey.compare, func(k costKey, row []uint64) bool { return yield(Cost{k.fn, k.file, k.line, row}) })
}

// Calls yields the calls, sorted by caller, file and line, then by callee. Counts must not be changed.
func (g *CallGraph) Calls(yield func(Call) bool) {
	g.calls.each(g.events+1, callKey.compare, func(k callKey, row []uint64) bool {
		return yield(Call{k.site.fn, k.site.file, k.site.line, k.callee, k.calleeLine, row[0], row[1:]})
	})
}

// Update calls f for the counts of each cost and each call, which it may change.
func (g *CallGraph) Update(f func(counts []uint64)) {
	for i := range g.costs.keys {
		f(g.costs.rows[i*g.events : (i+1)*g.events])
	}
	for i := range g.calls.keys {
		f(g.calls.rows[i*(g.events+1)+1 : (i+1)*(g.events+1)])
	}
}

// add adds another graph of the same events.
func (g *CallGraph) add(h *CallGraph) {
	for i, k := range h.costs.keys {
		g.costs.add(k, g.events, h.costs.rows[i*h.events:(i+1)*h.events])
	}
	for i, k := range h.calls.keys {
		g.calls.add(k, g.events+1, h.calls.rows[i*(h.events+1):(i+1)*(h.events+1)])
	}
}

// clone returns a copy that shares nothing that changes; nil of nil.
func (g *CallGraph) clone() *CallGraph {
	if g == nil {
		return nil
	}
	c := NewCallGraph(g.events)
	c.add(g)
	return c
}

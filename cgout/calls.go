package cgout

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cgemu/cgemu/internal/numbering"
)

// A CallGraph says who called whom in a run, beside a Profile of it that has the costs by line. It knows functions by
// the object that holds them, too, and so has the costs a second time: those of the profile are the sums of them by
// file, name and line.
//
// AddCost, AddCall and AddJump add up in any order; Costs, Calls and Jumps yield them in the order of files.
type CallGraph struct {
	events int
	funcs  numbering.Table[Func]
	files  numbering.Table[string]
	costs  sums[costKey]
	calls  sums[callKey]
	jumps  sums[jumpKey] // of two counts
}

// A Func is a function: the object (the program or library) that holds its code, the file where its source begins and
// its name. What is not known is Unknown.
type Func struct{ Object, File, Name string }

// compare is the order of functions.
func (f Func) compare(g Func) int {
	return cmp.Or(cmp.Compare(f.Object, g.Object), cmp.Compare(f.File, g.File), cmp.Compare(f.Name, g.Name))
}

// A Cost is what a source line of a function costs itself, without the functions that are called there. The line lies
// in another file than the function if it was inlined.
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
	// Inlined says that these are not calls: the callee was inlined where it stands in the source, and Count is how
	// often it was entered there.
	Inlined bool
	// Counts are what the callee cost and what it called, from being called to coming back: its inclusive cost. A
	// function that calls itself, at once or by others, has the inner calls' cost in that of the outer ones, too.
	Counts []uint64
}

// A Jump is the jumps that one source line made to another within a function.
type Jump struct {
	Func Func
	File string // where the jump stands
	Line int
	// TargetFunc is the name of the function where it leads: that of Func, but for functions that were inlined.
	// TargetFile and TargetLine are the place there.
	TargetFunc, TargetFile string
	TargetLine             int
	// Conditional says that it may go on behind it. Count is how often it jumped, Executed how often a conditional one
	// was executed.
	Conditional     bool
	Count, Executed uint64
}

type jumpKey struct {
	site        costKey
	fn          string // of the target
	file        int32
	line        int
	conditional bool
}

// Functions and files are their numbers in keys.
type costKey struct {
	fn, file int32
	line     int
}

type callKey struct {
	site       costKey
	callee     int32
	calleeLine int
	inlined    bool
}

// ranks returns for each number where its value comes in order.
func ranks[T comparable](of *numbering.Table[T], compare func(a, b T) int) []int {
	order, values := make([]int, of.Len()), of.Values()
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return compare(values[a], values[b]) })
	ranks := make([]int, len(order))
	for rank, i := range order {
		ranks[i] = rank
	}
	return ranks
}

// An ordering compares keys of a graph as the values of their numbers compare.
type ordering struct{ funcs, files []int }

func (g *CallGraph) ordering() ordering {
	return ordering{ranks(&g.funcs, Func.compare), ranks(&g.files, cmp.Compare)}
}

func (o *ordering) costs(k, l *costKey) int {
	if c := cmp.Compare(o.place(k), o.place(l)); c != 0 {
		return c
	}
	return cmp.Compare(k.line, l.line)
}

// place is greater for later functions, and within a function for later files.
func (o *ordering) place(k *costKey) uint64 {
	return uint64(o.funcs[k.fn])<<32 | uint64(o.files[k.file])
}

func (o *ordering) calls(k, l *callKey) int {
	if c := o.costs(&k.site, &l.site); c != 0 {
		return c
	}
	return cmp.Or(cmp.Compare(o.funcs[k.callee], o.funcs[l.callee]), cmp.Compare(k.calleeLine, l.calleeLine), compareBools(k.inlined, l.inlined))
}

func (o *ordering) jumps(k, l *jumpKey) int {
	if c := o.costs(&k.site, &l.site); c != 0 {
		return c
	}
	return cmp.Or(cmp.Compare(k.fn, l.fn), cmp.Compare(o.files[k.file], o.files[l.file]), cmp.Compare(k.line, l.line), compareBools(k.conditional, l.conditional))
}

// compareBools has false come first.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// sums are rows of counts by key.
type sums[K comparable] struct {
	keys numbering.Table[K]
	rows rows // of keys
}

// row returns the row of key, which it has from now on.
func (s *sums[K]) row(key K, width int) []uint64 { return s.rowOf(s.at(key, width), width) }

func (s *sums[K]) rowOf(i, width int) []uint64 {
	return s.rows.at(i, width)
}

// at returns the index of key.
func (s *sums[K]) at(key K, width int) int {
	i, isNew := s.keys.Number(key)
	if isNew {
		s.rows.grow(i, width)
	}
	return i
}

// sorted returns the indices of the keys, in order: place is greater for later ones, compare tells apart those that
// have the same one.
func (s *sums[K]) sorted(place func(k *K) uint64, compare func(k, l *K) int) []int {
	type placed struct {
		place uint64
		i     int
	}
	keys := s.keys.Values()
	order := make([]placed, len(keys))
	for i := range keys {
		order[i] = placed{place(&keys[i]), i}
	}
	slices.SortFunc(order, func(a, b placed) int {
		if c := cmp.Compare(a.place, b.place); c != 0 {
			return c
		}
		return compare(&keys[a.i], &keys[b.i])
	})
	indices := make([]int, len(order))
	for n, p := range order {
		indices[n] = p.i
	}
	return indices
}

// sortedCosts, sortedCalls and sortedJumps are the indices of all there are, in order.
func (g *CallGraph) sortedCosts(o *ordering) []int { return g.costs.sorted(o.place, o.costs) }

func (g *CallGraph) sortedCalls(o *ordering) []int {
	return g.calls.sorted(func(k *callKey) uint64 { return o.place(&k.site) }, o.calls)
}

func (g *CallGraph) sortedJumps(o *ordering) []int {
	return g.jumps.sorted(func(k *jumpKey) uint64 { return o.place(&k.site) }, o.jumps)
}

// NewCallGraph returns an empty graph for a number of events.
func NewCallGraph(events int) *CallGraph { return &CallGraph{events: events} }

// AddCost adds what a line costs itself. Missing counts are 0. A sum that does not fit stays at the greatest value. It
// panics if there are more counts than events.
func (g *CallGraph) AddCost(fn Func, file string, line int, counts ...uint64) {
	g.check(counts)
	addSaturated(g.CostsAt(g.Centre(g.Func(fn), file, line)), counts)
}

// Func returns the number of a function, for Centre and CallsOf. Numbers stay valid.
func (g *CallGraph) Func(fn Func) int {
	n, _ := g.funcs.Number(fn)
	return n
}

// Centre returns the number of the cost centre (function, file, line), which it makes if there is none. Numbers begin
// at 0 and stay valid.
func (g *CallGraph) Centre(fn int, file string, line int) int {
	return g.costs.at(g.costKey(fn, file, line), g.events)
}

// CostsAt returns what cost centre i costs itself, one count per event, to be changed before anything else is added:
// who counts may have to take back what came too early, so that differences are added modulo 2^64.
func (g *CallGraph) CostsAt(i int) []uint64 { return g.costs.rowOf(i, g.events) }

func (g *CallGraph) costKey(fn int, file string, line int) costKey {
	return costKey{int32(fn), g.fileNumber(file), line}
}

func (g *CallGraph) fileNumber(file string) int32 {
	n, _ := g.files.Number(file)
	return int32(n)
}

func (g *CallGraph) callKey(caller int, file string, line, callee, calleeLine int, inlined bool) callKey {
	return callKey{g.costKey(caller, file, line), int32(callee), calleeLine, inlined}
}

// CallsOf returns how often a line of a function calls another function, and, behind that, what these calls cost,
// likewise.
func (g *CallGraph) CallsOf(caller int, file string, line, callee, calleeLine int) []uint64 {
	return g.calls.row(g.callKey(caller, file, line, callee, calleeLine, false), g.events+1)
}

// AddCall adds calls, as AddCost adds costs.
func (g *CallGraph) AddCall(c Call) {
	g.check(c.Counts)
	row := g.calls.row(g.callKey(g.Func(c.Caller), c.File, c.Line, g.Func(c.Callee), c.CalleeLine, c.Inlined), g.events+1)
	row[0] = saturated(row[0], c.Count)
	addSaturated(row[1:], c.Counts)
}

func addSaturated(row, counts []uint64) {
	for e, n := range counts {
		row[e] = saturated(row[e], n)
	}
}

// AddJump adds jumps. Executed means nothing where they are not conditional.
func (g *CallGraph) AddJump(j Jump) {
	if !j.Conditional {
		j.Executed = 0
	}
	key := jumpKey{g.costKey(g.Func(j.Func), j.File, j.Line), j.TargetFunc, g.fileNumber(j.TargetFile), j.TargetLine, j.Conditional}
	addSaturated(g.jumps.row(key, 2), []uint64{j.Count, j.Executed})
}

// Renamed returns a graph with the names that file and fn give in place of g's. What has one name then is added up.
func (g *CallGraph) Renamed(file func(string) string, fn func(Func) Func) *CallGraph {
	h := NewCallGraph(g.events)
	for c := range g.Costs {
		h.AddCost(fn(c.Func), file(c.File), c.Line, c.Counts...)
	}
	for c := range g.Calls {
		c.Caller, c.Callee, c.File = fn(c.Caller), fn(c.Callee), file(c.File)
		h.AddCall(c)
	}
	for j := range g.Jumps {
		target := fn(Func{File: j.TargetFile, Name: j.TargetFunc})
		j.Func, j.File, j.TargetFunc, j.TargetFile = fn(j.Func), file(j.File), target.Name, target.File
		h.AddJump(j)
	}
	return h
}

// Jumps yields the jumps, sorted by function, file and line, then by target; unconditional ones come first.
func (g *CallGraph) Jumps(yield func(Jump) bool) {
	o := g.ordering()
	for _, i := range g.sortedJumps(&o) {
		if !yield(g.jump(i)) {
			return
		}
	}
}

// jump returns the jump with an index.
func (g *CallGraph) jump(i int) Jump {
	k, row := g.jumps.keys.Value(i), g.jumps.rowOf(i, 2)
	return Jump{g.function(k.site.fn), g.file(k.site.file), k.site.line, k.fn, g.file(k.file), k.line, k.conditional, row[0], row[1]}
}

// function and file are the names with a number.
func (g *CallGraph) function(i int32) Func { return g.funcs.Value(int(i)) }
func (g *CallGraph) file(i int32) string   { return g.files.Value(int(i)) }

func (g *CallGraph) check(counts []uint64) {
	if len(counts) > g.events {
		panic(fmt.Sprintf("BUG: cgout: %d counts for %d events", len(counts), g.events))
	}
}

// Costs yields the costs, sorted by function (its object, file and name), file and line. Counts must not be changed.
func (g *CallGraph) Costs(yield func(Cost) bool) {
	o := g.ordering()
	for _, i := range g.sortedCosts(&o) {
		if !yield(g.cost(i)) {
			return
		}
	}
}

// Calls yields the calls, sorted by caller, file and line, then by callee. Counts must not be changed.
func (g *CallGraph) Calls(yield func(Call) bool) {
	o := g.ordering()
	for _, i := range g.sortedCalls(&o) {
		if !yield(g.call(i)) {
			return
		}
	}
}

// cost returns the cost with an index, call the call with one.
func (g *CallGraph) cost(i int) Cost {
	k := g.costs.keys.Value(i)
	return Cost{g.function(k.fn), g.file(k.file), k.line, g.costs.rowOf(i, g.events)}
}

func (g *CallGraph) call(i int) Call {
	k, row := g.calls.keys.Value(i), g.calls.rowOf(i, g.events+1)
	return Call{g.function(k.site.fn), g.file(k.site.file), k.site.line, g.function(k.callee), k.calleeLine, row[0], k.inlined, row[1:]}
}

// Update calls f for the counts of each cost and each call, which it may change.
func (g *CallGraph) Update(f func(counts []uint64)) {
	for i := range g.costs.keys.Len() {
		f(g.costs.rowOf(i, g.events))
	}
	for i := range g.calls.keys.Len() {
		f(g.calls.rowOf(i, g.events+1)[1:])
	}
}

// add adds another graph of the same events.
func (g *CallGraph) add(h *CallGraph) {
	for i := range h.costs.keys.Len() {
		c := h.cost(i)
		g.AddCost(c.Func, c.File, c.Line, c.Counts...)
	}
	for i := range h.calls.keys.Len() {
		g.AddCall(h.call(i))
	}
	for i := range h.jumps.keys.Len() {
		g.AddJump(h.jump(i))
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

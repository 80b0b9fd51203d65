package export

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/cgemu/cgemu/cgout"
)

// A cycleBuilder shares the costs of a cycle. Its functions are put in an order, in which what calls most comes first;
// calls against that order are taken for recursion, and left out. Along the others the cycle's cost flows from where it
// is entered to where it belongs. How much each call carries is computed backwards, from what the functions behind it
// need: what calls in a cycle cost themselves holds calls further in.
type cycleBuilder struct {
	*builder
	fns []*cgout.Function       // in order
	at  map[*cgout.Function]int // their places
	// parts are what each function costs without calls in the cycle; flows are the calls that carry cost, by caller.
	parts, flows [][]part
	// need is what each function is to get, supply what calls from outside bring.
	need, supply [][]uint64
}

// expandCycle makes the nodes of a cycle's functions.
func (b *builder) expandCycle(u *unit) {
	sum := make([]uint64, len(b.columns))
	parts := map[*cgout.Function][]part{}
	for _, f := range u.fns {
		parts[f] = b.parts(f)
		addTo(sum, b.sum(parts[f]))
	}
	entry := b.enter(u, sum)
	c := &cycleBuilder{builder: b, fns: inOrder(u.fns, entry, b.columns[0]), at: map[*cgout.Function]int{}, flows: make([][]part, len(u.fns))}
	for i, f := range c.fns {
		c.at[f] = i
		c.parts, c.need = append(c.parts, parts[f]), append(c.need, b.sum(parts[f]))
		supply := make([]uint64, len(b.columns))
		for _, x := range b.contexts[f] {
			addTo(supply, x.counts)
		}
		c.supply = append(c.supply, supply)
	}
	for i := len(c.fns) - 1; i > 0; i-- {
		c.flow(i)
	}
	for i := 1; i < len(c.fns); i++ {
		c.excess(i)
	}
	for i, f := range c.fns {
		b.locate(f, b.contexts[f], append(c.parts[i], c.flows[i]...))
	}
}

// enter has calls from outside bring what the cycle costs. It returns the function to which they bring most; of a cycle
// that nobody calls, the one that was called least.
func (b *builder) enter(u *unit, sum []uint64) *cgout.Function {
	var all []context
	for _, f := range u.fns {
		all = append(all, b.contexts[f]...)
		delete(b.contexts, f)
	}
	entry := slices.MinFunc(u.fns, func(x, y *cgout.Function) int { return cmp.Compare(x.Called, y.Called) })
	supply := map[*cgout.Function][]uint64{}
	for _, x := range b.balanced(all, sum, b.s.root) {
		if x.callee == nil {
			x.callee = entry
		}
		b.contexts[x.callee] = append(b.contexts[x.callee], x)
		if supply[x.callee] == nil {
			supply[x.callee] = make([]uint64, len(sum))
		}
		addTo(supply[x.callee], x.counts)
	}
	for _, f := range u.fns {
		if slices.Compare(supply[f], supply[entry]) > 0 {
			entry = f
		}
	}
	return entry
}

// flow has the callers of function i in front of it bring what it needs besides its supply, in proportion to what their
// calls cost.
func (c *cycleBuilder) flow(i int) {
	var callers []*cgout.Arc
	for _, a := range c.fns[i].Callers {
		if at, ok := c.at[a.Caller]; ok && at < i {
			callers = append(callers, a)
		}
	}
	carried := make([][]uint64, len(callers))
	for j := range carried {
		carried[j] = make([]uint64, len(c.columns))
	}
	for k, e := range c.columns {
		if c.need[i][k] <= c.supply[i][k] {
			continue
		}
		for j, n := range share(c.need[i][k]-c.supply[i][k], weights(callers, func(a *cgout.Arc) uint64 { return a.Counts[e] })) {
			carried[j][k] = n
		}
	}
	for j, a := range callers {
		if isZero(carried[j]) {
			continue
		}
		from := c.at[a.Caller]
		addTo(c.need[from], carried[j])
		c.flows[from] = append(c.flows[from], c.bySite(a, carried[j])...)
	}
}

// weights returns a weight for each element, which are not all 0.
func weights[T any](list []T, of func(T) uint64) []uint64 {
	w := make([]uint64, len(list))
	for i, x := range list {
		w[i] = of(x)
	}
	if isZero(w) {
		w[0] = 1
	}
	return w
}

// bySite divides what an arc carries among the lines that call, if these are wanted.
func (c *cycleBuilder) bySite(a *cgout.Arc, carried []uint64) (list []part) {
	if !c.sites {
		return []part{{place{}, carried, a.Callee}}
	}
	for _, s := range a.Sites {
		list = append(list, part{place{s.File, s.Line}, make([]uint64, len(carried)), a.Callee})
	}
	for k, e := range c.columns {
		for j, n := range share(carried[k], weights(a.Sites, func(s cgout.CallSite) uint64 { return s.Counts[e] })) {
			list[j].counts[k] = n
		}
	}
	return slices.DeleteFunc(list, func(p part) bool { return isZero(p.counts) })
}

// excess has what calls from outside bring to function i, and it does not need, go to the first function of the cycle:
// that was called further in.
func (c *cycleBuilder) excess(i int) {
	f := c.fns[i]
	for k := range c.columns {
		if c.supply[i][k] <= c.need[i][k] {
			continue
		}
		list := c.contexts[f]
		kept := share(c.need[i][k], weights(list, func(x context) uint64 { return x.counts[k] }))
		for j := range list {
			counts := make([]uint64, len(c.columns))
			counts[k] = list[j].counts[k] - kept[j]
			list[j].counts[k] = kept[j]
			if counts[k] > 0 {
				c.contexts[c.fns[0]] = append(c.contexts[c.fns[0]], context{c.bundled(list[j].parent), place{}, counts, c.fns[0]})
			}
		}
	}
	c.contexts[f] = slices.DeleteFunc(c.contexts[f], func(x context) bool { return isZero(x.counts) })
}

// inOrder returns the functions of a cycle, beginning with the entry: each time the one behind the costliest call of
// those before.
func inOrder(fns []*cgout.Function, entry *cgout.Function, column int) []*cgout.Function {
	left := map[*cgout.Function]int{} // those that are not in order yet, with their numbers
	for i, f := range fns {
		left[f] = i
	}
	var list []*cgout.Function
	calls := &callHeap{column: column}
	for next := entry; ; {
		list = append(list, next)
		for _, a := range next.Callees {
			if n, ok := left[a.Callee]; ok && a.Callee != next {
				heap.Push(calls, heapCall{a, n})
			}
		}
		delete(left, next)
		for next = nil; next == nil && calls.Len() > 0; {
			if a := heap.Pop(calls).(heapCall); a.isLeft(left) {
				next = a.Callee
			}
		}
		if next == nil {
			return list
		}
	}
}

// A heapCall is a call in a cycle, to the function with that number.
type heapCall struct {
	*cgout.Arc
	number int
}

func (c heapCall) isLeft(left map[*cgout.Function]int) bool { _, ok := left[c.Callee]; return ok }

// A callHeap has the costliest call first.
type callHeap struct {
	list   []heapCall
	column int
}

// Len implements heap.Interface.
func (h *callHeap) Len() int { return len(h.list) }

// Less implements heap.Interface.
func (h *callHeap) Less(i, j int) bool {
	a, b := h.list[i], h.list[j]
	return cmp.Or(-cmp.Compare(a.Counts[h.column], b.Counts[h.column]), -cmp.Compare(a.Count, b.Count), cmp.Compare(a.number, b.number)) < 0
}

// Swap implements heap.Interface.
func (h *callHeap) Swap(i, j int) { h.list[i], h.list[j] = h.list[j], h.list[i] }

// Push implements heap.Interface.
func (h *callHeap) Push(x any) { h.list = append(h.list, x.(heapCall)) }

// Pop implements heap.Interface.
func (h *callHeap) Pop() any {
	last := h.list[len(h.list)-1]
	h.list = h.list[:len(h.list)-1]
	return last
}

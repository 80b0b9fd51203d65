package export

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/cgemu/cgemu/cgout"
)

// Limits of what is made of a call graph, so that time, memory and what is written stay bounded.
const (
	maxDepth    = 250
	maxStacks   = 50_000
	maxContexts = 2_000     // of one function
	maxPending  = 4_000_000 // contexts of all functions together; beyond, each has one
	leastShare  = 20_000    // a stack below 1/leastShare of all events is bundled with others
)

// A frame is one line of a stack.
type frame struct {
	kind   frameKind
	fn     cgout.Func // of a function
	name   string     // what is shown
	file   string
	line   int // where a function begins, or the line; 0 if that is not known
	number int // in stacks.frames
}

type frameKind uint8

const (
	functionFrame frameKind = iota
	lineFrame
	markFrame // what stands for several frames
)

// A place is a source line.
type place struct {
	file string
	line int
}

// A cost is what a line of a function costs on one stack.
type cost struct {
	place
	counts []uint64
}

// A node is a stack: that of its parent with a frame more.
type node struct {
	*frame
	parent *node
	depth  int
	// site is the line of the parent that calls.
	site place
	// self is what the frame costs itself on this stack: by line, or in one sum. Inclusive is that with all below.
	self      []cost
	inclusive []uint64
	children  []*node

	bundle *node // the child `(...)`
}

// stacks are all stacks of a profile.
type stacks struct {
	root   *node
	frames []*frame
	totals []uint64
}

// A context is where a function is called: the stack there, the line, and what the calls cost.
type context struct {
	parent *node
	site   place
	counts []uint64
	callee *cgout.Function // nil if it is not known
}

// A unit is a function, or the functions of a cycle, whose costs are shared together.
type unit struct {
	fns     []*cgout.Function
	callers int // arcs to it that were not shared yet
}

// A builder makes stacks of a call graph.
type builder struct {
	s     *stacks
	graph *cgout.FunctionGraph
	detail
	columns []int                 // the events that are wanted
	costs   map[cgout.Func][]cost // by line
	units   []*unit
	of      map[*cgout.Function]*unit
	// contexts are where each function is called.
	contexts map[*cgout.Function][]context
	frames   map[cgout.Func]*frame
	nodes    int
	pending  int
	room     []uint64 // of arcs, by event: what sums of a unit can hold besides all own costs
}

// A detail says what stacks tell apart: sites the lines of calls, lines those of a function's own cost.
type detail struct{ sites, lines bool }

// newStacks makes the stacks of a graph. It is an error if totals of the columns do not fit.
func newStacks(g *cgout.CallGraph, columns []int, d detail) (*stacks, error) {
	b := &builder{
		s: &stacks{root: &node{}}, graph: g.Functions(), columns: columns, detail: d,
		of: map[*cgout.Function]*unit{}, contexts: map[*cgout.Function][]context{}, frames: map[cgout.Func]*frame{}, costs: map[cgout.Func][]cost{},
	}
	b.s.totals = b.pick(b.graph.Totals)
	if slices.ContainsFunc(b.s.totals, func(n uint64) bool { return n > math.MaxInt64 }) {
		return nil, fmt.Errorf("export: counts add up to more than %d", math.MaxInt64)
	}
	for c := range g.Costs {
		if d.lines {
			b.costs[c.Func] = append(b.costs[c.Func], cost{place{c.File, c.Line}, b.pick(c.Counts)})
		}
	}
	for _, u := range b.order() {
		b.expand(u)
	}
	b.s.finish(b.columns)
	return b.s, nil
}

// pick returns the counts of the columns.
func (b *builder) pick(counts []uint64) []uint64 {
	list := make([]uint64, len(b.columns))
	for i, e := range b.columns {
		list[i] = counts[e]
	}
	return list
}

// order returns the units, callers first.
func (b *builder) order() (list []*unit) {
	for _, f := range b.graph.Functions {
		switch {
		case f.Cycle == nil:
			u := &unit{fns: []*cgout.Function{f}}
			b.units, b.of[f] = append(b.units, u), u
		case f.Cycle.Functions[0] == f:
			u := &unit{fns: f.Cycle.Functions}
			b.units = append(b.units, u)
			for _, member := range u.fns {
				b.of[member] = u
			}
		}
	}
	for _, u := range b.units {
		u.eachArc(func(a *cgout.Arc) { b.of[a.Callee].callers++ })
	}
	for _, u := range b.units {
		if u.callers == 0 {
			list = append(list, u)
		}
	}
	for i := 0; i < len(list); i++ {
		list[i].eachArc(func(a *cgout.Arc) {
			if to := b.of[a.Callee]; to.callers > 1 {
				to.callers--
			} else {
				list = append(list, to)
			}
		})
	}
	return list
}

// eachArc calls f for the calls to other units.
func (u *unit) eachArc(f func(a *cgout.Arc)) {
	for _, fn := range u.fns {
		for _, a := range fn.Callees {
			if !a.Recursive() {
				f(a)
			}
		}
	}
}

// A part is what is shared among stacks: a line's cost, or that of calls.
type part struct {
	place
	counts []uint64
	callee *cgout.Function // nil: the function's own
}

// parts returns what a function's inclusive cost, without calls in its cycle, is made of.
func (b *builder) parts(f *cgout.Function) (list []part) {
	if b.lines {
		for _, c := range b.costs[f.Func] {
			list = append(list, part{c.place, c.counts, nil})
		}
	} else {
		list = append(list, part{counts: b.pick(f.Self)})
	}
	for _, a := range f.Callees {
		if a.Recursive() {
			continue
		}
		if !b.sites {
			list = append(list, part{place{}, b.clipped(a.Counts), a.Callee})
			continue
		}
		for _, s := range a.Sites {
			list = append(list, part{place{s.File, s.Line}, b.clipped(s.Counts), a.Callee})
		}
	}
	return slices.DeleteFunc(list, func(p part) bool { return isZero(p.counts) })
}

// clipped returns the counts of an arc, which are less if the sum of a unit would not fit: in profiles that are broken.
func (b *builder) clipped(counts []uint64) []uint64 {
	list := b.pick(counts)
	for e := range list {
		list[e] = min(list[e], b.room[e])
		b.room[e] -= list[e]
	}
	return list
}

// expand makes the nodes of a unit and shares its costs among them.
func (b *builder) expand(u *unit) {
	b.room = make([]uint64, len(b.columns))
	for e := range b.room {
		b.room[e] = math.MaxUint64 - 1 - b.s.totals[e]
	}
	if len(u.fns) > 1 {
		b.expandCycle(u)
		return
	}
	parts := b.parts(u.fns[0])
	b.locate(u.fns[0], b.balanced(b.contexts[u.fns[0]], b.sum(parts), b.s.root), parts)
}

// locate makes the nodes of a function, and shares its parts among them.
func (b *builder) locate(f *cgout.Function, contexts []context, parts []part) {
	delete(b.contexts, f)
	contexts = b.bundle(contexts, len(parts))
	b.distribute(b.nodesFor(contexts, b.frame(f)), contexts, parts)
}

// sum adds parts up.
func (b *builder) sum(parts []part) []uint64 {
	sum := make([]uint64, len(b.columns))
	for _, p := range parts {
		addTo(sum, p.counts)
	}
	return sum
}

// balanced returns contexts that cost the sum together. Calls may say more, of which part is taken, or less: the rest
// is on stack other.
func (b *builder) balanced(contexts []context, sum []uint64, other *node) []context {
	rest := make([]uint64, len(sum))
	for e, n := range sum {
		weights, total := make([]uint64, len(contexts)), uint64(0)
		for i, c := range contexts {
			weights[i] = c.counts[e]
			total = saturated(total, c.counts[e])
		}
		switch {
		case total < n:
			rest[e] = n - total
		case total > n:
			for i, w := range share(n, weights) {
				contexts[i].counts[e] = w
			}
		}
	}
	if !isZero(rest) {
		contexts = append(contexts, context{parent: other, counts: rest})
	}
	return slices.DeleteFunc(contexts, func(c context) bool { return isZero(c.counts) })
}

// bundle leaves the contexts that cost most, and bundles the others. Parts is how many parts a function has that each
// of them gets a share of.
func (b *builder) bundle(contexts []context, parts int) []context {
	contexts = merged(contexts)
	slices.SortStableFunc(contexts, func(x, y context) int { return -slices.Compare(x.counts, y.counts) })
	most := min(maxContexts, max(1, maxPending/8/max(1, parts)))
	if b.nodes > maxStacks || b.pending > maxPending {
		most = 1
	}
	var kept, rest []context
	for _, c := range contexts {
		if c.parent.depth < maxDepth && (len(kept) == 0 || len(kept) < most && b.notable(c.counts)) {
			kept = append(kept, c)
		} else {
			rest = append(rest, c)
		}
	}
	switch {
	case len(rest) == 0:
		return kept
	case len(rest) == 1 && rest[0].parent.depth < maxDepth && most > 1:
		return append(kept, rest[0])
	}
	return merged(append(kept, b.bundles(rest, most-len(kept))...))
}

// bundles joins contexts, below stacks that they share: each goes down to where it and others cost enough together.
// There are no more than most of these, or one. `(...)` stands for the frames between.
func (b *builder) bundles(contexts []context, most int) (list []context) {
	level := map[int][]*node{}
	counts := map[*node][]uint64{}
	deepest := 0
	add := func(at *node, n []uint64) {
		if counts[at] == nil {
			counts[at] = make([]uint64, len(b.columns))
			level[at.depth] = append(level[at.depth], at)
			deepest = max(deepest, at.depth)
		}
		addTo(counts[at], n)
	}
	for _, c := range contexts {
		add(c.parent, c.counts)
	}
	for depth := deepest; depth >= 0; depth-- {
		for _, at := range level[depth] {
			n := counts[at]
			delete(counts, at)
			last := len(counts) == 0
			if depth <= maxDepth-3 && (last || most > 1 && b.notable(n)) {
				list = append(list, context{parent: b.bundled(at), counts: n})
				most--
			} else {
				add(at.parent, n)
			}
		}
	}
	return list
}

// bundled returns the child of a stack that stands for frames that are not shown.
func (b *builder) bundled(at *node) *node {
	if at.bundle == nil {
		at.bundle = b.add(at, b.mark("(...)"), place{})
		at.bundle.bundle = at.bundle
	}
	return at.bundle
}

// merged makes one context of those of one line of one stack.
func merged(contexts []context) (list []context) {
	type key struct {
		parent *node
		site   place
	}
	index := map[key]int{}
	for _, c := range contexts {
		k := key{c.parent, c.site}
		if i, ok := index[k]; ok {
			addTo(list[i].counts, c.counts)
			continue
		}
		index[k] = len(list)
		list = append(list, c)
	}
	return list
}

// notable reports whether a stack costs enough of an event to be shown.
func (b *builder) notable(counts []uint64) bool {
	for e, n := range counts {
		if n > 0 && n >= b.s.totals[e]/leastShare {
			return true
		}
	}
	return false
}

// nodesFor makes a node for each context.
func (b *builder) nodesFor(contexts []context, f *frame) []*node {
	list := make([]*node, len(contexts))
	for i, c := range contexts {
		list[i] = b.add(c.parent, f, c.site)
	}
	return list
}

func (b *builder) add(parent *node, f *frame, site place) *node {
	n := &node{frame: f, parent: parent, depth: parent.depth + 1, site: site}
	parent.children = append(parent.children, n)
	b.nodes++
	return n
}

// distribute shares the parts of a function among its nodes: costs of lines go to them, those of calls to the contexts
// of what is called.
func (b *builder) distribute(nodes []*node, contexts []context, parts []part) {
	if len(nodes) == 0 {
		return
	}
	for i, list := range b.shares(contexts, parts) {
		p := parts[i]
		for j, counts := range list {
			switch {
			case isZero(counts):
			case p.callee == nil:
				nodes[j].self = append(nodes[j].self, cost{p.place, counts})
			default:
				b.contexts[p.callee] = append(b.contexts[p.callee], context{nodes[j], p.place, counts, p.callee})
				b.pending++
			}
		}
	}
}

// shares divides each part among contexts, which cost as much together as the parts do: the sums of both stay what they
// are, for each event. What is left of each context is what the next part is shared in proportion to.
func (b *builder) shares(contexts []context, parts []part) [][][]uint64 {
	left := make([][]uint64, len(b.columns)) // by event and context
	for e := range b.columns {
		left[e] = make([]uint64, len(contexts))
		for j, c := range contexts {
			left[e][j] = c.counts[e]
		}
	}
	list := make([][][]uint64, len(parts))
	for i, p := range parts {
		list[i] = make([][]uint64, len(contexts))
		for j := range contexts {
			list[i][j] = make([]uint64, len(b.columns))
		}
		for e, n := range p.counts {
			if n == 0 {
				continue
			}
			for j, m := range share(n, left[e]) {
				list[i][j][e] = m
				left[e][j] -= m
			}
		}
	}
	return list
}

// frame returns a function's frame.
func (b *builder) frame(f *cgout.Function) *frame {
	fr := b.frames[f.Func]
	if fr == nil {
		fr = b.s.newFrame(frame{kind: functionFrame, fn: f.Func, name: functionName(f.Func), file: f.File, line: f.Line})
		b.frames[f.Func] = fr
	}
	return fr
}

// mark returns a frame that is no function's.
func (b *builder) mark(name string) *frame {
	key := cgout.Func{Object: "\x00mark", Name: name}
	if b.frames[key] == nil {
		b.frames[key] = b.s.newFrame(frame{kind: markFrame, name: name})
	}
	return b.frames[key]
}

func (s *stacks) newFrame(f frame) *frame {
	f.number = len(s.frames)
	s.frames = append(s.frames, &f)
	return &f
}

// finish computes inclusive costs and sorts nodes.
func (s *stacks) finish(columns []int) {
	var all []*node
	for list := []*node{s.root}; len(list) > 0; {
		n := list[len(list)-1]
		list = append(list[:len(list)-1], n.children...)
		all = append(all, n)
	}
	for _, n := range slices.Backward(all) {
		n.inclusive = make([]uint64, len(columns))
		for _, c := range n.self {
			addTo(n.inclusive, c.counts)
		}
		for _, c := range n.children {
			addTo(n.inclusive, c.inclusive)
		}
		n.sort()
	}
}

// sort sorts children: those that cost most come first.
func (n *node) sort() {
	slices.SortStableFunc(n.children, func(a, b *node) int {
		return cmp.Or(-slices.Compare(a.inclusive, b.inclusive), cmp.Compare(a.name, b.name), cmp.Compare(a.file, b.file),
			cmp.Compare(a.site.file, b.site.file), cmp.Compare(a.site.line, b.site.line))
	})
}

// each calls f for all stacks with a cost of their own, below the root, in the order in which a flame graph shows them.
func (s *stacks) each(f func(n *node)) {
	for list := []*node{s.root}; len(list) > 0; {
		n := list[len(list)-1]
		list = list[:len(list)-1]
		for _, c := range slices.Backward(n.children) {
			list = append(list, c)
		}
		if n != s.root && len(n.self) > 0 {
			f(n)
		}
	}
}

// own is what a node costs itself.
func (n *node) own() []uint64 {
	if len(n.self) == 1 {
		return n.self[0].counts
	}
	sum := make([]uint64, len(n.inclusive))
	for _, c := range n.self {
		addTo(sum, c.counts)
	}
	return sum
}

func isZero(counts []uint64) bool {
	return !slices.ContainsFunc(counts, func(n uint64) bool { return n != 0 })
}

// addTo adds counts to sum, and stays at the greatest value.
func addTo(sum, counts []uint64) {
	for e, n := range counts {
		sum[e] = saturated(sum[e], n)
	}
}

func saturated(a, b uint64) uint64 {
	if a+b < a {
		return ^uint64(0)
	}
	return a + b
}

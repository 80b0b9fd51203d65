package interp

import (
	"cmp"
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/callgraph"
)

// Where functions are told apart by their callers a block has the counts of one context, in which it was entered last.
// Those of others are put away in the block, until they are gathered.

// A blockCounts is what a block has counted in one context: how often it was entered, and what of its instructions does
// not follow from plans, nil if there is nothing.
type blockCounts struct {
	count uint64
	own   []*[emu.Taken + 1]uint32
}

// enterContext makes b's counts those of a context, which is that of what happens from now on.
func (e *Engine) enterContext(b *block, c callgraph.Context) {
	e.context = c
	if b.context == c || b.counting != emu.CountAll {
		return
	}
	if b.others == nil {
		b.others = map[callgraph.Context]blockCounts{}
	}
	if away := b.putAway(); away.count != 0 || away.own != nil {
		b.others[b.context] = away
	}
	b.takeUp(b.others[c])
	delete(b.others, c)
	b.context = c
}

// putAway takes b's counts from it, takeUp gives it others.
func (b *block) putAway() (n blockCounts) {
	n.count, b.count = b.count, 0
	for i := range b.insns {
		if own := b.insns[i].own; own != nil {
			if n.own == nil {
				n.own = make([]*[emu.Taken + 1]uint32, len(b.insns))
			}
			n.own[i], b.insns[i].own = own, nil
		}
	}
	return n
}

func (b *block) takeUp(n blockCounts) {
	b.count = n.count
	for i, own := range n.own {
		b.insns[i].own = own
	}
}

// gatherContexts is gather for all contexts of b.
func (e *Engine) gatherContexts(b *block) {
	now := e.context
	e.context = b.context
	e.gatherCounts(b)
	for c, n := range b.others {
		own := b.putAway()
		b.takeUp(n)
		e.context = c
		e.gatherCounts(b)
		b.takeUp(own)
	}
	b.others, e.context = nil, now
}

// A contextCounts has the counts of contexts that nobody has collected yet, by page.
type contextCounts map[emu.Addr]map[contextCount]int64

// A contextCount is an event of the instruction at an address in a context.
type contextCount struct {
	at      emu.Addr
	context callgraph.Context
	event   emu.Event
}

func (t contextCounts) add(k contextCount, n int64) {
	page := t[k.at.PageDown()]
	if page == nil {
		page = map[contextCount]int64{}
		t[k.at.PageDown()] = page
	}
	page[k] += n
}

// drain hands all counts of pages in [lo, hi) to add, in order, and forgets them.
func (t contextCounts) drain(lo, hi emu.Addr, add func(k contextCount, n int64)) {
	var pages []emu.Addr
	for p := range t {
		if p+emu.PageSize > lo && p < hi {
			pages = append(pages, p)
		}
	}
	slices.Sort(pages)
	for _, p := range pages {
		counts := t[p]
		keys := make([]contextCount, 0, len(counts))
		for k := range counts {
			keys = append(keys, k)
		}
		slices.SortFunc(keys, func(a, b contextCount) int {
			return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.context, b.context), cmp.Compare(a.event, b.event))
		})
		for _, k := range keys {
			if n := counts[k]; n != 0 {
				add(k, n)
			}
		}
		delete(t, p)
	}
}

// CollectContexts is Collect where functions are told apart by their callers: add is told of the context, too, and of
// pages as a whole.
func (e *Engine) CollectContexts(lo, hi emu.Addr, add func(c callgraph.Context, a emu.Addr, ev emu.Event, n uint64)) {
	e.gatherRange(lo, hi)
	e.contexts.drain(lo, hi, func(k contextCount, n int64) { add(k.context, k.at, k.event, uint64(n)) })
}

// Package tally holds counts by guest address: what engines have counted and nobody has collected yet.
//
// The package is cgemu's own: what it promises may change.
package tally

import (
	"cmp"
	"slices"

	"github.com/cgemu/cgemu/emu"
)

// A Tally holds counts by guest address. The zero Tally is empty.
type Tally struct {
	pages map[emu.Addr]*page
	// sorted has the pages in ascending order; nil if there are others since.
	sorted []pageAt
	// The page of the last add: counts come in runs.
	lastAt emu.Addr
	last   *page
}

// A pageAt is a page and its key.
type pageAt struct {
	at emu.Addr
	*page
}

// A page has the counts of consecutive addresses: of few, since most addresses begin no instruction, and many instructions count little.
type page [32]uint64

const pageSize = emu.Addr(len(page{}))

// Add adds n, which may be negative as long as the sum is not, to a's count.
func (t *Tally) Add(a emu.Addr, n int64) {
	if at := a / pageSize; t.last == nil || at != t.lastAt {
		t.lastAt, t.last = at, t.pages[at]
		if t.pages == nil {
			t.pages = map[emu.Addr]*page{}
		}
		if t.last == nil {
			t.last = new(page)
			t.pages[at], t.sorted = t.last, nil
		}
	}
	t.last[a%pageSize] += uint64(n)
}

// Kept is how many pages of addresses a Tally keeps for counts to come.
const Kept = 1 << 13

// Drain hands every count in [lo, hi) that is not zero to f, in ascending order, and makes
// it zero.
func (t *Tally) Drain(lo, hi emu.Addr, f func(a emu.Addr, n uint64)) {
	for _, p := range t.within(lo, hi) {
		for i, n := range p.page {
			if a := p.at*pageSize + emu.Addr(i); n != 0 && a >= lo && a < hi {
				f(a, n)
				p.page[i] = 0
			}
		}
		if first := p.at * pageSize; len(t.pages) > Kept && first >= lo && first+pageSize <= hi {
			delete(t.pages, p.at)
			t.last, t.sorted = nil, nil
		}
	}
}

// within returns the pages that overlap [lo, hi), in ascending order.
func (t *Tally) within(lo, hi emu.Addr) (list []pageAt) {
	first, end := lo/pageSize, (hi-1)/pageSize+1
	if t.sorted == nil && end-first <= emu.Addr(len(t.pages)) {
		for at := first; at < end; at++ {
			if p := t.pages[at]; p != nil {
				list = append(list, pageAt{at, p})
			}
		}
		return list
	}
	if t.sorted == nil {
		t.sorted = make([]pageAt, 0, len(t.pages))
		for at, p := range t.pages {
			t.sorted = append(t.sorted, pageAt{at, p})
		}
		slices.SortFunc(t.sorted, func(a, b pageAt) int { return cmp.Compare(a.at, b.at) })
	}
	from, to := t.position(first), t.position(end)
	return t.sorted[from:to]
}

// position returns where in sorted the first page at or behind key at is.
func (t *Tally) position(at emu.Addr) int {
	i, _ := slices.BinarySearchFunc(t.sorted, at, func(p pageAt, at emu.Addr) int { return cmp.Compare(p.at, at) })
	return i
}

// Clear makes all counts zero. It keeps the pages for those to come, unless there are many.
func (t *Tally) Clear() {
	if len(t.pages) > Kept {
		*t = Tally{}
		return
	}
	for _, p := range t.pages {
		*p = page{}
	}
}

// Pages returns how many pages of addresses t keeps.
func (t *Tally) Pages() int { return len(t.pages) }

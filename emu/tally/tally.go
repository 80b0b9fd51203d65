// Package tally holds counts by guest address: what engines have counted and nobody has collected yet.
//
// The package is cgemu's own: what it promises may change.
package tally

import (
	"maps"
	"slices"

	"github.com/cgemu/cgemu/emu"
)

// A Tally holds counts by guest address. The zero Tally is empty.
type Tally struct {
	pages map[emu.Addr]*page
	// keys are those of pages in ascending order; nil if there are others since.
	keys []emu.Addr
	// The page of the last add: counts come in runs.
	lastAt emu.Addr
	last   *page
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
			t.pages[at], t.keys = t.last, nil
		}
	}
	t.last[a%pageSize] += uint64(n)
}

// Kept is how many pages of addresses a Tally keeps for counts to come.
const Kept = 1 << 13

// Drain hands every count in [lo, hi) that is not zero to f, in ascending order, and makes
// it zero.
func (t *Tally) Drain(lo, hi emu.Addr, f func(a emu.Addr, n uint64)) {
	for _, at := range t.within(lo, hi) {
		counts := t.pages[at]
		for i, n := range counts {
			if a := at*pageSize + emu.Addr(i); n != 0 && a >= lo && a < hi {
				f(a, n)
				counts[i] = 0
			}
		}
		if first := at * pageSize; len(t.pages) > Kept && first >= lo && first+pageSize <= hi {
			delete(t.pages, at)
			t.last, t.keys = nil, nil
		}
	}
}

// within returns the keys of the pages that overlap [lo, hi), in ascending order.
func (t *Tally) within(lo, hi emu.Addr) (keys []emu.Addr) {
	first, end := lo/pageSize, (hi-1)/pageSize+1
	if end-first <= emu.Addr(len(t.pages)) {
		for at := first; at < end; at++ {
			if t.pages[at] != nil {
				keys = append(keys, at)
			}
		}
		return keys
	}
	if t.keys == nil {
		t.keys = slices.Sorted(maps.Keys(t.pages))
	}
	from, _ := slices.BinarySearch(t.keys, first)
	to, _ := slices.BinarySearch(t.keys, end)
	return t.keys[from:to]
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

// Package tally holds counts by guest address: what engines have counted and nobody has collected yet.
//
// The package is cgemu's own: what it promises may change.
package tally

import (
	"slices"

	"github.com/cgemu/cgemu/emu"
)

// A Tally holds counts by guest address. The zero Tally is empty.
type Tally struct {
	pages map[emu.Addr]*page
	// free are pages of zeros for addresses to come.
	free []*page
	// The page of the last add: counts come in runs.
	lastAt emu.Addr
	last   *page
	// keys is scratch space for Drain.
	keys []emu.Addr
}

// A page has the counts of consecutive addresses: of few, since most addresses begin no instruction, and many
// instructions count little.
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
			t.last = t.fresh()
			t.pages[at] = t.last
		}
	}
	t.last[a%pageSize] += uint64(n)
}

func (t *Tally) fresh() *page {
	if n := len(t.free); n > 0 {
		p := t.free[n-1]
		t.free = t.free[:n-1]
		return p
	}
	return new(page)
}

// Kept is how many pages a Tally keeps for addresses to come.
const Kept = 1 << 11

// release makes a page, which has zeros, free.
func (t *Tally) release(at emu.Addr, p *page) {
	delete(t.pages, at)
	if len(t.free) < Kept {
		t.free = append(t.free, p)
	}
	t.last = nil
}

// Drain hands every count in [lo, hi) that is not zero to f, in ascending order, and makes
// it zero.
func (t *Tally) Drain(lo, hi emu.Addr, f func(a emu.Addr, n uint64)) {
	t.keys = t.within(t.keys[:0], lo, hi)
	for _, at := range t.keys {
		p := t.pages[at]
		for i, n := range p {
			if a := at*pageSize + emu.Addr(i); n != 0 && a >= lo && a < hi {
				f(a, n)
				p[i] = 0
			}
		}
		// A page of which a part lies elsewhere stays.
		if first := at * pageSize; first >= lo && first+pageSize <= hi {
			t.release(at, p)
		}
	}
}

// within appends the keys of the pages that overlap [lo, hi) to keys, in ascending order.
func (t *Tally) within(keys []emu.Addr, lo, hi emu.Addr) []emu.Addr {
	first, end := lo/pageSize, (hi-1)/pageSize+1
	if end-first <= emu.Addr(len(t.pages)) {
		for at := first; at < end; at++ {
			if t.pages[at] != nil {
				keys = append(keys, at)
			}
		}
		return keys
	}
	for at := range t.pages {
		if at >= first && at < end {
			keys = append(keys, at)
		}
	}
	slices.Sort(keys)
	return keys
}

// Clear makes all counts zero.
func (t *Tally) Clear() {
	for at, p := range t.pages {
		*p = page{}
		t.release(at, p)
	}
}

// Pages returns how many pages of addresses t keeps.
func (t *Tally) Pages() int { return len(t.pages) + len(t.free) }

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
	// list has them, too, in ascending order unless unsorted is set.
	list     []pageAt
	unsorted bool
	// free are pages of zeros for addresses to come.
	free []*page
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
			t.last = t.fresh()
			t.pages[at] = t.last
			n := len(t.list)
			t.unsorted = t.unsorted || n > 0 && t.list[n-1].at > at
			t.list = append(t.list, pageAt{at, t.last})
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

// Kept is how many pages of addresses a Tally keeps for counts to come.
const Kept = 1 << 11

// release makes a page, which has zeros, free. Who calls it takes it off the list.
func (t *Tally) release(p pageAt) {
	delete(t.pages, p.at)
	if len(t.free) < Kept {
		t.free = append(t.free, p.page)
	}
	t.last = nil
}

// Drain hands every count in [lo, hi) that is not zero to f, in ascending order, and makes
// it zero.
func (t *Tally) Drain(lo, hi emu.Addr, f func(a emu.Addr, n uint64)) {
	if len(t.list) == 0 {
		return
	}
	first, end := lo/pageSize, (hi-1)/pageSize+1
	if t.unsorted && end-first <= emu.Addr(len(t.list)) {
		for at := first; at < end; at++ {
			if p := t.pages[at]; p != nil {
				p.drain(at, lo, hi, f)
			}
		}
		return
	}
	if t.unsorted {
		slices.SortFunc(t.list, func(a, b pageAt) int { return cmp.Compare(a.at, b.at) })
		t.unsorted = false
	}
	i, j := t.position(first), t.position(end)
	for _, p := range t.list[i:j] {
		p.drain(p.at, lo, hi, f)
	}
	// Pages of which a part lies elsewhere stay.
	if i < j && t.list[i].at*pageSize < lo {
		i++
	}
	if i < j && (t.list[j-1].at+1)*pageSize > hi {
		j--
	}
	for _, p := range t.list[i:j] {
		t.release(p)
	}
	t.list = slices.Delete(t.list, i, j)
}

// drain does so for one page.
func (p *page) drain(at, lo, hi emu.Addr, f func(a emu.Addr, n uint64)) {
	for i, n := range p {
		if a := at*pageSize + emu.Addr(i); n != 0 && a >= lo && a < hi {
			f(a, n)
			p[i] = 0
		}
	}
}

// position returns where in list, which is sorted, the first page at or behind key at is.
func (t *Tally) position(at emu.Addr) int {
	i, _ := slices.BinarySearchFunc(t.list, at, func(p pageAt, at emu.Addr) int { return cmp.Compare(p.at, at) })
	return i
}

// Clear makes all counts zero.
func (t *Tally) Clear() {
	for _, p := range t.list {
		*p.page = page{}
		t.release(p)
	}
	t.list, t.unsorted = t.list[:0], false
}

// Pages returns how many pages of addresses t keeps.
func (t *Tally) Pages() int { return len(t.pages) + len(t.free) }

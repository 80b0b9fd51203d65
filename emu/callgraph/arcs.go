package callgraph

import (
	"iter"
	"maps"
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/internal/numbering"
)

// An arcKey tells arcs apart.
type arcKey struct {
	// site and target are the places that an arc is between. site is 0 for what was not called: the first function of a
	// thread, or a signal handler.
	site, target emu.Addr
	// caller is the context of the site. again is that of the target if it is an active function's to which a jump goes
	// back, 0 if it follows from the caller's.
	caller, again Context
	// jump says that the arc is of jumps within a function.
	jump bool
}

// An arc is a pair of places between which control passed.
type arc struct {
	// function is the ID of the target's function; passes and parks are what emu.Function has of it.
	function      emu.Addr
	passes, parks bool
	// stale says that code there was unmapped or overwritten since: function is to be looked up again.
	// unsettled says that it is one of Recorder.unsettled.
	stale, unsettled bool
	callee           Context // of the target
	// next are the numbers of the arcs before this one on the page of the site, and on that of the target if that is
	// another one, from 1 on; 0 for none.
	next [2]int32
}

// An arcTable has arcs by their numbers, by their keys, and by the pages of their sites and targets.
type arcTable struct {
	keys numbering.Table[arcKey]
	list []arc
	// pages has the number of the last arc on each page.
	pages map[emu.Addr]int32
}

// newArcTable returns a table with room for n arcs.
func newArcTable(n int) arcTable {
	t := arcTable{list: make([]arc, 0, n), pages: map[emu.Addr]int32{}}
	t.keys.Grow(n)
	return t
}

// number returns the number of the arc with a key, which there is from now on; isNew says that there was none.
func (t *arcTable) number(k *arcKey) (n int, isNew bool) {
	n, isNew = t.keys.Number(*k)
	if !isNew {
		return n, false
	}
	a := arc{stale: true}
	for i, at := range [...]emu.Addr{k.site, k.target} {
		if p := at.PageDown(); at != 0 && (i == 0 || !k.siteOn(p)) {
			a.next[i], t.pages[p] = t.pages[p], int32(n+1)
		}
	}
	t.list = append(t.list, a)
	return n, true
}

// siteOn reports whether the site is on page p.
func (k *arcKey) siteOn(p emu.Addr) bool { return k.site != 0 && k.site.PageDown() == p }

// within yields the numbers of the arcs whose site or target is on the pages of [lo, hi), page by page.
func (t *arcTable) within(lo, hi emu.Addr) iter.Seq[int] {
	return func(yield func(int) bool) {
		keys := t.keys.Values()
		lo := lo.PageDown()
		for _, p := range t.pagesWithin(lo, hi) {
			for n := t.pages[p]; n != 0; {
				i := int(n - 1)
				k := &keys[i]
				if k.siteOn(p) {
					n = t.list[i].next[0]
				} else if n = t.list[i].next[1]; k.site != 0 && k.site >= lo && k.site.PageDown() < hi {
					continue // it comes with the page of its site
				}
				if !yield(i) {
					return
				}
			}
		}
	}
}

// pagesWithin returns the pages of [lo, hi) with arcs, in order.
func (t *arcTable) pagesWithin(lo, hi emu.Addr) (list []emu.Addr) {
	if (hi-lo)/emu.PageSize > emu.Addr(len(t.pages)) {
		list = slices.Collect(maps.Keys(t.pages))
		slices.Sort(list)
		return slices.DeleteFunc(list, func(p emu.Addr) bool { return p < lo || p >= hi })
	}
	for p := lo; p < hi; p += emu.PageSize {
		if t.pages[p] != 0 {
			list = append(list, p)
		}
	}
	return list
}

//go:build unicorn && linux && (amd64 || arm64)

package unicorn

import (
	"cmp"
	"slices"
	"sort"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
)

// A region is a range of guest memory that the library has mapped.
type region struct {
	lo, hi emu.Addr
	prot   uint8
}

// maxPieces is how many regions may make up one run of equal permissions: more cost the library
// time at each change, fewer are made by unmapping the others, which it does page by page.
const maxPieces = 8

// A mapping keeps the library's regions like the guest's VMAs. Read-only are also pages of VMAs that
// can be written, if they are guarded: the host write-protects these, and the library does not survive a store there.
type mapping struct {
	base    uintptr   // of the guest's memory
	vmas    []mem.VMA // as they were
	regions []region
	guards  uint64 // mem.Space.Guards as it was
	// stale says that a file has grown.
	stale bool
}

// sync brings the library's regions up to date.
func (e *Engine) sync() error {
	m := &e.mapping
	if !m.stale && m.guards == e.mem.Guards() && m.base == e.mem.Base() && slices.EqualFunc(m.vmas, e.mem.VMAs(), func(a, b mem.VMA) bool {
		return a.Lo == b.Lo && a.Hi == b.Hi && a.Prot == b.Prot && a.File == b.File && a.Ino == b.Ino
	}) {
		return nil
	}
	m.vmas, m.guards, m.stale = slices.Clone(e.mem.VMAs()), e.mem.Guards(), false
	if base := e.mem.Base(); m.base != base { // it grew
		for _, r := range m.regions {
			if err := e.unmap(r); err != nil {
				return err
			}
		}
		m.base, m.regions = base, nil
	}
	want := e.wanted()
	keep := m.regions[:0:0]
	for _, r := range m.regions {
		if covered(want, r) {
			keep = append(keep, r)
		} else if err := e.unmap(r); err != nil {
			return err
		}
	}
	m.regions = m.regions[:0]
	for _, w := range want {
		from, _ := slices.BinarySearchFunc(keep, w.lo, func(r region, a emu.Addr) int { return cmp.Compare(r.lo, a) })
		to, _ := slices.BinarySearchFunc(keep, w.hi, func(r region, a emu.Addr) int { return cmp.Compare(r.lo, a) })
		if err := e.fill(w, keep[from:to]); err != nil {
			return err
		}
	}
	return nil
}

// covered reports whether r lies in one of a sorted list of regions and has its permissions.
func covered(list []region, r region) bool {
	i := sort.Search(len(list), func(i int) bool { return list[i].hi > r.lo })
	return i < len(list) && list[i].lo <= r.lo && list[i].hi >= r.hi && list[i].prot == r.prot
}

// fill maps what of w its pieces leave free.
func (e *Engine) fill(w region, pieces []region) error {
	if len(pieces) > maxPieces {
		for _, r := range pieces {
			if err := e.unmap(r); err != nil {
				return err
			}
		}
		pieces = nil
	}
	at := w.lo
	for _, r := range append(slices.Clone(pieces), region{lo: w.hi, hi: w.hi}) {
		if at < r.lo {
			if err := e.mapRegion(region{at, r.lo, w.prot}); err != nil {
				return err
			}
		}
		if r.lo < r.hi {
			e.mapping.regions = append(e.mapping.regions, r)
		}
		at = r.hi
	}
	return nil
}

func (e *Engine) mapRegion(r region) error {
	err := call(e.lib.memMapPtr, e.uc, uintptr(r.lo), uintptr(r.hi-r.lo), uintptr(r.prot), e.mem.Base()+uintptr(r.lo))
	if err != nil {
		return describe("mapping guest memory", err)
	}
	e.mapping.regions = append(e.mapping.regions, r)
	return nil
}

func (e *Engine) unmap(r region) error {
	if err := call(e.lib.memUnmap, e.uc, uintptr(r.lo), uintptr(r.hi-r.lo)); err != nil {
		return describe("unmapping guest memory", err)
	}
	return nil
}

// wanted returns the regions the library should have: runs of pages with equal permissions.
func (e *Engine) wanted() (list []region) {
	split := e.mem.GuardedPages()
	add := func(r region) {
		if n := len(list); n > 0 && list[n-1].hi == r.lo && list[n-1].prot == r.prot {
			list[n-1].hi = r.hi
		} else if r.lo < r.hi {
			list = append(list, r)
		}
	}
	for i := range e.mapping.vmas {
		v := &e.mapping.vmas[i]
		if v.Prot == 0 {
			continue
		}
		r := region{v.Lo, e.fileEnd(v), protOf(v.Prot)}
		for len(split) > 0 && split[0] < r.lo {
			split = split[1:]
		}
		for len(split) > 0 && split[0] < r.hi && v.Prot&mem.Write != 0 {
			p := split[0]
			split = split[1:]
			add(region{r.lo, p, r.prot})
			add(region{p, p + emu.PageSize, r.prot &^ protWrite})
			r.lo = p + emu.PageSize
		}
		add(r)
	}
	return list
}

// protOf returns the library's permissions; x86 cannot forbid reading alone.
func protOf(p mem.Prot) uint8 { return uint8(p) | protRead }

// fileEnd returns the end of the pages of v that its file reaches: the host does not let anybody touch
// the others.
func (e *Engine) fileEnd(v *mem.VMA) emu.Addr {
	if !v.File || e.touchable(v, v.Hi-emu.PageSize) {
		return v.Hi
	}
	pages := int(v.Len() / emu.PageSize)
	n := sort.Search(pages, func(i int) bool { return !e.touchable(v, v.Lo+emu.Addr(i)*emu.PageSize) })
	return v.Lo + emu.Addr(n)*emu.PageSize
}

// touchable reports whether the host lets a page of v be read.
func (e *Engine) touchable(v *mem.VMA, p emu.Addr) bool {
	var b [1]byte
	switch {
	case v.Prot&mem.Read != 0:
		return e.mem.Read(p, b[:]) == 1
	case v.Prot&mem.Exec != 0:
		return e.mem.Fetch(p, b[:]) == 1
	}
	return true
}

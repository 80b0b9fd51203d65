//go:build linux && amd64

package jit

import (
	"bytes"
	"slices"

	"github.com/cgemu/cgemu/emu"
)

// Code whose mapping goes away is kept: a program is often run again, and finds its code at the same addresses. Such blocks
// are dormant until a lookup of their address finds that the pages they were made from hold the same bytes as then.

// A snapshot is a page of code as it was.
type snapshot [emu.PageSize]byte

const (
	// maxVariants is how many dormant blocks begin at an address: as many programs share it.
	maxVariants = 8
	// maxSnapshots bounds the memory of snapshots, to 32 MiB.
	maxSnapshots = 8192
)

// sleep makes block t dormant, which nothing reaches any more. Its pages are as they were when it was made.
func (e *Engine) sleep(t *tb) {
	if e.details() || e.snapped+len(t.pages) > maxSnapshots {
		return
	}
	src := make([]*snapshot, len(t.pages))
	for i, p := range t.pages {
		if src[i] = e.snapshot(p); src[i] == nil {
			return
		}
	}
	t.src = src
	list := t.world.dormant[t.pc]
	if len(list) == maxVariants {
		list = slices.Delete(list, 0, 1)
	}
	t.world.dormant[t.pc] = append(list, t)
}

// wake returns the block at pc if a dormant one was made from the same bytes; it is dormant no more.
func (e *Engine) wake(pc emu.Addr) *tb {
	list := e.dormant[pc]
	for i := len(list) - 1; i >= 0; i-- {
		if t := list[i]; e.unchanged(t) {
			e.dormant[pc] = slices.Delete(list, i, i+1)
			t.src = nil
			e.register(t)
			return t
		}
	}
	return nil
}

// unchanged reports whether the pages of dormant block t hold what it was made from.
func (e *Engine) unchanged(t *tb) bool {
	for i, p := range t.pages {
		s := e.snapshots[p]
		if s == nil {
			var now snapshot
			if e.mem.Fetch(p, now[:]) < len(now) {
				return false
			}
			// Guarded, it stays as it is, or is invalidated.
			e.mem.Guard(p, p+emu.PageSize)
			if s = t.src[i]; now != *s {
				s = e.keep(now)
			}
			e.snapshots[p] = s
		}
		if s != t.src[i] && !bytes.Equal(s[:], t.src[i][:]) {
			return false
		}
	}
	return true
}

// snapshot returns what page p holds, which is guarded; nil if not all of it can be fetched.
func (e *Engine) snapshot(p emu.Addr) *snapshot {
	if s := e.snapshots[p]; s != nil {
		return s
	}
	var now snapshot
	if e.mem.Fetch(p, now[:]) < len(now) {
		return nil
	}
	e.snapshots[p] = e.keep(now)
	return e.snapshots[p]
}

func (e *Engine) keep(s snapshot) *snapshot {
	e.snapped++
	return &s
}

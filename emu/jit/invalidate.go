//go:build linux && amd64

package jit

import (
	"slices"

	"github.com/cgemu/cgemu/emu"
)

// Invalidate implements emu.Engine.
func (e *Engine) Invalidate(lo, hi emu.Addr) {
	if e.calls != nil {
		e.calls.Invalidate(lo, hi)
	}
	any := false
	for p := lo.PageDown(); p < hi; p += emu.PageSize {
		blocks := e.pages[p]
		delete(e.pages, p)
		for _, t := range blocks {
			e.drop(t)
			e.retain(t)
			any = true
		}
	}
	if any {
		e.peeks.forget()
	}
}

// drop makes a block unreachable. Its code stays until the next flush: it may be running. Who calls it makes the block
// retained or counts it as dead.
func (e *Engine) drop(t *tb) {
	e.gatherBlock(t)
	e.isolate(t)
	if t.cache.tbs.at(t.pc) == t {
		t.cache.tbs.remove(t.pc)
	}
	if at := (fall{t.pc, int(t.run)}); t.run != 0 && t.cache.fallenInto[at] == t {
		delete(t.cache.fallenInto, at)
	}
	if t.listed {
		t.listed = false
		t.cache.table.clear(t.pc)
	}
	for _, p := range t.pages() {
		if left := slices.DeleteFunc(e.pages[p], func(u *tb) bool { return u == t }); len(left) > 0 {
			e.pages[p] = left
		} else {
			delete(e.pages, p)
		}
	}
}

// isolate parts t from all that leads to it.
func (e *Engine) isolate(t *tb) {
	for x := range e.linksTo(t) {
		e.disconnect(x)
		x.to, x.next = nil, 0
	}
	t.incoming = 0
}

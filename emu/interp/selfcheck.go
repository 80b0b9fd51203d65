package interp

import (
	"bytes"
	"slices"

	"github.com/cgemu/cgemu/emu"
)

// Blocks on exempt pages (mem.Space.Exempt) check themselves: before they are entered, and behind each instruction.

// prepareCheck notes what b was made from if it has to check itself.
func (e *Engine) prepareCheck(b *block) {
	if !e.mem.Exempt(b.pages[0]) && !e.mem.Exempt(b.pages[1]) {
		return
	}
	for i := range b.insns {
		b.code = append(b.code, b.insns[i].Bytes...)
	}
}

// same reports whether b, which checks itself and is about to be entered, is what it was. It forgets b if not, or if
// code on its page was the same for so long that the page is guarded again.
func (e *Engine) same(b *block) bool {
	if !e.sameFrom(b, b.pc) {
		return false
	}
	for _, p := range b.pages {
		if !e.mem.Exempt(p) {
			continue
		}
		if e.entries[p]++; e.entries[p] >= e.mem.Patience(p) {
			delete(e.entries, p)
			e.mem.GuardAgain(p)
		}
	}
	return !b.dropped
}

// sameFrom reports whether b's code from an address on is what it was, and forgets b if not.
func (e *Engine) sameFrom(b *block, from emu.Addr) bool {
	code := b.code[from-b.pc:]
	e.held = slices.Grow(e.held[:0], len(code))[:len(code)]
	if e.mem.Fetch(from, e.held) == len(code) && bytes.Equal(e.held, code) {
		return true
	}
	for _, p := range b.pages {
		delete(e.entries, p)
		if e.calls != nil && e.mem.Exempt(p) { // what is known of calls may not hold either
			e.Invalidate(p, p+emu.PageSize)
		}
	}
	if !b.dropped {
		e.drop(b)
	}
	return false
}

package mem

import "github.com/cgemu/cgemu/emu"

// A page of code to which the guest stores all the time, such as the part of the stack that holds a trampoline, is not worth a signal, or a look, for each store. Once stores have broken its
// guard maxBreaks times it is unguarded: Guard leaves it writable, and engines see themselves whether code there is what it was. When it has been for long they have the page guarded again.

// A storedPage is a page to which was stored while it was guarded.
type storedPage struct {
	breaks    int   // how often, since it was guarded again
	rounds    uint8 // how often it was unguarded
	unguarded bool
}

const (
	maxBreaks = 16
	// firstPatience is Patience the first time; it doubles up to maxRounds times.
	firstPatience = 1 << 14
	maxRounds     = 16
)

// noteStore notes that a store is about to break the guard of page p.
func (m *Space) noteStore(p emu.Addr) {
	s := m.stored[p]
	if s.breaks++; s.breaks >= maxBreaks && m.group.SelfChecks {
		s = storedPage{rounds: min(s.rounds+1, maxRounds), unguarded: true}
		m.unguarded++
	}
	m.stored[p] = s
}

// Unguarded reports whether stores to page p are not seen: engines have to see whether code there is what it was before they execute it, and behind each instruction that may store.
func (m *Space) Unguarded(p emu.Addr) bool { return m.AnyUnguarded() && m.stored[p].unguarded }

// AnyUnguarded reports whether there is such a page.
func (m *Space) AnyUnguarded() bool { return m.unguarded > 0 }

// Patience returns how often code on page p has to be found to be what it was, without exception, before GuardAgain is called.
func (m *Space) Patience(p emu.Addr) uint64 {
	return firstPatience << (max(m.stored[p].rounds, 1) - 1)
}

// GuardAgain makes engines forget what they translated from the unguarded page p, and Guard guard it.
func (m *Space) GuardAgain(p emu.Addr) {
	s := m.stored[p]
	m.forgetUnguarded(p)
	m.stored[p] = storedPage{rounds: s.rounds}
}

// forgetUnguarded makes engines forget what they translated from the unguarded page p, and m that it is.
func (m *Space) forgetUnguarded(p emu.Addr) {
	m.invalidate(p, p+emu.PageSize)
	delete(m.stored, p)
	m.unguarded--
}

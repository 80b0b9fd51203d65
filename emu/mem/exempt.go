package mem

import "github.com/cgemu/cgemu/emu"

// A page of code to which the guest stores all the time, such as the part of the stack that holds a trampoline, is not
// worth a signal, or a look, for each store. Once stores have broken its guard maxBreaks times it is exempt: Guard
// leaves it writable, and engines compare the code that they execute there with what they translated. When they have
// found it the same for long they have the page guarded again. So a page is guarded; after maxBreaks stores it is
// exempt; after Patience entries of code that was the same it is guarded again, and exempt for twice as long the next
// time. Each page of a file that several mappings show counts for itself.

// A storedPage is a page to which was stored while it was guarded.
type storedPage struct {
	breaks uint8 // how often, since it was guarded again
	rounds uint8 // how often it became exempt
	exempt bool
}

const (
	maxBreaks = 16
	// firstPatience is Patience the first time; it doubles up to maxRounds times.
	firstPatience = 1 << 14
	maxRounds     = 16
)

// noteStore notes that a store is about to break the guard of page p. A page that is exempt may be guarded for the sake
// of others.
func (m *Space) noteStore(p emu.Addr) {
	s := m.stored[p]
	if !m.group.SelfChecks || s.exempt {
		return
	}
	if s.breaks++; s.breaks == maxBreaks {
		s = storedPage{rounds: min(s.rounds+1, maxRounds), exempt: true}
		m.exempt++
	}
	m.stored[p] = s
}

// Exempt reports whether Guard leaves page p writable: engines have to see whether code there is what it was before
// they execute it, and behind each instruction that may store.
func (m *Space) Exempt(p emu.Addr) bool { return m.AnyExempt() && m.stored[p].exempt }

// AnyExempt reports whether any page is exempt.
func (m *Space) AnyExempt() bool { return m.exempt > 0 }

// Patience returns how often code on page p has to be found to be what it was, without exception, before GuardAgain is
// called.
func (m *Space) Patience(p emu.Addr) uint64 {
	return firstPatience << (max(m.stored[p].rounds, 1) - 1)
}

// GuardAgain makes engines forget what they translated from the exempt page p, which Guard guards from now on.
func (m *Space) GuardAgain(p emu.Addr) {
	rounds := m.stored[p].rounds
	m.forgetExempt(p)
	m.stored[p] = storedPage{rounds: rounds}
}

// forgetExempt makes engines forget what they translated from the exempt page p, and m what it knows of stores to it.
func (m *Space) forgetExempt(p emu.Addr) {
	m.invalidate(p, p+emu.PageSize)
	delete(m.stored, p)
	m.exempt--
}

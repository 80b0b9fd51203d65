//go:build linux && amd64

package jit

import "github.com/cgemu/cgemu/emu"

// peeks remembers what was found at addresses that were examined lately: code of many blocks jumps to a few places.
// What has another one's place forgets it.
type peeks struct {
	entries []peekEntry // 2^n of them
	// epoch is of the entries that are good, missed how often none was there since the table grew.
	epoch  uint32
	missed int
}

type peekEntry struct {
	at    emu.Addr
	epoch uint32
	found peek
}

// The table begins with minPeeks entries, and has twice as many up to maxPeeks when it has missed more often than it
// has entries.
const (
	minPeeks = 1 << 9
	maxPeeks = 1 << 14
)

func newPeeks(n int) peeks { return peeks{entries: make([]peekEntry, n), epoch: 1} }

func (p *peeks) entry(a emu.Addr) *peekEntry {
	return &p.entries[(a^a>>14)&emu.Addr(len(p.entries)-1)]
}

// at returns what was found at a, if that is known.
func (p *peeks) at(a emu.Addr) (found peek, ok bool) {
	x := p.entry(a)
	return x.found, x.at == a && x.epoch == p.epoch
}

// put notes what was found at a.
func (p *peeks) put(a emu.Addr, found peek) {
	if p.missed++; p.missed > len(p.entries) && len(p.entries) < maxPeeks {
		*p = newPeeks(2 * len(p.entries))
	}
	*p.entry(a) = peekEntry{a, p.epoch, found}
}

// forget makes all unknown.
func (p *peeks) forget() {
	if p.epoch++; p.epoch == 0 {
		*p = newPeeks(len(p.entries))
	}
}

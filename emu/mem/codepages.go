package mem

import "github.com/cgemu/cgemu/emu"

// A host counts a page of a mapped file to the memory of whoever looked at it, and Linux fifteen beside it, too.
// Engines look at code when they translate it, or find that it is what they translated before, and hardly ever again:
// so pages of code are given back. The host has them in its cache of files.

// fetchedMax is how many bytes of code are fetched before that: what is done with them takes fifty times as long as
// giving pages back.
const fetchedMax = 4 << 20

// noteFetched notes that n bytes of code were fetched.
func (m *Space) noteFetched(n int) {
	if m.fetched += n; m.fetched < fetchedMax || !MapsFiles || m.host.coarse() {
		return
	}
	m.fetched = 0
	for _, v := range m.VMAs() {
		if v.File && !v.Shared && v.Prot&(Exec|Write) == Exec {
			m.giveBack(v)
		}
	}
}

// giveBack gives those pages of v back to the host that are its file's.
func (m *Space) giveBack(v VMA) {
	at := v.Lo
	drop := func(hi emu.Addr) {
		if at < hi {
			_ = m.host.discardPages(at, hi) // a host that refuses keeps them
		}
	}
	err := changedPages(m.host.base, v, func(lo, hi emu.Addr) {
		drop(lo)
		at = hi
	})
	if err == nil {
		drop(v.Hi)
	}
}

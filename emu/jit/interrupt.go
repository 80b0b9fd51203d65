//go:build linux && amd64

package jit

// Interrupt implements emu.Engine. Generated code has no polls: it stops because every
// loop passes a backward link or a table lookup, and these are broken here; repetitions are made in pieces.
func (e *Engine) Interrupt() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.interrupt = true
	if e.inCode && !e.unlinked {
		e.unlinkAll()
	}
}

// unlinkAll makes generated code leave soon.
func (e *Engine) unlinkAll() {
	e.unlinked = true
	for _, x := range e.backEdges {
		e.disconnect(x)
	}
	e.showTable(withdrawn)
}

// relinkAll undoes what Interrupt broke.
func (e *Engine) relinkAll() {
	e.unlinked = false
	e.showTable(uint64(e.table.base))
	for _, x := range e.backEdges {
		if x.to != nil {
			e.link(x.site(), e.entryFor(x, x.to))
		}
	}
}

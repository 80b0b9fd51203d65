//go:build linux && amd64

package jit

import "runtime"

// Generated code has no polls: it stops because every loop passes a backward link or a table lookup, and these are
// broken by whoever interrupts; repetitions are made in pieces. Go's code looks at Engine.interrupt where an interrupt
// may stop it.

// What runs, in Engine.phase.
const (
	phaseGo       = iota
	phaseCode     // generated code
	phaseBreaking // the same, and its links are being broken
	phaseBroken   // the same, with links broken and the jump table withdrawn
)

// Interrupt implements emu.Engine.
func (e *Engine) Interrupt() {
	e.interrupt.Store(true)
	e.breakOut()
}

// wasInterrupted reports whether e was interrupted since it last told so.
func (e *Engine) wasInterrupted() bool {
	return e.interrupt.Load() && e.interrupt.CompareAndSwap(true, false)
}

// breakOut makes generated code, if that runs, leave soon.
func (e *Engine) breakOut() {
	if !e.phase.CompareAndSwap(phaseCode, phaseBreaking) {
		return
	}
	for _, x := range e.backEdges {
		e.disconnect(x)
	}
	e.showTable(withdrawn)
	e.phase.Store(phaseBroken)
}

// beginCode comes before generated code is entered.
func (e *Engine) beginCode() {
	e.phase.Store(phaseCode)
	if e.interrupt.Load() {
		e.breakOut()
	}
}

// endCode comes when it has been left. It undoes what breakOut did.
func (e *Engine) endCode() {
	if e.phase.CompareAndSwap(phaseCode, phaseGo) {
		return
	}
	for e.phase.Load() != phaseBroken {
		runtime.Gosched()
	}
	e.showTable(uint64(e.table.base))
	for _, x := range e.backEdges {
		if x.to != nil {
			e.link(x.site(), e.entryFor(x, x.to))
		}
	}
	e.phase.Store(phaseGo)
}

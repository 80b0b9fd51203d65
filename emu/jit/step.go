//go:build linux && amd64

package jit

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
)

// step executes the instruction at rip alone, as it is with TF or AC, or if each is to be shown: it raises VecDB behind
// an instruction that TF was set in front of, and VecAC for an unaligned access. A repeated string instruction counts
// as one. Generated code never runs with these flags: the host would heed them in Go's code too.
func (e *Engine) step(c *emu.CPU, rip emu.Addr) (emu.Addr, *emu.Stop) {
	if e.runOffset == 0 && e.wasInterrupted() {
		return rip, &plainStops[emu.StopInterrupt]
	}
	traps := e.stepFlags&emu.FlagTF != 0
	if e.stepFlags&emu.FlagAC != 0 && e.misaligned(c, rip) {
		return rip, stopFault(emu.Fault{Vector: emu.VecAC})
	}
	e.stepping = true
	defer func() {
		e.stepping = false
		e.showTable(uint64(e.table.base))
	}()
	e.beginStep(c, rip)
	for e.singleStep = true; ; {
		e.showTable(withdrawn) // again: to mend what Interrupt broke shows it
		next, stop := e.goOn(c, rip)
		if e.stepFlags != 0 {
			e.runOffset = 0
		}
		if e.resume == 0 && !e.singleStep {
			e.endStep(c, next, stop)
		}
		switch {
		case stop != nil:
			return next, stop
		case e.resume != 0 || e.singleStep: // it goes on, or begins again: a page had to be made accessible
			rip = next
		case traps:
			return next, stopFault(emu.Fault{Vector: emu.VecDB})
		default:
			return next, nil
		}
	}
}

// misaligned is guest.Misaligned of the instruction at rip.
func (e *Engine) misaligned(c *emu.CPU, rip emu.Addr) bool {
	e.decoder.Forget()
	if !e.decodeOne(&e.examined, rip) {
		return false
	}
	e.storeCPU(c, rip)
	return guest.Misaligned(c, &e.examined.Insn)
}

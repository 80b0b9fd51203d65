package interp

import (
	"fmt"
	"runtime/debug"

	"github.com/cgemu/cgemu/emu"
)

// careful is loop for memory that may go away: another program can make a file shorter that the guest has mapped, of
// which nobody tells. The access that finds out ends the run. Registers are then somewhere in the middle of a block, so
// that the guest cannot go on.
func (e *Engine) careful() (stop *emu.Stop) {
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		if r := recover(); r != nil {
			stop = e.lost(r)
		}
	}()
	return e.loop(&e.state.CPU)
}

// lost makes a stop of r, the panic of an access to the guest's memory. What is no such panic goes on.
func (e *Engine) lost(r any) *emu.Stop {
	fault, ok := r.(interface{ Addr() uintptr })
	if !ok || uint64(fault.Addr()-e.mem.Base()) >= e.limit {
		panic(r)
	}
	a := emu.Addr(fault.Addr() - e.mem.Base())
	v := e.mem.VMA(a)
	if v == nil {
		panic(r)
	}
	e.mem.FileCut(v)
	e.state.settle()
	e.failed = nil
	return faulted(emu.Fault{Vector: emu.VecUD, Unsupported: fmt.Sprintf(
		"an access to %v in %s, which another program made shorter while it was mapped (the engine jit raises SIGBUS),", a, v.Path)})
}

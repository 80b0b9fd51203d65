package funcwatch

import "github.com/cgemu/cgemu/emu"

// Jumps returns the probe of the functions that say where execution goes on when it does not return, but jumps out of
// functions: setjmp, and _Unwind_SetIP, by which unwinders are told of a handler. A Watcher with probes that push
// frames needs it.
func Jumps() *Probe {
	names := map[string]bool{
		"setjmp": true, "_setjmp": true, "__setjmp": true, "sigsetjmp": true, "__sigsetjmp": true,
		"_Unwind_SetIP": true,
	}
	return &Probe{
		Match: func(f *Function) bool { return names[f.Symbol] },
		Entered: func(_ *Probe, e Entry) {
			if e.Symbol == "_Unwind_SetIP" {
				e.w.breakpointAt(emu.Addr(e.CPU.Regs[emu.RSI])).target = true
				return
			}
			e.w.breakpointAt(e.Return()).target = true
			e.w.setJump(e)
		},
	}
}

// A jump is where setjmp returns to, the first time and again: the stack pointer tells activations apart.
type jump struct {
	cpu     *emu.CPU
	to, rsp emu.Addr
}

// maxJumps is how many are known: setjmp does not tell when one will not be used any more.
const maxJumps = 10_000

// setJump notes that e's thread calls setjmp: how many frames a jump back there leaves it in.
func (w *Watcher) setJump(e Entry) {
	if len(w.jumps) >= maxJumps {
		clear(w.jumps)
	}
	depth := 0
	if stack := w.threads[e.CPU]; stack != nil {
		depth = len(stack.frames)
	}
	w.jumps[jump{e.CPU, e.Return(), e.sp() + 8}] = depth
}

// popJumped pops the frames that a jump to where cpu's thread is has left: what popLeft does not
// see are those of a signal handler that had a stack of its own.
func (w *Watcher) popJumped(cpu *emu.CPU) {
	stack := w.threads[cpu]
	depth, known := w.jumps[jump{cpu, cpu.RIP, emu.Addr(cpu.Regs[emu.RSP])}]
	if stack == nil || !known || len(stack.frames) <= depth {
		return
	}
	for _, f := range stack.frames[depth:] {
		w.popped(stack, f)
	}
	if stack.frames = stack.frames[:depth]; depth == 0 {
		delete(w.threads, cpu)
	}
}

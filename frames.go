package cgemu

import (
	"slices"

	"github.com/cgemu/cgemu/emu"
)

// A frame is an activation of a watched function.
type frame struct {
	fn  emu.Addr // where the function begins
	sp  emu.Addr // the stack pointer there
	ret emu.Addr
	// toggles says that it changes whether costs are collected; else it allocates or frees.
	toggles bool
}

// An activity is what a thread is in.
type activity struct {
	frames []frame // the innermost last
	// active has how often it is in each function that toggles, odd whether these are an odd number
	// of functions: then collection is the other way round.
	active map[emu.Addr]int
	odd    bool
}

// toggled reports whether collection is the other way round for cpu's thread.
func (w *watch) toggled(cpu *emu.CPU) bool {
	act := w.threads[cpu]
	return act != nil && act.odd
}

// enter notes that a function was entered, and will be left. It reports false if the thread is in this
// activation of it already: its first instruction may be the target of a jump of its own.
func (w *watch) enter(e entry, f frame) bool {
	f.fn, f.sp, f.ret = e.at, e.sp(), e.ret()
	act := w.threads[e.cpu]
	if act == nil {
		act = &activity{active: map[emu.Addr]int{}}
		w.threads[e.cpu] = act
	}
	for i := len(act.frames) - 1; i >= 0 && act.frames[i].sp == f.sp; i-- {
		if act.frames[i] == f {
			return false
		}
	}
	act.frames = append(act.frames, f)
	w.point(f.ret).waiting++
	if f.toggles {
		if act.active[f.fn]++; act.active[f.fn] == 1 {
			act.odd = !act.odd
		}
	}
	return true
}

// left notes that an activation is over.
func (w *watch) left(act *activity, f frame) {
	if p := w.points[f.ret]; p != nil {
		p.waiting--
		p.idle = 0
	}
	if f.toggles {
		if act.active[f.fn]--; act.active[f.fn] == 0 {
			delete(act.active, f.fn)
			act.odd = !act.odd
		}
	}
}

// leave forgets the frames that cpu's thread has left: those that lie below its stack
// pointer. A function that was entered has its return address there, one that has returned does not;
// longjmp and exceptions move the stack pointer above it likewise. Frames on other stacks stay.
func (w *watch) leave(cpu *emu.CPU) {
	act := w.threads[cpu]
	if act == nil {
		return
	}
	sp := emu.Addr(cpu.Regs[emu.RSP])
	stack := w.space.VMA(sp)
	if stack == nil {
		return
	}
	i := len(act.frames)
	for i > 0 && !(act.frames[i-1].sp >= sp && act.frames[i-1].sp < stack.Hi) {
		i-- // left, or on another stack
	}
	rest := slices.DeleteFunc(act.frames[i:], func(f frame) bool {
		gone := f.sp < sp && f.sp >= stack.Lo
		if gone {
			w.left(act, f)
		}
		return gone
	})
	if act.frames = act.frames[:i+len(rest)]; len(act.frames) == 0 {
		delete(w.threads, cpu)
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
func (w *watch) setJump(e entry) {
	if len(w.jumps) >= maxJumps {
		clear(w.jumps)
	}
	depth := 0
	if act := w.threads[e.cpu]; act != nil {
		depth = len(act.frames)
	}
	w.jumps[jump{e.cpu, e.ret(), e.sp() + 8}] = depth
}

// landed forgets the frames that a jump to where cpu's thread is has left: what leave does not
// see are those of a signal handler that had a stack of its own.
func (w *watch) landed(cpu *emu.CPU) {
	act := w.threads[cpu]
	depth, known := w.jumps[jump{cpu, cpu.RIP, emu.Addr(cpu.Regs[emu.RSP])}]
	if act == nil || !known || len(act.frames) <= depth {
		return
	}
	for _, f := range act.frames[depth:] {
		w.left(act, f)
	}
	if act.frames = act.frames[:depth]; depth == 0 {
		delete(w.threads, cpu)
	}
}

package funcwatch

import (
	"slices"

	"github.com/cgemu/cgemu/emu"
)

// A FrameKind says why an active function is on a call stack.
type FrameKind uint8

// Kinds of frames.
const (
	Toggles   FrameKind = iota // it inverts whether costs are collected
	Allocates                  // it allocates or frees memory
)

// A frame is a watched function that is active.
type frame struct {
	fn   emu.Addr // where the function begins
	sp   emu.Addr // the stack pointer there
	ret  emu.Addr
	kind FrameKind
}

// A callStack has the watched functions in which a thread is.
type callStack struct {
	frames []frame // the innermost last
	// active has how often each function of kind Toggles is on it. inverted says that these are an odd number of
	// functions: collection is the other way round then.
	active   map[emu.Addr]int
	inverted bool
}

// Inverted reports whether collection is the other way round for cpu's thread.
func (w *Watcher) Inverted(cpu *emu.CPU) bool {
	stack := w.threads[cpu]
	return stack != nil && stack.inverted
}

// In reports whether cpu's thread is in a function of some kind.
func (w *Watcher) In(cpu *emu.CPU, kind FrameKind) bool {
	stack := w.threads[cpu]
	return stack != nil && slices.ContainsFunc(stack.frames, func(f frame) bool { return f.kind == kind })
}

// Push notes that the function was entered, and will be left. It reports false if the thread is in this activation of
// it already: its first instruction may be the target of a jump of its own.
func (e *Entry) Push(kind FrameKind) bool {
	w, f := e.w, frame{fn: e.CPU.RIP, sp: e.sp(), ret: e.Return(), kind: kind}
	stack := w.threads[e.CPU]
	if stack == nil {
		stack = &callStack{active: map[emu.Addr]int{}}
		w.threads[e.CPU] = stack
	}
	for i := len(stack.frames) - 1; i >= 0 && stack.frames[i].sp == f.sp; i-- {
		if stack.frames[i] == f {
			return false
		}
	}
	stack.frames = append(stack.frames, f)
	w.breakpointAt(f.ret).waiting++
	if kind == Toggles {
		if stack.active[f.fn]++; stack.active[f.fn] == 1 {
			stack.inverted = !stack.inverted
		}
	}
	return true
}

// popped undoes Push: the frame f was taken off stack.
func (w *Watcher) popped(stack *callStack, f frame) {
	if p := w.breakpoints[f.ret]; p != nil {
		p.waiting--
		p.idle = 0
	}
	if f.kind == Toggles {
		if stack.active[f.fn]--; stack.active[f.fn] == 0 {
			delete(stack.active, f.fn)
			stack.inverted = !stack.inverted
		}
	}
}

// popLeft pops the frames that cpu's thread has left: those that lie below its stack
// pointer. A function that was entered has its return address there, one that has returned does not;
// longjmp and exceptions move the stack pointer above it likewise. Frames on other stacks stay.
func (w *Watcher) popLeft(cpu *emu.CPU) {
	callers := w.threads[cpu]
	if callers == nil {
		return
	}
	sp := emu.Addr(cpu.Regs[emu.RSP])
	stack := w.space.VMA(sp)
	if stack == nil {
		return
	}
	i := len(callers.frames)
	for i > 0 && !(callers.frames[i-1].sp >= sp && callers.frames[i-1].sp < stack.Hi) {
		i-- // popped, or on another stack
	}
	rest := slices.DeleteFunc(callers.frames[i:], func(f frame) bool {
		left := f.sp < sp && f.sp >= stack.Lo
		if left {
			w.popped(callers, f)
		}
		return left
	})
	if callers.frames = callers.frames[:i+len(rest)]; len(callers.frames) == 0 {
		delete(w.threads, cpu)
	}
}

package callgraph

import (
	"cmp"
	"slices"

	"github.com/cgemu/cgemu/emu"
)

// A guest's thread has one stack for all functions that wait for each other, and may have many: those of coroutines,
// and that of signal handlers. Code changes from one to another by a jump or a return, with RSP on the other one. Where
// that lies in another mapping, RSP tells. Where many share a mapping (stacks from malloc(3), in an array, or in
// mappings without a guard page between), a change looks like longjmp, which goes up a stack, or like a jump in a
// function with a large frame. changes tells them apart: it knows the stacks that wait.

// A stack has the frames of one of the guest's stacks, the innermost last.
type stack struct {
	frames []Frame
	// start is where RSP was when the first function of the stack began.
	start emu.Addr
	// interrupted is the stack that goes on when the signal handler whose stack this is returns; nil for others.
	interrupted *stack
	// cpu is that of the thread on whose begin, or whose signal handler's, the stack began; nil for others, with which
	// any thread may go on.
	cpu *emu.CPU
	// goroutine says that it is that of one, coroutine that it began by a jump or a return.
	goroutine, coroutine bool
}

// A thread has the stack that a guest thread uses.
type thread struct{ current *stack }

const (
	// aboveStart is how far above the start of a stack RSP may be when its first function has returned.
	aboveStart = 512
	// smallStack is less than a stack takes: what lies nearer is on the same one.
	smallStack = 1024
)

// unwind leaves the functions whose return address lies below rsp. If rsp is on another stack than theirs, that one is
// used from now on; target is where the guest goes on, by a return if returns is set.
func (r *Recorder) unwind(rsp, target emu.Addr, returns bool) {
	for !r.sameMapping(rsp, r.stackOf(len(r.Frames)-1)) {
		n := len(r.Frames) - 1
		for n >= 0 && !r.sameMapping(rsp, r.stackOf(n)) {
			n--
		}
		if n >= 0 { // functions that were called with another stack were left
			for len(r.Frames) > n+1 {
				r.pop()
			}
			break
		}
		if !r.switchTo(rsp, target) {
			return
		}
	}
	if r.changes(rsp, target, returns) {
		return
	}
	if s := r.begunByJump(rsp, target); s != nil {
		r.wait(s)
	}
	for len(r.Frames) > 1 && r.top().place() < rsp && r.sameMapping(rsp, r.top().place()) {
		r.pop()
	}
	if s := r.thread.current; len(r.Frames) == 1 && s.interrupted != nil && rsp > s.start+8 && r.sameMapping(rsp, s.start) {
		r.endSignal() // a jump out of the handler
		r.unwind(rsp, target, returns)
	}
}

// stackOf returns an address on the stack of frame i.
func (r *Recorder) stackOf(i int) emu.Addr {
	if i == 0 {
		return r.thread.current.start
	}
	return r.Frames[i].place()
}

// switchTo goes on with the stack on which rsp is, in another mapping: the one that a signal handler interrupted, one
// that was left before, or a new one. It reports false for the last, and if there is no memory.
func (r *Recorder) switchTo(rsp, target emu.Addr) bool {
	t := r.thread
	for s := t.current.interrupted; s != nil; s = s.interrupted {
		if slices.ContainsFunc(s.frames, func(f Frame) bool { return f.SP != baseSP && r.sameMapping(rsp, f.place()) }) || r.sameMapping(rsp, s.start) {
			for t.current != s {
				r.endSignal()
			}
			return true
		}
	}
	lo, hi := r.mapping(rsp)
	if lo == hi {
		return false
	}
	first, _ := slices.BinarySearchFunc(r.waiting, rsp, byStart)
	if i := first; i < len(r.waiting) && r.waiting[i].start < hi {
		if s := r.waiting[i]; rsp > low(s.frames, s.start) || r.isActive(s.frames, rsp, target) {
			r.goOn(i)
			return true
		}
	}
	if i := first - 1; i >= 0 && r.waiting[i].start >= lo && r.waiting[i].start+aboveStart >= rsp {
		r.goOn(i)
		return true
	}
	r.begin(rsp, target)
	return false
}

// changes goes on with another stack in the mapping of the one in use if rsp is on another: one that waits, or one that
// a signal handler interrupted, if a function that is active there goes on at target. A stack is new if rsp lies above
// the one in use, or far below what is used of it and target is where others began, or a function begins there by a
// return: other jumps may be from a large frame into another part of the function.
func (r *Recorder) changes(rsp, target emu.Addr, returns bool) bool {
	t := r.thread
	top := r.stackOf(len(r.Frames) - 1)
	switch {
	case len(r.goroutines) > 0: // Go's scheduler tells
		return false
	case rsp <= top && top-rsp < smallStack:
		return false
	case r.holds(r.Frames, t.current.start, rsp, target):
		return false
	}
	for s := t.current.interrupted; s != nil; s = s.interrupted {
		if r.holds(s.frames, s.start, rsp, target) {
			for t.current != s {
				r.endSignal()
			}
			return false
		}
	}
	i, _ := slices.BinarySearchFunc(r.waiting, rsp, byStart)
	switch {
	case i < len(r.waiting) && r.holds(r.waiting[i].frames, r.waiting[i].start, rsp, target):
		r.goOn(i)
		for len(r.Frames) > 1 && r.top().place() < rsp {
			r.pop()
		}
	case r.isAbove(rsp), rsp < top && (r.entries[target] || returns && r.Begins(target)):
		r.begin(rsp, target)
	default:
		return false
	}
	return true
}

// isAbove reports whether rsp lies above the stack in use, and is on none that signal handlers interrupted.
func (r *Recorder) isAbove(rsp emu.Addr) bool {
	s := r.thread.current
	if rsp <= high(r.Frames, s.start) {
		return false
	}
	for s = s.interrupted; s != nil; s = s.interrupted {
		if rsp <= s.start+aboveStart && r.sameMapping(rsp, s.start) {
			return false
		}
	}
	return true
}

// low is an address that RSP is above on a stack that waits: what changed stacks has returned, or is the innermost
// function itself, which goes on in its frame.
func low(frames []Frame, start emu.Addr) emu.Addr {
	if len(frames) > 1 {
		start = frames[len(frames)-1].place()
	}
	return start - smallStack
}

// high is an address that RSP is not above on a stack: functions may have been called with another one that lies above
// its start.
func high(frames []Frame, start emu.Addr) emu.Addr {
	for _, f := range frames[1:] {
		start = max(start, f.place())
	}
	return start + aboveStart
}

// holds reports whether rsp is on a stack, and the function that is active there is that of target.
func (r *Recorder) holds(frames []Frame, start, rsp, target emu.Addr) bool {
	return low(frames, start) < rsp && rsp <= high(frames, start) && r.isActive(frames, rsp, target)
}

// isActive reports whether the innermost function of a stack is that of target when RSP has become rsp.
func (r *Recorder) isActive(frames []Frame, rsp, target emu.Addr) bool {
	n := len(frames) - 1
	for n > 0 && frames[n].place() < rsp {
		n--
	}
	return r.arcOf(frames[n]).function == r.function(target).ID
}

// begunByJump returns the stack of a coroutine that was entered by a jump, as if that were a tail call of what changed
// stacks: it lies below, and the guest is back where what changed them was called. It returns nil if there is none.
func (r *Recorder) begunByJump(rsp, target emu.Addr) *stack {
	n := len(r.Frames)
	for n > 1 && r.Frames[n-1].place() < rsp {
		n--
	}
	if n == len(r.Frames) || len(r.goroutines) > 0 || r.Frames[n].SP != rsp || !isReturnSite(r.keyOf(r.Frames[n]).site, target) {
		return nil
	}
	own := n + 1 // its first frame with a place of its own
	for own < len(r.Frames) && r.Frames[own].SP == rsp|Jumped {
		own++
	}
	if own == n+1 || own == len(r.Frames) || r.Frames[n].place() < r.Frames[own].SP+smallStack {
		return nil
	}
	entry := r.keyOf(r.Frames[n+1]).target
	r.entries[entry] = true
	s := &stack{start: r.Frames[own].SP, frames: []Frame{{SP: baseSP, Arc: r.Arc(0, entry)}}, coroutine: true}
	for _, f := range r.Frames[n+2 : own] {
		s.frames = append(s.frames, Frame{SP: jumpedAtStart(s.start), Arc: f.Arc})
	}
	s.frames = append(s.frames, r.Frames[own:]...)
	return s
}

// jumpedAtStart is the SP of the frame of a jump by the first function of a stack.
func jumpedAtStart(start emu.Addr) emu.Addr { return min((start+8)|Jumped, baseSP-2) }

// Alone returns the mapping of rsp, [lo, hi), if no stacks of coroutines are known there: between two of its addresses
// RSP stays on the stack in use, unless it goes up.
func (r *Recorder) Alone(rsp emu.Addr) (lo, hi emu.Addr) {
	lo, hi = r.mapping(rsp)
	if len(r.goroutines) > 0 {
		return lo, hi
	}
	i, _ := slices.BinarySearchFunc(r.waiting, lo, byStart)
	if r.thread.current.coroutine || i < len(r.waiting) && r.waiting[i].start < hi {
		return 0, 0
	}
	return lo, hi
}

// begin leaves the stack in use for a new one, whose first function begins at target. A stack that began there before
// is gone.
func (r *Recorder) begin(rsp, target emu.Addr) {
	i, _ := slices.BinarySearchFunc(r.waiting, rsp-min(rsp, aboveStart), byStart)
	n := i
	for n < len(r.waiting) && r.waiting[n].start <= rsp+aboveStart {
		n++
	}
	r.waiting = slices.Delete(r.waiting, i, n)
	r.wait(r.thread.current)
	r.entries[target] = true
	r.use(&stack{start: rsp, frames: []Frame{{SP: baseSP, Arc: r.Arc(0, target)}}, coroutine: true})
}

// restarts reports whether a coroutine begins on the stack in use, which was another's before: RSP is where that began.
func (r *Recorder) restarts(rsp, target emu.Addr, returns bool) bool {
	s := r.thread.current
	return s.coroutine && rsp+smallStack > s.start &&
		(r.entries[target] || r.Begins(target) && (returns || len(r.Frames) == 1))
}

// restart makes the stack in use that of a coroutine that begins at target.
func (r *Recorder) restart(rsp, target emu.Addr) {
	for len(r.Frames) > 1 {
		r.pop()
	}
	r.entries[target] = true
	r.Frames[0].Arc, r.thread.current.start = r.Arc(0, target), rsp
}

// goOn leaves the stack in use for one that waits.
func (r *Recorder) goOn(i int) {
	s := r.waiting[i]
	r.waiting = slices.Delete(r.waiting, i, i+1)
	r.wait(r.thread.current)
	r.use(s)
}

// wait puts a stack to those that the guest may come back to. Another one that began there is gone.
func (r *Recorder) wait(s *stack) {
	i, known := slices.BinarySearchFunc(r.waiting, s.start, byStart)
	if known {
		r.waiting[i] = s
	} else {
		r.waiting = slices.Insert(r.waiting, i, s)
	}
}

func byStart(s *stack, start emu.Addr) int { return cmp.Compare(s.start, start) }

// sameMapping reports whether a and b are in one mapping.
func (r *Recorder) sameMapping(a, b emu.Addr) bool {
	lo, hi := r.mapping(a)
	return b >= lo && b < hi
}

// use goes on with s.
func (r *Recorder) use(s *stack) {
	r.suspend()
	r.thread.current.frames = append(r.thread.current.frames[:0], r.Frames...)
	r.thread.current = s
	r.Frames, r.framesUnsettled = append(r.Frames[:0], s.frames...), true
	r.resume()
}

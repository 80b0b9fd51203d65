package callgraph

import "github.com/cgemu/cgemu/emu"

// Goroutines have stacks of their own, many in one mapping, which move when they grow, and change from thread to
// thread. What tells them apart is the scheduler of the Go runtime: a function of it gives a goroutine up
// (emu.Function.Parks: what it calls runs on the thread's own stack, and does not return), another one goes on with one
// (emu.Function.Resumes), which it knows by a number.

// Resumes reports whether the function that holds a goes on with goroutines.
func (r *Recorder) Resumes(a emu.Addr) bool { return r.function(a).Resumes }

// Resume is told that the scheduler goes on with a goroutine, by a jump to target; RSP is rsp then. One that goes on
// where a function begins is new.
func (r *Recorder) Resume(goroutine uint64, target, rsp emu.Addr) {
	r.park()
	f := r.function(target)
	s := r.goroutines[goroutine]
	if s == nil || f.ID == target {
		s = &stack{start: rsp, goroutine: true, frames: []Frame{{SP: baseSP, Arc: r.Arc(0, target)}}}
		r.goroutines[goroutine] = s
	} else if s != r.thread.current {
		r.take(s)
	}
	r.use(s)
	for len(r.Frames) > 1 && r.arcOf(r.top()).function != f.ID { // what called the scheduler; after a panic, what recovers has called it
		r.pop()
	}
	if r.arcOf(r.top()).function != f.ID {
		r.Frames[0] = Frame{SP: baseSP, Arc: r.Arc(0, target)}
	}
}

// park leaves what runs on the thread's own stack in place of a goroutine, and what gave that up.
func (r *Recorder) park() {
	if n := r.parked(r.Frames); n > 0 {
		for len(r.Frames) > n {
			r.pop()
		}
	}
}

// parked returns which of a goroutine's frames is of what gave it up, 0 if none is.
func (r *Recorder) parked(frames []Frame) int {
	n := len(frames) - 1
	for n > 0 && !r.arcOf(frames[n]).parks {
		n--
	}
	return n
}

// take takes the stack of a goroutine that goes on from the thread that gave it up last, if that has come no further
// yet. It goes on with what runs on its own stack.
func (r *Recorder) take(s *stack) {
	for _, t := range r.threads {
		if t.current != s {
			continue
		}
		n := r.parked(s.frames)
		own := &stack{start: s.start, frames: []Frame{{SP: baseSP, Arc: r.Arc(0, r.keyOf(s.frames[n]).target)}}}
		own.frames = append(own.frames, s.frames[n+1:]...)
		s.frames, t.current = s.frames[:max(n, 1)], own
	}
}

// moved reports whether a return to target, RSP being rsp, leaves the innermost call of a goroutine whose stack has
// moved meanwhile. It tells its frames.
func (r *Recorder) moved(target, rsp emu.Addr) bool {
	n := len(r.Frames) - 1
	for n > 0 && r.Frames[n].jumped() {
		n--
	}
	if n == 0 || !r.thread.current.goroutine || !isReturnSite(r.keyOf(r.Frames[n]).site, target) {
		return false
	}
	was := r.Frames[n].SP
	for i := 1; i < len(r.Frames); i++ {
		if f := &r.Frames[i]; f.SP-was < maxStack { // others are on the thread's own stack
			f.SP += rsp - was
		}
	}
	r.thread.current.start += rsp - was
	return true
}

// maxStack is how large the stack of a goroutine becomes at most (runtime.maxstacksize).
const maxStack = 1 << 30

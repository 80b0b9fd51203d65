package task

import (
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// This file has the CPU time of threads and processes. System time is added at each call. User time is what engines
// have executed, charged when it is asked for or changes hands: Machine.charge says which process pays for what an
// engine executes, and chargeThread which of its threads.

// A Usage is CPU time in nanoseconds: an instruction takes one of user time, a system call its price of system time.
type Usage struct{ User, System int64 }

// Total is user and system time together.
func (u Usage) Total() int64 { return u.User + u.System }

// Plus is the sum of u and o.
func (u Usage) Plus(o Usage) Usage { return Usage{u.User + o.User, u.System + o.System} }

// Spend makes t's system call take ns nanoseconds of system time.
func (t *Thread) Spend(ns int64) {
	t.system += ns
	t.Process.System += ns
	t.Kernel.Clock.System += ns
}

// A chargedThread is the thread that its process' user time goes to, from a user time of since on. It is kept only if
// somebody asks for the times of single threads: to sum up what engines have executed at each switch is costly. thread
// is nil before that.
type chargedThread struct {
	thread *Thread
	since  int64
}

// Usage is the CPU time that p has used.
func (p *Process) Usage() Usage { return Usage{p.UserTime(), p.System} }

// UserTime is the user time that p has used, including what was executed since it was last charged.
func (p *Process) UserTime() int64 {
	if m := p.Machine; m != nil && m.chargedProcess == p {
		return p.used + int64(m.Executed()-m.chargedAt)
	}
	return p.used
}

// Usage is the CPU time that t has used.
func (t *Thread) Usage() Usage { return Usage{t.userTime(), t.system} }

// userTime is the user time that t has used. The first question of this kind for a process makes threads be told apart
// from then on; what was used before counts as the first thread's.
func (t *Thread) userTime() int64 {
	p := t.Process
	if p.chargedThread.thread == nil {
		p.chargedThread.thread = p.Threads[0]
		if c := t.Kernel.Current; c != nil && c.Process == p {
			c.chargeThread()
		}
	}
	if p.chargedThread.thread == t {
		return t.used + p.UserTime() - p.chargedThread.since
	}
	return t.used
}

// chargeThread makes t, instead of another thread of its process, pay for user time from now on.
func (t *Thread) chargeThread() {
	c := &t.Process.chargedThread
	if c.thread == nil || c.thread == t {
		return
	}
	now := t.Process.UserTime()
	c.thread.used += now - c.since
	c.thread, c.since = t, now
}

// A cpuClock counts the CPU time of a process or, if thread is set, of one of its threads; with userOnly only the user
// time.
type cpuClock struct {
	Process  *Process
	thread   *Thread
	userOnly bool
}

// time is what the clock shows.
func (c cpuClock) time() int64 {
	switch {
	case c.userOnly:
		return c.Process.UserTime()
	case c.thread != nil:
		return c.thread.Usage().Total()
	}
	return c.Process.Usage().Total()
}

// runs reports whether the clock advances while t executes.
func (c cpuClock) runs(t *Thread) bool {
	return t != nil && t.Process == c.Process && (c.thread == nil || c.thread == t)
}

// CpuClock finds the CPU clock with an id. Those of other processes and threads have ids (^pid)<<3 + kind, with bit 2
// of kind set for a thread's (include/linux/posix-timers.h). Pid 0 is the caller's own.
func (t *Thread) CpuClock(id int) (c cpuClock, ok bool) {
	const perThread, kind = 4, 3
	switch {
	case id == linux.CLOCK_PROCESS_CPUTIME_ID:
		return cpuClock{Process: t.Process}, true
	case id == linux.CLOCK_THREAD_CPUTIME_ID:
		return cpuClock{Process: t.Process, thread: t}, true
	case id >= 0 || id&kind == kind:
		return c, false
	}
	of := t
	if pid := int(^int32(id >> 3)); pid != 0 {
		of = t.Kernel.FindThread(-1, pid)
		if of == nil || id&perThread != 0 && of.Process != t.Process || id&perThread == 0 && of.Process.PID != pid && of != t {
			return c, false
		}
	}
	if id&perThread != 0 {
		return cpuClock{Process: of.Process, thread: of}, true
	}
	return cpuClock{Process: of.Process}, true
}

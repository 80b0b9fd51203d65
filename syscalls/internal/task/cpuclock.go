package task

import (
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// This file has the CPU time of threads and processes: an instruction takes a nanosecond of user time, a system call
// its price of system time.

// A Usage is CPU time, in nanoseconds.
type Usage struct{ User, System int64 }

func (u Usage) Total() int64 { return u.User + u.System }

func (u Usage) Plus(o Usage) Usage { return Usage{u.User + o.User, u.System + o.System} }

// Spend lets time pass that t's system call takes.
func (t *Thread) Spend(ns int64) {
	t.system += ns
	t.Process.System += ns
	t.Kernel.Clock.System += ns
}

// chargedThread is which of a process' threads its CPU time goes to, since when.
type chargedThread struct {
	thread *Thread
	since  int64
}

// Usage is the CPU time p has used.
func (p *Process) Usage() Usage { return Usage{p.UserTime(), p.System} }

func (p *Process) UserTime() int64 {
	if m := p.Machine; m != nil && m.charged == p {
		return p.used + int64(m.engine.Executed()-m.chargedAt)
	}
	return p.used
}

// Usage is the CPU time t has used.
func (t *Thread) Usage() Usage { return Usage{t.userTime(), t.system} }

// UserTime is the user time t has used. To add up what was executed at each change of threads is costly, so threads
// are told apart from when a process first asks: what it used before is its first thread's.
func (t *Thread) userTime() int64 {
	p := t.Process
	if p.clocked.thread == nil {
		p.clocked.thread = p.Threads[0]
		if c := t.Kernel.Current; c != nil && c.Process == p {
			c.chargeThread()
		}
	}
	if p.clocked.thread == t {
		return t.used + p.UserTime() - p.clocked.since
	}
	return t.used
}

// chargeThread makes the user time of its process from now on t's.
func (t *Thread) chargeThread() {
	c := &t.Process.clocked
	if c.thread == nil || c.thread == t {
		return
	}
	now := t.Process.UserTime()
	c.thread.used += now - c.since
	c.thread, c.since = t, now
}

// A CpuClock counts the CPU time of a process or, if thread is set, of one of its threads; the user time alone if that is
// all that is wanted.
type cpuClock struct {
	Process  *Process
	thread   *Thread
	userOnly bool
}

func (c cpuClock) time() int64 {
	switch {
	case c.userOnly:
		return c.Process.UserTime()
	case c.thread != nil:
		return c.thread.Usage().Total()
	}
	return c.Process.Usage().Total()
}

// runs reports whether the clock goes on while t executes.
func (c cpuClock) runs(t *Thread) bool {
	return t != nil && t.Process == c.Process && (c.thread == nil || c.thread == t)
}

// CpuClock finds the CPU clock that id names, if it names one: those of other processes and threads are
// ~pid<<3 | 4 for a thread's | kind (include/linux/posix-timers.h). Pid 0 is the caller.
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

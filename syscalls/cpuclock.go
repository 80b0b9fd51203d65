package syscalls

import "github.com/cgemu/cgemu/syscalls/internal/linux"

// This file has the CPU time of threads and processes: an instruction takes a nanosecond of user time, a system call
// its price of system time.

// A usage is CPU time, in nanoseconds.
type usage struct{ user, system int64 }

func (u usage) total() int64       { return u.user + u.system }
func (u usage) plus(o usage) usage { return usage{u.user + o.user, u.system + o.system} }

// spend lets time pass that t's system call takes.
func (t *Thread) spend(ns int64) {
	t.system += ns
	t.p.system += ns
	t.k.clock.system += ns
}

// clocked is which of a process' threads its CPU time goes to, since when.
type clocked struct {
	thread *Thread
	since  int64
}

// usage is the CPU time p has used.
func (p *Process) usage() usage { return usage{p.userTime(), p.system} }

func (p *Process) userTime() int64 {
	if m := p.machine; m != nil && m.charged == p {
		return p.used + int64(m.engine.Executed()-m.seen)
	}
	return p.used
}

// usage is the CPU time t has used.
func (t *Thread) usage() usage { return usage{t.userTime(), t.system} }

// userTime is the user time t has used. To add up what was executed at each change of threads is costly, so threads
// are told apart from when a process first asks: what it used before is its first thread's.
func (t *Thread) userTime() int64 {
	p := t.p
	if p.clocked.thread == nil {
		p.clocked.thread = p.threads[0]
		if c := t.k.current; c != nil && c.p == p {
			c.clockIn()
		}
	}
	if p.clocked.thread == t {
		return t.used + p.userTime() - p.clocked.since
	}
	return t.used
}

// clockIn makes the user time of its process from now on t's.
func (t *Thread) clockIn() {
	c := &t.p.clocked
	if c.thread == nil || c.thread == t {
		return
	}
	now := t.p.userTime()
	c.thread.used += now - c.since
	c.thread, c.since = t, now
}

// A cpuClock counts the CPU time of a process or, if thread is set, of one of its threads; the user time alone if that is
// all that is wanted.
type cpuClock struct {
	p        *Process
	thread   *Thread
	userOnly bool
}

func (c cpuClock) time() int64 {
	switch {
	case c.userOnly:
		return c.p.userTime()
	case c.thread != nil:
		return c.thread.usage().total()
	}
	return c.p.usage().total()
}

// runs reports whether the clock goes on while t executes.
func (c cpuClock) runs(t *Thread) bool {
	return t != nil && t.p == c.p && (c.thread == nil || c.thread == t)
}

// cpuClock finds the CPU clock that id names, if it names one: those of other processes and threads are
// ~pid<<3 | 4 for a thread's | kind (include/linux/posix-timers.h). Pid 0 is the caller.
func (t *Thread) cpuClock(id int) (c cpuClock, ok bool) {
	const perThread, kind = 4, 3
	switch {
	case id == linux.CLOCK_PROCESS_CPUTIME_ID:
		return cpuClock{p: t.p}, true
	case id == linux.CLOCK_THREAD_CPUTIME_ID:
		return cpuClock{p: t.p, thread: t}, true
	case id >= 0 || id&kind == kind:
		return c, false
	}
	of := t
	if pid := int(^int32(id >> 3)); pid != 0 {
		of = t.k.findThread(-1, pid)
		if of == nil || id&perThread != 0 && of.p != t.p || id&perThread == 0 && of.p.pid != pid && of != t {
			return c, false
		}
	}
	if id&perThread != 0 {
		return cpuClock{p: of.p, thread: of}, true
	}
	return cpuClock{p: of.p}, true
}

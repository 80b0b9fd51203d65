package syscalls

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// splitTime is ns as seconds and nanoseconds.
func splitTime(ns int64) (sec, nsec int64) {
	sec, nsec = ns/1e9, ns%1e9
	if nsec < 0 {
		sec, nsec = sec-1, nsec+1e9
	}
	return sec, nsec
}

// timespec encodes ns as a struct timespec.
func timespec(ns int64) []byte {
	sec, nsec := splitTime(ns)
	var b pack
	b.i64(sec)
	b.i64(nsec)
	return b
}

// timeval encodes ns as a struct timeval.
func timeval(ns int64) []byte {
	sec, nsec := splitTime(ns)
	var b pack
	b.i64(sec)
	b.i64(nsec / 1000)
	return b
}

// maxSeconds keeps sums of times from overflowing: a wait of 200 years is forever.
const maxSeconds = 200 * 365 * 86400

// timespec reads a struct timespec as nanoseconds.
func (t *Thread) timespec(a emu.Addr) (int64, linux.Errno) {
	b, e := t.copyIn(a, 16)
	if e != 0 {
		return 0, e
	}
	sec, nsec := int64(le64(b)), int64(le64(b[8:]))
	if sec < 0 || nsec < 0 || nsec >= 1e9 {
		return 0, linux.EINVAL
	}
	return min(sec, maxSeconds)*1e9 + nsec, 0
}

// timeval reads a struct timeval as nanoseconds.
func (t *Thread) timeval(a emu.Addr) (int64, linux.Errno) {
	b, e := t.copyIn(a, 16)
	if e != 0 {
		return 0, e
	}
	sec, usec := int64(le64(b)), int64(le64(b[8:]))
	if sec < 0 || usec < 0 || usec >= 1e6 {
		return 0, linux.EINVAL
	}
	return min(sec, maxSeconds)*1e9 + usec*1000, 0
}

// after is the deadline d nanoseconds from now.
func (k *Kernel) after(d int64) int64 { return later(k.now(), d) }

// later is d nanoseconds after t: never if that is further than we can count.
func later(t, d int64) int64 {
	if d > never-t {
		return never
	}
	return t + d
}

// clockTime reads a clock.
func (t *Thread) clockTime(id int) (int64, linux.Errno) {
	switch id {
	case linux.CLOCK_REALTIME, linux.CLOCK_REALTIME_COARSE, linux.CLOCK_REALTIME_ALARM:
		return t.k.look(), 0
	case linux.CLOCK_TAI:
		return t.k.wall() + 37e9, 0
	case linux.CLOCK_MONOTONIC, linux.CLOCK_MONOTONIC_RAW, linux.CLOCK_MONOTONIC_COARSE, linux.CLOCK_BOOTTIME, linux.CLOCK_BOOTTIME_ALARM:
		return t.k.now(), 0
	}
	c, ok := t.cpuClock(id)
	if !ok {
		return 0, linux.EINVAL
	}
	return c.time(), 0
}

// isClockFD reports whether id names a clock by a descriptor (CLOCKFD), as drivers have them.
func isClockFD(id int) bool { return id < 0 && id&7 == 3 }

// onlyRead reports whether clock id is one that nobody can wait by.
func onlyRead(id int) bool {
	return id == linux.CLOCK_MONOTONIC_RAW || id == linux.CLOCK_REALTIME_COARSE || id == linux.CLOCK_MONOTONIC_COARSE
}

// deadlineOn turns a time on clock id into a deadline on Kernel.now's clock.
func (t *Thread) deadlineOn(id int, at int64) int64 {
	now, _ := t.clockTime(id)
	return later(t.k.now(), at-now)
}

// sysClockGettime implements clock_gettime(2).
func sysClockGettime(t *Thread, a Args) (uint64, linux.Errno) {
	ns, e := t.clockTime(a.Int(0))
	if e != 0 {
		return 0, e
	}
	return 0, t.copyOut(a.Addr(1), timespec(ns))
}

// sysClockGetres implements clock_getres(2).
func sysClockGetres(t *Thread, a Args) (uint64, linux.Errno) {
	if _, e := t.clockTime(a.Int(0)); e != 0 {
		return 0, e
	}
	res := int64(1)
	if id := a.Int(0); id == linux.CLOCK_REALTIME_COARSE || id == linux.CLOCK_MONOTONIC_COARSE {
		res = 4_000_000
	}
	return 0, t.copyOutIf(a.Addr(1), timespec(res))
}

// sysGettimeofday implements gettimeofday(2).
func sysGettimeofday(t *Thread, a Args) (uint64, linux.Errno) {
	if e := t.copyOutIf(a.Addr(0), timeval(t.k.look())); e != 0 {
		return 0, e
	}
	return 0, t.copyOutIf(a.Addr(1), make([]byte, 8))
}

// sysTime implements time(2).
func sysTime(t *Thread, a Args) (uint64, linux.Errno) {
	sec := uint64(t.k.look() / 1e9)
	if a.Addr(0) != 0 {
		if e := t.out64(a.Addr(0), sec); e != 0 {
			return 0, e
		}
	}
	return sec, 0
}

// sysTimes implements times(2), in ticks of 10 ms.
func sysTimes(t *Thread, a Args) (uint64, linux.Errno) {
	const tick = 10_000_000
	if a.Addr(0) != 0 {
		var b pack
		for _, u := range []usage{t.p.usage(), t.p.waitedFor} {
			b.i64(u.user / tick)
			b.i64(u.system / tick)
		}
		if e := t.copyOut(a.Addr(0), b); e != 0 {
			return 0, e
		}
	}
	return uint64(t.k.now() / tick), 0
}

// sysGetrusage implements getrusage(2): nothing but CPU time is counted.
func sysGetrusage(t *Thread, a Args) (uint64, linux.Errno) {
	const self, children, thread = 0, -1, 1
	var u usage
	switch a.Int(0) {
	case self:
		u = t.p.usage()
	case thread:
		u = t.usage()
	case children:
		u = t.p.waitedFor
	default:
		return 0, linux.EINVAL
	}
	return 0, t.copyOut(a.Addr(1), rusage(u))
}

// rusage is a struct rusage for so much CPU time.
func rusage(u usage) []byte {
	b := pack(append(timeval(u.user), timeval(u.system)...))
	b.u64(residentKiB)
	b.zero(144 - len(b))
	return b
}

// residentKiB is the resident size every process shows.
const residentKiB = 4096

// sysNanosleep implements nanosleep(2).
func sysNanosleep(t *Thread, a Args) (uint64, linux.Errno) {
	return t.sleep(linux.CLOCK_MONOTONIC, 0, a.Addr(0), a.Addr(1))
}

// sysClockNanosleep implements clock_nanosleep(2).
func sysClockNanosleep(t *Thread, a Args) (uint64, linux.Errno) {
	id := a.Int(0)
	if isClockFD(id) {
		return 0, linux.EOPNOTSUPP
	}
	if id < 0 {
		if _, e := t.timespec(a.Addr(2)); e != 0 {
			return 0, e // whose clock it is is seen later
		}
	}
	if _, e := t.clockTime(id); e != 0 {
		return 0, linux.EINVAL
	}
	if onlyRead(id) || id == linux.CLOCK_THREAD_CPUTIME_ID {
		return 0, linux.EOPNOTSUPP
	}
	return t.sleep(id, a.Int(1), a.Addr(2), a.Addr(3))
}

func (t *Thread) sleep(id, flags int, req, rem emu.Addr) (uint64, linux.Errno) {
	d, e := t.timespec(req)
	if e != 0 {
		return 0, e
	}
	abs := flags&linux.TIMER_ABSTIME != 0
	deadline := t.k.after(d)
	if abs {
		deadline = t.deadlineOn(id, d)
	}
	if deadline <= t.k.now() {
		return 0, 0
	}
	w := wait{deadline: deadline, interrupted: linux.ERESTARTNOHAND}
	if !abs {
		w.interrupted = linux.EINTR
		w.cancel = func(timeout bool) {
			if !timeout && rem != 0 {
				if e := t.copyOut(rem, timespec(max(deadline-t.k.now(), 0))); e != 0 {
					t.call.wait.interrupted = e
				}
			}
		}
	}
	return t.block(w, func() (uint64, linux.Errno) { return 0, 0 })
}

// sysClockSettime implements clock_settime(2): the clocks that could be set are the superuser's.
func sysClockSettime(t *Thread, a Args) (uint64, linux.Errno) {
	if id := a.Int(0); id != linux.CLOCK_REALTIME {
		if _, ok := t.cpuClock(id); ok && id < 0 {
			return 0, linux.EPERM
		}
		return 0, linux.EINVAL
	}
	if _, e := t.timespec(a.Addr(1)); e != 0 {
		return 0, e
	}
	return 0, linux.EPERM
}

// sysSettimeofday implements settimeofday(2), for who is not the superuser.
func sysSettimeofday(t *Thread, a Args) (uint64, linux.Errno) {
	if a.Addr(0) != 0 {
		if _, e := t.timeval(a.Addr(0)); e != 0 {
			return 0, e
		}
	}
	if a.Addr(1) != 0 {
		if _, e := t.copyIn(a.Addr(1), 8); e != 0 {
			return 0, e
		}
	}
	return 0, linux.EPERM
}

// sysSchedYield implements sched_yield(2).
func sysSchedYield(t *Thread, _ Args) (uint64, linux.Errno) {
	t.calls, t.k.sched.rest = maxCalls, 0
	return 0, 0
}

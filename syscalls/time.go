package syscalls

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// timeval reads a struct timeval at a, in nanoseconds.
func timeval(t *task.Thread, a emu.Addr) (int64, linux.Errno) {
	b, e := t.CopyIn(a, 16)
	if e != 0 {
		return 0, e
	}
	sec, usec := int64(linux.Uint64(b)), int64(linux.Uint64(b[8:]))
	if sec < 0 || usec < 0 || usec >= 1e6 {
		return 0, linux.EINVAL
	}
	return min(sec, task.MaxSeconds)*1e9 + usec*1000, 0
}

// isClockFD reports whether id names a clock by a descriptor (CLOCKFD). Drivers have such clocks; here there are none.
func isClockFD(id int) bool { return id < 0 && id&7 == 3 }

// onlyRead reports whether clock id can be read but not waited for.
func onlyRead(id int) bool {
	return id == linux.CLOCK_MONOTONIC_RAW || id == linux.CLOCK_REALTIME_COARSE || id == linux.CLOCK_MONOTONIC_COARSE
}

// sysClockGettime implements clock_gettime(2).
func sysClockGettime(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	ns, e := t.ClockTime(a.Int(0))
	if e != 0 {
		return 0, e
	}
	return 0, t.CopyOut(a.Addr(1), task.Timespec(ns))
}

// sysClockGetres implements clock_getres(2).
func sysClockGetres(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	if _, e := t.ClockTime(a.Int(0)); e != 0 {
		return 0, e
	}
	res := int64(1)
	if id := a.Int(0); id == linux.CLOCK_REALTIME_COARSE || id == linux.CLOCK_MONOTONIC_COARSE {
		res = 4_000_000
	}
	return 0, t.CopyOutIf(a.Addr(1), task.Timespec(res))
}

// sysGettimeofday implements gettimeofday(2).
func sysGettimeofday(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	if e := t.CopyOutIf(a.Addr(0), task.Timeval(t.Kernel.ReadWall())); e != 0 {
		return 0, e
	}
	return 0, t.CopyOutIf(a.Addr(1), make([]byte, 8))
}

// sysTime implements time(2).
func sysTime(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	sec := uint64(t.Kernel.ReadWall() / 1e9)
	if a.Addr(0) != 0 {
		if e := t.Out64(a.Addr(0), sec); e != 0 {
			return 0, e
		}
	}
	return sec, 0
}

// sysTimes implements times(2), in ticks of 10 ms.
func sysTimes(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	const tick = 10_000_000
	if a.Addr(0) != 0 {
		var b linux.Pack
		for _, u := range []task.Usage{t.Process.Usage(), t.Process.WaitedFor} {
			b.I64(u.User / tick)
			b.I64(u.System / tick)
		}
		if e := t.CopyOut(a.Addr(0), b); e != 0 {
			return 0, e
		}
	}
	return uint64(t.Kernel.Now() / tick), 0
}

// sysGetrusage implements getrusage(2): nothing but CPU time is counted.
func sysGetrusage(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	const self, children, thread = 0, -1, 1
	var u task.Usage
	switch a.Int(0) {
	case self:
		u = t.Process.Usage()
	case thread:
		u = t.Usage()
	case children:
		u = t.Process.WaitedFor
	default:
		return 0, linux.EINVAL
	}
	return 0, t.CopyOut(a.Addr(1), task.Rusage(u))
}

// sysNanosleep implements nanosleep(2).
func sysNanosleep(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return t.Sleep(linux.CLOCK_MONOTONIC, 0, a.Addr(0), a.Addr(1))
}

// sysClockNanosleep implements clock_nanosleep(2).
func sysClockNanosleep(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	id := a.Int(0)
	if isClockFD(id) {
		return 0, linux.EOPNOTSUPP
	}
	if id < 0 {
		if _, e := t.Timespec(a.Addr(2)); e != 0 {
			return 0, e // before the clock is looked at, as on Linux
		}
	}
	if _, e := t.ClockTime(id); e != 0 {
		return 0, linux.EINVAL
	}
	if onlyRead(id) || id == linux.CLOCK_THREAD_CPUTIME_ID {
		return 0, linux.EOPNOTSUPP
	}
	return t.Sleep(id, a.Int(1), a.Addr(2), a.Addr(3))
}

// sysClockSettime implements clock_settime(2): only the superuser may set a clock.
func sysClockSettime(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	if id := a.Int(0); id != linux.CLOCK_REALTIME {
		if _, ok := t.CpuClock(id); ok && id < 0 {
			return 0, linux.EPERM
		}
		return 0, linux.EINVAL
	}
	if _, e := t.Timespec(a.Addr(1)); e != 0 {
		return 0, e
	}
	return 0, linux.EPERM
}

// sysSettimeofday implements settimeofday(2): only the superuser may set the time.
func sysSettimeofday(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	if a.Addr(0) != 0 {
		if _, e := timeval(t, a.Addr(0)); e != 0 {
			return 0, e
		}
	}
	if a.Addr(1) != 0 {
		if _, e := t.CopyIn(a.Addr(1), 8); e != 0 {
			return 0, e
		}
	}
	return 0, linux.EPERM
}

// sysSchedYield implements sched_yield(2).
func sysSchedYield(t *task.Thread, _ uio.Args) (uint64, linux.Errno) {
	t.Yield()
	return 0, 0
}

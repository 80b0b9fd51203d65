package syscalls

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// sysAlarm implements alarm(2).
func sysAlarm(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	it := t.Process.Itimer(0)
	old := t.Kernel.Remaining(it)
	t.Kernel.Arm(it, int64(a.U32(0))*1e9, 0)
	sec := uint64((old + 5e8) / 1e9)
	if old > 0 && sec == 0 {
		sec = 1
	}
	return sec, 0
}

func itimerval(t *task.Thread, which int) []byte {
	it := t.Process.Itimer(which)
	return append(task.Timeval(it.Interval), task.Timeval(t.Kernel.Remaining(it))...)
}

// sysGetitimer implements getitimer(2).
func sysGetitimer(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	if a.U32(0) > 2 {
		return 0, linux.EINVAL
	}
	return 0, t.CopyOut(a.Addr(1), itimerval(t, a.Int(0)))
}

// sysSetitimer implements setitimer(2).
func sysSetitimer(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	which, val, old := a.U32(0), a.Addr(1), a.Addr(2)
	var interval, value int64
	if val != 0 {
		var e linux.Errno
		if interval, e = timeval(t, val); e != 0 {
			return 0, e
		}
		if value, e = timeval(t, val+16); e != 0 {
			return 0, e
		}
	}
	if which > 2 {
		return 0, linux.EINVAL
	}
	was := itimerval(t, int(which))
	t.Kernel.Arm(t.Process.Itimer(int(which)), value, interval)
	return 0, t.CopyOutIf(old, was)
}

// sysTimerCreate implements timer_create(2).
func sysTimerCreate(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	clock, sev, out := a.Int(0), a.Addr(1), a.Addr(2)
	var b []byte
	if sev != 0 {
		var e linux.Errno
		if b, e = t.CopyIn(sev, 64); e != 0 {
			return 0, e
		}
	}
	_, bad := t.ClockTime(clock)
	switch {
	case bad != 0 && clock >= 0:
		return 0, bad
	case onlyRead(clock) || isClockFD(clock):
		return 0, linux.EOPNOTSUPP
	case t.Kernel.QueuedSignals() >= t.Process.Limits[linux.RLIMIT_SIGPENDING].Cur:
		return 0, linux.EAGAIN
	}
	id := t.Process.NextTimer
	t.Process.NextTimer++ // the id is used up even if the call fails
	if bad != 0 {
		return 0, bad // a CPU clock of a process or thread that does not exist
	}
	value, signo, how, tid := id, linux.SIGALRM, linux.SIGEV_SIGNAL, 0
	if sev != 0 {
		value, signo, how, tid = linux.Uint64(b), int(int32(linux.Uint32(b[8:]))), int(linux.Uint32(b[12:])), int(int32(linux.Uint32(b[16:])))
		if how != linux.SIGEV_SIGNAL && how != linux.SIGEV_NONE && how != linux.SIGEV_SIGNAL|linux.SIGEV_THREAD_ID ||
			how != linux.SIGEV_NONE && (signo < 1 || signo > linux.NSIG) {
			return 0, linux.EINVAL
		}
	}
	target := t.Process.Thread(tid)
	if how&linux.SIGEV_THREAD_ID != 0 && target == nil {
		return 0, linux.EINVAL
	}
	pt := &task.PosixTimer{Timer: task.Timer{Process: t.Process}, Clock: clock, How: how}
	if c, ok := t.CpuClock(clock); ok {
		pt.CPU = &c
	}
	if how&linux.SIGEV_THREAD_ID != 0 {
		pt.To = target
	}
	pt.Info = task.SigInfo{Signo: int32(signo), Code: linux.SI_TIMER, Timer: pt}
	linux.PutUint32(pt.Info.Fields[:], uint32(id))
	linux.PutUint64(pt.Info.Fields[8:], value)
	pt.Fire = pt.Expire
	if e := t.Out32(out, uint32(id)); e != 0 {
		return 0, e
	}
	t.Process.Posix[id] = pt
	return 0, 0
}

func posixTimer(t *task.Thread, id int) (*task.PosixTimer, linux.Errno) {
	pt := t.Process.Posix[uint64(uint32(id))]
	if pt == nil {
		return nil, linux.EINVAL
	}
	return pt, 0
}

// setTimer is what timer_settime(2) and timerfd_settime(2) have in common: it arms tm with the struct itimerspec at val
// and returns the old setting. reset makes the timer forget the expirations so far.
func setTimer(t *task.Thread, tm *task.Timer, reset func(), clock int, abs bool, val, old uint64) (uint64, linux.Errno) {
	interval, e := t.Timespec(emu.Addr(int(val)))
	if e != 0 {
		return 0, e
	}
	value, e := t.Timespec(emu.Addr(int(val + 16)))
	if e != 0 {
		return 0, e
	}
	was := append(task.Timespec(tm.Interval), task.Timespec(t.Kernel.Remaining(tm))...)
	if abs && value != 0 {
		now, _ := t.ClockTime(clock)
		value = max(value-now, 1)
	}
	reset()
	t.Kernel.Arm(tm, value, interval)
	return 0, t.CopyOutIf(emu.Addr(int(old)), was)
}

// sysTimerSettime implements timer_settime(2).
func sysTimerSettime(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	pt, e := posixTimer(t, a.Int(0))
	if e != 0 {
		return 0, e
	}
	return setTimer(t, &pt.Timer, pt.Stop, pt.Clock, a.Int(1)&linux.TIMER_ABSTIME != 0, a.Uint(2), a.Uint(3))
}

// sysTimerGettime implements timer_gettime(2).
func sysTimerGettime(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	pt, e := posixTimer(t, a.Int(0))
	if e != 0 {
		return 0, e
	}
	return 0, t.CopyOut(a.Addr(1), append(task.Timespec(pt.Interval), task.Timespec(t.Kernel.Remaining(&pt.Timer))...))
}

// sysTimerGetoverrun implements timer_getoverrun(2).
func sysTimerGetoverrun(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	pt, e := posixTimer(t, a.Int(0))
	if e != 0 {
		return 0, e
	}
	return uint64(pt.Overrun()), 0
}

// sysTimerDelete implements timer_delete(2).
func sysTimerDelete(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	pt, e := posixTimer(t, a.Int(0))
	if e != 0 {
		return 0, e
	}
	pt.Stop()
	delete(t.Process.Posix, uint64(a.U32(0)))
	return 0, 0
}

// sysTimerfdCreate implements timerfd_create(2).
func sysTimerfdCreate(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	clock, flags := a.Int(0), a.Int(1)
	if flags&^(linux.O_NONBLOCK|linux.O_CLOEXEC) != 0 {
		return 0, linux.EINVAL
	}
	switch clock {
	case linux.CLOCK_REALTIME, linux.CLOCK_MONOTONIC, linux.CLOCK_BOOTTIME:
	case linux.CLOCK_REALTIME_ALARM, linux.CLOCK_BOOTTIME_ALARM:
		return 0, linux.EPERM
	default:
		return 0, linux.EINVAL
	}
	f := &files.TimerFile{FileBase: files.FileBase{Flags: linux.O_RDWR | flags&linux.O_NONBLOCK, Path: "anon_inode:[timerfd]"}, Clock: clock}
	f.Fire = func(n uint64) {
		f.Count += n
		f.Wake(linux.POLLIN)
		f.ExpirationPending = f.Interval > 0 // until the descriptor is read
	}
	return files.Install(t, f, flags)
}

func getTimer(t *task.Thread, fd int) (*files.TimerFile, linux.Errno) {
	f, e := files.GetFile(t, fd)
	if e != 0 {
		return nil, e
	}
	tf, ok := f.(*files.TimerFile)
	if !ok {
		return nil, linux.EINVAL
	}
	return tf, 0
}

// sysTimerfdSettime implements timerfd_settime(2).
func sysTimerfdSettime(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	const cancelOnSet = 2
	if _, e := t.CopyIn(a.Addr(2), 32); e != 0 {
		return 0, e
	}
	_, e1 := t.Timespec(a.Addr(2))
	_, e2 := t.Timespec(a.Addr(2) + 16)
	if a.Int(1)&^(linux.TIMER_ABSTIME|cancelOnSet) != 0 || e1 != 0 || e2 != 0 {
		return 0, linux.EINVAL
	}
	f, e := getTimer(t, a.Int(0))
	if e != 0 {
		return 0, e
	}
	return setTimer(t, &f.Timer, func() { f.Count = 0 }, f.Clock, a.Int(1)&linux.TIMER_ABSTIME != 0, a.Uint(2), a.Uint(3))
}

// sysTimerfdGettime implements timerfd_gettime(2).
func sysTimerfdGettime(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	f, e := getTimer(t, a.Int(0))
	if e != 0 {
		return 0, e
	}
	return 0, t.CopyOut(a.Addr(1), append(task.Timespec(f.Interval), task.Timespec(t.Kernel.Remaining(&f.Timer))...))
}

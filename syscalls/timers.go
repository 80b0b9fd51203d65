package syscalls

import (
	"maps"
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// A timer is a deadline with something to do.
type timer struct {
	p        *Process
	deadline int64 // on Kernel.now's clock; never if not armed
	interval int64
	// cpu is the clock of a timer that counts CPU time, and nil for others. Every CPU nanosecond is one of
	// Kernel.now's clock too.
	cpu       *cpuClock
	cpuTarget int64
	// held says that nobody has taken an expiration of a periodic timer yet: it stands still, and those that it
	// missed are counted when somebody does (as in Linux, which so is not kept busy by them).
	held bool
	fire func(expirations uint64)
}

// nextTimer is when the next timer goes off.
func (k *Kernel) nextTimer() int64 {
	next := int64(never)
	for _, t := range k.timers {
		next = min(next, t.when(k))
	}
	return next
}

// when is the timer's deadline on Kernel.now's clock, at the earliest: never while its clock stands still.
func (t *timer) when(k *Kernel) int64 {
	if t.held {
		return never
	}
	if t.cpu == nil {
		return t.deadline
	}
	left := t.cpuTarget - t.cpu.time()
	if left > 0 && !t.cpu.runs(k.current) {
		return never
	}
	return later(k.now(), max(left, 0))
}

// arm starts t to go off in d nanoseconds and every interval after that; d 0 stops it.
func (k *Kernel) arm(t *timer, d, interval int64) {
	k.disarm(t)
	t.interval, t.held = interval, false
	if d == 0 {
		return
	}
	if t.cpu != nil {
		t.cpuTarget = later(t.cpu.time(), d)
	} else {
		t.deadline = later(k.now(), d)
	}
	k.timers = append(k.timers, t)
}

func (k *Kernel) disarm(t *timer) {
	if i := slices.Index(k.timers, t); i >= 0 {
		k.timers = slices.Delete(k.timers, i, i+1)
	}
}

// left is how long until t goes off, 0 if it is not armed.
func (k *Kernel) left(t *timer) int64 {
	if !slices.Contains(k.timers, t) {
		return 0
	}
	target, now := t.target(k)
	left := *target - now
	if t.held && left <= 0 {
		left += (-left/t.interval + 1) * t.interval
	}
	return max(left, 1)
}

// target is when t goes off on its own clock, and the time there.
func (t *timer) target(k *Kernel) (target *int64, now int64) {
	if t.cpu != nil {
		return &t.cpuTarget, t.cpu.time()
	}
	return &t.deadline, k.now()
}

// forward moves the next expiration of a periodic timer behind now, and returns how many it passes.
func (t *timer) forward(k *Kernel) uint64 {
	target, now := t.target(k)
	if now < *target {
		return 0
	}
	n := (now-*target)/t.interval + 1
	*target = later(*target+(n-1)*t.interval, t.interval)
	return uint64(n)
}

// resume lets t go on that was held, and returns how many expirations it missed.
func (t *timer) resume(k *Kernel) uint64 {
	if !t.held {
		return 0
	}
	t.held = false
	return t.forward(k)
}

// fireTimers acts on all timers whose time has come, in order of their deadlines.
func (k *Kernel) fireTimers() {
	if len(k.timers) == 0 {
		return
	}
	now := k.now()
	for {
		var due *timer
		for _, t := range k.timers {
			if t.when(k) <= now && (due == nil || t.when(k) < due.when(k)) {
				due = t
			}
		}
		if due == nil {
			return
		}
		n := uint64(1)
		if due.interval == 0 {
			k.disarm(due)
		} else {
			n = due.forward(k)
		}
		due.fire(n)
	}
}

// dropTimers disarms all timers of p.
func (k *Kernel) dropTimers(p *Process) {
	k.timers = slices.DeleteFunc(k.timers, func(t *timer) bool { return t.p == p })
}

// An itimer is one of the three interval timers: ITIMER_REAL, _VIRTUAL, _PROF.
type itimer struct{ timer *timer }

var itimerSignals = [3]int{linux.SIGALRM, linux.SIGVTALRM, linux.SIGPROF}

func (p *Process) itimer(which int) *timer {
	it := &p.itimers[which]
	if it.timer == nil {
		tm := &timer{p: p}
		if which != 0 {
			const virtual = 1
			tm.cpu = &cpuClock{p: p, userOnly: which == virtual}
		}
		tm.fire = func(uint64) {
			s := &sigInfo{signo: int32(itimerSignals[which]), code: linux.SI_KERNEL}
			if tm.cpu != nil {
				s.to = p.k.current // as it used the time
			}
			p.send(s)
			tm.held = tm.cpu == nil && tm.interval > 0 // until a SIGALRM is taken, whoever sent it
		}
		it.timer = tm
	}
	return it.timer
}

// sysAlarm implements alarm(2).
func sysAlarm(t *Thread, a Args) (uint64, linux.Errno) {
	it := t.p.itimer(0)
	old := t.k.left(it)
	t.k.arm(it, int64(a.U32(0))*1e9, 0)
	sec := uint64((old + 5e8) / 1e9)
	if old > 0 && sec == 0 {
		sec = 1
	}
	return sec, 0
}

func (t *Thread) itimerval(which int) []byte {
	it := t.p.itimer(which)
	return append(timeval(it.interval), timeval(t.k.left(it))...)
}

// sysGetitimer implements getitimer(2).
func sysGetitimer(t *Thread, a Args) (uint64, linux.Errno) {
	if a.U32(0) > 2 {
		return 0, linux.EINVAL
	}
	return 0, t.copyOut(a.Addr(1), t.itimerval(a.Int(0)))
}

// sysSetitimer implements setitimer(2).
func sysSetitimer(t *Thread, a Args) (uint64, linux.Errno) {
	which, val, old := a.U32(0), a.Addr(1), a.Addr(2)
	var interval, value int64
	if val != 0 {
		var e linux.Errno
		if interval, e = t.timeval(val); e != 0 {
			return 0, e
		}
		if value, e = t.timeval(val + 16); e != 0 {
			return 0, e
		}
	}
	if which > 2 {
		return 0, linux.EINVAL
	}
	was := t.itimerval(int(which))
	t.k.arm(t.p.itimer(int(which)), value, interval)
	return 0, t.copyOutIf(old, was)
}

// A posixTimer is one made by timer_create(2).
type posixTimer struct {
	timer
	clock int
	how   int // SIGEV_SIGNAL and so on
	info  sigInfo
	to    *Thread // nil for the process
	// queued says that its signal is, whose overruns are counted.
	queued   bool
	overruns uint64
	last     uint64 // what timer_getoverrun returns
}

// expire is called when the timer went off n times.
func (pt *posixTimer) expire(n uint64) {
	pt.overruns = n - 1
	pt.notify()
	pt.held = pt.interval > 0
}

// notify sends the timer's signal. If it is ignored, that of a periodic timer is sent once it no longer is.
func (pt *posixTimer) notify() {
	s := pt.info
	switch {
	case pt.how == linux.SIGEV_NONE:
	case pt.to != nil:
		pt.to.send(&s)
	default:
		s.to = pt.p.k.current
		pt.p.send(&s)
	}
}

// watchCPU acts on RLIMIT_CPU from now on: SIGXCPU at the soft limit and each second after it, SIGKILL at the hard one
// (kernel/time/posix-cpu-timers.c, check_process_timers).
func (p *Process) watchCPU() {
	const second = 1_000_000_000
	p.k.disarm(&p.cpuLimit)
	l := &p.limits[linux.RLIMIT_CPU]
	if l.cur == linux.RLIM_INFINITY && l.max == linux.RLIM_INFINITY {
		return
	}
	at := int64(never)
	if next := l.cur; next < maxSeconds {
		at = int64(next) * second
	}
	p.cpuLimit = timer{p: p, cpu: &cpuClock{p: p}, cpuTarget: at}
	p.cpuLimit.fire = func(uint64) {
		s := &sigInfo{signo: linux.SIGXCPU, code: linux.SI_KERNEL, to: p.k.current}
		if used := uint64(p.usage().total() / second); used >= l.max {
			s.signo = linux.SIGKILL
		} else {
			l.cur++
			p.watchCPU()
		}
		p.send(s)
	}
	p.k.timers = append(p.k.timers, &p.cpuLimit)
}

// taken is called when s, the timer's signal, is taken off its queue.
func (pt *posixTimer) taken(s *sigInfo) {
	pt.last, pt.overruns, pt.queued = pt.overruns+pt.resume(pt.p.k), 0, false
	put32(s.fields[4:], pt.overrun())
}

// overrun is what timer_getoverrun(2) returns.
func (pt *posixTimer) overrun() uint32 { return uint32(min(pt.last, 1<<31-1)) }

// stop disarms the timer and takes its signal back.
func (pt *posixTimer) stop() {
	pt.p.k.disarm(&pt.timer)
	ours := func(s *sigInfo) bool { return s.timer == pt }
	pt.p.pending.remove(ours)
	for _, t := range pt.p.threads {
		t.pending.remove(ours)
	}
	pt.queued, pt.overruns, pt.last = false, 0, 0
}

// unignored is called when sig is no longer ignored.
func (p *Process) unignored(sig int) {
	for _, id := range slices.Sorted(maps.Keys(p.posix)) {
		if pt := p.posix[id]; int(pt.info.signo) == sig && pt.held && !pt.queued {
			pt.notify()
		}
	}
}

// sysTimerCreate implements timer_create(2).
func sysTimerCreate(t *Thread, a Args) (uint64, linux.Errno) {
	clock, sev, out := a.Int(0), a.Addr(1), a.Addr(2)
	var b []byte
	if sev != 0 {
		var e linux.Errno
		if b, e = t.copyIn(sev, 64); e != 0 {
			return 0, e
		}
	}
	_, bad := t.clockTime(clock)
	switch {
	case bad != 0 && clock >= 0:
		return 0, bad
	case onlyRead(clock) || isClockFD(clock):
		return 0, linux.EOPNOTSUPP
	case t.k.queuedSignals() >= t.p.limits[linux.RLIMIT_SIGPENDING].cur:
		return 0, linux.EAGAIN
	}
	id := t.p.nextTimer
	t.p.nextTimer++ // even if there will be no timer
	if bad != 0 {
		return 0, bad // the CPU time of nobody
	}
	value, signo, how, tid := id, linux.SIGALRM, linux.SIGEV_SIGNAL, 0
	if sev != 0 {
		value, signo, how, tid = le64(b), int(int32(le32(b[8:]))), int(le32(b[12:])), int(int32(le32(b[16:])))
		if how != linux.SIGEV_SIGNAL && how != linux.SIGEV_NONE && how != linux.SIGEV_SIGNAL|linux.SIGEV_THREAD_ID ||
			how != linux.SIGEV_NONE && (signo < 1 || signo > linux.NSIG) {
			return 0, linux.EINVAL
		}
	}
	target := t.p.thread(tid)
	if how&linux.SIGEV_THREAD_ID != 0 && target == nil {
		return 0, linux.EINVAL
	}
	pt := &posixTimer{timer: timer{p: t.p}, clock: clock, how: how}
	if c, ok := t.cpuClock(clock); ok {
		pt.cpu = &c
	}
	if how&linux.SIGEV_THREAD_ID != 0 {
		pt.to = target
	}
	pt.info = sigInfo{signo: int32(signo), code: linux.SI_TIMER, timer: pt}
	put32(pt.info.fields[:], uint32(id))
	put64(pt.info.fields[8:], value)
	pt.fire = pt.expire
	if e := t.out32(out, uint32(id)); e != 0 {
		return 0, e
	}
	t.p.posix[id] = pt
	return 0, 0
}

func (t *Thread) posixTimer(id int) (*posixTimer, linux.Errno) {
	pt := t.p.posix[uint64(uint32(id))]
	if pt == nil {
		return nil, linux.EINVAL
	}
	return pt, 0
}

// setTimer does what timer_settime(2) and timerfd_settime(2) share: it arms tm
// from the itimerspec at val and returns the old one. reset forgets what it did so far.
func (t *Thread) setTimer(tm *timer, reset func(), clock int, abs bool, val, old uint64) (uint64, linux.Errno) {
	interval, e := t.timespec(emu.Addr(int(val)))
	if e != 0 {
		return 0, e
	}
	value, e := t.timespec(emu.Addr(int(val + 16)))
	if e != 0 {
		return 0, e
	}
	was := append(timespec(tm.interval), timespec(t.k.left(tm))...)
	if abs && value != 0 {
		now, _ := t.clockTime(clock)
		value = max(value-now, 1)
	}
	reset()
	t.k.arm(tm, value, interval)
	return 0, t.copyOutIf(emu.Addr(int(old)), was)
}

// sysTimerSettime implements timer_settime(2).
func sysTimerSettime(t *Thread, a Args) (uint64, linux.Errno) {
	pt, e := t.posixTimer(a.Int(0))
	if e != 0 {
		return 0, e
	}
	return t.setTimer(&pt.timer, pt.stop, pt.clock, a.Int(1)&linux.TIMER_ABSTIME != 0, a.Uint(2), a.Uint(3))
}

// sysTimerGettime implements timer_gettime(2).
func sysTimerGettime(t *Thread, a Args) (uint64, linux.Errno) {
	pt, e := t.posixTimer(a.Int(0))
	if e != 0 {
		return 0, e
	}
	return 0, t.copyOut(a.Addr(1), append(timespec(pt.interval), timespec(t.k.left(&pt.timer))...))
}

// sysTimerGetoverrun implements timer_getoverrun(2).
func sysTimerGetoverrun(t *Thread, a Args) (uint64, linux.Errno) {
	pt, e := t.posixTimer(a.Int(0))
	if e != 0 {
		return 0, e
	}
	return uint64(pt.overrun()), 0
}

// sysTimerDelete implements timer_delete(2).
func sysTimerDelete(t *Thread, a Args) (uint64, linux.Errno) {
	pt, e := t.posixTimer(a.Int(0))
	if e != 0 {
		return 0, e
	}
	pt.stop()
	delete(t.p.posix, uint64(a.U32(0)))
	return 0, 0
}

// A timerFile is a timerfd.
type timerFile struct {
	fileBase
	timer
	clock int
	count uint64
}

// sysTimerfdCreate implements timerfd_create(2).
func sysTimerfdCreate(t *Thread, a Args) (uint64, linux.Errno) {
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
	f := &timerFile{fileBase: fileBase{flags: linux.O_RDWR | flags&linux.O_NONBLOCK, path: "anon_inode:[timerfd]"}, clock: clock}
	f.fire = func(n uint64) {
		f.count += n
		f.wake(linux.POLLIN)
		f.held = f.interval > 0 // until it is read
	}
	return t.install(f, flags)
}

func (*timerFile) traits() traits { return unwritable | unpositioned }

func (f *timerFile) seek(*Thread, int64, int) (int64, linux.Errno) { return 0, 0 }

func (t *Thread) timerFile(fd int) (*timerFile, linux.Errno) {
	f, e := t.openFile(fd)
	if e != 0 {
		return nil, e
	}
	tf, ok := f.(*timerFile)
	if !ok {
		return nil, linux.EINVAL
	}
	return tf, 0
}

// sysTimerfdSettime implements timerfd_settime(2).
func sysTimerfdSettime(t *Thread, a Args) (uint64, linux.Errno) {
	const cancelOnSet = 2
	if _, e := t.copyIn(a.Addr(2), 32); e != 0 {
		return 0, e
	}
	_, e1 := t.timespec(a.Addr(2))
	_, e2 := t.timespec(a.Addr(2) + 16)
	if a.Int(1)&^(linux.TIMER_ABSTIME|cancelOnSet) != 0 || e1 != 0 || e2 != 0 {
		return 0, linux.EINVAL
	}
	f, e := t.timerFile(a.Int(0))
	if e != 0 {
		return 0, e
	}
	return t.setTimer(&f.timer, func() { f.count = 0 }, f.clock, a.Int(1)&linux.TIMER_ABSTIME != 0, a.Uint(2), a.Uint(3))
}

// sysTimerfdGettime implements timerfd_gettime(2).
func sysTimerfdGettime(t *Thread, a Args) (uint64, linux.Errno) {
	f, e := t.timerFile(a.Int(0))
	if e != 0 {
		return 0, e
	}
	return 0, t.copyOut(a.Addr(1), append(timespec(f.interval), timespec(t.k.left(&f.timer))...))
}

func (f *timerFile) read(t *Thread, v []iovec, _ int64) (uint64, linux.Errno) {
	t.k.fireTimers()
	if total(v) < 8 {
		return 0, linux.EINVAL
	}
	if f.count == 0 {
		return 0, linux.EAGAIN
	}
	var b pack
	b.u64(f.count + f.resume(t.k))
	f.count = 0
	n, e := t.scatter(v, b)
	return uint64(n), e
}

func (f *timerFile) poll(*Thread) uint32 {
	if f.count > 0 {
		return linux.POLLIN
	}
	return 0
}

func (f *timerFile) close(k *Kernel) { k.disarm(&f.timer) }

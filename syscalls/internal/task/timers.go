package task

import (
	"maps"
	"slices"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// A Timer is a deadline with something to do.
type Timer struct {
	Process  *Process
	deadline int64 // on Kernel.Now's clock; never if not armed
	Interval int64
	// CPU is the clock of a timer that counts CPU time, and nil for others. Every CPU nanosecond is one of
	// Kernel.Now's clock too.
	CPU       *cpuClock
	cpuTarget int64
	// ExpirationPending says that nobody has taken an expiration of a periodic timer yet: it stands still, and those that it
	// missed are counted when somebody does (as in Linux, which so is not kept busy by them).
	ExpirationPending bool
	Fire              func(expirations uint64)
}

// NextTimer is when the next timer goes off.
func (k *Kernel) nextTimer() int64 {
	next := int64(Never)
	for _, t := range k.Timers {
		next = min(next, t.when(k))
	}
	return next
}

// when is the timer's deadline on Kernel.Now's clock, at the earliest: never while its clock stands still.
func (t *Timer) when(k *Kernel) int64 {
	if t.ExpirationPending {
		return Never
	}
	if t.CPU == nil {
		return t.deadline
	}
	left := t.cpuTarget - t.CPU.time()
	if left > 0 && !t.CPU.runs(k.Current) {
		return Never
	}
	return later(k.Now(), max(left, 0))
}

// Arm starts t to go off in d nanoseconds and every interval after that; d 0 stops it.
func (k *Kernel) Arm(t *Timer, d, interval int64) {
	k.Disarm(t)
	t.Interval, t.ExpirationPending = interval, false
	if d == 0 {
		return
	}
	if t.CPU != nil {
		t.cpuTarget = later(t.CPU.time(), d)
	} else {
		t.deadline = later(k.Now(), d)
	}
	k.Timers = append(k.Timers, t)
}

func (k *Kernel) Disarm(t *Timer) {
	if i := slices.Index(k.Timers, t); i >= 0 {
		k.Timers = slices.Delete(k.Timers, i, i+1)
	}
}

// Remaining is how long until t goes off, 0 if it is not armed.
func (k *Kernel) Remaining(t *Timer) int64 {
	if !slices.Contains(k.Timers, t) {
		return 0
	}
	target, now := t.target(k)
	left := *target - now
	if t.ExpirationPending && left <= 0 {
		left += (-left/t.Interval + 1) * t.Interval
	}
	return max(left, 1)
}

// target is when t goes off on its own clock, and the time there.
func (t *Timer) target(k *Kernel) (target *int64, now int64) {
	if t.CPU != nil {
		return &t.cpuTarget, t.CPU.time()
	}
	return &t.deadline, k.Now()
}

// forward moves the next expiration of a periodic timer behind now, and returns how many it passes.
func (t *Timer) forward(k *Kernel) uint64 {
	target, now := t.target(k)
	if now < *target {
		return 0
	}
	n := (now-*target)/t.Interval + 1
	*target = later(*target+(n-1)*t.Interval, t.Interval)
	return uint64(n)
}

// Rearm lets t go on that was held, and returns how many expirations it missed.
func (t *Timer) Rearm(k *Kernel) uint64 {
	if !t.ExpirationPending {
		return 0
	}
	t.ExpirationPending = false
	return t.forward(k)
}

// FireTimers acts on all timers whose time has come, in order of their deadlines.
func (k *Kernel) FireTimers() {
	if len(k.Timers) == 0 {
		return
	}
	now := k.Now()
	for {
		var due *Timer
		for _, t := range k.Timers {
			if t.when(k) <= now && (due == nil || t.when(k) < due.when(k)) {
				due = t
			}
		}
		if due == nil {
			return
		}
		n := uint64(1)
		if due.Interval == 0 {
			k.Disarm(due)
		} else {
			n = due.forward(k)
		}
		due.Fire(n)
	}
}

// dropTimers disarms all timers of p.
func (k *Kernel) dropTimers(p *Process) {
	k.Timers = slices.DeleteFunc(k.Timers, func(t *Timer) bool { return t.Process == p })
}

// An itimer is one of the three interval timers: ITIMER_REAL, _VIRTUAL, _PROF.
type itimer struct{ timer *Timer }

var itimerSignals = [3]int{linux.SIGALRM, linux.SIGVTALRM, linux.SIGPROF}

func (p *Process) Itimer(which int) *Timer {
	it := &p.itimers[which]
	if it.timer == nil {
		tm := &Timer{Process: p}
		if which != 0 {
			const virtual = 1
			tm.CPU = &cpuClock{Process: p, userOnly: which == virtual}
		}
		tm.Fire = func(uint64) {
			s := &SigInfo{Signo: int32(itimerSignals[which]), Code: linux.SI_KERNEL}
			if tm.CPU != nil {
				s.preferred = p.Kernel.Current // as it used the time
			}
			p.Send(s)
			tm.ExpirationPending = tm.CPU == nil && tm.Interval > 0 // until a SIGALRM is taken, whoever sent it
		}
		it.timer = tm
	}
	return it.timer
}

// A PosixTimer is one made by timer_create(2).
type PosixTimer struct {
	Timer
	Clock int
	How   int // SIGEV_SIGNAL and so on
	Info  SigInfo
	To    *Thread // nil for the process
	// queued says that its signal is, whose overruns are counted.
	queued   bool
	overruns uint64
	last     uint64 // what timer_getoverrun returns
}

// Expire is called when the timer went off n times.
func (pt *PosixTimer) Expire(n uint64) {
	pt.overruns = n - 1
	pt.notify()
	pt.ExpirationPending = pt.Interval > 0
}

// notify sends the timer's signal. If it is ignored, that of a periodic timer is sent once it no longer is.
func (pt *PosixTimer) notify() {
	s := pt.Info
	switch {
	case pt.How == linux.SIGEV_NONE:
	case pt.To != nil:
		pt.To.Send(&s)
	default:
		s.preferred = pt.Process.Kernel.Current
		pt.Process.Send(&s)
	}
}

// dequeued is called when s, the timer's signal, is taken off its queue.
func (pt *PosixTimer) dequeued(s *SigInfo) {
	pt.last, pt.overruns, pt.queued = pt.overruns+pt.Rearm(pt.Process.Kernel), 0, false
	linux.PutUint32(s.Fields[4:], pt.Overrun())
}

// Overrun is what timer_getoverrun(2) returns.
func (pt *PosixTimer) Overrun() uint32 { return uint32(min(pt.last, 1<<31-1)) }

// Stop disarms the timer and takes its signal back.
func (pt *PosixTimer) Stop() {
	pt.Process.Kernel.Disarm(&pt.Timer)
	ours := func(s *SigInfo) bool { return s.Timer == pt }
	pt.Process.Pending.remove(ours)
	for _, t := range pt.Process.Threads {
		t.Pending.remove(ours)
	}
	pt.queued, pt.overruns, pt.last = false, 0, 0
}

// Unignored is called when sig is no longer ignored.
func (p *Process) Unignored(sig int) {
	for _, id := range slices.Sorted(maps.Keys(p.Posix)) {
		if pt := p.Posix[id]; int(pt.Info.Signo) == sig && pt.ExpirationPending && !pt.queued {
			pt.notify()
		}
	}
}

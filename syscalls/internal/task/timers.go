package task

import (
	"maps"
	"slices"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// A Timer calls Fire at a deadline. It is armed while it is in Kernel.Timers.
type Timer struct {
	// Process is whose timer it is: its end disarms the timer. It is nil for timerfds, which processes may share.
	Process *Process
	// deadline is when the timer fires on Now's clock, for timers without CPU.
	deadline int64
	// Interval is the time between two expirations, 0 for a timer that fires once.
	Interval int64
	// CPU, if set, is the CPU clock that the timer runs by, and cpuTarget its deadline there. A nanosecond of CPU time
	// is one of Now's clock, too.
	CPU       *cpuClock
	cpuTarget int64
	// ExpirationPending says that a periodic timer has fired and nobody has taken the expiration yet: its signal is
	// queued, or its descriptor not read. It does not fire again until then; what it missed is counted at that moment
	// (Rearm), as Linux does.
	ExpirationPending bool
	// Fire is called with the number of expirations since the last time.
	Fire func(expirations uint64)
}

// nextTimer is when the next timer fires.
func (k *Kernel) nextTimer() int64 {
	next := int64(Never)
	for _, t := range k.Timers {
		next = min(next, t.when(k))
	}
	return next
}

// when is the earliest that t can fire on Now's clock: Never while its CPU clock stands still.
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

// Arm makes t fire d nanoseconds from now and every interval after that. d 0 disarms it.
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

// Disarm makes t not fire.
func (k *Kernel) Disarm(t *Timer) {
	if i := slices.Index(k.Timers, t); i >= 0 {
		k.Timers = slices.Delete(k.Timers, i, i+1)
	}
}

// Remaining is how long it is until t fires, 0 if it is not armed.
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

// target is when t fires, and the present time, on the clock that it runs by.
func (t *Timer) target(k *Kernel) (target *int64, now int64) {
	if t.CPU != nil {
		return &t.cpuTarget, t.CPU.time()
	}
	return &t.deadline, k.Now()
}

// forward moves the deadline of a periodic timer behind the present time, and returns how many expirations that passes.
func (t *Timer) forward(k *Kernel) uint64 {
	target, now := t.target(k)
	if now < *target {
		return 0
	}
	n := (now-*target)/t.Interval + 1
	*target = later(*target+(n-1)*t.Interval, t.Interval)
	return uint64(n)
}

// Rearm lets a periodic timer go on whose expiration was pending, and returns how many others it has missed.
func (t *Timer) Rearm(k *Kernel) uint64 {
	if !t.ExpirationPending {
		return 0
	}
	t.ExpirationPending = false
	return t.forward(k)
}

// FireTimers fires all timers whose time has come, in order of their deadlines.
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

// dropTimers disarms p's timers.
func (k *Kernel) dropTimers(p *Process) {
	k.Timers = slices.DeleteFunc(k.Timers, func(t *Timer) bool { return t.Process == p })
}

// An itimer is one of the timers of setitimer(2): ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF. timer is nil until it is
// used.
type itimer struct{ timer *Timer }

var itimerSignals = [3]int{linux.SIGALRM, linux.SIGVTALRM, linux.SIGPROF}

// Itimer returns p's interval timer which, one of the three ITIMER_*.
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

// A PosixTimer is a timer of timer_create(2).
type PosixTimer struct {
	Timer
	// Clock is the clock that it was made for.
	Clock int
	// How is SIGEV_SIGNAL, SIGEV_THREAD_ID or SIGEV_NONE. Info is the signal to send, To the thread that gets it; nil
	// for any of the process.
	How  int
	Info SigInfo
	To   *Thread
	// queued says that the signal is in a queue. overruns are the expirations since it was queued; last is what they
	// were for the signal taken before: the result of timer_getoverrun(2).
	queued   bool
	overruns uint64
	last     uint64
}

// Expire is called when the timer has expired n times since it was last looked at.
func (pt *PosixTimer) Expire(n uint64) {
	pt.overruns = n - 1
	pt.notify()
	pt.ExpirationPending = pt.Interval > 0
}

// notify sends the timer's signal. That of a periodic timer, if it is ignored now, is sent
// when it no longer is (Unignored).
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

// dequeued is called when s, the timer's signal, is taken out of its queue.
func (pt *PosixTimer) dequeued(s *SigInfo) {
	pt.last, pt.overruns, pt.queued = pt.overruns+pt.Rearm(pt.Process.Kernel), 0, false
	linux.PutUint32(s.Fields[4:], pt.Overrun())
}

// Overrun is the result of timer_getoverrun(2).
func (pt *PosixTimer) Overrun() uint32 { return uint32(min(pt.last, 1<<31-1)) }

// Stop disarms the timer and takes its signal out of the queue.
func (pt *PosixTimer) Stop() {
	pt.Process.Kernel.Disarm(&pt.Timer)
	ours := func(s *SigInfo) bool { return s.Timer == pt }
	pt.Process.Pending.remove(ours)
	for _, t := range pt.Process.Threads {
		t.Pending.remove(ours)
	}
	pt.queued, pt.overruns, pt.last = false, 0, 0
}

// Unignored is called when sig is no longer ignored: timers that would have sent it meanwhile send it now.
func (p *Process) Unignored(sig int) {
	for _, id := range slices.Sorted(maps.Keys(p.Posix)) {
		if pt := p.Posix[id]; int(pt.Info.Signo) == sig && pt.ExpirationPending && !pt.queued {
			pt.notify()
		}
	}
}

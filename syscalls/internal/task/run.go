package task

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/host"
)

// maxIdleRounds is how often in a row timers may fire without making a thread ready. A program that waits like that
// waits for ever, and virtual time would run on without end.
const maxIdleRounds = 100_000

// Run runs the program until it ends or ctx is done. However that comes about, it is an Exit; an error is a failure of
// cgemu's own.
func (k *Kernel) Run(ctx context.Context) (Exit, error) {
	onOwnThread(func() { k.run(ctx) })
	return *k.Exit, nil
}

// ownThreads hands work to the idle ones of the goroutines that onOwnThread has started.
var ownThreads = make(chan func())

// onOwnThread calls f on an operating system thread that nothing else uses and that has its own umask: files are made
// with the guest's umask, and two runs in one program must not share it. Threads are kept for later calls. If f panics,
// or ends its goroutine, as functions of a Config may that belong to a test, so does onOwnThread.
func onOwnThread(f func()) {
	done := make(chan struct{})
	returned, panicked := false, any(nil)
	work := func() {
		defer func() {
			if panicked = recover(); panicked != nil {
				panicked = fmt.Sprintf("%v\n\n%s", panicked, debug.Stack())
			}
			close(done)
		}()
		f()
		returned = true
	}
	select {
	case ownThreads <- work:
	default:
		go func() {
			runtime.LockOSThread()
			host.OwnUmask()
			for {
				work()
				work = <-ownThreads
			}
		}()
	}
	<-done
	switch {
	case panicked != nil:
		panic(panicked)
	case !returned:
		runtime.Goexit()
	}
}

// run runs the program until there is an Exit.
func (k *Kernel) run(ctx context.Context) {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		k.Canceled.Store(true)
		k.running.interrupt()
	})
	defer func() {
		if !stop() {
			<-done // it uses the engine, which Close frees
		}
	}()
	defer k.progress.start(k)()
	for k.Exit == nil {
		k.CloseUnused()
		if k.Canceled.Load() {
			k.Exit = &Exit{Interrupted: true}
			break
		}
		k.FireTimers()
		k.FS.SignalAsync(k)
		k.wakeWaiting()
		if len(k.ready) == 0 {
			k.idle()
			continue
		}
		k.idleRounds = 0
		i := k.Scheduler.pick(len(k.ready))
		t := k.ready[i]
		k.ready = slices.Delete(k.ready, i, i+1)
		if t.Dead {
			continue
		}
		k.Current = t
		if k.runThread(t) {
			k.ready = append(k.ready, t)
		}
		k.Current = nil
	}
	k.reportRemaining()
}

// idle is called when no thread can run. It lets time pass, or ends the run.
func (k *Kernel) idle() {
	k.activity++
	if k.First.Exited {
		// The others go on as long as they do something or will soon.
		if !k.idleAfterFirst() {
			k.Exit = &k.First.Status
		}
		return
	}
	if k.idleRounds++; k.idleRounds > maxIdleRounds || !k.waitForEvent() {
		k.deadlock()
	}
}

// How much later than the first process the others may still be woken, in nanoseconds: by the virtual clock, and by the
// host's.
const (
	maxSurvivalVirtual = 3600e9
	maxSurvivalReal    = 10e9
)

// idleAfterFirst lets time pass for processes that outlive the first one. It reports false if none is left that waits
// for a time, or if the next such time is too far away.
func (k *Kernel) idleAfterFirst() bool {
	deadline := k.nextTimer()
	for _, t := range k.Waiting {
		deadline = min(deadline, t.Call.Wait.Deadline)
	}
	limit := int64(maxSurvivalVirtual)
	if k.Clock.Real {
		limit = maxSurvivalReal
	}
	if deadline == Never || deadline-k.firstEndedAt > limit {
		return false
	}
	if k.Clock.Real {
		return k.waitForEvent()
	}
	k.Clock.advance(deadline - k.Now())
	return true
}

// reportRemaining is called when the run is over. It says how the processes ended that are left, and gives their counts
// to Config.OnEnd.
func (k *Kernel) reportRemaining() {
	if k.Config.OnEnd == nil {
		return
	}
	for _, p := range k.Processes {
		if p.Exited {
			continue
		}
		p.Status = *k.Exit
		if k.First.Exited {
			p.Status = Exit{Abandoned: true}
		}
	}
	for _, p := range k.Processes {
		if !p.Exited {
			k.report(p.Machine)
		}
	}
	k.CloseUnused()
}

// runThread runs t until it blocks, ends, or has to let others run. It reports whether t can go on later.
func (k *Kernel) runThread(t *Thread) bool {
	t.Calls = 0
	k.Scheduler.newTurn()
	if t.Call.Wait != nil {
		// The thread was woken: its call goes on.
		t.Call.Resumed, t.Call.resumedAt = true, k.activity
		before := t.Call.Done + t.Call.Messages
		t.resumeCall()
		if t.Call.Done+t.Call.Messages != before {
			k.activity++ // the call did some of its work: others may have waited for that
		}
	}
	for {
		if t.blocked() {
			t.callsSinceWait, t.givenUp = 0, 0
			k.Waiting = append(k.Waiting, t)
			return false
		}
		k.FS.SignalAsync(k)
		t.ReturnToUser()
		if t.Dead {
			return false
		}
		if t.Process.Stopped {
			t.Process.runnable = append(t.Process.runnable, t)
			return false
		}
		budget, over := k.turnLeft(t)
		if k.Canceled.Load() || over {
			return true
		}
		left := k.insnsLeft()
		if left == 0 {
			k.Exit = &Exit{Limit: true}
			return false
		}
		if left < emu.NoBudget {
			// Engines test a budget at backward jumps and calls only, and so overrun it. Small steps come close to
			// the limit.
			left = left/64 + 1
		}
		t.Process.Machine.charge(t.Process)
		t.chargeThread()
		k.running.set(t.Process.Engine)
		if k.Canceled.Load() {
			return true // the interrupt may have met the engine that ran before
		}
		stop := t.execute(min(budget, left))
		k.Scheduler.noteBudgetLeft(t, stop.Left)
		switch stop.Reason {
		case emu.StopSyscall:
			t.Calls++
			t.callsSinceWait++
			t.syscall()
		case emu.StopFault:
			t.Fault(*stop.Fault)
		case emu.StopClient:
			t.ClientRequest()
		case emu.StopBudget:
			k.FireTimers()
			if k.contended() {
				t.callsSinceWait = minCallsSinceWait
				return true
			}
		case emu.StopInterrupt:
			// The loop looks at Canceled before it runs anything.
		default:
			panic(fmt.Sprintf("BUG: engine stopped for reason %d", stop.Reason))
		}
	}
}

// execute runs t's code until the engine stops for a reason of the guest's. An interrupt that only asks for a progress
// report leaves the run as it would be without it: the rest of the budget is used up afterwards.
func (t *Thread) execute(budget uint64) emu.Stop {
	t.Kernel.activity++
	for {
		t.Kernel.progress.report(t.Kernel) // it may have become due while no engine ran
		t.Kernel.Spaces.Sync()
		stop := t.Process.Machine.run(t.CPU, budget)
		t.Kernel.Spaces.Sync()
		if stop.Reason != emu.StopInterrupt || t.Kernel.Canceled.Load() {
			return stop
		}
		budget = uint64(stop.Left)
	}
}

// contended reports whether another thread could run or might become able to.
func (k *Kernel) contended() bool {
	return len(k.ready) > 0 || len(k.Waiting) > 0
}

// turnLeft is how many instructions t may still execute in this turn, and whether the turn is over.
func (k *Kernel) turnLeft(t *Thread) (budget uint64, over bool) {
	budget = k.budget()
	woke := t.wokeOther
	t.wokeOther = false
	if woke && len(k.ready) > 0 && t.givesUp() {
		return 0, true
	}
	if t.Calls < k.Scheduler.calls || !k.contended() {
		return budget, false
	}
	return min(budget, k.Scheduler.tail), budget == emu.NoBudget || k.Scheduler.tail == 0
}

// budget is how many instructions the current thread may execute before timers and waiting threads have to be looked
// at. There is no limit if nothing can happen but what the thread does itself.
func (k *Kernel) budget() uint64 {
	if len(k.Timers) == 0 && len(k.ready) == 0 && !k.FS.HasAsync() && !slices.ContainsFunc(k.Waiting, (*Thread).needsPolling) {
		return emu.NoBudget
	}
	q := k.Scheduler.insns
	if d := k.nextTimer(); d != Never && !k.Clock.Real {
		q = min(q, uint64(max(d-k.Now(), 1)))
	}
	return q
}

// insnsLeft is how many instructions the run may still execute (Config.MaxInsns).
func (k *Kernel) insnsLeft() uint64 {
	if k.Config.MaxInsns == 0 {
		return emu.NoBudget
	}
	return k.Config.MaxInsns - min(k.Config.MaxInsns, uint64(k.Executed()))
}

// hostWaits appends to fds the host's files that waiting threads wait for.
func (k *Kernel) hostWaits(fds []host.PollFD) []host.PollFD {
	for _, t := range k.Waiting {
		if w := t.Call.Wait; w.Hosts != nil {
			fds = w.Hosts(fds)
		}
	}
	return k.FS.AsyncFDs(fds)
}

// anyReady reports whether a wait for a file of the host is over.
func (k *Kernel) anyReady() bool {
	return k.FS.AsyncReady() || slices.ContainsFunc(k.Waiting, func(t *Thread) bool { w := t.Call.Wait; return w.Hosts != nil && w.Ready() })
}

// waitForEvent lets time pass until something can happen: virtual time at once, or real time if the host's files are
// waited for. It reports false if nothing will ever happen.
func (k *Kernel) waitForEvent() bool {
	deadline := k.nextTimer()
	for _, t := range k.Waiting {
		deadline = min(deadline, t.Call.Wait.Deadline)
	}
	fds := k.hostWaits(nil)
	if len(fds) == 0 && deadline == Never {
		return false
	}
	if len(fds) == 0 && !k.Clock.Real {
		k.Clock.advance(deadline - k.Now())
		return true
	}
	// The host decides when: real time passes, in slices, so that the end of the context is seen.
	const slice = 50_000_000
	left := int64(Never)
	if deadline != Never {
		left = deadline - k.Now()
	}
	for left > 0 && !k.Canceled.Load() {
		k.idleRounds = 0 // that is for virtual time: real time passes by itself
		d := min(left, slice)
		if k.Network.Wait(fds, d) || k.anyReady() {
			return true
		}
		fds = k.hostWaits(fds[:0])
		if left != Never {
			left -= d
		}
	}
	if !k.Canceled.Load() && !k.Clock.Real {
		k.Clock.advance(deadline - k.Now())
	}
	return true
}

package syscalls

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// never is a deadline that does not come.
const never = math.MaxInt64

// maxIdle is how often timers may go off without waking anybody: a program
// that waits like that waits forever, and virtual time would run away.
const maxIdle = 100_000

// A wakeReason says why a blocked call goes on.
type wakeReason uint8

const (
	wokenReady   wakeReason = iota // what it waited for is there
	wokenTimeout                   // its deadline passed
)

// A wait is what a blocked thread waits for.
type wait struct {
	// ready reports whether the call can go on; nil if another thread will call Kernel.wake.
	ready func() bool
	// deadline ends the wait, in Kernel.now's time; 0 means never.
	deadline int64
	// hosts appends to fds the files whose state only the host knows, with the events that end the wait.
	hosts func(fds []hostPoll) []hostPoll
	// interrupted is what a signal makes of the call: 0 for ERESTARTSYS.
	interrupted linux.Errno
	// partial, if not 0, is the result of an interrupted call that had done something.
	partial uint64
	// cancel is called when something else than ready or wake ends the wait.
	cancel func(timeout bool)
	// children says that the end of a child ends the wait.
	children bool
	// signals are those that the call takes itself.
	signals sigSet
	// unbreakable says that signals do not end it.
	unbreakable bool
	// on is what it waits for, if there are others who count or follow those that do: locks, semaphores, queues.
	on any
}

// block parks t. The handler returns what block returns. When the wait is over, the call goes on with resume, which
// has all that the handler had found out before: descriptors are not looked up and arguments not read a second time.
func (t *Thread) block(w wait, resume func() (uint64, linux.Errno)) (uint64, linux.Errno) {
	if w.deadline == 0 {
		w.deadline = never
	}
	if w.interrupted == 0 {
		w.interrupted = linux.ERESTARTSYS
	}
	t.call.wait, t.call.resume = &w, resume
	return 0, eBlocked
}

// then ends a call, or a part of one, that gave ret and e. If it waits instead, end gets what it gives when it goes on.
func (t *Thread) then(ret uint64, e linux.Errno, end func(uint64, linux.Errno) (uint64, linux.Errno)) (uint64, linux.Errno) {
	if e != eBlocked {
		return end(ret, e)
	}
	resume := t.call.resume
	t.call.resume = func() (uint64, linux.Errno) {
		ret, e := resume()
		return t.then(ret, e, end)
	}
	return ret, e
}

// timedOut reports whether the call goes on because its deadline passed.
func (t *Thread) timedOut() bool { return t.call.again && t.call.woken == wokenTimeout }

// Run runs the program to its end, or until ctx is done. The error is for
// failures of ours; however the program ends, it ends with an Exit.
func (k *Kernel) Run(ctx context.Context) (Exit, error) {
	onOwnThread(func() { k.run(ctx) })
	return *k.exit, nil
}

// ownThreads takes work for goroutines that wait for some, each on a thread with an umask of its own.
var ownThreads = make(chan func())

// onOwnThread calls f on a thread that nothing else runs on, and whose umask is no other's. Such threads stay for others.
func onOwnThread(f func()) {
	done := make(chan struct{})
	work := func() {
		defer close(done)
		f()
	}
	select {
	case ownThreads <- work:
	default:
		go func() {
			runtime.LockOSThread()
			ownUmask()
			for {
				work()
				work = <-ownThreads
			}
		}()
	}
	<-done
}

// run runs the program until there is an Exit.
func (k *Kernel) run(ctx context.Context) {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		k.interrupted.Store(true)
		k.running.interrupt()
	})
	defer func() {
		if !stop() {
			<-done // it uses the engine, which Close frees
		}
	}()
	defer k.progress.start(k)()
	for k.exit == nil {
		k.bury()
		if k.interrupted.Load() {
			k.exit = &Exit{Interrupted: true}
			break
		}
		k.fireTimers()
		k.fs.lookOutside(k)
		k.wakeWaiting()
		if len(k.ready) == 0 {
			k.rest()
			continue
		}
		k.idleRounds = 0
		i := k.sched.pick(len(k.ready))
		t := k.ready[i]
		k.ready = slices.Delete(k.ready, i, i+1)
		if t.dead {
			continue
		}
		k.current = t
		if k.runThread(t) {
			k.ready = append(k.ready, t)
		}
		k.current = nil
	}
	k.abandon()
}

// rest is called when no thread can run: it lets time pass, or ends the run.
func (k *Kernel) rest() {
	k.steps++
	if k.first.exited {
		// The others go on as long as they do something.
		if !k.linger() {
			k.exit = &k.first.status
		}
		return
	}
	if k.idleRounds++; k.idleRounds > maxIdle || !k.idle() {
		k.deadlock()
	}
}

// How long processes may sleep that outlive the first one, in nanoseconds: by the virtual clock, and in earnest.
const (
	lingerVirtual = 3600e9
	lingerReal    = 10e9
)

// linger lets time pass for processes that outlive the first one. It reports false if none is left that
// waits for time to pass.
func (k *Kernel) linger() bool {
	deadline := k.nextTimer()
	for _, t := range k.waiting {
		deadline = min(deadline, t.call.wait.deadline)
	}
	limit := int64(lingerVirtual)
	if k.clock.real {
		limit = lingerReal
	}
	if deadline == never || deadline-k.firstEnd > limit {
		return false
	}
	if k.clock.real {
		return k.idle()
	}
	k.clock.advance(deadline - k.now())
	return true
}

// abandon gives away what the processes counted that are left when the run is over.
func (k *Kernel) abandon() {
	if k.cfg.OnEnd == nil {
		return
	}
	for _, p := range k.procs {
		if p.exited {
			continue
		}
		p.status = *k.exit
		if k.first.exited {
			p.status = Exit{Abandoned: true}
		}
	}
	for _, p := range k.procs {
		if !p.exited {
			k.report(p.machine)
		}
	}
	k.bury()
}

// runThread runs t until it blocks, ends, or must let others run. It reports
// whether t can go on.
func (k *Kernel) runThread(t *Thread) bool {
	t.calls = 0
	k.sched.turn()
	if t.call.wait != nil {
		// It was woken: the call goes on.
		t.call.again, t.call.step = true, k.steps
		before := t.call.done + t.call.messages
		t.goOn()
		if t.call.done+t.call.messages != before {
			k.steps++ // it did some of its work: others may have waited for that
		}
	}
	for {
		if t.blocked() {
			t.busy = 0
			k.waiting = append(k.waiting, t)
			return false
		}
		k.fs.lookOutside(k)
		t.returnToUser()
		if t.dead {
			return false
		}
		if t.p.stopped {
			t.p.parked = append(t.p.parked, t)
			return false
		}
		budget, over := k.turnLeft(t)
		if k.interrupted.Load() || over {
			return true
		}
		left := k.insnsLeft()
		if left == 0 {
			k.exit = &Exit{Limit: true}
			return false
		}
		if left < emu.NoBudget {
			// A budget lasts longer than its number says, by the instructions in
			// front of forward jumps: small ones come close to the limit.
			left = left/64 + 1
		}
		t.p.machine.charge(t.p)
		t.clockIn()
		k.running.set(t.p.engine)
		if k.interrupted.Load() {
			return true // it may have been meant for an engine that ran before
		}
		stop := t.execute(min(budget, left))
		k.sched.ran(t, stop.Left)
		switch stop.Reason {
		case emu.StopSyscall:
			t.calls++
			t.busy++
			t.syscall()
		case emu.StopFault:
			t.fault(stop.Fault)
		case emu.StopClient:
			t.clientRequest()
		case emu.StopBudget:
			k.fireTimers()
			if k.contended() {
				t.busy = minBusy
				return true
			}
		case emu.StopInterrupt:
			// Seen at the top.
		default:
			panic(fmt.Sprintf("BUG: engine stopped for reason %d", stop.Reason))
		}
	}
}

// execute runs t's code. Interrupts that are not to end the run, those for progress and what is left of a run
// that has ended, leave it as it would be without them.
func (t *Thread) execute(budget uint64) emu.Stop {
	t.k.steps++
	for {
		stop := t.p.engine.Run(t.cpu, budget)
		if stop.Reason != emu.StopInterrupt || t.k.interrupted.Load() {
			return stop
		}
		t.k.progress.tell(t.k)
		budget = uint64(stop.Left)
	}
}

// blocked reports whether t waits for something.
func (t *Thread) blocked() bool { return t.call.wait != nil && !t.dead }

// contended reports whether another thread wants to run or might.
func (k *Kernel) contended() bool {
	return len(k.ready) > 0 || len(k.waiting) > 0
}

// turnLeft is how far t may run, and whether its turn is over.
func (k *Kernel) turnLeft(t *Thread) (budget uint64, over bool) {
	budget = k.budget()
	woke := t.woke
	if t.woke = false; woke && t.busy >= minBusy && len(k.ready) > 0 {
		return 0, true
	}
	if t.calls < k.sched.calls || !k.contended() {
		return budget, false
	}
	return min(budget, k.sched.rest), budget == emu.NoBudget || k.sched.rest == 0
}

// budget is how far the current thread may run: without limit if nothing can
// happen but by its own doing.
func (k *Kernel) budget() uint64 {
	if len(k.timers) == 0 && len(k.ready) == 0 && !k.fs.watches() && !slices.ContainsFunc(k.waiting, (*Thread).waitsActively) {
		return emu.NoBudget
	}
	q := k.sched.insns
	if d := k.nextTimer(); d != never && !k.clock.real {
		q = min(q, uint64(max(d-k.now(), 1)))
	}
	return q
}

// insnsLeft is how many instructions may still be executed.
func (k *Kernel) insnsLeft() uint64 {
	if k.cfg.MaxInsns == 0 {
		return emu.NoBudget
	}
	return k.cfg.MaxInsns - min(k.cfg.MaxInsns, uint64(k.executed()))
}

// waitsActively reports whether t can be woken by something else than a call of Kernel.wake.
func (t *Thread) waitsActively() bool {
	w := t.call.wait
	return w.ready != nil || w.deadline != never
}

// wakeWaiting makes ready, in the order of blocking, threads whose wait is over. A call that went on and waits
// again, though what it waits for seems to be there (a pipe with room, but not for all), does not go on once more
// before anything has happened.
func (k *Kernel) wakeWaiting() {
	if len(k.waiting) == 0 {
		return
	}
	now := int64(0) // what all engines have executed is costly to sum up
	if slices.ContainsFunc(k.waiting, func(t *Thread) bool { return t.call.wait.deadline != never }) {
		now = k.now()
	}
	for _, t := range slices.Clone(k.waiting) {
		w := t.call.wait
		switch {
		case w.ready != nil && !(t.call.again && t.call.step == k.steps) && w.ready():
			k.wake(t, wokenReady)
		case w.deadline <= now:
			if w.cancel != nil {
				w.cancel(true)
			}
			k.wake(t, wokenTimeout)
		}
	}
}

// wake makes a waiting thread ready to go on with its call.
func (k *Kernel) wake(t *Thread, why wakeReason) {
	if !k.unwait(t) {
		return
	}
	t.call.woken = why
	k.ready = append(k.ready, t)
}

// unwait takes t off the list of waiting threads.
func (k *Kernel) unwait(t *Thread) bool {
	i := slices.Index(k.waiting, t)
	if i < 0 {
		return false
	}
	k.waiting = slices.Delete(k.waiting, i, i+1)
	return true
}

// interrupt ends t's wait because a signal came.
func (k *Kernel) interrupt(t *Thread) {
	w := t.call.wait
	if w != nil && (t.pending.set|t.p.pending.set)&w.signals != 0 {
		k.wake(t, wokenReady)
		return
	}
	if w != nil && w.unbreakable || !k.unwait(t) {
		return
	}
	if w.cancel != nil {
		w.cancel(false)
	}
	t.finishInterrupted(w)
	k.ready = append(k.ready, t)
}

// hostWaits appends what is waited for on the host to fds.
func (k *Kernel) hostWaits(fds []hostPoll) []hostPoll {
	for _, t := range k.waiting {
		if w := t.call.wait; w.hosts != nil {
			fds = w.hosts(fds)
		}
	}
	return k.fs.hostAsync(fds)
}

// anyReady reports whether what a thread waits for on the host is there.
func (k *Kernel) anyReady() bool {
	return k.fs.news() || slices.ContainsFunc(k.waiting, func(t *Thread) bool { w := t.call.wait; return w.hosts != nil && w.ready() })
}

// idle passes the time until something can happen. It reports false if nothing ever will.
func (k *Kernel) idle() bool {
	deadline := k.nextTimer()
	for _, t := range k.waiting {
		deadline = min(deadline, t.call.wait.deadline)
	}
	fds := k.hostWaits(nil)
	if len(fds) == 0 && deadline == never {
		return false
	}
	if len(fds) == 0 && !k.clock.real {
		k.clock.advance(deadline - k.now())
		return true
	}
	// The host decides: real time passes, in slices so that the context is seen.
	const slice = 50_000_000
	left := int64(never)
	if deadline != never {
		left = deadline - k.now()
	}
	for left > 0 && !k.interrupted.Load() {
		k.idleRounds = 0 // real time passes by itself
		d := min(left, slice)
		if hostPollWait(fds, d) || k.anyReady() {
			return true
		}
		fds = k.hostWaits(fds[:0])
		if left != never {
			left -= d
		}
	}
	if !k.interrupted.Load() && !k.clock.real {
		k.clock.advance(deadline - k.now())
	}
	return true
}

// A callTracer is told of what happens at the border of the kernel.
type callTracer interface {
	enter(t *Thread)
	leave(t *Thread, ret uint64, e linux.Errno)
	signal(t *Thread, s *sigInfo)
	exited(p *Process)
}

// syscall performs the system call that stopped the engine.
func (t *Thread) syscall() {
	r := &t.cpu.Regs
	t.call = call{
		nr:   r[emu.RAX],
		args: Args{r[emu.RDI], r[emu.RSI], r[emu.RDX], r[emu.R10], r[emu.R8], r[emu.R9]},
	}
	t.dispatch()
}

// dispatch calls the handler of t's call.
func (t *Thread) dispatch() {
	k, nr := t.k, t.call.nr
	t.spend(price(nr))
	ent := k.entry(nr)
	if k.trace != nil {
		k.trace.enter(t)
	}
	if ent.level == Missing {
		k.reportMissing(nr)
	}
	t.conclude(ent.handler(t, t.call.args))
}

// goOn continues t's call, whose wait is over.
func (t *Thread) goOn() {
	resume := t.call.resume
	t.call.wait, t.call.resume = nil, nil
	t.conclude(resume())
}

// conclude ends t's call with what it returned, if it does not wait.
func (t *Thread) conclude(ret uint64, e linux.Errno) {
	if e == eBlocked {
		if !t.call.wait.unbreakable && t.hasSignal() {
			// A signal was pending before: the call is over before it waits.
			w := t.call.wait
			if w.cancel != nil {
				w.cancel(false)
			}
			t.finishInterrupted(w)
		}
		return
	}
	t.k.noteLacking(t.call.nr, t.k.entry(t.call.nr).level, e)
	t.finish(ret, e)
}

// finishInterrupted ends a call that waited and may wait no longer.
func (t *Thread) finishInterrupted(w *wait) {
	t.call.wait, t.call.resume = nil, nil
	if w.partial > 0 {
		t.finish(w.partial, 0)
		return
	}
	t.finish(0, w.interrupted)
}

// finish sets the result of t's call, and is the only place that encodes results.
func (t *Thread) finish(ret uint64, e linux.Errno) {
	t.files.endCall(t.k)
	if t.k.trace != nil {
		t.k.trace.leave(t, ret, e)
	}
	if e == eNoReturn {
		return
	}
	if e != 0 {
		ret = e.Result()
	}
	t.cpu.Regs[emu.RAX] = ret
	t.call.done = 0
	t.inCall = true
}

// maxReported is how many unsupported calls are named: a program may try all numbers there are.
const maxReported = 100

// reportMissing names an unsupported call, once.
func (k *Kernel) reportMissing(nr uint64) {
	switch {
	case k.reported[nr] || len(k.reported) > maxReported:
		return
	case len(k.reported) == maxReported:
		k.logf("more than %d system calls are not supported; further ones are not named", maxReported)
		k.reported[nr] = true
		return
	}
	k.reported[nr] = true
	k.logf("system call %d (%s) is not supported; the program gets ENOSYS", nr, k.callName(nr))
}

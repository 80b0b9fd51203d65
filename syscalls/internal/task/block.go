package task

import (
	"math"
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// Never is a deadline that does not come.
const Never = math.MaxInt64

// A wakeReason says why a blocked call goes on.
type wakeReason uint8

const (
	wokenReady   wakeReason = iota // what it waited for is there
	wokenTimeout                   // its deadline passed
)

// A Wait says what a blocked thread waits for, and what ends the wait: Ready, Deadline, a signal, or Kernel.wake.
type Wait struct {
	// Ready reports whether the call can go on; nil if another thread will call Kernel.wake. It is asked between turns.
	Ready func() bool
	// Deadline ends the wait, on Now's clock. 0 means Never.
	Deadline int64
	// Hosts appends to fds the host's files whose state Ready depends on, with the events that make it true. Without
	// it, only what guests do and the virtual clock can end the wait.
	Hosts func(fds []host.PollFD) []host.PollFD
	// OnSignal is the result of a call that a signal interrupts: 0 means ERESTARTSYS.
	OnSignal linux.Errno
	// Partial, if not 0, is that result instead, since the call has done that much already.
	Partial uint64
	// Killable says that only a signal that kills ends the wait: the thread sleeps as vfork(2) does.
	Killable bool
	// cancel, if set, is called when a signal or the deadline ends the wait. It takes back what waiting had set up.
	cancel func(timeout bool)
	// children says that a change of a child's state ends the wait.
	children bool
	// signals are those that the call takes itself (sigwaitinfo(2)): they end the wait and interrupt nothing.
	signals SigSet
	// On is the object waited for, where somebody has to find or count its waiters: a semaphore set, a message queue.
	On any
}

// Block makes t wait, and returns what the handler has to return. When the wait is over, the call goes on with resume,
// not with its handler: what the handler had looked up or read before waiting (open files, arguments in memory) is not
// looked up again, as others may have changed it since.
func (t *Thread) Block(w Wait, resume func() (uint64, linux.Errno)) (uint64, linux.Errno) {
	if w.Deadline == 0 {
		w.Deadline = Never
	}
	if w.OnSignal == 0 {
		w.OnSignal = linux.ERESTARTSYS
	}
	t.Call.Wait, t.Call.Resume = &w, resume
	return 0, EBlocked
}

// Then calls end with the result of a call or of a part of one: at once, or, if that part has blocked, when it is over.
func (t *Thread) Then(ret uint64, e linux.Errno, end func(uint64, linux.Errno) (uint64, linux.Errno)) (uint64, linux.Errno) {
	if e != EBlocked {
		return end(ret, e)
	}
	resume := t.Call.Resume
	t.Call.Resume = func() (uint64, linux.Errno) {
		ret, e := resume()
		return t.Then(ret, e, end)
	}
	return ret, e
}

// TimedOut reports whether the call goes on because its deadline has passed.
func (t *Thread) TimedOut() bool { return t.Call.Resumed && t.Call.woken == wokenTimeout }

// ReportTimeLeft ends a call with ret and e, and writes to at how much of its timeout is left, as select(2) does: when
// the call is over, or a signal interrupts it. If at cannot be written, nothing happens, as the timeout may be
// constant.
func (t *Thread) ReportTimeLeft(ret uint64, e linux.Errno, at emu.Addr, encode func(int64) []byte) (uint64, linux.Errno) {
	if at == 0 {
		return ret, e
	}
	left := func() { t.CopyOut(at, encode(max(t.Call.Deadline-t.Kernel.Now(), 0))) }
	if e == EBlocked {
		t.Call.Wait.cancel = func(timeout bool) {
			if !timeout {
				left()
			}
		}
		resume := t.Call.Resume
		t.Call.Resume = func() (uint64, linux.Errno) {
			ret, e := resume()
			return t.ReportTimeLeft(ret, e, at, encode)
		}
		return ret, e
	}
	left()
	return ret, e
}

// blocked reports whether t is in a call that waits.
func (t *Thread) blocked() bool { return t.Call.Wait != nil && !t.Dead }

// needsPolling reports whether something else than Kernel.wake can end t's wait: its condition or its deadline.
func (t *Thread) needsPolling() bool {
	w := t.Call.Wait
	return w.Ready != nil || w.Deadline != Never
}

// isReady reports whether what t waits for is there. A call that went on and waits again, although its condition seems
// true (a pipe has room, but not for all), is not tried again until something has happened (Kernel.activity): else time
// would never pass.
func (t *Thread) isReady(w *Wait) bool {
	return w.Ready != nil && !(t.Call.Resumed && t.Call.resumedAt == t.Kernel.activity) && w.Ready()
}

// wakeWaiting makes those threads ready whose wait is over, in order of blocking.
func (k *Kernel) wakeWaiting() {
	if len(k.Waiting) == 0 {
		return
	}
	now := int64(0) // only read if needed: to sum up what all engines have executed is costly
	if slices.ContainsFunc(k.Waiting, func(t *Thread) bool { return t.Call.Wait.Deadline != Never }) {
		now = k.Now()
	}
	for _, t := range slices.Clone(k.Waiting) {
		w := t.Call.Wait
		switch {
		case t.isReady(w):
			k.wake(t, wokenReady)
		case w.Deadline <= now:
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
	t.Call.woken = why
	k.ready = append(k.ready, t)
}

// unwait takes t out of Waiting, and reports whether it was there.
func (k *Kernel) unwait(t *Thread) bool {
	i := slices.Index(k.Waiting, t)
	if i < 0 {
		return false
	}
	k.Waiting = slices.Delete(k.Waiting, i, i+1)
	return true
}

// interrupt ends t's wait because a signal has come that t takes. What t waits for goes first if it is there already:
// Linux looks at that before it looks for signals (wait_event_interruptible, pipe_read, do_poll in its sources).
func (k *Kernel) interrupt(t *Thread) {
	w := t.Call.Wait
	if w != nil && ((t.Pending.Set|t.Process.Pending.Set)&w.signals != 0 || t.isReady(w)) {
		k.wake(t, wokenReady)
		return
	}
	if w != nil && w.Killable && !t.isKilled() || !k.unwait(t) {
		return
	}
	if w.cancel != nil {
		w.cancel(false)
	}
	t.finishInterrupted(w)
	k.ready = append(k.ready, t)
}

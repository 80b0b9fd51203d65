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

// A Wait is what a blocked thread waits for.
type Wait struct {
	// Ready reports whether the call can go on; nil if another thread will call Kernel.wake.
	Ready func() bool
	// Deadline ends the wait, in Kernel.Now's time; 0 means never.
	Deadline int64
	// Hosts appends to fds the files whose state only the host knows, with the events that end the wait.
	Hosts func(fds []host.PollFD) []host.PollFD
	// Interrupted is what a signal makes of the call: 0 for ERESTARTSYS.
	Interrupted linux.Errno
	// Partial, if not 0, is the result of an interrupted call that had done something.
	Partial uint64
	// cancel is called when something else than ready or wake ends the wait.
	cancel func(timeout bool)
	// children says that the end of a child ends the wait.
	children bool
	// signals are those that the call takes itself.
	signals SigSet
	// Unbreakable says that signals do not end it.
	Unbreakable bool
	// On is what it waits for, if there are others who count or follow those that do: locks, semaphores, queues.
	On any
}

// Block parks t. The handler returns what block returns. When the wait is over, the call goes on with resume, which
// has all that the handler had found out before: descriptors are not looked up and arguments not read a second time.
func (t *Thread) Block(w Wait, resume func() (uint64, linux.Errno)) (uint64, linux.Errno) {
	if w.Deadline == 0 {
		w.Deadline = Never
	}
	if w.Interrupted == 0 {
		w.Interrupted = linux.ERESTARTSYS
	}
	t.Call.Wait, t.Call.Resume = &w, resume
	return 0, EBlocked
}

// Then ends a call, or a part of one, that gave ret and e. If it waits instead, end gets what it gives when it goes on.
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

// TimedOut reports whether the call goes on because its deadline passed.
func (t *Thread) TimedOut() bool { return t.Call.Resumed && t.Call.woken == wokenTimeout }

// ReportTimeLeft ends a call that gave ret and e by telling how much of its timeout at is left, when it is over or a signal
// interrupts it. The timeout need not be writable.
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

// blocked reports whether t waits for something.
func (t *Thread) blocked() bool { return t.Call.Wait != nil && !t.Dead }

// needsPolling reports whether t can be woken by something else than a call of Kernel.wake.
func (t *Thread) needsPolling() bool {
	w := t.Call.Wait
	return w.Ready != nil || w.Deadline != Never
}

// wakeWaiting makes ready, in the order of blocking, threads whose wait is over. A call that went on and waits
// again, though what it waits for seems to be there (a pipe with room, but not for all), does not go on once more
// before anything has happened.
func (k *Kernel) wakeWaiting() {
	if len(k.Waiting) == 0 {
		return
	}
	now := int64(0) // what all engines have executed is costly to sum up
	if slices.ContainsFunc(k.Waiting, func(t *Thread) bool { return t.Call.Wait.Deadline != Never }) {
		now = k.Now()
	}
	for _, t := range slices.Clone(k.Waiting) {
		w := t.Call.Wait
		switch {
		case w.Ready != nil && !(t.Call.Resumed && t.Call.resumedAt == k.activity) && w.Ready():
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

// unwait takes t off the list of waiting threads.
func (k *Kernel) unwait(t *Thread) bool {
	i := slices.Index(k.Waiting, t)
	if i < 0 {
		return false
	}
	k.Waiting = slices.Delete(k.Waiting, i, i+1)
	return true
}

// interrupt ends t's wait because a signal came.
func (k *Kernel) interrupt(t *Thread) {
	w := t.Call.Wait
	if w != nil && (t.Pending.Set|t.Process.Pending.Set)&w.signals != 0 {
		k.wake(t, wokenReady)
		return
	}
	if w != nil && w.Unbreakable || !k.unwait(t) {
		return
	}
	if w.cancel != nil {
		w.cancel(false)
	}
	t.finishInterrupted(w)
	k.ready = append(k.ready, t)
}

package task

import (
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// piKey finds the key of the PI lock at a.
func (t *Thread) piKey(a emu.Addr, op int) (FutexKey, linux.Errno) {
	key, e := t.FutexKey(a, op)
	key.pi = true
	return key, e
}

// word is the key for the other operations on the word of a PI lock.
func (k FutexKey) word() FutexKey {
	k.pi = false
	return k
}

// FutexLockPI is FUTEX_LOCK_PI: it takes the lock at a, and waits for it if another thread holds it.
func (t *Thread) FutexLockPI(a emu.Addr, op int, timeout emu.Addr) (uint64, linux.Errno) {
	deadline, e := t.FutexDeadline(timeout, op)
	if e != 0 {
		return 0, e
	}
	key, e := t.piKey(a, op)
	if e != 0 {
		return 0, e
	}
	if e := t.takeLock(a, key); e != linux.EAGAIN {
		return 0, e
	}
	if t.wouldDeadlock(a) {
		return 0, linux.EDEADLK
	}
	t.lockAddr, t.FutexBits = a, linux.FUTEX_BITSET_MATCH_ANY
	ret, e := t.FutexBlock(Wait{Deadline: deadline, OnSignal: linux.ERESTARTNOINTR}, key)
	if e == EBlocked {
		t.noteOwner(a, key)
	}
	return ret, e
}

// noteOwner notes who holds the lock at a, for which threads wait: it is passed on if the owner ends.
func (t *Thread) noteOwner(a emu.Addr, key FutexKey) {
	if x, e := t.In32(a); e == 0 {
		t.Kernel.owners[key] = t.Kernel.FindThread(-1, int(x&linux.FUTEX_TID_MASK))
	}
}

// takeLock takes the lock at a if it is free. If not, it sets the bit that makes the owner unlock it by a system call,
// and returns EAGAIN.
func (t *Thread) takeLock(a emu.Addr, key FutexKey) linux.Errno {
	x, e := t.In32(a)
	if e != 0 {
		return e
	}
	switch owner := x & linux.FUTEX_TID_MASK; {
	case owner == uint32(t.TID):
		return linux.EDEADLK
	case owner == 0:
		if len(t.Kernel.Futexes[key]) > 0 {
			t.Kernel.owners[key] = t
		}
		return t.Out32(a, x&linux.FUTEX_OWNER_DIED|uint32(t.TID)|t.Kernel.waitersBit(key))
	case t.Kernel.FindThread(-1, int(owner)) == nil && !Outside(int(owner)):
		return linux.ESRCH
	}
	if e := t.Out32(a, x|linux.FUTEX_WAITERS); e != 0 {
		return e
	}
	return linux.EAGAIN
}

// waitersBit is FUTEX_WAITERS if threads wait for the lock of key, else 0.
func (k *Kernel) waitersBit(key FutexKey) uint32 {
	if len(k.Futexes[key]) > 0 {
		return linux.FUTEX_WAITERS
	}
	return 0
}

// wouldDeadlock reports whether t, if it waited for the lock at a, would in the end wait for itself.
func (t *Thread) wouldDeadlock(a emu.Addr) bool {
	o := t
	for range 1 + len(t.Kernel.Waiting) {
		x, e := o.In32(a)
		if e != 0 {
			return false
		}
		if o = t.Kernel.FindThread(-1, int(x&linux.FUTEX_TID_MASK)); o == nil || o == t {
			return o == t
		}
		if !o.waitsForLock() {
			return false
		}
		a = o.lockAddr
	}
	return false // a circle of other threads, by words that are not locks of theirs
}

// waitsForLock reports whether t waits in FUTEX_LOCK_PI.
func (t *Thread) waitsForLock() bool {
	return len(t.futexKeys) == 1 && t.futexKeys[0].pi && slices.Contains(t.Kernel.Futexes[t.futexKeys[0]], t)
}

// FutexTrylockPI is FUTEX_TRYLOCK_PI: it takes the lock at a if it is free.
func (t *Thread) FutexTrylockPI(a emu.Addr, op int) (uint64, linux.Errno) {
	key, e := t.piKey(a, op)
	if e != 0 {
		return 0, e
	}
	return 0, t.takeLock(a, key)
}

// FutexUnlockPI is FUTEX_UNLOCK_PI: it passes t's lock at a to a waiter.
func (t *Thread) FutexUnlockPI(a emu.Addr, op int) (uint64, linux.Errno) {
	x, e := t.In32(a)
	if e != 0 {
		return 0, e
	}
	if x&linux.FUTEX_TID_MASK != uint32(t.TID) {
		return 0, linux.EPERM
	}
	key, e := t.piKey(a, op)
	if e != 0 {
		return 0, e
	}
	return 0, t.passLock(a, key, 0)
}

// passLock makes the first waiter the owner of the lock at a, or frees it if there is none. flags are set in the word.
func (t *Thread) passLock(a emu.Addr, key FutexKey, flags uint32) linux.Errno {
	k := t.Kernel
	q := k.Scheduler.wakeOrder(k.Futexes[key])
	if len(q) == 0 {
		return t.Out32(a, flags)
	}
	if e := t.Out32(a, uint32(q[0].TID)|linux.FUTEX_WAITERS|flags); e != 0 {
		return e
	}
	k.owners[key] = q[0]
	k.setFutexQueue(key, slices.Clone(q[1:]))
	k.wake(q[0], wokenReady)
	t.wokeOther = true
	return 0
}

// passLocks passes on the locks that a dying thread t held when others began to wait for them, whatever their words say
// now.
func (t *Thread) passLocks() {
	for _, w := range slices.Clone(t.Kernel.Waiting) {
		if w.waitsForLock() && t.Kernel.owners[w.futexKeys[0]] == t {
			_ = w.passLock(w.lockAddr, w.futexKeys[0], linux.FUTEX_OWNER_DIED) // it cannot fail: w has read the word
		}
	}
}

// FutexWaitRequeuePI is FUTEX_WAIT_REQUEUE_PI: t waits, as on a condition variable, until FutexRequeuePI gives it the
// lock at the second address.
func (t *Thread) FutexWaitRequeuePI(a uio.Args, op int) (uint64, linux.Errno) {
	deadline, e := t.FutexDeadline(a.Addr(3), op)
	if e != 0 {
		return 0, e
	}
	if a.Addr(0) == a.Addr(4) {
		return 0, linux.EINVAL
	}
	to, e := t.piKey(a.Addr(4), op)
	if e != 0 {
		return 0, e
	}
	key, e := t.FutexKey(a.Addr(0), op)
	if e == 0 {
		e = t.FutexCheck(a.Addr(0), a.U32(2))
	}
	if e == 0 && key == to.word() {
		e = linux.EINVAL
	}
	if e != 0 {
		return 0, e
	}
	t.FutexBits, t.FutexRequeueTo, t.lockAddr = linux.FUTEX_BITSET_MATCH_ANY, to, a.Addr(4)
	return t.FutexBlock(Wait{Deadline: deadline, OnSignal: linux.ERESTARTNOINTR}, key)
}

// FutexRequeuePI is FUTEX_CMP_REQUEUE_PI: it gives the lock to the first waiter if it is free, and makes the others
// wait for it.
func (t *Thread) FutexRequeuePI(a uio.Args, op int) (uint64, linux.Errno) {
	limit := a.Int(3)
	if a.Int(2) != 1 || limit < 0 || a.Addr(0) == a.Addr(4) {
		return 0, linux.EINVAL
	}
	key, e := t.FutexKey(a.Addr(0), op)
	if e != 0 {
		return 0, e
	}
	to, e := t.piKey(a.Addr(4), op)
	switch {
	case e != 0:
		return 0, e
	case key == to.word():
		return 0, linux.EINVAL
	}
	if e := t.FutexCheck(a.Addr(0), a.U32(5)); e != 0 {
		return 0, e
	}
	if _, e := t.In32(a.Addr(4)); e != 0 {
		return 0, e
	}
	k := t.Kernel
	q := k.Scheduler.wakeOrder(k.Futexes[key])
	if slices.ContainsFunc(q, func(w *Thread) bool { return w.FutexRequeueTo != to }) {
		return 0, linux.EINVAL
	}
	if len(q) == 0 {
		return 0, 0
	}
	k.setFutexQueue(key, q)
	got := uint64(0)
	switch e := q[0].takeLock(q[0].lockAddr, to); {
	case e == 0:
		got = 1
		k.setFutexQueue(key, slices.Clone(q[1:]))
		k.wake(q[0], wokenReady)
		if limit > 0 {
			x, _ := t.In32(a.Addr(4))
			e = t.Out32(a.Addr(4), x|linux.FUTEX_WAITERS)
		}
		if e != 0 {
			return 0, e
		}
	case e != linux.EAGAIN:
		return 0, e
	}
	// If the first waiter could not get the lock, it is moved, too.
	moved := min(len(k.Futexes[key]), limit+1-int(got))
	k.futexMove(key, to, moved)
	if moved > 0 {
		t.noteOwner(a.Addr(4), to)
	}
	return got + uint64(moved), 0
}

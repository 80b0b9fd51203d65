package task

import (
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// A FutexKey identifies a futex: by its address in an address space, or by its place in a file that is mapped shared.
type FutexKey struct {
	mem  *mem.Space
	addr emu.Addr
	// shared says that it was named without FUTEX_PRIVATE_FLAG. With the flag, the same word is another futex
	// (FUT_OFF_MMSHARED).
	shared   bool
	dev, ino uint64
	// pi says that it is a lock of FUTEX_LOCK_PI, whose waiters are not those of other operations on the word.
	pi bool
}

// FutexKey finds the key of the futex at a. A private futex needs no mapping (kernel/futex/core.c, get_futex_key): a
// thread may wake it after the memory was freed.
func (t *Thread) FutexKey(a emu.Addr, op int) (FutexKey, linux.Errno) {
	switch {
	case a%4 != 0:
		return FutexKey{}, linux.EINVAL
	case uint64(a) >= uio.TaskSize:
		return FutexKey{}, linux.EFAULT
	case op&linux.FUTEX_PRIVATE_FLAG != 0:
		return FutexKey{mem: t.Process.Mem, addr: a}, 0
	}
	v := t.Process.Mem.VMA(a)
	switch {
	case v == nil || v.Prot&mem.Read == 0, v.Prot&mem.Write == 0 && !v.File:
		return FutexKey{}, linux.EFAULT // memory that cannot change is no futex
	case v.File && (v.Shared || v.Prot&mem.Write == 0):
		return FutexKey{addr: emu.Addr(v.Off) + a - v.Lo, dev: v.Dev, ino: v.Ino}, 0
	}
	return FutexKey{mem: t.Process.Mem, addr: a, shared: true}, 0
}

// FutexDeadline reads the timeout of operation op: relative for FUTEX_WAIT, else absolute. Never if there is none.
func (t *Thread) FutexDeadline(timeout emu.Addr, op int) (int64, linux.Errno) {
	if timeout == 0 {
		return Never, 0
	}
	d, e := t.Timespec(timeout)
	if e != 0 {
		return 0, e
	}
	clock := linux.CLOCK_MONOTONIC
	switch cmd := op &^ (linux.FUTEX_PRIVATE_FLAG | linux.FUTEX_CLOCK_REALTIME); {
	case cmd == linux.FUTEX_WAIT:
		return t.Kernel.After(d), 0
	case op&linux.FUTEX_CLOCK_REALTIME != 0 || cmd == linux.FUTEX_LOCK_PI:
		clock = linux.CLOCK_REALTIME
	}
	return t.DeadlineOn(clock, d), 0
}

// FutexCheck is EAGAIN if the word at a is not val.
func (t *Thread) FutexCheck(a emu.Addr, val uint32) linux.Errno {
	now, e := t.In32(a)
	if e == 0 && now != val {
		return linux.EAGAIN
	}
	return e
}

// FutexBlock makes t wait in the queues of keys. The result is the index of the key that wakes it.
func (t *Thread) FutexBlock(w Wait, keys ...FutexKey) (uint64, linux.Errno) {
	if w.Deadline != Never && w.Deadline <= t.Kernel.Now() {
		return 0, linux.ETIMEDOUT
	}
	t.futexKeys, t.futexWoken = keys, 0
	for _, key := range keys {
		t.Kernel.Futexes[key] = append(t.Kernel.Futexes[key], t)
	}
	w.cancel = func(bool) { t.Kernel.futexUnqueue(t) }
	return t.Block(w, func() (uint64, linux.Errno) {
		if t.TimedOut() {
			return 0, linux.ETIMEDOUT
		}
		return uint64(t.futexWoken), 0 // the waker has done the rest: a PI lock is t's already
	})
}

// futexUnqueue takes t out of the queues that it waits in.
func (k *Kernel) futexUnqueue(t *Thread) {
	for _, key := range t.futexKeys {
		k.setFutexQueue(key, slices.DeleteFunc(k.Futexes[key], func(o *Thread) bool { return o == t }))
	}
}

// setFutexQueue makes q the waiters of key. A key without waiters is forgotten.
func (k *Kernel) setFutexQueue(key FutexKey, q []*Thread) {
	if len(q) == 0 {
		delete(k.Futexes, key)
		delete(k.owners, key)
		return
	}
	k.Futexes[key] = q
}

// wakeFutex wakes up to n waiters of key whose bits meet mask, and at least one whatever n says
// (kernel/futex/waitwake.c). Waiters of FUTEX_WAIT_REQUEUE_PI cannot be woken so: EINVAL.
func (k *Kernel) wakeFutex(key FutexKey, n int, mask uint32) (woken uint64, e linux.Errno) {
	var rest, wake []*Thread
	for _, w := range k.Scheduler.wakeOrder(k.Futexes[key]) {
		wakes := e == 0 && len(wake) < max(n, 1) && w.FutexBits&mask != 0
		if wakes && w.FutexRequeueTo.pi {
			wakes, e = false, linux.EINVAL
		}
		switch {
		case !wakes:
			rest = append(rest, w)
		case !slices.Contains(wake, w):
			wake = append(wake, w)
		}
	}
	k.setFutexQueue(key, rest)
	for _, w := range wake {
		w.futexWoken = slices.Index(w.futexKeys, key) // the result of futex_waitv(2); 0 where there is one key
		k.futexUnqueue(w)                             // it may be in other queues, too
		k.wake(w, wokenReady)
	}
	woken = uint64(len(wake))
	if k.Current != nil && woken > 0 {
		k.Current.wokeOther = true
	}
	return woken, e
}

// FutexWake is FUTEX_WAKE and FUTEX_WAKE_BITSET: it wakes up to n waiters of the futex at at.
func (t *Thread) FutexWake(at emu.Addr, op, n int, bits uint32) (uint64, linux.Errno) {
	if bits == 0 {
		return 0, linux.EINVAL
	}
	key, e := t.FutexKey(at, op)
	if e != 0 {
		return 0, e
	}
	return t.Kernel.wakeFutex(key, n, bits)
}

// FutexRequeue is FUTEX_REQUEUE and FUTEX_CMP_REQUEUE: it wakes some waiters and makes others wait for a second futex.
func (t *Thread) FutexRequeue(a uio.Args, op int) (uint64, linux.Errno) {
	n, limit := a.Int(2), a.Int(3)
	if n < 0 || limit < 0 {
		return 0, linux.EINVAL
	}
	from, e := t.FutexKey(a.Addr(0), op)
	if e != 0 {
		return 0, e
	}
	to, e := t.FutexKey(a.Addr(4), op)
	if e != 0 {
		return 0, e
	}
	if op&^(linux.FUTEX_PRIVATE_FLAG|linux.FUTEX_CLOCK_REALTIME) == linux.FUTEX_CMP_REQUEUE {
		if e := t.FutexCheck(a.Addr(0), a.U32(5)); e != 0 {
			return 0, e
		}
	}
	if slices.ContainsFunc(t.Kernel.Futexes[from], func(w *Thread) bool { return w.FutexRequeueTo.pi }) {
		return 0, linux.EINVAL
	}
	woken := uint64(0)
	if n > 0 {
		woken, _ = t.Kernel.wakeFutex(from, n, linux.FUTEX_BITSET_MATCH_ANY)
	}
	moved := min(len(t.Kernel.Futexes[from]), limit)
	if from != to {
		t.Kernel.futexMove(from, to, moved)
	}
	return woken + uint64(moved), 0
}

// futexMove makes the first n waiters of from wait for to.
func (k *Kernel) futexMove(from, to FutexKey, n int) {
	q := k.Futexes[from]
	for _, w := range q[:n] {
		w.futexKeys[slices.Index(w.futexKeys, from)] = to
	}
	if n > 0 {
		k.Futexes[to] = append(k.Futexes[to], q[:n]...)
	}
	k.setFutexQueue(from, slices.Clone(q[n:]))
}

// FutexWakeOp is FUTEX_WAKE_OP: it changes the second futex, and wakes waiters of it if its old value passes a test.
func (t *Thread) FutexWakeOp(a uio.Args, op int) (uint64, linux.Errno) {
	key1, e := t.FutexKey(a.Addr(0), op)
	if e != 0 {
		return 0, e
	}
	key2, e := t.FutexKey(a.Addr(4), op)
	if e != 0 {
		return 0, e
	}
	old, e := t.In32(a.Addr(4))
	if e != 0 {
		return 0, e
	}
	code := a.U32(5)
	// op:4 (8: the operand is a shift), cmp:4, operand:12, comparand:12, the last two signed
	oparg, cmparg := int32(code<<8)>>20, int32(code<<20)>>20
	opcode := code >> 28
	if opcode&8 != 0 {
		oparg = 1 << (uint(oparg) & 31)
	}
	next := old
	switch opcode & 7 {
	case 0:
		next = uint32(oparg)
	case 1:
		next += uint32(oparg)
	case 2:
		next |= uint32(oparg)
	case 3:
		next &^= uint32(oparg)
	case 4:
		next ^= uint32(oparg)
	default:
		return 0, linux.ENOSYS
	}
	if e := t.Out32(a.Addr(4), next); e != 0 {
		return 0, e
	}
	was := int32(old)
	tests := [...]bool{was == cmparg, was != cmparg, was < cmparg, was <= cmparg, was > cmparg, was >= cmparg}
	cmp := code >> 24 & 15
	if int(cmp) >= len(tests) {
		return 0, linux.ENOSYS
	}
	woken, e := t.Kernel.wakeFutex(key1, a.Int(2), linux.FUTEX_BITSET_MATCH_ANY)
	if e == 0 && tests[cmp] {
		var more uint64
		more, e = t.Kernel.wakeFutex(key2, a.Int(3), linux.FUTEX_BITSET_MATCH_ANY)
		woken += more
	}
	return woken, e
}

// robustLimit bounds the walk along a robust list, which may be broken (ROBUST_LIST_LIMIT).
const robustLimit = 2048

// releaseLocks gives away the locks of a dying thread that the kernel knows of.
func (t *Thread) releaseLocks() {
	t.releaseRobust()
	t.passLocks()
}

// releaseRobust marks the robust mutexes that a dying thread holds, and wakes a waiter of each (set_robust_list(2)).
func (t *Thread) releaseRobust() {
	head := emu.Addr(t.RobustList)
	if head == 0 {
		return
	}
	next, e1 := t.In64(head)
	off, e2 := t.In64(head + 8)
	pending, e3 := t.In64(head + 16)
	if e1|e2|e3 != 0 {
		return
	}
	pi := next&1 != 0 // the lock that the pointer leads to is a PI lock, whose waiters passLocks sees to
	for range robustLimit {
		at := emu.Addr(next &^ 1)
		if at == head {
			break
		}
		var e linux.Errno
		next, e = t.In64(at)
		if at != emu.Addr(pending&^1) && !t.ownerDied(at+emu.Addr(off), pi, false) || e != 0 {
			return
		}
		pi = next&1 != 0
	}
	if pending&^1 != 0 {
		t.ownerDied(emu.Addr(pending&^1)+emu.Addr(off), pending&1 != 0, true)
	}
}

// ownerDied marks the mutex at at, if t holds it, as that of a dead owner, and reports whether there is one
// (handle_futex_death in kernel/futex/core.c). Of the mutex that t was about to lock or unlock (pending) the word may
// be 0: t may have ended between the store of an unlock and the call that wakes.
func (t *Thread) ownerDied(at emu.Addr, pi, pending bool) bool {
	x, e := t.In32(at)
	if e != 0 || at%4 != 0 {
		return false
	}
	wakes := pending && x&linux.FUTEX_TID_MASK == 0
	if x&linux.FUTEX_TID_MASK == uint32(t.TID) {
		if t.Out32(at, x&linux.FUTEX_WAITERS|linux.FUTEX_OWNER_DIED) != 0 {
			return false
		}
		wakes = x&linux.FUTEX_WAITERS != 0
	}
	if key, e := t.FutexKey(at, 0); e == 0 && wakes && !pi {
		_, _ = t.Kernel.wakeFutex(key, 1, linux.FUTEX_BITSET_MATCH_ANY)
	}
	return true
}

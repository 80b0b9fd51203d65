package syscalls

import (
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// A futexKey is what a futex is known by: a place in an address space, or in a file that is mapped shared.
type futexKey struct {
	mem      *mem.Space
	addr     emu.Addr
	shared   bool // named without FUTEX_PRIVATE_FLAG: another futex than with it (FUT_OFF_MMSHARED)
	dev, ino uint64
	pi       bool // a lock of FUTEX_LOCK_PI
}

// futexKey finds the key of the futex at a. Nothing need be mapped where a private one lies (kernel/futex/core.c,
// get_futex_key): who wakes it may come after the memory went.
func (t *Thread) futexKey(a emu.Addr, op int) (futexKey, linux.Errno) {
	switch {
	case a%4 != 0:
		return futexKey{}, linux.EINVAL
	case uint64(a) >= taskSize:
		return futexKey{}, linux.EFAULT
	case op&linux.FUTEX_PRIVATE_FLAG != 0:
		return futexKey{mem: t.p.mem, addr: a}, 0
	}
	v := t.p.mem.VMA(a)
	switch {
	case v == nil || v.Prot&mem.Read == 0, v.Prot&mem.Write == 0 && !v.File:
		return futexKey{}, linux.EFAULT // memory that cannot change is no futex
	case v.File && (v.Shared || v.Prot&mem.Write == 0):
		return futexKey{addr: emu.Addr(v.Off) + a - v.Lo, dev: v.Dev, ino: v.Ino}, 0
	}
	return futexKey{mem: t.p.mem, addr: a, shared: true}, 0
}

// sysFutex implements futex(2). Waiters are woken first come first served, unless the schedule is
// another (schedule.order).
func sysFutex(t *Thread, a Args) (uint64, linux.Errno) {
	at, op, val := a.Addr(0), a.Int(1), a.U32(2)
	cmd := op &^ (linux.FUTEX_PRIVATE_FLAG | linux.FUTEX_CLOCK_REALTIME)
	switch cmd {
	case linux.FUTEX_WAIT, linux.FUTEX_WAIT_BITSET, linux.FUTEX_WAIT_REQUEUE_PI, linux.FUTEX_LOCK_PI, linux.FUTEX_LOCK_PI2:
		if _, e := t.futexDeadline(a.Addr(3), op); e != 0 {
			return 0, e
		}
	}
	if op&linux.FUTEX_CLOCK_REALTIME != 0 && cmd != linux.FUTEX_WAIT_BITSET && cmd != linux.FUTEX_WAIT_REQUEUE_PI && cmd != linux.FUTEX_LOCK_PI2 {
		return 0, linux.ENOSYS
	}
	switch cmd {
	case linux.FUTEX_WAIT:
		return t.futexWait(at, op, val, a.Addr(3), linux.FUTEX_BITSET_MATCH_ANY)
	case linux.FUTEX_WAIT_BITSET:
		return t.futexWait(at, op, val, a.Addr(3), a.U32(5))
	case linux.FUTEX_WAKE:
		return t.futexWake(at, op, a.Int(2), linux.FUTEX_BITSET_MATCH_ANY)
	case linux.FUTEX_WAKE_BITSET:
		return t.futexWake(at, op, a.Int(2), a.U32(5))
	case linux.FUTEX_REQUEUE, linux.FUTEX_CMP_REQUEUE:
		return t.futexRequeue(a, op)
	case linux.FUTEX_WAKE_OP:
		return t.futexWakeOp(a, op)
	case linux.FUTEX_LOCK_PI, linux.FUTEX_LOCK_PI2:
		return t.futexLockPI(at, op, a.Addr(3))
	case linux.FUTEX_TRYLOCK_PI:
		return t.futexTrylockPI(at, op)
	case linux.FUTEX_UNLOCK_PI:
		return t.futexUnlockPI(at, op)
	case linux.FUTEX_WAIT_REQUEUE_PI:
		return t.futexWaitRequeuePI(a, op)
	case linux.FUTEX_CMP_REQUEUE_PI:
		return t.futexRequeuePI(a, op)
	}
	return 0, linux.ENOSYS
}

func (t *Thread) futexWait(at emu.Addr, op int, val uint32, timeout emu.Addr, bits uint32) (uint64, linux.Errno) {
	deadline, e := t.futexDeadline(timeout, op)
	if e == 0 && bits == 0 {
		e = linux.EINVAL
	}
	if e != 0 {
		return 0, e
	}
	key, e := t.futexKey(at, op)
	if e != 0 {
		return 0, e
	}
	if e := t.futexIs(at, val); e != 0 {
		return 0, e
	}
	t.futexBits, t.futexTo = bits, futexKey{}
	w := wait{deadline: deadline}
	if timeout != 0 {
		w.interrupted = linux.EINTR
	}
	return t.futexBlock(w, key)
}

// futexDeadline reads a timeout: relative for FUTEX_WAIT, else absolute.
func (t *Thread) futexDeadline(timeout emu.Addr, op int) (int64, linux.Errno) {
	if timeout == 0 {
		return never, 0
	}
	d, e := t.timespec(timeout)
	if e != 0 {
		return 0, e
	}
	clock := linux.CLOCK_MONOTONIC
	switch cmd := op &^ (linux.FUTEX_PRIVATE_FLAG | linux.FUTEX_CLOCK_REALTIME); {
	case cmd == linux.FUTEX_WAIT:
		return t.k.after(d), 0
	case op&linux.FUTEX_CLOCK_REALTIME != 0 || cmd == linux.FUTEX_LOCK_PI:
		clock = linux.CLOCK_REALTIME
	}
	return t.deadlineOn(clock, d), 0
}

// futexIs is EAGAIN if the word at a is not val.
func (t *Thread) futexIs(a emu.Addr, val uint32) linux.Errno {
	now, e := t.in32(a)
	if e == 0 && now != val {
		return linux.EAGAIN
	}
	return e
}

// futexBlock makes t wait in the queues of keys.
func (t *Thread) futexBlock(w wait, keys ...futexKey) (uint64, linux.Errno) {
	if w.deadline != never && w.deadline <= t.k.now() {
		return 0, linux.ETIMEDOUT
	}
	t.futexAt, t.futexWoken = keys, 0
	for _, key := range keys {
		t.k.futexes[key] = append(t.k.futexes[key], t)
	}
	w.cancel = func(bool) { t.k.futexForget(t) }
	return t.block(w, func() (uint64, linux.Errno) {
		if t.timedOut() {
			return 0, linux.ETIMEDOUT
		}
		return uint64(t.futexWoken), 0 // who woke it has done the rest: the lock of a PI futex is t's
	})
}

// futexForget takes t off the queues it waits in.
func (k *Kernel) futexForget(t *Thread) {
	for _, key := range t.futexAt {
		k.futexSet(key, slices.DeleteFunc(k.futexes[key], func(o *Thread) bool { return o == t }))
	}
}

func (k *Kernel) futexSet(key futexKey, q []*Thread) {
	if len(q) == 0 {
		delete(k.futexes, key)
		delete(k.owners, key)
		return
	}
	k.futexes[key] = q
}

// wakeFutex wakes up to n waiters of key whose bits meet mask, and one whatever n says (kernel/futex/waitwake.c). Those of
// FUTEX_WAIT_REQUEUE_PI cannot be woken: EINVAL.
func (k *Kernel) wakeFutex(key futexKey, n int, mask uint32) (woken uint64, e linux.Errno) {
	var rest, wake []*Thread
	for _, w := range k.sched.order(k.futexes[key]) {
		wakes := e == 0 && len(wake) < max(n, 1) && w.futexBits&mask != 0
		if wakes && w.futexTo.pi {
			wakes, e = false, linux.EINVAL
		}
		switch {
		case !wakes:
			rest = append(rest, w)
		case !slices.Contains(wake, w):
			wake = append(wake, w)
		}
	}
	k.futexSet(key, rest)
	for _, w := range wake {
		w.futexWoken = slices.Index(w.futexAt, key) // futex_waitv(2) returns it; 0 for who waits for one
		k.futexForget(w)                            // it may wait for others besides
		k.wake(w, wokenReady)
	}
	woken = uint64(len(wake))
	if k.current != nil && woken > 0 {
		k.current.woke = true
	}
	return woken, e
}

func (t *Thread) futexWake(at emu.Addr, op, n int, bits uint32) (uint64, linux.Errno) {
	if bits == 0 {
		return 0, linux.EINVAL
	}
	key, e := t.futexKey(at, op)
	if e != 0 {
		return 0, e
	}
	return t.k.wakeFutex(key, n, bits)
}

func (t *Thread) futexRequeue(a Args, op int) (uint64, linux.Errno) {
	n, limit := a.Int(2), a.Int(3)
	if n < 0 || limit < 0 {
		return 0, linux.EINVAL
	}
	from, e := t.futexKey(a.Addr(0), op)
	if e != 0 {
		return 0, e
	}
	to, e := t.futexKey(a.Addr(4), op)
	if e != 0 {
		return 0, e
	}
	if op&^(linux.FUTEX_PRIVATE_FLAG|linux.FUTEX_CLOCK_REALTIME) == linux.FUTEX_CMP_REQUEUE {
		if e := t.futexIs(a.Addr(0), a.U32(5)); e != 0 {
			return 0, e
		}
	}
	if slices.ContainsFunc(t.k.futexes[from], func(w *Thread) bool { return w.futexTo.pi }) {
		return 0, linux.EINVAL
	}
	woken := uint64(0)
	if n > 0 {
		woken, _ = t.k.wakeFutex(from, n, linux.FUTEX_BITSET_MATCH_ANY)
	}
	moved := min(len(t.k.futexes[from]), limit)
	if from != to {
		t.k.futexMove(from, to, moved)
	}
	return woken + uint64(moved), 0
}

// futexMove makes the first n waiters of from wait for to.
func (k *Kernel) futexMove(from, to futexKey, n int) {
	q := k.futexes[from]
	for _, w := range q[:n] {
		w.futexAt[slices.Index(w.futexAt, from)] = to
	}
	if n > 0 {
		k.futexes[to] = append(k.futexes[to], q[:n]...)
	}
	k.futexSet(from, slices.Clone(q[n:]))
}

// FUTEX_WAKE_OP changes the second futex and wakes its waiters if it was as said.
func (t *Thread) futexWakeOp(a Args, op int) (uint64, linux.Errno) {
	key1, e := t.futexKey(a.Addr(0), op)
	if e != 0 {
		return 0, e
	}
	key2, e := t.futexKey(a.Addr(4), op)
	if e != 0 {
		return 0, e
	}
	old, e := t.in32(a.Addr(4))
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
	if e := t.out32(a.Addr(4), next); e != 0 {
		return 0, e
	}
	was := int32(old)
	tests := [...]bool{was == cmparg, was != cmparg, was < cmparg, was <= cmparg, was > cmparg, was >= cmparg}
	cmp := code >> 24 & 15
	if int(cmp) >= len(tests) {
		return 0, linux.ENOSYS
	}
	woken, e := t.k.wakeFutex(key1, a.Int(2), linux.FUTEX_BITSET_MATCH_ANY)
	if e == 0 && tests[cmp] {
		var more uint64
		more, e = t.k.wakeFutex(key2, a.Int(3), linux.FUTEX_BITSET_MATCH_ANY)
		woken += more
	}
	return woken, e
}

// sysSetRobustList implements set_robust_list(2).
func sysSetRobustList(t *Thread, a Args) (uint64, linux.Errno) {
	const headSize = 24
	if a.Uint(1) != headSize {
		return 0, linux.EINVAL
	}
	t.robustList = a.Uint(0)
	return 0, 0
}

// sysGetRobustList implements get_robust_list(2).
func sysGetRobustList(t *Thread, a Args) (uint64, linux.Errno) {
	o := t
	if a.Int(0) != 0 {
		if o = t.k.findThread(-1, a.Int(0)); o == nil {
			return 0, linux.ESRCH
		}
	}
	if e := t.out64(a.Addr(2), 24); e != 0 {
		return 0, e
	}
	return 0, t.out64(a.Addr(1), o.robustList)
}

// robustLimit keeps a broken list from being walked forever (ROBUST_LIST_LIMIT).
const robustLimit = 2048

// releaseLocks gives away what locks of a dying thread the kernel knows of.
func (t *Thread) releaseLocks() {
	t.releaseRobust()
	t.passLocks()
}

// releaseRobust marks the robust mutexes of a dying thread, and wakes one waiter of each.
func (t *Thread) releaseRobust() {
	head := emu.Addr(t.robustList)
	if head == 0 {
		return
	}
	next, e1 := t.in64(head)
	off, e2 := t.in64(head + 8)
	pending, e3 := t.in64(head + 16)
	if e1|e2|e3 != 0 {
		return
	}
	for range robustLimit {
		at := emu.Addr(next &^ 1)
		if at == head {
			break
		}
		var e linux.Errno
		if next, e = t.in64(at); e != 0 {
			break
		}
		if at != emu.Addr(pending&^1) {
			t.ownerDied(at + emu.Addr(off))
		}
	}
	if pending&^1 != 0 {
		t.ownerDied(emu.Addr(pending&^1) + emu.Addr(off))
	}
}

func (t *Thread) ownerDied(at emu.Addr) {
	x, e := t.in32(at)
	if e != 0 || x&linux.FUTEX_TID_MASK != uint32(t.tid) {
		return
	}
	t.out32(at, x&linux.FUTEX_WAITERS|linux.FUTEX_OWNER_DIED)
	if key, e := t.futexKey(at, 0); e == 0 && x&linux.FUTEX_WAITERS != 0 {
		_, _ = t.k.wakeFutex(key, 1, linux.FUTEX_BITSET_MATCH_ANY)
	}
}

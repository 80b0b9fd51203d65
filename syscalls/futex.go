package syscalls

import (
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
)

// Operations of futex(2).
const (
	futexWait       = 0
	futexWake       = 1
	futexRequeue    = 3
	futexCmpRequeue = 4
	futexWakeOp     = 5
	futexWaitBitset = 9
	futexWakeBitset = 10

	futexPrivate   = 128
	futexRealtime  = 256
	futexAllBits   = 1<<32 - 1
	futexWaiters   = 1 << 31
	futexOwnerDied = 1 << 30
	futexTIDMask   = 1<<30 - 1
)

// A futexKey is what a futex is known by: a place in an address space, or in a file that is mapped shared.
type futexKey struct {
	mem      *mem.Space
	addr     emu.Addr
	dev, ino uint64
	pi       bool // a lock of futexLockPI
}

// futexKey finds the key of the futex at a.
func (t *Thread) futexKey(a emu.Addr, op int) (futexKey, Errno) {
	if a%4 != 0 {
		return futexKey{}, EINVAL
	}
	v := t.p.mem.VMA(a)
	if v == nil {
		return futexKey{}, EFAULT
	}
	if op&futexPrivate == 0 && v.Shared && v.File {
		return futexKey{addr: emu.Addr(v.Off) + a - v.Lo, dev: v.Dev, ino: v.Ino}, 0
	}
	return futexKey{mem: t.p.mem, addr: a}, 0
}

// sysFutex implements futex(2). Waiters are woken first come first served, unless the schedule is
// another (schedule.order).
func sysFutex(t *Thread, a Args) (uint64, Errno) {
	at, op, val := a.Addr(0), a.Int(1), a.U32(2)
	switch op &^ (futexPrivate | futexRealtime) {
	case futexWait:
		return t.futexWait(at, op, val, a.Addr(3), futexAllBits)
	case futexWaitBitset:
		return t.futexWait(at, op, val, a.Addr(3), a.U32(5))
	case futexWake:
		return t.futexWake(at, op, val, futexAllBits)
	case futexWakeBitset:
		return t.futexWake(at, op, val, a.U32(5))
	case futexRequeue, futexCmpRequeue:
		return t.futexRequeue(a, op)
	case futexWakeOp:
		return t.futexWakeOp(a, op)
	case futexLockPI, futexLockPI2:
		return t.futexLockPI(at, op, a.Addr(3))
	case futexTrylockPI:
		return t.futexTrylockPI(at, op)
	case futexUnlockPI:
		return t.futexUnlockPI(at, op)
	}
	return 0, ENOSYS
}

func (t *Thread) futexWait(at emu.Addr, op int, val uint32, timeout emu.Addr, bits uint32) (uint64, Errno) {
	if t.call.again {
		if t.call.woken == wokenTimeout {
			return 0, ETIMEDOUT
		}
		return 0, 0
	}
	if bits == 0 {
		return 0, EINVAL
	}
	deadline := int64(never)
	if timeout != 0 {
		d, e := t.timespec(timeout)
		if e != 0 {
			return 0, e
		}
		if op&^(futexPrivate|futexRealtime) == futexWait {
			deadline = t.k.after(d)
		} else {
			clock := clockMonotonic
			if op&futexRealtime != 0 {
				clock = clockRealtime
			}
			deadline = t.deadlineOn(clock, d)
		}
	}
	key, e := t.futexKey(at, op)
	if e != 0 {
		return 0, e
	}
	now, e := t.in32(at)
	if e != 0 {
		return 0, e
	}
	if now != val {
		return 0, EAGAIN
	}
	if deadline != never && deadline <= t.k.now() {
		return 0, ETIMEDOUT
	}
	t.futexBits, t.futexAt = bits, key
	t.k.futexes[key] = append(t.k.futexes[key], t)
	w := wait{deadline: deadline, cancel: func(bool) { t.k.futexForget(t) }}
	if timeout != 0 {
		w.interrupted = EINTR
	}
	return t.block(w)
}

// futexForget takes t off the queue it waits in.
func (k *Kernel) futexForget(t *Thread) {
	k.futexSet(t.futexAt, slices.DeleteFunc(k.futexes[t.futexAt], func(o *Thread) bool { return o == t }))
}

func (k *Kernel) futexSet(key futexKey, q []*Thread) {
	if len(q) == 0 {
		delete(k.futexes, key)
		return
	}
	k.futexes[key] = q
}

// wakeFutex wakes up to n waiters of key whose bits meet mask.
func (k *Kernel) wakeFutex(key futexKey, n, mask uint32) uint64 {
	var woken uint64
	var rest []*Thread
	for _, w := range k.sched.order(k.futexes[key]) {
		if woken < uint64(n) && w.futexBits&mask != 0 {
			woken++
			k.wake(w, wokenReady)
			continue
		}
		rest = append(rest, w)
	}
	k.futexSet(key, rest)
	return woken
}

func (t *Thread) futexWake(at emu.Addr, op int, n, bits uint32) (uint64, Errno) {
	if bits == 0 {
		return 0, EINVAL
	}
	key, e := t.futexKey(at, op)
	if e != 0 {
		return 0, e
	}
	// At least one is woken, whatever n says (kernel/futex/waitwake.c).
	return t.k.wakeFutex(key, max(n, 1), bits), 0
}

func (t *Thread) futexRequeue(a Args, op int) (uint64, Errno) {
	n, limit := a.Int(2), a.Int(3)
	if n < 0 || limit < 0 {
		return 0, EINVAL
	}
	from, e := t.futexKey(a.Addr(0), op)
	if e != 0 {
		return 0, e
	}
	to, e := t.futexKey(a.Addr(4), op)
	if e != 0 {
		return 0, e
	}
	if op&^(futexPrivate|futexRealtime) == futexCmpRequeue {
		now, e := t.in32(a.Addr(0))
		if e != 0 {
			return 0, e
		}
		if now != a.U32(5) {
			return 0, EAGAIN
		}
	}
	woken := uint64(0)
	if n > 0 {
		woken = t.k.wakeFutex(from, uint32(n), futexAllBits)
	}
	q := t.k.futexes[from]
	moved := min(len(q), limit)
	if from != to {
		for _, w := range q[:moved] {
			w.futexAt = to
		}
		t.k.futexes[to] = append(t.k.futexes[to], q[:moved]...)
		t.k.futexSet(from, slices.Clone(q[moved:]))
	}
	return woken + uint64(moved), 0
}

// futexWakeOp changes the second futex and wakes its waiters if it was as said.
func (t *Thread) futexWakeOp(a Args, op int) (uint64, Errno) {
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
		return 0, ENOSYS
	}
	if e := t.out32(a.Addr(4), next); e != 0 {
		return 0, e
	}
	was := int32(old)
	tests := [...]bool{was == cmparg, was != cmparg, was < cmparg, was <= cmparg, was > cmparg, was >= cmparg}
	cmp := code >> 24 & 15
	if int(cmp) >= len(tests) {
		return 0, ENOSYS
	}
	woken := t.k.wakeFutex(key1, a.U32(2), futexAllBits)
	if tests[cmp] {
		woken += t.k.wakeFutex(key2, a.U32(3), futexAllBits)
	}
	return woken, 0
}

// sysSetRobustList implements set_robust_list(2).
func sysSetRobustList(t *Thread, a Args) (uint64, Errno) {
	const headSize = 24
	if a.Uint(1) != headSize {
		return 0, EINVAL
	}
	t.robustList = a.Uint(0)
	return 0, 0
}

// sysGetRobustList implements get_robust_list(2).
func sysGetRobustList(t *Thread, a Args) (uint64, Errno) {
	o := t
	if a.Int(0) != 0 {
		if o = t.k.findThread(-1, a.Int(0)); o == nil {
			return 0, ESRCH
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
		var e Errno
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
	if e != 0 || x&futexTIDMask != uint32(t.tid) {
		return
	}
	t.out32(at, x&futexWaiters|futexOwnerDied)
	if key, e := t.piKey(at, 0); e == 0 && len(t.k.futexes[key]) > 0 {
		_ = t.passLock(at, key, futexOwnerDied) // the word was just written
		return
	}
	if key, e := t.futexKey(at, 0); e == 0 && x&futexWaiters != 0 {
		t.k.wakeFutex(key, 1, futexAllBits)
	}
}

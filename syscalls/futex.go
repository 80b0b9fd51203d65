package syscalls

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// sysFutex implements futex(2). Waiters are woken in order of blocking, unless a schedule with a seed says otherwise.
func sysFutex(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	at, op, val := a.Addr(0), a.Int(1), a.U32(2)
	cmd := op &^ (linux.FUTEX_PRIVATE_FLAG | linux.FUTEX_CLOCK_REALTIME)
	switch cmd {
	case linux.FUTEX_WAIT, linux.FUTEX_WAIT_BITSET, linux.FUTEX_WAIT_REQUEUE_PI, linux.FUTEX_LOCK_PI, linux.FUTEX_LOCK_PI2:
		if _, e := t.FutexDeadline(a.Addr(3), op); e != 0 {
			return 0, e
		}
	}
	if op&linux.FUTEX_CLOCK_REALTIME != 0 && cmd != linux.FUTEX_WAIT_BITSET && cmd != linux.FUTEX_WAIT_REQUEUE_PI && cmd != linux.FUTEX_LOCK_PI2 {
		return 0, linux.ENOSYS
	}
	switch cmd {
	case linux.FUTEX_WAIT:
		return futexWait(t, at, op, val, a.Addr(3), linux.FUTEX_BITSET_MATCH_ANY)
	case linux.FUTEX_WAIT_BITSET:
		return futexWait(t, at, op, val, a.Addr(3), a.U32(5))
	case linux.FUTEX_WAKE:
		return t.FutexWake(at, op, a.Int(2), linux.FUTEX_BITSET_MATCH_ANY)
	case linux.FUTEX_WAKE_BITSET:
		return t.FutexWake(at, op, a.Int(2), a.U32(5))
	case linux.FUTEX_REQUEUE, linux.FUTEX_CMP_REQUEUE:
		return t.FutexRequeue(a, op)
	case linux.FUTEX_WAKE_OP:
		return t.FutexWakeOp(a, op)
	case linux.FUTEX_LOCK_PI, linux.FUTEX_LOCK_PI2:
		return t.FutexLockPI(at, op, a.Addr(3))
	case linux.FUTEX_TRYLOCK_PI:
		return t.FutexTrylockPI(at, op)
	case linux.FUTEX_UNLOCK_PI:
		return t.FutexUnlockPI(at, op)
	case linux.FUTEX_WAIT_REQUEUE_PI:
		return t.FutexWaitRequeuePI(a, op)
	case linux.FUTEX_CMP_REQUEUE_PI:
		return t.FutexRequeuePI(a, op)
	}
	return 0, linux.ENOSYS
}

// futexWait is FUTEX_WAIT and FUTEX_WAIT_BITSET.
func futexWait(t *task.Thread, at emu.Addr, op int, val uint32, timeout emu.Addr, bits uint32) (uint64, linux.Errno) {
	deadline, e := t.FutexDeadline(timeout, op)
	if e == 0 && bits == 0 {
		e = linux.EINVAL
	}
	if e != 0 {
		return 0, e
	}
	key, e := t.FutexKey(at, op)
	if e != 0 {
		return 0, e
	}
	if e := t.FutexCheck(at, val); e != 0 {
		return 0, e
	}
	t.FutexBits, t.FutexRequeueTo = bits, task.FutexKey{}
	w := task.Wait{Deadline: deadline}
	if timeout != 0 {
		w.OnSignal = linux.EINTR
	}
	return t.FutexBlock(w, key)
}

// sysSetRobustList implements set_robust_list(2).
func sysSetRobustList(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	const headSize = 24
	if a.Uint(1) != headSize {
		return 0, linux.EINVAL
	}
	t.RobustList = a.Uint(0)
	return 0, 0
}

// sysGetRobustList implements get_robust_list(2).
func sysGetRobustList(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	o := t
	if a.Int(0) != 0 {
		if o = t.Kernel.FindThread(-1, a.Int(0)); o == nil {
			return 0, linux.ESRCH
		}
	}
	if e := t.Out64(a.Addr(2), 24); e != 0 {
		return 0, e
	}
	return 0, t.Out64(a.Addr(1), o.RobustList)
}

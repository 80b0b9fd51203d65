package syscalls

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// futexWaitvSize is the size of struct futex_waitv.
const futexWaitvSize = 24

// sysFutexWaitv implements futex_waitv(2), which waits for any of several futexes and returns the index of the one that
// woke it.
func sysFutexWaitv(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	n := a.U32(1)
	if a.U32(2) != 0 || n == 0 || n > linux.FUTEX_WAITV_MAX || a.Addr(0) == 0 {
		return 0, linux.EINVAL
	}
	deadline := int64(task.Never)
	if a.Addr(3) != 0 {
		if clock := a.Int(4); clock != linux.CLOCK_MONOTONIC && clock != linux.CLOCK_REALTIME {
			return 0, linux.EINVAL
		}
		d, e := t.Timespec(a.Addr(3))
		if e != 0 {
			return 0, e
		}
		deadline = t.DeadlineOn(a.Int(4), d)
	}
	b, e := t.CopyIn(a.Addr(0), int(n)*futexWaitvSize)
	if e != 0 {
		return 0, e
	}
	for w := b; len(w) > 0; w = w[futexWaitvSize:] {
		if flags := linux.Uint32(w[16:]); flags&^linux.FUTEX_PRIVATE_FLAG != linux.FUTEX2_SIZE_U32 || linux.Uint32(w[20:]) != 0 || linux.Uint64(w) >= 1<<32 {
			return 0, linux.EINVAL
		}
	}
	var keys []task.FutexKey
	for w := b; len(w) > 0; w = w[futexWaitvSize:] {
		key, e := t.FutexKey(emu.Addr(linux.Uint64(w[8:])), int(linux.Uint32(w[16:])))
		if e != 0 {
			return 0, e
		}
		keys = append(keys, key)
	}
	for w := b; len(w) > 0; w = w[futexWaitvSize:] {
		if e := t.FutexCheck(emu.Addr(linux.Uint64(w[8:])), uint32(linux.Uint64(w))); e != 0 {
			return 0, e
		}
	}
	t.FutexBits, t.FutexRequeueTo = linux.FUTEX_BITSET_MATCH_ANY, task.FutexKey{}
	return t.FutexBlock(task.Wait{Deadline: deadline}, keys...)
}

package syscalls

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// futexWaitvSize is the size of struct futex_waitv.
const futexWaitvSize = 24

// sysFutexWaitv implements futex_waitv(2): waiting for any of several words. Its result is which of them woke it.
func sysFutexWaitv(t *Thread, a Args) (uint64, linux.Errno) {
	n := a.U32(1)
	if a.U32(2) != 0 || n == 0 || n > linux.FUTEX_WAITV_MAX || a.Addr(0) == 0 {
		return 0, linux.EINVAL
	}
	deadline := int64(never)
	if a.Addr(3) != 0 {
		if clock := a.Int(4); clock != linux.CLOCK_MONOTONIC && clock != linux.CLOCK_REALTIME {
			return 0, linux.EINVAL
		}
		d, e := t.timespec(a.Addr(3))
		if e != 0 {
			return 0, e
		}
		deadline = t.deadlineOn(a.Int(4), d)
	}
	b, e := t.copyIn(a.Addr(0), int(n)*futexWaitvSize)
	if e != 0 {
		return 0, e
	}
	for w := b; len(w) > 0; w = w[futexWaitvSize:] {
		if flags := le32(w[16:]); flags&^linux.FUTEX_PRIVATE_FLAG != linux.FUTEX2_SIZE_U32 || le32(w[20:]) != 0 || le64(w) >= 1<<32 {
			return 0, linux.EINVAL
		}
	}
	var keys []futexKey
	for w := b; len(w) > 0; w = w[futexWaitvSize:] {
		key, e := t.futexKey(emu.Addr(le64(w[8:])), int(le32(w[16:])))
		if e != 0 {
			return 0, e
		}
		keys = append(keys, key)
	}
	for w := b; len(w) > 0; w = w[futexWaitvSize:] {
		if e := t.futexIs(emu.Addr(le64(w[8:])), uint32(le64(w))); e != 0 {
			return 0, e
		}
	}
	t.futexBits, t.futexTo = linux.FUTEX_BITSET_MATCH_ANY, futexKey{}
	return t.futexBlock(wait{deadline: deadline}, keys...)
}

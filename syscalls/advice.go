package syscalls

import (
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/procfs"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// madvLast is the highest advice of madvise(2).
const madvLast = linux.MADV_COLLAPSE

// adviceFlags are the bits of mem.VMA's Advice that advice clears and sets.
var adviceFlags = map[int]struct{ clear, set uint8 }{
	0: {3, 0}, 1: {3, 1}, 2: {3, 2}, // MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL
	14: {12, 4}, 15: {12, 8}, // MADV_HUGEPAGE, MADV_NOHUGEPAGE
	16: {0, 16}, 17: {16, 0}, // MADV_DONTDUMP, MADV_DODUMP
}

// sysMadvise implements madvise(2).
func sysMadvise(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	lo, n, advice := a.Addr(0), a.Uint(1), a.Int(2)
	hi := lo + emu.Addr(n).PageUp()
	switch {
	case !lo.PageAligned() || hi < lo || n != 0 && hi == lo:
		return 0, linux.EINVAL
	case advice < 0 || advice > 4 && advice < linux.MADV_FREE || advice > madvLast:
		return 0, linux.EINVAL
	case n == 0:
		return 0, 0
	}
	at, holes := lo, false
	for _, v := range t.Process.Mem.Within(lo, hi) {
		from, to := max(v.Lo, lo), min(v.Hi, hi)
		if holes = holes || at < from; holes && (advice == linux.MADV_POPULATE_READ || advice == linux.MADV_POPULATE_WRITE) {
			break
		}
		if e := advise(t, &v, from, to, advice); e != 0 {
			return 0, e
		}
		at = to
	}
	if holes || at < hi {
		return 0, linux.ENOMEM
	}
	return 0, 0
}

// advise does what advice says with [lo, hi), which lies in v.
func advise(t *task.Thread, v *mem.VMA, lo, hi emu.Addr, advice int) linux.Errno {
	m := t.Process.Mem
	if f, ok := adviceFlags[advice]; ok {
		if e := mark(m, lo, hi, func(v *mem.VMA) { v.Advice = v.Advice&^f.clear | f.set }); e != 0 {
			return e
		}
	}
	switch advice {
	case linux.MADV_DONTNEED, linux.MADV_DONTNEED_LOCKED:
		if v.Locked && advice == linux.MADV_DONTNEED {
			return linux.EINVAL
		}
		return memErrno(m.Discard(lo, hi))
	case linux.MADV_FREE:
		if v.File || v.Locked {
			return linux.EINVAL
		}
		// When pages go is up to Linux; here they go at once, so that it is the same each time.
		return memErrno(m.Discard(lo, hi))
	case linux.MADV_REMOVE:
		switch {
		case v.Locked || !v.File:
			return linux.EINVAL
		case !v.Shared:
			return linux.EACCES
		}
		// Whether it could be made writable the host knows: the file may have been opened for reading.
		return memErrno(m.Remove(lo, hi))
	case linux.MADV_WIPEONFORK:
		if v.File || v.Shared {
			return linux.EINVAL
		}
		return mark(m, lo, hi, func(v *mem.VMA) { v.Wipe = true })
	case linux.MADV_KEEPONFORK:
		return mark(m, lo, hi, func(v *mem.VMA) { v.Wipe = false })
	case linux.MADV_DONTFORK:
		return mark(m, lo, hi, func(v *mem.VMA) { v.NoFork = true })
	case linux.MADV_POPULATE_READ, linux.MADV_POPULATE_WRITE:
		if need := mem.Prot(advice - linux.MADV_POPULATE_READ + 1); v.Prot&need == 0 || need == mem.Read && v.WriteOnly {
			return linux.EINVAL
		}
	case linux.MADV_COLD, linux.MADV_PAGEOUT:
		if v.Locked {
			return linux.EINVAL
		}
	case linux.MADV_COLLAPSE:
		return linux.EINVAL // a kernel without huge pages
	case linux.MADV_DOFORK:
		return mark(m, lo, hi, func(v *mem.VMA) { v.NoFork = false })
	}
	return 0
}

// mark is mem.Space.Mark for madvise(2), which has an error of its own for too many mappings.
func mark(m *mem.Space, lo, hi emu.Addr, f func(v *mem.VMA)) linux.Errno {
	if m.Mark(lo, hi, f) != nil {
		return linux.EAGAIN
	}
	return 0
}

// sysMsync implements msync(2): the host writes shared mappings back by itself.
func sysMsync(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	const async, invalidate, sync = 1, 2, 4
	flags := a.U32(2)
	if flags&^(async|invalidate|sync) != 0 || flags&(async|sync) == async|sync || !a.Addr(0).PageAligned() {
		return 0, linux.EINVAL
	}
	lo, n := a.Addr(0), emu.Addr(a.Uint(1)).PageUp()
	if n == 0 {
		return 0, 0
	}
	for _, v := range t.Process.Mem.Within(lo, lo+n) {
		if flags&invalidate != 0 && v.Locked {
			return 0, linux.EBUSY // what is locked stays in memory; a hole in front of it does not matter
		}
	}
	return 0, wholeRange(t, lo, a.Uint(1))
}

// wholeRange checks that all of n bytes at lo are mapped.
func wholeRange(t *task.Thread, lo emu.Addr, n uint64) linux.Errno {
	hi := lo + emu.Addr(n).PageUp()
	if hi < lo {
		return linux.ENOMEM
	}
	for at := lo; at < hi; {
		v := t.Process.Mem.VMA(at)
		if v == nil {
			return linux.ENOMEM
		}
		at = v.Hi
	}
	return 0
}

// mayLock reports whether n bytes more may be locked.
func mayLock(p *task.Process, n uint64) bool {
	return p.Locked()+n <= p.Limits[linux.RLIMIT_MEMLOCK].Cur
}

// sysMlock implements mlock(2).
func sysMlock(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return 0, lockMemory(t, a, true, false)
}

// sysMunlock implements munlock(2).
func sysMunlock(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return 0, lockMemory(t, a, false, false)
}

// sysMlock2 implements mlock2(2).
func sysMlock2(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	const onFault = 1
	if a.U32(2)&^onFault != 0 {
		return 0, linux.EINVAL
	}
	return 0, lockMemory(t, a, true, a.U32(2)&onFault != 0)
}

// lockMemory locks or unlocks the pages of a range, up to the first hole.
func lockMemory(t *task.Thread, a uio.Args, lock, onFault bool) linux.Errno {
	p := t.Process
	lo := a.Addr(0).PageDown()
	n := uint64((emu.Addr(a.Uint(1)) + a.Addr(0) - lo).PageUp())
	hi := lo + emu.Addr(n)
	if lock {
		if p.Limits[linux.RLIMIT_MEMLOCK].Cur == 0 {
			return linux.EPERM
		}
		more := n
		for _, v := range p.Mem.Within(lo, hi) {
			if v.Locked && lo < hi {
				more -= uint64(min(hi, v.Hi) - max(lo, v.Lo))
			}
		}
		if more > uio.TaskSize || !mayLock(p, more) {
			return linux.ENOMEM
		}
	}
	if hi < lo {
		return linux.EINVAL
	}
	var e linux.Errno
	for lo < hi {
		v := p.Mem.VMA(lo)
		if v == nil {
			return linux.ENOMEM
		}
		end := min(v.Hi, hi)
		if lock && !onFault && (v.Prot == 0 || v.File && !inMemory(p, end)) {
			e = linux.ENOMEM // it is locked, but cannot be brought into memory
		}
		if e := memErrno(p.Mem.Mark(lo, end, func(v *mem.VMA) { v.Locked = lock })); e != 0 {
			return e
		}
		lo = end
	}
	return e
}

// inMemory reports whether the page in front of end, which is that of a file, can be brought into memory: the file may
// end before it.
func inMemory(p *task.Process, end emu.Addr) bool {
	return p.Mem.Read(end-emu.PageSize, make([]byte, 1)) == 1
}

// sysMlockall implements mlockall(2).
func sysMlockall(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	flags, p := a.U32(0), t.Process
	switch {
	case flags == 0 || flags == linux.MCL_ONFAULT || flags&^(linux.MCL_CURRENT|linux.MCL_FUTURE|linux.MCL_ONFAULT) != 0:
		return 0, linux.EINVAL
	case p.Limits[linux.RLIMIT_MEMLOCK].Cur == 0:
		return 0, linux.EPERM
	case flags&linux.MCL_CURRENT != 0 && procfs.AddressSpace(p) > p.Limits[linux.RLIMIT_MEMLOCK].Cur:
		return 0, linux.ENOMEM
	}
	p.LockFuture = flags&linux.MCL_FUTURE != 0
	if flags&linux.MCL_CURRENT != 0 {
		return 0, memErrno(p.Mem.Mark(0, p.Mem.Limit(), func(v *mem.VMA) { v.Locked = true }))
	}
	return 0, 0
}

// sysMunlockall implements munlockall(2).
func sysMunlockall(t *task.Thread, _ uio.Args) (uint64, linux.Errno) {
	t.Process.LockFuture = false
	return 0, memErrno(t.Process.Mem.Mark(0, t.Process.Mem.Limit(), func(v *mem.VMA) { v.Locked = false }))
}

// sysMincore implements mincore(2): everything mapped is resident.
func sysMincore(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	lo, n, out := a.Addr(0), a.Uint(1), a.Addr(2)
	if !lo.PageAligned() {
		return 0, linux.EINVAL
	}
	pages := (n + emu.PageSize - 1) / emu.PageSize
	switch {
	case n > uio.TaskSize || uint64(lo) > uio.TaskSize-n:
		return 0, linux.ENOMEM
	case uint64(out) > uio.TaskSize-pages:
		return 0, linux.EFAULT
	}
	const chunk = 4096 // pages at a time, of one mapping
	for n > 0 {
		v := t.Process.Mem.VMA(lo)
		if v == nil {
			return 0, linux.ENOMEM
		}
		size := min(n, chunk*emu.PageSize, uint64(v.Hi-lo))
		pages := (size + emu.PageSize - 1) / emu.PageSize
		if e := t.CopyOut(out, slices.Repeat([]byte{1}, int(pages))); e != 0 {
			return 0, e
		}
		lo, out, n = lo+emu.Addr(size), out+emu.Addr(pages), n-size
	}
	return 0, 0
}

// membarrierAll are the commands of membarrier(2) that there are, a bit each: none for restartable sequences, which the
// guest has not.
const membarrierAll = 2*linux.MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE - 1 | linux.MEMBARRIER_CMD_GET_REGISTRATIONS

// sysMembarrier implements membarrier(2): threads run one at a time, but a process must say first what it wants.
func sysMembarrier(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	cmd := a.Int(0)
	if a.U32(1) != 0 {
		return 0, linux.EINVAL
	}
	switch cmd {
	case linux.MEMBARRIER_CMD_QUERY:
		return membarrierAll, 0
	case linux.MEMBARRIER_CMD_GET_REGISTRATIONS:
		return uint64(t.Process.Membarrier), 0
	case linux.MEMBARRIER_CMD_GLOBAL, linux.MEMBARRIER_CMD_GLOBAL_EXPEDITED:
		return 0, 0
	case linux.MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, linux.MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, linux.MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE:
		t.Process.Membarrier |= cmd
		return 0, 0
	case linux.MEMBARRIER_CMD_PRIVATE_EXPEDITED, linux.MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE:
		if t.Process.Membarrier&(2*cmd) == 0 { // what registers it is the next bit
			return 0, linux.EPERM
		}
		return 0, 0
	}
	return 0, linux.EINVAL
}

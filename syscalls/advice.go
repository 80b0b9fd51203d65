package syscalls

import (
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
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
func sysMadvise(t *Thread, a Args) (uint64, linux.Errno) {
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
	for _, v := range t.p.mem.Within(lo, hi) {
		from, to := max(v.Lo, lo), min(v.Hi, hi)
		if holes = holes || at < from; holes && (advice == linux.MADV_POPULATE_READ || advice == linux.MADV_POPULATE_WRITE) {
			break
		}
		if e := t.advise(&v, from, to, advice); e != 0 {
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
func (t *Thread) advise(v *mem.VMA, lo, hi emu.Addr, advice int) linux.Errno {
	m := t.p.mem
	if f, ok := adviceFlags[advice]; ok {
		m.Mark(lo, hi, func(v *mem.VMA) { v.Advice = v.Advice&^f.clear | f.set })
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
		case !v.Shared || v.Prot&mem.Write == 0:
			return linux.EACCES
		}
		return memErrno(m.Remove(lo, hi))
	case linux.MADV_WIPEONFORK:
		if v.File || v.Shared {
			return linux.EINVAL
		}
		m.Mark(lo, hi, func(v *mem.VMA) { v.Wipe = true })
	case linux.MADV_KEEPONFORK:
		m.Mark(lo, hi, func(v *mem.VMA) { v.Wipe = false })
	case linux.MADV_DONTFORK:
		m.Mark(lo, hi, func(v *mem.VMA) { v.NoFork = true })
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
		m.Mark(lo, hi, func(v *mem.VMA) { v.NoFork = false })
	}
	return 0
}

// sysMsync implements msync(2): the host writes shared mappings back by itself.
func sysMsync(t *Thread, a Args) (uint64, linux.Errno) {
	const async, invalidate, sync = 1, 2, 4
	flags := a.U32(2)
	if flags&^(async|invalidate|sync) != 0 || flags&(async|sync) == async|sync || !a.Addr(0).PageAligned() {
		return 0, linux.EINVAL
	}
	lo, n := a.Addr(0), emu.Addr(a.Uint(1)).PageUp()
	if n == 0 {
		return 0, 0
	}
	for _, v := range t.p.mem.Within(lo, lo+n) {
		if flags&invalidate != 0 && v.Locked {
			return 0, linux.EBUSY // what is locked stays in memory; a hole in front of it does not matter
		}
	}
	return 0, t.wholeRange(lo, a.Uint(1))
}

// wholeRange checks that all of n bytes at lo are mapped.
func (t *Thread) wholeRange(lo emu.Addr, n uint64) linux.Errno {
	hi := lo + emu.Addr(n).PageUp()
	if hi < lo {
		return linux.ENOMEM
	}
	for at := lo; at < hi; {
		v := t.p.mem.VMA(at)
		if v == nil {
			return linux.ENOMEM
		}
		at = v.Hi
	}
	return 0
}

// locked is how many bytes of p's memory are locked. Nothing is ever swapped: that they are counted is all that it means.
func (p *Process) locked() (n uint64) {
	for _, v := range p.vmas() {
		if v.Locked {
			n += v.Len()
		}
	}
	return n
}

// mayLock reports whether n bytes more may be locked.
func (p *Process) mayLock(n uint64) bool { return p.locked()+n <= p.limits[linux.RLIMIT_MEMLOCK].cur }

// sysMlock implements mlock(2).
func sysMlock(t *Thread, a Args) (uint64, linux.Errno) { return 0, t.lockMemory(a, true, false) }

// sysMunlock implements munlock(2).
func sysMunlock(t *Thread, a Args) (uint64, linux.Errno) { return 0, t.lockMemory(a, false, false) }

// sysMlock2 implements mlock2(2).
func sysMlock2(t *Thread, a Args) (uint64, linux.Errno) {
	const onFault = 1
	if a.U32(2)&^onFault != 0 {
		return 0, linux.EINVAL
	}
	return 0, t.lockMemory(a, true, a.U32(2)&onFault != 0)
}

// lockMemory locks or unlocks the pages of a range, up to the first hole.
func (t *Thread) lockMemory(a Args, lock, onFault bool) linux.Errno {
	p := t.p
	lo := a.Addr(0).PageDown()
	n := uint64((emu.Addr(a.Uint(1)) + a.Addr(0) - lo).PageUp())
	hi := lo + emu.Addr(n)
	if lock {
		if p.limits[linux.RLIMIT_MEMLOCK].cur == 0 {
			return linux.EPERM
		}
		more := n
		for _, v := range p.mem.Within(lo, hi) {
			if v.Locked && lo < hi {
				more -= uint64(min(hi, v.Hi) - max(lo, v.Lo))
			}
		}
		if more > taskSize || !p.mayLock(more) {
			return linux.ENOMEM
		}
	}
	if hi < lo {
		return linux.EINVAL
	}
	var e linux.Errno
	for lo < hi {
		v := p.mem.VMA(lo)
		if v == nil {
			return linux.ENOMEM
		}
		if lock && v.Prot == 0 && !onFault {
			e = linux.ENOMEM // it is locked, but cannot be brought into memory
		}
		end := min(v.Hi, hi)
		p.mem.Mark(lo, end, func(v *mem.VMA) { v.Locked = lock })
		lo = end
	}
	return e
}

// sysMlockall implements mlockall(2).
func sysMlockall(t *Thread, a Args) (uint64, linux.Errno) {
	flags, p := a.U32(0), t.p
	switch {
	case flags == 0 || flags == linux.MCL_ONFAULT || flags&^(linux.MCL_CURRENT|linux.MCL_FUTURE|linux.MCL_ONFAULT) != 0:
		return 0, linux.EINVAL
	case p.limits[linux.RLIMIT_MEMLOCK].cur == 0:
		return 0, linux.EPERM
	case flags&linux.MCL_CURRENT != 0 && p.size() > p.limits[linux.RLIMIT_MEMLOCK].cur:
		return 0, linux.ENOMEM
	}
	p.lockFuture = flags&linux.MCL_FUTURE != 0
	if flags&linux.MCL_CURRENT != 0 {
		p.mem.Mark(0, p.mem.Limit(), func(v *mem.VMA) { v.Locked = true })
	}
	return 0, 0
}

// sysMunlockall implements munlockall(2).
func sysMunlockall(t *Thread, _ Args) (uint64, linux.Errno) {
	t.p.lockFuture = false
	t.p.mem.Mark(0, t.p.mem.Limit(), func(v *mem.VMA) { v.Locked = false })
	return 0, 0
}

// sysMincore implements mincore(2): everything mapped is resident.
func sysMincore(t *Thread, a Args) (uint64, linux.Errno) {
	lo, n, out := a.Addr(0), a.Uint(1), a.Addr(2)
	if !lo.PageAligned() {
		return 0, linux.EINVAL
	}
	pages := (n + emu.PageSize - 1) / emu.PageSize
	switch {
	case n > taskSize || uint64(lo) > taskSize-n:
		return 0, linux.ENOMEM
	case uint64(out) > taskSize-pages:
		return 0, linux.EFAULT
	}
	const chunk = 4096 // pages at a time, of one mapping
	for n > 0 {
		v := t.p.mem.VMA(lo)
		if v == nil {
			return 0, linux.ENOMEM
		}
		size := min(n, chunk*emu.PageSize, uint64(v.Hi-lo))
		pages := (size + emu.PageSize - 1) / emu.PageSize
		if e := t.copyOut(out, slices.Repeat([]byte{1}, int(pages))); e != 0 {
			return 0, e
		}
		lo, out, n = lo+emu.Addr(size), out+emu.Addr(pages), n-size
	}
	return 0, 0
}

// membarrierAll are the commands of membarrier(2): one bit each, the last one's the highest.
const membarrierAll = 2*linux.MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE - 1

// sysMembarrier implements membarrier(2): threads run one at a time, but a process must say first what it wants.
func sysMembarrier(t *Thread, a Args) (uint64, linux.Errno) {
	cmd := a.Int(0)
	if a.U32(1) != 0 {
		return 0, linux.EINVAL
	}
	switch cmd {
	case linux.MEMBARRIER_CMD_QUERY:
		return membarrierAll, 0
	case linux.MEMBARRIER_CMD_GLOBAL, linux.MEMBARRIER_CMD_GLOBAL_EXPEDITED:
		return 0, 0
	case linux.MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, linux.MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, linux.MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE:
		t.p.membarrier |= cmd
		return 0, 0
	case linux.MEMBARRIER_CMD_PRIVATE_EXPEDITED, linux.MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE:
		if t.p.membarrier&(2*cmd) == 0 { // what registers it is the next bit
			return 0, linux.EPERM
		}
		return 0, 0
	}
	return 0, linux.EINVAL
}

// growStack makes the memory above a, if it was made with MAP_GROWSDOWN, grow down to a's page. Another mapping must be far
// enough below (stack_guard_gap), and RLIMIT_STACK allow it.
func (p *Process) growStack(a emu.Addr) bool {
	const guardGap = 256 * emu.PageSize
	if a < mem.MinAddr || a >= p.mem.Limit() {
		return false
	}
	above := p.mem.Within(a, p.mem.Limit())
	if len(above) == 0 || !above[0].GrowsDown || above[0].Lo <= a {
		return false
	}
	v, lo := above[0], a.PageDown()
	if uint64(v.Hi-lo) > p.limits[linux.RLIMIT_STACK].cur {
		return false
	}
	for _, below := range p.mem.Within(lo-min(lo, guardGap), lo) {
		if below.Prot != 0 && !below.GrowsDown {
			return false
		}
	}
	v.Lo, v.Hi = lo, v.Lo
	return p.mayPlace(&v) && p.mem.Map(v, nil) == nil
}

package syscalls

import (
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
)

// Advice of madvise(2).
const (
	madvDontneed       = 4
	madvFree           = 8
	madvRemove         = 9
	madvDontfork       = 10
	madvDofork         = 11
	madvWipeonfork     = 18
	madvKeeponfork     = 19
	madvCold           = 20
	madvPageout        = 21
	madvPopulateRead   = 22
	madvPopulateWrite  = 23
	madvDontneedLocked = 24
	madvCollapse       = 25
	madvLast           = madvCollapse
)

// adviceFlags are the bits of mem.VMA's Advice that advice clears and sets.
var adviceFlags = map[int]struct{ clear, set uint8 }{
	0: {3, 0}, 1: {3, 1}, 2: {3, 2}, // MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL
	14: {12, 4}, 15: {12, 8}, // MADV_HUGEPAGE, MADV_NOHUGEPAGE
	16: {0, 16}, 17: {16, 0}, // MADV_DONTDUMP, MADV_DODUMP
}

// sysMadvise implements madvise(2).
func sysMadvise(t *Thread, a Args) (uint64, Errno) {
	lo, n, advice := a.Addr(0), a.Uint(1), a.Int(2)
	hi := lo + emu.Addr(n).PageUp()
	switch {
	case !lo.PageAligned() || hi < lo || n != 0 && hi == lo:
		return 0, EINVAL
	case advice < 0 || advice > 4 && advice < madvFree || advice > madvLast:
		return 0, EINVAL
	case n == 0:
		return 0, 0
	}
	at, holes := lo, false
	for _, v := range t.p.mem.Within(lo, hi) {
		from, to := max(v.Lo, lo), min(v.Hi, hi)
		if holes = holes || at < from; holes && (advice == madvPopulateRead || advice == madvPopulateWrite) {
			break
		}
		if e := t.advise(&v, from, to, advice); e != 0 {
			return 0, e
		}
		at = to
	}
	if holes || at < hi {
		return 0, ENOMEM
	}
	return 0, 0
}

// advise does what advice says with [lo, hi), which lies in v.
func (t *Thread) advise(v *mem.VMA, lo, hi emu.Addr, advice int) Errno {
	m := t.p.mem
	if f, ok := adviceFlags[advice]; ok {
		m.Mark(lo, hi, func(v *mem.VMA) { v.Advice = v.Advice&^f.clear | f.set })
	}
	switch advice {
	case madvDontneed, madvDontneedLocked:
		if v.Locked && advice == madvDontneed {
			return EINVAL
		}
		return memErrno(m.Discard(lo, hi))
	case madvFree:
		if v.File || v.Locked {
			return EINVAL
		}
		// When pages go is up to Linux; here they go at once, so that it is the same each time.
		return memErrno(m.Discard(lo, hi))
	case madvRemove:
		switch {
		case v.Locked || !v.File:
			return EINVAL
		case !v.Shared || v.Prot&mem.Write == 0:
			return EACCES
		}
		return memErrno(m.Remove(lo, hi))
	case madvWipeonfork:
		if v.File || v.Shared {
			return EINVAL
		}
		m.Mark(lo, hi, func(v *mem.VMA) { v.Wipe = true })
	case madvKeeponfork:
		m.Mark(lo, hi, func(v *mem.VMA) { v.Wipe = false })
	case madvDontfork:
		m.Mark(lo, hi, func(v *mem.VMA) { v.NoFork = true })
	case madvPopulateRead, madvPopulateWrite:
		if need := mem.Prot(advice - madvPopulateRead + 1); v.Prot&need == 0 || need == mem.Read && v.WriteOnly {
			return EINVAL
		}
	case madvCold, madvPageout:
		if v.Locked {
			return EINVAL
		}
	case madvCollapse:
		return EINVAL // a kernel without huge pages
	case madvDofork:
		m.Mark(lo, hi, func(v *mem.VMA) { v.NoFork = false })
	}
	return 0
}

// sysMsync implements msync(2): the host writes shared mappings back by itself.
func sysMsync(t *Thread, a Args) (uint64, Errno) {
	const async, invalidate, sync = 1, 2, 4
	flags := a.U32(2)
	if flags&^(async|invalidate|sync) != 0 || flags&(async|sync) == async|sync || !a.Addr(0).PageAligned() {
		return 0, EINVAL
	}
	lo := a.Addr(0)
	for _, v := range t.p.mem.Within(lo, lo+emu.Addr(a.Uint(1)).PageUp()) {
		if flags&invalidate != 0 && v.Locked {
			return 0, EBUSY // what is locked stays in memory; a hole in front of it does not matter
		}
	}
	return 0, t.wholeRange(lo, a.Uint(1))
}

// wholeRange checks that all of n bytes at lo are mapped.
func (t *Thread) wholeRange(lo emu.Addr, n uint64) Errno {
	hi := lo + emu.Addr(n).PageUp()
	if hi < lo {
		return ENOMEM
	}
	for at := lo; at < hi; {
		v := t.p.mem.VMA(at)
		if v == nil {
			return ENOMEM
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
func (p *Process) mayLock(n uint64) bool { return p.locked()+n <= p.limits[rlimitMemlock].cur }

// sysMlock implements mlock(2).
func sysMlock(t *Thread, a Args) (uint64, Errno) { return 0, t.lockMemory(a, true, false) }

// sysMunlock implements munlock(2).
func sysMunlock(t *Thread, a Args) (uint64, Errno) { return 0, t.lockMemory(a, false, false) }

// sysMlock2 implements mlock2(2).
func sysMlock2(t *Thread, a Args) (uint64, Errno) {
	const onFault = 1
	if a.U32(2)&^onFault != 0 {
		return 0, EINVAL
	}
	return 0, t.lockMemory(a, true, a.U32(2)&onFault != 0)
}

// lockMemory locks or unlocks the pages of a range, up to the first hole.
func (t *Thread) lockMemory(a Args, lock, onFault bool) Errno {
	p := t.p
	lo := a.Addr(0).PageDown()
	n := uint64((emu.Addr(a.Uint(1)) + a.Addr(0) - lo).PageUp())
	hi := lo + emu.Addr(n)
	if lock {
		if p.limits[rlimitMemlock].cur == 0 {
			return EPERM
		}
		more := n
		for _, v := range p.mem.Within(lo, hi) {
			if v.Locked && lo < hi {
				more -= uint64(min(hi, v.Hi) - max(lo, v.Lo))
			}
		}
		if more > taskSize || !p.mayLock(more) {
			return ENOMEM
		}
	}
	if hi < lo {
		return EINVAL
	}
	var e Errno
	for lo < hi {
		v := p.mem.VMA(lo)
		if v == nil {
			return ENOMEM
		}
		if lock && v.Prot == 0 && !onFault {
			e = ENOMEM // it is locked, but cannot be brought into memory
		}
		end := min(v.Hi, hi)
		p.mem.Mark(lo, end, func(v *mem.VMA) { v.Locked = lock })
		lo = end
	}
	return e
}

// Flags of mlockall(2).
const (
	mclCurrent = 1
	mclFuture  = 2
	mclOnFault = 4
)

// sysMlockall implements mlockall(2).
func sysMlockall(t *Thread, a Args) (uint64, Errno) {
	flags, p := a.U32(0), t.p
	switch {
	case flags == 0 || flags == mclOnFault || flags&^(mclCurrent|mclFuture|mclOnFault) != 0:
		return 0, EINVAL
	case p.limits[rlimitMemlock].cur == 0:
		return 0, EPERM
	case flags&mclCurrent != 0 && p.size() > p.limits[rlimitMemlock].cur:
		return 0, ENOMEM
	}
	p.lockFuture = flags&mclFuture != 0
	if flags&mclCurrent != 0 {
		p.mem.Mark(0, p.mem.Limit(), func(v *mem.VMA) { v.Locked = true })
	}
	return 0, 0
}

// sysMunlockall implements munlockall(2).
func sysMunlockall(t *Thread, _ Args) (uint64, Errno) {
	t.p.lockFuture = false
	t.p.mem.Mark(0, t.p.mem.Limit(), func(v *mem.VMA) { v.Locked = false })
	return 0, 0
}

// sysMincore implements mincore(2): everything mapped is resident.
func sysMincore(t *Thread, a Args) (uint64, Errno) {
	lo, n, out := a.Addr(0), a.Uint(1), a.Addr(2)
	if !lo.PageAligned() {
		return 0, EINVAL
	}
	pages := (n + emu.PageSize - 1) / emu.PageSize
	switch {
	case n > taskSize || uint64(lo) > taskSize-n:
		return 0, ENOMEM
	case uint64(out) > taskSize-pages:
		return 0, EFAULT
	}
	const chunk = 4096 // pages at a time, of one mapping
	for n > 0 {
		v := t.p.mem.VMA(lo)
		if v == nil {
			return 0, ENOMEM
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

// Commands of membarrier(2).
const (
	membarrierQuery       = 0
	membarrierGlobal      = 1
	membarrierGlobalFast  = 2
	membarrierRegGlobal   = 4
	membarrierPrivate     = 8
	membarrierRegPrivate  = 16
	membarrierSyncCore    = 32
	membarrierRegSyncCore = 64
	membarrierAll         = 2*membarrierRegSyncCore - 1
)

// sysMembarrier implements membarrier(2): threads run one at a time, but a process must say first what it wants.
func sysMembarrier(t *Thread, a Args) (uint64, Errno) {
	cmd := a.Int(0)
	if a.U32(1) != 0 {
		return 0, EINVAL
	}
	switch cmd {
	case membarrierQuery:
		return membarrierAll, 0
	case membarrierGlobal, membarrierGlobalFast:
		return 0, 0
	case membarrierRegGlobal, membarrierRegPrivate, membarrierRegSyncCore:
		t.p.membarrier |= cmd
		return 0, 0
	case membarrierPrivate, membarrierSyncCore:
		if t.p.membarrier&(2*cmd) == 0 { // what registers it is the next bit
			return 0, EPERM
		}
		return 0, 0
	}
	return 0, EINVAL
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
	if uint64(v.Hi-lo) > p.limits[rlimitStack].cur {
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

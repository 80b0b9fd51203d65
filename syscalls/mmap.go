package syscalls

import (
	"errors"
	"math"
	"strconv"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

const (
	// mapLegacy are the flags that MAP_SHARED_VALIDATE knows of every file (LEGACY_MAP_MASK).
	mapLegacy = 0x7c07f9f3
	// protMask are PROT_READ, PROT_WRITE and PROT_EXEC.
	protMask = 7
)

// memErrno translates an error of emu/mem.
func memErrno(err error) linux.Errno {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, mem.ErrAccess):
		return linux.EACCES
	case errors.Is(err, mem.ErrRange), errors.Is(err, mem.ErrNotHere):
		return linux.ENOMEM
	}
	if e := errnoOf(err); e != linux.EIO {
		return e
	}
	return linux.ENOMEM
}

// protOf translates the prot argument. On x86 what can be written can be read.
func (p *Process) protOf(arg uint64) mem.Prot {
	prot := mem.Prot(arg & protMask)
	if prot&(mem.Write|mem.Exec) != 0 {
		prot |= mem.Read
	}
	if prot&mem.Read != 0 && p.persona&linux.READ_IMPLIES_EXEC != 0 {
		prot |= mem.Exec
	}
	return prot
}

// wishLimit is the end of the addresses that a program may wish for: Go's heap begins at 0xc000000000.
const wishLimit emu.Addr = 1 << 40

// writeOnly reports whether the prot argument asks for writing and not for reading.
func writeOnly(arg uint64) bool { return mem.Prot(arg)&(mem.Read|mem.Write) == mem.Write }

// find returns where length bytes go: first fit above the interpreter's place,
// around what is kept for brk.
func (p *Process) find(length uint64, hint emu.Addr) (emu.Addr, bool) {
	m := p.mem
	if h := hint.PageDown(); h >= mem.MinAddr && h+emu.Addr(length) > h && h+emu.Addr(length) <= wishLimit &&
		m.Free(h, h+emu.Addr(length)) && !p.inHeap(h, h+emu.Addr(length)) && p.reach(h+emu.Addr(length)) {
		return h, true
	}
	from := mem.InterpBase
	a, ok := m.Find(length, from)
	if ok && p.inHeap(a, a+emu.Addr(length)) {
		from = p.program.BrkLimit
		a, ok = m.Find(length, from)
	}
	if !ok && a+emu.Addr(length) > a && p.reach(a+emu.Addr(length)) {
		return m.Find(length, from)
	}
	return a, ok
}

// inHeap reports whether [lo, hi) touches what is kept for brk.
func (p *Process) inHeap(lo, hi emu.Addr) bool {
	return p.program != nil && lo < p.program.BrkLimit && hi > p.program.Brk
}

// sysMmap implements mmap(2).
func sysMmap(t *Thread, a Args) (uint64, linux.Errno) {
	addr, length, flags, off := a.Addr(0), a.Uint(1), a.Uint(3), a.Uint(5)
	if off%emu.PageSize != 0 {
		return 0, linux.EINVAL
	}
	var f file
	if flags&linux.MAP_ANONYMOUS == 0 {
		var e linux.Errno
		if f, e = t.file(a.Int(4)); e == 0 && f.base().flags&linux.O_PATH != 0 {
			e = linux.EBADF
		}
		if e != 0 {
			return 0, e
		}
	}
	if length == 0 {
		return 0, linux.EINVAL
	}
	length = uint64(emu.Addr(length).PageUp())
	if length == 0 || length > uint64(mem.MaxAddr) {
		return 0, linux.ENOMEM
	}
	lo, e := t.mapAddr(addr, length, flags)
	if e != 0 {
		return 0, e
	}
	locked := flags&linux.MAP_LOCKED != 0
	if locked && t.p.limits[linux.RLIMIT_MEMLOCK].cur == 0 {
		return 0, linux.EPERM
	}
	if locked = locked || t.p.lockFuture; locked && !t.p.mayLock(length) {
		return 0, linux.EAGAIN
	}
	if f != nil && off > mapEnd(f)-length {
		return 0, linux.EOVERFLOW
	}
	switch flags & linux.MAP_TYPE {
	case linux.MAP_SHARED, linux.MAP_PRIVATE:
	case linux.MAP_SHARED_VALIDATE:
		if f == nil {
			return 0, linux.EINVAL
		}
		if flags&^mapLegacy != 0 {
			return 0, linux.EOPNOTSUPP
		}
	default:
		return 0, linux.EINVAL
	}
	v := mem.VMA{
		Lo: lo, Hi: lo + emu.Addr(length), Prot: t.p.protOf(a.Uint(2)), Off: off,
		Shared: flags&linux.MAP_TYPE != linux.MAP_PRIVATE, GrowsDown: flags&linux.MAP_GROWSDOWN != 0,
		Locked: locked, WriteOnly: writeOnly(a.Uint(2)),
	}
	if f != nil {
		if e := t.mappable(&v, f); e != 0 {
			return 0, e
		}
	} else if v.GrowsDown && v.Shared {
		return 0, linux.EINVAL
	}
	if !t.p.mayPlace(&v) {
		return 0, linux.ENOMEM
	}
	if f == nil {
		return uint64(lo), t.mapAnonymous(v)
	}
	return uint64(lo), t.mapFile(v, f)
}

// mapEnd is where mappings of a file may end: at the largest offset where it has one, else at the end of all numbers.
func mapEnd(f file) uint64 {
	if h, ok := f.(*hostFile); ok && h.onDisk() {
		return math.MaxInt64
	}
	if _, ok := f.(socket); ok {
		return math.MaxInt64
	}
	return math.MaxUint64
}

// mapAddr decides where a mapping goes.
func (t *Thread) mapAddr(addr emu.Addr, length, flags uint64) (emu.Addr, linux.Errno) {
	if flags&(linux.MAP_FIXED|linux.MAP_FIXED_NOREPLACE) == 0 {
		// MAP_32BIT asks for the low 2 GiB, where first fit begins anyway.
		lo, ok := t.p.find(length, addr)
		if !ok || flags&linux.MAP_32BIT != 0 && lo+emu.Addr(length) > 1<<31 {
			return 0, linux.ENOMEM
		}
		return lo, 0
	}
	end := addr + emu.Addr(length)
	switch {
	case !addr.PageAligned():
		return 0, linux.EINVAL
	case end < addr || end > mem.MaxAddr:
		return 0, linux.ENOMEM
	case addr < mem.MinAddr:
		return 0, linux.EPERM
	case flags&linux.MAP_FIXED_NOREPLACE != 0 && !t.p.mem.Free(addr, end):
		return 0, linux.EEXIST
	case !t.p.reach(end):
		return 0, linux.ENOMEM
	}
	return addr, 0
}

// MAP_ANONYMOUS maps memory without a file. Shared memory is a file without a name, so that
// it stays shared when a process forks.
func (t *Thread) mapAnonymous(v mem.VMA) linux.Errno {
	v.Off = 0
	if !v.Shared {
		return memErrno(t.p.mem.Map(v, nil))
	}
	fd, e := hostMemfd("cgemu-shared", 0)
	if e != 0 {
		return e
	}
	defer fd.close()
	if e := fd.truncate(int64(v.Len())); e != 0 {
		return e
	}
	t.k.nextShared++
	v.Path, v.Dev, v.Ino = "/dev/zero (deleted)", 1, fsOf(t.k).inodes.virtual("/dev/zero:"+strconv.Itoa(int(t.k.nextShared)))
	return t.mapHost(v, fd)
}

// mappable reports whether f can be mapped as v asks.
func (t *Thread) mappable(v *mem.VMA, f file) linux.Errno {
	if b := f.base(); !b.readable() || v.Shared && v.Prot&mem.Write != 0 && !b.writable() {
		return linux.EACCES
	}
	_, sock := f.(socket)
	h, ok := f.(*hostFile)
	mapped := ok && h.onDisk() || isZero(f)
	switch {
	case !ok && !isDevice(f) && v.Prot&mem.Exec != 0:
		return linux.EPERM // nothing of the kernel's own file systems can be executed
	case !mapped && !sock:
		return linux.ENODEV
	case v.GrowsDown:
		return linux.EINVAL
	case !mapped:
		return linux.ENODEV
	}
	return 0
}

// isZero reports whether f is /dev/zero, which maps as memory without a file does.
func isZero(f file) bool {
	d, ok := f.(*memFile)
	return ok && d.rdev == devZero
}

// isDevice reports whether f is a device of ours.
func isDevice(f file) bool { return f.traits()&uniform != 0 }

// mapFile maps an open file that is mappable.
func (t *Thread) mapFile(v mem.VMA, f file) linux.Errno {
	if isZero(f) {
		return t.mapAnonymous(v)
	}
	h := f.(*hostFile)
	b := f.base()
	fd := h.fd
	if v.Shared && !b.writable() && fd.mayWrite() {
		// Standard input, which may be open for more on the host than for the guest: mprotect(2) must not make it writable.
		var e linux.Errno
		if fd, e = hostOpen(fd.again(), linux.O_RDONLY, 0, 0); e != 0 {
			return e
		}
		defer fd.close()
	}
	v.Path, v.Dev, v.Ino = h.name(t.k), virtualDev, h.ino
	if e := t.mapHost(v, fd); e != 0 {
		return e
	}
	if v.Prot&mem.Exec != 0 {
		t.mapped(v)
	}
	return 0
}

func (t *Thread) mapHost(v mem.VMA, fd hostFD) linux.Errno {
	src, e := fd.osFile(v.Path)
	if e != 0 {
		return e
	}
	defer src.Close()
	return memErrno(t.p.mem.Map(v, src))
}

// mapped tells the world outside of executable file mappings.
func (t *Thread) mapped(v mem.VMA) {
	if t.k.cfg.OnMap != nil {
		v.File = true
		t.k.cfg.OnMap(t.p.engine, v)
	}
}

// sysMunmap implements munmap(2).
func sysMunmap(t *Thread, a Args) (uint64, linux.Errno) {
	lo, hi, e := t.pages(a)
	if e != 0 {
		return 0, e
	}
	// "It is not an error if the indicated range does not contain any mapped
	// pages." - munmap(2)
	if memErrno(t.p.mem.Unmap(lo, hi)) != 0 {
		return 0, linux.EINVAL
	}
	return 0, 0
}

// pages reads a page-aligned address and a length that is not 0.
func (t *Thread) pages(a Args) (lo, hi emu.Addr, e linux.Errno) {
	lo = a.Addr(0)
	hi = lo + emu.Addr(a.Uint(1)).PageUp()
	if !lo.PageAligned() || a.Uint(1) == 0 || hi <= lo {
		return 0, 0, linux.EINVAL
	}
	return lo, hi, 0
}

// sysMprotect implements mprotect(2).
func sysMprotect(t *Thread, a Args) (uint64, linux.Errno) {
	lo, prot := a.Addr(0), a.Uint(2)
	if prot&(linux.PROT_GROWSDOWN|linux.PROT_GROWSUP) == linux.PROT_GROWSDOWN|linux.PROT_GROWSUP || !lo.PageAligned() {
		return 0, linux.EINVAL
	}
	if a.Uint(1) == 0 {
		return 0, 0
	}
	hi := lo + emu.Addr(a.Uint(1)).PageUp()
	if hi <= lo {
		return 0, linux.ENOMEM
	}
	if prot&^(protMask|linux.PROT_SEM|linux.PROT_GROWSDOWN|linux.PROT_GROWSUP) != 0 {
		return 0, linux.EINVAL
	}
	if prot&linux.PROT_GROWSUP != 0 && t.p.mem.VMA(lo) != nil {
		return 0, linux.EINVAL // no stack of x86 grows up
	}
	if prot&linux.PROT_GROWSDOWN != 0 {
		switch there := t.p.mem.Within(lo, hi); {
		case len(there) == 0:
			return 0, linux.ENOMEM
		case !there[0].GrowsDown:
			return 0, linux.EINVAL
		default:
			lo = there[0].Lo
		}
	}
	if !t.p.mayProtect(lo, hi, t.p.protOf(prot)) {
		return 0, linux.ENOMEM
	}
	if e := memErrno(t.p.mem.Protect(lo, hi, t.p.protOf(prot))); e != 0 {
		return 0, e
	}
	t.p.mem.Mark(lo, hi, func(v *mem.VMA) { v.WriteOnly = writeOnly(prot) })
	if prot&4 != 0 {
		for _, v := range t.p.mem.Within(lo, hi) {
			if v.File && v.Path != "" {
				t.mapped(v)
			}
		}
	}
	return 0, 0
}

// sysMremap implements mremap(2).
func sysMremap(t *Thread, a Args) (uint64, linux.Errno) {
	lo, oldLen, newLen, flags, to := a.Addr(0), emu.Addr(a.Uint(1)).PageUp(), emu.Addr(a.Uint(2)).PageUp(), a.Uint(3), a.Addr(4)
	m := t.p.mem
	if flags&^(linux.MREMAP_MAYMOVE|linux.MREMAP_FIXED|linux.MREMAP_DONTUNMAP) != 0 || !lo.PageAligned() || newLen == 0 ||
		flags&(linux.MREMAP_FIXED|linux.MREMAP_DONTUNMAP) != 0 && flags&linux.MREMAP_MAYMOVE == 0 || flags&linux.MREMAP_DONTUNMAP != 0 && oldLen != newLen {
		return 0, linux.EINVAL
	}
	v := m.VMA(lo)
	if v == nil {
		return 0, linux.EFAULT
	}
	if newLen > mem.MaxAddr {
		return 0, linux.ENOMEM
	}
	// With MREMAP_DONTUNMAP alone the target is a hint, but is checked, too.
	if flags&(linux.MREMAP_FIXED|linux.MREMAP_DONTUNMAP) != 0 &&
		(!to.PageAligned() || to+newLen < to || !t.p.reach(to+newLen) || to < lo+oldLen && lo < to+newLen) {
		return 0, linux.EINVAL
	}
	if flags&linux.MREMAP_FIXED != 0 && newLen < oldLen {
		if lo+newLen > v.Hi {
			return 0, linux.EFAULT
		}
		// What is in the way goes first, whatever comes of the rest.
		if e := memErrno(m.Unmap(to, to+newLen)); e != 0 {
			return 0, e
		}
		v = m.VMA(lo)
	}
	if lo+oldLen < lo {
		return 0, linux.EINVAL
	}
	if oldLen == 0 {
		return t.mapTwice(v, lo, newLen, flags, to)
	}
	if newLen <= oldLen && flags&(linux.MREMAP_FIXED|linux.MREMAP_DONTUNMAP) == 0 {
		// What is behind the new end may be several mappings, or none.
		if newLen < oldLen {
			return uint64(lo), memErrno(m.Unmap(lo+newLen, lo+oldLen))
		}
		return uint64(lo), 0
	}
	if flags&linux.MREMAP_FIXED != 0 && newLen < oldLen {
		if e := memErrno(m.Unmap(lo+newLen, lo+oldLen)); e != 0 {
			return 0, e
		}
		v, oldLen = m.VMA(lo), newLen
	}
	if lo+oldLen > v.Hi {
		return 0, linux.EFAULT
	}
	if flags&linux.MREMAP_FIXED != 0 && to < mem.MinAddr {
		return 0, linux.EPERM
	}
	if flags&linux.MREMAP_DONTUNMAP != 0 {
		return t.moveAway(v, lo, oldLen, flags, to)
	}
	if newLen > oldLen && v.Locked && !t.p.mayLock(uint64(newLen-oldLen)) {
		return 0, linux.EAGAIN
	}
	if newLen > oldLen && !t.p.mayResize(v, int64(newLen-oldLen)) {
		return 0, linux.ENOMEM
	}
	if flags&linux.MREMAP_FIXED != 0 {
		return uint64(to), memErrno(m.Move(lo, lo+oldLen, to, uint64(newLen)))
	}
	return t.resize(v, lo, oldLen, newLen, flags)
}

// mapTwice maps the pages of a shared mapping once more, which is what a length of 0 asks for.
func (t *Thread) mapTwice(v *mem.VMA, lo, n emu.Addr, flags uint64, to emu.Addr) (uint64, linux.Errno) {
	if !v.Shared {
		return 0, linux.EINVAL
	}
	if flags&linux.MREMAP_MAYMOVE == 0 {
		return 0, linux.ENOMEM
	}
	if flags&linux.MREMAP_FIXED == 0 {
		var ok bool
		if to, ok = t.p.find(uint64(n), 0); !ok {
			return 0, linux.ENOMEM
		}
	}
	return uint64(to), memErrno(t.p.mem.Duplicate(lo, to, uint64(n)))
}

// moveAway moves pages of private memory and leaves memory as it is when it is mapped (MREMAP_DONTUNMAP).
func (t *Thread) moveAway(v *mem.VMA, lo, n emu.Addr, flags uint64, to emu.Addr) (uint64, linux.Errno) {
	if v.File || v.Shared {
		return 0, linux.EINVAL
	}
	if flags&linux.MREMAP_FIXED == 0 {
		var ok bool
		if to, ok = t.p.find(uint64(n), to); !ok {
			return 0, linux.ENOMEM
		}
	}
	left := *v
	left.Lo, left.Hi, left.Locked = lo, lo+n, false
	if !t.p.mayPlace(&mem.VMA{Lo: to, Hi: to + n, Prot: v.Prot}) {
		return 0, linux.ENOMEM
	}
	if e := memErrno(t.p.mem.Move(lo, lo+n, to, uint64(n))); e != 0 {
		return 0, e
	}
	return uint64(to), memErrno(t.p.mem.Map(left, nil))
}

// resize grows a mapping in its place, or moves it if it may.
func (t *Thread) resize(v *mem.VMA, lo, oldLen, newLen emu.Addr, flags uint64) (uint64, linux.Errno) {
	m := t.p.mem
	end, want := lo+oldLen, lo+newLen
	if end == v.Hi && m.Free(end, want) && !t.p.inHeap(end, want) && t.p.reach(want) {
		return uint64(lo), memErrno(m.Move(lo, end, lo, uint64(newLen)))
	}
	if flags&linux.MREMAP_MAYMOVE == 0 {
		return 0, linux.ENOMEM
	}
	to, ok := t.p.find(uint64(newLen), 0)
	if !ok {
		return 0, linux.ENOMEM
	}
	return uint64(to), memErrno(m.Move(lo, end, to, uint64(newLen)))
}

// sysBrk implements brk(2): the new end of the heap, or the old one if it cannot be moved.
func sysBrk(t *Thread, a Args) (uint64, linux.Errno) {
	p := t.p
	want := a.Addr(0)
	if want < p.program.Brk || want > p.program.BrkLimit {
		return uint64(p.machine.brk), 0
	}
	old, end := p.machine.brk.PageUp(), want.PageUp()
	switch {
	case end > old:
		if !p.mem.Free(old, end) {
			return uint64(p.machine.brk), 0
		}
		v := mem.VMA{Lo: old, Hi: end, Prot: p.protOf(uint64(mem.Write)), Path: "[heap]", Locked: p.lockFuture}
		if t.k.cfg.Compat {
			v.Prot |= mem.Exec // Valgrind's heap is executable
		}
		if v.Locked && !p.mayLock(v.Len()) || !p.mayPlace(&v) || p.mem.Map(v, nil) != nil {
			return uint64(p.machine.brk), 0
		}
	case end < old:
		p.mem.Unmap(end, old)
	}
	p.machine.brk = want
	return uint64(p.machine.brk), 0
}

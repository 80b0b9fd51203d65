package syscalls

import (
	"errors"
	"math"
	"strconv"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/net"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
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
	case errors.Is(err, mem.ErrKind):
		return linux.ENODEV
	case errors.Is(err, mem.ErrRange), errors.Is(err, mem.ErrNotHere), errors.Is(err, mem.ErrMappings):
		return linux.ENOMEM
	}
	if e := host.ErrnoOf(err); e != linux.EIO {
		return e
	}
	return linux.ENOMEM
}

// protOf translates the prot argument. On x86 what can be written can be read.
func protOf(p *task.Process, arg uint64) mem.Prot {
	prot := mem.Prot(arg & protMask)
	if prot&(mem.Write|mem.Exec) != 0 {
		prot |= mem.Read
	}
	if prot&mem.Read != 0 && p.Persona&linux.READ_IMPLIES_EXEC != 0 {
		prot |= mem.Exec
	}
	return prot
}

// wishLimit is the end of the addresses that a program may wish for: Go's heap begins at 0xc000000000.
const wishLimit emu.Addr = 1 << 40

// writeOnly reports whether the prot argument asks for writing or execution, and not for reading.
func writeOnly(arg uint64) bool {
	return mem.Prot(arg)&mem.Read == 0 && mem.Prot(arg)&(mem.Write|mem.Exec) != 0
}

// find returns where length bytes go: first fit above the interpreter's place,
// around what is kept for brk.
func find(p *task.Process, length uint64, hint emu.Addr) (emu.Addr, bool) {
	m := p.Mem
	if h := hint.PageDown(); h >= mem.MinAddr && h+emu.Addr(length) > h && h+emu.Addr(length) <= wishLimit &&
		m.Free(h, h+emu.Addr(length)) && !inHeap(p, h, h+emu.Addr(length)) && p.GrowTo(h+emu.Addr(length)) {
		return h, true
	}
	from := mem.InterpBase
	a, ok := m.Find(length, from)
	if ok && inHeap(p, a, a+emu.Addr(length)) {
		from = p.Program.BrkLimit
		a, ok = m.Find(length, from)
	}
	if !ok && a+emu.Addr(length) > a && p.GrowTo(a+emu.Addr(length)) {
		return m.Find(length, from)
	}
	return a, ok
}

// inHeap reports whether [lo, hi) touches what is kept for brk.
func inHeap(p *task.Process, lo, hi emu.Addr) bool {
	return p.Program != nil && lo < p.Program.BrkLimit && hi > p.Program.Brk
}

// sysMmap implements mmap(2).
func sysMmap(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	addr, length, flags, off := a.Addr(0), a.Uint(1), a.Uint(3), a.Uint(5)
	if off%emu.PageSize != 0 {
		return 0, linux.EINVAL
	}
	var f files.File
	if flags&linux.MAP_ANONYMOUS == 0 {
		var e linux.Errno
		if f, e = files.GetRawFile(t, a.Int(4)); e == 0 && f.Base().Flags&linux.O_PATH != 0 {
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
	lo, e := mapAddr(t, addr, length, flags)
	if e != 0 {
		return 0, e
	}
	locked := flags&linux.MAP_LOCKED != 0
	if locked && t.Process.Limits[linux.RLIMIT_MEMLOCK].Cur == 0 {
		return 0, linux.EPERM
	}
	if locked = locked || t.Process.LockFuture; locked && !mayLock(t.Process, length) {
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
		Lo: lo, Hi: lo + emu.Addr(length), Prot: protOf(t.Process, a.Uint(2)), Off: off,
		Shared: flags&linux.MAP_TYPE != linux.MAP_PRIVATE, GrowsDown: flags&linux.MAP_GROWSDOWN != 0,
		Locked: locked, WriteOnly: writeOnly(a.Uint(2)),
	}
	if f != nil {
		if e := mappable(t, &v, f); e != 0 {
			return 0, e
		}
	} else if v.GrowsDown && v.Shared {
		return 0, linux.EINVAL
	}
	if !t.Process.MayMapOver(&v) {
		return 0, linux.ENOMEM
	}
	if f == nil {
		return uint64(lo), mapAnonymous(t, v)
	}
	return uint64(lo), mapFile(t, v, f)
}

// mapEnd is where mappings of a file may end: at the largest offset where it has one, else at the end of all numbers.
func mapEnd(f files.File) uint64 {
	switch f := f.(type) {
	case *files.HostFile:
		if f.OnDisk() {
			return math.MaxInt64
		}
	case *files.VirtualFile:
		if f.OnDisk() {
			return math.MaxInt64
		}
	}
	if _, ok := f.(net.Socket); ok {
		return math.MaxInt64
	}
	return math.MaxUint64
}

// mapAddr decides where a mapping goes.
func mapAddr(t *task.Thread, addr emu.Addr, length, flags uint64) (emu.Addr, linux.Errno) {
	if flags&(linux.MAP_FIXED|linux.MAP_FIXED_NOREPLACE) == 0 {
		// MAP_32BIT asks for the low 2 GiB, where first fit begins anyway.
		lo, ok := find(t.Process, length, addr)
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
	case flags&linux.MAP_FIXED_NOREPLACE != 0 && !t.Process.Mem.Free(addr, end):
		return 0, linux.EEXIST
	case !t.Process.GrowTo(end):
		return 0, linux.ENOMEM
	}
	return addr, 0
}

// MAP_ANONYMOUS maps memory without a file. Shared memory is a file without a name, so that
// it stays shared when a process forks.
func mapAnonymous(t *task.Thread, v mem.VMA) linux.Errno {
	v.Off = 0
	if !v.Shared {
		return memErrno(t.Process.Mem.Map(v, nil))
	}
	fd, e := host.Memfd("cgemu-shared", 0)
	if e != 0 {
		return e
	}
	defer fd.Close()
	if e := fd.Truncate(int64(v.Len())); e != 0 {
		return e
	}
	t.Kernel.NextShared++
	v.Path, v.Dev, v.Ino = "/dev/zero (deleted)", 1, files.SystemOf(t.Kernel).Inodes.Virtual("/dev/zero:"+strconv.Itoa(int(t.Kernel.NextShared)))
	return mapHost(t, v, fd)
}

// mappable reports whether f can be mapped as v asks.
func mappable(t *task.Thread, v *mem.VMA, f files.File) linux.Errno {
	if b := f.Base(); !b.Readable() || v.Shared && v.Prot&mem.Write != 0 && !b.Writable() {
		return linux.EACCES
	}
	_, sock := f.(net.Socket)
	h, ok := f.(*files.HostFile)
	own, virtual := f.(*files.VirtualFile)
	mapped := ok && h.OnDisk() || virtual && own.OnDisk() || isZero(f)
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
func isZero(f files.File) bool {
	d, ok := f.(*files.MemDevice)
	return ok && d.Rdev == files.DevZero
}

// isDevice reports whether f is a device of ours.
func isDevice(f files.File) bool { return f.Traits()&files.Uniform != 0 }

// mapFile maps an open file that is mappable.
func mapFile(t *task.Thread, v mem.VMA, f files.File) linux.Errno {
	if isZero(f) {
		return mapAnonymous(t, v)
	}
	if own, ok := f.(*files.VirtualFile); ok {
		return mapVirtual(t, v, own)
	}
	h := f.(*files.HostFile)
	b := f.Base()
	fd := h.FD
	if v.Shared && v.Prot&mem.Write != 0 && fd.Sealed() {
		return linux.EPERM
	}
	if v.Shared && !b.Writable() && fd.MayWrite() {
		// Standard input, which may be open for more on the host than for the guest: mprotect(2) must not make it
		// writable.
		var e linux.Errno
		if fd, e = host.Open(fd.Again(), linux.O_RDONLY, 0, 0); e != 0 {
			return e
		}
		defer fd.Close()
	}
	v.Path, v.Dev, v.Ino = h.Name(t.Kernel), files.VirtualDev, h.Ino
	if e := mapHost(t, v, fd); e != 0 {
		return e
	}
	if v.Prot&mem.Exec != 0 {
		mapped(t, v)
	}
	return 0
}

// mapVirtual maps a copy of the content of a file of ours.
func mapVirtual(t *task.Thread, v mem.VMA, f *files.VirtualFile) linux.Errno {
	fd, e := host.Memfd("cgemu-content", 0)
	if e != 0 {
		return e
	}
	defer fd.Close()
	v.Path, v.Dev, v.Ino = f.Path, files.VirtualDev, files.SystemOf(t.Kernel).Inodes.Virtual(f.Path)
	content := f.Content(t)
	switch n, e := fd.Writev([][]byte{content}, 0); {
	case e == linux.EFBIG || e == 0 && n < len(content): // the host's ulimit -f holds for files in memory, too
		return mapCopy(t, v, content)
	case e != 0:
		return e
	}
	return mapHost(t, v, fd)
}

// mapCopy maps memory without a file that has content, as v of a file with that content would. Behind its end it has
// zeros, where a file's pages fault.
func mapCopy(t *task.Thread, v mem.VMA, content []byte) linux.Errno {
	v.Shared = false
	if e := memErrno(t.Process.Mem.Map(v, nil)); e != 0 {
		return e
	}
	content = content[min(v.Off, uint64(len(content))):]
	if content = content[:min(v.Len(), uint64(len(content)))]; t.Process.Mem.Poke(v.Lo, content) < len(content) {
		return linux.ENOMEM
	}
	return 0
}

func mapHost(t *task.Thread, v mem.VMA, fd host.FD) linux.Errno {
	src, e := fd.OSFile(v.Path)
	if e != 0 {
		return e
	}
	defer src.Close()
	return memErrno(t.Process.Mem.Map(v, src))
}

// mapped reports an executable file mapping to Config.OnMap.
func mapped(t *task.Thread, v mem.VMA) {
	if t.Kernel.Config.OnMap != nil {
		v.File = true
		t.Kernel.Config.OnMap(t.Process.Engine, v)
	}
}

// sysMunmap implements munmap(2).
func sysMunmap(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	lo, hi, e := pages(t, a)
	if e != 0 {
		return 0, e
	}
	return 0, unmap(t.Process, lo, hi)
}

// unmap unmaps pages that may lie anywhere below the end of Linux's address space, which is above that of ours.
func unmap(p *task.Process, lo, hi emu.Addr) linux.Errno {
	if hi > uio.TaskSize {
		return linux.EINVAL
	}
	// "It is not an error if the indicated range does not contain any mapped
	// pages." - munmap(2)
	if hi = min(hi, p.Mem.Limit()); lo >= hi {
		return 0
	}
	return memErrno(p.Mem.Unmap(lo, hi))
}

// pages reads a page-aligned address and a length that is not 0.
func pages(t *task.Thread, a uio.Args) (lo, hi emu.Addr, e linux.Errno) {
	lo = a.Addr(0)
	hi = lo + emu.Addr(a.Uint(1)).PageUp()
	if !lo.PageAligned() || a.Uint(1) == 0 || hi <= lo {
		return 0, 0, linux.EINVAL
	}
	return lo, hi, 0
}

// sysMprotect implements mprotect(2).
func sysMprotect(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
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
	if prot&linux.PROT_GROWSUP != 0 && t.Process.Mem.VMA(lo) != nil {
		return 0, linux.EINVAL // no stack of x86 grows up
	}
	if prot&linux.PROT_GROWSDOWN != 0 {
		switch there := t.Process.Mem.Within(lo, hi); {
		case len(there) == 0:
			return 0, linux.ENOMEM
		case !there[0].GrowsDown:
			return 0, linux.EINVAL
		default:
			lo = there[0].Lo
		}
	}
	if !t.Process.MayProtect(lo, hi, protOf(t.Process, prot)) {
		return 0, linux.ENOMEM
	}
	e := memErrno(t.Process.Mem.Protect(lo, hi, protOf(t.Process, prot)))
	done := hi
	if e != 0 { // it is done up to a hole, or to what may not have it
		done = lo
		for v := t.Process.Mem.VMA(lo); v != nil && v.Prot == protOf(t.Process, prot) && done < hi; v = t.Process.Mem.VMA(done) {
			done = min(v.Hi, hi)
		}
	}
	if e2 := memErrno(t.Process.Mem.Mark(lo, done, func(v *mem.VMA) { v.WriteOnly = writeOnly(prot) })); e == 0 {
		e = e2
	}
	if e != 0 {
		return 0, e
	}
	if prot&4 != 0 {
		for _, v := range t.Process.Mem.Within(lo, hi) {
			if v.File && v.Path != "" {
				mapped(t, v)
			}
		}
	}
	return 0, 0
}

// sysMremap implements mremap(2).
func sysMremap(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	lo, oldLen, newLen, flags, to := a.Addr(0), emu.Addr(a.Uint(1)).PageUp(), emu.Addr(a.Uint(2)).PageUp(), a.Uint(3), a.Addr(4)
	m := t.Process.Mem
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
		(!to.PageAligned() || to+newLen < to || to+newLen > uio.TaskSize || to < lo+oldLen && lo < to+newLen) {
		return 0, linux.EINVAL
	}
	if flags&linux.MREMAP_FIXED != 0 && !t.Process.GrowTo(to+newLen) {
		return 0, linux.ENOMEM
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
		return mapTwice(t, v, lo, newLen, flags, to)
	}
	if newLen <= oldLen && flags&(linux.MREMAP_FIXED|linux.MREMAP_DONTUNMAP) == 0 {
		// What is behind the new end may be several mappings, or none.
		if newLen < oldLen {
			return uint64(lo), unmap(t.Process, lo+newLen, lo+oldLen)
		}
		return uint64(lo), 0
	}
	if flags&linux.MREMAP_FIXED != 0 && newLen < oldLen {
		if e := unmap(t.Process, lo+newLen, lo+oldLen); e != 0 {
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
		return moveAway(t, v, lo, oldLen, flags, to)
	}
	if newLen > oldLen && v.Locked && !mayLock(t.Process, uint64(newLen-oldLen)) {
		return 0, linux.EAGAIN
	}
	if newLen > oldLen && !t.Process.MayResize(v, int64(newLen-oldLen)) {
		return 0, linux.ENOMEM
	}
	if flags&linux.MREMAP_FIXED != 0 {
		return uint64(to), memErrno(m.Move(lo, lo+oldLen, to, uint64(newLen)))
	}
	return resize(t, v, lo, oldLen, newLen, flags)
}

// mapTwice maps the pages of a shared mapping once more, which is what a length of 0 asks for.
func mapTwice(t *task.Thread, v *mem.VMA, lo, n emu.Addr, flags uint64, to emu.Addr) (uint64, linux.Errno) {
	if !v.Shared {
		return 0, linux.EINVAL
	}
	if flags&linux.MREMAP_MAYMOVE == 0 {
		return 0, linux.ENOMEM
	}
	if flags&linux.MREMAP_FIXED == 0 {
		var ok bool
		if to, ok = find(t.Process, uint64(n), 0); !ok {
			return 0, linux.ENOMEM
		}
	}
	return uint64(to), memErrno(t.Process.Mem.Duplicate(lo, to, uint64(n)))
}

// moveAway moves pages of private memory and leaves memory as it is when it is mapped (MREMAP_DONTUNMAP).
func moveAway(t *task.Thread, v *mem.VMA, lo, n emu.Addr, flags uint64, to emu.Addr) (uint64, linux.Errno) {
	if v.File || v.Shared {
		return 0, linux.EINVAL
	}
	if flags&linux.MREMAP_FIXED == 0 {
		var ok bool
		if to, ok = find(t.Process, uint64(n), to); !ok {
			return 0, linux.ENOMEM
		}
	}
	left := *v
	left.Lo, left.Hi, left.Locked = lo, lo+n, false
	if !t.Process.MayMapOver(&mem.VMA{Lo: to, Hi: to + n, Prot: v.Prot}) {
		return 0, linux.ENOMEM
	}
	if e := memErrno(t.Process.Mem.Move(lo, lo+n, to, uint64(n))); e != 0 {
		return 0, e
	}
	return uint64(to), memErrno(t.Process.Mem.Map(left, nil))
}

// resize grows a mapping in its place, or moves it if it may.
func resize(t *task.Thread, v *mem.VMA, lo, oldLen, newLen emu.Addr, flags uint64) (uint64, linux.Errno) {
	m := t.Process.Mem
	end, want := lo+oldLen, lo+newLen
	if end == v.Hi && m.Free(end, want) && !inHeap(t.Process, end, want) && t.Process.GrowTo(want) {
		return uint64(lo), memErrno(m.Extend(lo, end, want))
	}
	if flags&linux.MREMAP_MAYMOVE == 0 {
		return 0, linux.ENOMEM
	}
	to, ok := find(t.Process, uint64(newLen), 0)
	if !ok {
		return 0, linux.ENOMEM
	}
	return uint64(to), memErrno(m.Move(lo, end, to, uint64(newLen)))
}

// sysBrk implements brk(2): the new end of the heap, or the old one if it cannot be moved.
func sysBrk(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	p := t.Process
	want := a.Addr(0)
	if want < p.Program.Brk || want > p.Program.BrkLimit {
		return uint64(p.Machine.Brk), 0
	}
	old, end := p.Machine.Brk.PageUp(), want.PageUp()
	switch {
	case end > old:
		if !p.Mem.Free(old, end) {
			return uint64(p.Machine.Brk), 0
		}
		v := mem.VMA{Lo: old, Hi: end, Prot: protOf(p, uint64(mem.Write)), Path: "[heap]", Locked: p.LockFuture}
		if t.Kernel.Config.Compat {
			v.Prot |= mem.Exec // Valgrind's heap is executable
		}
		if v.Locked && !mayLock(p, v.Len()) || !p.MayMapOver(&v) || p.Mem.Map(v, nil) != nil {
			return uint64(p.Machine.Brk), 0
		}
	case end < old:
		if p.Mem.Unmap(end, old) != nil {
			return uint64(p.Machine.Brk), 0
		}
	}
	p.Machine.Brk = want
	return uint64(p.Machine.Brk), 0
}

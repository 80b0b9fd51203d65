//go:build linux && amd64

package jit

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/emu"
)

// Sizes of the arena's parts, in bytes. The state block is followed by the
// counters and the code; all lie within the reach of a rel32.
const (
	stateSize   = hugePage
	hugePage    = 2 << 20
	counterSize = 64 << 20
	codeSize    = 256 << 20
	farSize     = 256 << 20
	arcsSize    = 2 << 20                // where indirect calls and jumps find the arcs of a call graph
	sumsSize    = 256<<20 + maxImageSums // what these count
	arenaSize   = stateSize + counterSize + arcsSize + sumsSize + codeSize + farSize

	counterOff = stateSize
	arcsOff    = counterOff + counterSize
	sumsOff    = arcsOff + arcsSize
	codeOff    = sumsOff + sumsSize
	farOff     = codeOff + codeSize
)

// The low part of the arena lies apart, below 2 GiB, where an absolute address fits into a displacement and
// into an immediate. It is there if more than instructions counts. Its offsets begin at lowOff.
const (
	lowOff    = 1 << 40
	ownSize   = 32 << 20
	linesSize = 8 << 20

	ownOff   = lowOff
	linesOff = ownOff + ownSize
	// tablesOff is where the tables of caches and predictors begin, if there are any.
	tablesOff = linesOff + linesSize
)

// An arena is the memory of generated code and of all it addresses directly.
type arena struct {
	base uintptr // of the view that executes
	mem  []byte  // the view that is written
	dual bool    // the two differ
	// low is the low part, at place when generated code runs; place is nil if there is no low part.
	low   []byte
	place *lowPlace
	// small are the offsets of parts while their beginnings are on small pages.
	small [len(partsInUse{})]int
}

// Arenas lie at addresses of their own, arenaStep apart, so that parts of two return addresses side by side are no
// address of code. A RET whose stack pointer is no multiple of 8 finds such a mixture on the shadow stack: it is not
// canonical, or nothing that can be executed is mapped there. (The upper part alone would be an address of the host's
// binary if arenas lay where the kernel puts them.)
const (
	firstArena = 0x2080_4000_0000
	arenaStep  = 1 << 32
)

// maxArenas is how many places there are, but for a test that has none.
var maxArenas = 128 * 31

// placeOfArena is where arena n lies if the host has that free. Bytes 5 and 4 of the address are 0x20 to 0x3e and 0x80
// to 0xff, bit 30 is set, and bit 31 is not, for all of the arena.
func placeOfArena(n int) uintptr {
	return firstArena + uintptr(n/128)<<40 + uintptr(n%128)*arenaStep
}

const _ = uint(1<<30 - arenaSize) // else bit 31 would be set at its end

// mapPlaced maps an arena at the first place that is free; elsewhere, on huge pages' boundaries, if none is.
func mapPlaced(prot, flags, fd int) (uintptr, error) {
	for n := range maxArenas {
		want := placeOfArena(n)
		p, err := rawMmap(want, arenaSize, prot, flags|unix.MAP_FIXED_NOREPLACE, fd)
		if err == nil && p == want {
			return p, nil
		}
		if err == nil { // before Linux 4.17
			unix.Syscall(unix.SYS_MUNMAP, p, arenaSize, 0)
		}
		if err != unix.EEXIST {
			break
		}
	}
	room, err := rawMmap(0, arenaSize+hugePage, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE, -1)
	if err != nil {
		return 0, err
	}
	p := (room + hugePage - 1) &^ (hugePage - 1)
	unix.Syscall(unix.SYS_MUNMAP, room, p-room, 0)
	unix.Syscall(unix.SYS_MUNMAP, p+arenaSize, room+hugePage-p, 0)
	if _, err = rawMmap(p, arenaSize, prot, flags|unix.MAP_FIXED, fd); err != nil {
		unix.Syscall(unix.SYS_MUNMAP, p, arenaSize, 0)
	}
	return p, err
}

// mapArena is newArena, or what a test puts in its place.
var mapArena = newArena

// newArena maps the arena: executable and writable where the host allows it, else twice. Counters and code lie on huge
// pages if the host has them: fewer faults, fewer TLB misses. Most processes need little of the state and of the first
// far code, and many need little of the first counters and code and of the arcs, which are small pages until enlarge.
func newArena() (arena, error) {
	p, err := mapPlaced(unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE, -1)
	if err == nil {
		a := arena{base: p, mem: bytesAt(p, arenaSize)}
		first := 0
		if a.advise(0, 0, unix.MADV_COLLAPSE) == 0 { // since Linux 6.1
			a.small, first = [...]int{counterOff, arcsOff, sumsOff, codeOff}, hugePage
		}
		for _, part := range [][2]int{{counterOff + first, arcsOff}, {arcsOff + first, sumsOff}, {sumsOff + first, codeOff}, {codeOff + first, farOff}, {farOff + hugePage, arenaSize}} {
			if part[0] < part[1] {
				a.advise(part[0], part[1], unix.MADV_HUGEPAGE)
			}
		}
		return a, nil
	}
	return newDualArena()
}

// advise tells the kernel how offsets from lo to hi will be used.
func (a *arena) advise(lo, hi, advice int) unix.Errno {
	_, _, errno := unix.Syscall(unix.SYS_MADVISE, a.base+uintptr(lo), uintptr(hi-lo), uintptr(advice))
	return errno
}

// populate has the kernel make the pages of offsets from lo to hi, all of which are written to now. It is a hint.
func (a *arena) populate(lo, hi int) {
	a.advise(lo&^(emu.PageSize-1), (hi+emu.PageSize-1)&^(emu.PageSize-1), unix.MADV_POPULATE_WRITE)
}

// smallUse is how many bytes of a part are left on small pages: a huge page takes 0.3 ms to be zeroed, and ten times as
// long where the host is a virtual machine whose own host gives it memory only then.
const smallUse = 256 << 10

// partsInUse has how many bytes are in use of counters, of the table of arcs, of what these count and of code.
type partsInUse [4]int

// enlarge puts the beginnings of parts on huge pages of which smallUse bytes, or more, are used now.
func (a *arena) enlarge(parts partsInUse) {
	for i, use := range parts {
		if off := a.small[i]; off != 0 && use >= smallUse {
			a.advise(off, off+hugePage, unix.MADV_HUGEPAGE)
			a.advise(off, off+hugePage, unix.MADV_COLLAPSE)
			a.small[i] = 0
		}
	}
}

// newDualArena maps the arena twice, for writing and for executing.
func newDualArena() (arena, error) {
	fd, err := unix.MemfdCreate("cgemu-code", unix.MFD_CLOEXEC)
	if err != nil {
		return arena{}, fmt.Errorf("jit: this host allows no executable memory: %w", err)
	}
	defer unix.Close(fd)
	if err := unix.Ftruncate(fd, arenaSize); err != nil {
		return arena{}, fmt.Errorf("jit: sizing code memory: %w", err)
	}
	w, err := rawMmap(0, arenaSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED, fd)
	if err != nil {
		return arena{}, fmt.Errorf("jit: mapping code memory for writing: %w", err)
	}
	p, err := mapPlaced(unix.PROT_READ|unix.PROT_EXEC, unix.MAP_SHARED, fd)
	if err != nil {
		return arena{}, fmt.Errorf("jit: this host allows no executable memory: %w", err)
	}
	// State and counters are written by generated code itself.
	_, _, e := unix.Syscall(unix.SYS_MPROTECT, p, codeOff, unix.PROT_READ|unix.PROT_WRITE)
	if e != 0 {
		return arena{}, fmt.Errorf("jit: mapping counters: %w", e)
	}
	return arena{base: p, mem: bytesAt(w, arenaSize), dual: true}, nil
}

// forget gives the memory of counters and of code back, which reads as 0 then, if it is the arena's alone.
func (a *arena) forget() {
	if !a.dual {
		a.advise(counterOff, arcsOff, unix.MADV_DONTNEED)
		a.advise(codeOff, arenaSize, unix.MADV_DONTNEED)
	}
}

func (a *arena) close() {
	if a.base == 0 {
		return
	}
	if a.dual {
		unix.Syscall(unix.SYS_MUNMAP, uintptr(unsafe.Pointer(&a.mem[0])), arenaSize, 0)
	}
	unix.Syscall(unix.SYS_MUNMAP, a.base, arenaSize, 0)
	if a.place != nil {
		a.place.leave(a)
	}
	a.base = 0
}

// byteAt returns the byte at an arena offset.
func (a *arena) byteAt(off int) *byte {
	if off >= lowOff {
		return &a.low[off-lowOff]
	}
	return &a.mem[off]
}

// word returns the 64-bit word at an arena offset.
func (a *arena) word(off int) *uint64 { return (*uint64)(unsafe.Pointer(a.byteAt(off))) }

// words returns n 64-bit words from an arena offset on.
func (a *arena) words(off, n int) []uint64 { return unsafe.Slice(a.word(off), n) }

// hostAddr returns the host address of an arena offset, as executed.
func (a *arena) hostAddr(off int) uint64 {
	if off >= lowOff {
		return uint64(a.place.at) + uint64(off-lowOff)
	}
	return uint64(a.base) + uint64(off)
}

func bytesAt(p uintptr, n int) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(nil), p)), n)
}

func rawMmap(addr, length uintptr, prot, flags, fd int) (uintptr, error) {
	p, _, e := unix.Syscall6(unix.SYS_MMAP, addr, length, uintptr(prot), uintptr(flags), uintptr(fd), 0)
	if e != 0 {
		return 0, e
	}
	return p, nil
}

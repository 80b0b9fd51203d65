//go:build linux && amd64

package jit

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Sizes of the arena's parts, in bytes. The state block is followed by the
// counters and the code; all lie within the reach of a rel32.
const (
	stateSize   = hugePage
	hugePage    = 2 << 20
	counterSize = 64 << 20
	ownSize     = 64 << 20
	linesSize   = 32 << 20
	codeSize    = 256 << 20
	farSize     = 128 << 20
	arenaSize   = stateSize + counterSize + ownSize + linesSize + codeSize + farSize

	counterOff = stateSize
	ownOff     = counterOff + counterSize
	linesOff   = ownOff + ownSize
	codeOff    = linesOff + linesSize
	farOff     = codeOff + codeSize
	// tablesOff is where the tables of caches and predictors begin, if there are any.
	tablesOff = farOff + farSize
)

// An arena is the memory of generated code and of all it addresses directly.
type arena struct {
	base uintptr // of the view that executes
	mem  []byte  // the view that is written
	dual bool    // the two differ
	low  bool    // it lies below 2 GiB: an absolute address fits into a displacement
}

// mapArena is newArena, or what a test puts in its place.
var mapArena = newArena

// newArena maps an arena with room for tables: executable and writable where the host
// allows it, else twice. Counters and code lie on huge pages if the host has them: fewer
// faults, fewer TLB misses. It lies low if the host has room there and there are tables.
func newArena(tables int) (arena, error) {
	size := uintptr(arenaSize + tables)
	p, low, err := mapLow(tables > 0, size+hugePage, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC,
		unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE, -1)
	if err == nil {
		end := p + size + hugePage
		p = (p + hugePage - 1) &^ (hugePage - 1)
		unix.Syscall(unix.SYS_MUNMAP, p+size, end-p-size, 0)
		unix.Syscall(unix.SYS_MADVISE, p, size, unix.MADV_HUGEPAGE)
		return arena{base: p, mem: bytesAt(p, int(size)), low: low}, nil
	}
	return newDualArena(tables)
}

// mapLow maps memory below 2 GiB if wanted and possible, else anywhere.
func mapLow(want bool, size uintptr, prot, flags, fd int) (p uintptr, low bool, err error) {
	if want {
		if p, err = rawMmap(0, size, prot, flags|unix.MAP_32BIT, fd); err == nil {
			return p, true, nil
		}
	}
	p, err = rawMmap(0, size, prot, flags, fd)
	return p, false, err
}

// newDualArena maps the arena twice, for writing and for executing.
func newDualArena(tables int) (arena, error) {
	size := uintptr(arenaSize + tables)
	fd, err := unix.MemfdCreate("cgemu-code", unix.MFD_CLOEXEC)
	if err != nil {
		return arena{}, fmt.Errorf("jit: this host allows no executable memory: %w", err)
	}
	defer unix.Close(fd)
	if err := unix.Ftruncate(fd, int64(size)); err != nil {
		return arena{}, fmt.Errorf("jit: sizing code memory: %w", err)
	}
	w, err := rawMmap(0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED, fd)
	if err != nil {
		return arena{}, fmt.Errorf("jit: mapping code memory for writing: %w", err)
	}
	p, low, err := mapLow(tables > 0, size, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_SHARED, fd)
	if err != nil {
		return arena{}, fmt.Errorf("jit: this host allows no executable memory: %w", err)
	}
	// State, counters and tables are written by generated code itself.
	_, _, e := unix.Syscall(unix.SYS_MPROTECT, p, codeOff, unix.PROT_READ|unix.PROT_WRITE)
	if e == 0 && tables > 0 {
		_, _, e = unix.Syscall(unix.SYS_MPROTECT, p+tablesOff, uintptr(tables), unix.PROT_READ|unix.PROT_WRITE)
	}
	if e != 0 {
		return arena{}, fmt.Errorf("jit: mapping counters: %w", e)
	}
	return arena{base: p, mem: bytesAt(w, int(size)), dual: true, low: low}, nil
}

func (a *arena) close() {
	if a.dual {
		unix.Syscall(unix.SYS_MUNMAP, uintptr(unsafe.Pointer(&a.mem[0])), uintptr(len(a.mem)), 0)
	}
	unix.Syscall(unix.SYS_MUNMAP, a.base, uintptr(len(a.mem)), 0)
}

// word returns the 64-bit word at an arena offset.
func (a *arena) word(off int) *uint64 { return (*uint64)(unsafe.Pointer(&a.mem[off])) }

// words returns n 64-bit words from an arena offset on.
func (a *arena) words(off, n int) []uint64 { return unsafe.Slice(a.word(off), n) }

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

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
	codeSize    = 256 << 20
	farSize     = 128 << 20
	arenaSize   = stateSize + counterSize + codeSize + farSize

	counterOff = stateSize
	codeOff    = counterOff + counterSize
	farOff     = codeOff + codeSize
)

// An arena is the memory of generated code and of all it addresses directly.
type arena struct {
	base uintptr // of the view that executes
	mem  []byte  // the view that is written
	dual bool    // the two differ
}

// mapArena is newArena, or what a test puts in its place.
var mapArena = newArena

// newArena maps the arena: executable and writable where the host allows it, else twice.
// Counters and code lie on huge pages if the host has them: fewer faults, fewer TLB misses.
func newArena() (arena, error) {
	p, err := rawMmap(0, arenaSize+hugePage, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC,
		unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE, -1)
	if err == nil {
		end := p + arenaSize + hugePage
		p = (p + hugePage - 1) &^ (hugePage - 1)
		unix.Syscall(unix.SYS_MUNMAP, p+arenaSize, end-p-arenaSize, 0)
		unix.Syscall(unix.SYS_MADVISE, p, arenaSize, unix.MADV_HUGEPAGE)
		return arena{base: p, mem: bytesAt(p, arenaSize)}, nil
	}
	return newDualArena()
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
	p, err := rawMmap(0, arenaSize, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_SHARED, fd)
	if err != nil {
		return arena{}, fmt.Errorf("jit: this host allows no executable memory: %w", err)
	}
	// State, shadow stack and counters are written by generated code itself.
	_, _, e := unix.Syscall(unix.SYS_MPROTECT, p, codeOff, unix.PROT_READ|unix.PROT_WRITE)
	if e != 0 {
		return arena{}, fmt.Errorf("jit: mapping counters: %w", e)
	}
	return arena{base: p, mem: bytesAt(w, arenaSize), dual: true}, nil
}

func (a *arena) close() {
	if a.dual {
		unix.Syscall(unix.SYS_MUNMAP, uintptr(unsafe.Pointer(&a.mem[0])), arenaSize, 0)
	}
	unix.Syscall(unix.SYS_MUNMAP, a.base, arenaSize, 0)
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

//go:build linux && amd64

package jit

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
)

// A shadow is the shadow stack: host memory as large as the guest's address space, so
// that every place of a guest stack has its counterpart. A guest CALL stores the
// guest's return address in the guest's stack and, by a host CALL at the
// counterpart, the host's; RET is a host RET there. So the host predicts
// returns, and stacks may be switched and frames skipped without a word to us (RATIONALE.md,
// "Returns").
//
// Pages are made accessible when a CALL first faults on them. A place no CALL
// wrote to holds 0, and a RET that finds that faults.
type shadow struct {
	base, size uintptr
	windows    map[uintptr]bool
}

// shadowGuard is reserved above it, so that it takes as much as a guest's memory: each fits where another was.
const shadowGuard = mem.Guard + mem.GuardAbove

// shadowSkew keeps a place and its counterpart from being equal modulo the size of a page: a load would wait for a store to the other one, as the CPU
// compares the low bits of addresses first.
const shadowSkew = 2112

// windowSize is how much is made accessible at once.
const windowSize = 64 << 10

// reserve gives the stack its addresses, for a guest with limit.
func (s *shadow) reserve(limit emu.Addr) error {
	p, err := rawMmap(0, uintptr(limit)+shadowGuard, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE, -1)
	if err != nil {
		return fmt.Errorf("jit: reserving the shadow stack: %w", err)
	}
	s.base, s.size, s.windows = p+shadowSkew, uintptr(limit), map[uintptr]bool{}
	return nil
}

// has reports whether host address p lies in the shadow stack.
func (s *shadow) has(p uintptr) bool { return p-s.base < s.size }

// open makes the place at host address p accessible.
func (s *shadow) open(p uintptr) error {
	w := p &^ (windowSize - 1)
	_, _, e := unix.Syscall(unix.SYS_MPROTECT, w, windowSize, unix.PROT_READ|unix.PROT_WRITE)
	if e != 0 {
		return fmt.Errorf("jit: growing the shadow stack: %w", e)
	}
	s.windows[w] = true
	return nil
}

// opened reports whether the place at host address p is accessible.
func (s *shadow) opened(p uintptr) bool { return s.windows[p&^(windowSize-1)] }

// put writes a host address to the place at host address p, which is accessible.
func (s *shadow) put(p uintptr, to uint64) { *(*uint64)(unsafe.Add(unsafe.Pointer(nil), p)) = to }

// forget makes all places 0: the code they led to is gone.
func (s *shadow) forget() {
	for w := range s.windows {
		unix.Syscall(unix.SYS_MADVISE, w, windowSize, unix.MADV_DONTNEED)
	}
}

// release gives the addresses back, and what the stack holds.
func (s *shadow) release() {
	if s.base != 0 {
		unix.Syscall(unix.SYS_MUNMAP, s.base-shadowSkew, s.size+shadowGuard, 0)
		s.base, s.windows = 0, nil
	}
}

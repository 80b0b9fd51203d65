//go:build linux && amd64

package jit

import (
	"fmt"
	"sync/atomic"
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
// A shadow stack lies near if its places are nearBias beyond those of the guest, so that code knows the distance: it
// takes no register, and no load. One of the process does, if the host has these addresses free: Go's heap, which
// begins anywhere since Go 1.26, lies there in one process of a few hundred.
//
// Pages are made accessible when a CALL first faults on them. A place no CALL
// wrote to holds 0, and a RET that finds that faults.
type shadow struct {
	base, size uintptr // base is the counterpart of guest address 0
	windows    pieces  // of what is reserved
}

// nearBias is how far the places of a shadow stack that lies near are beyond the guest's: a displacement of 32 bits,
// with room for what else code adds. What is reserved begins at nearStart, with the lowest address that a guest may
// map: the host's binary, and what has to lie below 2 GiB, are below.
const (
	nearBias  = nearStart - int64(mem.MinAddr) + shadowSkew
	nearStart = 1 << 31
)

// shadowGuard is reserved above it, so that it takes as much as a guest's memory: each fits where another was.
const shadowGuard = mem.Guard + mem.GuardAbove

// shadowSkew keeps a place and its counterpart from being equal modulo the size of a page: a load would wait for a
// store to the other one, as the CPU compares the low bits of addresses first.
const shadowSkew = 2112

// windowSize is how much is made accessible at once.
const windowSize = 64 << 10

// reserve gives the stack its addresses, for a guest with limit.
func (s *shadow) reserve(limit emu.Addr) error {
	n := uintptr(limit) + shadowGuard
	p, err := rawMmap(0, n, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE, -1)
	if err != nil {
		return fmt.Errorf("jit: reserving %d GiB of addresses for the shadow stack: %w; --engine=interp does without", n>>30, err)
	}
	*s = shadow{base: p + shadowSkew, size: uintptr(limit), windows: newPieces(p, n, windowSize)}
	return nil
}

// nearTaken says that a shadow stack lies near.
var nearTaken atomic.Bool

// reserveNear gives it addresses near, and reports whether the host has them free. Those that are reserved for the
// directory of jump tables it shares with that.
func (s *shadow) reserveNear(limit emu.Addr) bool {
	if !nearTaken.CompareAndSwap(false, true) {
		return false
	}
	n, kept := uintptr(limit)+shadowGuard, uintptr(0)
	if d := directoryAt(); d != 0 {
		kept = min(n, d+directorySize-nearStart)
	}
	if at := nearStart + kept; kept < n {
		p, err := rawMmap(at, n-kept, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE|unix.MAP_FIXED_NOREPLACE, -1)
		if err == nil && p != at { // before Linux 4.17
			unix.Syscall(unix.SYS_MUNMAP, p, n-kept, 0)
		}
		if p != at {
			nearTaken.Store(false)
			return false
		}
	}
	*s = shadow{base: uintptr(nearBias), size: uintptr(limit), windows: newPieces(nearStart, n, windowSize)}
	s.windows.kept = kept
	return true
}

// near reports whether it lies near.
func (s *shadow) near() bool { return s.base == uintptr(nearBias) }

// has reports whether host address p lies in the shadow stack.
func (s *shadow) has(p uintptr) bool { return p >= s.windows.at && p-s.base < s.size }

// open makes the place at host address p accessible. If there is no room for that, all other places become 0, as
// forget makes them.
func (s *shadow) open(p uintptr) error {
	if _, err := s.windows.add(s.window(p)); err != nil {
		return fmt.Errorf("jit: growing the shadow stack: %w", err)
	}
	return nil
}

// opened reports whether the place at host address p is accessible.
func (s *shadow) opened(p uintptr) bool { return s.windows.has(s.window(p)) }

// windowAt returns the host addresses, [lo, hi), of the window with the place at host address p.
func (s *shadow) windowAt(p uintptr) (lo, hi uintptr) {
	lo = s.windows.at + s.window(p)*windowSize
	return lo, lo + windowSize
}

// window is the number of that with the place at host address p.
func (s *shadow) window(p uintptr) uintptr { return (p - s.windows.at) / windowSize }

// put writes a host address to the place at host address p, which is accessible.
func (s *shadow) put(p uintptr, to uint64) { *(*uint64)(unsafe.Add(unsafe.Pointer(nil), p)) = to }

// forget makes all places 0: the code they led to is gone.
func (s *shadow) forget() { s.windows.clear() }

// release gives the addresses back, and what the stack holds.
func (s *shadow) release() {
	near := s.near()
	s.windows.release()
	if near {
		nearTaken.Store(false)
	}
	*s = shadow{}
}

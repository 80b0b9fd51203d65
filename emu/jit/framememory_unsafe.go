//go:build linux && amd64

package jit

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/emu/callgraph"
)

// A frameMemory has the frames of the functions that are active. It has room for more than a stack of 512 MiB that
// holds nothing but return addresses: its pages are there once they are used.
type frameMemory struct {
	base uint64
	size uintptr
}

const (
	frameMemorySize = 1 << 30
	// frameGuard is behind it: a frame too many faults there.
	frameGuard = hugePage
)

// frameRoom is frameMemorySize, but for a test that fills it.
var frameRoom uintptr = frameMemorySize

func (f *frameMemory) reserve() error {
	p, err := rawMmap(0, frameRoom+frameGuard, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE, -1)
	if err == nil {
		if _, _, e := unix.Syscall(unix.SYS_MPROTECT, p, frameRoom, unix.PROT_READ|unix.PROT_WRITE); e != 0 {
			unix.Syscall(unix.SYS_MUNMAP, p, frameRoom+frameGuard, 0)
			err = e
		}
	}
	if err != nil {
		return fmt.Errorf("jit: reserving memory for the call graph: %w", err)
	}
	unix.Syscall(unix.SYS_MADVISE, p, frameRoom, unix.MADV_NOHUGEPAGE) // few are in use
	f.base, f.size = uint64(p), frameRoom
	return nil
}

// slice returns the memory as frames, none of which are in use.
func (f *frameMemory) slice() []callgraph.Frame {
	return unsafe.Slice((*callgraph.Frame)(unsafe.Pointer(&bytesAt(uintptr(f.base), 1)[0])), f.size/frameSize)[:0]
}

// overflowed reports whether host address p lies in the guard.
func (f *frameMemory) overflowed(p uint64) bool {
	return f.base != 0 && p-f.base-uint64(f.size) < frameGuard
}

func (f *frameMemory) close() {
	if f.base != 0 {
		unix.Syscall(unix.SYS_MUNMAP, uintptr(f.base), f.size+frameGuard, 0)
		f.base = 0
	}
}

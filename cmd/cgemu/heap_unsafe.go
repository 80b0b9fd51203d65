//go:build linux

package main

import (
	"os"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// hugeHeap has the kernel give the first hugeHeapSize bytes of the heap huge pages: see RATIONALE.md, "Why has the heap
// huge pages?". It takes an address range, but no memory. Kernels without huge pages refuse it, and it does nothing
// where there are not four times as many addresses.
func hugeHeap() error {
	// Where addresses are scarce (ulimit -v) the runtime would end the process.
	room, err := unix.Mmap(-1, 0, 4*hugeHeapSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	if err := unix.Munmap(room); err != nil {
		return err
	}
	others := runtime.NumGoroutine()
	top := make(chan uintptr)
	go func() { top <- takeStack(false) }()
	page := uintptr(os.Getpagesize())
	end := (<-top + page - 1) &^ (page - 1)
	for n := 0; n < 2000 && runtime.NumGoroutine() > others; n++ { // what follows is put where its stack was
		if n < 1000 {
			runtime.Gosched()
		} else {
			time.Sleep(20 * time.Microsecond) // its thread does not get a CPU
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_MADVISE, end-hugeHeapSize, hugeHeapSize, unix.MADV_HUGEPAGE); errno != 0 {
		return errno
	}
	return nil
}

// hugeHeapSize is what most runs need.
const hugeHeapSize = 128 << 20

// takeStack has the runtime take a stack of hugeHeapSize bytes from the heap for its goroutine, which gives it back
// when it ends, without a collection. Its frame has room for what wide returns, more than half of that. touch is false,
// so that no more of it is touched than the stack's end, where the address is that takeStack returns.
//
//go:noinline
func takeStack(touch bool) uintptr {
	var here byte
	if touch {
		_ = wide()
	}
	return uintptr(unsafe.Pointer(&here))
}

// wide has a result that is larger than half of the stack that is wanted.
//
//go:noinline
func wide() (b [hugeHeapSize/2 + 1]byte) { return b }

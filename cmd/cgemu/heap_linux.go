package main

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// hugeHeap has the kernel give the first hugeHeapSize bytes of the heap huge pages: see RATIONALE.md, "Why has the heap huge pages?". It takes an address
// range, but no memory. Kernels without huge pages refuse it, and it does nothing where there are not four times as many addresses.
func hugeHeap() error {
	// Where addresses are scarce (ulimit -v) the runtime would end the process.
	room, err := unix.Mmap(-1, 0, 4*hugeHeapSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	if err := unix.Munmap(room); err != nil {
		return err
	}
	b := make([]byte, hugeHeapSize)
	err = unix.Madvise(b, unix.MADV_HUGEPAGE)
	runtime.KeepAlive(b)
	runtime.GC() // what follows is put where b was
	return err
}

// hugeHeapSize is what most runs need.
const hugeHeapSize = 256 << 20

package main

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// hugeHeap has the kernel give the first hugeHeapSize bytes of the heap huge pages: see RATIONALE.md, "Why has the heap huge pages?". It takes an address
// range, but no memory. Kernels without huge pages refuse it.
func hugeHeap() error {
	b := make([]byte, hugeHeapSize)
	err := unix.Madvise(b, unix.MADV_HUGEPAGE)
	runtime.KeepAlive(b)
	runtime.GC() // what follows is put where b was
	return err
}

// hugeHeapSize is what most runs need.
const hugeHeapSize = 256 << 20

package store

import "syscall"

// forget has the kernel take whole pages of a mapped file back.
func forget(pages []byte) { syscall.Madvise(pages, syscall.MADV_DONTNEED) }

//go:build darwin || freebsd || (linux && portable)

package mem

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// mmapAt is mmap(2) of memory that can be read and written.
func mmapAt(p, n uintptr, flags int) (uintptr, error) {
	at, err := unix.MmapPtr(-1, 0, unsafe.Add(unsafe.Pointer(nil), p), n, unix.PROT_READ|unix.PROT_WRITE, flags)
	return uintptr(at), err
}

func munmapAt(p, n uintptr) error { return unix.MunmapPtr(unsafe.Add(unsafe.Pointer(nil), p), n) }

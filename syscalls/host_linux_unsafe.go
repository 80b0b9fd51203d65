//go:build linux

package syscalls

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// hostIoctl makes an ioctl whose argument is a structure of len(b) bytes, none if b is empty.
func hostIoctl(fd int, req uintptr, b []byte) Errno {
	var p unsafe.Pointer
	if len(b) > 0 {
		p = unsafe.Pointer(&b[0])
	}
	_, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), req, uintptr(p))
	return Errno(e)
}

//go:build linux

package host

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// ioctl makes an ioctl whose argument is a structure of len(b) bytes, none if b is empty.
func ioctl(fd int, req uintptr, b []byte) linux.Errno {
	var p unsafe.Pointer
	if len(b) > 0 {
		p = unsafe.Pointer(&b[0])
	}
	_, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), req, uintptr(p))
	return linux.Errno(e)
}

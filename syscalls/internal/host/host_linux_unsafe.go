//go:build linux

package host

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// futimens sets the times of an open file. (The function of that name in package unix goes over a path.)
func futimens(fd int, times []unix.Timespec) error {
	_, _, e := unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(fd), 0, uintptr(unsafe.Pointer(&times[0])), 0, 0, 0)
	if e != 0 {
		return e
	}
	return nil
}

// ioctl makes an ioctl whose argument is a structure of len(b) bytes, none if b is empty.
func ioctl(fd int, req uintptr, b []byte) linux.Errno {
	var p unsafe.Pointer
	if len(b) > 0 {
		p = unsafe.Pointer(&b[0])
	}
	_, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), req, uintptr(p))
	return linux.Errno(e)
}

//go:build linux && !portable

package host

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// futimens sets the times of an open file. (The function of that name in package unix goes over a path.)
func futimens(fd int, times []unix.Timespec) error {
	_, _, e := unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(fd), 0, uintptr(unsafe.Pointer(&times[0])), 0, 0, 0)
	if e != 0 {
		return e
	}
	return nil
}

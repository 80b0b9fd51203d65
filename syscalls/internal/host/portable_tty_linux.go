//go:build portable

package host

import (
	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// getTermios is the request for a terminal's settings.
const getTermios = unix.TCGETS

// terminal passes a request for a terminal to the host.
func terminal(fd int, req uint32, b []byte) linux.Errno { return ioctl(fd, uintptr(req), b) }

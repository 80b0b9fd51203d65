//go:build portable

package host

import (
	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// IsTerminal reports whether f is one.
func (f FD) IsTerminal() (yes bool) {
	h, e := f.os()
	if e != 0 {
		return false
	}
	_ = control(h, func(fd int) {
		_, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		yes = err == nil
	})
	return yes
}

// Ioctl passes a terminal request whose argument is a structure of len(b) bytes.
func (f FD) Ioctl(req uint32, b []byte) linux.Errno {
	h, e := f.os()
	if e != 0 {
		return e
	}
	_ = control(h, func(fd int) { e = ioctl(fd, uintptr(req), b) })
	return e
}

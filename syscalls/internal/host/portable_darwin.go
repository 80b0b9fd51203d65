package host

import (
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// ownErrnos are errors that only this host has, or has twice (sys/errno.h).
var ownErrnos = map[syscall.Errno]linux.Errno{unix.ENOTSUP: linux.EOPNOTSUPP, unix.EFTYPE: linux.EINVAL}

var ownTermBits = []termBit{{0, linux.IUTF8, unix.IUTF8}}

// setWord sets a word of struct termios, which has 64 bits here.
func setWord(t *unix.Termios, i int, w uint64) {
	*[4]*uint64{&t.Iflag, &t.Oflag, &t.Cflag, &t.Lflag}[i] = w
}

// deviceParts takes the number of a device apart.
func deviceParts(dev uint64) (major, minor uint32) { return unix.Major(dev), unix.Minor(dev) }

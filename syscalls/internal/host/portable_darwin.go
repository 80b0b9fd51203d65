package host

import (
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// ownErrnos are errors that only this host has, or has twice (sys/errno.h).
var ownErrnos = map[syscall.Errno]linux.Errno{unix.ENOTSUP: linux.EOPNOTSUPP, unix.EFTYPE: linux.EINVAL}

// setWord sets a word of struct termios, which has 64 bits here.
func setWord(t *unix.Termios, i int, w uint64) {
	*[4]*uint64{&t.Iflag, &t.Oflag, &t.Cflag, &t.Lflag}[i] = w
}

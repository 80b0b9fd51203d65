package host

import (
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// ownErrnos are errors that only this host has, or has twice (sys/errno.h).
var ownErrnos = map[syscall.Errno]linux.Errno{unix.EFTYPE: linux.EINVAL}

// setWord sets a word of struct termios, which has 32 bits here.
func setWord(t *unix.Termios, i int, w uint64) {
	*[4]*uint32{&t.Iflag, &t.Oflag, &t.Cflag, &t.Lflag}[i] = uint32(w)
}

package host

import (
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// ownErrnos are errors that only this host has, or has twice (sys/errno.h).
var ownErrnos = map[syscall.Errno]linux.Errno{unix.EFTYPE: linux.EINVAL}

var ownTermBits []termBit

// setWord sets a word of struct termios, which has 32 bits here.
func setWord(t *unix.Termios, i int, w uint64) {
	*[4]*uint32{&t.Iflag, &t.Oflag, &t.Cflag, &t.Lflag}[i] = uint32(w)
}

// deviceParts takes the number of a device apart (sys/types.h). Package unix has it for FreeBSD 11, whose numbers have
// 32 bits.
func deviceParts(dev uint64) (major, minor uint32) {
	return uint32(dev>>32&0xffffff00 | dev>>8&0xff), uint32(dev>>24&0xff00 | dev&0xffff00ff)
}

//go:build darwin || freebsd

package host

import (
	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// getTermios is the request for a terminal's settings.
const getTermios = unix.TIOCGETA

// terminal does a request for a terminal: termios(4) has Linux's settings with other bits.
func terminal(fd int, req uint32, b []byte) linux.Errno {
	switch req {
	case linux.TCGETS:
		t, err := unix.IoctlGetTermios(fd, getTermios)
		if err != nil {
			return ErrnoOf(err)
		}
		termiosOut(t, b)
		return 0
	case linux.TCSETS, linux.TCSETSW, linux.TCSETSF:
		t, err := unix.IoctlGetTermios(fd, getTermios)
		if err != nil {
			return ErrnoOf(err)
		}
		termiosIn(t, b)
		set := map[uint32]uint{linux.TCSETS: unix.TIOCSETA, linux.TCSETSW: unix.TIOCSETAW, linux.TCSETSF: unix.TIOCSETAF}[req]
		return ErrnoOf(unix.IoctlSetTermios(fd, set, t))
	case linux.TIOCGWINSZ:
		w, err := unix.IoctlGetWinsize(fd, unix.TIOCGWINSZ)
		if err != nil {
			return ErrnoOf(err)
		}
		for i, v := range []uint16{w.Row, w.Col, w.Xpixel, w.Ypixel} {
			linux.PutUint16(b[2*i:], v)
		}
		return 0
	case linux.TIOCSWINSZ:
		return ErrnoOf(unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{
			Row: linux.Uint16(b), Col: linux.Uint16(b[2:]), Xpixel: linux.Uint16(b[4:]), Ypixel: linux.Uint16(b[6:]),
		}))
	case linux.FIONREAD, linux.TIOCOUTQ:
		host := map[uint32]uint{linux.FIONREAD: fionread, linux.TIOCOUTQ: unix.TIOCOUTQ}[req]
		n, err := unix.IoctlGetInt(fd, host)
		if err != nil {
			return ErrnoOf(err)
		}
		linux.PutUint32(b, uint32(n))
		return 0
	}
	return linux.ENOTTY
}

// fionread is FIONREAD (sys/filio.h), which package unix does not have.
const fionread = 0x4004667f

// A termBit is a bit of struct termios, in word 0 (c_iflag), 1 (c_oflag), 2 (c_cflag) or 3 (c_lflag).
type termBit struct {
	word  int
	linux uint32
	host  uint64
}

// termBits are those that macOS and FreeBSD have, with names of package unix; ownTermBits those that this host alone
// has.
var termBits = []termBit{
	{0, 0o1, unix.IGNBRK}, {0, 0o2, unix.BRKINT}, {0, 0o4, unix.IGNPAR}, {0, 0o10, unix.PARMRK}, {0, 0o20, unix.INPCK},
	{0, linux.ISTRIP, unix.ISTRIP}, {0, linux.INLCR, unix.INLCR}, {0, linux.IGNCR, unix.IGNCR}, {0, linux.ICRNL, unix.ICRNL},
	{0, linux.IXON, unix.IXON}, {0, linux.IXANY, unix.IXANY}, {0, 0o10000, unix.IXOFF}, {0, 0o20000, unix.IMAXBEL},
	{1, linux.OPOST, unix.OPOST}, {1, linux.ONLCR, unix.ONLCR}, {1, linux.OCRNL, unix.OCRNL}, {1, linux.ONOCR, unix.ONOCR},
	{1, linux.ONLRET, unix.ONLRET},
	{2, 0o20, unix.CS6}, {2, 0o40, unix.CS7}, {2, 0o100, unix.CSTOPB}, {2, 0o200, unix.CREAD}, {2, 0o400, unix.PARENB},
	{2, 0o1000, unix.PARODD}, {2, 0o2000, unix.HUPCL}, {2, 0o4000, unix.CLOCAL},
	{3, linux.ISIG, unix.ISIG}, {3, linux.ICANON, unix.ICANON}, {3, linux.ECHO, unix.ECHO}, {3, linux.ECHOE, unix.ECHOE},
	{3, linux.ECHOK, unix.ECHOK}, {3, linux.ECHONL, unix.ECHONL}, {3, linux.NOFLSH, unix.NOFLSH}, {3, linux.TOSTOP, unix.TOSTOP},
	{3, linux.ECHOCTL, unix.ECHOCTL}, {3, linux.ECHOKE, unix.ECHOKE}, {3, linux.IEXTEN, unix.IEXTEN},
}

// termChars pairs indices of c_cc.
var termChars = []struct{ linux, host int }{
	{linux.VINTR, unix.VINTR}, {linux.VQUIT, unix.VQUIT}, {linux.VERASE, unix.VERASE}, {linux.VKILL, unix.VKILL}, {linux.VEOF, unix.VEOF},
	{linux.VTIME, unix.VTIME}, {linux.VMIN, unix.VMIN}, {linux.VSTART, unix.VSTART}, {linux.VSTOP, unix.VSTOP}, {linux.VSUSP, unix.VSUSP},
	{linux.VEOL, unix.VEOL}, {linux.VREPRINT, unix.VREPRINT}, {linux.VWERASE, unix.VWERASE}, {linux.VLNEXT, unix.VLNEXT},
	{linux.VEOL2, unix.VEOL2},
}

// disabled is the character that there is none (_POSIX_VDISABLE), which Linux has as 0.
const disabled = 0xff

// isNumber reports whether an index of c_cc is of no character.
func isNumber(i int) bool { return i == linux.VTIME || i == linux.VMIN }

// Where struct termios has the line discipline and c_cc, and the speed that terminals on this host are said to have:
// B38400.
const (
	termChar0 = 17
	termSpeed = 0o17
)

// termiosOut writes t as Linux has it to b.
func termiosOut(t *unix.Termios, b []byte) {
	var words [4]uint32
	for _, bit := range append(termBits, ownTermBits...) {
		if word(t, bit.word)&bit.host != 0 {
			words[bit.word] |= bit.linux
		}
	}
	words[2] |= termSpeed
	for i, w := range words {
		linux.PutUint32(b[4*i:], w)
	}
	clear(b[16:])
	for _, c := range termChars {
		v := t.Cc[c.host]
		if v == disabled && !isNumber(c.linux) {
			v = 0
		}
		b[termChar0+c.linux] = v
	}
}

// termiosIn makes t what b says. What Linux does not know stays.
func termiosIn(t *unix.Termios, b []byte) {
	for _, bit := range append(termBits, ownTermBits...) {
		w := word(t, bit.word) &^ bit.host
		if linux.Uint32(b[4*bit.word:])&bit.linux != 0 {
			w |= bit.host
		}
		setWord(t, bit.word, w)
	}
	for _, c := range termChars {
		v := b[termChar0+c.linux]
		if v == 0 && !isNumber(c.linux) {
			v = disabled
		}
		t.Cc[c.host] = v
	}
}

func word(t *unix.Termios, i int) uint64 {
	return [4]uint64{uint64(t.Iflag), uint64(t.Oflag), uint64(t.Cflag), uint64(t.Lflag)}[i]
}

package syscalls

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// The console is the terminal that cgemu runs on. Its settings are the host's; who may use it is ours.

const (
	termiosSize = 36 // struct termios as the kernel has it
	winsizeSize = 8
)

// consoleNode is /dev/console, as the terminal is called that cgemu runs on.
func consoleNode() *vnode {
	return &vnode{mode: linux.S_IFCHR | 0o620, rdev: devConsole, open: openConsole}
}

// openConsole opens the host's terminal.
func openConsole(t *Thread, flags int) (file, linux.Errno) {
	h, e := hostOpen(place{dir: noFD, path: "/dev/tty"}, flags|linux.O_NOCTTY, 0, 0)
	if e != 0 {
		return nil, e
	}
	f, e := t.k.newHostFile(fileRef{fd: h}, flags, "")
	if e != 0 {
		return nil, e
	}
	f.own = true
	f.markConsole()
	return f, 0
}

// markConsole makes f the console if it is a terminal. Which one of the host's does not show.
func (f *hostFile) markConsole() {
	if f.mode&linux.S_IFMT == linux.S_IFCHR && f.fd.isTerminal() {
		f.console, f.path = true, "/dev/console"
	}
}

// stopsWriters reports whether the settings of f say that only those in the foreground write.
func (f *hostFile) stopsWriters() bool {
	b := make([]byte, termiosSize)
	return f.fd.ioctl(linux.TCGETS, b) == 0 && le32(b[12:])&linux.TOSTOP != 0
}

// terminalIoctl answers the requests that a host file may understand.
func (f *hostFile) terminalIoctl(t *Thread, req uint32, arg emu.Addr) (uint64, linux.Errno) {
	if f.isRegular() || f.isDir() {
		if req == linux.FIONREAD && f.isRegular() {
			pos, _ := f.fd.seek(0, linux.SEEK_CUR)
			st, e := f.fd.stat()
			if e != 0 {
				return 0, e
			}
			return 0, t.out32(arg, uint32(max(st.size-pos, 0)))
		}
		return 0, linux.ENOTTY
	}
	if f.console {
		if e, ok := t.jobRequest(&t.k.console, false, req, arg); ok {
			return 0, e
		}
	}
	switch req {
	case linux.TCGETS:
		return f.ioctlOut(t, req, arg, termiosSize)
	case linux.TCSETS, linux.TCSETSW, linux.TCSETSF:
		if f.console {
			if e := t.mayUse(&t.k.console, linux.SIGTTOU); e != 0 {
				return 0, e
			}
		}
		return f.ioctlIn(t, req, arg, termiosSize)
	case linux.TIOCGWINSZ:
		return f.ioctlOut(t, req, arg, winsizeSize)
	case linux.TIOCSWINSZ:
		return f.ioctlIn(t, req, arg, winsizeSize)
	case linux.FIONREAD, linux.TIOCOUTQ:
		return f.ioctlOut(t, req, arg, 4)
	case linux.TCSBRK, linux.TCSBRKP, linux.TCXONC, linux.TCFLSH:
		if f.console {
			return 0, 0
		}
	}
	return 0, linux.ENOTTY
}

// ioctlOut passes a request whose answer has n bytes.
func (f *hostFile) ioctlOut(t *Thread, req uint32, arg emu.Addr, n int) (uint64, linux.Errno) {
	b := make([]byte, n)
	if e := f.fd.ioctl(req, b); e != 0 {
		return 0, e
	}
	return 0, t.copyOut(arg, b)
}

// ioctlIn passes a request whose argument has n bytes.
func (f *hostFile) ioctlIn(t *Thread, req uint32, arg emu.Addr, n int) (uint64, linux.Errno) {
	b, e := t.copyIn(arg, n)
	if e != 0 {
		return 0, e
	}
	return 0, f.fd.ioctl(req, b)
}

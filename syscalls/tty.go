package syscalls

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

const (
	termiosSize = 36 // struct termios as the kernel has it
	termioSize  = 18 // struct termio, of System V
	winsizeSize = 8
)

// sysIoctl implements ioctl(2): terminals, and what concerns every descriptor.
func sysIoctl(t *Thread, a Args) (uint64, linux.Errno) {
	fd, req, arg := a.Int(0), a.U32(1), a.Addr(2)
	f, e := t.file(fd)
	if e != 0 {
		return 0, e
	}
	b := f.base()
	if b.flags&linux.O_PATH != 0 {
		return 0, linux.EBADF
	}
	const fiBmap, fiGetBsz = 1, 2
	switch req {
	case fiBmap:
		if isRegular(f) {
			return 0, linux.EPERM // for the superuser
		}
	case fiGetBsz:
		st, e := f.stat(t)
		if e != 0 {
			return 0, e
		}
		return 0, t.out32(arg, blockSize(st.dev))
	case linux.FIOCLEX:
		filesOf(t).fds.fds[fd].cloexec = true
		return 0, 0
	case linux.FIONCLEX:
		filesOf(t).fds.fds[fd].cloexec = false
		return 0, 0
	case linux.FIONBIO:
		on, e := t.in32(arg)
		if e != 0 {
			return 0, e
		}
		b.flags &^= linux.O_NONBLOCK
		if on != 0 {
			b.flags |= linux.O_NONBLOCK
		}
		return 0, 0
	case linux.FIOASYNC:
		on, e := t.in32(arg)
		if e == 0 && !t.setAsync(f, fd, on != 0) {
			e = linux.ENOTTY
		}
		return 0, e
	case linux.FIOSETOWN, linux.FIOGETOWN, linux.SIOCSPGRP, linux.SIOCGPGRP:
		if _, ok := f.(socket); ok {
			return t.ownerIoctl(b, req, arg)
		}
	}
	return f.ioctl(t, req, arg)
}

// terminal answers the requests that a host file may understand.
func (f *hostFile) terminal(t *Thread, req uint32, arg emu.Addr) (uint64, linux.Errno) {
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

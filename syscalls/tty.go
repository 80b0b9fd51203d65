package syscalls

import (
	"github.com/cgemu/cgemu/syscalls/internal/linux"
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

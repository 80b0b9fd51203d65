package syscalls

import (
	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/net"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// sysIoctl implements ioctl(2): terminals, and what concerns every descriptor.
func sysIoctl(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	fd, req, arg := a.Int(0), a.U32(1), a.Addr(2)
	f, e := files.GetRawFile(t, fd)
	if e != 0 {
		return 0, e
	}
	b := f.Base()
	if b.Flags&linux.O_PATH != 0 {
		return 0, linux.EBADF
	}
	const fiBmap, fiGetBsz = 1, 2
	switch req {
	case fiBmap:
		if isRegular(f) {
			return 0, linux.EPERM // for the superuser
		}
	case fiGetBsz:
		st, e := f.Stat(t)
		if e != 0 {
			return 0, e
		}
		return 0, t.Out32(arg, files.BlockSize(st.Dev))
	case linux.FIOCLEX:
		files.Of(t).FDs.Entries[fd].Cloexec = true
		return 0, 0
	case linux.FIONCLEX:
		files.Of(t).FDs.Entries[fd].Cloexec = false
		return 0, 0
	case linux.FIONBIO:
		on, e := t.In32(arg)
		if e != 0 {
			return 0, e
		}
		b.Flags &^= linux.O_NONBLOCK
		if on != 0 {
			b.Flags |= linux.O_NONBLOCK
		}
		return 0, 0
	case linux.FIOASYNC:
		on, e := t.In32(arg)
		if e == 0 && !files.SetAsync(t, f, fd, on != 0) {
			e = linux.ENOTTY
		}
		return 0, e
	case linux.FIOSETOWN, linux.FIOGETOWN, linux.SIOCSPGRP, linux.SIOCGPGRP:
		if _, ok := f.(net.Socket); ok {
			return ownerIoctl(t, b, req, arg)
		}
	}
	return f.Ioctl(t, req, arg)
}

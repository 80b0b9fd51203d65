package syscalls

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// openAt is open(2) in all its forms.
func (t *Thread) openAt(dirfd int, name emu.Addr, flags int, mode uint32) (uint64, linux.Errno) {
	// Linux refuses these since 6.4, and temporary files that cannot be written.
	const tmpfile = linux.O_TMPFILE &^ linux.O_DIRECTORY
	if flags&linux.O_PATH == 0 && (flags&(linux.O_DIRECTORY|linux.O_CREAT) == linux.O_DIRECTORY|linux.O_CREAT ||
		flags&tmpfile != 0 && (flags&linux.O_TMPFILE != linux.O_TMPFILE || flags&linux.O_ACCMODE == linux.O_RDONLY)) {
		return 0, linux.EINVAL
	}
	s, e := t.path(name)
	if e == 0 && s == "" {
		e = linux.ENOENT
	}
	if e == 0 {
		e = t.reserve()
	}
	if e != 0 {
		return 0, e
	}
	flags &= openFlags64 // what has no meaning is forgotten
	if flags&linux.O_PATH != 0 {
		flags &= linux.O_PATH | linux.O_DIRECTORY | linux.O_NOFOLLOW | linux.O_CLOEXEC
	}
	if flags&linux.O_CREAT == 0 && flags&linux.O_TMPFILE != linux.O_TMPFILE {
		mode = 0
	}
	follow := flags&linux.O_NOFOLLOW == 0 && flags&(linux.O_CREAT|linux.O_EXCL) != linux.O_CREAT|linux.O_EXCL
	l, e := t.find(dirfd, s, follow, changing(flags))
	if e != 0 {
		return 0, e
	}
	return t.openFound(l, flags, mode&0o7777)
}

// openFound opens a location and gives it a descriptor.
func (t *Thread) openFound(l location, flags int, mode uint32) (uint64, linux.Errno) {
	if flags&(linux.O_SYNC&^linux.O_DSYNC) != 0 {
		flags |= linux.O_DSYNC
	}
	f, e := t.open(l, flags, mode)
	if e != 0 {
		return 0, e
	}
	if flags&linux.O_DIRECT != 0 && !isRegular(f) {
		f.close(t.k)
		return 0, linux.EINVAL
	}
	return t.install(f, flags)
}

// open opens a location.
func (t *Thread) open(l location, flags int, mode uint32) (file, linux.Errno) {
	if l.node != nil {
		return l.node.openFile(t, l.guest, flags|linux.O_LARGEFILE)
	}
	if l.slash && flags&(linux.O_CREAT|linux.O_PATH) == linux.O_CREAT {
		return nil, linux.EISDIR
	}
	onHost, e := t.mayOpen(l, flags)
	if e != 0 {
		return nil, e
	}
	if flags&linux.O_PATH == 0 {
		flags |= linux.O_LARGEFILE
	}
	var was hostStat
	there := linux.Errno(0)
	if flags&(linux.O_CREAT|linux.O_TRUNC) != 0 || flags&linux.O_ACCMODE != linux.O_RDONLY {
		was, there = l.stat(true)
	}
	// The host must not wait for the other end of a FIFO: another of our processes may open it.
	r, e := l.open(onHost|linux.O_NONBLOCK, mode, filesOf(t).umask)
	if e == linux.ENXIO && flags&(linux.O_ACCMODE|linux.O_NONBLOCK) == linux.O_WRONLY && isFIFO(l.fileAt) {
		return nil, t.awaitReader(l, flags)
	}
	if e != 0 {
		return nil, e
	}
	h, e := t.k.newHostFile(r, flags, "")
	if e != 0 {
		return nil, e
	}
	h.private, h.own, h.nowait = l.private, l.private, h.mode&linux.S_IFMT == linux.S_IFIFO
	if flags&(linux.O_NONBLOCK|linux.O_PATH) == 0 && !h.isRegular() && !h.isDir() && h.mode&linux.S_IFMT != linux.S_IFIFO {
		r.fd.setBlocking()
	}
	if h.dev == fsOf(t.k).inodes.procDev || h.dev == fsOf(t.k).inodes.sysDev {
		if path, ok := r.onPseudoFS(); ok && h.mode&linux.S_IFMT != linux.S_IFLNK {
			r.close()
			v, e := t.relocate(path)
			if e == 0 && v.node == nil {
				e = linux.ENOENT
			}
			if e != 0 {
				return nil, e
			}
			return v.node.openFile(t, v.guest, flags)
		}
	}
	if name := deviceName(h.mode, h.rdev); name == "" && r.fd == noFD && h.mode&linux.S_IFMT == linux.S_IFCHR && flags&linux.O_PATH == 0 {
		h.close(t.k)
		return nil, linux.ENXIO // a device that only the host has
	}
	t.opened(l, h, flags, was, there == linux.ENOENT)
	if t.k.mustAwait(h, flags) {
		return nil, t.awaitWriter(h, flags)
	}
	if name := deviceName(h.mode, h.rdev); name != "" {
		r.close()
		return devNodes[name].openFile(t, "/dev/"+name, flags)
	}
	return h, 0
}

// sysOpen implements open(2).
func sysOpen(t *Thread, a Args) (uint64, linux.Errno) {
	return t.openAt(linux.AT_FDCWD, a.Addr(0), a.Int(1), a.U32(2))
}

// sysOpenat implements openat(2).
func sysOpenat(t *Thread, a Args) (uint64, linux.Errno) {
	return t.openAt(a.Int(0), a.Addr(1), a.Int(2), a.U32(3))
}

// sysCreat implements creat(2).
func sysCreat(t *Thread, a Args) (uint64, linux.Errno) {
	return t.openAt(linux.AT_FDCWD, a.Addr(0), linux.O_CREAT|linux.O_WRONLY|linux.O_TRUNC, a.U32(1))
}

// sysClose implements close(2).
func sysClose(t *Thread, a Args) (uint64, linux.Errno) { return 0, filesOf(t).fds.close(t.k, a.Int(0)) }

// sysCloseRange implements close_range(2).
func sysCloseRange(t *Thread, a Args) (uint64, linux.Errno) {
	first, last, flags := uint64(a.U32(0)), uint64(a.U32(1)), a.U32(2)
	if first > last || flags&^(linux.CLOSE_RANGE_UNSHARE|linux.CLOSE_RANGE_CLOEXEC) != 0 {
		return 0, linux.EINVAL
	}
	if flags&linux.CLOSE_RANGE_UNSHARE != 0 {
		filesOf(t).fds = filesOf(t).fds.own()
	}
	for _, fd := range filesOf(t).fds.open() {
		if uint64(fd) < first || uint64(fd) > last {
			continue
		}
		if flags&linux.CLOSE_RANGE_CLOEXEC != 0 {
			filesOf(t).fds.fds[fd].cloexec = true
		} else {
			filesOf(t).fds.close(t.k, fd)
		}
	}
	return 0, 0
}

// sysDup implements dup(2).
func sysDup(t *Thread, a Args) (uint64, linux.Errno) {
	f, e := t.file(a.Int(0))
	if e != 0 {
		return 0, e
	}
	fd, e := t.addFD(f, 0, false)
	return uint64(fd), e
}

// sysDup2 implements dup2(2).
func sysDup2(t *Thread, a Args) (uint64, linux.Errno) {
	old, fd := a.Int(0), a.Int(1)
	if _, e := t.file(old); e != 0 {
		return 0, e
	}
	if old == fd {
		return uint64(fd), 0
	}
	return t.dupTo(old, fd, false)
}

// sysDup3 implements dup3(2).
func sysDup3(t *Thread, a Args) (uint64, linux.Errno) {
	old, fd, flags := a.Int(0), a.Int(1), a.Int(2)
	if flags&^linux.O_CLOEXEC != 0 || old == fd {
		return 0, linux.EINVAL
	}
	return t.dupTo(old, fd, flags&linux.O_CLOEXEC != 0)
}

func (t *Thread) dupTo(old, fd int, cloexec bool) (uint64, linux.Errno) {
	if fd < 0 || uint64(fd) >= t.p.limits[linux.RLIMIT_NOFILE].cur {
		return 0, linux.EBADF
	}
	if filesOf(t).fds.reserves(fd) {
		return 0, linux.EBUSY
	}
	f, e := t.file(old)
	if e != 0 {
		return 0, e
	}
	f.base().refs++ // in case fd is its last descriptor
	filesOf(t).fds.close(t.k, fd)
	f.base().refs--
	filesOf(t).fds.set(fd, f, cloexec)
	return uint64(fd), 0
}

// sysFcntl implements fcntl(2).
func sysFcntl(t *Thread, a Args) (uint64, linux.Errno) {
	fd, cmd, arg := a.Int(0), a.Int(1), a.Uint(2)
	f, e := t.file(fd)
	if e != 0 {
		return 0, e
	}
	b := f.base()
	switch cmd {
	case linux.F_DUPFD, linux.F_DUPFD_CLOEXEC:
		if arg = uint64(a.U32(2)); arg >= t.p.limits[linux.RLIMIT_NOFILE].cur {
			return 0, linux.EINVAL
		}
		n, e := t.addFD(f, int(arg), cmd == linux.F_DUPFD_CLOEXEC)
		return uint64(n), e
	case linux.F_GETFD:
		if filesOf(t).fds.fds[fd].cloexec {
			return linux.FD_CLOEXEC, 0
		}
		return 0, 0
	case linux.F_SETFD:
		filesOf(t).fds.fds[fd].cloexec = arg&linux.FD_CLOEXEC != 0
		return 0, 0
	case linux.F_GETFL:
		return uint64(b.flags), 0
	}
	if b.flags&linux.O_PATH != 0 {
		return 0, linux.EBADF
	}
	switch cmd {
	case linux.F_SETFL:
		if _, pipe := f.(*pipeFile); arg&linux.O_DIRECT != 0 && !pipe && !isRegular(f) {
			return 0, linux.EINVAL
		}
		if arg&linux.O_NOATIME&^uint64(b.flags) != 0 && !t.owns(f) {
			return 0, linux.EPERM
		}
		t.setAsync(f, fd, arg&linux.O_ASYNC != 0)
		return 0, f.setFlags(b.flags&^settable | int(arg)&settable)
	case linux.F_SETPIPE_SZ, linux.F_GETPIPE_SZ:
		return pipeSize(f, cmd, arg)
	case linux.F_ADD_SEALS, linux.F_GET_SEALS:
		if cmd == linux.F_ADD_SEALS && !b.writable() {
			return 0, linux.EPERM
		}
		h, ok := f.(*hostFile)
		if !ok || !h.own {
			return 0, linux.EINVAL
		}
		return h.fd.fcntl(cmd, arg)
	case linux.F_GETOWNER_UIDS:
		// Whoever set the owner is the guest's user.
		var ids pack
		ids.u32(t.k.uid * boolean(b.owner.id != 0))
		ids.u32(le32(ids))
		return 0, t.copyOut(emu.Addr(arg), ids)
	case linux.F_SETOWN, linux.F_GETOWN, linux.F_SETOWN_EX, linux.F_GETOWN_EX:
		return t.fcntlOwner(b, cmd, arg)
	case linux.F_GETSIG:
		return b.owner.signal, 0
	case linux.F_SETSIG:
		if a.U32(2) > linux.NSIG {
			return 0, linux.EINVAL
		}
		b.owner.signal = uint64(a.U32(2))
		return 0, 0
	case linux.F_SETLEASE:
		// Nobody gets a lease: it is as if others always had the file open.
		switch {
		case a.U32(2) <= linux.F_UNLCK && !t.owns(f):
			return 0, linux.EACCES
		case !isRegular(f) || a.U32(2) > linux.F_UNLCK:
			return 0, linux.EINVAL
		}
		return 0, linux.EAGAIN
	}
	return t.lock(f, cmd, emu.Addr(arg))
}

// flockRetry is how long flock(2) waits at a time for a lock that the host may have given to others, in nanoseconds.
const flockRetry = 1_000_000

// sysFlock implements flock(2), with the host's locks.
func sysFlock(t *Thread, a Args) (uint64, linux.Errno) {
	switch op := a.U32(1); {
	case op&linux.LOCK_MAND != 0:
		return 0, 0 // Linux has had no mandatory locks since 5.15
	case op&^linux.LOCK_NB != 1 && op&^linux.LOCK_NB != 2 && op&^linux.LOCK_NB != 8:
		return 0, linux.EINVAL
	}
	f, e := t.openFile(a.Int(0))
	if e != 0 {
		return 0, e
	}
	h, ok := f.(*hostFile)
	if !ok {
		return 0, 0
	}
	return t.flock(h, a.Int(1))
}

func (t *Thread) flock(h *hostFile, op int) (uint64, linux.Errno) {
	if h.fd == noFD {
		var e linux.Errno
		if h.fd, e = fsOf(t.k).lockFile(h.ino); e != 0 {
			return 0, e
		}
	}
	e := h.fd.flock(op | linux.LOCK_NB)
	if e == linux.EAGAIN && op&linux.LOCK_NB == 0 {
		// The holder may be one of our own threads, so the host must not wait for it.
		if t.call.again {
			hostPollWait(nil, flockRetry)
		}
		filesOf(t).call.hold(h)
		w := wait{deadline: t.k.after(flockRetry)}
		return t.block(w, func() (uint64, linux.Errno) { return t.flock(h, op) })
	}
	return 0, e
}

// sysUmask implements umask(2).
func sysUmask(t *Thread, a Args) (uint64, linux.Errno) {
	old := filesOf(t).umask
	filesOf(t).umask = a.U32(0) & 0o777
	return uint64(old), 0
}

// sysMemfdCreate implements memfd_create(2).
func sysMemfdCreate(t *Thread, a Args) (uint64, linux.Errno) {
	flags := a.U32(1)
	if flags&^(linux.MFD_CLOEXEC|linux.MFD_ALLOW_SEALING|linux.MFD_NOEXEC_SEAL|linux.MFD_EXEC) != 0 || flags&(linux.MFD_NOEXEC_SEAL|linux.MFD_EXEC) == linux.MFD_NOEXEC_SEAL|linux.MFD_EXEC {
		return 0, linux.EINVAL
	}
	name, ok := t.p.mem.ReadString(a.Addr(0), 250)
	if !ok {
		return 0, linux.EFAULT
	}
	if len(name) >= 250 {
		return 0, linux.EINVAL
	}
	fd, e := hostMemfd(name, flags&^linux.MFD_CLOEXEC)
	if e != 0 {
		return 0, e
	}
	f, e := t.k.newHostFile(fileRef{fd: fd}, linux.O_RDWR|linux.O_LARGEFILE, "/memfd:"+name+" (deleted)")
	if e != 0 {
		return 0, e
	}
	f.own = true
	t.k.touch(f.ino)
	open := 0
	if flags&linux.MFD_CLOEXEC != 0 {
		open = linux.O_CLOEXEC
	}
	return t.install(f, open)
}

package syscalls

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/net"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// FIFOs are the host's, opened there without waiting, because it may be another of our processes that opens
// the other end. What open(2) waits for (fifo(7)) is waited for here.

// isFIFO says whether a FIFO is at p.
func isFIFO(p files.FileAt) bool {
	h, e := p.Stat(true)
	return e == 0 && h.Mode&linux.S_IFMT == linux.S_IFIFO
}

// readable returns the file behind fd if it is open for reading.
func readable(t *task.Thread, fd int) (files.File, linux.Errno) {
	f, e := files.GetRawFile(t, fd)
	if e == 0 && !f.Base().Readable() {
		return nil, linux.EBADF
	}
	return f, e
}

// writable returns the file behind fd if it is open for writing.
func writable(t *task.Thread, fd int) (files.File, linux.Errno) {
	f, e := files.GetRawFile(t, fd)
	if e == 0 && !f.Base().Writable() {
		return nil, linux.EBADF
	}
	return f, e
}

// settable are the flags that fcntl(F_SETFL) can change.
const settable = linux.O_APPEND | linux.O_DIRECT | linux.O_NOATIME | linux.O_NONBLOCK

// isRegular reports whether f is a regular file of the host.
func isRegular(f files.File) bool {
	h, ok := f.(*files.HostFile)
	return ok && h.IsRegular()
}

// mayBecome is EFBIG if h may not grow to size.
func mayBecome(t *task.Thread, h *files.HostFile, size int64) linux.Errno {
	if uint64(size) <= t.Process.Limits[linux.RLIMIT_FSIZE].Cur {
		return 0
	}
	st, e := h.FD.Stat()
	if e != 0 {
		return e
	}
	return files.MayGrow(t, st, size)
}

// openAt is open(2) in all its forms.
func openAt(t *task.Thread, dirfd int, name emu.Addr, flags int, mode uint32) (uint64, linux.Errno) {
	// Linux refuses these since 6.4, and temporary files that cannot be written.
	const tmpfile = linux.O_TMPFILE &^ linux.O_DIRECTORY
	if flags&linux.O_PATH == 0 && (flags&(linux.O_DIRECTORY|linux.O_CREAT) == linux.O_DIRECTORY|linux.O_CREAT ||
		flags&tmpfile != 0 && (flags&linux.O_TMPFILE != linux.O_TMPFILE || flags&linux.O_ACCMODE == linux.O_RDONLY)) {
		return 0, linux.EINVAL
	}
	s, e := t.Path(name)
	if e == 0 && s == "" {
		e = linux.ENOENT
	}
	if e == 0 {
		e = files.Reserve(t)
	}
	if e != 0 {
		return 0, e
	}
	flags &= files.OpenFlags64 // what has no meaning is forgotten
	if flags&linux.O_PATH != 0 {
		flags &= linux.O_PATH | linux.O_DIRECTORY | linux.O_NOFOLLOW | linux.O_CLOEXEC
	}
	if flags&linux.O_CREAT == 0 && flags&linux.O_TMPFILE != linux.O_TMPFILE {
		mode = 0
	}
	l, e := files.Find(t, dirfd, s, files.OpenLookup(flags))
	if e != 0 {
		return 0, e
	}
	return openFound(t, l, flags, mode&0o7777)
}

// openFound opens a location and gives it a descriptor.
func openFound(t *task.Thread, l files.Location, flags int, mode uint32) (uint64, linux.Errno) {
	if flags&(linux.O_SYNC&^linux.O_DSYNC) != 0 {
		flags |= linux.O_DSYNC
	}
	f, e := open(t, l, flags, mode)
	if e != 0 {
		return 0, e
	}
	if flags&linux.O_DIRECT != 0 && !isRegular(f) {
		f.Close(t.Kernel)
		return 0, linux.EINVAL
	}
	return files.Install(t, f, flags)
}

// open opens a location.
func open(t *task.Thread, l files.Location, flags int, mode uint32) (files.File, linux.Errno) {
	if flags&linux.O_PATH == 0 {
		flags |= linux.O_LARGEFILE
	}
	if l.Node != nil {
		return l.Node.OpenAt(t, l.Guest, flags)
	}
	onHost, e := files.MayOpen(t, l, flags)
	if e != 0 {
		return nil, e
	}
	var was host.Stat
	there := linux.Errno(0)
	if flags&(linux.O_CREAT|linux.O_TRUNC) != 0 || flags&linux.O_ACCMODE != linux.O_RDONLY {
		was, there = l.Stat(true)
	}
	if there == 0 && files.BeingExecuted(t.Kernel, was) {
		if e := files.NotExecuted(t, l, flags); e != 0 {
			return nil, e
		}
	}
	// The host must not wait for the other end of a FIFO: another of our processes may open it.
	r, e := l.Open(onHost|linux.O_NONBLOCK, mode, files.Of(t).Umask)
	if e == linux.ENXIO && flags&(linux.O_ACCMODE|linux.O_NONBLOCK) == linux.O_WRONLY && isFIFO(l.FileAt) {
		return nil, files.AwaitReader(t, l, flags)
	}
	if e != 0 {
		return nil, e
	}
	h, e := files.NewHostFile(t.Kernel, r, flags, "")
	if e != 0 {
		return nil, e
	}
	h.Private, h.Own, h.Nowait = l.Private, l.Private, h.Mode&linux.S_IFMT == linux.S_IFIFO
	if flags&(linux.O_NONBLOCK|linux.O_PATH) == 0 && !h.IsRegular() && !h.IsDir() && h.Mode&linux.S_IFMT != linux.S_IFIFO {
		r.FD.SetBlocking()
	}
	if h.Dev == files.SystemOf(t.Kernel).Inodes.ProcDev || h.Dev == files.SystemOf(t.Kernel).Inodes.SysDev {
		if path, ok := r.OnPseudoFS(); ok && h.Mode&linux.S_IFMT != linux.S_IFLNK {
			h.Discard(t.Kernel)
			v, e := files.Relocate(t, path)
			if e == 0 && v.Node == nil {
				e = linux.ENOENT
			}
			if e != 0 {
				return nil, e
			}
			return v.Node.OpenAt(t, v.Guest, flags)
		}
	}
	if name := files.DeviceName(h.Mode, h.Rdev); name == "" && r.FD == host.NoFD && h.Mode&linux.S_IFMT == linux.S_IFCHR && flags&linux.O_PATH == 0 {
		h.Close(t.Kernel)
		return nil, linux.ENXIO // a device that only the host has
	}
	files.Opened(t, l, h, flags, was, there == linux.ENOENT)
	if files.MustAwait(t.Kernel, h, flags) {
		return nil, files.AwaitWriter(t, h, flags)
	}
	if name := files.DeviceName(h.Mode, h.Rdev); name != "" {
		h.Discard(t.Kernel)
		return files.DevNodes[name].OpenAt(t, "/dev/"+name, flags)
	}
	return h, 0
}

// sysOpen implements open(2).
func sysOpen(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return openAt(t, linux.AT_FDCWD, a.Addr(0), a.Int(1), a.U32(2))
}

// sysOpenat implements openat(2).
func sysOpenat(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return openAt(t, a.Int(0), a.Addr(1), a.Int(2), a.U32(3))
}

// sysCreat implements creat(2).
func sysCreat(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return openAt(t, linux.AT_FDCWD, a.Addr(0), linux.O_CREAT|linux.O_WRONLY|linux.O_TRUNC, a.U32(1))
}

// sysClose implements close(2).
func sysClose(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return 0, files.Of(t).FDs.Close(t.Kernel, a.Int(0))
}

// sysCloseRange implements close_range(2).
func sysCloseRange(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	first, last, flags := uint64(a.U32(0)), uint64(a.U32(1)), a.U32(2)
	if first > last || flags&^(linux.CLOSE_RANGE_UNSHARE|linux.CLOSE_RANGE_CLOEXEC) != 0 {
		return 0, linux.EINVAL
	}
	if flags&linux.CLOSE_RANGE_UNSHARE != 0 {
		files.Of(t).FDs = files.Of(t).FDs.Unshared()
	}
	for _, fd := range files.Of(t).FDs.Open() {
		if uint64(fd) < first || uint64(fd) > last {
			continue
		}
		if flags&linux.CLOSE_RANGE_CLOEXEC != 0 {
			files.Of(t).FDs.Entries[fd].Cloexec = true
		} else {
			files.Of(t).FDs.Close(t.Kernel, fd)
		}
	}
	return 0, 0
}

// sysDup implements dup(2).
func sysDup(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	f, e := files.GetRawFile(t, a.Int(0))
	if e != 0 {
		return 0, e
	}
	fd, e := files.AddFD(t, f, 0, false)
	return uint64(fd), e
}

// sysDup2 implements dup2(2).
func sysDup2(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	old, fd := a.Int(0), a.Int(1)
	if _, e := files.GetRawFile(t, old); e != 0 {
		return 0, e
	}
	if old == fd {
		return uint64(fd), 0
	}
	return dupTo(t, old, fd, false)
}

// sysDup3 implements dup3(2).
func sysDup3(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	old, fd, flags := a.Int(0), a.Int(1), a.Int(2)
	if flags&^linux.O_CLOEXEC != 0 || old == fd {
		return 0, linux.EINVAL
	}
	return dupTo(t, old, fd, flags&linux.O_CLOEXEC != 0)
}

func dupTo(t *task.Thread, old, fd int, cloexec bool) (uint64, linux.Errno) {
	if fd < 0 || uint64(fd) >= t.Process.Limits[linux.RLIMIT_NOFILE].Cur {
		return 0, linux.EBADF
	}
	if files.Of(t).FDs.Reserves(fd) {
		return 0, linux.EBUSY
	}
	f, e := files.GetRawFile(t, old)
	if e != 0 {
		return 0, e
	}
	f.Base().Refs++ // in case fd is its last descriptor
	files.Of(t).FDs.Close(t.Kernel, fd)
	f.Base().Refs--
	files.Of(t).FDs.Set(fd, f, cloexec)
	return uint64(fd), 0
}

// sysFcntl implements fcntl(2).
func sysFcntl(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	fd, cmd, arg := a.Int(0), a.Int(1), a.Uint(2)
	f, e := files.GetRawFile(t, fd)
	if e != 0 {
		return 0, e
	}
	b := f.Base()
	switch cmd {
	case linux.F_DUPFD, linux.F_DUPFD_CLOEXEC:
		if arg = uint64(a.U32(2)); arg >= t.Process.Limits[linux.RLIMIT_NOFILE].Cur {
			return 0, linux.EINVAL
		}
		n, e := files.AddFD(t, f, int(arg), cmd == linux.F_DUPFD_CLOEXEC)
		return uint64(n), e
	case linux.F_DUPFD_QUERY:
		g, e := files.GetRawFile(t, int(int32(arg)))
		if f != g {
			return 0, e
		}
		return 1, 0
	case linux.F_GETFD:
		if files.Of(t).FDs.Entries[fd].Cloexec {
			return linux.FD_CLOEXEC, 0
		}
		return 0, 0
	case linux.F_SETFD:
		files.Of(t).FDs.Entries[fd].Cloexec = arg&linux.FD_CLOEXEC != 0
		return 0, 0
	case linux.F_GETFL:
		return uint64(b.Flags), 0
	}
	if b.Flags&linux.O_PATH != 0 {
		return 0, linux.EBADF
	}
	switch cmd {
	case linux.F_SETFL:
		if _, pipe := f.(*files.PipeFile); arg&linux.O_DIRECT != 0 && !pipe && (!isRegular(f) || f.(*files.HostFile).IsMemfd()) {
			return 0, linux.EINVAL
		}
		if arg&linux.O_NOATIME&^uint64(b.Flags) != 0 && !files.Owns(t, f) {
			return 0, linux.EPERM
		}
		files.SetAsync(t, f, fd, arg&linux.O_ASYNC != 0)
		return 0, f.SetFlags(b.Flags&^settable | int(arg)&settable)
	case linux.F_SETPIPE_SZ, linux.F_GETPIPE_SZ:
		return files.PipeSize(f, cmd, arg)
	case linux.F_ADD_SEALS, linux.F_GET_SEALS:
		return fcntlSeals(t, f, cmd, arg)
	case linux.F_GETOWNER_UIDS:
		// Whoever set the owner is the guest's user.
		var ids linux.Pack
		ids.U32(t.Kernel.UID * net.Boolean(b.Owner.ID != 0))
		ids.U32(linux.Uint32(ids))
		return 0, t.CopyOut(emu.Addr(arg), ids)
	case linux.F_SETOWN, linux.F_GETOWN, linux.F_SETOWN_EX, linux.F_GETOWN_EX:
		return files.FcntlOwner(t, b, cmd, arg)
	case linux.F_GETSIG:
		return b.Owner.Signal, 0
	case linux.F_SETSIG:
		if a.U32(2) > linux.NSIG {
			return 0, linux.EINVAL
		}
		b.Owner.Signal = uint64(a.U32(2))
		return 0, 0
	case linux.F_SETLEASE:
		return setLease(t, f, a.U32(2))
	}
	return files.Lock(t, f, cmd, emu.Addr(arg))
}

// fcntlSeals is fcntl's F_ADD_SEALS and F_GET_SEALS, which are about files of memfd_create(2).
func fcntlSeals(t *task.Thread, f files.File, cmd int, arg uint64) (uint64, linux.Errno) {
	if cmd == linux.F_ADD_SEALS && !f.Base().Writable() {
		return 0, linux.EPERM
	}
	h, ok := f.(*files.HostFile)
	if !ok || !h.Own {
		return 0, linux.EINVAL
	}
	// What is mapped cannot be sealed. Copies of a file's pages could not be written back after F_SEAL_FUTURE_WRITE,
	// which Linux before 5.1 has not.
	held, release := t.Kernel.Spaces.Hold(h.Ino)
	defer release()
	if cmd == linux.F_ADD_SEALS && held && arg&linux.F_SEAL_FUTURE_WRITE != 0 {
		return 0, linux.EINVAL
	}
	if cmd == linux.F_ADD_SEALS && held && arg&linux.F_SEAL_WRITE != 0 && !host.Direct {
		return 0, linux.EBUSY // elsewhere the host says so
	}
	return h.FD.Fcntl(cmd, arg)
}

// setLease is fcntl's F_SETLEASE. Nobody gets a lease: it is as if others always had the file open.
func setLease(t *task.Thread, f files.File, kind uint32) (uint64, linux.Errno) {
	switch {
	case kind <= linux.F_UNLCK && !files.Owns(t, f):
		return 0, linux.EACCES
	case !isRegular(f) || kind > linux.F_UNLCK:
		return 0, linux.EINVAL
	}
	return 0, linux.EAGAIN
}

// flockRetry is how long flock(2) waits at a time for a lock that the host may have given to others, in nanoseconds.
const flockRetry = 1_000_000

// sysFlock implements flock(2), with the host's locks.
func sysFlock(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	switch op := a.U32(1); {
	case op&linux.LOCK_MAND != 0:
		return 0, 0 // Linux has had no mandatory locks since 5.15
	case op&^linux.LOCK_NB != linux.LOCK_SH && op&^linux.LOCK_NB != linux.LOCK_EX && op&^linux.LOCK_NB != linux.LOCK_UN:
		return 0, linux.EINVAL
	}
	f, e := files.GetFile(t, a.Int(0))
	if e != 0 {
		return 0, e
	}
	h, ok := f.(*files.HostFile)
	switch {
	case !ok && a.U32(1)&^linux.LOCK_NB != linux.LOCK_UN && !f.Base().Readable() && !f.Base().Writable():
		return 0, linux.EBADF
	case !ok:
		return 0, 0
	}
	return flock(t, h, a.Int(1))
}

func flock(t *task.Thread, h *files.HostFile, op int) (uint64, linux.Errno) {
	if h.FD == host.NoFD {
		var e linux.Errno
		if h.FD, e = files.SystemOf(t.Kernel).LockFile(h.Ino); e != 0 {
			return 0, e
		}
	}
	e := h.FD.Flock(op | linux.LOCK_NB)
	if e == linux.EAGAIN && op&linux.LOCK_NB == 0 {
		// The holder may be one of our own threads, so the host must not wait for it.
		if now, s := t.Kernel.Now(), files.SystemOf(t.Kernel); t.Call.Resumed && now >= s.FlockTried+flockRetry {
			host.PollWait(nil, flockRetry) // once for all that wait
			s.FlockTried = now
		}
		files.Of(t).Call.Hold(h)
		w := task.Wait{Deadline: t.Kernel.After(flockRetry)}
		return t.Block(w, func() (uint64, linux.Errno) { return flock(t, h, op) })
	}
	h.Flocked = h.Flocked || e == 0
	return 0, e
}

// sysUmask implements umask(2).
func sysUmask(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	old := files.Of(t).Umask
	files.Of(t).Umask = a.U32(0) & 0o777
	return uint64(old), 0
}

// sysMemfdCreate implements memfd_create(2).
func sysMemfdCreate(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	flags := a.U32(1)
	if flags&^(linux.MFD_CLOEXEC|linux.MFD_ALLOW_SEALING|linux.MFD_NOEXEC_SEAL|linux.MFD_EXEC) != 0 || flags&(linux.MFD_NOEXEC_SEAL|linux.MFD_EXEC) == linux.MFD_NOEXEC_SEAL|linux.MFD_EXEC {
		return 0, linux.EINVAL
	}
	name, ok := t.Process.Mem.ReadString(a.Addr(0), 250)
	if !ok {
		return 0, linux.EFAULT
	}
	if len(name) >= 250 {
		return 0, linux.EINVAL
	}
	fd, e := host.Memfd(name, flags&^linux.MFD_CLOEXEC)
	if e != 0 {
		return 0, e
	}
	f, e := files.NewHostFile(t.Kernel, files.FileRef{FD: fd}, linux.O_RDWR|linux.O_LARGEFILE, "/memfd:"+name+" (deleted)")
	if e != 0 {
		return 0, e
	}
	f.Own = true
	files.Touch(t.Kernel, f.Ino)
	open := 0
	if flags&linux.MFD_CLOEXEC != 0 {
		open = linux.O_CLOEXEC
	}
	return files.Install(t, f, open)
}

package syscalls

import (
	"cmp"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// sysAccess implements access(2).
func sysAccess(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return access(t, linux.AT_FDCWD, a.Addr(0), a.U32(1), 0)
}

// sysFaccessat implements faccessat(2), which has no flags.
func sysFaccessat(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return access(t, a.Int(0), a.Addr(1), a.U32(2), 0)
}

// accessOpen is access(2) of an open file.
func accessOpen(t *task.Thread, f files.File, mode uint32) linux.Errno {
	st, e := f.Stat(t)
	if e != 0 {
		return e
	}
	if files.Owns(t, f) {
		st.Mode >>= 6
	}
	if st.Mode&7&mode != mode {
		return linux.EACCES
	}
	return 0
}

// sysFaccessat2 implements faccessat2(2).
func sysFaccessat2(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return access(t, a.Int(0), a.Addr(1), a.U32(2), a.Int(3))
}

func access(t *task.Thread, dirfd int, name emu.Addr, mode uint32, flags int) (uint64, linux.Errno) {
	if mode&^7 != 0 || flags&^(linux.AT_EACCESS|linux.AT_SYMLINK_NOFOLLOW|linux.AT_EMPTY_PATH) != 0 {
		return 0, linux.EINVAL
	}
	s, e := t.Path(name)
	if e != 0 {
		return 0, e
	}
	if s == "" && flags&linux.AT_EMPTY_PATH != 0 {
		if dirfd != linux.AT_FDCWD {
			f, e := files.GetRawFile(t, dirfd)
			if e != 0 {
				return 0, e
			}
			return 0, accessOpen(t, f, mode)
		}
		s = "."
	}
	const writeOK = 2
	follow := flags&linux.AT_SYMLINK_NOFOLLOW == 0
	how := files.Following(follow)
	if mode&writeOK != 0 {
		how |= files.LookupChange
	}
	l, e := files.Find(t, dirfd, s, how)
	if e != 0 {
		return 0, e
	}
	if l.Node != nil && l.Node.File != nil && follow {
		at, e := l.Magic(true)
		if e != 0 {
			return 0, accessOpen(t, l.Node.File(), mode)
		}
		l = at
	}
	if l.Node != nil {
		if l.Node.Mode>>6&mode != mode {
			return 0, linux.EACCES
		}
		return 0, 0
	}
	if mode&writeOK != 0 && files.SystemOf(t.Kernel).Config.ReadOnly && !l.Private {
		if st, e := l.Stat(follow); e == 0 && files.DeviceName(st.Mode, st.Rdev) == "" {
			return 0, linux.EROFS
		}
	}
	return 0, l.Access(mode, follow)
}

// sysChmod implements chmod(2).
func sysChmod(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return chmod(t, linux.AT_FDCWD, a.Addr(0), a.U32(1), 0)
}

// sysFchmodat implements fchmodat(2) as the kernel has it, without flags.
func sysFchmodat(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return chmod(t, a.Int(0), a.Addr(1), a.U32(2), 0)
}

// sysFchmodat2 implements fchmodat2(2).
func sysFchmodat2(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	if a.Int(3)&^(linux.AT_SYMLINK_NOFOLLOW|linux.AT_EMPTY_PATH) != 0 {
		return 0, linux.EINVAL
	}
	if s, e := t.Path(a.Addr(1)); e == 0 && s == "" && a.Int(3)&linux.AT_EMPTY_PATH != 0 {
		if a.Int(0) != linux.AT_FDCWD {
			f, e := files.GetRawFile(t, a.Int(0))
			if e != 0 {
				return 0, e
			}
			return 0, fchmod(t, f, a.U32(2))
		}
		l, e := files.OpenedHere(t, linux.AT_FDCWD)
		if e == 0 {
			e = files.MayChange(t, l)
		}
		if e != 0 {
			return 0, e
		}
		return 0, chmodAt(t, l, a.U32(2), true)
	}
	return chmod(t, a.Int(0), a.Addr(1), a.U32(2), a.Int(3))
}

func chmod(t *task.Thread, dirfd int, name emu.Addr, mode uint32, flags int) (uint64, linux.Errno) {
	l, e := changed(t, dirfd, name, flags&linux.AT_SYMLINK_NOFOLLOW == 0)
	if e != 0 {
		return 0, e
	}
	return 0, chmodAt(t, l, mode, flags&linux.AT_SYMLINK_NOFOLLOW == 0)
}

// chmodAt changes the mode of the file at a location that may be changed.
func chmodAt(t *task.Thread, l files.Location, mode uint32, follow bool) linux.Errno {
	e := l.Chmod(mode&0o7777, follow)
	if e == linux.EPERM && l.In == nil {
		if st, se := l.Stat(follow); se == 0 {
			e = files.Remember(t.Kernel, st, mode&0o7777)
		}
	}
	if e == 0 {
		event(t.Kernel, l, true, linux.IN_ATTRIB)
	}
	return e
}

// sysFchmod implements fchmod(2).
func sysFchmod(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	f, e := files.GetFile(t, a.Int(0))
	if e != 0 {
		return 0, e
	}
	return 0, fchmod(t, f, a.U32(1))
}

// fchmod changes the mode of an open file.
func fchmod(t *task.Thread, f files.File, mode uint32) linux.Errno {
	mode &= 0o7777
	if o, ok := f.(files.Owned); ok {
		o.SetMode(mode)
		return 0
	}
	h, ok := f.(*files.HostFile)
	if !ok {
		return linux.EPERM
	}
	if h.Fixed(t) {
		return linux.EROFS
	}
	e := h.Chmod(mode)
	if e == linux.EPERM && h.Node == nil {
		if st, se := h.FileRef.Stat(); se == 0 {
			e = files.Remember(t.Kernel, st, mode)
		}
	}
	if e == 0 {
		files.FileEvent(t.Kernel, h, linux.IN_ATTRIB)
	}
	return e
}

// mayChown is the rule for everyone but the superuser: a file can be given to oneself.
func mayChown(k *task.Kernel, uid, gid uint32, fixed bool) linux.Errno {
	const leave = 1<<32 - 1
	if fixed {
		return linux.EROFS
	}
	if uid != leave && uid != k.UID || gid != leave && gid != k.GID {
		return linux.EPERM
	}
	return 0
}

// chownAt implements the calls that name a file.
func chownAt(t *task.Thread, dirfd int, name emu.Addr, uid, gid uint32, flags int) (uint64, linux.Errno) {
	if flags&^(linux.AT_SYMLINK_NOFOLLOW|linux.AT_EMPTY_PATH) != 0 {
		return 0, linux.EINVAL
	}
	if _, e := t.Path(name); e != 0 { // stat(2) may do without a name
		return 0, e
	}
	if _, e := statAt(t, dirfd, name, flags); e != 0 {
		return 0, e
	}
	return 0, mayChown(t.Kernel, uid, gid, files.SystemOf(t.Kernel).Config.ReadOnly)
}

// sysChown implements chown(2).
func sysChown(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return chownAt(t, linux.AT_FDCWD, a.Addr(0), a.U32(1), a.U32(2), 0)
}

// sysLchown implements lchown(2).
func sysLchown(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return chownAt(t, linux.AT_FDCWD, a.Addr(0), a.U32(1), a.U32(2), linux.AT_SYMLINK_NOFOLLOW)
}

// sysFchown implements fchown(2).
func sysFchown(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	f, e := files.GetRawFile(t, a.Int(0))
	if e != 0 {
		return 0, e
	}
	if f.Base().Flags&linux.O_PATH != 0 {
		return 0, linux.EBADF
	}
	h, ok := f.(*files.HostFile)
	return 0, mayChown(t.Kernel, a.U32(1), a.U32(2), ok && h.Fixed(t))
}

// sysFchownat implements fchownat(2).
func sysFchownat(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return chownAt(t, a.Int(0), a.Addr(1), a.U32(2), a.U32(3), a.Int(4))
}

// sysUtimensat implements utimensat(2).
func sysUtimensat(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	var b []byte
	if a.Addr(2) != 0 {
		var e linux.Errno
		if b, e = t.CopyIn(a.Addr(2), 32); e != 0 {
			return 0, e
		}
		if linux.Uint64(b[8:]) == linux.UTIME_OMIT && linux.Uint64(b[24:]) == linux.UTIME_OMIT {
			return 0, 0 // "not even checking the path"
		}
	}
	set, e := utimesTarget(t, a.Int(0), a.Addr(1), a.Int(3))
	if e != 0 {
		return 0, e
	}
	ts := present(t)
	if b != nil {
		ts.now = linux.Uint64(b[8:]) == linux.UTIME_NOW && linux.Uint64(b[24:]) == linux.UTIME_NOW
		ts.at, e = timeArg(t, b)
		if e == 0 {
			ts.mt, e = timeArg(t, b[16:])
		}
		if e != 0 {
			return 0, e
		}
	}
	return 0, set(ts)
}

// newTimes are the times that a file is to get: those that are set. now says that both are the present, which everybody
// may give a file that he may write to; others are up to the owner.
type newTimes struct {
	at, mt host.Time
	now    bool
}

// present is what the calls set that are given no times.
func present(t *task.Thread) newTimes {
	now := files.TimeAt(t.Kernel.Wall())
	return newTimes{now, now, true}
}

// forOwn is what setting times of a file of ours returns. Nobody looks at them.
func (ts newTimes) forOwn(t *task.Thread, st files.Stat) linux.Errno {
	const othersWrite = 0o002
	switch {
	case st.UID == t.Kernel.UID, ts.now && st.Mode&othersWrite != 0:
		return 0
	case ts.now:
		return linux.EACCES
	}
	return linux.EPERM
}

// timeArg reads one timespec of utimensat(2).
func timeArg(t *task.Thread, b []byte) (host.Time, linux.Errno) {
	switch nsec := linux.Uint64(b[8:]); {
	case nsec == linux.UTIME_NOW:
		return files.TimeAt(t.Kernel.Wall()), 0
	case nsec == linux.UTIME_OMIT:
		return host.Time{}, 0
	case nsec >= 1e9:
		return host.Time{}, linux.EINVAL
	default:
		return host.Time{Sec: int64(linux.Uint64(b)), Nsec: int32(nsec), Set: true}, 0
	}
}

// utimesTarget finds the file whose times are to be set, and returns what sets them.
func utimesTarget(t *task.Thread, dirfd int, name emu.Addr, flags int) (set func(newTimes) linux.Errno, e linux.Errno) {
	opened := func(f files.File, e linux.Errno) (func(newTimes) linux.Errno, linux.Errno) {
		return func(ts newTimes) linux.Errno { return setFileTimes(t, f, ts) }, e
	}
	switch {
	case name == 0 && dirfd != linux.AT_FDCWD && flags != 0, flags&^(linux.AT_SYMLINK_NOFOLLOW|linux.AT_EMPTY_PATH) != 0:
		return nil, linux.EINVAL
	case name == 0 && dirfd != linux.AT_FDCWD:
		return opened(files.GetFile(t, dirfd))
	}
	s, e := t.Path(name)
	if e != 0 {
		return nil, e
	}
	if s == "" && flags&linux.AT_EMPTY_PATH != 0 {
		if dirfd != linux.AT_FDCWD {
			return opened(files.GetRawFile(t, dirfd))
		}
		l, e := files.OpenedHere(t, dirfd)
		return func(ts newTimes) linux.Errno { return setTimes(t, l, ts.at, ts.mt, true) }, e
	}
	st, e := statAt(t, dirfd, name, flags)
	if e != 0 {
		return nil, e
	}
	return func(ts newTimes) linux.Errno {
		follow := flags&linux.AT_SYMLINK_NOFOLLOW == 0
		l, e := onHost(t, dirfd, name, files.Following(follow))
		switch {
		case e == linux.EPERM && l.Node != nil:
			return ts.forOwn(t, st)
		case e != 0:
			return e
		}
		return setTimes(t, l, ts.at, ts.mt, follow)
	}, 0
}

// setFileTimes sets the times of an open file.
func setFileTimes(t *task.Thread, f files.File, ts newTimes) linux.Errno {
	h, ok := f.(*files.HostFile)
	if !ok {
		st, e := f.Stat(t)
		if e != 0 {
			return e
		}
		return ts.forOwn(t, st)
	}
	at, mt := ts.at, ts.mt
	if h.Fixed(t) {
		return linux.EROFS
	}
	e := h.Utimes(at, mt)
	if e != 0 && !(e == linux.EPERM && h.Node == nil && files.Remembers(t.Kernel)) {
		return e
	}
	files.FileEvent(t.Kernel, h, timeEvent(at, mt))
	st, _ := h.FileRef.Stat()
	timesSet(t.Kernel, st, e, at, mt)
	return 0
}

// setTimes sets the times of the file at a location.
func setTimes(t *task.Thread, l files.Location, at, mt host.Time, follow bool) linux.Errno {
	e := files.MayChange(t, l)
	if e != 0 {
		return e
	}
	e = l.Utimes(at, mt, follow)
	if e != 0 && !(e == linux.EPERM && l.In == nil && files.Remembers(t.Kernel)) {
		return e
	}
	event(t.Kernel, l, follow, timeEvent(at, mt))
	st, _ := l.Stat(follow)
	timesSet(t.Kernel, st, e, at, mt)
	return 0
}

// utimes implements the calls that have no flags.
func utimes(t *task.Thread, dirfd int, name emu.Addr, ts newTimes) (uint64, linux.Errno) {
	set, e := utimesTarget(t, dirfd, name, 0)
	if e != 0 {
		return 0, e
	}
	return 0, set(ts)
}

// timeEvent is what inotify says of a change of times (include/linux/fsnotify.h, fsnotify_change).
func timeEvent(at, mt host.Time) uint32 {
	switch {
	case !mt.Set:
		return linux.IN_ACCESS
	case !at.Set:
		return linux.IN_MODIFY
	}
	return linux.IN_ATTRIB
}

// utimesMicro is for the old calls, whose times are two timevals.
func utimesMicro(t *task.Thread, dirfd int, name, times emu.Addr) (uint64, linux.Errno) {
	ts := present(t)
	if times != 0 {
		ts.now = false
		b, e := t.CopyIn(times, 32)
		if e != 0 {
			return 0, e
		}
		for i, ft := range []*host.Time{&ts.at, &ts.mt} {
			usec := linux.Uint64(b[16*i+8:])
			if usec >= 1e6 {
				return 0, linux.EINVAL
			}
			*ft = host.Time{Sec: int64(linux.Uint64(b[16*i:])), Nsec: int32(usec) * 1000, Set: true}
		}
	}
	return utimes(t, dirfd, name, ts)
}

// sysUtimes implements utimes(2).
func sysUtimes(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return utimesMicro(t, linux.AT_FDCWD, a.Addr(0), a.Addr(1))
}

// sysFutimesat implements futimesat(2).
func sysFutimesat(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return utimesMicro(t, a.Int(0), a.Addr(1), a.Addr(2))
}

// sysUtime implements utime(2), which counts in seconds.
func sysUtime(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	ts := present(t)
	if a.Addr(1) != 0 {
		b, e := t.CopyIn(a.Addr(1), 16)
		if e != 0 {
			return 0, e
		}
		ts = newTimes{at: host.Time{Sec: int64(linux.Uint64(b)), Set: true}, mt: host.Time{Sec: int64(linux.Uint64(b[8:])), Set: true}}
	}
	return utimes(t, linux.AT_FDCWD, a.Addr(0), ts)
}

// sysTruncate implements truncate(2).
func sysTruncate(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	if a.Long(1) < 0 {
		return 0, linux.EINVAL
	}
	l, e := changed(t, linux.AT_FDCWD, a.Addr(0), true)
	if e != 0 {
		return 0, e
	}
	st, e := l.Stat(true)
	if e == 0 {
		switch st.Mode & linux.S_IFMT {
		case linux.S_IFREG:
		case linux.S_IFDIR:
			return 0, linux.EISDIR
		default:
			return 0, linux.EINVAL
		}
		if files.BeingExecuted(t.Kernel, st) {
			return 0, cmp.Or(l.Access(2, true), linux.ETXTBSY)
		}
		if e = files.MayGrow(t, st, a.Long(1)); e != 0 {
			return 0, e
		}
	}
	e = l.Truncate(a.Long(1))
	if e == 0 {
		files.Cut(t.Kernel, files.SystemOf(t.Kernel).Inodes.Number(st.Dev, st.Ino), a.Long(1))
		event(t.Kernel, l, true, linux.IN_MODIFY)
	}
	return 0, e
}

// timesSet notes that the guest set times of a file, which looks like h now: the host's file system may not go as far.
// An error says that the host has not set them.
func timesSet(k *task.Kernel, h host.Stat, e linux.Errno, at, mt host.Time) {
	switch {
	case e != 0:
		h.Atime, h.Mtime = at, mt
	case k.Clock.Real:
		return // the file has them
	}
	ino := files.SystemOf(k).Inodes.Number(h.Dev, h.Ino)
	ts := files.SystemOf(k).Inodes.Times[ino]
	if at.Set {
		ts.Atime = h.Atime
	}
	if mt.Set {
		ts.Mtime = h.Mtime
	}
	files.SystemOf(k).Inodes.Times[ino] = ts
	files.ChangedInode(k, ino)
}

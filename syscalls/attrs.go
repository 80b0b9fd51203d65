package syscalls

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// sysAccess implements access(2).
func sysAccess(t *Thread, a Args) (uint64, linux.Errno) {
	return t.access(linux.AT_FDCWD, a.Addr(0), a.U32(1), 0)
}

// sysFaccessat implements faccessat(2), which has no flags.
func sysFaccessat(t *Thread, a Args) (uint64, linux.Errno) {
	return t.access(a.Int(0), a.Addr(1), a.U32(2), 0)
}

// accessOpen is access(2) of an open file.
func (t *Thread) accessOpen(fd int, mode uint32) linux.Errno {
	f, e := t.file(fd)
	if e != 0 {
		return e
	}
	st, e := f.stat(t)
	if e != 0 {
		return e
	}
	if t.owns(f) {
		st.mode >>= 6
	}
	if st.mode&7&mode != mode {
		return linux.EACCES
	}
	return 0
}

// sysFaccessat2 implements faccessat2(2).
func sysFaccessat2(t *Thread, a Args) (uint64, linux.Errno) {
	return t.access(a.Int(0), a.Addr(1), a.U32(2), a.Int(3))
}

func (t *Thread) access(dirfd int, name emu.Addr, mode uint32, flags int) (uint64, linux.Errno) {
	if mode&^7 != 0 || flags&^(linux.AT_EACCESS|linux.AT_SYMLINK_NOFOLLOW|linux.AT_EMPTY_PATH) != 0 {
		return 0, linux.EINVAL
	}
	s, e := t.path(name)
	if e != 0 {
		return 0, e
	}
	if s == "" && flags&linux.AT_EMPTY_PATH != 0 {
		if dirfd != linux.AT_FDCWD {
			return 0, t.accessOpen(dirfd, mode)
		}
		s = "."
	}
	const writeOK = 2
	l, e := t.find(dirfd, s, flags&linux.AT_SYMLINK_NOFOLLOW == 0, mode&writeOK != 0)
	if e != 0 {
		return 0, e
	}
	if l.node != nil {
		if l.node.mode>>6&mode != mode {
			return 0, linux.EACCES
		}
		return 0, 0
	}
	if mode&writeOK != 0 && fsOf(t.k).cfg.ReadOnly && !l.private {
		if st, e := l.stat(flags&linux.AT_SYMLINK_NOFOLLOW == 0); e == 0 && deviceName(st.mode, st.rdev) == "" {
			return 0, linux.EROFS
		}
	}
	return 0, l.access(mode, flags&linux.AT_SYMLINK_NOFOLLOW == 0)
}

// sysChmod implements chmod(2).
func sysChmod(t *Thread, a Args) (uint64, linux.Errno) {
	return t.chmod(linux.AT_FDCWD, a.Addr(0), a.U32(1), 0)
}

// sysFchmodat implements fchmodat(2) as the kernel has it, without flags.
func sysFchmodat(t *Thread, a Args) (uint64, linux.Errno) {
	return t.chmod(a.Int(0), a.Addr(1), a.U32(2), 0)
}

// sysFchmodat2 implements fchmodat2(2).
func sysFchmodat2(t *Thread, a Args) (uint64, linux.Errno) {
	if a.Int(3)&^(linux.AT_SYMLINK_NOFOLLOW|linux.AT_EMPTY_PATH) != 0 {
		return 0, linux.EINVAL
	}
	if s, e := t.path(a.Addr(1)); e == 0 && s == "" && a.Int(3)&linux.AT_EMPTY_PATH != 0 {
		if a.Int(0) != linux.AT_FDCWD {
			f, e := t.file(a.Int(0))
			if e != 0 {
				return 0, e
			}
			return 0, t.fchmod(f, a.U32(2))
		}
		l, e := t.openedHere(linux.AT_FDCWD)
		if e == 0 {
			e = t.mayChange(l)
		}
		if e != 0 {
			return 0, e
		}
		return 0, t.chmodAt(l, a.U32(2), true)
	}
	return t.chmod(a.Int(0), a.Addr(1), a.U32(2), a.Int(3))
}

func (t *Thread) chmod(dirfd int, name emu.Addr, mode uint32, flags int) (uint64, linux.Errno) {
	l, e := t.changed(dirfd, name, flags&linux.AT_SYMLINK_NOFOLLOW == 0)
	if e != 0 {
		return 0, e
	}
	return 0, t.chmodAt(l, mode, flags&linux.AT_SYMLINK_NOFOLLOW == 0)
}

// chmodAt changes the mode of the file at a location that may be changed.
func (t *Thread) chmodAt(l location, mode uint32, follow bool) linux.Errno {
	e := l.chmod(mode&0o7777, follow)
	if e == linux.EPERM && l.in == nil {
		if st, se := l.stat(follow); se == 0 {
			e = t.k.remember(st, mode&0o7777)
		}
	}
	if e == 0 {
		t.k.event(l, true, linux.IN_ATTRIB)
	}
	return e
}

// sysFchmod implements fchmod(2).
func sysFchmod(t *Thread, a Args) (uint64, linux.Errno) {
	f, e := t.openFile(a.Int(0))
	if e != 0 {
		return 0, e
	}
	return 0, t.fchmod(f, a.U32(1))
}

// fchmod changes the mode of an open file.
func (t *Thread) fchmod(f file, mode uint32) linux.Errno {
	mode &= 0o7777
	if o, ok := f.(owned); ok {
		o.setMode(mode)
		return 0
	}
	h, ok := f.(*hostFile)
	if !ok {
		return linux.EPERM
	}
	if h.fixed(t) {
		return linux.EROFS
	}
	e := h.chmod(mode)
	if e == linux.EPERM && h.node == nil {
		if st, se := h.fileRef.stat(); se == 0 {
			e = t.k.remember(st, mode)
		}
	}
	if e == 0 {
		t.k.fileEvent(h, linux.IN_ATTRIB)
	}
	return e
}

// mayChown is the rule for everyone but the superuser: a file can be given to oneself.
func (k *Kernel) mayChown(uid, gid uint32, fixed bool) linux.Errno {
	const leave = 1<<32 - 1
	if fixed {
		return linux.EROFS
	}
	if uid != leave && uid != k.uid || gid != leave && gid != k.gid {
		return linux.EPERM
	}
	return 0
}

// chownAt implements the calls that name a file.
func (t *Thread) chownAt(dirfd int, name emu.Addr, uid, gid uint32, flags int) (uint64, linux.Errno) {
	if flags&^(linux.AT_SYMLINK_NOFOLLOW|linux.AT_EMPTY_PATH) != 0 {
		return 0, linux.EINVAL
	}
	if _, e := t.path(name); e != 0 { // stat(2) may do without a name
		return 0, e
	}
	if _, e := t.statAt(dirfd, name, flags); e != 0 {
		return 0, e
	}
	return 0, t.k.mayChown(uid, gid, fsOf(t.k).cfg.ReadOnly)
}

// sysChown implements chown(2).
func sysChown(t *Thread, a Args) (uint64, linux.Errno) {
	return t.chownAt(linux.AT_FDCWD, a.Addr(0), a.U32(1), a.U32(2), 0)
}

// sysLchown implements lchown(2).
func sysLchown(t *Thread, a Args) (uint64, linux.Errno) {
	return t.chownAt(linux.AT_FDCWD, a.Addr(0), a.U32(1), a.U32(2), linux.AT_SYMLINK_NOFOLLOW)
}

// sysFchown implements fchown(2).
func sysFchown(t *Thread, a Args) (uint64, linux.Errno) {
	f, e := t.file(a.Int(0))
	if e != 0 {
		return 0, e
	}
	if f.base().flags&linux.O_PATH != 0 {
		return 0, linux.EBADF
	}
	h, ok := f.(*hostFile)
	return 0, t.k.mayChown(a.U32(1), a.U32(2), ok && h.fixed(t))
}

// sysFchownat implements fchownat(2).
func sysFchownat(t *Thread, a Args) (uint64, linux.Errno) {
	return t.chownAt(a.Int(0), a.Addr(1), a.U32(2), a.U32(3), a.Int(4))
}

// sysUtimensat implements utimensat(2).
func sysUtimensat(t *Thread, a Args) (uint64, linux.Errno) {
	var b []byte
	if a.Addr(2) != 0 {
		var e linux.Errno
		if b, e = t.copyIn(a.Addr(2), 32); e != 0 {
			return 0, e
		}
		if le64(b[8:]) == linux.UTIME_OMIT && le64(b[24:]) == linux.UTIME_OMIT {
			return 0, 0 // "not even checking the path"
		}
	}
	set, e := t.utimesTarget(a.Int(0), a.Addr(1), a.Int(3))
	if e != 0 {
		return 0, e
	}
	at, mt := timeAt(t.k.wall()), timeAt(t.k.wall())
	if b != nil {
		at, e = t.timeArg(b)
		if e == 0 {
			mt, e = t.timeArg(b[16:])
		}
		if e != 0 {
			return 0, e
		}
	}
	return 0, set(at, mt)
}

// timeArg reads one timespec of utimensat(2).
func (t *Thread) timeArg(b []byte) (fileTime, linux.Errno) {
	switch nsec := le64(b[8:]); {
	case nsec == linux.UTIME_NOW:
		return timeAt(t.k.wall()), 0
	case nsec == linux.UTIME_OMIT:
		return fileTime{}, 0
	case nsec >= 1e9:
		return fileTime{}, linux.EINVAL
	default:
		return fileTime{int64(le64(b)), int32(nsec), true}, 0
	}
}

// utimesTarget finds the file whose times are to be set, and returns what sets them.
func (t *Thread) utimesTarget(dirfd int, name emu.Addr, flags int) (set func(at, mt fileTime) linux.Errno, e linux.Errno) {
	opened := func(f file, e linux.Errno) (func(at, mt fileTime) linux.Errno, linux.Errno) {
		return func(at, mt fileTime) linux.Errno { return t.setFileTimes(f, at, mt) }, e
	}
	switch {
	case name == 0 && dirfd != linux.AT_FDCWD && flags != 0, flags&^(linux.AT_SYMLINK_NOFOLLOW|linux.AT_EMPTY_PATH) != 0:
		return nil, linux.EINVAL
	case name == 0 && dirfd != linux.AT_FDCWD:
		return opened(t.openFile(dirfd))
	}
	s, e := t.path(name)
	if e != 0 {
		return nil, e
	}
	if s == "" && flags&linux.AT_EMPTY_PATH != 0 {
		if dirfd != linux.AT_FDCWD {
			return opened(t.file(dirfd))
		}
		l, e := t.openedHere(dirfd)
		return func(at, mt fileTime) linux.Errno { return t.setTimes(l, at, mt, true) }, e
	}
	if _, e := t.statAt(dirfd, name, flags); e != 0 {
		return nil, e
	}
	return func(at, mt fileTime) linux.Errno {
		follow := flags&linux.AT_SYMLINK_NOFOLLOW == 0
		l, e := t.onHost(dirfd, name, follow)
		if e != 0 {
			return e
		}
		return t.setTimes(l, at, mt, follow)
	}, 0
}

// setFileTimes sets the times of an open file.
func (t *Thread) setFileTimes(f file, at, mt fileTime) linux.Errno {
	if _, ok := f.(owned); ok {
		return 0 // nobody looks at its times
	}
	h, ok := f.(*hostFile)
	if !ok {
		return linux.EPERM
	}
	if h.fixed(t) {
		return linux.EROFS
	}
	e := h.utimes(at, mt)
	if e != 0 && !(e == linux.EPERM && h.node == nil && t.k.remembers()) {
		return e
	}
	t.k.fileEvent(h, timeEvent(at, mt))
	st, _ := h.fileRef.stat()
	t.k.timesSet(st, e, at, mt)
	return 0
}

// setTimes sets the times of the file at a location.
func (t *Thread) setTimes(l location, at, mt fileTime, follow bool) linux.Errno {
	e := t.mayChange(l)
	if e != 0 {
		return e
	}
	e = l.utimes(at, mt, follow)
	if e != 0 && !(e == linux.EPERM && l.in == nil && t.k.remembers()) {
		return e
	}
	t.k.event(l, follow, timeEvent(at, mt))
	st, _ := l.stat(follow)
	t.k.timesSet(st, e, at, mt)
	return 0
}

// utimes implements the calls that have no flags.
func (t *Thread) utimes(dirfd int, name emu.Addr, at, mt fileTime) (uint64, linux.Errno) {
	set, e := t.utimesTarget(dirfd, name, 0)
	if e != 0 {
		return 0, e
	}
	return 0, set(at, mt)
}

// timeEvent is what inotify says of a change of times (include/linux/fsnotify.h, fsnotify_change).
func timeEvent(at, mt fileTime) uint32 {
	switch {
	case !mt.set:
		return linux.IN_ACCESS
	case !at.set:
		return linux.IN_MODIFY
	}
	return linux.IN_ATTRIB
}

// utimesMicro is for the old calls, whose times are two timevals.
func (t *Thread) utimesMicro(dirfd int, name, times emu.Addr) (uint64, linux.Errno) {
	at, mt := timeAt(t.k.wall()), timeAt(t.k.wall())
	if times != 0 {
		b, e := t.copyIn(times, 32)
		if e != 0 {
			return 0, e
		}
		for i, ft := range []*fileTime{&at, &mt} {
			usec := le64(b[16*i+8:])
			if usec >= 1e6 {
				return 0, linux.EINVAL
			}
			*ft = fileTime{int64(le64(b[16*i:])), int32(usec) * 1000, true}
		}
	}
	return t.utimes(dirfd, name, at, mt)
}

// sysUtimes implements utimes(2).
func sysUtimes(t *Thread, a Args) (uint64, linux.Errno) {
	return t.utimesMicro(linux.AT_FDCWD, a.Addr(0), a.Addr(1))
}

// sysFutimesat implements futimesat(2).
func sysFutimesat(t *Thread, a Args) (uint64, linux.Errno) {
	return t.utimesMicro(a.Int(0), a.Addr(1), a.Addr(2))
}

// sysUtime implements utime(2), which counts in seconds.
func sysUtime(t *Thread, a Args) (uint64, linux.Errno) {
	at, mt := timeAt(t.k.wall()), timeAt(t.k.wall())
	if a.Addr(1) != 0 {
		b, e := t.copyIn(a.Addr(1), 16)
		if e != 0 {
			return 0, e
		}
		at, mt = fileTime{int64(le64(b)), 0, true}, fileTime{int64(le64(b[8:])), 0, true}
	}
	return t.utimes(linux.AT_FDCWD, a.Addr(0), at, mt)
}

// sysTruncate implements truncate(2).
func sysTruncate(t *Thread, a Args) (uint64, linux.Errno) {
	if a.Long(1) < 0 {
		return 0, linux.EINVAL
	}
	l, e := t.changed(linux.AT_FDCWD, a.Addr(0), true)
	if e != 0 {
		return 0, e
	}
	if st, e := l.stat(true); e == 0 {
		switch st.mode & linux.S_IFMT {
		case linux.S_IFREG:
		case linux.S_IFDIR:
			return 0, linux.EISDIR
		default:
			return 0, linux.EINVAL
		}
		if e = t.mayGrow(st, a.Long(1)); e != 0 {
			return 0, e
		}
	}
	e = l.truncate(a.Long(1))
	if e == 0 {
		t.k.event(l, true, linux.IN_MODIFY)
	}
	return 0, e
}

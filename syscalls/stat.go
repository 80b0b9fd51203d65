package syscalls

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// statAt is stat(2) in all its forms.
func statAt(t *task.Thread, dirfd int, name emu.Addr, flags int) (files.Stat, linux.Errno) {
	s, e := t.Path(name)
	if e != 0 {
		// "pathname may be NULL with AT_EMPTY_PATH" - statx(2), since Linux 6.11
		if name != 0 || flags&linux.AT_EMPTY_PATH == 0 {
			return files.Stat{}, e
		}
	}
	if s == "" && flags&linux.AT_EMPTY_PATH != 0 {
		if dirfd == linux.AT_FDCWD {
			s = "."
		} else {
			f, e := files.GetRawFile(t, dirfd)
			if e != 0 {
				return files.Stat{}, e
			}
			return f.Stat(t)
		}
	}
	follow := flags&linux.AT_SYMLINK_NOFOLLOW == 0
	l, e := files.Locate(t, dirfd, s, follow)
	if e != 0 {
		return files.Stat{}, e
	}
	return files.StatOf(t, l, follow)
}

// sysStat implements stat(2).
func sysStat(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	s, e := statAt(t, linux.AT_FDCWD, a.Addr(0), 0)
	return files.FinishStat(t, s, e, a.Addr(1))
}

// sysLstat implements lstat(2).
func sysLstat(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	s, e := statAt(t, linux.AT_FDCWD, a.Addr(0), linux.AT_SYMLINK_NOFOLLOW)
	return files.FinishStat(t, s, e, a.Addr(1))
}

// sysFstat implements fstat(2).
func sysFstat(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	f, e := files.GetRawFile(t, a.Int(0))
	if e != 0 {
		return 0, e
	}
	s, e := f.Stat(t)
	return files.FinishStat(t, s, e, a.Addr(1))
}

// sysNewfstatat implements fstatat(2).
func sysNewfstatat(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	flags := a.Int(3)
	if flags&^(linux.AT_SYMLINK_NOFOLLOW|linux.AT_NO_AUTOMOUNT|linux.AT_EMPTY_PATH|linux.AT_STATX_SYNC_TYPE) != 0 && !(a.Int(0) >= 0 && noPath(t, a.Addr(1), flags)) {
		return 0, linux.EINVAL
	}
	s, e := statAt(t, a.Int(0), a.Addr(1), flags)
	return files.FinishStat(t, s, e, a.Addr(2))
}

// noPath reports whether a descriptor alone names the file (since Linux 6.11): other flags are not looked at then.
func noPath(t *task.Thread, name emu.Addr, flags int) bool {
	if flags&linux.AT_EMPTY_PATH == 0 || name == 0 {
		return flags&linux.AT_EMPTY_PATH != 0
	}
	s, e := t.Path(name)
	return e == 0 && s == ""
}

// sysStatx implements statx(2).
func sysStatx(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	flags := a.Int(2)
	const statxReserved = 1 << 31
	if flags&linux.AT_STATX_SYNC_TYPE == linux.AT_STATX_SYNC_TYPE || a.U32(3)&statxReserved != 0 ||
		flags&^(linux.AT_SYMLINK_NOFOLLOW|linux.AT_NO_AUTOMOUNT|linux.AT_EMPTY_PATH|linux.AT_STATX_SYNC_TYPE) != 0 && !(a.Int(0) >= 0 && noPath(t, a.Addr(1), flags)) {
		return 0, linux.EINVAL
	}
	s, e := statAt(t, a.Int(0), a.Addr(1), flags)
	if e != 0 {
		return 0, e
	}
	return 0, t.CopyOut(a.Addr(4), s.EncodeStatx())
}

package syscalls

import (
	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// sysStatfs implements statfs(2).
func sysStatfs(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	s, e := t.Path(a.Addr(0))
	if e != 0 {
		return 0, e
	}
	l, e := files.Locate(t, linux.AT_FDCWD, s, true)
	if e != 0 {
		return 0, e
	}
	st, e := files.StatOf(t, l, true)
	if e != 0 {
		return 0, e
	}
	name := l.Guest
	if l.Private {
		name = "/dev/shm"
	}
	return 0, t.CopyOut(a.Addr(1), files.StatfsOf(st.Dev, name))
}

// sysFstatfs implements fstatfs(2).
func sysFstatfs(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	f, e := files.GetRawFile(t, a.Int(0))
	if e != 0 {
		return 0, e
	}
	st, e := f.Stat(t)
	if e != 0 {
		return 0, e
	}
	return 0, t.CopyOut(a.Addr(1), files.StatfsOf(st.Dev, f.Name(t.Kernel)))
}

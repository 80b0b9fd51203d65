package syscalls

import (
	"slices"

	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// sysInotifyInit implements inotify_init(2).
func sysInotifyInit(t *task.Thread, _ uio.Args) (uint64, linux.Errno) { return files.InotifyInit(t, 0) }

// sysInotifyInit1 implements inotify_init1(2).
func sysInotifyInit1(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return files.InotifyInit(t, a.Int(0))
}

func getInotify(t *task.Thread, fd int) (*files.InotifyFile, linux.Errno) {
	f, e := files.GetFile(t, fd)
	if e != 0 {
		return nil, e
	}
	if in, ok := f.(*files.InotifyFile); ok {
		return in, 0
	}
	return nil, linux.EINVAL
}

// sysInotifyAddWatch implements inotify_add_watch(2).
func sysInotifyAddWatch(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	const flags = linux.IN_ONLYDIR | linux.IN_DONT_FOLLOW | linux.IN_EXCL_UNLINK | linux.IN_MASK_CREATE | linux.IN_MASK_ADD | linux.IN_ISDIR | linux.IN_ONESHOT
	mask := a.U32(2)
	const all = linux.IN_ALL_EVENTS | linux.IN_Q_OVERFLOW | linux.IN_IGNORED | 0x2000 | flags
	if mask&all == 0 || mask&^all != 0 {
		return 0, linux.EINVAL
	}
	if _, e := files.GetFile(t, a.Int(0)); e != 0 {
		return 0, e
	}
	if mask&linux.IN_MASK_ADD != 0 && mask&linux.IN_MASK_CREATE != 0 {
		return 0, linux.EINVAL
	}
	f, e := getInotify(t, a.Int(0))
	if e != 0 {
		return 0, e
	}
	s, e := t.Path(a.Addr(1))
	if e != 0 {
		return 0, e
	}
	follow := mask&linux.IN_DONT_FOLLOW == 0
	l, e := files.Locate(t, linux.AT_FDCWD, s, follow)
	if e != 0 {
		return 0, e
	}
	st, e := files.StatOf(t, l, follow)
	switch {
	case e != 0:
		return 0, e
	case mask&linux.IN_ONLYDIR != 0 && st.Mode&linux.S_IFMT != linux.S_IFDIR:
		return 0, linux.ENOTDIR
	}
	if l.Node == nil {
		if e := l.Access(4, follow); e != 0 {
			return 0, e
		}
	}
	return f.Watch(st.Ino, mask)
}

// sysInotifyRmWatch implements inotify_rm_watch(2).
func sysInotifyRmWatch(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	f, e := getInotify(t, a.Int(0))
	if e != 0 {
		return 0, e
	}
	i := slices.IndexFunc(f.Watches, func(w *files.InotifyWatch) bool { return w.Wd == a.Int(1) })
	if i < 0 {
		return 0, linux.EINVAL
	}
	f.Drop(f.Watches[i])
	return 0, 0
}

// event is FileEvent for a path.
func event(k *task.Kernel, l files.Location, follow bool, mask uint32) {
	flags := linux.O_PATH
	if !follow {
		flags |= linux.O_NOFOLLOW
	}
	r, e := l.Open(flags, 0, 0)
	if e != 0 {
		return
	}
	defer r.Close()
	if st, e := r.Stat(); e == 0 {
		files.FileEvent(k, &files.HostFile{FileRef: r, Mode: st.Mode, Ino: files.SystemOf(k).Inodes.Number(st.Dev, st.Ino)}, mask)
	}
}

package syscalls

import (
	"cmp"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

// onHost locates a path that is to be changed: our own nodes cannot be.
func onHost(t *task.Thread, dirfd int, name emu.Addr, how files.Lookup) (files.Location, linux.Errno) {
	s, e := t.Path(name)
	if e != 0 {
		return files.Location{}, e
	}
	l, e := files.Find(t, dirfd, s, how|files.LookupChange)
	if e == 0 && l.Node != nil && l.NoName == "" {
		l, e = l.Magic(how&files.LookupFollow != 0)
	}
	return l, e
}

// newName is onHost for a name to be made: one of ours exists or cannot be made.
func newName(t *task.Thread, dirfd int, name emu.Addr) (files.Location, linux.Errno) {
	l, e := onHost(t, dirfd, name, files.LookupParent)
	if e == linux.EPERM || l.NoName != "" {
		e = linux.EEXIST
	}
	if e == 0 {
		e = files.MayMake(t, l)
	}
	return l, e
}

// oldName is onHost for a name to be taken away. A file system that is read-only does not look for it first.
func oldName(t *task.Thread, dirfd int, name emu.Addr) (files.Location, linux.Errno) {
	l, e := onHost(t, dirfd, name, files.LookupParent)
	if e == 0 {
		e = mayTake(t, l)
	}
	return l, e
}

// mayTake is an error if the guest may not take the name l away: that of a node of ours, or one where all is read-only.
func mayTake(t *task.Thread, l files.Location) linux.Errno {
	switch {
	case l.NoName != "":
		return 0 // which is told by who asks
	case l.Node != nil:
		_, e := l.Magic(false)
		return e
	case l.Private, !files.SystemOf(t.Kernel).Config.ReadOnly:
		return 0
	}
	_, e := l.Parent().Stat(true)
	return cmp.Or(e, linux.EROFS)
}

// parentOf looks a name up that is to be moved, or to be given to what is moved, as far as its directory.
func parentOf(t *task.Thread, dirfd int, name emu.Addr) (files.Location, linux.Errno) {
	s, e := t.Path(name)
	if e != 0 {
		return files.Location{}, e
	}
	return files.Find(t, dirfd, s, files.LookupParent|files.LookupChange)
}

// directoryThere is an error if the directory that l is in is not there, which the host has not been asked yet.
func directoryThere(l files.Location) linux.Errno {
	if l.Node != nil {
		return 0
	}
	st, e := l.Parent().Stat(true)
	if e == 0 && st.IsDir() == 0 {
		e = linux.ENOTDIR
	}
	return e
}

// changed is onHost for a file that is to be changed.
func changed(t *task.Thread, dirfd int, name emu.Addr, follow bool) (files.Location, linux.Errno) {
	l, e := onHost(t, dirfd, name, files.Following(follow))
	if e == 0 {
		e = files.MayChange(t, l)
	}
	return l, e
}

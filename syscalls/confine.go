package syscalls

import (
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
	if e == 0 && l.Node != nil {
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
	if e == 0 && l.NoName == "" && files.SystemOf(t.Kernel).Config.ReadOnly && !l.Private {
		if _, e = l.Parent().Stat(true); e == 0 {
			e = linux.EROFS
		}
	}
	return l, e
}

// changed is onHost for a file that is to be changed.
func changed(t *task.Thread, dirfd int, name emu.Addr, follow bool) (files.Location, linux.Errno) {
	l, e := onHost(t, dirfd, name, files.Following(follow))
	if e == 0 {
		e = files.MayChange(t, l)
	}
	return l, e
}

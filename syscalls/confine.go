package syscalls

import (
	"path"
	"strings"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// This file says what a guest may change that sees its files read-only (Config.ReadOnly). What a file is decides, never the name
// that led to it: locations come from a walk that knows by descriptors whether it is in the directory that the run has for itself
// (location.private), and open files keep what they were opened as (hostFile.own). The host's own check of the same line is
// internal/sandbox.

// mayChange is EROFS if the guest may not change what is at l, which is there.
func (t *Thread) mayChange(l location) linux.Errno {
	if !fsOf(t.k).cfg.ReadOnly || l.node != nil || l.private || l.opened != nil && !l.opened.fixed(t) {
		return 0
	}
	if _, e := l.stat(true); e != 0 {
		return e
	}
	return linux.EROFS
}

// mayMake is EROFS if the guest may not make l.
func (t *Thread) mayMake(l location) linux.Errno {
	if !fsOf(t.k).cfg.ReadOnly || l.private {
		return 0
	}
	if _, e := l.stat(false); e == 0 {
		return linux.EEXIST
	} else if e != linux.ENOENT {
		return e
	}
	if _, e := l.parent().stat(true); e != 0 {
		return e
	}
	return linux.EROFS
}

// parent is the directory that l is in, or is to be made in.
func (l location) parent() fileAt {
	p := l.fileAt
	p.path = path.Dir(strings.TrimSuffix(p.path, "/"))
	return p
}

// changing reports whether open(2) with flags makes or changes something, or lets the guest do so.
func changing(flags int) bool {
	return flags&linux.O_PATH == 0 && (flags&linux.O_ACCMODE != linux.O_RDONLY || flags&(linux.O_CREAT|linux.O_TRUNC) != 0 || flags&linux.O_TMPFILE == linux.O_TMPFILE)
}

// mayOpen checks that the guest may open l with flags, and returns those to open it with on the host: where nothing may be changed
// they ask for nothing that could, whatever is there by then.
func (t *Thread) mayOpen(l location, flags int) (int, linux.Errno) {
	if !fsOf(t.k).cfg.ReadOnly || !changing(flags) || l.private {
		return flags, 0
	}
	st, e := l.stat(flags&linux.O_NOFOLLOW == 0)
	switch {
	case e == linux.ENOENT && flags&linux.O_CREAT != 0:
		e = t.mayMake(l)
	case e != 0:
	case flags&(linux.O_CREAT|linux.O_EXCL) == linux.O_CREAT|linux.O_EXCL:
		e = linux.EEXIST
	case flags&linux.O_TMPFILE == linux.O_TMPFILE:
		e = linux.EROFS
	case flags&linux.O_ACCMODE != linux.O_RDONLY || flags&linux.O_TRUNC != 0 && st.mode&linux.S_IFMT == linux.S_IFREG:
		e = writing(st)
	}
	return flags &^ (linux.O_ACCMODE | linux.O_CREAT | linux.O_TRUNC), e
}

// writing is what open(2) returns for writing to a file of the host that the guest may not change. Only what is a device of ours can
// be opened.
func writing(st hostStat) linux.Errno {
	switch st.mode & linux.S_IFMT {
	case linux.S_IFDIR:
		return linux.EISDIR
	case linux.S_IFLNK:
		return linux.ELOOP
	case linux.S_IFSOCK:
		return linux.ENXIO
	case linux.S_IFCHR:
		if deviceName(st.mode, st.rdev) != "" {
			return 0
		}
	}
	return linux.EROFS
}

// fixed reports whether f is a file of the host that the guest may not change: not an output that it was given, and not one that is
// in no directory, or in its own.
func (f *hostFile) fixed(t *Thread) bool { return fsOf(t.k).cfg.ReadOnly && !f.own }

// remembers reports whether attributes that the guest may change are kept here alone: for a confined process that changes no files
// the host has no way to let those of the run's own be changed and no others.
func (k *Kernel) remembers() bool {
	return (fsOf(k).cfg.ReadOnly || fsOf(k).cfg.Overlay) && byDescriptor()
}

// remember keeps permissions that the host did not let us change, with EPERM. Those of sockets it can do without: only the guest
// connects to them.
func (k *Kernel) remember(st hostStat, mode uint32) linux.Errno {
	if !k.remembers() && !(st.mode&linux.S_IFMT == linux.S_IFSOCK && byDescriptor()) {
		return linux.EPERM
	}
	fsOf(k).inodes.modes[fsOf(k).inodes.number(st.dev, st.ino)] = mode
	return 0
}

// onHost locates a path that is to be changed: our own nodes cannot be.
func (t *Thread) onHost(dirfd int, name emu.Addr, follow bool) (location, linux.Errno) {
	s, e := t.path(name)
	if e != 0 {
		return location{}, e
	}
	l, e := t.find(dirfd, s, follow, true)
	if e == 0 && l.node != nil {
		l, e = l.magic(follow)
	}
	return l, e
}

// magic is the place of the host that l, a link of /proc/PID/fd, stands for; EPERM if it is none.
func (l location) magic(follow bool) (location, linux.Errno) {
	if l.node.file != nil && follow {
		if h, ok := l.node.file().(*hostFile); ok {
			return location{fileAt: h.again(), guest: l.guest, opened: h, private: h.private}, 0
		}
	}
	return l, linux.EPERM
}

// newName is onHost for a name to be made: one of ours exists or cannot be made.
func (t *Thread) newName(dirfd int, name emu.Addr) (location, linux.Errno) {
	l, e := t.onHost(dirfd, name, false)
	if e == linux.EPERM {
		e = linux.EEXIST
	}
	if e == 0 {
		e = t.mayMake(l)
	}
	return l, e
}

// oldName is onHost for a name to be taken away. A file system that is read-only does not look for it first.
func (t *Thread) oldName(dirfd int, name emu.Addr) (location, linux.Errno) {
	l, e := t.onHost(dirfd, name, false)
	if e == 0 && fsOf(t.k).cfg.ReadOnly && !l.private {
		if _, e = l.parent().stat(true); e == 0 {
			e = linux.EROFS
		}
	}
	return l, e
}

// changed is onHost for a file that is to be changed.
func (t *Thread) changed(dirfd int, name emu.Addr, follow bool) (location, linux.Errno) {
	l, e := t.onHost(dirfd, name, follow)
	if e == 0 {
		e = t.mayChange(l)
	}
	return l, e
}

package files

import (
	"cmp"
	"path"
	"strings"

	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

// This file says what a guest may change that sees its files read-only (Config.ReadOnly). What a file is decides, never
// the name that led to it: locations come from a walk that knows by descriptors whether it is in the directory that the
// run has for itself (Location.Private), and open files keep what they were opened as (HostFile.Own). The host's own
// check of the same line is internal/sandbox.

// MayChange is EROFS if the guest may not change what is at l, which is there.
func MayChange(t *task.Thread, l Location) linux.Errno {
	if !SystemOf(t.Kernel).Config.ReadOnly || l.Node != nil || l.Private || l.opened != nil && !l.opened.Fixed(t) {
		return 0
	}
	if _, e := l.Stat(true); e != 0 {
		return e
	}
	return linux.EROFS
}

// MayMake is EROFS if the guest may not make l.
func MayMake(t *task.Thread, l Location) linux.Errno {
	if !SystemOf(t.Kernel).Config.ReadOnly || l.Private {
		return 0
	}
	return cmp.Or(l.Missing(), linux.EROFS)
}

// Missing is EEXIST if something is at l, and what else keeps anything from being made there, but for permissions.
func (l Location) Missing() linux.Errno {
	if _, e := l.Stat(false); e == 0 {
		return linux.EEXIST
	} else if e != linux.ENOENT {
		return e
	}
	_, e := l.Parent().Stat(true)
	return e
}

// Makeable is what keeps the guest from making something at l, whatever it is.
func (l Location) Makeable() linux.Errno {
	if e := l.Missing(); e != 0 {
		return e
	}
	return l.Parent().Access(3, true) // to write, and to look for names
}

// Parent is the directory that l is in, or is to be made in.
func (l Location) Parent() FileAt {
	p := l.FileAt
	if p.Path != "/" {
		p.Path = path.Dir(strings.TrimSuffix(p.Path, "/"))
	}
	return p
}

// Changing reports whether open(2) with flags makes or changes something, or lets the guest do so.
func Changing(flags int) bool {
	return flags&linux.O_PATH == 0 && (flags&linux.O_ACCMODE != linux.O_RDONLY || flags&(linux.O_CREAT|linux.O_TRUNC) != 0 || flags&linux.O_TMPFILE == linux.O_TMPFILE)
}

// OpenLookup is how open(2) with flags looks a path up.
func OpenLookup(flags int) Lookup {
	how := Following(flags&linux.O_NOFOLLOW == 0 && flags&(linux.O_CREAT|linux.O_EXCL) != linux.O_CREAT|linux.O_EXCL)
	if Changing(flags) {
		how |= LookupChange
	}
	if flags&(linux.O_CREAT|linux.O_PATH) == linux.O_CREAT {
		how |= LookupCreate
	}
	return how
}

// MayOpen checks that the guest may open l with flags, and returns those to open it with on the host: where nothing may
// be changed they ask for nothing that could, whatever is there by then.
func MayOpen(t *task.Thread, l Location, flags int) (int, linux.Errno) {
	if !SystemOf(t.Kernel).Config.ReadOnly || !Changing(flags) || l.Private {
		return flags, 0
	}
	st, e := l.Stat(flags&linux.O_NOFOLLOW == 0)
	switch {
	case e == linux.ENOENT && flags&linux.O_CREAT != 0:
		e = MayMake(t, l)
	case e != 0:
	case flags&(linux.O_CREAT|linux.O_EXCL) == linux.O_CREAT|linux.O_EXCL:
		e = linux.EEXIST
	case flags&linux.O_TMPFILE == linux.O_TMPFILE:
		e = linux.EROFS
	case flags&linux.O_ACCMODE != linux.O_RDONLY || flags&linux.O_TRUNC != 0 && st.Mode&linux.S_IFMT == linux.S_IFREG:
		e = writing(st)
	}
	return flags &^ (linux.O_ACCMODE | linux.O_CREAT | linux.O_TRUNC), e
}

// NotExecuted is ETXTBSY if open(2) with flags would let the guest write to a file that a process executes, or empty
// it.
func NotExecuted(t *task.Thread, l Location, flags int) linux.Errno {
	if flags&(linux.O_PATH|linux.O_DIRECTORY) != 0 || flags&linux.O_ACCMODE == linux.O_RDONLY && flags&linux.O_TRUNC == 0 || flags&(linux.O_CREAT|linux.O_EXCL) == linux.O_CREAT|linux.O_EXCL {
		return 0
	}
	if st, e := l.Stat(flags&linux.O_NOFOLLOW == 0); e != 0 || !BeingExecuted(t.Kernel, st) {
		return 0
	}
	return cmp.Or(l.Access(accessOf(flags), true), linux.ETXTBSY)
}

// writing is what open(2) returns for writing to a file of the host that the guest may not change. Only what is a
// device of ours can be opened.
func writing(st host.Stat) linux.Errno {
	switch st.Mode & linux.S_IFMT {
	case linux.S_IFDIR:
		return linux.EISDIR
	case linux.S_IFLNK:
		return linux.ELOOP
	case linux.S_IFSOCK:
		return linux.ENXIO
	case linux.S_IFCHR:
		if DeviceName(st.Mode, st.Rdev) != "" {
			return 0
		}
	}
	return linux.EROFS
}

// Fixed reports whether f is a file of the host that the guest may not change: not an output that it was given, and not
// one that is in no directory, or in its own.
func (f *HostFile) Fixed(t *task.Thread) bool { return SystemOf(t.Kernel).Config.ReadOnly && !f.Own }

// Remembers reports whether attributes that the guest may change are kept here alone: for a confined process that
// changes no files the host has no way to let those of the run's own be changed and no others.
func Remembers(k *task.Kernel) bool {
	return (SystemOf(k).Config.ReadOnly || SystemOf(k).Config.Overlay) && host.ByDescriptor()
}

// Remember keeps permissions that the host did not let us change, with EPERM. Those of sockets it can do without: only
// the guest connects to them.
func Remember(k *task.Kernel, st host.Stat, mode uint32) linux.Errno {
	if !Remembers(k) && !(st.Mode&linux.S_IFMT == linux.S_IFSOCK && host.ByDescriptor()) {
		return linux.EPERM
	}
	SystemOf(k).Inodes.modes[SystemOf(k).Inodes.Number(st.Dev, st.Ino)] = mode
	return 0
}

// Mount tells apart the guest's file systems in which l's name is: no file has names in two.
func (l Location) Mount() string {
	switch {
	case l.Private:
		return ShmPath
	case l.Node == nil, l.NoName == "" && path.Dir(l.Guest) == "/", strings.HasPrefix(l.Guest, "/etc/"):
		return "/"
	}
	return "/" + firstName(strings.TrimPrefix(l.Guest, "/"))
}

// Magic is the place of the host that l, a link of /proc/PID/fd, stands for; EPERM if it is none, ENOENT if it is not
// there.
func (l Location) Magic(follow bool) (Location, linux.Errno) {
	if l.Node == absent {
		return l, linux.ENOENT
	}
	if l.Node.File != nil && follow {
		if h, ok := l.Node.File().(*HostFile); ok {
			return Location{FileAt: h.Again(), Guest: l.Guest, opened: h, Private: h.Private}, 0
		}
	}
	return l, linux.EPERM
}

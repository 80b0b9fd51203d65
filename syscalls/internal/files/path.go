package files

import (
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/cgemu/cgemu/loader"
	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

// CwdPath is the guest's name of the working directory, which may have been moved or removed since t went there: ENOENT
// and what /proc/PID/cwd shows if it was removed or is no longer below the guest's root, ENAMETOOLONG if the name is
// longer than PATH_MAX.
func CwdPath(t *task.Thread) (string, linux.Errno) {
	if Of(t).Cwd.Virtual {
		return Of(t).Cwd.path, 0
	}
	cwd := Of(t).Cwd.FileRef
	if cwd.Node != nil {
		name, ok := cwd.Node.Path()
		switch {
		case !ok:
			return name + " (deleted)", linux.ENOENT
		case len(name) >= linux.PATH_MAX:
			return "", linux.ENAMETOOLONG
		}
		return name, 0
	}
	name := cwd.FD.Path()
	if name == "" {
		return "", linux.ENAMETOOLONG
	}
	if _, ok := below(t.Kernel, name); SystemOf(t.Kernel).Root.only && !ok {
		return Of(t).Cwd.path, linux.ENOENT
	}
	if st, e := cwd.Stat(); e == 0 && st.Nlink == 0 {
		return guestPath(t.Kernel, name), linux.ENOENT
	}
	return guestPath(t.Kernel, name), 0
}

// Chdir makes l the working directory of t and of whoever shares it.
func Chdir(t *task.Thread, l Location) linux.Errno {
	if l.Node == nil {
		r, e := l.Open(linux.O_PATH|linux.O_DIRECTORY, 0, 0)
		if e != 0 {
			return e
		}
		if e := r.At(".").Access(1, true); e != 0 {
			r.Close()
			return e
		}
		at, pseudo := r.OnPseudoFS()
		if !pseudo {
			Of(t).SetCwd(DirRef{FileRef: r, path: nameOf(t.Kernel, r), Private: l.Private})
			return 0
		}
		r.Close()
		if l, e = Relocate(t, at); e != 0 {
			return e
		}
	}
	if l.Node == nil || l.Node.Mode&linux.S_IFMT != linux.S_IFDIR {
		return linux.ENOTDIR
	}
	Of(t).SetCwd(DirRef{FileRef: NoFile, path: l.Guest, Virtual: true})
	return 0
}

// OpenedHere is where the file behind a descriptor is, by its own name.
func OpenedHere(t *task.Thread, fd int) (Location, linux.Errno) {
	if fd == linux.AT_FDCWD {
		return Locate(t, fd, ".", true) // which cannot have another name
	}
	f, e := GetRawFile(t, fd)
	if e != 0 {
		return Location{}, e
	}
	h, ok := f.(*HostFile)
	if !ok {
		return Location{}, linux.EXDEV
	}
	return Location{FileAt: h.Again(), Guest: h.Name(t.Kernel), opened: h}, 0
}

// Atoi reads a decimal number, -1 if it is none.
func Atoi(s string) int {
	n := 0
	for _, c := range s {
		if c < '0' || c > '9' || n > 1<<30 {
			return -1
		}
		n = n*10 + int(c-'0')
	}
	if s == "" {
		return -1
	}
	return n
}

// OpenFlags64 are the flags that openat2(2) knows.
const (
	OpenFlags64 = linux.O_ACCMODE | linux.O_CREAT | linux.O_EXCL | linux.O_NOCTTY | linux.O_TRUNC | linux.O_APPEND | linux.O_NONBLOCK | linux.O_SYNC | linux.O_DSYNC | linux.O_ASYNC | linux.O_DIRECT |
		linux.O_LARGEFILE | linux.O_DIRECTORY | linux.O_NOFOLLOW | linux.O_NOATIME | linux.O_CLOEXEC | linux.O_PATH | linux.O_TMPFILE
)

// maxLinks is how many symbolic links one path may go through (MAXSYMLINKS).
const maxLinks = 40

// A DirRef is a directory that relative paths start from.
type DirRef struct {
	FileRef
	// path is the guest's name of it.
	path string
	// Virtual says that it is in our /proc or /sys, private that it is in the directory that the run has for itself.
	Virtual, Private bool
}

// A Location is what a path leads to: a node of ours, or a place on the host.
type Location struct {
	FileAt
	Node *VNode
	// Guest is the path as the guest knows it, absolute.
	Guest string
	// NoName is ".", ".." or "/" if the path of a LookupParent ends so, which is no name of a directory's entry. The
	// host refuses such a path itself.
	NoName string
	// opened is the file that it is the place of, found over /proc/PID/fd.
	opened *HostFile
	// Private says that it is in a directory that the run has for itself.
	Private bool
}

// split takes a clean absolute path apart.
func split(p string) []string {
	return strings.FieldsFunc(p, func(c rune) bool { return c == '/' })
}

// Start returns the directory that a relative path begins at.
func Start(t *task.Thread, dirfd int) (DirRef, linux.Errno) {
	if dirfd == linux.AT_FDCWD {
		return Of(t).Cwd, 0
	}
	f, e := GetRawFile(t, dirfd)
	if e != 0 {
		return DirRef{}, e
	}
	switch d := f.(type) {
	case *HostFile:
		if !d.IsDir() && (d.Flags&linux.O_PATH == 0 || d.Node != nil) { // the host says so of the others
			return DirRef{}, linux.ENOTDIR
		}
		// Asked once: programs that walk directories come here for every file.
		d.Path = d.Name(t.Kernel)
		return DirRef{FileRef: d.FileRef, path: d.Path, Private: d.Private}, 0
	case *VirtualDir:
		return DirRef{FileRef: NoFile, path: d.Path, Virtual: true}, 0
	}
	return DirRef{}, linux.ENOTDIR
}

// A Lookup says how a path is looked up, and what for. The host is told by the call itself: this is for what is looked
// up here.
type Lookup uint

const (
	// LookupFollow: a symbolic link at the end is followed.
	LookupFollow Lookup = 1 << iota
	// LookupChange: the guest is about to change what it finds (see walks).
	LookupChange
	// LookupCreate: open(2) may make what is not there, which cannot be a directory: a slash at the end is EISDIR.
	LookupCreate
	// LookupParent: the last name is to be made, moved or removed. It is not followed if it is a link, even with a
	// slash behind it, which stays at the end of the location's path.
	LookupParent
	// LookupNoMagic: the path may not lead over links of /proc to files (RESOLVE_NO_MAGICLINKS).
	LookupNoMagic
)

// noName returns what path name ends with if that is no name: ".", ".." or "/".
func noName(name string) string {
	name = strings.TrimRight(name, "/")
	switch last := name[strings.LastIndexByte(name, '/')+1:]; {
	case name == "":
		return "/"
	case last == ".", last == "..":
		return last
	}
	return ""
}

// Following is LookupFollow if follow is set.
func Following(follow bool) Lookup {
	if follow {
		return LookupFollow
	}
	return 0
}

// Locate finds what name means, without looking whether it exists on the host.
// follow says whether a symbolic link at the end is followed, which matters for our own nodes only.
func Locate(t *task.Thread, dirfd int, name string, follow bool) (Location, linux.Errno) {
	return Find(t, dirfd, name, Following(follow))
}

// Find is Locate for a lookup of any kind.
func Find(t *task.Thread, dirfd int, name string, how Lookup) (Location, linux.Errno) {
	if name == "" {
		return Location{}, linux.ENOENT
	}
	if path.IsAbs(name) {
		return locateAbs(t, name, how, 0)
	}
	d, e := Start(t, dirfd)
	if e != 0 {
		return Location{}, e
	}
	if !d.Virtual && (walks(t.Kernel, how) || d.Private) {
		return ResolveBy(t, d, name, how, 0)
	}
	full := d.path + "/" + name
	if d.Virtual {
		return locateAbs(t, full, how, 0)
	}
	// A relative path can lead into /proc from a directory above it only.
	if strings.Count(d.path, "/") < 2 || strings.Contains(name, "../") {
		if clean := path.Clean(full); isVirtual(t.Kernel, clean) {
			return locateAbs(t, clean, how, 0)
		}
	}
	return Location{FileAt: onHost(host.Place{Dir: d.FD, Path: name}), Guest: full}, 0
}

// locateAbs is Find for an absolute path.
func locateAbs(t *task.Thread, name string, how Lookup, depth int) (Location, linux.Errno) {
	if depth > maxLinks {
		return Location{}, linux.ELOOP
	}
	if SystemOf(t.Kernel).Root.only {
		return ResolveBy(t, DirRef{FileRef: SystemOf(t.Kernel).Root.Ref()}, name, how, 0)
	}
	if dir, names, ok := ours(t.Kernel, name); ok {
		n, at, leave, e := walkOurs(t, dir, names, how)
		switch {
		case e != 0:
			return Location{}, e
		case n != nil && n.mount != nil:
			d, e := n.mount(t.Kernel)
			if e != 0 {
				return Location{}, e
			}
			return ResolveBy(t, d, "./"+leave, how, 0)
		case n != nil:
			l := Location{FileAt: nowhere, Node: n, Guest: at}
			if how&LookupParent != 0 {
				l.NoName = noName(name)
			}
			return l, 0
		}
		return locateAbs(t, leave, how, depth+1)
	}
	if SystemOf(t.Kernel).Root.fd != host.NoFD {
		if l, ok := inSysroot(t, name, how); ok {
			return l, 0
		}
	}
	if walks(t.Kernel, how) {
		return ResolveBy(t, DirRef{FileRef: NoFile}, name, how, 0)
	}
	return Location{FileAt: onHost(host.Place{Dir: host.NoFD, Path: name}), Guest: name}, 0
}

// Relocate is for a path that led, over links of the host, to the host's /proc or
// /sys, at path: it returns our own node instead.
func Relocate(t *task.Thread, path string) (Location, linux.Errno) {
	self := "/proc/" + strconv.Itoa(os.Getpid())
	if rest, ok := strings.CutPrefix(path, self); ok {
		path = "/proc/self" + rest
	}
	return locateAbs(t, path, LookupFollow, 1)
}

// OpenProgram opens a file for execution.
func OpenProgram(t *task.Thread, name string) (*loader.File, error) {
	l, e := Locate(t, linux.AT_FDCWD, name, true)
	if e != 0 {
		return nil, fsError(e)
	}
	if l.Node != nil {
		if l, e = l.Magic(true); e != 0 {
			return nil, fs.ErrPermission
		}
	}
	// What it is is looked at before it is opened: to open a device or a FIFO can have effects, or wait.
	found, e := l.Open(linux.O_PATH, 0, 0)
	if e != 0 {
		return nil, fsError(e)
	}
	defer found.Close()
	st, e := found.Stat()
	if e != 0 {
		return nil, fsError(e)
	}
	switch {
	case st.Mode&linux.S_IFMT == linux.S_IFLNK:
		return nil, linux.ELOOP
	case st.Mode&linux.S_IFMT != linux.S_IFREG, st.Mode&0o111 == 0:
		return nil, fs.ErrPermission
	}
	r, e := found.Again().Open(linux.O_RDONLY, 0, 0)
	if e != 0 {
		return nil, fsError(e)
	}
	defer r.Close()
	guest := nameOf(t.Kernel, r)
	f, e := r.FD.OSFile(guest)
	if e != 0 {
		return nil, fsError(e)
	}
	return &loader.File{File: f, Path: guest, Dev: VirtualDev, Ino: SystemOf(t.Kernel).Inodes.Number(st.Dev, st.Ino)}, nil
}

// fsError makes an Errno match the errors of io/fs.
func fsError(e linux.Errno) error {
	switch e {
	case linux.ENOENT:
		return fs.ErrNotExist
	case linux.EACCES, linux.EPERM:
		return fs.ErrPermission
	}
	return e
}

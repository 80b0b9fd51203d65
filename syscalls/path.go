package syscalls

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/cgemu/cgemu/loader"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// maxLinks is how many symbolic links one path may go through (MAXSYMLINKS).
const maxLinks = 40

// A dirRef is a directory that relative paths start from.
type dirRef struct {
	fileRef
	// path is the guest's name of it.
	path string
	// virtual says that it is in our /proc or /sys, private that it is in the directory that the run has for itself.
	virtual, private bool
}

// A location is what a path leads to: a node of ours, or a place on the host.
type location struct {
	fileAt
	node *vnode
	// guest is the path as the guest knows it, absolute.
	guest string
	// slash says that the path, which leads to a directory, ends in a slash.
	slash bool
	// opened is the file that it is the place of, found over /proc/PID/fd.
	opened *hostFile
	// private says that it is in a directory that the run has for itself.
	private bool
}

// split takes a clean absolute path apart.
func split(p string) []string {
	return strings.FieldsFunc(p, func(c rune) bool { return c == '/' })
}

// start returns the directory that a relative path begins at.
func (t *Thread) start(dirfd int) (dirRef, linux.Errno) {
	if dirfd == linux.AT_FDCWD {
		return filesOf(t).cwd, 0
	}
	f, e := t.file(dirfd)
	if e != 0 {
		return dirRef{}, e
	}
	switch d := f.(type) {
	case *hostFile:
		if !d.isDir() && (d.flags&linux.O_PATH == 0 || d.node != nil) { // the host says so of the others
			return dirRef{}, linux.ENOTDIR
		}
		// Asked once: programs that walk directories come here for every file.
		d.path = d.name(t.k)
		return dirRef{fileRef: d.fileRef, path: d.path, private: d.private}, 0
	case *virtualDir:
		return dirRef{fileRef: noFile, path: d.path, virtual: true}, 0
	}
	return dirRef{}, linux.ENOTDIR
}

// locate finds what name means, without looking whether it exists on the host.
// follow says whether a symbolic link at the end is followed, which matters for our own nodes only.
func (t *Thread) locate(dirfd int, name string, follow bool) (location, linux.Errno) {
	return t.find(dirfd, name, follow, false)
}

// find is locate; change says that the guest is about to change what it finds: see Kernel.walks.
func (t *Thread) find(dirfd int, name string, follow, change bool) (location, linux.Errno) {
	if name == "" {
		return location{}, linux.ENOENT
	}
	if path.IsAbs(name) {
		return t.locateAbs(name, follow, change, 0)
	}
	d, e := t.start(dirfd)
	if e != 0 {
		return location{}, e
	}
	if !d.virtual && (t.k.walks(change) || d.private) {
		return t.resolve(d, name, follow)
	}
	full := d.path + "/" + name
	if d.virtual {
		return t.locateAbs(full, follow, change, 0)
	}
	// A relative path can lead into /proc from a directory above it only.
	if strings.Count(d.path, "/") < 2 || strings.Contains(name, "../") {
		if clean := path.Clean(full); isVirtual(clean) {
			return t.locateAbs(clean, follow, change, 0)
		}
	}
	return location{fileAt: onHost(place{dir: d.fd, path: name}), guest: full}, 0
}

// locateAbs is find for an absolute path.
func (t *Thread) locateAbs(name string, follow, change bool, depth int) (location, linux.Errno) {
	if depth > maxLinks {
		return location{}, linux.ELOOP
	}
	if fsOf(t.k).root.only {
		return t.resolve(dirRef{fileRef: fsOf(t.k).root.ref()}, name, follow)
	}
	if dir, names, ok := ours(name); ok {
		n, at, leave, e := t.walk(dir, names, follow)
		switch {
		case e != 0:
			return location{}, e
		case n != nil && n.mount != nil:
			d, e := n.mount(t.k)
			if e != 0 {
				return location{}, e
			}
			return t.resolve(d, "./"+leave, follow)
		case n != nil:
			return location{fileAt: nowhere, node: n, guest: at}, 0
		}
		return t.locateAbs(leave, follow, change, depth+1)
	}
	if fsOf(t.k).root.fd != noFD {
		if l, ok := t.inSysroot(name, follow); ok {
			return l, 0
		}
	}
	if t.k.walks(change) {
		return t.resolve(dirRef{fileRef: noFile}, name, follow)
	}
	return location{fileAt: onHost(place{dir: noFD, path: name}), guest: name}, 0
}

// relocate is for a path that led, over links of the host, to the host's /proc or
// /sys, at path: it returns our own node instead.
func (t *Thread) relocate(path string) (location, linux.Errno) {
	self := "/proc/" + strconv.Itoa(os.Getpid())
	if rest, ok := strings.CutPrefix(path, self); ok {
		path = "/proc/self" + rest
	}
	return t.locateAbs(path, true, false, 1)
}

// openProgram opens a file for execution.
func (t *Thread) openProgram(name string) (*loader.File, error) {
	l, e := t.locate(linux.AT_FDCWD, name, true)
	if e != 0 {
		return nil, fsError(e)
	}
	if l.node != nil {
		if l, e = l.magic(true); e != 0 {
			return nil, fs.ErrPermission
		}
	}
	// What it is is looked at before it is opened: to open a device or a FIFO can have effects, or wait.
	found, e := l.open(linux.O_PATH, 0, 0)
	if e != 0 {
		return nil, fsError(e)
	}
	defer found.close()
	st, e := found.stat()
	if e != 0 {
		return nil, fsError(e)
	}
	switch {
	case st.mode&linux.S_IFMT == linux.S_IFLNK:
		return nil, linux.ELOOP
	case st.mode&linux.S_IFMT != linux.S_IFREG, st.mode&0o111 == 0:
		return nil, fs.ErrPermission
	}
	r, e := found.again().open(linux.O_RDONLY, 0, 0)
	if e != 0 {
		return nil, fsError(e)
	}
	defer r.close()
	guest := t.k.nameOf(r)
	f, e := r.fd.osFile(guest)
	if e != 0 {
		return nil, fsError(e)
	}
	return &loader.File{File: f, Path: guest, Dev: virtualDev, Ino: fsOf(t.k).inodes.number(st.dev, st.ino)}, nil
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

// execErrno is execve(2)'s result for an error of the loader.
func execErrno(err error) linux.Errno {
	for _, m := range []struct {
		err error
		e   linux.Errno
	}{
		{fs.ErrNotExist, linux.ENOENT}, {fs.ErrPermission, linux.EACCES}, {loader.ErrFormat, linux.ENOEXEC}, {loader.ErrLoop, linux.ELOOP},
		{loader.ErrInterp, linux.ELIBBAD}, {loader.ErrSpace, linux.ENOMEM}, {loader.ErrArgs, linux.E2BIG},
	} {
		if errors.Is(err, m.err) {
			return m.e
		}
	}
	var e linux.Errno
	if errors.As(err, &e) {
		return e
	}
	return linux.EIO
}

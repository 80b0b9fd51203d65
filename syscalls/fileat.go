package syscalls

import (
	"path"
	"strings"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/vfs"
)

// This file decides whether the host is asked, or a file system of ours (FileConfig.Overlay): by where a file is, if it is named, or by
// what refers to it, if it is held.

// A fileAt is where a file is: a place of the host, or, if in is set, a name in that directory of a file system of ours, where path "."
// means in itself.
type fileAt struct {
	place
	in vfs.Node
}

// nowhere is where nothing is.
var nowhere = fileAt{place: place{dir: noFD}}

// onHost is a place of the host.
func onHost(p place) fileAt { return fileAt{place: p} }

// A fileRef is a file by itself, whatever its name leads to: a descriptor of the host, or a node of a file system of ours.
type fileRef struct {
	// fd is noFD for a node, unless it is open and the host has its content: then it is the descriptor of that, which handle has. A
	// directory that was locked has the descriptor of a file that stands for it.
	fd     hostFD
	node   vfs.Node
	handle vfs.Handle
}

// noFile refers to nothing.
var noFile = fileRef{fd: noFD}

func refOf(n vfs.Node) fileRef { return fileRef{fd: noFD, node: n} }

func (r fileRef) none() bool { return r.fd == noFD && r.node == nil }

// at is the place of a name in directory r.
func (r fileRef) at(name string) fileAt {
	return fileAt{place{dir: r.fd, path: name, final: true}, r.node}
}

// look refers to the file called name in directory r, which nobody need hold if it is a node.
func (r fileRef) look(name string) (fileRef, linux.Errno) {
	if r.node == nil {
		return r.at(name).open(linux.O_PATH, 0, 0)
	}
	n, e := r.node.Lookup(name)
	return refOf(n), e
}

// again is the place of r itself.
func (r fileRef) again() fileAt {
	if r.node != nil {
		return refOf(r.node).at(".")
	}
	return onHost(r.fd.again())
}

func (r fileRef) close() {
	if r.handle != nil {
		_, has := r.handle.Descriptor()
		if r.handle.Close(); has {
			return
		}
	}
	if r.fd != noFD {
		r.fd.close()
	}
}

// stat describes the file.
func (r fileRef) stat() (hostStat, linux.Errno) {
	if r.node != nil {
		return statOfNode(r.node)
	}
	return r.fd.stat()
}

// statOfNode is what the host would tell of a node.
func statOfNode(n vfs.Node) (hostStat, linux.Errno) {
	s, e := n.Stat()
	return hostStat{
		dev: s.Dev, ino: s.Ino, mode: s.Mode, nlink: s.Nlink, uid: s.UID, gid: s.GID, rdev: s.Rdev, size: s.Size,
		fileTimes: fileTimes{fromNode(&s.Atime), fromNode(&s.Mtime), fromNode(&s.Ctime)},
	}, e
}

// name is the guest's name of r, which may have been renamed or removed since.
func (k *Kernel) nameOf(r fileRef) string {
	if r.node == nil {
		return k.guestPath(r.fd.path())
	}
	name, ok := r.node.Path()
	if !ok {
		name += " (deleted)"
	}
	return name
}

// readlink is what r, a link, leads to.
func (r fileRef) readlink() (string, linux.Errno) {
	if r.node != nil {
		return r.node.Readlink()
	}
	return hostReadlink(place{dir: r.fd})
}

// sync writes what the file contains to the disk.
func (r fileRef) sync() linux.Errno {
	if r.fd == noFD {
		return 0 // a directory in memory
	}
	return r.fd.sync()
}

// allocate is fallocate(2).
func (r fileRef) allocate(mode uint32, off, n int64) linux.Errno {
	if r.handle != nil {
		return r.handle.Allocate(mode, off, n)
	}
	return r.fd.allocate(mode, off, n)
}

// above describes the directory that r, a directory, is in.
func (r fileRef) above() (hostStat, linux.Errno) {
	if r.node == nil {
		return hostStatAt(place{dir: r.fd, path: ".."}, true)
	}
	return statOfNode(r.node.Parent())
}

// named returns what r is called in which directory; gone says that it is so no longer, and ok that it is in any.
func (r fileRef) named() (name string, up hostStat, gone, ok bool) {
	if r.node == nil {
		name, gone = strings.CutSuffix(r.fd.path(), " (deleted)")
		if !path.IsAbs(name) {
			return "", up, gone, false // a pipe
		}
		up, e := hostStatAt(place{dir: noFD, path: path.Dir(name)}, false)
		return path.Base(name), up, gone, e == 0
	}
	name, there := r.node.Path()
	up, e := statOfNode(r.node.Parent())
	return path.Base(name), up, !there, e == 0
}

// chmod changes permissions.
func (r fileRef) chmod(mode uint32) linux.Errno {
	if r.node != nil {
		return r.node.SetAttr(vfs.Attr{Mode: &mode})
	}
	return r.fd.chmod(mode)
}

// utimes sets those times that are set.
func (r fileRef) utimes(at, mt fileTime) linux.Errno {
	if r.node != nil {
		return setNodeTimes(r.node, at, mt)
	}
	return r.fd.utimes(at, mt)
}

func setNodeTimes(n vfs.Node, at, mt fileTime) linux.Errno {
	var a vfs.Attr
	for _, x := range []struct {
		from fileTime
		to   **vfs.Time
	}{{at, &a.Atime}, {mt, &a.Mtime}} {
		if x.from.set {
			t := x.from.node()
			*x.to = &t
		}
	}
	return n.SetAttr(a)
}

// readDir lists a directory but for "." and "..".
func (r fileRef) readDir() ([]hostDirent, linux.Errno) {
	if r.node == nil {
		return r.fd.readDir()
	}
	list, e := r.node.ReadDir()
	out := make([]hostDirent, len(list))
	for i, d := range list {
		out[i] = hostDirent{d.Name, d.Ino, dirType(d.Mode)}
	}
	return out, e
}

// onPseudoFS reports whether r is in the host's /proc or /sys, and its path there.
func (r fileRef) onPseudoFS() (string, bool) {
	if r.node != nil {
		return "", false
	}
	return r.fd.onPseudoFS()
}

// found returns the node at p.
func (p fileAt) found() (vfs.Node, linux.Errno) {
	if p.path == "." {
		return p.in, 0
	}
	return p.in.Lookup(p.existing().path)
}

// newName returns the name of what is to be made at p. One with a slash behind it can be that of a directory only.
func (p fileAt) newName(dir bool) (string, linux.Errno) {
	name, slash := strings.CutSuffix(p.path, "/")
	switch {
	case name == ".":
		return "", linux.EEXIST
	case slash && !dir:
		if _, e := p.in.Lookup(name); e != 0 {
			return "", e
		}
		return "", linux.EEXIST
	}
	return name, 0
}

func (p fileAt) stat(follow bool) (hostStat, linux.Errno) {
	if p.in == nil {
		return hostStatAt(p.place, follow)
	}
	n, e := p.found()
	if e != 0 {
		return hostStat{}, e
	}
	return statOfNode(n)
}

func (p fileAt) access(mode uint32, follow bool) linux.Errno {
	if p.in == nil {
		return hostAccess(p.place, mode, follow)
	}
	n, e := p.found()
	if e != 0 {
		return e
	}
	return n.Access(mode)
}

func (p fileAt) readlink() (string, linux.Errno) {
	if p.in == nil {
		return hostReadlink(p.place)
	}
	n, e := p.found()
	if e != 0 {
		return "", e
	}
	return n.Readlink()
}

// create makes a file of the type that mode has.
func (p fileAt) create(mode, umask uint32) linux.Errno {
	kind := mode & linux.S_IFMT
	if p.in == nil {
		if kind == linux.S_IFDIR {
			return hostMkdir(p.place, mode&^linux.S_IFMT, umask)
		}
		return hostMknod(p.place, mode, umask)
	}
	if kind == 0 {
		mode |= linux.S_IFREG
	}
	name, e := p.newName(kind == linux.S_IFDIR)
	if e == 0 {
		_, e = p.in.Create(name, mode&^umask, 0)
	}
	return e
}

func (p fileAt) symlink(target string) linux.Errno {
	if p.in == nil {
		return hostSymlink(target, p.place)
	}
	name, e := p.newName(false)
	if e == 0 {
		_, e = p.in.Symlink(name, target)
	}
	return e
}

// link makes to another name of the file at p.
func (p fileAt) link(to fileAt, follow bool) linux.Errno {
	switch {
	case p.in == nil && to.in == nil:
		return hostLink(p.place, to.place, follow)
	case p.in == nil || to.in == nil:
		if _, e := p.stat(follow); e != 0 {
			return e
		}
		return linux.EXDEV
	}
	n, e := p.found()
	if e != 0 {
		return e
	}
	name, e := to.newName(false)
	if e == 0 {
		e = to.in.Link(name, n)
	}
	return e
}

func (p fileAt) unlink(dir bool) linux.Errno {
	switch {
	case p.in == nil:
		return hostUnlink(p.place, dir)
	case p.path == "." && dir:
		return linux.EINVAL
	case p.path == ".":
		return linux.EISDIR
	}
	return p.in.Unlink(p.existing().path, dir)
}

// rename makes what is at p be at to.
func (p fileAt) rename(to fileAt, flags uint32) linux.Errno {
	switch {
	case p.in == nil && to.in == nil:
		return hostRename(p.place, to.place, flags)
	case p.in == nil || to.in == nil:
		return linux.EXDEV
	case p.path == "." || to.path == ".":
		return linux.EBUSY
	}
	if name, slash := strings.CutSuffix(to.path, "/"); slash {
		if st, e := p.stat(false); e == 0 && st.isDir() == 0 {
			return linux.ENOTDIR
		}
		to.path = name
	}
	return p.in.Rename(p.existing().path, to.in, to.path, flags)
}

// change changes attributes of the file at p.
func (p fileAt) change(a vfs.Attr) linux.Errno {
	n, e := p.found()
	if e != 0 {
		return e
	}
	return n.SetAttr(a)
}

func (p fileAt) chmod(mode uint32, follow bool) linux.Errno {
	if p.in == nil {
		return hostChmod(p.place, mode, follow)
	}
	return p.change(vfs.Attr{Mode: &mode})
}

func (p fileAt) utimes(at, mt fileTime, follow bool) linux.Errno {
	if p.in == nil {
		return hostUtimes(p.place, at, mt, follow)
	}
	n, e := p.found()
	if e != 0 {
		return e
	}
	return setNodeTimes(n, at, mt)
}

func (p fileAt) truncate(size int64) linux.Errno {
	if p.in == nil {
		return hostTruncate(p.place, size)
	}
	return p.change(vfs.Attr{Size: &size})
}

// open is open(2). The host does not wait for the other end of a FIFO if flags have O_NONBLOCK.
func (p fileAt) open(flags int, mode, umask uint32) (fileRef, linux.Errno) {
	if p.in == nil {
		fd, e := hostOpen(p.place, flags, mode, umask)
		return fileRef{fd: fd}, e
	}
	n, e := p.found()
	switch {
	case e == linux.ENOENT && flags&(linux.O_CREAT|linux.O_PATH) == linux.O_CREAT:
		return p.openNew(flags, mode&^umask)
	case e != 0:
		return noFile, e
	case flags&linux.O_TMPFILE == linux.O_TMPFILE && flags&linux.O_PATH == 0:
		h, e := n.Temp(mode&^umask, flags&^linux.O_TMPFILE)
		return openedNode(h, e)
	}
	return openNode(n, flags)
}

// openNew makes a regular file and opens it.
func (p fileAt) openNew(flags int, mode uint32) (fileRef, linux.Errno) {
	name, slash := strings.CutSuffix(p.path, "/")
	if slash {
		return noFile, linux.EISDIR
	}
	return openedNode(p.in.CreateOpen(name, mode, flags&^(linux.O_CREAT|linux.O_EXCL|linux.O_TRUNC)))
}

// openNode opens a file that is there.
func openNode(n vfs.Node, flags int) (fileRef, linux.Errno) {
	s, e := n.Stat()
	isDir, writes := s.Kind() == linux.S_IFDIR, flags&linux.O_ACCMODE != linux.O_RDONLY || flags&(linux.O_TRUNC|linux.O_CREAT) != 0
	switch {
	case e != 0:
		return noFile, e
	case flags&linux.O_DIRECTORY != 0 && !isDir:
		return noFile, linux.ENOTDIR
	case flags&linux.O_PATH != 0:
		return openedNode(n.Open(flags))
	case flags&(linux.O_CREAT|linux.O_EXCL) == linux.O_CREAT|linux.O_EXCL:
		return noFile, linux.EEXIST
	case isDir && writes:
		return noFile, linux.EISDIR
	case s.Kind() == linux.S_IFCHR:
		if e := n.Access(accessOf(flags)); e != 0 {
			return noFile, e
		}
		return openedNode(n.Open(linux.O_PATH)) // what a device is, its number says
	}
	return openedNode(n.Open(flags &^ linux.O_CREAT))
}

// accessOf is what open(2) with flags asks for.
func accessOf(flags int) uint32 {
	switch flags & linux.O_ACCMODE {
	case linux.O_RDONLY:
		return 4
	case linux.O_WRONLY:
		return 2
	}
	return 6
}

func openedNode(h vfs.Handle, e linux.Errno) (fileRef, linux.Errno) {
	if e != 0 {
		return noFile, e
	}
	r := fileRef{fd: noFD, node: h.Node(), handle: h}
	if fd, ok := h.Descriptor(); ok {
		r.fd = hostFD(fd)
	}
	return r, 0
}

// hostPath is where the host has the content of the regular file at p, which is in a file system of ours.
func (p fileAt) hostPath() (string, bool) {
	n, e := p.found()
	if e != 0 {
		return "", false
	}
	r, e := openedNode(n.Open(linux.O_RDONLY))
	if e != 0 {
		return "", false
	}
	defer r.close()
	return r.fd.path(), true
}

func (p fileAt) getxattr(name string, follow bool) ([]byte, linux.Errno) {
	if p.in == nil {
		return hostGetxattr(p.xattrPath(), name, follow && !p.final)
	}
	n, e := p.found()
	if e != 0 {
		return nil, e
	}
	return n.Getxattr(name)
}

func (p fileAt) setxattr(name string, value []byte, flags int, follow bool) linux.Errno {
	if p.in == nil {
		return hostSetxattr(p.xattrPath(), name, value, flags, follow && !p.final)
	}
	n, e := p.found()
	if e != 0 {
		return e
	}
	return n.Setxattr(name, value, flags)
}

// listxattr lists the names of attributes, sorted.
func (p fileAt) listxattr(follow bool) ([]string, linux.Errno) {
	if p.in == nil {
		b, e := hostListxattr(p.xattrPath(), follow && !p.final)
		return xattrNames(b), e
	}
	n, e := p.found()
	if e != 0 {
		return nil, e
	}
	return n.Listxattr()
}

func (p fileAt) removexattr(name string, follow bool) linux.Errno {
	if p.in == nil {
		return hostRemovexattr(p.xattrPath(), name, follow && !p.final)
	}
	n, e := p.found()
	if e != 0 {
		return e
	}
	return n.Removexattr(name)
}

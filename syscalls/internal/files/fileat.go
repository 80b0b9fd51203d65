package files

import (
	"cmp"
	"path"
	"strings"

	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/vfs"
)

// This file decides whether the host is asked, or a file system of ours (Config.Overlay): by where a file is, if it is
// named, or by what refers to it, if it is held.

// A FileAt is where a file is: a place of the host, or, if In is set, a name in that directory of a file system of
// ours, where path "." means in itself.
type FileAt struct {
	host.Place
	In vfs.Node
}

// nowhere is where nothing is.
var nowhere = FileAt{Place: host.Place{Dir: host.NoFD}}

// onHost is a place of the host.
func onHost(p host.Place) FileAt { return FileAt{Place: p} }

// A FileRef is a file by itself, whatever its name leads to: a descriptor of the host, or a node of a file system of
// ours.
type FileRef struct {
	// FD is NoFD for a node, unless it is open and the host has its content: then it is the descriptor of that, which
	// handle has. A directory that was locked has the descriptor of a file that stands for it.
	FD     host.FD
	Node   vfs.Node
	handle vfs.Handle
}

// NoFile refers to nothing.
var NoFile = FileRef{FD: host.NoFD}

func refOf(n vfs.Node) FileRef { return FileRef{FD: host.NoFD, Node: n} }

// None reports whether r refers to nothing.
func (r FileRef) None() bool { return r.FD == host.NoFD && r.Node == nil }

// At is the place of a name in directory r.
func (r FileRef) At(name string) FileAt {
	return FileAt{host.Place{Dir: r.FD, Path: name, Final: true}, r.Node}
}

// look refers to the file called name in directory r, which nobody need hold if it is a node.
func (r FileRef) look(name string) (FileRef, linux.Errno) {
	if r.Node == nil {
		return r.At(name).Open(linux.O_PATH, 0, 0)
	}
	n, e := r.Node.Lookup(name)
	return refOf(n), e
}

// Again is the place of r itself.
func (r FileRef) Again() FileAt {
	if r.Node != nil {
		return refOf(r.Node).At(".")
	}
	return onHost(r.FD.Again())
}

// Close gives up the descriptor or the handle that r holds, if it does.
func (r FileRef) Close() {
	if r.handle != nil {
		_, has := r.handle.Descriptor()
		if r.handle.Close(); has {
			return
		}
	}
	if r.FD != host.NoFD {
		r.FD.Close()
	}
}

// Stat describes the file.
func (r FileRef) Stat() (host.Stat, linux.Errno) {
	if r.Node != nil {
		return statOfNode(r.Node)
	}
	return r.FD.Stat()
}

// statOfNode is what the host would tell of a node.
func statOfNode(n vfs.Node) (host.Stat, linux.Errno) {
	s, e := n.Stat()
	return host.Stat{
		Dev: s.Dev, Ino: s.Ino, Mode: s.Mode, Nlink: s.Nlink, UID: s.UID, GID: s.GID, Rdev: s.Rdev, Size: s.Size, Sparse: s.Sparse,
		Times: host.Times{Atime: host.FromNode(&s.Atime), Mtime: host.FromNode(&s.Mtime), Ctime: host.FromNode(&s.Ctime)},
	}, e
}

// nameOf is the guest's name of r, which may have been renamed or removed since.
func nameOf(k *task.Kernel, r FileRef) string {
	if r.Node == nil {
		return guestPath(k, r.FD.Path())
	}
	name, ok := r.Node.Path()
	if !ok {
		name += " (deleted)"
	}
	return name
}

// Readlink is what r, a link, leads to.
func (r FileRef) Readlink() (string, linux.Errno) {
	if r.Node != nil {
		return r.Node.Readlink()
	}
	return host.Readlink(host.Place{Dir: r.FD})
}

// Sync writes what the file contains to the disk.
func (r FileRef) Sync() linux.Errno {
	if r.FD == host.NoFD {
		return 0 // a directory in memory
	}
	return r.FD.Sync()
}

// Allocate is fallocate(2).
func (r FileRef) Allocate(mode uint32, off, n int64) linux.Errno {
	if r.handle != nil {
		return r.handle.Allocate(mode, off, n)
	}
	return r.FD.Allocate(mode, off, n)
}

// above describes the directory that r, a directory, is in.
func (r FileRef) above() (host.Stat, linux.Errno) {
	if r.Node == nil {
		return host.StatAt(host.Place{Dir: r.FD, Path: ".."}, true)
	}
	return statOfNode(r.Node.Parent())
}

// named returns what r is called in which directory; gone says that it is so no longer, and ok that it is in any.
func (r FileRef) named() (name string, up host.Stat, gone, ok bool) {
	if r.Node == nil {
		name, gone = strings.CutSuffix(r.FD.Path(), " (deleted)")
		if !path.IsAbs(name) {
			return "", up, gone, false // a pipe
		}
		up, e := host.StatAt(host.Place{Dir: host.NoFD, Path: path.Dir(name)}, false)
		return path.Base(name), up, gone, e == 0
	}
	name, there := r.Node.Path()
	up, e := statOfNode(r.Node.Parent())
	return path.Base(name), up, !there, e == 0
}

// Chmod changes permissions.
func (r FileRef) Chmod(mode uint32) linux.Errno {
	if r.Node != nil {
		return r.Node.SetAttr(vfs.Attr{Mode: &mode})
	}
	return r.FD.Chmod(mode)
}

// Utimes sets those times that are set.
func (r FileRef) Utimes(at, mt host.Time) linux.Errno {
	if r.Node != nil {
		return setNodeTimes(r.Node, at, mt)
	}
	return r.FD.Utimes(at, mt)
}

func setNodeTimes(n vfs.Node, at, mt host.Time) linux.Errno {
	var a vfs.Attr
	for _, x := range []struct {
		from host.Time
		to   **vfs.Time
	}{{at, &a.Atime}, {mt, &a.Mtime}} {
		if x.from.Set {
			t := x.from.VFS()
			*x.to = &t
		}
	}
	return n.SetAttr(a)
}

// readDir lists a directory but for "." and "..".
func (r FileRef) readDir() ([]host.Dirent, linux.Errno) {
	if r.Node == nil {
		return r.FD.ReadDir()
	}
	list, e := r.Node.ReadDir()
	out := make([]host.Dirent, len(list))
	for i, d := range list {
		out[i] = host.Dirent{Name: d.Name, Ino: d.Ino, Type: linux.DirType(d.Mode)}
	}
	return out, e
}

// OnPseudoFS reports whether r is in the host's /proc or /sys, and its path there.
func (r FileRef) OnPseudoFS() (string, bool) {
	if r.Node != nil {
		return "", false
	}
	return r.FD.OnPseudoFS()
}

// found returns the node at p.
func (p FileAt) found() (vfs.Node, linux.Errno) {
	if p.Path == "." {
		return p.In, 0
	}
	return p.In.Lookup(p.Existing().Path)
}

// slash reports whether the one name that p is has a slash behind it, which only a directory may have.
func (p FileAt) slash() bool { return p.Final && strings.HasSuffix(p.Path, "/") }

// newName returns the name of what is to be made at p.
func (p FileAt) newName() (string, linux.Errno) {
	if p.Path == "." {
		return "", linux.EEXIST
	}
	return p.Existing().Path, 0
}

// noDirectory is why nothing but a directory can be made at p, which has a slash behind it.
func (p FileAt) noDirectory() linux.Errno {
	_, e := p.Stat(false)
	return cmp.Or(e, linux.EEXIST)
}

// Stat describes the file.
func (p FileAt) Stat(follow bool) (host.Stat, linux.Errno) {
	if p.In == nil {
		return host.StatAt(p.Place, follow)
	}
	n, e := p.found()
	if e != 0 {
		return host.Stat{}, e
	}
	return statOfNode(n)
}

// Access is faccessat(2): mode has R_OK, W_OK and X_OK.
func (p FileAt) Access(mode uint32, follow bool) linux.Errno {
	if p.In == nil {
		return host.Access(p.Place, mode, follow)
	}
	n, e := p.found()
	if e != 0 {
		return e
	}
	return n.Access(mode)
}

// Readlink is what the link p leads to.
func (p FileAt) Readlink() (string, linux.Errno) {
	if p.In == nil {
		return host.Readlink(p.Place)
	}
	n, e := p.found()
	if e != 0 {
		return "", e
	}
	return n.Readlink()
}

// Create makes a file of the type that mode has.
func (p FileAt) Create(mode, umask uint32) linux.Errno {
	kind := mode & linux.S_IFMT
	switch {
	case p.slash() && kind != linux.S_IFDIR:
		return p.noDirectory()
	case p.In == nil && kind == linux.S_IFDIR:
		return host.Mkdir(p.Place, mode&^linux.S_IFMT, umask)
	case p.In == nil:
		return host.Mknod(p.Place, mode, umask)
	case kind == 0:
		mode |= linux.S_IFREG
	}
	name, e := p.newName()
	if e == 0 {
		_, e = p.In.Create(name, mode&^umask, 0)
	}
	return e
}

// Symlink makes p a link to target.
func (p FileAt) Symlink(target string) linux.Errno {
	if p.slash() {
		return p.noDirectory()
	}
	if p.In == nil {
		return host.Symlink(target, p.Place)
	}
	name, e := p.newName()
	if e == 0 {
		_, e = p.In.Symlink(name, target)
	}
	return e
}

// Link makes to another name of the file at p.
func (p FileAt) Link(to FileAt, follow bool) linux.Errno {
	switch {
	case to.slash():
		if _, e := p.Stat(follow); e != 0 {
			return e
		}
		return to.noDirectory()
	case p.In == nil && to.In == nil:
		return host.Link(p.Place, to.Place, follow)
	case p.In == nil || to.In == nil:
		if _, e := p.Stat(follow); e != 0 {
			return e
		}
		if _, e := to.Stat(false); e == 0 {
			return linux.EEXIST
		}
		return linux.EXDEV
	}
	n, e := p.found()
	if e != 0 {
		return e
	}
	name, e := to.newName()
	if e == 0 {
		e = to.In.Link(name, n)
	}
	return e
}

// Unlink removes the name p, which is a directory's if dir is set.
func (p FileAt) Unlink(dir bool) linux.Errno {
	switch {
	case p.slash() && !dir:
		st, e := p.Stat(false)
		if e == 0 {
			e = linux.ENOTDIR
			if st.IsDir() != 0 {
				e = linux.EISDIR
			}
		}
		return e
	case p.In == nil:
		return host.Unlink(p.Place, dir)
	case p.Path == "." && dir:
		return linux.EINVAL
	case p.Path == ".":
		return linux.EISDIR
	}
	return p.In.Unlink(p.Existing().Path, dir)
}

// mayRename checks what slashes behind names ask for, as do_renameat2 of Linux does.
func (p FileAt) mayRename(to FileAt, flags uint32) linux.Errno {
	if !p.slash() && !to.slash() {
		return 0
	}
	old, e := p.Stat(false)
	if e != 0 {
		return e
	}
	exchange := flags&vfs.RenameExchange != 0
	there, missing := to.Stat(false)
	switch {
	case flags&vfs.RenameNoReplace != 0 && missing == 0:
		return linux.EEXIST
	case exchange && missing != 0:
		return missing
	case exchange && to.slash() && there.IsDir() == 0, old.IsDir() == 0 && (p.slash() || to.slash() && !exchange):
		return linux.ENOTDIR
	}
	return 0
}

// Rename makes what is at p be at to.
func (p FileAt) Rename(to FileAt, flags uint32) linux.Errno {
	if e := p.mayRename(to, flags); e != 0 {
		return e
	}
	switch {
	case p.In == nil && to.In == nil:
		return host.Rename(p.Place, to.Place, flags)
	case p.In == nil || to.In == nil:
		return linux.EXDEV
	case p.Path == "." || to.Path == ".":
		return linux.EBUSY
	}
	return p.In.Rename(p.Existing().Path, to.In, to.Existing().Path, flags)
}

// change changes attributes of the file at p.
func (p FileAt) change(a vfs.Attr) linux.Errno {
	n, e := p.found()
	if e != 0 {
		return e
	}
	return n.SetAttr(a)
}

// Chmod changes the mode of the file at p.
func (p FileAt) Chmod(mode uint32, follow bool) linux.Errno {
	if p.In == nil {
		return host.Chmod(p.Place, mode, follow)
	}
	return p.change(vfs.Attr{Mode: &mode})
}

// Utimes sets the times of the file at p, those that are set.
func (p FileAt) Utimes(at, mt host.Time, follow bool) linux.Errno {
	if p.In == nil {
		return host.Utimes(p.Place, at, mt, follow)
	}
	n, e := p.found()
	if e != 0 {
		return e
	}
	return setNodeTimes(n, at, mt)
}

// Truncate makes the file at p size bytes long.
func (p FileAt) Truncate(size int64) linux.Errno {
	if p.In == nil {
		return host.Truncate(p.Place, size)
	}
	return p.change(vfs.Attr{Size: &size})
}

// Open is open(2). The host does not wait for the other end of a FIFO if flags have O_NONBLOCK.
func (p FileAt) Open(flags int, mode, umask uint32) (FileRef, linux.Errno) {
	if p.In == nil {
		fd, e := host.Open(p.Place, flags, mode, umask)
		return FileRef{FD: fd}, e
	}
	n, e := p.found()
	switch {
	case e == linux.ENOENT && flags&(linux.O_CREAT|linux.O_PATH) == linux.O_CREAT:
		return p.openNew(flags, mode&^umask)
	case e != 0:
		return NoFile, e
	case flags&linux.O_TMPFILE == linux.O_TMPFILE && flags&linux.O_PATH == 0:
		h, e := n.Temp(mode&^umask, flags&^linux.O_TMPFILE)
		return openedNode(h, e)
	}
	return openNode(n, flags)
}

// openNew makes a regular file and opens it.
func (p FileAt) openNew(flags int, mode uint32) (FileRef, linux.Errno) {
	return openedNode(p.In.CreateOpen(p.Path, mode, flags&^(linux.O_CREAT|linux.O_EXCL|linux.O_TRUNC)))
}

// openNode opens a file that is there.
func openNode(n vfs.Node, flags int) (FileRef, linux.Errno) {
	s, e := n.Stat()
	isDir, writes := s.Kind() == linux.S_IFDIR, flags&linux.O_ACCMODE != linux.O_RDONLY || flags&(linux.O_TRUNC|linux.O_CREAT) != 0
	switch {
	case e != 0:
		return NoFile, e
	case flags&linux.O_DIRECTORY != 0 && !isDir:
		return NoFile, linux.ENOTDIR
	case flags&linux.O_PATH != 0:
		return openedNode(n.Open(flags))
	case flags&(linux.O_CREAT|linux.O_EXCL) == linux.O_CREAT|linux.O_EXCL:
		return NoFile, linux.EEXIST
	case isDir && writes:
		return NoFile, linux.EISDIR
	case s.Kind() == linux.S_IFCHR:
		if e := n.Access(accessOf(flags)); e != 0 {
			return NoFile, e
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

func openedNode(h vfs.Handle, e linux.Errno) (FileRef, linux.Errno) {
	if e != 0 {
		return NoFile, e
	}
	r := FileRef{FD: host.NoFD, Node: h.Node(), handle: h}
	if fd, ok := h.Descriptor(); ok {
		r.FD = host.FD(fd)
	}
	return r, 0
}

// hostPath is where the host has the content of the regular file at p, which is in a file system of ours.
func (p FileAt) hostPath() (string, bool) {
	n, e := p.found()
	if e != 0 {
		return "", false
	}
	r, e := openedNode(n.Open(linux.O_RDONLY))
	if e != 0 {
		return "", false
	}
	defer r.Close()
	return r.FD.Path(), true
}

// Getxattr returns the value of an extended attribute.
func (p FileAt) Getxattr(name string, follow bool) ([]byte, linux.Errno) {
	if p.In == nil {
		return host.Getxattr(p.XattrPath(), name, follow && !p.Final)
	}
	n, e := p.found()
	if e != 0 {
		return nil, e
	}
	return n.Getxattr(name)
}

// Setxattr sets an extended attribute; flags are XATTR_CREATE and XATTR_REPLACE.
func (p FileAt) Setxattr(name string, value []byte, flags int, follow bool) linux.Errno {
	if p.In == nil {
		return host.Setxattr(p.XattrPath(), name, value, flags, follow && !p.Final)
	}
	n, e := p.found()
	if e != 0 {
		return e
	}
	return n.Setxattr(name, value, flags)
}

// Listxattr lists the names of attributes, sorted.
func (p FileAt) Listxattr(follow bool) ([]string, linux.Errno) {
	if p.In == nil {
		b, e := host.Listxattr(p.XattrPath(), follow && !p.Final)
		return host.XattrNames(b), e
	}
	n, e := p.found()
	if e != 0 {
		return nil, e
	}
	return n.Listxattr()
}

// Removexattr removes an extended attribute.
func (p FileAt) Removexattr(name string, follow bool) linux.Errno {
	if p.In == nil {
		return host.Removexattr(p.XattrPath(), name, follow && !p.Final)
	}
	n, e := p.found()
	if e != 0 {
		return e
	}
	return n.Removexattr(name)
}

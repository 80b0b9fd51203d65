package host

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/vfs"
)

// MaxDirs is how many directories an FS keeps open.
const MaxDirs = 100

// An FS is a directory of the host as a file system: the host is asked for one name in an open directory at a time, and
// never follows a link. Guests that run straight on the host's files do not need it.
type FS struct {
	root  *node
	nodes map[FileID]*node
	// Dirs are the nodes that have a descriptor, but for the root.
	Dirs []*node
}

// A node is a file of an FS. It is found by its name, since a descriptor for each would be too many: what others move
// or remove is not found again (ESTALE).
type node struct {
	fs  *FS
	key FileID
	// links are the names that it was found by, the last one at the end; gone is the last one that went.
	links []dirName
	gone  dirName
	// fd is a directory's descriptor, or NoFD.
	fd FD
	// handles are those that have it open: there is no other way to a file that has no name.
	handles []*handle
}

type dirName struct {
	dir  *node
	name string
}

// NewFS returns the file system below a directory of the host.
func NewFS(dir string) (*FS, linux.Errno) {
	fd, e := Open(Place{Dir: NoFD, Path: dir}, linux.O_PATH|linux.O_DIRECTORY, 0, 0)
	if e != 0 {
		return nil, e
	}
	st, e := fd.Stat()
	if e != 0 {
		fd.Close()
		return nil, e
	}
	fs := &FS{nodes: map[FileID]*node{}}
	fs.root = fs.nodeOf(st)
	fs.root.fd = fd
	return fs, 0
}

// Root is the directory itself.
func (fs *FS) Root() vfs.Node { return fs.root }

// Path is the host's canonical path of the directory.
func (fs *FS) Path() string { return fs.root.fd.Path() }

// Close gives up all descriptors but those of open files.
func (fs *FS) Close() linux.Errno {
	fs.closeDirs()
	return fs.root.fd.Close()
}

// closeDirs gives up the descriptors of directories. They are opened again when they are needed.
func (fs *FS) closeDirs() {
	for _, n := range fs.Dirs {
		n.fd.Close()
		n.fd = NoFD
	}
	fs.Dirs = nil
}

// nodeOf returns the node of the file that st describes.
func (fs *FS) nodeOf(st Stat) *node {
	key := FileID{Dev: st.Dev, Ino: st.Ino}
	n := fs.nodes[key]
	if n == nil {
		n = &node{fs: fs, key: key, fd: NoFD}
		fs.nodes[key] = n
	}
	return n
}

// dir returns the descriptor of a directory.
func (n *node) dir() (FD, linux.Errno) {
	if n.fd != NoFD {
		return n.fd, 0
	}
	if len(n.links) == 0 && len(n.handles) > 0 {
		return n.handles[0].FD, 0
	}
	p, e := n.place()
	if e != 0 {
		return NoFD, e
	}
	fd, e := Open(p, linux.O_PATH|linux.O_DIRECTORY, 0, 0)
	if e != 0 {
		return NoFD, e
	}
	if st, e := fd.Stat(); e != 0 || (FileID{Dev: st.Dev, Ino: st.Ino}) != n.key {
		fd.Close()
		return NoFD, cmp.Or(e, linux.ESTALE)
	}
	n.fd = fd
	n.fs.Dirs = append(n.fs.Dirs, n)
	return fd, 0
}

// place is where the host has the file. Whether a link at it is followed matters only if there is no name: the host has
// an open file behind one.
func (n *node) place() (Place, linux.Errno) {
	switch k := len(n.links); {
	case n == n.fs.root:
		return Place{Dir: n.fd, Path: "."}, 0
	case k > 0:
		return n.links[k-1].dir.at(n.links[k-1].name)
	case len(n.handles) > 0:
		return n.handles[0].FD.Again(), 0
	}
	return Place{}, linux.ESTALE
}

// at is the place of name in directory n.
func (n *node) at(name string) (Place, linux.Errno) {
	fd, e := n.dir()
	return Place{Dir: fd, Path: name, Final: true}, e
}

// follow reports whether n's place is one to be followed.
func (n *node) follow() bool { return len(n.links) == 0 }

// found notes that n is called name in dir.
func (n *node) found(dir *node, name string) {
	l := dirName{dir, name}
	n.links = append(slices.DeleteFunc(n.links, func(o dirName) bool { return o == l }), l)
}

// lost notes that n is no longer called name in dir, and forgets the node if nothing leads to it: the host gives its
// number to the next file.
func (n *node) lost(dir *node, name string, last bool) {
	n.gone = dirName{dir, name}
	n.links = slices.DeleteFunc(n.links, func(o dirName) bool { return o == n.gone })
	if last {
		n.links = nil
		if n.fd != NoFD {
			n.fs.Dirs = slices.DeleteFunc(n.fs.Dirs, func(o *node) bool { return o == n })
			n.fd.Close()
			n.fd = NoFD
		}
		if len(n.handles) == 0 {
			delete(n.fs.nodes, n.key)
		}
	}
}

// status is what the host tells of n.
func (n *node) status() (Stat, linux.Errno) {
	p, e := n.place()
	if e != 0 {
		return Stat{}, e
	}
	st, e := StatAt(p, n.follow())
	if e == 0 && (FileID{Dev: st.Dev, Ino: st.Ino}) != n.key {
		e = linux.ESTALE
	}
	return st, e
}

// Stat describes the file.
func (n *node) Stat() (vfs.Stat, linux.Errno) {
	st, e := n.status()
	return vfs.Stat{
		Dev: st.Dev, Ino: st.Ino, Mode: st.Mode, Nlink: st.Nlink, UID: st.UID, GID: st.GID, Rdev: st.Rdev, Size: st.Size, Sparse: st.Sparse,
		Atime: st.Atime.VFS(), Mtime: st.Mtime.VFS(), Ctime: st.Ctime.VFS(),
	}, e
}

// VFS is x for package vfs.
func (x Time) VFS() vfs.Time { return vfs.Time{Sec: x.Sec, Nsec: x.Nsec} }

// FromNode is a time of package vfs, which is not set if it is nil.
func FromNode(x *vfs.Time) Time {
	if x == nil {
		return Time{}
	}
	return Time{x.Sec, x.Nsec, true}
}

// SetAttr changes attributes.
func (n *node) SetAttr(a vfs.Attr) linux.Errno {
	p, e := n.place()
	if e == 0 && a.Size != nil {
		e = n.resize(p, *a.Size)
	}
	if e == 0 && a.Mode != nil {
		e = Chmod(p, *a.Mode&0o7777, n.follow())
	}
	if e == 0 && (a.UID != nil || a.GID != nil) {
		e = chown(p, a.UID, a.GID, n.follow())
	}
	if e == 0 && (a.Atime != nil || a.Mtime != nil) {
		e = Utimes(p, FromNode(a.Atime), FromNode(a.Mtime), n.follow())
	}
	return e
}

func (n *node) resize(p Place, size int64) linux.Errno {
	st, e := n.status()
	switch kind := st.Mode & linux.S_IFMT; {
	case e != 0:
		return e
	case kind == linux.S_IFDIR:
		return linux.EISDIR
	case kind != linux.S_IFREG:
		return linux.EINVAL
	}
	return Truncate(p, size)
}

// Access asks the host.
func (n *node) Access(mask uint32) linux.Errno {
	p, e := n.place()
	if e != 0 {
		return e
	}
	return Access(p, mask, n.follow())
}

// Lookup finds a name.
func (n *node) Lookup(name string) (vfs.Node, linux.Errno) {
	if len(n.fs.Dirs) > MaxDirs {
		n.fs.closeDirs()
	}
	c, _, e := n.child(name)
	if e != 0 {
		return nil, e
	}
	return c, 0
}

// child is Lookup, with what the host tells of the file.
func (n *node) child(name string) (*node, Stat, linux.Errno) {
	p, e := n.at(name)
	if e != 0 {
		return nil, Stat{}, e
	}
	st, e := StatAt(p, false)
	if e != 0 {
		return nil, st, e
	}
	c := n.fs.nodeOf(st)
	c.found(n, name)
	return c, st, 0
}

// ReadDir lists the directory.
func (n *node) ReadDir() ([]vfs.Dirent, linux.Errno) {
	p, e := n.place()
	if e != 0 {
		return nil, e
	}
	fd, e := Open(p, linux.O_RDONLY|linux.O_DIRECTORY, 0, 0)
	if e != 0 {
		return nil, e
	}
	defer fd.Close()
	raw, e := fd.ReadDir()
	if e != 0 {
		return nil, e
	}
	list := make([]vfs.Dirent, len(raw))
	for i, r := range raw {
		list[i] = vfs.Dirent{Name: r.Name, Ino: r.Ino, Mode: uint32(r.Type) << 12}
	}
	slices.SortFunc(list, func(a, b vfs.Dirent) int { return strings.Compare(a.Name, b.Name) })
	return list, 0
}

// make makes what is called name by do, and finds it.
func (n *node) make(name string, do func(p Place) linux.Errno) (vfs.Node, linux.Errno) {
	p, e := n.at(name)
	if e == 0 {
		e = do(p)
	}
	if e != 0 {
		return nil, e
	}
	return n.Lookup(name)
}

// Create makes a file, but no device.
func (n *node) Create(name string, mode uint32, _ uint64) (vfs.Node, linux.Errno) {
	return n.make(name, func(p Place) linux.Errno {
		switch mode & linux.S_IFMT {
		case linux.S_IFDIR:
			return Mkdir(p, mode&0o7777, 0)
		case linux.S_IFREG, linux.S_IFIFO, linux.S_IFSOCK:
			return Mknod(p, mode, 0)
		}
		return linux.EPERM
	})
}

// Symlink makes a link.
func (n *node) Symlink(name, target string) (vfs.Node, linux.Errno) {
	return n.make(name, func(p Place) linux.Errno { return Symlink(target, p) })
}

// CreateOpen makes a regular file and opens it.
func (n *node) CreateOpen(name string, mode uint32, flags int) (vfs.Handle, linux.Errno) {
	p, e := n.at(name)
	if e != 0 {
		return nil, e
	}
	h, e := n.fs.open(p, flags|linux.O_CREAT|linux.O_EXCL, mode)
	if e != 0 {
		return nil, e
	}
	h.n.found(n, name)
	return h, 0
}

// Temp makes a file that has no name.
func (n *node) Temp(mode uint32, flags int) (vfs.Handle, linux.Errno) {
	p, e := n.place()
	if e != 0 {
		return nil, e
	}
	h, e := n.fs.open(p, flags|linux.O_TMPFILE, mode)
	if e != 0 {
		return nil, e
	}
	return h, 0
}

// open opens a file, which may be made by that.
func (fs *FS) open(p Place, flags int, mode uint32) (*handle, linux.Errno) {
	fd, e := Open(p, flags, mode, 0)
	if e != 0 {
		return nil, e
	}
	st, e := fd.Stat()
	if e != 0 {
		fd.Close()
		return nil, e
	}
	return fs.nodeOf(st).opened(fd), 0
}

// Link gives a file one more name.
func (n *node) Link(name string, to vfs.Node) linux.Errno {
	c, ok := to.(*node)
	if !ok || c.fs != n.fs {
		return linux.EXDEV
	}
	from, e := c.place()
	if e != 0 {
		return e
	}
	p, e := n.at(name)
	if e == 0 {
		e = Link(from, p, c.follow())
	}
	if e == 0 {
		c.found(n, name)
	}
	return e
}

// Unlink takes a name away.
func (n *node) Unlink(name string, dir bool) linux.Errno {
	c, st, e := n.child(name)
	if e != 0 {
		return e
	}
	p, e := n.at(name)
	if e == 0 {
		e = Unlink(p, dir)
	}
	if e == 0 {
		c.lost(n, name, st.isLast())
	}
	return e
}

// isLast reports whether the file that st describes has one name only.
func (st Stat) isLast() bool { return st.Nlink <= 1 || st.IsDir() != 0 }

// Rename moves a name.
func (n *node) Rename(name string, newDir vfs.Node, newName string, flags uint32) linux.Errno {
	d, ok := newDir.(*node)
	if !ok || d.fs != n.fs {
		return linux.EXDEV
	}
	c, _, e := n.child(name)
	if e != 0 {
		return e
	}
	old, oldStat, missing := d.child(newName)
	from, e := n.at(name)
	if e != 0 {
		return e
	}
	to, e := d.at(newName)
	if e == 0 {
		e = Rename(from, to, flags)
	}
	if e != 0 || c == old {
		return e
	}
	c.lost(n, name, false)
	if missing == 0 {
		exchange := flags&vfs.RenameExchange != 0
		old.lost(d, newName, !exchange && oldStat.isLast())
		if exchange {
			old.found(n, name)
		}
	}
	c.found(d, newName)
	return 0
}

// Readlink returns what a link leads to.
func (n *node) Readlink() (string, linux.Errno) {
	p, e := n.place()
	if e != 0 {
		return "", e
	}
	return Readlink(p)
}

// Open opens the content.
func (n *node) Open(flags int) (vfs.Handle, linux.Errno) {
	p, e := n.place()
	if e != 0 {
		return nil, e
	}
	h, e := n.fs.open(p, flags, 0)
	if e == 0 && h.n != n {
		h.Close()
		e = linux.ESTALE
	}
	if e != 0 {
		return nil, e
	}
	return h, 0
}

// Path is the name by which the file was found last.
func (n *node) Path() (string, bool) {
	if n == n.fs.root {
		return "/", true
	}
	l, ok := n.link()
	if l.dir == nil {
		return "/#" + strconv.Itoa(int(n.key.Ino)), false // made without a name
	}
	dir, there := l.dir.Path()
	return path.Join(dir, l.name), ok && there
}

// link is the name that Path tells.
func (n *node) link() (l dirName, ok bool) {
	if k := len(n.links); k > 0 {
		return n.links[k-1], true
	}
	return n.gone, false
}

// Parent is the directory above.
func (n *node) Parent() vfs.Node {
	if l, _ := n.link(); l.dir != nil {
		return l.dir
	}
	return n.fs.root
}

// Getxattr reads an attribute.
func (n *node) Getxattr(name string) ([]byte, linux.Errno) {
	p, e := n.place()
	if e != 0 {
		return nil, e
	}
	return Getxattr(p.XattrPath(), name, n.follow())
}

// Setxattr sets an attribute.
func (n *node) Setxattr(name string, value []byte, flags int) linux.Errno {
	p, e := n.place()
	if e != 0 {
		return e
	}
	return Setxattr(p.XattrPath(), name, value, flags, n.follow())
}

// Listxattr lists the attributes' names, sorted.
func (n *node) Listxattr() ([]string, linux.Errno) {
	p, e := n.place()
	if e != 0 {
		return nil, e
	}
	b, e := Listxattr(p.XattrPath(), n.follow())
	return XattrNames(b), e
}

// XattrNames takes what the host lists apart, and sorts it.
func XattrNames(b []byte) []string {
	return slices.Sorted(strings.FieldsFuncSeq(string(b), func(c rune) bool { return c == 0 }))
}

// Removexattr removes an attribute.
func (n *node) Removexattr(name string) linux.Errno {
	p, e := n.place()
	if e != 0 {
		return e
	}
	return Removexattr(p.XattrPath(), name, n.follow())
}

// A Data is a content that the host has, opened.
type Data struct{ FD FD }

// ReadAt reads until b is full or the file ends.
func (d Data) ReadAt(b []byte, off int64) (int, linux.Errno) { return all(d.FD.Readv, b, off) }

// WriteAt writes all of b.
func (d Data) WriteAt(b []byte, off int64) (int, linux.Errno) { return all(d.FD.Writev, b, off) }

// all calls do until all bytes of b are read or written, or no more can be.
func all(do func(bufs [][]byte, off int64) (int, linux.Errno), b []byte, off int64) (done int, e linux.Errno) {
	for {
		n, e := do([][]byte{b[done:]}, off+int64(done))
		done += n
		if e != 0 || n == 0 || done == len(b) {
			return done, e
		}
	}
}

// Truncate makes the content size bytes long.
func (d Data) Truncate(size int64) linux.Errno { return d.FD.Truncate(size) }

// Allocate is fallocate(2).
func (d Data) Allocate(mode uint32, off, n int64) linux.Errno { return d.FD.Allocate(mode, off, n) }

// Sync writes the content to the disk.
func (d Data) Sync() linux.Errno { return d.FD.Sync() }

// Descriptor is the host's of the content.
func (d Data) Descriptor() (int, bool) { return int(d.FD), true }

// Close closes the descriptor.
func (d Data) Close() linux.Errno { return d.FD.Close() }

// Replace makes the descriptor one of another content. It keeps its position.
func (d Data) Replace(by vfs.Data) linux.Errno {
	defer by.Close()
	fd, ok := by.Descriptor()
	if !ok {
		return linux.EINVAL
	}
	at, seekable := d.FD.Lseek(0, linux.SEEK_CUR)
	if e := d.FD.become(FD(fd)); e != 0 || seekable != 0 {
		return e
	}
	_, e := d.FD.Lseek(at, linux.SEEK_SET)
	return e
}

// A handle is an open file of an FS.
type handle struct {
	Data
	n *node
}

// Node is the file that was opened.
func (h *handle) Node() vfs.Node { return h.n }

// opened makes the handle of fd.
func (n *node) opened(fd FD) *handle {
	h := &handle{Data{fd}, n}
	n.handles = append(n.handles, h)
	return h
}

// Close closes the file. A node without names and handles is forgotten: its file may be gone, and the number another's.
func (h *handle) Close() linux.Errno {
	n := h.n
	n.handles = slices.DeleteFunc(n.handles, func(o *handle) bool { return o == h })
	if len(n.links) == 0 && len(n.handles) == 0 && n != n.fs.root {
		delete(n.fs.nodes, n.key)
	}
	return h.FD.Close()
}

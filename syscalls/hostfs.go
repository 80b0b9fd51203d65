package syscalls

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/vfs"
)

// maxHostDirs is how many directories a hostFS keeps open.
const maxHostDirs = 100

// A hostFS is a directory of the host as a file system: the host is asked for one name in an open directory at a time, and never follows
// a link. Guests that run straight on the host's files do not need it (Kernel.walks).
type hostFS struct {
	root  *hostNode
	nodes map[inodeKey]*hostNode
	// dirs are the nodes that have a descriptor, but for the root.
	dirs []*hostNode
}

// A hostNode is a file of a hostFS. It is found by its name, since a descriptor for each would be too many: what others move or remove
// is not found again (ESTALE).
type hostNode struct {
	fs  *hostFS
	key inodeKey
	// links are the names that it was found by, the last one at the end; gone is the last one that went.
	links []dirName
	gone  dirName
	// fd is a directory's descriptor, or noFD.
	fd hostFD
	// handles are those that have it open: there is no other way to a file that has no name.
	handles []*hostHandle
}

type dirName struct {
	dir  *hostNode
	name string
}

// newHostFS returns the file system below a directory of the host.
func newHostFS(dir string) (*hostFS, linux.Errno) {
	fd, e := hostOpen(place{dir: noFD, path: dir}, linux.O_PATH|linux.O_DIRECTORY, 0, 0)
	if e != 0 {
		return nil, e
	}
	st, e := fd.stat()
	if e != 0 {
		fd.close()
		return nil, e
	}
	fs := &hostFS{nodes: map[inodeKey]*hostNode{}}
	fs.root = fs.node(st)
	fs.root.fd = fd
	return fs, 0
}

func (fs *hostFS) Root() vfs.Node { return fs.root }

// path is the host's canonical path of the directory.
func (fs *hostFS) path() string { return fs.root.fd.path() }

func (fs *hostFS) Close() linux.Errno {
	fs.closeDirs()
	return fs.root.fd.close()
}

// closeDirs gives up the descriptors of directories. They are opened again when they are needed.
func (fs *hostFS) closeDirs() {
	for _, n := range fs.dirs {
		n.fd.close()
		n.fd = noFD
	}
	fs.dirs = nil
}

// node is the node of the file that st describes.
func (fs *hostFS) node(st hostStat) *hostNode {
	key := inodeKey{dev: st.dev, ino: st.ino}
	n := fs.nodes[key]
	if n == nil {
		n = &hostNode{fs: fs, key: key, fd: noFD}
		fs.nodes[key] = n
	}
	return n
}

// dir returns the descriptor of a directory.
func (n *hostNode) dir() (hostFD, linux.Errno) {
	if n.fd != noFD {
		return n.fd, 0
	}
	if len(n.links) == 0 && len(n.handles) > 0 {
		return n.handles[0].fd, 0
	}
	p, e := n.place()
	if e != 0 {
		return noFD, e
	}
	fd, e := hostOpen(p, linux.O_PATH|linux.O_DIRECTORY, 0, 0)
	if e != 0 {
		return noFD, e
	}
	if st, e := fd.stat(); e != 0 || (inodeKey{dev: st.dev, ino: st.ino}) != n.key {
		fd.close()
		return noFD, cmp.Or(e, linux.ESTALE)
	}
	n.fd = fd
	n.fs.dirs = append(n.fs.dirs, n)
	return fd, 0
}

// place is where the host has the file. Whether a link at it is followed matters only if there is no name: the host has an open file
// behind one.
func (n *hostNode) place() (place, linux.Errno) {
	switch k := len(n.links); {
	case n == n.fs.root:
		return place{dir: n.fd, path: "."}, 0
	case k > 0:
		return n.links[k-1].dir.at(n.links[k-1].name)
	case len(n.handles) > 0:
		return n.handles[0].fd.again(), 0
	}
	return place{}, linux.ESTALE
}

// at is the place of name in directory n.
func (n *hostNode) at(name string) (place, linux.Errno) {
	fd, e := n.dir()
	return place{dir: fd, path: name, final: true}, e
}

// follow reports whether n's place is one to be followed.
func (n *hostNode) follow() bool { return len(n.links) == 0 }

// found notes that n is called name in dir.
func (n *hostNode) found(dir *hostNode, name string) {
	l := dirName{dir, name}
	n.links = append(slices.DeleteFunc(n.links, func(o dirName) bool { return o == l }), l)
}

// lost notes that n is no longer called name in dir, and forgets the node if nothing leads to it: the host gives its number to the
// next file.
func (n *hostNode) lost(dir *hostNode, name string, last bool) {
	n.gone = dirName{dir, name}
	n.links = slices.DeleteFunc(n.links, func(o dirName) bool { return o == n.gone })
	if last {
		n.links = nil
		if n.fd != noFD {
			n.fs.dirs = slices.DeleteFunc(n.fs.dirs, func(o *hostNode) bool { return o == n })
			n.fd.close()
			n.fd = noFD
		}
		if len(n.handles) == 0 {
			delete(n.fs.nodes, n.key)
		}
	}
}

// status is what the host tells of n.
func (n *hostNode) status() (hostStat, linux.Errno) {
	p, e := n.place()
	if e != 0 {
		return hostStat{}, e
	}
	st, e := hostStatAt(p, n.follow())
	if e == 0 && (inodeKey{dev: st.dev, ino: st.ino}) != n.key {
		e = linux.ESTALE
	}
	return st, e
}

// Stat describes the file.
func (n *hostNode) Stat() (vfs.Stat, linux.Errno) {
	st, e := n.status()
	return vfs.Stat{
		Dev: st.dev, Ino: st.ino, Mode: st.mode, Nlink: st.nlink, UID: st.uid, GID: st.gid, Rdev: st.rdev, Size: st.size,
		Atime: st.atime.node(), Mtime: st.mtime.node(), Ctime: st.ctime.node(),
	}, e
}

// node is x for package vfs.
func (x fileTime) node() vfs.Time { return vfs.Time{Sec: x.sec, Nsec: x.nsec} }

// fromNode is a time of package vfs, which is not set if it is nil.
func fromNode(x *vfs.Time) fileTime {
	if x == nil {
		return fileTime{}
	}
	return fileTime{x.Sec, x.Nsec, true}
}

// SetAttr changes attributes.
func (n *hostNode) SetAttr(a vfs.Attr) linux.Errno {
	p, e := n.place()
	if e == 0 && a.Size != nil {
		e = n.resize(p, *a.Size)
	}
	if e == 0 && a.Mode != nil {
		e = hostChmod(p, *a.Mode&0o7777, n.follow())
	}
	if e == 0 && (a.UID != nil || a.GID != nil) {
		e = hostChown(p, a.UID, a.GID, n.follow())
	}
	if e == 0 && (a.Atime != nil || a.Mtime != nil) {
		e = hostUtimes(p, fromNode(a.Atime), fromNode(a.Mtime), n.follow())
	}
	return e
}

func (n *hostNode) resize(p place, size int64) linux.Errno {
	st, e := n.status()
	switch kind := st.mode & linux.S_IFMT; {
	case e != 0:
		return e
	case kind == linux.S_IFDIR:
		return linux.EISDIR
	case kind != linux.S_IFREG:
		return linux.EINVAL
	}
	return hostTruncate(p, size)
}

// Access asks the host.
func (n *hostNode) Access(mask uint32) linux.Errno {
	p, e := n.place()
	if e != 0 {
		return e
	}
	return hostAccess(p, mask, n.follow())
}

// Lookup finds a name.
func (n *hostNode) Lookup(name string) (vfs.Node, linux.Errno) {
	if len(n.fs.dirs) > maxHostDirs {
		n.fs.closeDirs()
	}
	c, _, e := n.child(name)
	if e != 0 {
		return nil, e
	}
	return c, 0
}

// child is Lookup, with what the host tells of the file.
func (n *hostNode) child(name string) (*hostNode, hostStat, linux.Errno) {
	p, e := n.at(name)
	if e != 0 {
		return nil, hostStat{}, e
	}
	st, e := hostStatAt(p, false)
	if e != 0 {
		return nil, st, e
	}
	c := n.fs.node(st)
	c.found(n, name)
	return c, st, 0
}

// ReadDir lists the directory.
func (n *hostNode) ReadDir() ([]vfs.Dirent, linux.Errno) {
	p, e := n.place()
	if e != 0 {
		return nil, e
	}
	fd, e := hostOpen(p, linux.O_RDONLY|linux.O_DIRECTORY, 0, 0)
	if e != 0 {
		return nil, e
	}
	defer fd.close()
	raw, e := fd.readDir()
	if e != 0 {
		return nil, e
	}
	list := make([]vfs.Dirent, len(raw))
	for i, r := range raw {
		list[i] = vfs.Dirent{Name: r.name, Ino: r.ino, Mode: uint32(r.typ) << 12}
	}
	slices.SortFunc(list, func(a, b vfs.Dirent) int { return strings.Compare(a.Name, b.Name) })
	return list, 0
}

// make makes what is called name by do, and finds it.
func (n *hostNode) make(name string, do func(p place) linux.Errno) (vfs.Node, linux.Errno) {
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
func (n *hostNode) Create(name string, mode uint32, _ uint64) (vfs.Node, linux.Errno) {
	return n.make(name, func(p place) linux.Errno {
		switch mode & linux.S_IFMT {
		case linux.S_IFDIR:
			return hostMkdir(p, mode&0o7777, 0)
		case linux.S_IFREG, linux.S_IFIFO, linux.S_IFSOCK:
			return hostMknod(p, mode, 0)
		}
		return linux.EPERM
	})
}

// Symlink makes a link.
func (n *hostNode) Symlink(name, target string) (vfs.Node, linux.Errno) {
	return n.make(name, func(p place) linux.Errno { return hostSymlink(target, p) })
}

// CreateOpen makes a regular file and opens it.
func (n *hostNode) CreateOpen(name string, mode uint32, flags int) (vfs.Handle, linux.Errno) {
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
func (n *hostNode) Temp(mode uint32, flags int) (vfs.Handle, linux.Errno) {
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
func (fs *hostFS) open(p place, flags int, mode uint32) (*hostHandle, linux.Errno) {
	fd, e := hostOpen(p, flags, mode, 0)
	if e != 0 {
		return nil, e
	}
	st, e := fd.stat()
	if e != 0 {
		fd.close()
		return nil, e
	}
	return fs.node(st).opened(fd), 0
}

// Link gives a file one more name.
func (n *hostNode) Link(name string, to vfs.Node) linux.Errno {
	c, ok := to.(*hostNode)
	if !ok || c.fs != n.fs {
		return linux.EXDEV
	}
	from, e := c.place()
	if e != 0 {
		return e
	}
	p, e := n.at(name)
	if e == 0 {
		e = hostLink(from, p, c.follow())
	}
	if e == 0 {
		c.found(n, name)
	}
	return e
}

// Unlink takes a name away.
func (n *hostNode) Unlink(name string, dir bool) linux.Errno {
	c, st, e := n.child(name)
	if e != 0 {
		return e
	}
	p, e := n.at(name)
	if e == 0 {
		e = hostUnlink(p, dir)
	}
	if e == 0 {
		c.lost(n, name, st.isLast())
	}
	return e
}

// isLast reports whether the file that st describes has one name only.
func (st hostStat) isLast() bool { return st.nlink <= 1 || st.isDir() != 0 }

// Rename moves a name.
func (n *hostNode) Rename(name string, newDir vfs.Node, newName string, flags uint32) linux.Errno {
	d, ok := newDir.(*hostNode)
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
		e = hostRename(from, to, flags)
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
func (n *hostNode) Readlink() (string, linux.Errno) {
	p, e := n.place()
	if e != 0 {
		return "", e
	}
	return hostReadlink(p)
}

// Open opens the content.
func (n *hostNode) Open(flags int) (vfs.Handle, linux.Errno) {
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
func (n *hostNode) Path() (string, bool) {
	if n == n.fs.root {
		return "/", true
	}
	l, ok := n.link()
	if l.dir == nil {
		return "/#" + strconv.Itoa(int(n.key.ino)), false // made without a name
	}
	dir, there := l.dir.Path()
	return path.Join(dir, l.name), ok && there
}

// link is the name that Path tells.
func (n *hostNode) link() (l dirName, ok bool) {
	if k := len(n.links); k > 0 {
		return n.links[k-1], true
	}
	return n.gone, false
}

// Parent is the directory above.
func (n *hostNode) Parent() vfs.Node {
	if l, _ := n.link(); l.dir != nil {
		return l.dir
	}
	return n.fs.root
}

// Getxattr reads an attribute.
func (n *hostNode) Getxattr(name string) ([]byte, linux.Errno) {
	p, e := n.place()
	if e != 0 {
		return nil, e
	}
	return hostGetxattr(p.xattrPath(), name, n.follow())
}

// Setxattr sets an attribute.
func (n *hostNode) Setxattr(name string, value []byte, flags int) linux.Errno {
	p, e := n.place()
	if e != 0 {
		return e
	}
	return hostSetxattr(p.xattrPath(), name, value, flags, n.follow())
}

// Listxattr lists the attributes' names, sorted.
func (n *hostNode) Listxattr() ([]string, linux.Errno) {
	p, e := n.place()
	if e != 0 {
		return nil, e
	}
	b, e := hostListxattr(p.xattrPath(), n.follow())
	return xattrNames(b), e
}

// xattrNames takes what the host lists apart, and sorts it.
func xattrNames(b []byte) []string {
	return slices.Sorted(strings.FieldsFuncSeq(string(b), func(c rune) bool { return c == 0 }))
}

// Removexattr removes an attribute.
func (n *hostNode) Removexattr(name string) linux.Errno {
	p, e := n.place()
	if e != 0 {
		return e
	}
	return hostRemovexattr(p.xattrPath(), name, n.follow())
}

// A hostData is a content that the host has, opened.
type hostData struct{ fd hostFD }

// ReadAt reads until b is full or the file ends.
func (d hostData) ReadAt(b []byte, off int64) (int, linux.Errno) { return all(d.fd.readv, b, off) }

// WriteAt writes all of b.
func (d hostData) WriteAt(b []byte, off int64) (int, linux.Errno) { return all(d.fd.writev, b, off) }

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

func (d hostData) Truncate(size int64) linux.Errno                { return d.fd.truncate(size) }
func (d hostData) Allocate(mode uint32, off, n int64) linux.Errno { return d.fd.allocate(mode, off, n) }
func (d hostData) Sync() linux.Errno                              { return d.fd.sync() }
func (d hostData) Descriptor() (int, bool)                        { return int(d.fd), true }
func (d hostData) Close() linux.Errno                             { return d.fd.close() }

// Replace makes the descriptor one of another content. It keeps its position.
func (d hostData) Replace(by vfs.Data) linux.Errno {
	defer by.Close()
	fd, ok := by.Descriptor()
	if !ok {
		return linux.EINVAL
	}
	at, seekable := d.fd.seek(0, linux.SEEK_CUR)
	if e := d.fd.become(hostFD(fd)); e != 0 || seekable != 0 {
		return e
	}
	_, e := d.fd.seek(at, linux.SEEK_SET)
	return e
}

// A hostHandle is an open file of a hostFS.
type hostHandle struct {
	hostData
	n *hostNode
}

func (h *hostHandle) Node() vfs.Node { return h.n }

// opened makes the handle of fd.
func (n *hostNode) opened(fd hostFD) *hostHandle {
	h := &hostHandle{hostData{fd}, n}
	n.handles = append(n.handles, h)
	return h
}

func (h *hostHandle) Close() linux.Errno {
	n := h.n
	n.handles = slices.DeleteFunc(n.handles, func(o *hostHandle) bool { return o == h })
	if len(n.links) == 0 && len(n.handles) == 0 && n != n.fs.root {
		delete(n.fs.nodes, n.key)
	}
	return h.fd.close()
}

// Package imagefs shows the files of an image as a file system in which nothing changes: what an overlay is to be laid
// on.
package imagefs

import (
	"container/list"
	"maps"
	"path"
	"slices"

	"github.com/cgemu/cgemu/internal/image"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/vfs"
)

// maxIdle is how many bytes of contents are kept that nobody has open any more, and contentSize what each is taken to
// have besides its file's: most are files of the host, of whole pages.
const (
	maxIdle     = 128 << 20
	contentSize = 4 << 10
)

// An FS is the file system of an image.
type FS struct {
	root *image.File
	dev  uint64
	// newContent makes the content of a file, into which what the image has is copied when the file is opened: then it
	// can be mapped.
	newContent func(ino uint64, kind uint32) (vfs.Content, linux.Errno)
	contents   map[*image.File]*content
	// idle are the contents that nobody has open, the one that was used last at the end, and idleSize how many bytes
	// they have.
	idle     list.List
	idleSize int64
	maxIdle  int64
}

// A content is that of a file which is open, or was.
type content struct {
	vfs.Content
	of     *image.File
	opened int
	idle   *list.Element // in FS.idle, if nobody has it open
}

// size is what the content takes.
func (c *content) size() int64 { return c.of.Size + contentSize }

// New returns the file system of the image with that root. Contents are where o says.
func New(root *image.File, o vfs.MemOptions) *FS {
	if o.NewContent == nil {
		o.NewContent = vfs.MemContent
	}
	return &FS{root: root, dev: o.Dev, newContent: o.NewContent, contents: map[*image.File]*content{}, maxIdle: maxIdle}
}

// Root returns the root directory.
func (fs *FS) Root() vfs.Node { return node{fs: fs, f: fs.root} }

// Close removes contents. The image can be used again.
func (fs *FS) Close() linux.Errno {
	for _, c := range fs.contents {
		c.Remove()
	}
	clear(fs.contents)
	fs.idle.Init()
	fs.idleSize = 0
	return 0
}

// A node is a file of an FS.
type node struct {
	vfs.Immutable
	fs *FS
	f  *image.File
}

var kinds = map[image.Kind]uint32{
	image.Regular: linux.S_IFREG, image.Directory: linux.S_IFDIR, image.Symlink: linux.S_IFLNK, image.CharDev: linux.S_IFCHR,
	image.BlockDev: linux.S_IFBLK, image.FIFO: linux.S_IFIFO,
}

// Stat describes the file.
func (n node) Stat() (vfs.Stat, linux.Errno) {
	f := n.f
	at := vfs.Time{Sec: f.Sec, Nsec: f.Nsec}
	s := vfs.Stat{
		Dev: n.fs.dev, Ino: f.Number, Mode: kinds[f.Kind] | f.Mode, Nlink: f.Nlink, UID: f.UID, GID: f.GID, Size: f.Size,
		Atime: at, Mtime: at, Ctime: at,
	}
	switch f.Kind {
	case image.Directory:
		s.Size = vfs.DirSize
	case image.CharDev, image.BlockDev:
		s.Rdev = linux.Makedev(f.Major, f.Minor)
	}
	return s, 0
}

// Lookup finds a name.
func (n node) Lookup(name string) (vfs.Node, linux.Errno) {
	if n.f.Kind != image.Directory {
		return nil, linux.ENOTDIR
	}
	f := n.f.Lookup(name)
	if f == nil {
		return nil, linux.ENOENT
	}
	return node{fs: n.fs, f: f}, 0
}

// ReadDir lists the directory.
func (n node) ReadDir() ([]vfs.Dirent, linux.Errno) {
	if n.f.Kind != image.Directory {
		return nil, linux.ENOTDIR
	}
	var all []vfs.Dirent
	for _, name := range n.f.List() {
		f := n.f.Lookup(name)
		all = append(all, vfs.Dirent{Name: name, Ino: f.Number, Mode: kinds[f.Kind]})
	}
	return all, 0
}

// Readlink returns what a link leads to.
func (n node) Readlink() (string, linux.Errno) {
	if n.f.Kind != image.Symlink {
		return "", linux.EINVAL
	}
	return n.f.Target, 0
}

// Getxattr reads an extended attribute.
func (n node) Getxattr(name string) ([]byte, linux.Errno) {
	value, ok := n.f.Xattrs[name]
	if !ok {
		return nil, linux.ENODATA
	}
	return []byte(value), 0
}

// Listxattr lists the names of attributes.
func (n node) Listxattr() ([]string, linux.Errno) {
	return slices.Sorted(maps.Keys(n.f.Xattrs)), 0
}

// Path is the name that the file got first.
func (n node) Path() (string, bool) {
	if n.f == n.fs.root {
		return "/", true
	}
	dir, _ := n.Parent().Path()
	return path.Join(dir, n.f.Name), true
}

// Parent is the directory above.
func (n node) Parent() vfs.Node { return node{fs: n.fs, f: n.f.Parent} }

// Open opens the content for reading.
func (n node) Open(flags int) (vfs.Handle, linux.Errno) {
	if flags&linux.O_ACCMODE != linux.O_RDONLY || flags&linux.O_TRUNC != 0 {
		return nil, linux.EROFS
	}
	if n.f.Kind != image.Regular {
		return nil, linux.ENXIO
	}
	c, e := n.fs.content(n.f)
	if e != 0 {
		return nil, e
	}
	d, e := c.Open(linux.O_RDONLY)
	if e != 0 {
		n.fs.release(c)
		return nil, e
	}
	return &handle{Data: d, at: n, of: c}, 0
}

// A handle is an open file of an FS.
type handle struct {
	vfs.Data
	at node
	of *content
}

func (h *handle) Node() vfs.Node { return h.at }

// Replace makes the descriptor one of another content.
func (h *handle) Replace(by vfs.Data) linux.Errno { return vfs.Replace(h.Data, by) }

// Close gives up the content.
func (h *handle) Close() linux.Errno {
	e := h.Data.Close()
	h.at.fs.release(h.of)
	return e
}

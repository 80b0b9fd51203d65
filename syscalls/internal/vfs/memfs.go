package vfs

import (
	"slices"
	"strings"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// MemOptions say what a MemFS is like.
type MemOptions struct {
	// Dev is the device that its files are on.
	Dev uint64
	// UID and GID are the user's, to whom new files belong, and Groups others that he is in. One who is Privileged may
	// do everything, as the superuser may.
	UID, GID   uint32
	Groups     []int
	Privileged bool
	// Now is the clock; without one all times are 0.
	Now func() Time
	// LowerTime is the time of files of lower file systems (NewOverlay) until they are changed; nil for their own.
	// LowerOwned says that they belong to the user.
	LowerTime  *Time
	LowerOwned bool
	// NewContent makes the content of a new file: of the type and number given. Without it, regular files are in Go's
	// memory, and FIFOs cannot be opened.
	NewContent func(ino uint64, kind uint32) (Content, linux.Errno)
}

// A MemFS is a file system in memory. Files have the numbers 1, 2, 3 in the order in which they are first met.
type MemFS struct {
	o    MemOptions
	root *memNode
	last uint64
	// origins are the nodes that stand for files of lower file systems that have several names.
	origins map[Node]*memNode
	lowers  []FS
}

// NewMemFS makes an empty file system.
func NewMemFS(o MemOptions) *MemFS {
	if o.Now == nil {
		o.Now = func() Time { return Time{} }
	}
	if o.NewContent == nil {
		o.NewContent = MemContent
	}
	fs := &MemFS{o: o, origins: map[Node]*memNode{}}
	fs.root = fs.newNode(linux.S_IFDIR|0o755, 0)
	return fs
}

// Root returns the root directory.
func (fs *MemFS) Root() Node { return fs.root }

// Close closes the file systems below.
func (fs *MemFS) Close() (e linux.Errno) {
	for _, l := range fs.lowers {
		e = cmpErrno(e, l.Close())
	}
	return e
}

// A memNode is a file of a MemFS.
type memNode struct {
	fs   *MemFS
	stat Stat // but for the size of a regular file that has content
	// links are the names that are known to lead here, the one that was found last at the end; gone is the last one
	// that went.
	links []memLink
	gone  memLink
	// opened is how many handles there are. A file that was made without a name can be linked while temp is set.
	opened int
	temp   bool
	// handles are the open ones that read what a lower file contains.
	handles []*memHandle

	// entries are a directory's. One that is nil hides what lower file systems have; they are asked for those that are
	// missing until whole is set.
	entries map[string]*memNode
	whole   bool
	target  string            // of a link
	content Content           // of a regular file or a FIFO, nil until it is needed
	xattrs  map[string][]byte // nil until needed
	// lower are the files that the node stands for, in file systems below: of a directory those to be merged, of others
	// one.
	lower []Node
}

// A memLink is a name.
type memLink struct {
	dir  *memNode
	name string
}

func (fs *MemFS) newNode(mode uint32, rdev uint64) *memNode {
	fs.last++
	now := fs.o.Now()
	n := &memNode{fs: fs, stat: Stat{Dev: fs.o.Dev, Ino: fs.last, Mode: mode, UID: fs.o.UID, GID: fs.o.GID, Rdev: rdev, Atime: now, Mtime: now, Ctime: now}}
	if n.isDir() {
		n.entries, n.whole, n.stat.Nlink, n.stat.Size = map[string]*memNode{}, true, 2, DirSize
	}
	return n
}

func (n *memNode) isDir() bool { return n.stat.Kind() == linux.S_IFDIR }

// Stat describes the file.
func (n *memNode) Stat() (Stat, linux.Errno) {
	s := n.stat
	if n.content != nil && s.Kind() == linux.S_IFREG {
		var e linux.Errno
		if s.Size, s.Sparse, e = n.content.Size(); e != 0 {
			return Stat{}, e
		}
	}
	return s, 0
}

// owned reports whether the user may do what only a file's owner may.
func (n *memNode) owned() bool { return n.fs.o.Privileged || n.stat.UID == n.fs.o.UID }

// Access checks permissions.
func (n *memNode) Access(mask uint32) linux.Errno {
	mode := n.stat.Mode
	switch {
	case n.fs.o.Privileged:
		if mask&1 != 0 && !n.isDir() && mode&0o111 == 0 {
			return linux.EACCES
		}
		return 0
	case n.stat.UID == n.fs.o.UID:
		mode >>= 6
	case n.stat.GID == n.fs.o.GID || slices.Contains(n.fs.o.Groups, int(n.stat.GID)):
		mode >>= 3
	}
	if mode&mask != mask {
		return linux.EACCES
	}
	return 0
}

// SetAttr changes attributes: all of them, or none.
func (n *memNode) SetAttr(a Attr) linux.Errno {
	giving := a.UID != nil && *a.UID != n.stat.UID || a.GID != nil && *a.GID != n.stat.GID
	switch {
	case a.Size != nil && n.isDir():
		return linux.EISDIR
	case a.Size != nil && (n.stat.Kind() != linux.S_IFREG || *a.Size < 0):
		return linux.EINVAL
	case (a.Mode != nil || a.Atime != nil || a.Mtime != nil) && !n.owned(), giving && !n.fs.o.Privileged:
		return linux.EPERM
	case a.Mode != nil && n.stat.Kind() == linux.S_IFLNK:
		return linux.EOPNOTSUPP
	}
	if a.Size != nil {
		if e := n.resize(*a.Size); e != 0 {
			return e
		}
	}
	now := n.fs.o.Now()
	if a.Size != nil {
		n.stat.Mtime = now
	}
	if a.Mode != nil {
		n.stat.Mode = n.stat.Kind() | *a.Mode&0o7777
	}
	for _, x := range []struct {
		from *uint32
		to   *uint32
	}{{a.UID, &n.stat.UID}, {a.GID, &n.stat.GID}} {
		if x.from != nil {
			*x.to = *x.from
		}
	}
	if a.Atime != nil {
		n.stat.Atime = a.Atime.inRange()
	}
	if a.Mtime != nil {
		n.stat.Mtime = a.Mtime.inRange()
	}
	n.stat.Ctime = now
	return 0
}

// inRange is the nearest time that a file can have: those of ext4.
func (t Time) inRange() Time {
	const first, last = -1 << 31, 1<<34 - 1<<31 - 1
	switch {
	case t.Sec < first:
		return Time{Sec: first}
	case t.Sec >= last:
		return Time{Sec: last}
	}
	return t
}

// resize is truncate(2).
func (n *memNode) resize(size int64) linux.Errno {
	if e := n.Access(2); e != 0 {
		return e
	}
	h, e := n.open(linux.O_WRONLY)
	if e != 0 {
		return e
	}
	defer h.Close()
	return h.Truncate(size)
}

// Readlink returns what a link leads to.
func (n *memNode) Readlink() (string, linux.Errno) {
	if n.stat.Kind() != linux.S_IFLNK {
		return "", linux.EINVAL
	}
	return n.target, 0
}

// Path is the name by which the file was found last.
func (n *memNode) Path() (string, bool) {
	var names []string
	there := true
	for n != n.fs.root {
		l, ok := n.link()
		there = there && ok
		if l.dir == nil {
			names, there = append(names, "#"+l.name), false // made without a name
			break
		}
		names, n = append(names, l.name), l.dir
	}
	slices.Reverse(names)
	return "/" + strings.Join(names, "/"), there
}

// link is the name that Path tells.
func (n *memNode) link() (l memLink, ok bool) {
	if k := len(n.links); k > 0 {
		return n.links[k-1], true
	}
	return n.gone, false
}

// Parent is the directory above.
func (n *memNode) Parent() Node {
	if l, _ := n.link(); l.dir != nil {
		return l.dir
	}
	return n.fs.root
}

// changed notes that the directory was.
func (n *memNode) changed() {
	n.stat.Mtime = n.fs.o.Now()
	n.stat.Ctime = n.stat.Mtime
}

// Open opens the content.
func (n *memNode) Open(flags int) (Handle, linux.Errno) {
	writes := flags&linux.O_ACCMODE != linux.O_RDONLY || flags&linux.O_TRUNC != 0
	switch kind := n.stat.Kind(); {
	case flags&linux.O_DIRECTORY != 0 && kind != linux.S_IFDIR:
		return nil, linux.ENOTDIR
	case flags&linux.O_PATH != 0:
		return n.hold(linux.EBADF), 0
	case kind == linux.S_IFDIR && writes:
		return nil, linux.EISDIR
	case kind == linux.S_IFDIR:
		if e := n.Access(4); e != 0 {
			return nil, e
		}
		return n.hold(linux.EISDIR), 0
	case kind == linux.S_IFLNK:
		return nil, linux.ELOOP
	case flags&linux.O_NOATIME != 0 && !n.owned():
		return nil, linux.EPERM
	case kind != linux.S_IFREG && kind != linux.S_IFIFO:
		return nil, linux.ENXIO
	}
	var mask uint32
	if writes {
		mask |= 2
	}
	if flags&linux.O_ACCMODE != linux.O_WRONLY {
		mask |= 4
	}
	if e := n.Access(mask); e != 0 {
		return nil, e
	}
	h, e := n.open(flags)
	if e == 0 && flags&linux.O_TRUNC != 0 && n.stat.Kind() == linux.S_IFREG {
		n.changed()
	}
	return h, e
}

// hold opens n without its content.
func (n *memNode) hold(refused linux.Errno) *memHandle {
	n.opened++
	return &memHandle{nothing{refused}, n, linux.O_PATH}
}

// open is Open for those who may.
func (n *memNode) open(flags int) (*memHandle, linux.Errno) {
	content := n.content
	switch reads := flags&linux.O_ACCMODE == linux.O_RDONLY && flags&linux.O_TRUNC == 0; {
	case content != nil:
	case len(n.lower) > 0 && n.stat.Kind() == linux.S_IFREG && reads:
		d, e := n.lower[0].Open(flags)
		if e != 0 {
			return nil, e
		}
		h := &memHandle{d, n, flags}
		n.opened++
		n.handles = append(n.handles, h)
		return h, 0
	default:
		if e := n.makeContent(flags&linux.O_TRUNC == 0); e != 0 {
			return nil, e
		}
		content = n.content
	}
	if flags&linux.O_TRUNC != 0 && n.stat.Kind() == linux.S_IFREG {
		if e := empty(content); e != 0 {
			return nil, e
		}
	}
	d, e := content.Open(flags &^ linux.O_TRUNC)
	if e != 0 {
		return nil, e
	}
	n.opened++
	return &memHandle{d, n, flags}, 0
}

// empty makes a content that of an empty file. Open(2) does so even for those who only read.
func empty(c Content) linux.Errno {
	d, e := c.Open(linux.O_WRONLY)
	if e != 0 {
		return e
	}
	return cmpErrno(d.Truncate(0), d.Close())
}

// A memHandle is an open file of a MemFS.
type memHandle struct {
	Data
	node  *memNode
	flags int
}

func (h *memHandle) Node() Node { return h.node }

// Replace makes the descriptor one of another content, for an overlay above.
func (h *memHandle) Replace(by Data) linux.Errno { return Replace(h.Data, by) }

func (h *memHandle) WriteAt(b []byte, off int64) (int, linux.Errno) {
	n, e := h.Data.WriteAt(b, off)
	if n > 0 {
		h.node.written()
	}
	return n, e
}

// written is changed for a file's data, which takes from it the rights that a program of that file would have had: whom
// it belongs to, if a user without privileges wrote, and its group, if that may execute it.
func (n *memNode) written() {
	if !n.fs.o.Privileged && n.stat.Kind() == linux.S_IFREG {
		n.stat.Mode &^= linux.S_ISUID
		if n.stat.Mode&0o010 != 0 {
			n.stat.Mode &^= linux.S_ISGID
		}
	}
	n.changed()
}

func (h *memHandle) Truncate(size int64) linux.Errno {
	e := h.Data.Truncate(size)
	if e == 0 {
		h.node.written()
	}
	return e
}

func (h *memHandle) Close() linux.Errno {
	e := h.Data.Close()
	h.node.closed(h)
	return e
}

// A nothing is the Data of a handle that has no content. Reading is refused with an error: EISDIR, or EBADF for what is
// open with O_PATH.
type nothing struct{ refused linux.Errno }

func (d nothing) ReadAt([]byte, int64) (int, linux.Errno)  { return 0, d.refused }
func (d nothing) WriteAt([]byte, int64) (int, linux.Errno) { return 0, linux.EBADF }
func (d nothing) Sync() linux.Errno                        { return 0 }
func (d nothing) Descriptor() (int, bool)                  { return -1, false }
func (d nothing) Close() linux.Errno                       { return 0 }

func (d nothing) Truncate(int64) linux.Errno {
	if d.refused == linux.EISDIR {
		return linux.EINVAL
	}
	return d.refused
}

func (d nothing) Allocate(_ uint32, off, n int64) linux.Errno {
	if d.refused == linux.EISDIR && (off < 0 || n <= 0) {
		return linux.EINVAL
	}
	return linux.EBADF
}

// closed is called when a handle is.
func (n *memNode) closed(h *memHandle) {
	n.handles = slices.DeleteFunc(n.handles, func(o *memHandle) bool { return o == h })
	n.opened--
	n.release()
}

// release frees the content of a file that nothing leads to.
func (n *memNode) release() {
	if n.opened == 0 && n.stat.Nlink == 0 && n.content != nil {
		n.content.Remove()
		n.content = nil
	}
}

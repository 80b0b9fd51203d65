package record

import (
	"cmp"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/vfs"
)

// A node is a file of a Recorder.
type node struct {
	r *Recorder
	n vfs.Node
}

// of is the node of a Recorder for one below.
func (n node) of(l vfs.Node, e linux.Errno) (vfs.Node, linux.Errno) {
	if e != 0 {
		return nil, e
	}
	return node{n.r, l}, 0
}

// meet looks at name before it can change.
func (n node) meet(name string) (vfs.Node, linux.Errno) {
	d := n.r.found[n.n]
	if e, gone := d.gone(name); gone {
		return nil, cmp.Or(n.n.Access(1), e)
	}
	l, e := n.n.Lookup(name)
	n.r.met(d, name, l, e)
	return l, e
}

// changed notes that the guest has given name to a file, or taken it away, unless e is an error. What it led to before
// is known: it was looked up by meet, which only finds nothing out where nothing can be changed.
func (n node) changed(name string, e linux.Errno) linux.Errno {
	if d := n.r.found[n.n]; e == 0 && d != nil && d.changed != nil {
		d.changed[name] = true
	}
	return e
}

// Stat describes the file. Sizes of directories, and the count of links that a file system may not keep, are what they
// are in memory, where a replay has its directories: they differ from one file system to the next.
func (n node) Stat() (vfs.Stat, linux.Errno) {
	s, e := n.n.Stat()
	if e != 0 {
		return s, e
	}
	s.Dev, s.Ino = Dev, n.r.id(n.n)
	f := n.r.found[n.n]
	if f != nil && f.stat != nil {
		was := f.stat.vfs().Mtime // the time of what the guest changes is known above
		s.Sparse = false          // a replay has it without holes
		s.Atime, s.Mtime, s.Ctime = *cmp.Or(f.atime, &was), *cmp.Or(f.mtime, &was), was
	}
	if s.Kind() != linux.S_IFDIR {
		return s, 0
	}
	if f != nil && f.stat != nil {
		s.Size = f.stat.Size
		return s, 0
	}
	s.Size = vfs.DirSize
	if s.Nlink == 1 {
		list, _ := n.n.ReadDir()
		s.Nlink = 2
		for _, x := range list {
			if x.Mode&linux.S_IFMT == linux.S_IFDIR {
				s.Nlink++
			}
		}
	}
	return s, 0
}

// Lookup finds a name.
func (n node) Lookup(name string) (vfs.Node, linux.Errno) { return n.of(n.meet(name)) }

// ReadDir lists the directory.
func (n node) ReadDir() ([]vfs.Dirent, linux.Errno) { return n.r.list(n.n) }

// SetAttr changes attributes.
func (n node) SetAttr(a vfs.Attr) linux.Errno {
	var unread linux.Errno
	if a.Size != nil {
		unread = n.r.capture(n.n)
	}
	e := n.n.SetAttr(a)
	if f := n.r.found[n.n]; f != nil && e == 0 {
		if unread != 0 {
			n.r.unreadable(f, unread)
		}
		f.atime, f.mtime = cmp.Or(a.Atime, f.atime), cmp.Or(a.Mtime, f.mtime)
	}
	return e
}

// Create makes a file.
func (n node) Create(name string, mode uint32, rdev uint64) (vfs.Node, linux.Errno) {
	n.meet(name)
	l, e := n.n.Create(name, mode, rdev)
	return n.of(l, n.changed(name, e))
}

// CreateOpen makes a regular file and opens it.
func (n node) CreateOpen(name string, mode uint32, flags int) (vfs.Handle, linux.Errno) {
	n.meet(name)
	h, e := n.n.CreateOpen(name, mode, flags)
	return n.opened(h, n.changed(name, e))
}

// Symlink makes a link.
func (n node) Symlink(name, target string) (vfs.Node, linux.Errno) {
	n.meet(name)
	l, e := n.n.Symlink(name, target)
	return n.of(l, n.changed(name, e))
}

// Temp makes a file that has no name.
func (n node) Temp(mode uint32, flags int) (vfs.Handle, linux.Errno) {
	return n.opened(n.n.Temp(mode, flags))
}

// Link gives a file one more name.
func (n node) Link(name string, to vfs.Node) linux.Errno {
	o, ok := to.(node)
	if !ok || o.r != n.r {
		return linux.EXDEV
	}
	n.meet(name)
	return n.changed(name, n.n.Link(name, o.n))
}

// goes notes what a name leads to that is about to go: a directory has to be empty, so what is in it matters.
func (n node) goes(name string) {
	l, e := n.meet(name)
	if e != 0 {
		return
	}
	if s, e := l.Stat(); e == 0 && s.Kind() == linux.S_IFDIR {
		n.r.list(l)
	}
}

// Unlink takes a name away.
func (n node) Unlink(name string, dir bool) linux.Errno {
	n.goes(name)
	return n.changed(name, n.n.Unlink(name, dir))
}

// Rename moves a name.
func (n node) Rename(name string, newDir vfs.Node, newName string, flags uint32) linux.Errno {
	d, ok := newDir.(node)
	if !ok || d.r != n.r {
		return linux.EXDEV
	}
	n.meet(name)
	d.goes(newName)
	e := n.n.Rename(name, d.n, newName, flags)
	return cmp.Or(n.changed(name, e), d.changed(newName, e))
}

// Open opens the content. What comes through a FIFO of the host, or from a device, is in no archive.
func (n node) Open(flags int) (vfs.Handle, linux.Errno) {
	f := n.r.found[n.n]
	if f == nil || flags&linux.O_PATH != 0 {
		return n.opened(n.n.Open(flags))
	}
	switch f.kind {
	case linux.S_IFREG:
		if flags&linux.O_TRUNC != 0 {
			h, e := n.n.Open(flags)
			f.emptied = f.emptied || e == 0
			return n.opened(h, e)
		}
		unread := n.r.capture(n.n)
		h, e := n.n.Open(flags)
		if e == 0 && unread != 0 {
			n.r.unreadable(f, unread)
		}
		return n.opened(h, e)
	case linux.S_IFIFO, linux.S_IFCHR, linux.S_IFBLK:
		n.r.strange(f)
		return nil, linux.ENXIO
	}
	return n.opened(n.n.Open(flags))
}

// A handle is an open file of a Recorder.
type handle struct {
	vfs.Handle
	at node
}

func (h handle) Node() vfs.Node { return h.at }

// Replace makes the descriptor one of another content.
func (h handle) Replace(by vfs.Data) linux.Errno { return vfs.Replace(h.Handle, by) }

func (n node) opened(h vfs.Handle, e linux.Errno) (vfs.Handle, linux.Errno) {
	if e != 0 {
		return nil, e
	}
	return handle{h, node{n.r, h.Node()}}, 0
}

// Getxattr reads an extended attribute.
func (n node) Getxattr(name string) ([]byte, linux.Errno) {
	n.r.attributes(n.n)
	return n.n.Getxattr(name)
}

// Setxattr sets one.
func (n node) Setxattr(name string, value []byte, flags int) linux.Errno {
	n.r.attributes(n.n)
	return n.n.Setxattr(name, value, flags)
}

// Listxattr lists them.
func (n node) Listxattr() ([]string, linux.Errno) {
	n.r.attributes(n.n)
	return n.n.Listxattr()
}

// Removexattr removes one.
func (n node) Removexattr(name string) linux.Errno {
	n.r.attributes(n.n)
	return n.n.Removexattr(name)
}

func (n node) Access(mask uint32) linux.Errno  { return n.n.Access(mask) }
func (n node) Readlink() (string, linux.Errno) { return n.n.Readlink() }
func (n node) Path() (string, bool)            { return n.n.Path() }
func (n node) Parent() vfs.Node                { return node{n.r, n.n.Parent()} }

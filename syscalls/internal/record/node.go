package record

import (
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
		return nil, e
	}
	l, e := n.n.Lookup(name)
	n.r.met(d, name, l, e)
	return l, e
}

// change looks at name, which is about to change.
func (n node) change(name string) {
	n.meet(name)
	if d := n.r.found[n.n]; d != nil && d.changed != nil {
		d.changed[name] = true
	}
}

// Stat describes the file. Sizes of directories, and the count of links that a file system may not keep, are what they are in memory,
// where a replay has its directories: they differ from one file system to the next.
func (n node) Stat() (vfs.Stat, linux.Errno) {
	s, e := n.n.Stat()
	if e != 0 {
		return s, e
	}
	s.Dev, s.Ino = Dev, n.r.id(n.n)
	f := n.r.found[n.n]
	if f != nil && f.stat != nil {
		s.Mtime = f.stat.vfs().Mtime // that of what the guest changes is known above
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
	if a.Size != nil {
		n.r.capture(n.n)
	}
	return n.n.SetAttr(a)
}

// Create makes a file.
func (n node) Create(name string, mode uint32, rdev uint64) (vfs.Node, linux.Errno) {
	n.change(name)
	return n.of(n.n.Create(name, mode, rdev))
}

// CreateOpen makes a regular file and opens it.
func (n node) CreateOpen(name string, mode uint32, flags int) (vfs.Handle, linux.Errno) {
	n.change(name)
	return n.opened(n.n.CreateOpen(name, mode, flags))
}

// Symlink makes a link.
func (n node) Symlink(name, target string) (vfs.Node, linux.Errno) {
	n.change(name)
	return n.of(n.n.Symlink(name, target))
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
	n.change(name)
	return n.n.Link(name, o.n)
}

// goes notes what a name leads to that is about to go: a directory has to be empty, so what is in it matters.
func (n node) goes(name string) {
	n.change(name)
	l, e := n.n.Lookup(name)
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
	return n.n.Unlink(name, dir)
}

// Rename moves a name.
func (n node) Rename(name string, newDir vfs.Node, newName string, flags uint32) linux.Errno {
	d, ok := newDir.(node)
	if !ok || d.r != n.r {
		return linux.EXDEV
	}
	n.change(name)
	d.goes(newName)
	return n.n.Rename(name, d.n, newName, flags)
}

// Open opens the content. What comes through a FIFO of the host, or from a device, is in no archive.
func (n node) Open(flags int) (vfs.Handle, linux.Errno) {
	f := n.r.found[n.n]
	if f == nil || flags&linux.O_PATH != 0 {
		return n.opened(n.n.Open(flags))
	}
	switch f.kind {
	case linux.S_IFREG:
		if flags&linux.O_TRUNC == 0 {
			n.r.capture(n.n)
		}
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

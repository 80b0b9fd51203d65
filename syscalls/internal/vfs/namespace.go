package vfs

import (
	"path"
	"strings"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// A Namespace is a tree of several file systems: one has the root, others are mounted on directories. It is a file
// system itself, whose nodes know where they are mounted.
type Namespace struct {
	root   *mount
	mounts map[place]*mount
}

// A mount is a file system, or a directory of one, at a place of the tree.
type mount struct {
	fs FS
	// top is the directory that is seen at on, which is nil for the root.
	top Node
	on  *place
}

// A place is a node of a mount.
type place struct {
	ns *Namespace
	m  *mount
	n  Node
}

// NewNamespace makes a tree that has the files of root.
func NewNamespace(root FS) *Namespace {
	return &Namespace{root: &mount{fs: root, top: root.Root()}, mounts: map[place]*mount{}}
}

// Root returns the root directory.
func (ns *Namespace) Root() Node { return ns.cross(place{ns, ns.root, ns.root.top}) }

// Mount makes top, the root or another directory of fs, what is found at on, a directory of the tree.
func (ns *Namespace) Mount(on Node, fs FS, top Node) linux.Errno {
	at, ok := on.(place)
	if !ok || at.ns != ns {
		return linux.EINVAL
	}
	for _, n := range []Node{at.n, top} {
		if s, e := n.Stat(); e != 0 {
			return e
		} else if s.Kind() != linux.S_IFDIR {
			return linux.ENOTDIR
		}
	}
	ns.mounts[at] = &mount{fs, top, &at}
	return 0
}

// Close closes all file systems of the tree, each once.
func (ns *Namespace) Close() linux.Errno {
	e := ns.root.fs.Close()
	closed := map[FS]bool{ns.root.fs: true}
	for _, m := range ns.mounts {
		if !closed[m.fs] {
			closed[m.fs] = true
			e = cmpErrno(e, m.fs.Close())
		}
	}
	return e
}

// cross returns what is seen at p: the top of what is mounted there.
func (ns *Namespace) cross(p place) Node {
	for m := ns.mounts[p]; m != nil; m = ns.mounts[p] {
		p = place{ns, m, m.top}
	}
	return p
}

// in makes n, a node of p's mount, one of the tree.
func (p place) in(n Node, e linux.Errno) (Node, linux.Errno) {
	if e != 0 {
		return nil, e
	}
	return place{p.ns, p.m, n}, 0
}

// busy reports whether something is mounted on name.
func (p place) busy(name string) bool {
	n, e := p.n.Lookup(name)
	return e == 0 && p.ns.mounts[place{p.ns, p.m, n}] != nil
}

// same returns the node that other is in p's mount; EXDEV if it is in another one.
func (p place) same(other Node) (Node, linux.Errno) {
	if o, ok := other.(place); ok && o.ns == p.ns && o.m == p.m {
		return o.n, 0
	}
	return nil, linux.EXDEV
}

// Lookup finds a name.
func (p place) Lookup(name string) (Node, linux.Errno) {
	n, e := p.n.Lookup(name)
	if e != 0 {
		return nil, e
	}
	return p.ns.cross(place{p.ns, p.m, n}), 0
}

// Create makes a file.
func (p place) Create(name string, mode uint32, rdev uint64) (Node, linux.Errno) {
	return p.in(p.n.Create(name, mode, rdev))
}

// Symlink makes a link.
func (p place) Symlink(name, target string) (Node, linux.Errno) {
	return p.in(p.n.Symlink(name, target))
}

// Link gives a file one more name.
func (p place) Link(name string, to Node) linux.Errno {
	n, e := p.same(to)
	if e != 0 {
		return e
	}
	return p.n.Link(name, n)
}

// Unlink takes a name away.
func (p place) Unlink(name string, dir bool) linux.Errno {
	if p.busy(name) {
		return linux.EBUSY
	}
	return p.n.Unlink(name, dir)
}

// Rename moves a name.
func (p place) Rename(name string, newDir Node, newName string, flags uint32) linux.Errno {
	d, e := p.same(newDir)
	switch {
	case e != 0:
		return e
	case p.busy(name), newDir.(place).busy(newName):
		return linux.EBUSY
	}
	return p.n.Rename(name, d, newName, flags)
}

// Path is a name of the file in the tree.
func (p place) Path() (string, bool) {
	name, ok := p.n.Path()
	if p.m.on == nil {
		return name, ok
	}
	top, _ := p.m.top.Path()
	below, in := strings.CutPrefix(name, strings.TrimSuffix(top, "/"))
	at, there := p.m.on.Path()
	return path.Join(at, below), ok && in && there
}

// Parent is the directory above: for the top of a mount, that which it is mounted in.
func (p place) Parent() Node {
	for p.n == p.m.top && p.m.on != nil {
		p = *p.m.on
	}
	return p.ns.cross(place{p.ns, p.m, p.n.Parent()})
}

// A placeHandle is an open file of a Namespace.
type placeHandle struct {
	Handle
	at place
}

func (h placeHandle) Node() Node { return h.at }

// Replace makes the descriptor one of another content.
func (h placeHandle) Replace(by Data) linux.Errno { return Replace(h.Handle, by) }

// Open opens the content.
func (p place) Open(flags int) (Handle, linux.Errno) {
	return p.opened(p.n.Open(flags))
}

// CreateOpen makes a regular file and opens it.
func (p place) CreateOpen(name string, mode uint32, flags int) (Handle, linux.Errno) {
	return p.opened(p.n.CreateOpen(name, mode, flags))
}

// opened is h as a handle of the tree.
func (p place) opened(h Handle, e linux.Errno) (Handle, linux.Errno) {
	if e != 0 {
		return nil, e
	}
	return placeHandle{h, place{p.ns, p.m, h.Node()}}, 0
}

// Temp makes a file that has no name.
func (p place) Temp(mode uint32, flags int) (Handle, linux.Errno) {
	return p.opened(p.n.Temp(mode, flags))
}

// What follows does not differ from what the file system does.

func (p place) Stat() (Stat, linux.Errno)                         { return p.n.Stat() }
func (p place) SetAttr(a Attr) linux.Errno                        { return p.n.SetAttr(a) }
func (p place) Access(mask uint32) linux.Errno                    { return p.n.Access(mask) }
func (p place) ReadDir() ([]Dirent, linux.Errno)                  { return p.n.ReadDir() }
func (p place) Readlink() (string, linux.Errno)                   { return p.n.Readlink() }
func (p place) Getxattr(name string) ([]byte, linux.Errno)        { return p.n.Getxattr(name) }
func (p place) Listxattr() ([]string, linux.Errno)                { return p.n.Listxattr() }
func (p place) Removexattr(name string) linux.Errno               { return p.n.Removexattr(name) }
func (p place) Setxattr(name string, b []byte, f int) linux.Errno { return p.n.Setxattr(name, b, f) }

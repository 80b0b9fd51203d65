package vfs

import (
	"maps"
	"slices"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// child returns the file called name, nil if there is none.
func (n *memNode) child(name string) (*memNode, linux.Errno) {
	switch c, known := n.entries[name]; {
	case !n.isDir():
		return nil, linux.ENOTDIR
	case known || n.whole:
		return c, 0
	}
	c, e := n.fromLower(name)
	if e == 0 {
		n.entries[name] = c
	}
	return c, e
}

// Lookup finds a name.
func (n *memNode) Lookup(name string) (Node, linux.Errno) {
	c, e := n.find(name)
	switch {
	case e != 0:
		return nil, e
	case c == nil:
		return nil, linux.ENOENT
	}
	return c, 0
}

// find is child for the user.
func (n *memNode) find(name string) (*memNode, linux.Errno) {
	if !n.isDir() {
		return nil, linux.ENOTDIR
	}
	if e := n.Access(1); e != 0 {
		return nil, e
	}
	if len(name) > nameMax {
		return nil, linux.ENAMETOOLONG
	}
	c, e := n.child(name)
	if c != nil && len(c.links) > 1 {
		c.links = append(slices.DeleteFunc(c.links, func(l memLink) bool { return l == memLink{n, name} }), memLink{n, name})
	}
	return c, e
}

// ReadDir lists the directory.
func (n *memNode) ReadDir() ([]Dirent, linux.Errno) {
	if !n.isDir() {
		return nil, linux.ENOTDIR
	}
	if e := n.Access(4); e != 0 {
		return nil, e
	}
	if n.stat.Nlink == 0 {
		return nil, linux.ENOENT
	}
	if e := n.load(); e != 0 {
		return nil, e
	}
	var list []Dirent
	for _, name := range slices.Sorted(maps.Keys(n.entries)) {
		if c := n.entries[name]; c != nil {
			list = append(list, Dirent{name, c.stat.Ino, c.stat.Kind()})
		}
	}
	return list, 0
}

// empty reports whether the directory has no entries.
func (n *memNode) empty() (bool, linux.Errno) {
	if e := n.load(); e != 0 {
		return false, e
	}
	for _, c := range n.entries {
		if c != nil {
			return false, 0
		}
	}
	return true, 0
}

// mayMake returns an error if nothing can be made that is called name.
func (n *memNode) mayMake(name string) linux.Errno {
	switch c, e := n.find(name); {
	case e != 0:
		return e
	case c != nil:
		return linux.EEXIST
	case n.stat.Nlink == 0:
		return linux.ENOENT
	}
	return n.Access(3)
}

// mayTake returns what is called name, and an error if that name cannot be taken away, for dir, or for something else.
func (n *memNode) mayTake(name string, dir bool) (*memNode, linux.Errno) {
	c, e := n.find(name)
	if e == 0 && c == nil {
		e = linux.ENOENT
	}
	if e == 0 {
		e = n.Access(3)
	}
	switch {
	case e != 0:
		return nil, e
	case n.stat.Mode&0o1000 != 0 && !n.owned() && !c.owned():
		return nil, linux.EPERM
	case dir && !c.isDir():
		return nil, linux.ENOTDIR
	case !dir && c.isDir():
		return nil, linux.EISDIR
	}
	return c, 0
}

// add gives c a name.
func (n *memNode) add(name string, c *memNode) {
	n.entries[name] = c
	c.links = append(c.links, memLink{n, name})
	if !c.isDir() {
		c.stat.Nlink++
	} else if n.stat.Nlink > 1 {
		n.stat.Nlink++
	}
	n.changed()
}

// remove takes a name of c away.
func (n *memNode) remove(name string, c *memNode) {
	if n.whole {
		delete(n.entries, name)
	} else {
		n.entries[name] = nil
	}
	c.gone = memLink{n, name}
	c.links = slices.DeleteFunc(c.links, func(l memLink) bool { return l == c.gone })
	if !c.isDir() {
		c.stat.Nlink--
	} else if n.stat.Nlink > 2 {
		n.stat.Nlink--
	}
	n.changed()
	c.stat.Ctime = n.stat.Ctime
}

// Create makes a file.
func (n *memNode) Create(name string, mode uint32, rdev uint64) (Node, linux.Errno) {
	if e := n.mayMake(name); e != 0 {
		return nil, e
	}
	switch mode & linux.S_IFMT {
	case linux.S_IFCHR, linux.S_IFBLK:
		if !n.fs.o.Privileged {
			return nil, linux.EPERM
		}
	case linux.S_IFDIR:
		mode &= linux.S_IFMT | 0o1777
	case linux.S_IFREG, linux.S_IFIFO, linux.S_IFSOCK:
	default:
		return nil, linux.EINVAL
	}
	c := n.make(mode, rdev)
	n.add(name, c)
	return c, 0
}

// MakeDir makes a directory for those who prepare a tree for its user: in memory he need not be allowed to.
func MakeDir(in Node, name string) (Node, linux.Errno) {
	switch d := in.(type) {
	case *memNode:
		if c, e := d.child(name); e != 0 || c != nil {
			return nil, cmpErrno(e, linux.EEXIST)
		}
		c := d.make(linux.S_IFDIR|0o755, 0)
		d.add(name, c)
		return c, 0
	case place:
		return d.in(MakeDir(d.n, name))
	}
	return in.Create(name, linux.S_IFDIR|0o755, 0)
}

// CreateOpen makes a regular file and opens it.
func (n *memNode) CreateOpen(name string, mode uint32, flags int) (Handle, linux.Errno) {
	if e := n.mayMake(name); e != 0 {
		return nil, e
	}
	c := n.make(linux.S_IFREG|mode&0o7777, 0)
	h, e := c.open(flags)
	if e != 0 {
		return nil, e
	}
	n.add(name, c)
	return h, 0
}

// make makes a file that is to be in directory n, whose group it gets if that says so.
func (n *memNode) make(mode uint32, rdev uint64) *memNode {
	const setgid = 0o2000
	c := n.fs.newNode(mode&(linux.S_IFMT|0o7777), rdev)
	if n.stat.Mode&setgid != 0 {
		c.stat.GID = n.stat.GID
		if c.isDir() {
			c.stat.Mode |= setgid
		}
	}
	return c
}

// Symlink makes a link.
func (n *memNode) Symlink(name, target string) (Node, linux.Errno) {
	if e := n.mayMake(name); e != 0 {
		return nil, e
	}
	c := n.make(linux.S_IFLNK|0o777, 0)
	c.target, c.stat.Size = target, int64(len(target))
	n.add(name, c)
	return c, 0
}

// Temp makes a file that has no name.
func (n *memNode) Temp(mode uint32, flags int) (Handle, linux.Errno) {
	switch {
	case !n.isDir():
		return nil, linux.ENOTDIR
	case n.stat.Nlink == 0:
		return nil, linux.ENOENT
	}
	if e := n.Access(3); e != 0 {
		return nil, e
	}
	c := n.make(linux.S_IFREG|mode&0o7777, 0)
	c.temp, c.gone.name = flags&linux.O_EXCL == 0, "temp"
	h, e := c.open(flags)
	if e != 0 {
		return nil, e
	}
	return h, 0
}

// Link gives a file one more name.
func (n *memNode) Link(name string, to Node) linux.Errno {
	if e := n.mayMake(name); e != 0 {
		return e
	}
	c, ok := to.(*memNode)
	switch {
	case !ok || c.fs != n.fs:
		return linux.EXDEV
	case c.isDir():
		return linux.EPERM
	case c.stat.Nlink == 0 && !(c.temp && c.opened > 0):
		return linux.ENOENT
	}
	n.add(name, c)
	c.temp = false
	c.stat.Ctime = n.stat.Ctime
	return 0
}

// Unlink takes a name away.
func (n *memNode) Unlink(name string, dir bool) linux.Errno {
	c, e := n.mayTake(name, dir)
	if e != 0 {
		return e
	}
	if dir {
		if empty, e := c.empty(); e != 0 || !empty {
			return cmpErrno(e, linux.ENOTEMPTY)
		}
	}
	n.remove(name, c)
	c.dropped()
	return 0
}

// dropped is called after the last or another name of n went for good.
func (n *memNode) dropped() {
	if n.isDir() {
		n.stat.Nlink, n.whole = 0, true
	}
	n.release()
}

// cmpErrno is the first of two errors that is one.
func cmpErrno(a, b linux.Errno) linux.Errno {
	if a != 0 {
		return a
	}
	return b
}

// within reports whether n is dir or below it.
func (n *memNode) within(dir *memNode) bool {
	for n != dir {
		if len(n.links) == 0 {
			return false
		}
		n = n.links[0].dir
	}
	return true
}

// Rename moves a name.
func (n *memNode) Rename(name string, newDir Node, newName string, flags uint32) linux.Errno {
	d, ok := newDir.(*memNode)
	if !ok || d.fs != n.fs {
		return linux.EXDEV
	}
	c, old, e := n.mayRename(name, d, newName, flags)
	switch {
	case e != 0:
		return e
	case c == old:
		return 0
	}
	n.remove(name, c)
	if old != nil {
		d.remove(newName, old)
	}
	d.add(newName, c)
	c.stat.Ctime = d.stat.Ctime
	switch {
	case old == nil:
	case flags&RenameExchange != 0:
		n.add(name, old)
		old.stat.Ctime = n.stat.Ctime
	default:
		old.dropped()
	}
	return 0
}

// mayRename returns the file called name, and the one whose name it is to get, if there is one; or an error.
func (n *memNode) mayRename(name string, d *memNode, newName string, flags uint32) (c, old *memNode, e linux.Errno) {
	exchange := flags&RenameExchange != 0
	if c, e = n.find(name); e == 0 && c == nil {
		e = linux.ENOENT
	}
	if e == 0 {
		old, e = d.find(newName)
	}
	switch {
	case e != 0:
		return nil, nil, e
	case old != nil && flags&RenameNoReplace != 0:
		return nil, nil, linux.EEXIST
	case old == nil && exchange:
		return nil, nil, linux.ENOENT
	case c.isDir() && d.within(c):
		return nil, nil, linux.EINVAL
	case old != nil && old.isDir() && n.within(old):
		if exchange {
			return nil, nil, linux.EINVAL
		}
		return nil, nil, linux.ENOTEMPTY
	case c == old:
		return c, old, 0
	}
	if _, e = n.mayTake(name, c.isDir()); e != 0 {
		return nil, nil, e
	}
	switch {
	case old == nil:
		e = d.mayMake(newName)
	case exchange:
		_, e = d.mayTake(newName, old.isDir())
	default:
		_, e = d.mayTake(newName, c.isDir())
	}
	for _, x := range []*memNode{c, old} { // whose ".." changes
		if e == 0 && x != nil && x.isDir() && n != d && (x == c || exchange) {
			e = x.Access(2)
		}
	}
	if e == 0 && old != nil && old.isDir() && !exchange {
		var empty bool
		if empty, e = old.empty(); !empty {
			e = cmpErrno(e, linux.ENOTEMPTY)
		}
	}
	return c, old, e
}

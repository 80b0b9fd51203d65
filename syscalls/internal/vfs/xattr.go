package vfs

import (
	"maps"
	"slices"
	"strings"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// mayUse checks that the user may read (4) or change (2) the attribute called name, and loads it. Files of a type that
// has none of the user's are refused.
func (n *memNode) mayUse(name string, mask uint32, refused linux.Errno) linux.Errno {
	if strings.HasPrefix(name, "user.") {
		if kind := n.stat.Kind(); kind != linux.S_IFREG && kind != linux.S_IFDIR {
			return refused
		}
		if e := n.Access(mask); e != 0 {
			return e
		}
	}
	return n.loadXattrs()
}

// Getxattr reads an attribute.
func (n *memNode) Getxattr(name string) ([]byte, linux.Errno) {
	if e := n.mayUse(name, 4, linux.ENODATA); e != 0 {
		return nil, e
	}
	value, ok := n.xattrs[name]
	if !ok {
		return nil, linux.ENODATA
	}
	return slices.Clone(value), 0
}

// Setxattr sets an attribute.
func (n *memNode) Setxattr(name string, value []byte, flags int) linux.Errno {
	if e := n.mayUse(name, 2, linux.EPERM); e != 0 {
		return e
	}
	switch _, ok := n.xattrs[name]; {
	case ok && flags&linux.XATTR_CREATE != 0:
		return linux.EEXIST
	case !ok && flags&linux.XATTR_REPLACE != 0:
		return linux.ENODATA
	}
	n.xattrs[name] = slices.Clone(value)
	n.stat.Ctime = n.fs.o.Now()
	return 0
}

// Listxattr lists the attributes' names, sorted.
func (n *memNode) Listxattr() ([]string, linux.Errno) {
	if e := n.loadXattrs(); e != 0 {
		return nil, e
	}
	return slices.Sorted(maps.Keys(n.xattrs)), 0
}

// Removexattr removes an attribute.
func (n *memNode) Removexattr(name string) linux.Errno {
	if e := n.mayUse(name, 2, linux.EPERM); e != 0 {
		return e
	}
	if _, ok := n.xattrs[name]; !ok {
		return linux.ENODATA
	}
	delete(n.xattrs, name)
	n.stat.Ctime = n.fs.o.Now()
	return 0
}

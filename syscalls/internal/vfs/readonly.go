package vfs

import "github.com/cgemu/cgemu/syscalls/internal/linux"

// NewReadOnly makes a file system that shows another one, and changes nothing of it.
func NewReadOnly(fs FS) FS { return readOnly{fs} }

type readOnly struct{ FS }

func (fs readOnly) Root() Node { return fixed{n: fs.FS.Root()} }

// A fixed is a node of a file system that must not be changed.
type fixed struct {
	Immutable
	n Node
}

func (f fixed) Access(mask uint32) linux.Errno {
	if e := f.n.Access(mask &^ 2); e != 0 {
		return e
	}
	return f.Immutable.Access(mask)
}

func (f fixed) Lookup(name string) (Node, linux.Errno) {
	n, e := f.n.Lookup(name)
	if e != 0 {
		return nil, e
	}
	return fixed{n: n}, 0
}

// Open opens the content for reading. What is written to a FIFO changes no file, but goes to somebody outside.
func (f fixed) Open(flags int) (Handle, linux.Errno) {
	if flags&linux.O_PATH == 0 && (flags&linux.O_ACCMODE != linux.O_RDONLY || flags&linux.O_TRUNC != 0) {
		return nil, linux.EROFS
	}
	h, e := f.n.Open(flags)
	if e != 0 {
		return nil, e
	}
	return fixedHandle{h}, 0
}

// A fixedHandle is an open file of such a file system.
type fixedHandle struct{ Handle }

func (h fixedHandle) Node() Node                  { return fixed{n: h.Handle.Node()} }
func (h fixedHandle) Replace(by Data) linux.Errno { return Replace(h.Handle, by) }

// What follows does not differ from what the file system does.

func (f fixed) Stat() (Stat, linux.Errno)                  { return f.n.Stat() }
func (f fixed) ReadDir() ([]Dirent, linux.Errno)           { return f.n.ReadDir() }
func (f fixed) Readlink() (string, linux.Errno)            { return f.n.Readlink() }
func (f fixed) Getxattr(name string) ([]byte, linux.Errno) { return f.n.Getxattr(name) }
func (f fixed) Listxattr() ([]string, linux.Errno)         { return f.n.Listxattr() }
func (f fixed) Path() (string, bool)                       { return f.n.Path() }
func (f fixed) Parent() Node                               { return fixed{n: f.n.Parent()} }

package record

import (
	"maps"
	"path"
	"slices"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/vfs"
)

// An archived is the file system of a Recording: what an overlay is to be laid on, for nothing in it can be changed,
// and it asks nobody for permission.
type archived struct {
	r *Recording
	// newContent makes the content of a file, into which what the archive has is copied when the file is first opened:
	// then it can be mapped.
	newContent func(ino uint64, kind uint32) (vfs.Content, linux.Errno)
	contents   map[*inode]vfs.Content
}

// FS returns the file system. Contents are where o says.
func (r *Recording) FS(o vfs.MemOptions) vfs.FS {
	r.missing = ""
	r.fs = &archived{r, o.NewContent, map[*inode]vfs.Content{}}
	return r.fs
}

// Root returns the root directory.
func (fs *archived) Root() vfs.Node { return kept{fs: fs, n: fs.r.root} }

// Close does nothing: the Recording can be used again.
func (fs *archived) Close() linux.Errno { return 0 }

// A kept is a file of an archived.
type kept struct {
	vfs.Immutable
	fs *archived
	n  *inode
}

// Stat describes the file.
func (k kept) Stat() (vfs.Stat, linux.Errno) { return k.n.vfs(), 0 }

// Lookup finds a name.
func (k kept) Lookup(name string) (vfs.Node, linux.Errno) {
	if k.n.names == nil {
		return nil, linux.ENOTDIR
	}
	if n := k.n.names[name]; n != nil {
		return kept{fs: k.fs, n: n}, 0
	}
	if e := k.n.failed[name]; e != 0 {
		return nil, e
	}
	if !k.n.has(name) && !k.n.Listed {
		k.fs.r.misses(path.Join(string(k.n.entry.Path), name))
	}
	return nil, linux.ENOENT
}

// ReadDir lists the directory.
func (k kept) ReadDir() ([]vfs.Dirent, linux.Errno) {
	if k.n.names == nil {
		return nil, linux.ENOTDIR
	}
	if !k.n.Listed {
		k.fs.r.misses("the list of " + string(k.n.entry.Path))
	}
	var list []vfs.Dirent
	for _, name := range slices.Sorted(maps.Keys(k.n.names)) {
		if n := k.n.names[name]; n != nil {
			list = append(list, vfs.Dirent{Name: name, Ino: n.Inode, Mode: n.kind()})
		}
	}
	return list, 0
}

// Open opens the content for reading.
func (k kept) Open(flags int) (vfs.Handle, linux.Errno) {
	if flags&linux.O_ACCMODE != linux.O_RDONLY || k.n.kind() != linux.S_IFREG {
		return nil, linux.EROFS
	}
	c := k.fs.contents[k.n]
	if c == nil {
		var e linux.Errno
		if c, e = k.extract(); e != 0 {
			return nil, e
		}
		k.fs.contents[k.n] = c
	}
	d, e := c.Open(linux.O_RDONLY)
	if e != 0 {
		return nil, e
	}
	return keptHandle{d, k}, 0
}

// extract copies the content out of the archive.
func (k kept) extract() (vfs.Content, linux.Errno) {
	if !k.n.Content {
		k.fs.r.misses("what is in " + string(k.n.entry.Path))
		return nil, linux.EIO
	}
	c, e := k.fs.newContent(k.n.Inode, linux.S_IFREG)
	if e != 0 {
		return nil, e
	}
	if e := vfs.Fill(c, k.fs.r.at(k.n.data)); e != 0 {
		c.Remove()
		return nil, e
	}
	return c, 0
}

// A keptHandle is an open file of an archived.
type keptHandle struct {
	vfs.Data
	at kept
}

func (h keptHandle) Node() vfs.Node { return h.at }

// Replace makes the descriptor one of another content.
func (h keptHandle) Replace(by vfs.Data) linux.Errno { return vfs.Replace(h.Data, by) }

// Readlink returns what a link leads to.
func (k kept) Readlink() (string, linux.Errno) {
	if k.n.kind() != linux.S_IFLNK {
		return "", linux.EINVAL
	}
	return string(k.n.Target), 0
}

// Getxattr reads an extended attribute.
func (k kept) Getxattr(name string) ([]byte, linux.Errno) {
	value, ok := k.n.Xattrs[Text(name)]
	if !ok {
		return nil, linux.ENODATA
	}
	return []byte(value), 0
}

// Listxattr lists the names of attributes.
func (k kept) Listxattr() ([]string, linux.Errno) {
	return Strings(slices.Sorted(maps.Keys(k.n.Xattrs))), 0
}

// Path is the name by which the file was found first.
func (k kept) Path() (string, bool) { return string(k.n.entry.Path), true }

// Parent is the directory above.
func (k kept) Parent() vfs.Node {
	if k.n.in == nil {
		return k.fs.Root()
	}
	return kept{fs: k.fs, n: k.n.in}
}

package vfs

import (
	"io"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// NewOverlay makes a file system that has what lowers have, the first above the next, and keeps changes in memory.
// Lowers do not change: who changes them otherwise meanwhile may or may not be seen.
//
// A node of an overlay is one of a MemFS that stands for a lower file. Directories ask those below for names that they
// do not know yet, so names can be removed and directories moved as in any MemFS, and numbers stay. Attributes are
// taken when the file is first met, the content when it is first opened for writing.
//
// In a lower above another one, a whiteout, which is a device file with the number 0, hides a name, and an attribute
// that says so a whole directory, as in Linux's overlayfs.
func NewOverlay(o MemOptions, lowers ...FS) (*MemFS, linux.Errno) {
	fs := NewMemFS(o)
	fs.lowers = lowers
	var roots []Node
	for _, l := range lowers {
		roots = append(roots, l.Root())
	}
	s, e := roots[0].Stat()
	if e != 0 {
		return nil, e
	}
	fs.root.stand(s, roots)
	return fs, 0
}

const (
	opaqueAttr  = "trusted.overlay.opaque"
	opaqueValue = "y"
)

// stand makes n what stands for lower, of which s describes the first one.
func (n *memNode) stand(s Stat, lower []Node) {
	s.Dev, s.Ino = n.stat.Dev, n.stat.Ino
	if n.fs.o.LowerOwned {
		s.UID, s.GID = n.fs.o.UID, n.fs.o.GID
	}
	if t := n.fs.o.LowerTime; t != nil {
		s.Atime, s.Mtime, s.Ctime = *t, *t, *t
	}
	if s.Kind() == linux.S_IFDIR {
		n.entries, n.whole = map[string]*memNode{}, false
		if len(lower) > 1 {
			s.Nlink = 1 // it is not known how many directories are in it
		}
	}
	n.stat, n.lower = s, lower
}

// fromLower finds name in the directories that n stands for: nil if it is in none.
func (n *memNode) fromLower(name string) (*memNode, linux.Errno) {
	var first Stat
	var found []Node
	for _, dir := range n.lower {
		l, e := dir.Lookup(name)
		if e == linux.ENOENT {
			continue
		}
		if e != 0 {
			return nil, e
		}
		s, e := l.Stat()
		if e != 0 {
			return nil, e
		}
		if len(found) > 0 && s.Kind() != linux.S_IFDIR || isWhiteout(&s) {
			break
		}
		if len(found) == 0 {
			first = s
		}
		found = append(found, l)
		if s.Kind() != linux.S_IFDIR || isOpaque(l) {
			break
		}
	}
	if len(found) == 0 {
		return nil, 0
	}
	c, e := n.fs.standFor(first, found)
	if e == 0 {
		c.links = append(c.links, memLink{n, name})
	}
	return c, e
}

func isWhiteout(s *Stat) bool { return s.Kind() == linux.S_IFCHR && s.Rdev == 0 }

func isOpaque(dir Node) bool {
	value, e := dir.Getxattr(opaqueAttr)
	return e == 0 && string(value) == opaqueValue
}

// standFor returns the node for a lower file.
func (fs *MemFS) standFor(s Stat, lower []Node) (*memNode, linux.Errno) {
	shared := s.Nlink > 1 && s.Kind() != linux.S_IFDIR
	if c := fs.origins[lower[0]]; shared && c != nil {
		return c, 0
	}
	c := fs.newNode(s.Mode&^linux.S_IFMT, 0)
	c.stand(s, lower)
	if s.Kind() == linux.S_IFLNK {
		var e linux.Errno
		if c.target, e = lower[0].Readlink(); e != 0 {
			return nil, e
		}
	}
	if shared {
		fs.origins[lower[0]] = c
	}
	return c, 0
}

// load makes the directory know all of its entries.
func (n *memNode) load() linux.Errno {
	if n.whole {
		return 0
	}
	for _, dir := range n.lower {
		list, e := dir.ReadDir()
		if e != 0 {
			return e
		}
		for _, d := range list {
			if _, e := n.child(d.Name); e != 0 {
				return e
			}
		}
	}
	for name, c := range n.entries {
		if c == nil {
			delete(n.entries, name)
		}
	}
	n.whole = true
	return 0
}

// loadXattrs makes n know its extended attributes.
func (n *memNode) loadXattrs() linux.Errno {
	if n.xattrs != nil {
		return 0
	}
	all := map[string][]byte{}
	if len(n.lower) > 0 && (n.stat.Kind() == linux.S_IFREG || n.isDir()) {
		names, e := n.lower[0].Listxattr()
		if e != 0 && e != linux.EOPNOTSUPP {
			return e
		}
		for _, name := range names {
			if all[name], e = n.lower[0].Getxattr(name); e != 0 {
				return e
			}
		}
		delete(all, opaqueAttr)
	}
	n.xattrs = all
	return 0
}

// makeContent gives a file the content that it stands for, or none if it is about to be emptied. Those who read it
// meanwhile read the new content from now on.
func (n *memNode) makeContent(keep bool) linux.Errno {
	c, e := n.fs.o.NewContent(n.stat.Ino, n.stat.Kind())
	if e != 0 {
		return e
	}
	if len(n.lower) > 0 && n.stat.Kind() == linux.S_IFREG {
		if keep {
			e = copyData(c, n.lower[0])
		}
		for _, h := range n.handles {
			if e == 0 {
				e = h.replace(c)
			}
		}
	}
	if e != 0 {
		c.Remove()
		return e
	}
	n.content, n.handles = c, nil
	return 0
}

// A Replacer is a Data whose descriptor others may hold: it makes that one of another Data's content, and closes that
// Data.
type Replacer interface {
	Replace(by Data) linux.Errno
}

// Replace has d, which is in another Data, be one of by's content: EINVAL, and by is closed, if it cannot.
func Replace(d, by Data) linux.Errno {
	if r, ok := d.(Replacer); ok {
		return r.Replace(by)
	}
	by.Close()
	return linux.EINVAL
}

// replace makes h read from c.
func (h *memHandle) replace(c Content) linux.Errno {
	d, e := c.Open(h.flags)
	if e != 0 {
		return e
	}
	if _, ok := d.Descriptor(); ok {
		if r, ok := h.Data.(Replacer); ok {
			return r.Replace(d)
		}
	}
	h.Data.Close()
	h.Data = d
	return 0
}

// copySize is how much is copied at a time.
const copySize = 256 << 10

// copyData makes c have what n contains.
func copyData(c Content, n Node) linux.Errno {
	from, e := n.Open(linux.O_RDONLY)
	if e != 0 {
		return e
	}
	defer from.Close()
	r := &dataReader{Data: from}
	e = Fill(c, r)
	return cmpErrno(r.failed, e)
}

// A dataReader reads a Data from its beginning to its end.
type dataReader struct {
	Data
	off    int64
	failed linux.Errno
}

func (r *dataReader) Read(b []byte) (int, error) {
	n, e := r.ReadAt(b, r.off)
	r.off += int64(n)
	switch {
	case e != 0:
		r.failed = e
		return n, e
	case n == 0 && len(b) > 0:
		return 0, io.EOF
	}
	return n, nil
}

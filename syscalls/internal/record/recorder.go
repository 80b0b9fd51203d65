package record

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/vfs"
)

// A Recorder is a file system that passes everything on to another one, and records what was in that before the guest
// changed it.
type Recorder struct {
	System System
	out    *writer
	lower  vfs.FS
	// ids are numbers of files, by their nodes below, in the order in which they are met. The host's would differ from
	// those that a replay has.
	ids map[any]uint64
	// found are the files that were there before, as far as they were met, by their nodes below; a node that is not in
	// it was made by the guest.
	found map[any]*file
	root  *file
	// etc is what stands in for files of /etc, as far as the archive has it.
	etc map[string][]byte
	// network is nil if that of the host is not recorded.
	network *network
	// err is the first error of the archive, odd the first thing found that no archive can have.
	err, odd error
}

// A file is one that was there before.
type file struct {
	stat   *Stat // nil if the guest has not looked at it
	kind   uint32
	inode  uint64
	path   string // the name that it was found by first
	target string
	xattrs map[string]string // nil if they were not asked for
	// content says that the archive has it, emptied that the guest had no need of it.
	content, emptied bool
	// atime and mtime are those that the guest has set.
	atime, mtime *vfs.Time
	// names are those of a directory that were met: nil, or absent, for what was not there. listed says that they are
	// all.
	names  map[string]*file
	absent map[string]linux.Errno
	listed bool
	// changed are the names in it that the guest has given or taken away.
	changed map[string]bool
}

// gone reports whether name was not there before, and is not the guest's. Others may have made such a file meanwhile,
// as cgemu makes those for profiles: a replay would not have it.
func (f *file) gone(name string) (linux.Errno, bool) {
	if f == nil || f.names == nil || f.changed[name] || f.names[name] != nil || len(name) > nameMax {
		return 0, false
	}
	if e, ok := f.absent[name]; ok {
		return e, true
	}
	return linux.ENOENT, f.listed
}

// Wrap makes the recorder one of lower. It is the owner of lower from then on.
func (r *Recorder) Wrap(lower vfs.FS) (vfs.FS, linux.Errno) {
	r.lower = lower
	root := lower.Root()
	s, e := root.Stat()
	if e != 0 {
		return nil, e
	}
	r.root = r.newFile(root, linux.S_IFDIR, "/")
	r.root.stat = statOf(s, r.root.inode)
	return r, 0
}

// Root returns the root directory.
func (r *Recorder) Root() vfs.Node { return node{r, r.lower.Root()} }

// Close closes the file system below.
func (r *Recorder) Close() linux.Errno { return r.lower.Close() }

// id is the number of a node below.
func (r *Recorder) id(n any) uint64 {
	id, ok := r.ids[n]
	if !ok {
		id = uint64(len(r.ids)) + 1
		r.ids[n] = id
	}
	return id
}

func (r *Recorder) newFile(n any, kind uint32, name string) *file {
	f := &file{kind: kind, inode: r.id(n), path: name}
	if kind == linux.S_IFDIR {
		f.names, f.absent, f.changed = map[string]*file{}, map[string]linux.Errno{}, map[string]bool{}
	}
	r.found[n] = f
	return f
}

// met notes that name leads to l, or to error e, in directory d, unless it is known what was there before.
func (r *Recorder) met(d *file, name string, l vfs.Node, e linux.Errno) {
	if d == nil || d.names == nil || d.changed[name] {
		return
	}
	f := d.names[name]
	if _, absent := d.absent[name]; absent || f != nil && f.stat != nil {
		return
	}
	switch {
	case e == linux.EACCES, e == linux.ENAMETOOLONG:
		return // which permissions and the name say anyway
	case e != 0 && f == nil:
		d.absent[name] = e
		return
	case e != 0:
		return
	}
	s, e := l.Stat()
	if e != 0 {
		return
	}
	switch {
	case f != nil && r.found[l] == nil: // it could not be reached when it was listed
		r.found[l], r.ids[l] = f, f.inode
	case f == nil:
		if f = r.found[l]; f == nil {
			f = r.newFile(l, s.Kind(), path.Join(d.path, name))
		}
		d.names[name] = f
	}
	if f.stat == nil {
		f.stat = statOf(s, f.inode)
		if s.Kind() == linux.S_IFLNK {
			f.target, _ = l.Readlink()
		}
	}
}

// An unreachable stands for the node of a name that was listed and could not be looked up.
type unreachable struct {
	dir  vfs.Node
	name string
}

// list notes all that was in the directory n before, and returns what is there now, with numbers of ours.
func (r *Recorder) list(n vfs.Node) ([]vfs.Dirent, linux.Errno) {
	list, e := n.ReadDir()
	if e != 0 {
		return nil, e
	}
	d := r.found[n]
	now := list[:0:0]
	for _, x := range list {
		if _, gone := d.gone(x.Name); gone {
			continue
		}
		l, e := n.Lookup(x.Name)
		key := any(l)
		switch {
		case e == linux.ENOENT:
			continue // others have removed it meanwhile
		case e != 0:
			key = unreachable{n, x.Name} // the directory may be read, and not searched
		}
		if d != nil && d.names[x.Name] == nil && !d.changed[x.Name] {
			f := r.found[key]
			if f == nil {
				if x.Mode&linux.S_IFMT == 0 && e == 0 { // some file systems do not tell
					s, _ := l.Stat()
					x.Mode = s.Mode
				}
				f = r.newFile(key, x.Mode&linux.S_IFMT, path.Join(d.path, x.Name))
			}
			d.names[x.Name] = f
		}
		if x.Ino = r.id(key); d != nil && d.names[x.Name] != nil && !d.changed[x.Name] {
			x.Ino = d.names[x.Name].inode
		}
		now = append(now, x)
	}
	if d != nil {
		d.listed = true
	}
	return now, 0
}

// capture puts the content of n into the archive, before it can change.
func (r *Recorder) capture(n vfs.Node) linux.Errno {
	f := r.found[n]
	if f == nil || f.kind != linux.S_IFREG || f.content || f.emptied {
		return 0
	}
	h, e := n.Open(linux.O_RDONLY)
	if e != 0 {
		return e
	}
	defer h.Close()
	f.content = true
	r.fail(r.out.data(rootPrefix+f.path, f.stat, h))
	return 0
}

// attributes notes the extended attributes of n, before they can change.
func (r *Recorder) attributes(n vfs.Node) {
	f := r.found[n]
	if f == nil || f.xattrs != nil {
		return
	}
	f.xattrs = map[string]string{}
	names, _ := n.Listxattr() // some file systems have none
	for _, name := range names {
		if strings.HasPrefix(name, "user.") {
			value, _ := n.Getxattr(name) // which the guest may not read either
			f.xattrs[name] = string(value)
		}
	}
}

// fail notes the first error.
func (r *Recorder) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// Etc notes what stands in for a file of /etc: text, unless it has stood for something else before. It returns that.
func (r *Recorder) Etc(name string, text []byte) []byte {
	was, known := r.etc[name]
	if !known {
		r.etc[name] = text
		r.fail(r.out.bytes(etcPrefix+name, text))
		return text
	}
	return was
}

// entries are the lines about d and what was below it, in order of names.
func (r *Recorder) entries(f *file, name string, out func(*entry)) {
	e := &entry{Path: Text(name), Unseen: f.stat == nil, Stat: f.stat, Target: Text(f.target), Listed: f.listed, Content: f.content && f.path == name}
	if f.stat == nil {
		e.Stat = &Stat{Inode: f.inode, Mode: Mode(f.kind)}
	}
	for key, value := range f.xattrs {
		if e.Xattrs == nil {
			e.Xattrs = map[Text]Text{}
		}
		e.Xattrs[Text(key)] = Text(value)
	}
	out(e)
	names := slices.AppendSeq(slices.Collect(maps.Keys(f.names)), maps.Keys(f.absent))
	slices.Sort(names)
	for _, n := range names {
		if c := f.names[n]; c != nil {
			r.entries(c, path.Join(name, n), out)
		} else {
			out(&entry{Path: Text(path.Join(name, n)), Error: f.absent[n]})
		}
	}
}

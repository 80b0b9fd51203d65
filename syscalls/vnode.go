package syscalls

import (
	"path"
	"sort"
	"strings"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// A vnode is a file of our own: in /proc, /sys, /dev or /etc.
type vnode struct {
	mode uint32
	rdev uint64
	// magic says that a link leads to a file itself, not to its name.
	magic bool
	own   bool // it belongs to the guest's user
	disk  bool // it is as if on a disk, and has a size
	// One of these, by the type in mode: a directory's names and what they mean, a
	// file's content, a link's target, or what opening gives.
	names   func(t *Thread) []string
	child   func(t *Thread, name string) *vnode
	content func(t *Thread) []byte
	link    func(t *Thread) string
	open    func(t *Thread, flags int) (file, linux.Errno)
	// write is what writing to the file does.
	write func(t *Thread, b []byte) linux.Errno
	// mount is the directory that the node is a name of.
	mount func(k *Kernel) (dirRef, linux.Errno)
	// file is the open file that a link in /proc/PID/fd stands for.
	file func() file
	// process is whose directory in /proc it is, if it is one's.
	process *Process
}

// The roots of /proc and /sys: package procfs says what is in them.
var procRoot, sysRoot = &vnode{mode: linux.S_IFDIR | 0o555}, &vnode{mode: linux.S_IFDIR | 0o555}

// isVirtual reports whether a clean absolute path may be one of ours.
func isVirtual(p string) bool {
	for _, dir := range [...]string{"/proc", "/sys"} {
		if strings.HasPrefix(p, dir) && (len(p) == len(dir) || p[len(dir)] == '/') {
			return true
		}
	}
	return strings.HasPrefix(p, "/dev/") && devNodes[firstName(p[5:])] != nil ||
		strings.HasPrefix(p, "/etc/") && etcNodes[firstName(p[5:])] != nil
}

func firstName(p string) string {
	if i := strings.IndexByte(p, '/'); i >= 0 {
		return p[:i]
	}
	return p
}

// ours takes a path apart where it comes to a name of ours: it goes on there with names in our directory dir.
func ours(p string) (dir string, names []string, ok bool) {
	at := "/"
	for names = strings.Split(p, "/"); len(names) > 0; names = names[1:] {
		next := path.Join(at, names[0])
		switch {
		case isVirtual(next) && at == "/":
			return next, names[1:], true
		case isVirtual(next):
			return at, names, true
		}
		at = next
	}
	return "", nil, false
}

// walk goes through names in our directory dir. It returns the node and its path, or the path on which a
// link or ".." leaves; for a node that a directory is mounted on, what is left of the path.
func (t *Thread) walk(dir string, names []string, follow bool) (n *vnode, at, leave string, e linux.Errno) {
	n, at = roots(dir[1:]), dir
	for i, name := range names {
		rest := names[i+1:]
		switch {
		case n.mode&linux.S_IFMT != linux.S_IFDIR:
			return nil, "", "", linux.ENOTDIR
		case name == "" || name == ".":
			continue
		case name == "..":
			return nil, "", path.Dir(at) + "/" + strings.Join(rest, "/"), 0
		}
		if n = n.child(t, name); n == nil {
			return nil, "", "", linux.ENOENT
		}
		if n.magic && filesOf(t).noMagic && (follow || len(rest) > 0) {
			return nil, "", "", linux.ELOOP
		}
		if n.mode&linux.S_IFMT == linux.S_IFLNK && (follow && n.open == nil || len(rest) > 0) {
			target := n.link(t)
			if target == "" {
				return nil, "", "", linux.ENOENT
			}
			if n.file != nil {
				if st, e := n.file().stat(t); e != 0 || st.mode&linux.S_IFMT != linux.S_IFDIR {
					return nil, "", "", linux.ENOTDIR
				}
			}
			if !path.IsAbs(target) {
				target = at + "/" + target
			}
			return nil, "", strings.Join(append([]string{target}, rest...), "/"), 0
		}
		at += "/" + name
		if n.mount != nil {
			return n, at, strings.Join(rest, "/"), 0
		}
	}
	return n, at, "", 0
}

func roots(name string) *vnode {
	switch name {
	case "proc":
		return procRoot
	case "sys":
		return sysRoot
	case "etc":
		return etcRoot
	}
	return devRoot
}

// deviceOf is the device of a path of ours.
func deviceOf(path string) uint64 {
	for _, m := range []struct {
		at  string
		dev uint64
	}{{"/proc", procDev}, {"/sys", sysDev}, {"/dev/pts", ptsDev}} {
		if rest, ok := strings.CutPrefix(path, m.at); ok && (rest == "" || rest[0] == '/') {
			return m.dev
		}
	}
	return virtualDev
}

// stat describes n, found at path.
func (n *vnode) stat(t *Thread, path string) stat {
	s := stat{dev: deviceOf(path), ino: fsOf(t.k).inodes.virtual(path), mode: n.mode, nlink: 1, rdev: n.rdev}
	if n.mode&linux.S_IFMT == linux.S_IFDIR {
		s.nlink = 2 + n.directories(t)
	}
	if pid, ok := strings.CutPrefix(path, "/proc/"); n.own || ok && atoi(firstName(pid)) > 0 {
		s.uid, s.gid = t.k.uid, t.k.gid
	}
	switch {
	case n.disk:
		s.size = int64(len(n.content(t)))
	case s.dev == sysDev && n.mode&linux.S_IFMT == linux.S_IFREG:
		s.size = emu.PageSize // as every attribute of sysfs has
	}
	at := timeAt(t.k.clock.epoch)
	s.fileTimes = fileTimes{at, at, at}
	return s
}

// directories counts the directories in n, each of which has a link to it ("..").
func (n *vnode) directories(t *Thread) (dirs uint64) {
	for _, name := range n.names(t) {
		if c := n.child(t, name); c != nil && c.mode&linux.S_IFMT == linux.S_IFDIR {
			dirs++
		}
	}
	return dirs
}

// openFile opens n, found at path.
func (n *vnode) openFile(t *Thread, path string, flags int) (file, linux.Errno) {
	b := fileBase{flags: flags &^ (linux.O_CREAT | linux.O_EXCL | linux.O_NOCTTY | linux.O_TRUNC | linux.O_CLOEXEC), path: path}
	if flags&(linux.O_CREAT|linux.O_EXCL) == linux.O_CREAT|linux.O_EXCL {
		return nil, linux.EEXIST
	}
	switch n.mode & linux.S_IFMT {
	case linux.S_IFDIR:
		if flags&linux.O_ACCMODE != linux.O_RDONLY || flags&linux.O_CREAT != 0 {
			return nil, linux.EISDIR
		}
		return &virtualDir{fileBase: b, node: n}, 0
	case linux.S_IFLNK:
		if n.open != nil && flags&linux.O_NOFOLLOW == 0 {
			return n.open(t, flags)
		}
		if flags&linux.O_PATH == 0 {
			return nil, linux.ELOOP
		}
		return &virtualFile{fileBase: b, node: n}, 0
	}
	if flags&linux.O_DIRECTORY != 0 {
		return nil, linux.ENOTDIR
	}
	if n.open != nil {
		return n.open(t, flags)
	}
	if flags&linux.O_ACCMODE != linux.O_RDONLY && n.mode&0o222 == 0 {
		return nil, linux.EACCES
	}
	return &virtualFile{fileBase: b, node: n}, 0
}

// A virtualFile is an open file of ours. Its content is that of the time when its beginning was last read.
type virtualFile struct {
	fileBase
	node *vnode
	data []byte
	pos  int64
}

func (*virtualFile) traits() traits { return unpollable }

// rest is what is to be read at off, or where f stands if off is negative.
func (f *virtualFile) rest(t *Thread, off int64) []byte {
	if off < 0 {
		off = f.pos
	}
	if off == 0 || f.data == nil {
		f.data = f.node.content(t)
	}
	return f.data[min(off, int64(len(f.data))):]
}

func (f *virtualFile) readRaw(t *Thread, b []byte, off int64) (int, linux.Errno) {
	n := copy(b, f.rest(t, off))
	if off < 0 {
		f.pos += int64(n)
	}
	return n, 0
}

func (f *virtualFile) read(t *Thread, v []iovec, off int64) (uint64, linux.Errno) {
	n, e := t.scatter(v, f.rest(t, off))
	if e == 0 && off < 0 {
		f.pos += int64(n)
	}
	return uint64(n), e
}

func (f *virtualFile) write(t *Thread, v []iovec, _ int64) (uint64, linux.Errno) {
	if f.node.write == nil {
		return 0, linux.EINVAL
	}
	b, e := t.gather(v, emu.PageSize)
	if e == 0 {
		e = f.node.write(t, b)
	}
	if e != 0 {
		return 0, e
	}
	f.pos += int64(total(v))
	return total(v), 0
}

// seek knows no end of most files of /proc (fs/seq_file.c).
func (f *virtualFile) seek(t *Thread, off int64, whence int) (int64, linux.Errno) {
	switch whence {
	case linux.SEEK_SET:
	case linux.SEEK_CUR:
		off += f.pos
	case linux.SEEK_END:
		if strings.HasPrefix(f.path, "/proc/") && !strings.HasPrefix(f.path, "/proc/sys/") {
			return 0, linux.EINVAL
		}
		s := f.node.stat(t, f.path)
		off += s.size
	default:
		return 0, linux.EINVAL
	}
	if off < 0 {
		return 0, linux.EINVAL
	}
	f.pos = off
	return off, 0
}

func (f *virtualFile) stat(t *Thread) (stat, linux.Errno) { return f.node.stat(t, f.path), 0 }

// A virtualDir is an open directory of ours.
type virtualDir struct {
	fileBase
	node    *vnode
	entries []dirEntry
	pos     int64
}

func (*virtualDir) traits() traits { return unpollable }

func (d *virtualDir) read(*Thread, []iovec, int64) (uint64, linux.Errno) { return 0, linux.EISDIR }

func (d *virtualDir) seek(_ *Thread, off int64, whence int) (int64, linux.Errno) {
	if whence == linux.SEEK_CUR {
		off += d.pos
	}
	if whence > linux.SEEK_END || off < 0 { // its size is 0
		return 0, linux.EINVAL
	}
	if off == 0 {
		d.entries = nil
	}
	d.pos = off
	return off, 0
}

func (d *virtualDir) stat(t *Thread) (stat, linux.Errno) { return d.node.stat(t, d.path), 0 }
func (d *virtualDir) position() *int64                   { return &d.pos }

func (d *virtualDir) list(t *Thread) ([]dirEntry, linux.Errno) {
	if d.entries != nil {
		return d.entries, 0
	}
	ino := fsOf(t.k).inodes.virtual
	d.entries = []dirEntry{
		{".", ino(d.path), dirType(linux.S_IFDIR)},
		{"..", ino(path.Dir(d.path)), dirType(linux.S_IFDIR)},
	}
	names := d.node.names(t)
	sort.Strings(names)
	for _, name := range names {
		if n := d.node.child(t, name); n != nil {
			d.entries = append(d.entries, dirEntry{name, ino(path.Join(d.path, name)), dirType(n.mode)})
		}
	}
	return d.entries, 0
}

// Constructors of nodes.

func fileNode(content func(t *Thread) []byte) *vnode {
	return &vnode{mode: linux.S_IFREG | 0o444, content: content}
}

func textNode(text string) *vnode {
	return fileNode(func(*Thread) []byte { return []byte(text) })
}

func writableNode(text func() string, write func(t *Thread, b []byte) linux.Errno) *vnode {
	n := fileNode(func(*Thread) []byte { return []byte(text()) })
	n.mode, n.write = linux.S_IFREG|0o644, write
	return n
}

func linkNode(link func(t *Thread) string) *vnode {
	return &vnode{mode: linux.S_IFLNK | 0o777, link: link}
}

// magicNode is a link to a file, whatever its name.
func magicNode(link func(t *Thread) string) *vnode {
	n := linkNode(link)
	n.magic = true
	return n
}

// dirNode is a directory with fixed names.
func dirNode(nodes map[string]*vnode) *vnode {
	return &vnode{
		mode: linux.S_IFDIR | 0o555,
		names: func(*Thread) []string {
			var out []string
			for name := range nodes {
				out = append(out, name)
			}
			return out
		},
		child: func(_ *Thread, name string) *vnode { return nodes[name] },
	}
}

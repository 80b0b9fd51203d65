package files

import (
	"path"
	"sort"
	"strings"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// A VNode is a file of our own: in /proc, /sys, /dev or /etc.
type VNode struct {
	Mode uint32
	Rdev uint64
	// magic says that a link leads to a file itself, not to its name.
	magic bool
	Own   bool // it belongs to the guest's user
	disk  bool // it is as if on a disk, and has a size
	// standIn says that it is the host's file if the guest is to see the host's /etc.
	standIn bool
	// One of these, by the type in mode: a directory's names and what they mean, a
	// file's content, a link's target, or what opening gives.
	Names   func(t *task.Thread) []string
	Child   func(t *task.Thread, name string) *VNode
	content func(t *task.Thread) []byte
	Link    func(t *task.Thread) string
	Open    func(t *task.Thread, flags int) (File, linux.Errno)
	// write is what writing to the file does.
	write func(t *task.Thread, b []byte) linux.Errno
	// mount is the directory that the node is a name of.
	mount func(k *task.Kernel) (DirRef, linux.Errno)
	// File is the open file that a link in /proc/PID/fd stands for.
	File func() File
	// Process is whose directory in /proc it is, if it is one's.
	Process *task.Process
}

// ProcRoot and SysRoot are /proc and /sys: package procfs says what is in them.
var ProcRoot, SysRoot = &VNode{Mode: linux.S_IFDIR | 0o555}, &VNode{Mode: linux.S_IFDIR | 0o555}

// isVirtual reports whether a clean absolute path may be one of ours.
func isVirtual(k *task.Kernel, p string) bool {
	for _, dir := range [...]string{"/proc", "/sys"} {
		if strings.HasPrefix(p, dir) && (len(p) == len(dir) || p[len(dir)] == '/') {
			return true
		}
	}
	return strings.HasPrefix(p, "/dev/") && DevNodes[firstName(p[5:])] != nil ||
		strings.HasPrefix(p, "/etc/") && etcNode(k, firstName(p[5:])) != nil
}

func firstName(p string) string {
	if i := strings.IndexByte(p, '/'); i >= 0 {
		return p[:i]
	}
	return p
}

// ours takes a path apart where it comes to a name of ours: it goes on there with names in our directory dir.
func ours(k *task.Kernel, p string) (dir string, names []string, ok bool) {
	if !mayBeOurs(k, p) {
		return "", nil, false
	}
	at := "/"
	for names = strings.Split(p, "/"); len(names) > 0; names = names[1:] {
		next := path.Join(at, names[0])
		switch {
		case isVirtual(k, next) && at == "/":
			return next, names[1:], true
		case isVirtual(k, next):
			return at, names, true
		}
		at = next
	}
	return "", nil, false
}

// mayBeOurs reports whether a path may come to a name of ours. Most paths are clean, and do not.
func mayBeOurs(k *task.Kernel, p string) bool {
	return !path.IsAbs(p) || path.Clean(p) != p || isVirtual(k, p)
}

// slashes reports whether names, the rest of a path, are slashes alone.
func slashes(names []string) bool { return len(names) > 0 && strings.Join(names, "") == "" }

// behind is the path that goes up to dir and on with rest. It does not end in dir's name, of which a slash would ask
// something.
func behind(dir string, rest []string) []string {
	if strings.Join(rest, "") == "" {
		rest = []string{"."}
	}
	return append([]string{dir}, rest...)
}

// absent is what a name of a directory of ours leads to which is not there, if a LookupParent asks.
var absent = &VNode{}

// walkOurs goes through names in our directory dir. It returns the node and its path, or the path on which a
// link or ".." leaves; for a node that a directory is mounted on, what is left of the path.
func walkOurs(t *task.Thread, dir string, names []string, how Lookup) (n *VNode, at, leave string, e linux.Errno) {
	follow := how&LookupFollow != 0
	if how&LookupCreate != 0 && slashes(names) {
		return nil, "", "", linux.EISDIR
	}
	for how&LookupParent != 0 && len(names) > 0 && names[len(names)-1] == "" {
		names = names[:len(names)-1]
	}
	n, at = roots(dir[1:]), dir
	for i, name := range names {
		rest := names[i+1:]
		switch {
		case n.Mode&linux.S_IFMT != linux.S_IFDIR:
			return nil, "", "", linux.ENOTDIR
		case name == "" || name == ".":
			continue
		case name == "..":
			return nil, "", strings.Join(behind(path.Dir(at), rest), "/"), 0
		case how&LookupCreate != 0 && slashes(rest):
			return nil, "", "", linux.EISDIR
		}
		if n = n.Child(t, name); n == nil {
			if how&LookupParent != 0 && len(rest) == 0 {
				return absent, at + "/" + name, "", 0
			}
			return nil, "", "", linux.ENOENT
		}
		if n.magic && how&LookupNoMagic != 0 && (follow || len(rest) > 0) {
			return nil, "", "", linux.ELOOP
		}
		if n.Mode&linux.S_IFMT == linux.S_IFLNK && (follow && n.Open == nil || len(rest) > 0) {
			target := n.Link(t)
			if target == "" {
				return nil, "", "", linux.ENOENT
			}
			if n.File != nil {
				if st, e := n.File().Stat(t); e != 0 || st.Mode&linux.S_IFMT != linux.S_IFDIR {
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

func roots(name string) *VNode {
	switch name {
	case "proc":
		return ProcRoot
	case "sys":
		return SysRoot
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
	return VirtualDev
}

// Stat describes n, found at path.
func (n *VNode) Stat(t *task.Thread, path string) Stat {
	s := Stat{Dev: deviceOf(path), Ino: SystemOf(t.Kernel).Inodes.Virtual(path), Mode: n.Mode, Nlink: 1, rdev: n.Rdev}
	if n.Mode&linux.S_IFMT == linux.S_IFDIR {
		s.Nlink = 2 + n.directories(t)
	}
	if pid, ok := strings.CutPrefix(path, "/proc/"); n.Own || ok && Atoi(firstName(pid)) > 0 {
		s.UID, s.GID = t.Kernel.UID, t.Kernel.GID
	}
	switch {
	case n.disk:
		s.Size = int64(len(n.content(t)))
	case s.Dev == sysDev && n.Mode&linux.S_IFMT == linux.S_IFREG:
		s.Size = emu.PageSize // as every attribute of sysfs has
	}
	at := TimeAt(t.Kernel.Clock.Epoch)
	s.Times = host.Times{Atime: at, Mtime: at, Ctime: at}
	return s
}

// directories counts the directories in n, each of which has a link to it ("..").
func (n *VNode) directories(t *task.Thread) (dirs uint64) {
	for _, name := range n.Names(t) {
		if c := n.Child(t, name); c != nil && c.Mode&linux.S_IFMT == linux.S_IFDIR {
			dirs++
		}
	}
	return dirs
}

// OpenedBase is the FileBase of what is opened at path. Its flags are those that F_GETFL shows.
func OpenedBase(path string, flags int) FileBase {
	return FileBase{Flags: flags &^ (linux.O_CREAT | linux.O_EXCL | linux.O_NOCTTY | linux.O_TRUNC | linux.O_CLOEXEC), Path: path}
}

// OpenAt opens n, found at path.
func (n *VNode) OpenAt(t *task.Thread, path string, flags int) (File, linux.Errno) {
	b := OpenedBase(path, flags)
	if flags&(linux.O_CREAT|linux.O_EXCL) == linux.O_CREAT|linux.O_EXCL {
		return nil, linux.EEXIST
	}
	switch n.Mode & linux.S_IFMT {
	case linux.S_IFDIR:
		if flags&linux.O_ACCMODE != linux.O_RDONLY || flags&linux.O_CREAT != 0 {
			return nil, linux.EISDIR
		}
		return &VirtualDir{FileBase: b, Node: n}, 0
	case linux.S_IFLNK:
		if n.Open != nil && flags&linux.O_NOFOLLOW == 0 {
			return n.Open(t, flags)
		}
		if flags&linux.O_PATH == 0 {
			return nil, linux.ELOOP
		}
		return &VirtualFile{FileBase: b, Node: n}, 0
	}
	if flags&linux.O_DIRECTORY != 0 {
		return nil, linux.ENOTDIR
	}
	if mode := flags & linux.O_ACCMODE; flags&linux.O_PATH == 0 && (mode != linux.O_RDONLY && n.Mode&0o222 == 0 || mode != linux.O_WRONLY && n.Mode&0o444 == 0) {
		return nil, linux.EACCES
	}
	if n.Open != nil {
		return n.Open(t, flags)
	}
	return &VirtualFile{FileBase: b, Node: n}, 0
}

// A VirtualFile is an open file of ours. Its content is that of the time when its beginning was last read.
type VirtualFile struct {
	FileBase
	Node *VNode
	data []byte
	pos  int64
}

func (*VirtualFile) Traits() Traits { return Unpollable }

// OnDisk reports whether it is as if on a disk.
func (f *VirtualFile) OnDisk() bool { return f.Node.disk }

// Content is all that is in it.
func (f *VirtualFile) Content(t *task.Thread) []byte { return f.Node.content(t) }

func (f *VirtualFile) Reopen(t *task.Thread, flags int) (File, linux.Errno) {
	return f.Node.OpenAt(t, f.Path, flags)
}

// rest is what is to be read at off, or where f stands if off is negative.
func (f *VirtualFile) rest(t *task.Thread, off int64) []byte {
	if off < 0 {
		off = f.pos
	}
	if off == 0 || f.data == nil {
		f.data = f.Node.content(t)
	}
	return f.data[min(off, int64(len(f.data))):]
}

func (f *VirtualFile) ReadRaw(t *task.Thread, b []byte, off int64) (int, linux.Errno) {
	n := copy(b, f.rest(t, off))
	if off < 0 {
		f.pos += int64(n)
	}
	return n, 0
}

func (f *VirtualFile) Read(t *task.Thread, v []uio.Iovec, off int64) (uint64, linux.Errno) {
	n, e := t.Scatter(v, f.rest(t, off))
	if e == 0 && off < 0 {
		f.pos += int64(n)
	}
	return uint64(n), e
}

func (f *VirtualFile) Write(t *task.Thread, v []uio.Iovec, _ int64) (uint64, linux.Errno) {
	if f.Node.write == nil {
		return 0, linux.EINVAL
	}
	b, e := t.Gather(v, emu.PageSize)
	if e == 0 {
		e = f.Node.write(t, b)
	}
	if e != 0 {
		return 0, e
	}
	f.pos += int64(uio.Total(v))
	return uio.Total(v), 0
}

// Seek knows no end of most files of /proc (fs/seq_file.c).
func (f *VirtualFile) Seek(t *task.Thread, off int64, whence int) (int64, linux.Errno) {
	switch whence {
	case linux.SEEK_SET:
	case linux.SEEK_CUR:
		off += f.pos
	case linux.SEEK_END:
		if strings.HasPrefix(f.Path, "/proc/") && !strings.HasPrefix(f.Path, "/proc/sys/") {
			return 0, linux.EINVAL
		}
		s := f.Node.Stat(t, f.Path)
		off += s.Size
	default:
		return 0, linux.EINVAL
	}
	if off < 0 {
		return 0, linux.EINVAL
	}
	f.pos = off
	return off, 0
}

func (f *VirtualFile) Stat(t *task.Thread) (Stat, linux.Errno) { return f.Node.Stat(t, f.Path), 0 }

// A VirtualDir is an open directory of ours.
type VirtualDir struct {
	FileBase
	Node    *VNode
	entries []DirEntry
	pos     int64
}

func (*VirtualDir) Traits() Traits { return Unpollable }

func (d *VirtualDir) Reopen(t *task.Thread, flags int) (File, linux.Errno) {
	return d.Node.OpenAt(t, d.Path, flags)
}

func (d *VirtualDir) Read(*task.Thread, []uio.Iovec, int64) (uint64, linux.Errno) {
	return 0, linux.EISDIR
}

func (d *VirtualDir) Seek(_ *task.Thread, off int64, whence int) (int64, linux.Errno) {
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

func (d *VirtualDir) Stat(t *task.Thread) (Stat, linux.Errno) { return d.Node.Stat(t, d.Path), 0 }

// Position is where getdents64(2) goes on in the list.
func (d *VirtualDir) Position() *int64 { return &d.pos }

// List returns the entries as they were when the directory was read from its beginning.
func (d *VirtualDir) List(t *task.Thread) ([]DirEntry, linux.Errno) {
	if d.entries != nil {
		return d.entries, 0
	}
	ino := SystemOf(t.Kernel).Inodes.Virtual
	d.entries = []DirEntry{
		{".", ino(d.Path), linux.DirType(linux.S_IFDIR)},
		{"..", ino(path.Dir(d.Path)), linux.DirType(linux.S_IFDIR)},
	}
	names := d.Node.Names(t)
	sort.Strings(names)
	for _, name := range names {
		if n := d.Node.Child(t, name); n != nil {
			d.entries = append(d.entries, DirEntry{name, ino(path.Join(d.Path, name)), linux.DirType(n.Mode)})
		}
	}
	return d.entries, 0
}

// Constructors of nodes.

// FileNode returns a file that has what content returns when it is opened.
func FileNode(content func(t *task.Thread) []byte) *VNode {
	return &VNode{Mode: linux.S_IFREG | 0o444, content: content}
}

// TextNode returns a file with a text that never changes.
func TextNode(text string) *VNode {
	return FileNode(func(*task.Thread) []byte { return []byte(text) })
}

// WritableNode returns a file that shows text, and hands what is written to write.
func WritableNode(text func() string, write func(t *task.Thread, b []byte) linux.Errno) *VNode {
	n := FileNode(func(*task.Thread) []byte { return []byte(text()) })
	n.Mode, n.write = linux.S_IFREG|0o644, write
	return n
}

// LinkNode returns a symbolic link to where link says.
func LinkNode(link func(t *task.Thread) string) *VNode {
	return &VNode{Mode: linux.S_IFLNK | 0o777, Link: link}
}

// MagicNode is a link to a file, whatever its name.
func MagicNode(link func(t *task.Thread) string) *VNode {
	n := LinkNode(link)
	n.magic = true
	return n
}

// DirNode is a directory with fixed names.
func DirNode(nodes map[string]*VNode) *VNode {
	return &VNode{
		Mode: linux.S_IFDIR | 0o555,
		Names: func(*task.Thread) []string {
			var out []string
			for name := range nodes {
				out = append(out, name)
			}
			return out
		},
		Child: func(_ *task.Thread, name string) *VNode { return nodes[name] },
	}
}

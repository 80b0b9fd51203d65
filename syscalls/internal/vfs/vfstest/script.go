// Package vfstest checks file systems of package vfs. What they are asked is written as text, one operation a line, and
// so is what they answer: Scripts are operations with the answers that Linux gives, Random makes operations whose
// answers can be compared between file systems.
package vfstest

import (
	"fmt"
	"path"
	"sort"
	"strconv"
	"strings"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/vfs"
)

// A Runner does operations on a file system.
type Runner struct {
	FS   vfs.FS
	open map[string]vfs.Handle
}

// Run does operations, a line each, and returns them with their answers. What a line has behind "=>" is not looked at.
func Run(fs vfs.FS, text string) string {
	r := &Runner{fs, map[string]vfs.Handle{}}
	defer r.Close()
	var out strings.Builder
	for line := range strings.Lines(text) {
		op, _, _ := strings.Cut(line, "=>")
		op = strings.TrimSpace(op)
		fmt.Fprintf(&out, "%s => %s\n", op, r.do(strings.Fields(op)))
	}
	return out.String()
}

// Close closes the files that are open.
func (r *Runner) Close() {
	for _, h := range r.open {
		h.Close()
	}
}

// operations are what can be done, by name, with the number of arguments that each needs.
var operations = map[string]struct {
	args int
	do   func(r *Runner, a []string) (string, linux.Errno)
}{
	"file":  {2, func(r *Runner, a []string) (string, linux.Errno) { return r.create(a, linux.S_IFREG) }},
	"dir":   {2, func(r *Runner, a []string) (string, linux.Errno) { return r.create(a, linux.S_IFDIR) }},
	"fifo":  {2, func(r *Runner, a []string) (string, linux.Errno) { return r.create(a, linux.S_IFIFO) }},
	"sock":  {2, func(r *Runner, a []string) (string, linux.Errno) { return r.create(a, linux.S_IFSOCK) }},
	"sym":   {2, (*Runner).symlink},
	"link":  {2, (*Runner).link},
	"rm":    {1, func(r *Runner, a []string) (string, linux.Errno) { return r.unlink(a, false) }},
	"rmdir": {1, func(r *Runner, a []string) (string, linux.Errno) { return r.unlink(a, true) }},
	"mv":    {2, func(r *Runner, a []string) (string, linux.Errno) { return r.rename(a, 0) }},
	"mvnew": {2, func(r *Runner, a []string) (string, linux.Errno) { return r.rename(a, vfs.RenameNoReplace) }},
	"swap":  {2, func(r *Runner, a []string) (string, linux.Errno) { return r.rename(a, vfs.RenameExchange) }},

	"stat":     {1, (*Runner).stat},
	"times":    {1, (*Runner).times},
	"same":     {2, (*Runner).same},
	"ls":       {1, (*Runner).list},
	"readlink": {1, (*Runner).readlink},
	"access":   {2, (*Runner).access},
	"where":    {1, (*Runner).where},
	"above":    {1, (*Runner).above},
	"chmod":    {2, (*Runner).chmod},
	"truncate": {2, (*Runner).truncate},
	"utimes":   {3, (*Runner).utimes},
	"setx":     {4, (*Runner).setxattr},
	"getx":     {2, (*Runner).getxattr},
	"lsx":      {1, (*Runner).listxattr},
	"rmx":      {2, (*Runner).removexattr},

	"open":  {3, (*Runner).openFile},
	"new":   {4, (*Runner).createOpen},
	"temp":  {3, (*Runner).openTemp},
	"close": {1, (*Runner).closeFile},
	"read":  {3, (*Runner).read},
	"write": {3, (*Runner).write},
	"cut":   {2, (*Runner).cut},
	"alloc": {4, (*Runner).allocate},
}

// do does one operation and returns its answer: "ok" if there is nothing to tell.
func (r *Runner) do(a []string) string {
	op, ok := operations[a[0]]
	if !ok || len(a)-1 != op.args {
		panic("no such operation: " + strings.Join(a, " "))
	}
	text, e := op.do(r, a[1:])
	switch {
	case e != 0:
		return e.String()
	case text == "":
		return "ok"
	}
	return text
}

func number(s string, base int) int64 {
	n, err := strconv.ParseInt(s, base, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// walk returns the node at a path. One that begins with "@" is that of an open file.
func (r *Runner) walk(p string) (vfs.Node, linux.Errno) {
	if name, open := strings.CutPrefix(p, "@"); open {
		if r.open[name] == nil {
			return nil, linux.EBADF
		}
		return r.open[name].Node(), 0
	}
	n := r.FS.Root()
	for _, name := range strings.Split(p, "/") {
		if name == "" || name == "." {
			continue
		}
		var e linux.Errno
		if n, e = n.Lookup(name); e != 0 {
			return nil, e
		}
	}
	return n, 0
}

// parent returns the directory that a path's last name is in, and that name.
func (r *Runner) parent(p string) (vfs.Node, string, linux.Errno) {
	n, e := r.walk(path.Dir(p))
	return n, path.Base(p), e
}

func (r *Runner) create(a []string, kind uint32) (string, linux.Errno) {
	dir, name, e := r.parent(a[0])
	if e == 0 {
		_, e = dir.Create(name, kind|uint32(number(a[1], 8)), 0)
	}
	return "", e
}

func (r *Runner) symlink(a []string) (string, linux.Errno) {
	dir, name, e := r.parent(a[1])
	if e == 0 {
		_, e = dir.Symlink(name, a[0])
	}
	return "", e
}

func (r *Runner) link(a []string) (string, linux.Errno) {
	n, e := r.walk(a[0])
	if e != 0 {
		return "", e
	}
	dir, name, e := r.parent(a[1])
	if e == 0 {
		e = dir.Link(name, n)
	}
	return "", e
}

func (r *Runner) unlink(a []string, isDir bool) (string, linux.Errno) {
	dir, name, e := r.parent(a[0])
	if e == 0 {
		e = dir.Unlink(name, isDir)
	}
	return "", e
}

func (r *Runner) rename(a []string, flags uint32) (string, linux.Errno) {
	from, name, e := r.parent(a[0])
	if e != 0 {
		return "", e
	}
	to, newName, e := r.parent(a[1])
	if e == 0 {
		e = from.Rename(name, to, newName, flags)
	}
	return "", e
}

var kinds = map[uint32]string{
	linux.S_IFREG: "file", linux.S_IFDIR: "dir", linux.S_IFLNK: "sym", linux.S_IFIFO: "fifo", linux.S_IFSOCK: "sock", linux.S_IFCHR: "char", linux.S_IFBLK: "block",
}

// describe leaves out what differs between file systems: how large a directory is, and how many links it has.
func describe(n vfs.Node) (string, linux.Errno) {
	s, e := n.Stat()
	if e != 0 {
		return "", e
	}
	text := fmt.Sprintf("%s %o", kinds[s.Kind()], s.Mode&0o7777)
	if s.Kind() != linux.S_IFDIR {
		text += fmt.Sprintf(" %d links, %d bytes", s.Nlink, s.Size)
	}
	return text, 0
}

func (r *Runner) stat(a []string) (string, linux.Errno) {
	n, e := r.walk(a[0])
	if e != 0 {
		return "", e
	}
	return describe(n)
}

func (r *Runner) times(a []string) (string, linux.Errno) {
	n, e := r.walk(a[0])
	if e != 0 {
		return "", e
	}
	s, e := n.Stat()
	return fmt.Sprintf("%d.%d %d.%d", s.Atime.Sec, s.Atime.Nsec, s.Mtime.Sec, s.Mtime.Nsec), e
}

// same reports whether two paths lead to one file, for which nodes and numbers have to say the same.
func (r *Runner) same(a []string) (string, linux.Errno) {
	n, e := r.walk(a[0])
	if e != 0 {
		return "", e
	}
	m, e := r.walk(a[1])
	if e != 0 {
		return "", e
	}
	s, e1 := n.Stat()
	t, e2 := m.Stat()
	if e1 != 0 || e2 != 0 {
		return "", max(e1, e2)
	}
	if (n == m) != (s.Dev == t.Dev && s.Ino == t.Ino) {
		return "nodes and numbers differ", 0
	}
	return strconv.FormatBool(n == m), 0
}

func (r *Runner) list(a []string) (string, linux.Errno) {
	n, e := r.walk(a[0])
	if e != 0 {
		return "", e
	}
	list, e := n.ReadDir()
	if !sort.SliceIsSorted(list, func(i, j int) bool { return list[i].Name < list[j].Name }) {
		return "not sorted", 0
	}
	var names []string
	for _, d := range list {
		names = append(names, d.Name+":"+kinds[d.Mode])
	}
	return "[" + strings.Join(names, " ") + "]", e
}

func (r *Runner) readlink(a []string) (string, linux.Errno) {
	n, e := r.walk(a[0])
	if e != 0 {
		return "", e
	}
	return n.Readlink()
}

func (r *Runner) access(a []string) (string, linux.Errno) {
	n, e := r.walk(a[0])
	if e == 0 {
		e = n.Access(uint32(number(a[1], 8)))
	}
	return "", e
}

func (r *Runner) where(a []string) (string, linux.Errno) {
	n, e := r.walk(a[0])
	if e != 0 {
		return "", e
	}
	p, ok := n.Path()
	if !ok {
		return "gone", 0
	}
	return p, 0
}

// above tells which directory a directory is in.
func (r *Runner) above(a []string) (string, linux.Errno) {
	n, e := r.walk(a[0])
	if e != 0 {
		return "", e
	}
	p, _ := n.Parent().Path()
	return p, 0
}

func (r *Runner) setAttr(p string, a vfs.Attr) (string, linux.Errno) {
	n, e := r.walk(p)
	if e == 0 {
		e = n.SetAttr(a)
	}
	return "", e
}

func (r *Runner) chmod(a []string) (string, linux.Errno) {
	mode := uint32(number(a[1], 8))
	return r.setAttr(a[0], vfs.Attr{Mode: &mode})
}

func (r *Runner) truncate(a []string) (string, linux.Errno) {
	size := number(a[1], 10)
	return r.setAttr(a[0], vfs.Attr{Size: &size})
}

func (r *Runner) utimes(a []string) (string, linux.Errno) {
	times := [2]*vfs.Time{}
	for i, s := range a[1:] {
		if s != "-" {
			times[i] = &vfs.Time{Sec: number(s, 10), Nsec: 5000}
		}
	}
	return r.setAttr(a[0], vfs.Attr{Atime: times[0], Mtime: times[1]})
}

func (r *Runner) setxattr(a []string) (string, linux.Errno) {
	n, e := r.walk(a[0])
	if e == 0 {
		e = n.Setxattr(a[1], []byte(a[2]), int(number(a[3], 10)))
	}
	return "", e
}

func (r *Runner) getxattr(a []string) (string, linux.Errno) {
	n, e := r.walk(a[0])
	if e != 0 {
		return "", e
	}
	b, e := n.Getxattr(a[1])
	return string(b), e
}

func (r *Runner) listxattr(a []string) (string, linux.Errno) {
	n, e := r.walk(a[0])
	if e != 0 {
		return "", e
	}
	names, e := n.Listxattr()
	return "[" + strings.Join(names, " ") + "]", e
}

func (r *Runner) removexattr(a []string) (string, linux.Errno) {
	n, e := r.walk(a[0])
	if e == 0 {
		e = n.Removexattr(a[1])
	}
	return "", e
}

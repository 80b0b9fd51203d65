package files

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/vfs"
)

// A rootDir is a directory of the host that is the guest's "/".
type rootDir struct {
	fd host.FD
	// fs is the file system that begins with the directory, or that there is in place of one (nodeRoot); nil for the
	// directory itself.
	fs vfs.FS
	// binds are the directories that are mounted in fs, by the host's canonical names.
	binds []Bind
	// only says that the guest sees nothing else (--root). Otherwise what is not there is looked
	// for on the host (--sysroot).
	only bool
}

// Ref is the root directory.
func (r *rootDir) Ref() FileRef {
	if r.fs != nil {
		return refOf(r.fs.Root())
	}
	return FileRef{FD: r.fd}
}

// walks reports whether paths are resolved here, name by name, rather than by the host: in a root, and where what may
// be changed depends on where they lead.
func walks(k *task.Kernel, how Lookup) bool {
	return SystemOf(k).Root.only || SystemOf(k).Config.ReadOnly && how&LookupChange != 0
}

// openRoot opens the directory that the configuration asks for, if any.
func (fs *System) openRoot(now func() host.Time) error {
	fs.Root = rootDir{fd: host.NoFD}
	if err := fs.Config.checkHost(); err != nil {
		return err
	}
	for _, r := range []struct {
		name, dir string
		only      bool
	}{{"root", fs.Config.rootDir(), true}, {"sysroot", fs.Config.Sysroot, false}} {
		if r.dir == "" {
			continue
		}
		if fs.Root.fd != host.NoFD {
			return fmt.Errorf("syscalls: both a root, %s, and a sysroot, %s", fs.Config.Root, fs.Config.Sysroot)
		}
		dir, err := filepath.Abs(r.dir)
		if err != nil {
			return fmt.Errorf("syscalls: %s %s: %w", r.name, r.dir, err)
		}
		fd, e := host.Open(host.Place{Dir: host.NoFD, Path: dir}, linux.O_PATH|linux.O_DIRECTORY, 0, 0)
		if e != 0 {
			return fmt.Errorf("syscalls: %s %s: %v", r.name, r.dir, e.Error())
		}
		fs.Root = rootDir{fd: fd, only: r.only}
	}
	if fs.Config.rootMade() && fs.Root.fd != host.NoFD {
		return errors.New("syscalls: a root both of the host's and not")
	}
	if fs.Config.ofNodes() {
		return fs.nodeRoot(now)
	}
	return nil
}

// below returns the guest's name of a host path in the root.
func below(k *task.Kernel, name string) (string, bool) {
	if guest, ok := SystemOf(k).Root.bound(name); ok {
		return guest, true
	}
	if rest, ok := strings.CutPrefix(name, SystemOf(k).Private.Path); ok && SystemOf(k).Private.opened && (rest == "" || rest[0] == '/') {
		return ShmPath + rest, true
	}
	root := "/"
	switch r := &SystemOf(k).Root; {
	case r.fd != host.NoFD:
		root = r.fd.Path()
	case r.fs != nil:
		return "", false
	}
	if name == root {
		return "/", true
	}
	rest, ok := strings.CutPrefix(name, strings.TrimSuffix(root, "/")+"/")
	return "/" + rest, ok
}

// besideRoot reports whether d is outside the sysroot, if there is one: paths from there on are the host's.
func besideRoot(k *task.Kernel, d DirRef) bool {
	if SystemOf(k).Root.fd == host.NoFD || SystemOf(k).Root.only || d.FileRef == SystemOf(k).Root.Ref() || d.Private {
		return false
	}
	if d.None() {
		return true
	}
	_, ok := below(k, d.FD.Path())
	return !ok
}

// A walk goes through a path with the root as "/", from directory to directory by descriptors that no
// renaming changes. It follows links itself, since a host's would lead out of the root, and goes back
// over the directories that it came through, never by the host's "..".
type walk struct {
	t   *task.Thread
	how Lookup
	// dirs lead from the root to where the walk is: NoFile where it has not been. names are what all
	// but the first are called.
	dirs  []FileRef
	names []string
	links int
	// rules are openat2's. By some of them the walk's own root is floor names below the root.
	rules uint64
	floor int
	// subtree is the first of dirs, if not 0, whose names look as if they were in a directory of ours but are not:
	// those of the directory mounted on /dev/shm, if private is set, or those of a directory of the host that the walk
	// began in.
	subtree int
	private bool
	// host says that "/" is the host's, beside a sysroot.
	host bool
}

// inSubtree reports whether names below where the walk is are the host's, whatever they look like.
func (w *walk) inSubtree() bool { return w.subtree > 0 && len(w.dirs) > w.subtree }

// isPrivate reports whether the walk is in a directory that the run has for itself.
func (w *walk) isPrivate() bool { return w.private && w.inSubtree() }

// home goes to the root, or to that which the rules say.
func (w *walk) home() linux.Errno {
	if w.rules&linux.RESOLVE_BENEATH != 0 {
		return linux.EXDEV
	}
	w.cut(w.floor)
	return 0
}

// cut leaves the root and n directories below it.
func (w *walk) cut(n int) {
	w.dirs, w.names = w.dirs[:n+1], w.names[:n]
	if !w.inSubtree() {
		w.subtree, w.private = 0, false
	}
}

func (w *walk) here() FileRef { return w.dirs[len(w.dirs)-1] }

// guest is the guest's name of c where the walk is.
func (w *walk) guest(c string) string { return "/" + path.Join(append(w.names, c)...) }

// from goes to d without walking there.
func (w *walk) from(d DirRef) linux.Errno {
	root := SystemOf(w.t.Kernel).Root.Ref()
	if w.host = besideRoot(w.t.Kernel, d); w.host && !d.None() {
		d.path = d.FD.Path()
	}
	if d.Node != nil {
		d.path, _ = d.Node.Path() // it may have been moved
	}
	if root.None() || w.host {
		fd, e := host.Open(host.Place{Dir: host.NoFD, Path: "/"}, linux.O_PATH|linux.O_DIRECTORY, 0, 0)
		if e != 0 {
			return e
		}
		root = FileRef{FD: fd}
		Of(w.t).keep(root)
	}
	w.dirs = append(w.dirs, root)
	for _, name := range split(d.path) {
		w.dirs, w.names = append(w.dirs, NoFile), append(w.names, name)
	}
	switch n := len(w.dirs) - 1; {
	case d.None() || d.FileRef == root:
	case d.path == "": // too long a name to be known
		w.dirs, w.names = append(w.dirs, d.FileRef), append(w.names, "?")
	default:
		w.dirs[n] = d.FileRef
		switch {
		case d.Private:
			w.subtree, w.private = len(split(ShmPath)), true
		case isVirtual(w.t.Kernel, d.path):
			w.subtree = n
		}
	}
	if w.rules&(linux.RESOLVE_BENEATH|linux.RESOLVE_IN_ROOT) != 0 {
		w.floor = len(w.names)
	}
	return 0
}

// enter goes to directory c, or returns where c leads to if it is a link.
func (w *walk) enter(c string) (target string, e linux.Errno) {
	r, e := w.here().look(c)
	if e != 0 {
		return "", e
	}
	Of(w.t).keep(r)
	st, e := r.Stat()
	switch {
	case e != 0:
		return "", e
	case st.Mode&linux.S_IFMT == linux.S_IFLNK:
		return r.Readlink()
	case st.Mode&linux.S_IFMT != linux.S_IFDIR:
		return "", linux.ENOTDIR
	}
	w.dirs, w.names = append(w.dirs, r), append(w.names, c)
	return "", 0
}

// up goes to the directory above, which is the root for the root; or it returns the path to go instead.
func (w *walk) up() (instead string, e linux.Errno) {
	n := len(w.dirs) - 1
	if n == w.floor {
		if w.rules&linux.RESOLVE_BENEATH != 0 {
			return "", linux.EXDEV
		}
		return "", 0
	}
	last := w.dirs[n]
	w.cut(n - 1)
	if !w.here().None() {
		return "", 0
	}
	if last.Node != nil {
		w.dirs[n-1] = refOf(last.Node.Parent())
		return "", 0
	}
	// The walk began in last. It may have been moved since: away from the root, even.
	now := last.FD.Path()
	if !w.host {
		var ok bool
		if now, ok = below(w.t.Kernel, now); !ok {
			return "", linux.ENOENT
		}
	}
	w.cut(0)
	return path.Dir(now), 0
}

// ResolveBy is Find with the root as "/", by the rules of openat2(2). What is found on the host is one name in a
// directory that is open until the call is over; a link at its end is not to be followed, as that has been done.
func ResolveBy(t *task.Thread, d DirRef, name string, how Lookup, rules uint64) (Location, linux.Errno) {
	w := &walk{t: t, how: how, rules: rules}
	end := ""
	if how&LookupParent != 0 {
		if end = noName(name); end != "" {
			w.how &^= LookupParent
		}
	}
	if e := w.from(d); e != 0 {
		return Location{}, e
	}
	if path.IsAbs(name) {
		if e := w.home(); e != 0 {
			return Location{}, e
		}
	}
	todo := strings.Split(name, "/")
	for len(todo) > 0 {
		c := todo[0]
		todo = todo[1:]
		switch c {
		case "", ".":
			continue
		case "..":
			instead, e := w.up()
			if e != 0 {
				return Location{}, e
			}
			if instead != "" {
				todo = strings.Split(strings.Join(behind(instead, todo), "/"), "/")
			}
			continue
		}
		last := !slices.ContainsFunc(todo, func(s string) bool { return s != "" })
		slash := last && len(todo) > 0 // which asks for a directory
		l, link, e := w.step(c, todo, last, slash)
		switch {
		case e != 0:
			return Location{}, e
		case l.Node != nil && l.Node.mount != nil:
			if e := w.cross(l.Node); e != 0 {
				return Location{}, e
			}
			todo = strings.Split(link, "/")
			continue
		case link == "" && last, l.Node != nil:
			l.NoName, l.Private = end, w.isPrivate()
			return l, 0
		case link == "":
			continue
		}
		if w.links++; w.links > maxLinks || rules&linux.RESOLVE_NO_SYMLINKS != 0 {
			return Location{}, linux.ELOOP
		}
		if path.IsAbs(link) {
			if e := w.home(); e != 0 {
				return Location{}, e
			}
		}
		if l.FileAt == nowhere {
			todo = nil // the link has it
		}
		todo = append(strings.Split(link, "/"), todo...)
	}
	return Location{FileAt: w.here().At("."), Guest: w.guest(""), NoName: end, Private: w.isPrivate()}, 0
}

// cross goes to the directory that is mounted on n.
func (w *walk) cross(n *VNode) linux.Errno {
	d, e := n.mount(w.t.Kernel)
	if e != 0 {
		return e
	}
	w.dirs, w.names = append(w.dirs[:1], NoFile, d.FileRef), split(d.path)
	w.subtree, w.private = len(w.names), true
	return 0
}

// step looks at c, in front of todo. It returns what it is, if it is the end of the path, or where it
// leads to; l is nowhere if that is behind todo.
func (w *walk) step(c string, todo []string, last, slash bool) (l Location, link string, e linux.Errno) {
	l = Location{FileAt: w.here().At(c), Guest: w.guest(c)}
	switch {
	case slash && w.how&LookupCreate != 0:
		return l, "", linux.EISDIR
	case !w.inSubtree() && (isVirtual(w.t.Kernel, l.Guest) || w.noDev(c)):
		dir, names, ok := ours(w.t.Kernel, strings.Join(append([]string{l.Guest}, todo...), "/"))
		if !ok {
			dir, names = l.Guest, todo
		}
		l.FileAt = nowhere
		l.Node, l.Guest, link, e = walkOurs(w.t, dir, names, w.how)
		if e == 0 && w.magic(l.Node) {
			e = linux.ELOOP
		}
		return l, link, e
	case !last:
		link, e = w.enter(c)
		return l, link, e
	case w.how&LookupParent != 0:
		if slash {
			l.Path += "/"
		}
		return l, "", 0
	case w.how&LookupFollow == 0 && !slash:
		return l, "", 0
	}
	switch st, e := l.Stat(false); {
	case e == 0 && st.Mode&linux.S_IFMT == linux.S_IFLNK:
		link, e = l.Readlink()
		return l, link, e
	case e == 0 && slash && st.Mode&linux.S_IFMT != linux.S_IFDIR:
		return l, "", linux.ENOTDIR
	}
	return l, "", 0
}

// magic reports whether n is a link of /proc/PID/fd that the rules forbid to follow.
func (w *walk) magic(n *VNode) bool {
	return n != nil && n.File != nil && w.how&LookupFollow != 0 && w.rules&(linux.RESOLVE_NO_MAGICLINKS|linux.RESOLVE_NO_SYMLINKS) != 0
}

// noDev reports whether c is a /dev that the root does not have: it has our devices, then.
func (w *walk) noDev(c string) bool {
	if c != "dev" || len(w.names) > 0 {
		return false
	}
	_, e := w.here().At(c).Stat(false)
	return e == linux.ENOENT
}

// inSysroot finds an absolute path in the sysroot: if it is there, or if it can be made there only.
func inSysroot(t *task.Thread, name string, how Lookup) (Location, bool) {
	l, e := ResolveBy(t, DirRef{FileRef: SystemOf(t.Kernel).Root.Ref()}, name, how, 0)
	if e != 0 || l.Node != nil {
		return l, e == 0
	}
	if _, e := l.Stat(false); e == 0 {
		return l, true
	}
	_, e = host.StatAt(host.Place{Dir: host.NoFD, Path: path.Dir(name)}, false)
	return l, e != 0
}

// guestPath is the guest's name of a host path.
func guestPath(k *task.Kernel, name string) string {
	if inside, ok := below(k, name); ok {
		return inside
	}
	return name
}

// Resolve returns where a path of the host that leads into the guest's root leads if the guest goes there, false if to
// nothing. Others stay what they are.
func Resolve(k *task.Kernel, host string) (string, bool) {
	if !SystemOf(k).Root.only {
		return host, true
	}
	guest, ok := below(k, host)
	if !ok {
		return host, true
	}
	return HostPath(k, guest)
}

// HostPath returns the host's path of a guest file, given by an absolute guest path: false if there is none.
func HostPath(k *task.Kernel, guest string) (string, bool) {
	t := &task.Thread{Process: k.First, Kernel: k, Files: New()}
	defer t.Files.EndCall(k)
	l, e := Locate(t, linux.AT_FDCWD, guest, true)
	switch {
	case e != 0 || l.Node != nil:
		return "", false
	case l.In != nil:
		return l.hostPath()
	case l.Dir == host.NoFD:
		return l.Path, true
	}
	return path.Join(l.Dir.Path(), l.Path), true
}

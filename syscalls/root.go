package syscalls

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/vfs"
)

// A rootDir is a directory of the host that is the guest's "/".
type rootDir struct {
	fd hostFD
	// fs is a file system that begins with the directory (nodeRoot); nil for the directory itself.
	fs vfs.FS
	// binds are the directories that are mounted in fs, by the host's canonical names.
	binds []Bind
	// only says that the guest sees nothing else (--root). Otherwise what is not there is looked
	// for on the host (--sysroot).
	only bool
}

// ref is the root directory.
func (r *rootDir) ref() fileRef {
	if r.fs != nil {
		return refOf(r.fs.Root())
	}
	return fileRef{fd: r.fd}
}

// walks reports whether paths are resolved here, name by name, rather than by the host: in a root, and where what may be changed
// depends on where they lead.
func (k *Kernel) walks(change bool) bool { return fsOf(k).root.only || fsOf(k).cfg.ReadOnly && change }

// openRoot opens the directory that the configuration asks for, if any.
func (fs *fileSystem) openRoot(now func() fileTime) error {
	fs.root = rootDir{fd: noFD}
	for _, r := range []struct {
		name, dir string
		only      bool
	}{{"root", fs.cfg.rootDir(), true}, {"sysroot", fs.cfg.Sysroot, false}} {
		if r.dir == "" {
			continue
		}
		if fs.root.fd != noFD {
			return fmt.Errorf("syscalls: both a root, %s, and a sysroot, %s", fs.cfg.Root, fs.cfg.Sysroot)
		}
		dir, err := filepath.Abs(r.dir)
		if err != nil {
			return fmt.Errorf("syscalls: %s %s: %w", r.name, r.dir, err)
		}
		fd, e := hostOpen(place{dir: noFD, path: dir}, linux.O_PATH|linux.O_DIRECTORY, 0, 0)
		if e != 0 {
			return fmt.Errorf("syscalls: %s %s: %v", r.name, r.dir, e.Error())
		}
		fs.root = rootDir{fd: fd, only: r.only}
	}
	if fs.cfg.Overlay || len(fs.cfg.Binds) > 0 {
		return fs.nodeRoot(now)
	}
	return nil
}

// below returns the guest's name of a host path in the root.
func (k *Kernel) below(name string) (string, bool) {
	if guest, ok := fsOf(k).root.bound(name); ok {
		return guest, true
	}
	root := "/"
	if fsOf(k).root.fd != noFD {
		root = fsOf(k).root.fd.path()
	}
	if name == root {
		return "/", true
	}
	if rest, ok := strings.CutPrefix(name, fsOf(k).private.path); ok && fsOf(k).private.opened && (rest == "" || rest[0] == '/') {
		return shmPath + rest, true
	}
	rest, ok := strings.CutPrefix(name, strings.TrimSuffix(root, "/")+"/")
	return "/" + rest, ok
}

// besideRoot reports whether d is outside the sysroot, if there is one: paths from there on are the host's.
func (k *Kernel) besideRoot(d dirRef) bool {
	if fsOf(k).root.fd == noFD || fsOf(k).root.only || d.fileRef == fsOf(k).root.ref() || d.private {
		return false
	}
	if d.none() {
		return true
	}
	_, ok := k.below(d.fd.path())
	return !ok
}

// A walk goes through a path with the root as "/", from directory to directory by descriptors that no
// renaming changes. It follows links itself, since a host's would lead out of the root, and goes back
// over the directories that it came through, never by the host's "..".
type walk struct {
	t *Thread
	// dirs lead from the root to where the walk is: noFile where it has not been. names are what all
	// but the first are called.
	dirs  []fileRef
	names []string
	links int
	// rules are openat2's. By some of them the walk's own root is floor names below the root.
	rules uint64
	floor int
	// subtree is the first of dirs, if not 0, whose names look as if they were in a directory of ours but are not: those of the
	// directory mounted on /dev/shm, if private is set, or those of a directory of the host that the walk began in.
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

func (w *walk) here() fileRef { return w.dirs[len(w.dirs)-1] }

// guest is the guest's name of c where the walk is.
func (w *walk) guest(c string) string { return "/" + path.Join(append(w.names, c)...) }

// from goes to d without walking there.
func (w *walk) from(d dirRef) linux.Errno {
	root := fsOf(w.t.k).root.ref()
	if w.host = w.t.k.besideRoot(d); w.host && !d.none() {
		d.path = d.fd.path()
	}
	if d.node != nil {
		d.path, _ = d.node.Path() // it may have been moved
	}
	if root.none() || w.host {
		fd, e := hostOpen(place{dir: noFD, path: "/"}, linux.O_PATH|linux.O_DIRECTORY, 0, 0)
		if e != 0 {
			return e
		}
		root = fileRef{fd: fd}
		filesOf(w.t).keep(root)
	}
	w.dirs = append(w.dirs, root)
	for _, name := range split(d.path) {
		w.dirs, w.names = append(w.dirs, noFile), append(w.names, name)
	}
	switch n := len(w.dirs) - 1; {
	case d.none() || d.fileRef == root:
	case d.path == "": // too long a name to be known
		w.dirs, w.names = append(w.dirs, d.fileRef), append(w.names, "?")
	default:
		w.dirs[n] = d.fileRef
		switch {
		case d.private:
			w.subtree, w.private = len(split(shmPath)), true
		case isVirtual(d.path):
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
	filesOf(w.t).keep(r)
	st, e := r.stat()
	switch {
	case e != 0:
		return "", e
	case st.mode&linux.S_IFMT == linux.S_IFLNK:
		return r.readlink()
	case st.mode&linux.S_IFMT != linux.S_IFDIR:
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
	if !w.here().none() {
		return "", 0
	}
	if last.node != nil {
		w.dirs[n-1] = refOf(last.node.Parent())
		return "", 0
	}
	// The walk began in last. It may have been moved since: away from the root, even.
	now := last.fd.path()
	if !w.host {
		var ok bool
		if now, ok = w.t.k.below(now); !ok {
			return "", linux.ENOENT
		}
	}
	w.cut(0)
	return path.Dir(now), 0
}

// resolve is locate with the root as "/". What is found on the host is one name in a directory that is
// open until the call is over; a link at its end is not to be followed, as that has been done.
func (t *Thread) resolve(d dirRef, name string, follow bool) (location, linux.Errno) {
	return t.resolveBy(d, name, follow, 0)
}

// resolveBy is resolve by the rules of openat2(2).
func (t *Thread) resolveBy(d dirRef, name string, follow bool, rules uint64) (location, linux.Errno) {
	w := &walk{t: t, rules: rules}
	if e := w.from(d); e != 0 {
		return location{}, e
	}
	if path.IsAbs(name) {
		if e := w.home(); e != 0 {
			return location{}, e
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
				return location{}, e
			}
			if instead != "" {
				todo = append(split(instead), todo...)
			}
			continue
		}
		last := !slices.ContainsFunc(todo, func(s string) bool { return s != "" })
		slash := last && len(todo) > 0 // which asks for a directory
		l, link, e := w.step(c, todo, last, slash, follow)
		switch {
		case e != 0:
			return location{}, e
		case l.node != nil && l.node.mount != nil:
			if e := w.cross(l.node); e != 0 {
				return location{}, e
			}
			todo = strings.Split(link, "/")
			continue
		case link == "" && last, l.node != nil:
			l.private = w.isPrivate()
			return l, 0
		case link == "":
			continue
		}
		if w.links++; w.links > maxLinks || rules&linux.RESOLVE_NO_SYMLINKS != 0 {
			return location{}, linux.ELOOP
		}
		if path.IsAbs(link) {
			if e := w.home(); e != 0 {
				return location{}, e
			}
		}
		if l.fileAt == nowhere {
			todo = nil // the link has it
		}
		todo = append(strings.Split(link, "/"), todo...)
	}
	return location{fileAt: w.here().at("."), guest: w.guest(""), private: w.isPrivate()}, 0
}

// cross goes to the directory that is mounted on n.
func (w *walk) cross(n *vnode) linux.Errno {
	d, e := n.mount(w.t.k)
	if e != 0 {
		return e
	}
	w.dirs, w.names = append(w.dirs[:1], noFile, d.fileRef), split(d.path)
	w.subtree, w.private = len(w.names), true
	return 0
}

// step looks at c, in front of todo. It returns what it is, if it is the end of the path, or where it
// leads to; l is nowhere if that is behind todo.
func (w *walk) step(c string, todo []string, last, slash, follow bool) (l location, link string, e linux.Errno) {
	l = location{fileAt: w.here().at(c), guest: w.guest(c)}
	switch {
	case !w.inSubtree() && (isVirtual(l.guest) || w.noDev(c)):
		dir, names, ok := ours(strings.Join(append([]string{l.guest}, todo...), "/"))
		if !ok {
			dir, names = l.guest, todo
		}
		l.fileAt = nowhere
		l.node, l.guest, link, e = w.t.walk(dir, names, follow)
		if e == 0 && w.magic(l.node, follow) {
			e = linux.ELOOP
		}
		return l, link, e
	case !last:
		link, e = w.enter(c)
		return l, link, e
	case !follow && !slash:
		return l, "", 0
	}
	switch st, e := l.stat(false); {
	case e == 0 && st.mode&linux.S_IFMT == linux.S_IFLNK:
		link, e = l.readlink()
		return l, link, e
	case e == 0 && slash && st.mode&linux.S_IFMT != linux.S_IFDIR:
		return l, "", linux.ENOTDIR
	case e == linux.ENOENT && slash:
		l.path += "/" // for those that make something there
	}
	l.slash = slash
	return l, "", 0
}

// magic reports whether n is a link of /proc/PID/fd that the rules forbid to follow.
func (w *walk) magic(n *vnode, follow bool) bool {
	return n != nil && n.file != nil && follow && w.rules&(linux.RESOLVE_NO_MAGICLINKS|linux.RESOLVE_NO_SYMLINKS) != 0
}

// noDev reports whether c is a /dev that the root does not have: it has our devices, then.
func (w *walk) noDev(c string) bool {
	if c != "dev" || len(w.names) > 0 {
		return false
	}
	_, e := w.here().at(c).stat(false)
	return e == linux.ENOENT
}

// inSysroot finds an absolute path in the sysroot: if it is there, or if it can be made there only.
func (t *Thread) inSysroot(name string, follow bool) (location, bool) {
	l, e := t.resolve(dirRef{fileRef: fsOf(t.k).root.ref()}, name, follow)
	if e != 0 || l.node != nil {
		return l, e == 0
	}
	if _, e := l.stat(false); e == 0 {
		return l, true
	}
	_, e = hostStatAt(place{dir: noFD, path: path.Dir(name)}, false)
	return l, e != 0
}

// guestPath is the guest's name of a host path.
func (k *Kernel) guestPath(name string) string {
	if inside, ok := k.below(name); ok {
		return inside
	}
	return name
}

// Resolve returns where a path of the host that leads into the guest's root leads if the guest goes there, false if to nothing. Others
// stay what they are.
func (k *Kernel) Resolve(host string) (string, bool) {
	if !fsOf(k).root.only {
		return host, true
	}
	guest, ok := k.below(host)
	if !ok {
		return host, true
	}
	return k.HostPath(guest)
}

// HostPath returns the host's path of a guest file, given by an absolute guest path: false if there is none.
func (k *Kernel) HostPath(guest string) (string, bool) {
	t := &Thread{p: k.first, k: k, files: newThreadFiles()}
	defer t.files.endCall(k)
	l, e := t.locate(linux.AT_FDCWD, guest, true)
	switch {
	case e != 0 || l.node != nil:
		return "", false
	case l.in != nil:
		return l.hostPath()
	case l.dir == noFD:
		return l.path, true
	}
	return path.Join(l.dir.path(), l.path), true
}

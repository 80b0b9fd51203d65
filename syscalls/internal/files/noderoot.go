package files

import (
	"fmt"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/imagefs"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/vfs"
)

// nodeDev is the device of files of ours, among those of the host's.
const nodeDev = 1 << 63

// A Bind is a directory of the host that the guest sees at a path of its own, beside what Root has.
type Bind struct {
	Host, Guest string
	// ReadOnly says that the guest changes nothing in it.
	ReadOnly bool
}

// A BindError is that a directory cannot be bound.
type BindError struct {
	Bind
	// Dir is the directory that there is a problem with: the host's, or the one where the guest is to see that.
	Dir string
	// OnHost says that it is the host's. Otherwise Root is the directory of the host that the guest has as /, "" if it
	// is none.
	OnHost bool
	Root   string
	Err    linux.Errno
}

// Error implements error.
func (e *BindError) Error() string {
	whose := "guest"
	if e.OnHost {
		whose = "host"
	}
	return fmt.Sprintf("bind %s at %s: the %s's %s: %v", e.Host, e.Guest, whose, e.Dir, e.Err)
}

// Missing reports whether the directory is not there.
func (e *BindError) Missing() bool { return e.Err == linux.ENOENT }

// Unwrap returns the errno.
func (e *BindError) Unwrap() error { return e.Err }

// nodeRoot makes the root directory one of nodes: what NewRoot makes, or the host's directory, or an overlay of either;
// and what is bound into it.
func (fs *System) nodeRoot(now func() host.Time) error {
	o := fs.user
	o.Dev, o.Now, o.NewContent = nodeDev, func() vfs.Time { return now().VFS() }, fs.contentsAt("root")
	root, e := fs.lowestRoot(o)
	if e != 0 {
		return fmt.Errorf("syscalls: root %s: %v", fs.Config.rootDir(), e.Error())
	}
	if fs.Config.Isolate != "" {
		if root, e = fs.isolatedRoot(o, root); e != 0 {
			return fmt.Errorf("syscalls: isolation in %s: %v", fs.Config.Isolate, e.Error())
		}
	}
	switch {
	case fs.isolated:
		o.UID, o.GID, o.Groups, o.Privileged = isolatedUser()
	case fs.guest != nil:
		o.UID, o.GID, o.Groups, o.Privileged = fs.guest.UID, fs.guest.GID, fs.guest.Groups, fs.guest.UID == 0
	}
	if fs.Config.Record != nil {
		if root, e = fs.Config.Record.Wrap(root); e != 0 {
			return fmt.Errorf("syscalls: root %s: %v", fs.Config.rootDir(), e.Error())
		}
	}
	if fs.overlaid() {
		o.Dev, o.NewContent = nodeDev+1, fs.contentsAt("overlay")
		lower := root
		if root, e = vfs.NewOverlay(o, lower); e != 0 {
			lower.Close()
			return fmt.Errorf("syscalls: overlay of %s: %v", fs.Config.rootDir(), e.Error())
		}
	}
	fs.Root.fs, fs.Root.only = root, true
	if len(fs.Config.Binds) == 0 {
		return nil
	}
	ns := vfs.NewNamespace(root)
	fs.Root.fs = ns
	for _, b := range fs.Config.Binds {
		if err := fs.bind(ns, b); err != nil {
			return fmt.Errorf("syscalls: %w", err)
		}
	}
	return nil
}

// overlaid reports whether what the guest changes below its root stays in memory.
func (fs *System) overlaid() bool {
	return fs.Config.Overlay || fs.isolated || fs.Config.Replay != nil || fs.Config.Image != nil
}

// WorkDir is where an isolated guest finds the directory in which it is, and isolatedTime the time in seconds of all
// that it finds there, in the year 2000: a clone has the time when it was made. Files elsewhere have that of their
// packages.
const (
	WorkDir      = "/work"
	isolatedTime = 946684800
)

// isolatedUser is who an isolated guest is, whoever runs cgemu: somebody to whom belongs what is in its directory, and
// nothing else.
func isolatedUser() (uid, gid uint32, groups []int, privileged bool) {
	return task.DefaultUID, task.DefaultUID, nil, false
}

// isolatedRoot puts into root what an isolated guest finds at the same place on any machine: its directory, with one
// time and owner, and an empty /tmp.
func (fs *System) isolatedRoot(o vfs.MemOptions, root vfs.FS) (vfs.FS, linux.Errno) {
	o.UID, o.GID, o.Privileged = 0, 0, true // permissions are looked at above
	frame := vfs.NewMemFS(o)
	for _, name := range []string{"work", "tmp"} {
		if _, e := frame.Root().Create(name, linux.S_IFDIR|0o755, 0); e != 0 {
			return nil, e
		}
	}
	next := func(name string) vfs.MemOptions {
		o.Dev, o.NewContent = o.Dev+2, fs.contentsAt(name)
		return o
	}
	joined, e := vfs.NewOverlay(next("joined"), frame, root)
	if e != 0 {
		return nil, e
	}
	ns := vfs.NewNamespace(joined)
	e = fs.mountWork(ns, next("work"))
	if e == 0 {
		tmp := vfs.NewMemFS(next("tmp"))
		mode := uint32(0o1777)
		if e = tmp.Root().SetAttr(vfs.Attr{Mode: &mode}); e == 0 {
			e = mountAt(ns, "tmp", tmp)
		}
	}
	if e != 0 {
		ns.Close()
		return nil, e
	}
	return ns, 0
}

// mountWork mounts the directory of an isolated guest.
func (fs *System) mountWork(ns *vfs.Namespace, o vfs.MemOptions) linux.Errno {
	dir, e := host.NewFS(fs.Config.Isolate)
	if e != 0 {
		return e
	}
	fs.Root.binds = append(fs.Root.binds, Bind{Host: dir.Path(), Guest: WorkDir})
	o.UID, o.GID, _, _ = isolatedUser()
	o.LowerTime, o.LowerOwned = &vfs.Time{Sec: isolatedTime}, true
	work, e := vfs.NewOverlay(o, dir)
	if e == 0 {
		e = mountAt(ns, "work", work)
	}
	if e != 0 {
		dir.Close()
	}
	return e
}

// mountAt mounts a file system on a directory below the root.
func mountAt(ns *vfs.Namespace, name string, below vfs.FS) linux.Errno {
	on, e := ns.Root().Lookup(name)
	if e != 0 {
		return e
	}
	return ns.Mount(on, below, below.Root())
}

// lowestRoot is the root without overlay and binds.
func (fs *System) lowestRoot(o vfs.MemOptions) (vfs.FS, linux.Errno) {
	if fs.Config.Replay != nil {
		return fs.Config.Replay.FS(o), 0
	}
	if fs.Config.NewRoot != nil {
		return fs.Config.NewRoot(o)
	}
	if fs.Config.Image != nil {
		return imagefs.New(fs.Config.Image.Root, o), 0
	}
	if fs.Config.hasOwnRoot() {
		return fs.ownRoot(o)
	}
	return host.NewFS(fs.Root.fd.Path())
}

// bind mounts a directory of the host. Directories that lead there are made in an overlay if there are none.
func (fs *System) bind(ns *vfs.Namespace, b Bind) error {
	dir, err := filepath.Abs(b.Host)
	if err != nil {
		return err
	}
	from, e := host.NewFS(dir)
	if e != 0 {
		return &BindError{Bind: b, Dir: dir, OnHost: true, Err: e}
	}
	asked := b
	b.Host, b.Guest = from.Path(), path.Join("/", b.Guest)
	var below vfs.FS = from
	if b.ReadOnly {
		below = vfs.NewReadOnly(from)
	}
	at, e := fs.directory(ns, b.Guest)
	if e == 0 {
		e = ns.Mount(at, below, below.Root())
	}
	if e != 0 {
		from.Close()
		return &BindError{Bind: asked, Dir: b.Guest, Root: fs.Config.rootDir(), Err: e}
	}
	fs.Root.binds = append(fs.Root.binds, b)
	return nil
}

// directory returns the directory at a path of the guest's, which is made in an overlay if it is not there.
func (fs *System) directory(root vfs.FS, name string) (vfs.Node, linux.Errno) {
	at := root.Root()
	for _, part := range split(name) {
		next, e := at.Lookup(part)
		if e == linux.ENOENT && (fs.overlaid() || fs.Config.hasOwnRoot()) {
			next, e = vfs.MakeDir(at, part)
		}
		if e != 0 {
			return nil, e
		}
		at = next
	}
	return at, 0
}

// bound is the guest's name of a host path in a directory that is bound: in the nearest one, and the last of those.
func (r *rootDir) bound(host string) (guest string, ok bool) {
	nearest := -1
	for _, b := range r.binds {
		rest, in := strings.CutPrefix(host, strings.TrimSuffix(b.Host, string(filepath.Separator)))
		if in && (rest == "" || rest[0] == filepath.Separator) && len(b.Host) >= nearest {
			guest, ok, nearest = path.Join(b.Guest, filepath.ToSlash(rest)), true, len(b.Host)
		}
	}
	return guest, ok
}

// contentsAt returns what makes the contents of new files of a file system. The host has them, as files in a directory
// that the run has for itself, whose names begin with prefix: those can be mapped, and take no descriptor as long as
// nobody has them open.
func (fs *System) contentsAt(prefix string) func(ino uint64, kind uint32) (vfs.Content, linux.Errno) {
	return func(ino uint64, kind uint32) (vfs.Content, linux.Errno) {
		if e := fs.contents.open(fs.Config.ShmDir, "files"); e != 0 {
			return nil, e
		}
		c := content{host.Place{Dir: fs.contents.fd, Path: prefix + strconv.FormatUint(ino, 10), Final: true}}
		return c, host.Mknod(c.at, kind|0o600, 0)
	}
}

// LockFile opens the file that is locked on the host in place of a directory in memory.
func (fs *System) LockFile(ino uint64) (host.FD, linux.Errno) {
	if e := fs.contents.open(fs.Config.ShmDir, "files"); e != 0 {
		return host.NoFD, e
	}
	at := host.Place{Dir: fs.contents.fd, Path: "lock" + strconv.FormatUint(ino, 10), Final: true}
	return host.Open(at, linux.O_RDWR|linux.O_CREAT, 0o600, 0)
}

// A content is a file of the host that is the content of one of ours.
type content struct{ at host.Place }

// Open opens the host's file that has the content.
func (c content) Open(flags int) (vfs.Data, linux.Errno) {
	fd, e := host.Open(c.at, flags, 0, 0)
	if e != 0 {
		return nil, e
	}
	return contentData{host.Data{FD: fd}}, 0
}

// A contentData is a content, opened.
type contentData struct{ host.Data }

// Allocate does what the host's file system may not be able to: that of /dev/shm makes no zeros, but holes.
func (d contentData) Allocate(mode uint32, off, n int64) linux.Errno {
	e := d.FD.Allocate(mode, off, n)
	if e == linux.EOPNOTSUPP && mode&linux.FALLOC_FL_ZERO_RANGE != 0 {
		e = d.FD.Allocate(linux.FALLOC_FL_PUNCH_HOLE|linux.FALLOC_FL_KEEP_SIZE, off, n)
		if e == 0 {
			e = d.FD.Allocate(mode&linux.FALLOC_FL_KEEP_SIZE, off, n)
		}
	}
	return e
}

// Size is its length, and whether it may have holes.
func (c content) Size() (n int64, sparse bool, e linux.Errno) {
	st, e := host.StatAt(c.at, false)
	return st.Size, st.Sparse, e
}

// Remove removes the host's file: no node has the content any more.
func (c content) Remove() { host.Unlink(c.at, false) }

package files

import (
	"errors"
	"fmt"

	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/vfs"
)

// A host that is not Linux has no files at the places where a guest looks for them. There it gets a root of ours, which
// is in memory and gone at the end: a few empty directories, and the host's that it is to work in, at the places that
// they have on the host.

// ownDirs are the directories of a root of ours, with their permissions.
var ownDirs = []struct {
	path string
	perm uint32
}{
	{"/bin", 0o755}, {"/dev", 0o755}, {"/etc", 0o755}, {"/home", 0o755}, {"/lib", 0o755}, {"/lib64", 0o755}, {"/mnt", 0o755}, {"/opt", 0o755},
	{"/proc", 0o555}, {"/root", 0o700}, {"/run", 0o755}, {"/sbin", 0o755}, {"/sys", 0o555}, {"/tmp", 0o1777}, {"/usr", 0o755}, {"/usr/bin", 0o755},
	{"/usr/lib", 0o755}, {"/usr/local", 0o755}, {"/var", 0o755}, {"/var/tmp", 0o1777},
}

// hasOwnRoot reports whether the guest's root is one of ours.
func (c *Config) hasOwnRoot() bool {
	return !host.HasRoot && c.Root == "" && !c.rootMade()
}

// ownRoot makes a root of ours.
func (fs *System) ownRoot(o vfs.MemOptions) (vfs.FS, linux.Errno) {
	o.UID, o.GID, o.Privileged = 0, 0, true // permissions are looked at above
	frame := vfs.NewMemFS(o)
	for _, d := range ownDirs {
		at, e := fs.directory(frame, d.path)
		if e == 0 {
			e = at.SetAttr(vfs.Attr{Mode: &d.perm})
		}
		if e != 0 {
			return nil, e
		}
	}
	ns := vfs.NewNamespace(frame)
	for _, dir := range fs.Config.dirs() {
		if _, there := fs.Root.bound(dir); there {
			continue
		}
		if e := fs.mountDir(ns, dir); e != 0 {
			ns.Close()
			return nil, e
		}
	}
	return ns, 0
}

// dirs are the host's directories that a root of ours has.
func (c *Config) dirs() []string {
	if c.Isolate != "" {
		return nil
	}
	return append([]string{c.Dir}, c.HostDirs...)
}

// mountDir mounts a directory of the host at the place that it has there.
func (fs *System) mountDir(ns *vfs.Namespace, dir string) linux.Errno {
	from, e := host.NewFS(dir)
	if e != 0 {
		return e
	}
	b := Bind{Host: from.Path(), Guest: host.GuestPath(dir)}
	at, e := fs.directory(ns, b.Guest)
	if e == 0 {
		e = ns.Mount(at, from, from.Root())
	}
	if e != 0 {
		from.Close()
		return e
	}
	fs.Root.binds = append(fs.Root.binds, b)
	return 0
}

// errNoSysroot is why there can be none.
var errNoSysroot = errors.New("on this host there can be no sysroot: use a root or an image")

// checkHost says what of the configuration this host cannot do.
func (c *Config) checkHost() error {
	if !host.Direct && c.Sysroot != "" {
		return fmt.Errorf("syscalls: sysroot %s: %w", c.Sysroot, errNoSysroot)
	}
	return nil
}

// GuestPath is where the guest finds a file of the host in a root of ours: at the same place, but for drives: C:\a is
// /c/a.
func GuestPath(path string) string { return host.GuestPath(path) }

// HasOwnRoot says that guests on this host have a root of ours if they are given no other.
const HasOwnRoot = !host.HasRoot

package syscalls

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/vfs"
)

// nodeDev is the device of files of ours, among those of the host's.
const nodeDev = 1 << 63

// A Bind is a directory of the host that the guest sees at a path of its own, beside what Root has.
type Bind struct{ Host, Guest string }

// nodeRoot makes the root directory one of nodes: an overlay over it, if there is to be one, and what is bound into it.
func (fs *fileSystem) nodeRoot(now func() fileTime) error {
	lower, e := newHostFS(fs.root.fd.path())
	if e != 0 {
		return fmt.Errorf("syscalls: root %s: %v", fs.root.fd.path(), e.Error())
	}
	var root vfs.FS = lower
	if fs.cfg.Overlay {
		o := vfs.MemOptions{Dev: nodeDev, Now: func() vfs.Time { return now().node() }, NewContent: fs.newContent}
		o.UID, o.GID = hostOwnUID()
		o.Groups, _ = os.Getgroups()
		o.Privileged = o.UID == 0
		if root, e = vfs.NewOverlay(o, lower); e != 0 {
			return fmt.Errorf("syscalls: overlay of %s: %v", fs.root.fd.path(), e.Error())
		}
	}
	if fs.root.fs = root; len(fs.cfg.Binds) == 0 {
		return nil
	}
	ns := vfs.NewNamespace(root)
	fs.root.fs = ns
	for _, b := range fs.cfg.Binds {
		if err := fs.bind(ns, b); err != nil {
			return fmt.Errorf("syscalls: bind %s at %s: %v", b.Host, b.Guest, err)
		}
	}
	return nil
}

// bind mounts a directory of the host. Directories that lead there are made in an overlay if there are none.
func (fs *fileSystem) bind(ns *vfs.Namespace, b Bind) error {
	dir, err := filepath.Abs(b.Host)
	if err != nil {
		return err
	}
	from, e := newHostFS(dir)
	if e != 0 {
		return e
	}
	b = Bind{from.path(), path.Join("/", b.Guest)}
	at := ns.Root()
	for _, name := range split(b.Guest) {
		next, e := at.Lookup(name)
		if e == linux.ENOENT && fs.cfg.Overlay {
			next, e = at.Create(name, linux.S_IFDIR|0o755, 0)
		}
		if e != 0 {
			from.Close()
			return e
		}
		at = next
	}
	if e := ns.Mount(at, from, from.Root()); e != 0 {
		from.Close()
		return e
	}
	fs.root.binds = append(fs.root.binds, b)
	return nil
}

// bound is the guest's name of a host path in a directory that is bound.
func (r *rootDir) bound(host string) (string, bool) {
	for _, b := range slices.Backward(r.binds) {
		if rest, ok := strings.CutPrefix(host, b.Host); ok && (rest == "" || rest[0] == '/') {
			return path.Join(b.Guest, rest), true
		}
	}
	return "", false
}

// newContent makes the content of a new file. The host has it, as a file in a directory that the run has for itself: that can be
// mapped, and takes no descriptor as long as nobody has it open.
func (fs *fileSystem) newContent(ino uint64, kind uint32) (vfs.Content, linux.Errno) {
	if e := fs.contents.open(fs.cfg.ShmDir, "files"); e != 0 {
		return nil, e
	}
	c := hostContent{place{dir: fs.contents.fd, path: strconv.FormatUint(ino, 10), final: true}}
	return c, hostMknod(c.at, kind|0o600, 0)
}

// lockFile opens the file that is locked on the host in place of a directory in memory.
func (fs *fileSystem) lockFile(ino uint64) (hostFD, linux.Errno) {
	if e := fs.contents.open(fs.cfg.ShmDir, "files"); e != 0 {
		return noFD, e
	}
	at := place{dir: fs.contents.fd, path: "lock" + strconv.FormatUint(ino, 10), final: true}
	return hostOpen(at, linux.O_RDWR|linux.O_CREAT, 0o600, 0)
}

// A hostContent is a file of the host that is the content of one of ours.
type hostContent struct{ at place }

func (c hostContent) Open(flags int) (vfs.Data, linux.Errno) {
	fd, e := hostOpen(c.at, flags, 0, 0)
	if e != 0 {
		return nil, e
	}
	return contentData{hostData{fd}}, 0
}

// A contentData is a hostContent, opened.
type contentData struct{ hostData }

// Allocate does what the host's file system may not be able to: that of /dev/shm makes no zeros, but holes.
func (d contentData) Allocate(mode uint32, off, n int64) linux.Errno {
	e := d.fd.allocate(mode, off, n)
	if e == linux.EOPNOTSUPP && mode&linux.FALLOC_FL_ZERO_RANGE != 0 {
		e = d.fd.allocate(linux.FALLOC_FL_PUNCH_HOLE|linux.FALLOC_FL_KEEP_SIZE, off, n)
		if e == 0 {
			e = d.fd.allocate(mode&linux.FALLOC_FL_KEEP_SIZE, off, n)
		}
	}
	return e
}

func (c hostContent) Size() (int64, linux.Errno) {
	st, e := hostStatAt(c.at, false)
	return st.size, e
}

func (c hostContent) Remove() { hostUnlink(c.at, false) }

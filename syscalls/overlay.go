package syscalls

import (
	"fmt"
	"strconv"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/vfs"
)

// nodeDev is the device of files of ours, among those of the host's.
const nodeDev = 1 << 63

// overlayRoot puts an overlay over the root directory: what the guest changes there stays in it.
func (fs *fileSystem) overlayRoot(now func() fileTime) error {
	lower, e := newHostFS(fs.root.fd.path())
	if e == 0 {
		o := vfs.MemOptions{Dev: nodeDev, Now: func() vfs.Time { return now().node() }, NewContent: fs.newContent}
		o.UID, o.GID = hostOwnUID()
		o.Privileged = o.UID == 0
		fs.root.fs, e = vfs.NewOverlay(o, lower)
	}
	if e != 0 {
		return fmt.Errorf("syscalls: overlay of %s: %w", fs.root.fd.path(), fsError(e))
	}
	return nil
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

// A hostContent is a file of the host that is the content of one of ours.
type hostContent struct{ at place }

func (c hostContent) Open(flags int) (vfs.Data, linux.Errno) {
	fd, e := hostOpen(c.at, flags, 0, 0)
	if e != 0 {
		return nil, e
	}
	return hostData{fd}, 0
}

func (c hostContent) Size() (int64, linux.Errno) {
	st, e := hostStatAt(c.at, false)
	return st.size, e
}

func (c hostContent) Remove() { hostUnlink(c.at, false) }

package files

import (
	"fmt"
	"strconv"

	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/vfs"
)

// nodeDev is the device of files of ours, among those of the host's.
const nodeDev = 1 << 63

// overlayRoot puts an overlay over the root directory: what the guest changes there stays in it.
func (fs *System) overlayRoot(now func() host.Time) error {
	lower, e := host.NewFS(fs.Root.fd.Path())
	if e == 0 {
		o := vfs.MemOptions{Dev: nodeDev, Now: func() vfs.Time { return now().VFS() }, NewContent: fs.newContent}
		o.UID, o.GID = host.User()
		o.Privileged = o.UID == 0
		fs.Root.fs, e = vfs.NewOverlay(o, lower)
	}
	if e != 0 {
		return fmt.Errorf("syscalls: overlay of %s: %w", fs.Root.fd.Path(), fsError(e))
	}
	return nil
}

// newContent makes the content of a new file. The host has it, as a file in a directory that the run has for itself: that can be
// mapped, and takes no descriptor as long as nobody has it open.
func (fs *System) newContent(ino uint64, kind uint32) (vfs.Content, linux.Errno) {
	if e := fs.contents.open(fs.Config.ShmDir, "files"); e != 0 {
		return nil, e
	}
	c := content{host.Place{Dir: fs.contents.fd, Path: strconv.FormatUint(ino, 10), Final: true}}
	return c, host.Mknod(c.at, kind|0o600, 0)
}

// A content is a file of the host that is the content of one of ours.
type content struct{ at host.Place }

func (c content) Open(flags int) (vfs.Data, linux.Errno) {
	fd, e := host.Open(c.at, flags, 0, 0)
	if e != 0 {
		return nil, e
	}
	return host.Data{FD: fd}, 0
}

func (c content) Size() (int64, linux.Errno) {
	st, e := host.StatAt(c.at, false)
	return st.Size, e
}

func (c content) Remove() { host.Unlink(c.at, false) }

package files

import (
	"os"
	"path/filepath"

	"github.com/cgemu/cgemu/syscalls/internal/host"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/vfs"
)

// ShmPath is where shm_open(3) and sem_open(3) have their files.
const ShmPath = "/dev/shm"

// A privateDir is a directory of the host that a run has for itself, made when it is first needed: what is in /dev/shm
// would otherwise depend on what else runs, and process ids, which names are made of, are the same in each run.
type privateDir struct {
	// made is removed in the end; the directory is in it or is it.
	made, Path string
	fd         host.FD
	opened     bool
	// id is the directory, and since when the guest's clock said that it was made: the host has another time, and a
	// size by its kind of file system.
	id    host.FileID
	since host.Time
}

// hides makes of what the host says of the directory what the guest sees of it, unless h describes another file.
func (d *privateDir) hides(h host.Stat, s *Stat) {
	if d.opened && d.id == (host.FileID{Dev: h.Dev, Ino: h.Ino}) {
		s.Size, s.Times = vfs.DirSize, host.Times{Atime: d.since, Mtime: d.since, Ctime: d.since}
	}
}

// shmNode is /dev/shm.
func shmNode() *VNode {
	return &VNode{Mode: linux.S_IFDIR | 0o1777, mount: func(k *task.Kernel) (DirRef, linux.Errno) {
		if e := openShm(k); e != 0 {
			return DirRef{}, e
		}
		return DirRef{FileRef: FileRef{FD: SystemOf(k).Private.fd}, path: ShmPath, Private: true}, 0
	}}
}

// openShm makes the directory that is seen there, if that was not done.
func openShm(k *task.Kernel) linux.Errno {
	d := &SystemOf(k).Private
	if d.opened {
		return 0
	}
	if e := d.open(SystemOf(k).Config.ShmDir, "shm"); e != 0 {
		return e
	}
	st, e := d.fd.Stat()
	d.id, d.since = host.FileID{Dev: st.Dev, Ino: st.Ino}, TimeAt(k.Wall())
	return e
}

// open makes the directory, called name, in top, or, if that is "", in one that is made for it and that nobody else can
// enter.
func (d *privateDir) open(top, name string) linux.Errno {
	if d.opened {
		return 0
	}
	if top != "" {
		d.made = filepath.Join(top, name)
	} else {
		var err error
		if top, err = os.MkdirTemp(ShmPath, "cgemu-"); err != nil {
			top, err = os.MkdirTemp("", "cgemu-")
		}
		if err != nil {
			return linux.EACCES
		}
		d.made = top
	}
	top, err := filepath.Abs(top) // TMPDIR may say otherwise
	if err != nil {
		return linux.EACCES
	}
	fd, e := host.Open(host.Place{Dir: host.NoFD, Path: top}, linux.O_PATH|linux.O_DIRECTORY, 0, 0)
	if e != 0 {
		return e
	}
	defer fd.Close()
	if e := host.Mkdir(host.Place{Dir: fd, Path: name}, 0o1777, 0); e != 0 {
		return e
	}
	if d.fd, e = host.Open(host.Place{Dir: fd, Path: name}, linux.O_PATH|linux.O_DIRECTORY, 0, 0); e != 0 {
		return e
	}
	d.Path, d.opened = filepath.Join(fd.Path(), name), true
	return 0
}

func (d *privateDir) close() error {
	if d.opened {
		d.fd.Close()
	}
	if d.made == "" {
		return nil
	}
	return os.RemoveAll(d.made)
}

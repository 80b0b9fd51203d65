package syscalls

import (
	"os"
	"path/filepath"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// shmPath is where shm_open(3) and sem_open(3) have their files.
const shmPath = "/dev/shm"

// A privateDir is a directory of the host that a run has for itself, made when it is first needed: what is in
// /dev/shm would otherwise depend on what else runs, and process ids, which names are made of, are the same in each run.
type privateDir struct {
	// made is removed in the end; the directory is in it or is it.
	made, path string
	fd         hostFD
	opened     bool
}

// shmNode is /dev/shm.
func shmNode() *vnode {
	return &vnode{mode: linux.S_IFDIR | 0o1777, mount: func(k *Kernel) (dirRef, linux.Errno) {
		if e := fsOf(k).private.open(fsOf(k).cfg.ShmDir, "shm"); e != 0 {
			return dirRef{}, e
		}
		return dirRef{fileRef: fileRef{fd: fsOf(k).private.fd}, path: shmPath, private: true}, 0
	}}
}

// open makes the directory, called name, in top, or, if that is "", in one that is made for it and that nobody else can enter.
func (d *privateDir) open(top, name string) linux.Errno {
	if d.opened {
		return 0
	}
	if top != "" {
		d.made = filepath.Join(top, name)
	} else {
		var err error
		if top, err = os.MkdirTemp(shmPath, "cgemu-"); err != nil {
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
	fd, e := hostOpen(place{dir: noFD, path: top}, linux.O_PATH|linux.O_DIRECTORY, 0, 0)
	if e != 0 {
		return e
	}
	defer fd.close()
	if e := hostMkdir(place{dir: fd, path: name}, 0o1777, 0); e != 0 {
		return e
	}
	if d.fd, e = hostOpen(place{dir: fd, path: name}, linux.O_PATH|linux.O_DIRECTORY, 0, 0); e != 0 {
		return e
	}
	d.path, d.opened = filepath.Join(fd.path(), name), true
	return 0
}

func (d *privateDir) close() error {
	if d.opened {
		d.fd.close()
	}
	if d.made == "" {
		return nil
	}
	return os.RemoveAll(d.made)
}

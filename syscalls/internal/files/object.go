package files

import (
	"os"
	"time"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/vfs"
)

// This file has what those ask who look up names in the guest's files. The guest does not notice.

// object calls do with the regular file at a path of the guest's.
func object(k *task.Kernel, name string, do func(vfs.Node) linux.Errno) (err error) {
	open := func() {
		n, ok := nodeAt(k, name)
		e := linux.ENOENT
		if ok {
			e = do(n)
		}
		if e != 0 {
			err = &os.PathError{Op: "open", Path: name, Err: fsError(e)}
		}
	}
	if replay := SystemOf(k).Config.Replay; replay != nil {
		replay.Tolerate(open)
	} else {
		open()
	}
	return err
}

// OpenObject opens a regular file by a path of the guest's.
func OpenObject(k *task.Kernel, name string) (file *os.File, err error) {
	err = object(k, name, func(n vfs.Node) linux.Errno {
		r, e := openedNode(n.Open(linux.O_RDONLY))
		if e != 0 {
			return e
		}
		defer r.Close()
		file, e = r.FD.OSFile(name)
		return e
	})
	return file, err
}

// StatObject says how long such a file is, and when it was changed.
func StatObject(k *task.Kernel, name string) (size int64, changed time.Time, err error) {
	err = object(k, name, func(n vfs.Node) linux.Errno {
		s, e := n.Stat()
		size, changed = s.Size, time.Unix(s.Ctime.Sec, int64(s.Ctime.Nsec))
		return e
	})
	return size, changed, err
}

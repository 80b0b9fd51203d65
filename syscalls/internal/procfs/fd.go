package procfs

import (
	"fmt"
	"path"
	"strconv"

	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/tty"
)

func fdDir(o *task.Thread, node func(fd int) *files.VNode) *files.VNode {
	return &files.VNode{
		Mode: linux.S_IFDIR | 0o555,
		Names: func(*task.Thread) []string {
			var out []string
			for _, fd := range files.Of(o).FDs.Open() {
				out = append(out, strconv.Itoa(fd))
			}
			return out
		},
		Child: func(_ *task.Thread, name string) *files.VNode {
			fd := files.Atoi(name)
			if _, e := files.Of(o).FDs.File(fd); e != 0 {
				return nil
			}
			return node(fd)
		},
	}
}

// fdLink is /proc/PID/fd/N of thread o. Opening it opens the file again, whatever its name leads to now.
func fdLink(o *task.Thread, fd int) *files.VNode {
	n := files.MagicNode(func(*task.Thread) string {
		f, _ := files.Of(o).FDs.File(fd)
		return f.Name(o.Kernel)
	})
	opened, _ := files.Of(o).FDs.File(fd)
	n.Mode = linux.S_IFLNK
	if opened.Base().Readable() {
		n.Mode |= 0o500
	}
	if opened.Base().Writable() {
		n.Mode |= 0o300
	}
	n.File = func() files.File { return opened }
	n.Open = func(t *task.Thread, flags int) (files.File, linux.Errno) {
		f, e := files.Of(o).FDs.File(fd)
		if e != 0 {
			return nil, linux.ENOENT
		}
		return reopen(t, f, flags)
	}
	return n
}

// reopen opens the file again that f has open, as open(2) of its /proc/PID/fd/N does.
func reopen(t *task.Thread, f files.File, flags int) (files.File, linux.Errno) {
	switch f := f.(type) {
	case *files.HostFile:
		if f.Fixed(t) && (flags&linux.O_ACCMODE != linux.O_RDONLY || flags&linux.O_TRUNC != 0) {
			return nil, linux.EROFS
		}
		r, e := f.Again().Open(flags&^(linux.O_CREAT|linux.O_EXCL), 0, 0)
		if e != 0 {
			return nil, e
		}
		n, e := files.NewHostFile(t.Kernel, r, flags, f.Path)
		if e != 0 {
			return nil, e
		}
		n.Own, n.Private, n.Console = f.Own, f.Private, f.Console
		return n, 0
	case *files.PipeFile:
		n := &files.PipeFile{FileBase: files.FileBase{Flags: flags & (linux.O_ACCMODE | linux.O_NONBLOCK), Path: f.Path}, Pipe: f.Pipe}
		if n.Readable() {
			f.Pipe.Readers++
		} else {
			f.Pipe.Writers++
		}
		return n, 0
	case *tty.PtySlave:
		return f.Pty.OpenSlave(t, flags)
	case *tty.PtyMaster:
		return tty.OpenPtmx(t, flags)
	case *files.VirtualFile:
		return f.Node.OpenAt(t, f.Path, flags)
	case *files.VirtualDir:
		return f.Node.OpenAt(t, f.Path, flags)
	case *files.RandomDevice, *files.MemDevice:
		return files.DevNodes[path.Base(f.Base().Path)].OpenAt(t, f.Base().Path, flags)
	}
	return nil, linux.ENXIO
}

func fdInfo(o *task.Thread, fd int) *files.VNode {
	return files.FileNode(func(t *task.Thread) []byte {
		f, _ := files.Of(o).FDs.File(fd)
		pos, e := f.Seek(t, 0, linux.SEEK_CUR)
		if e != 0 {
			pos = 0
		}
		flags := f.Base().Flags
		if files.Of(o).FDs.Entries[fd].Cloexec {
			flags |= linux.O_CLOEXEC
		}
		st, _ := f.Stat(t)
		return append(fmt.Appendf(nil, "pos:\t%d\nflags:\t0%o\nmnt_id:\t21\nino:\t%d\n", pos, flags, st.Ino), fdDetails(f)...)
	})
}

// fdDetails is what /proc/PID/fdinfo has in addition for some kinds of files.
func fdDetails(f files.File) []byte {
	switch f := f.(type) {
	case *files.EventFile:
		return fmt.Appendf(nil, "eventfd-count: %16x\n", f.Count)
	case *files.PidFile:
		pid := f.Process.PID
		if f.Process.Exited && f.Process.Parent == nil {
			pid = -1
		}
		return fmt.Appendf(nil, "Pid:\t%[1]d\nNSpid:\t%[1]d\n", pid)
	case *files.EpollFile:
		var b []byte
		for _, it := range f.Items {
			b = fmt.Appendf(b, "tfd: %8d events: %8x data: %16x  pos:0 ino:0 sdev:0\n", it.FD, it.Events, it.Data)
		}
		return b
	case *files.InotifyFile:
		var b []byte
		for _, w := range f.Watches {
			b = fmt.Appendf(b, "inotify wd:%x ino:%x sdev:fe00000 mask:%x ignored_mask:0\n", w.Wd, w.Ino, w.Mask)
		}
		return b
	}
	return nil
}

// fdSize is FDSize of /proc/PID/status.
func fdSize(o *task.Thread) int {
	if o.Dead {
		return 0
	}
	return files.Of(o).FDs.Size()
}

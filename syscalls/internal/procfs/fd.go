package procfs

import (
	"fmt"
	"strconv"

	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
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
		return f.Reopen(t, flags)
	}
	return n
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
		return append(fmt.Appendf(nil, "pos:\t%d\nflags:\t0%o\nmnt_id:\t21\nino:\t%d\n", pos, flags, st.Ino), f.FDInfo()...)
	})
}

// fdSize is FDSize of /proc/PID/status.
func fdSize(o *task.Thread) int {
	if o.Dead {
		return 0
	}
	return files.Of(o).FDs.Size()
}

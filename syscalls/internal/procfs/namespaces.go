package procfs

import (
	"fmt"
	"strings"

	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

// namespaces are those of namespaces(7), with the inode numbers of the first of each kind (include/linux/proc_ns.h).
var namespaces = map[string]uint64{
	"cgroup": 0xeffffffb, "ipc": 0xefffffff, "mnt": 0xf0000000, "net": 0xf0000098, "pid": 0xeffffffc, "pid_for_children": 0xeffffffc,
	"time": 0xeffffffa, "time_for_children": 0xeffffffa, "user": 0xeffffffd, "uts": 0xeffffffe,
}

// nsNode is /proc/PID/ns: all processes are in the same namespaces.
func nsNode() *files.VNode {
	nodes := map[string]*files.VNode{}
	for name, ino := range namespaces {
		kind, _, _ := strings.Cut(name, "_")
		text := fmt.Sprintf("%s:[%d]", kind, ino)
		n := files.MagicNode(func(*task.Thread) string { return text })
		n.Open = func(_ *task.Thread, flags int) (files.File, linux.Errno) { return newNsFile(text, ino, flags), 0 }
		n.File = func() files.File { return newNsFile(text, ino, linux.O_RDONLY) }
		nodes[name] = n
	}
	return files.DirNode(nodes)
}

// An nsFile is an open file of /proc/PID/ns, which stands for a namespace.
type nsFile struct {
	files.FileBase
	ino uint64
}

// Traits implements files.File.
func (*nsFile) Traits() files.Traits { return files.Unpollable }

func newNsFile(name string, ino uint64, flags int) *nsFile {
	return &nsFile{files.FileBase{Flags: flags &^ linux.O_CLOEXEC, Path: name}, ino}
}

// Stat implements files.File.
func (f *nsFile) Stat(*task.Thread) (files.Stat, linux.Errno) {
	return files.Stat{Dev: files.NsDev, Ino: f.ino, Mode: linux.S_IFREG | 0o444, Nlink: 1}, 0
}

package procfs

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

// This file has what of /proc/PID can be written, the namespaces, and the processes that the guest did not make.

// writeComm names t, as pthread_setname_np does for another thread. Only its own process may.
func writeComm(t *task.Thread, by *task.Thread, b []byte) linux.Errno {
	if by.Process != t.Process {
		return linux.EINVAL
	}
	name, _, _ := strings.Cut(string(b), "\x00")
	t.SetComm(name)
	return 0
}

// writeOomAdj sets how soon the process would be killed for want of memory, which never comes.
func writeOomAdj(p *task.Process, _ *task.Thread, b []byte) linux.Errno {
	const limit = 1000 // OOM_SCORE_ADJ_MAX
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	switch {
	case err != nil || n < -limit || n > limit:
		return linux.EINVAL
	case n < 0:
		return linux.EACCES // for the superuser
	}
	p.OomAdj = n
	return 0
}

// namespaces are those of namespaces(7), with the numbers that the first of each kind has (include/linux/proc_ns.h).
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

// An nsFile stands for a namespace.
type nsFile struct {
	files.FileBase
	ino uint64
}

func (*nsFile) Traits() files.Traits { return files.Unpollable }

func newNsFile(name string, ino uint64, flags int) *nsFile {
	return &nsFile{files.FileBase{Flags: flags &^ linux.O_CLOEXEC, Path: name}, ino}
}

func (f *nsFile) Stat(*task.Thread) (files.Stat, linux.Errno) {
	return files.Stat{Dev: files.NsDev, Ino: f.ino, Mode: linux.S_IFREG | 0o444, Nlink: 1}, 0
}

// absentNode is /proc/PID of a process that the guest knows of, and that is not there: init, or the shell that is the
// guest's parent.
func absentNode(id int) *files.VNode {
	name, up := "init", 0
	if id == task.ParentPID {
		name, up = "sh", task.InitPID
	}
	return files.DirNode(map[string]*files.VNode{
		"comm":    files.TextNode(name + "\n"),
		"cmdline": files.TextNode(name + "\x00"),
		"cgroup":  files.TextNode("0::/\n"),
		"stat":    files.TextNode(fmt.Sprintf("%d (%s) S %d %d %d 0 -1%s\n", id, name, up, id, id, strings.Repeat(" 0", 52-8))),
		"status": files.FileNode(func(t *task.Thread) []byte {
			uid, gid := uint32(0), uint32(0)
			if id == task.ParentPID {
				uid, gid = t.Kernel.UID, t.Kernel.GID
			}
			return fmt.Appendf(nil, "Name:\t%s\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t%d\nNgid:\t0\nPid:\t%[2]d\nPPid:\t%d\nTracerPid:\t0\n"+
				"Uid:\t%[4]d\t%[4]d\t%[4]d\t%[4]d\nGid:\t%[5]d\t%[5]d\t%[5]d\t%[5]d\nThreads:\t1\n", name, id, up, uid, gid)
		}),
	})
}

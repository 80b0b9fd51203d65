package syscalls

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// This file has what of /proc/PID can be written, the namespaces, and the processes that the guest did not make.

// writeComm names t, as pthread_setname_np does for another thread. Only its own process may.
func (t *Thread) writeComm(by *Thread, b []byte) linux.Errno {
	if by.p != t.p {
		return linux.EINVAL
	}
	name, _, _ := strings.Cut(string(b), "\x00")
	t.setComm(name)
	return 0
}

// writeOomAdj sets how soon the process would be killed for want of memory, which never comes.
func (p *Process) writeOomAdj(_ *Thread, b []byte) linux.Errno {
	const limit = 1000 // OOM_SCORE_ADJ_MAX
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	switch {
	case err != nil || n < -limit || n > limit:
		return linux.EINVAL
	case n < 0:
		return linux.EACCES // for the superuser
	}
	p.oomAdj = n
	return 0
}

// namespaces are those of namespaces(7), with the numbers that the first of each kind has (include/linux/proc_ns.h).
var namespaces = map[string]uint64{
	"cgroup": 0xeffffffb, "ipc": 0xefffffff, "mnt": 0xf0000000, "net": 0xf0000098, "pid": 0xeffffffc, "pid_for_children": 0xeffffffc,
	"time": 0xeffffffa, "time_for_children": 0xeffffffa, "user": 0xeffffffd, "uts": 0xeffffffe,
}

// nsNode is /proc/PID/ns: all processes are in the same namespaces.
func nsNode() *vnode {
	nodes := map[string]*vnode{}
	for name, ino := range namespaces {
		kind, _, _ := strings.Cut(name, "_")
		text := fmt.Sprintf("%s:[%d]", kind, ino)
		n := magicNode(func(*Thread) string { return text })
		n.open = func(_ *Thread, flags int) (file, linux.Errno) { return newNsFile(text, ino, flags), 0 }
		n.file = func() file { return newNsFile(text, ino, linux.O_RDONLY) }
		nodes[name] = n
	}
	return dirNode(nodes)
}

// An nsFile stands for a namespace.
type nsFile struct {
	fileBase
	ino uint64
}

func (*nsFile) traits() traits { return unpollable }

func newNsFile(name string, ino uint64, flags int) *nsFile {
	return &nsFile{fileBase{flags: flags &^ linux.O_CLOEXEC, path: name}, ino}
}

func (f *nsFile) stat(*Thread) (stat, linux.Errno) {
	return stat{dev: nsDev, ino: f.ino, mode: linux.S_IFREG | 0o444, nlink: 1}, 0
}

// absentNode is /proc/PID of a process that the guest knows of, and that is not there: init, or the shell that is the
// guest's parent.
func absentNode(id int) *vnode {
	name, up := "init", 0
	if id == parentPID {
		name, up = "sh", initPID
	}
	return dirNode(map[string]*vnode{
		"comm":    textNode(name + "\n"),
		"cmdline": textNode(name + "\x00"),
		"cgroup":  textNode("0::/\n"),
		"stat":    textNode(fmt.Sprintf("%d (%s) S %d %d %d 0 -1%s\n", id, name, up, id, id, strings.Repeat(" 0", 52-8))),
		"status": fileNode(func(t *Thread) []byte {
			uid, gid := uint32(0), uint32(0)
			if id == parentPID {
				uid, gid = t.k.uid, t.k.gid
			}
			return fmt.Appendf(nil, "Name:\t%s\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t%d\nNgid:\t0\nPid:\t%[2]d\nPPid:\t%d\nTracerPid:\t0\n"+
				"Uid:\t%[4]d\t%[4]d\t%[4]d\t%[4]d\nGid:\t%[5]d\t%[5]d\t%[5]d\t%[5]d\nThreads:\t1\n", name, id, up, uid, gid)
		}),
	})
}

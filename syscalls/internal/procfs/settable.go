package procfs

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

// settable are the files of /proc/PID that can be written to (Documentation/filesystems/proc.rst).
func settable(o *task.Thread) map[string]*files.VNode {
	p := o.Process
	nodes := map[string]*files.VNode{
		"comm":            files.WritableNode(func() string { return o.Comm + "\n" }, func(t *task.Thread, b []byte) linux.Errno { return writeComm(o, t, b) }),
		"oom_score_adj":   files.WritableNode(func() string { return fmt.Sprintln(p.OomScoreAdj) }, func(_ *task.Thread, b []byte) linux.Errno { return writeOomScoreAdj(p, b) }),
		"oom_adj":         files.WritableNode(func() string { return fmt.Sprintln(oomAdj(p)) }, func(_ *task.Thread, b []byte) linux.Errno { return writeOomAdj(p, b) }),
		"coredump_filter": files.WritableNode(func() string { return fmt.Sprintf("%08x\n", p.CoreFilter) }, func(_ *task.Thread, b []byte) linux.Errno { return writeCoreFilter(p, b) }),
		"timerslack_ns": files.WritableNode(func() string {
			slack, _ := o.PrctlSetting(linux.PR_GET_TIMERSLACK, 0)
			return fmt.Sprintln(slack)
		}, func(_ *task.Thread, b []byte) linux.Errno { return writeTimerSlack(o, b) }),
		"clear_refs": files.WritableNode(func() string { return "" }, func(_ *task.Thread, b []byte) linux.Errno { return writeClearRefs(b) }),
		"setgroups":  unchangeable("allow\n"),
	}
	for _, name := range []string{"uid_map", "gid_map", "projid_map"} { // the first user namespace's
		nodes[name] = unchangeable(fmt.Sprintf("%10d %10d %10d\n", 0, 0, uint32(1<<32-1)))
	}
	nodes["timerslack_ns"].Mode = linux.S_IFREG | 0o666
	nodes["clear_refs"].Mode = linux.S_IFREG | 0o200
	return nodes
}

// unchangeable is a file that only the superuser may write to, who may open it for writing nevertheless.
func unchangeable(text string) *files.VNode {
	return files.WritableNode(func() string { return text }, func(*task.Thread, []byte) linux.Errno { return linux.EPERM })
}

// number is a number as the kernel reads it, in the base that its prefix says, and EINVAL for what is none.
func number(b []byte) (int64, linux.Errno) {
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 0, 64)
	if err != nil {
		return 0, linux.EINVAL
	}
	return n, 0
}

// writeComm sets t's name, as pthread_setname_np(3) does for another thread. Only threads of the same process may.
func writeComm(t *task.Thread, by *task.Thread, b []byte) linux.Errno {
	if by.Process != t.Process {
		return linux.EINVAL
	}
	name, _, _ := strings.Cut(string(b), "\x00")
	t.SetComm(name)
	return 0
}

// maxOomScoreAdj is OOM_SCORE_ADJ_MAX, maxOomAdj what it is in the older file oom_adj, where -17 is -1000
// (OOM_DISABLE).
const (
	maxOomScoreAdj = 1000
	maxOomAdj      = 15
	oomDisable     = -17
)

// writeOomScoreAdj sets oom_score_adj. It has no effect, since memory never runs out.
func writeOomScoreAdj(p *task.Process, b []byte) linux.Errno {
	n, e := number(b)
	if e != 0 || n < -maxOomScoreAdj || n > maxOomScoreAdj {
		return linux.EINVAL
	}
	return setOomScoreAdj(p, int(n))
}

func setOomScoreAdj(p *task.Process, n int) linux.Errno {
	if n < 0 {
		return linux.EACCES // for the superuser
	}
	p.OomScoreAdj = n
	return 0
}

func oomAdj(p *task.Process) int {
	if p.OomScoreAdj == maxOomScoreAdj {
		return maxOomAdj
	}
	return p.OomScoreAdj * -oomDisable / maxOomScoreAdj
}

func writeOomAdj(p *task.Process, b []byte) linux.Errno {
	n, e := number(b)
	switch {
	case e != 0 || n < oomDisable || n > maxOomAdj:
		return linux.EINVAL
	case n == maxOomAdj:
		return setOomScoreAdj(p, maxOomScoreAdj)
	}
	return setOomScoreAdj(p, int(n)*maxOomScoreAdj/-oomDisable)
}

// writeCoreFilter says what a core dump would have (core(5)), if there were any.
func writeCoreFilter(p *task.Process, b []byte) linux.Errno {
	const known = 1<<9 - 1
	n, e := number(b)
	if e != 0 || n < 0 || n > 1<<32-1 {
		return linux.EINVAL
	}
	p.CoreFilter = uint32(n) & known
	return 0
}

func writeTimerSlack(o *task.Thread, b []byte) linux.Errno {
	n, e := number(b)
	if e != 0 || n < 0 {
		return linux.EINVAL
	}
	_, e = o.PrctlSetting(linux.PR_SET_TIMERSLACK, uint64(n))
	return e
}

// writeClearRefs does nothing: which pages were used is not told. 5 resets the peak of what is resident, which does not
// change.
func writeClearRefs(b []byte) linux.Errno {
	const last = 5
	if n, e := number(b); e != 0 || n < 1 || n > last {
		return linux.EINVAL
	}
	return 0
}

package task

import (
	"slices"
)

// A family holds a process' parent, process group, session and controlling terminal, and what the parent is told of it.
type family struct {
	// Parent is nil for the first process, and for orphans that init has adopted.
	Parent *Process
	// forker is the thread of Parent that made the process, or to which it came when that ended.
	forker    *Thread
	PGID, SID int
	// Tty is the controlling terminal, or nil. The processes that have it are of one session.
	Tty *Terminal
	// exitSignal is what the parent gets when the process ends. A child whose signal is not SIGCHLD is waited for with
	// __WCLONE only.
	exitSignal int
	// vforker is the thread whose vfork(2) made the process: it waits until the process executes a program or ends.
	vforker *Thread
	// Executed says that the process has executed a program since it was forked: setpgid(2) may no longer move it.
	Executed bool
	// reported says that Config.OnEnd was called for the process.
	reported bool
}

const (
	// ParentPID is the first process' parent: a shell that the guest can name but that is not there.
	ParentPID = DefaultPID - 1
	// InitPID adopts orphans. It is not there either.
	InitPID = 1
)

// Outside reports whether pid is that of a process which the guest can name although it is not there.
func Outside(pid int) bool { return pid == InitPID || pid == ParentPID }

// Numbered reports whether anything has the number id: a thread, a process that has ended but was not waited for, a
// group or a session.
func (k *Kernel) Numbered(id int) bool {
	return Outside(id) || k.FindThread(-1, id) != nil ||
		slices.ContainsFunc(k.Processes, func(p *Process) bool { return p.PID == id || p.PGID == id || p.SID == id })
}

// Ppid is the id of p's parent.
func (p *Process) Ppid() int {
	switch {
	case p.Parent != nil:
		return p.Parent.PID
	case p == p.Kernel.First:
		return ParentPID
	}
	return InitPID
}

// Process finds a process by its id, zombies included; nil if there is none.
func (k *Kernel) Process(pid int) *Process {
	if i := slices.IndexFunc(k.Processes, func(p *Process) bool { return p.PID == pid }); i >= 0 {
		return k.Processes[i]
	}
	return nil
}

// Children are those of its process' children that t has forked, or that came to it.
func (t *Thread) Children() []*Process {
	return slices.DeleteFunc(t.Process.Children(), func(c *Process) bool { return c.forker != t })
}

// Children are p's children in order of creation.
func (p *Process) Children() []*Process {
	var out []*Process
	for _, c := range p.Kernel.Processes {
		if c.Parent == p {
			out = append(out, c)
		}
	}
	return out
}

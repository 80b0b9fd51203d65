package task

import (
	"slices"
)

// A family is how a process belongs to others.
type family struct {
	// Parent is nil for the first process, and for orphans, whom init adopts.
	Parent    *Process
	PGID, SID int
	// Tty is the controlling terminal, or nil.
	Tty *Terminal
	// ExitSignal is what the parent gets when it ends; a child whose signal is not SIGCHLD is
	// waited for with __WCLONE.
	exitSignal int
	// vforker waits for the process to execute a program or to end.
	vforker *Thread
	// Executed says that it has executed a program since it was forked.
	Executed bool
	// reported says that what it counted was given away.
	reported bool
}

const (
	// ParentPID is the shell that is not there.
	ParentPID = DefaultPID - 1
	// InitPID is who adopts orphans. It is not there either.
	InitPID = 1
)

// Absent reports whether a process id is of a process that the guest knows of, and that is not there.
func Absent(pid int) bool { return pid == InitPID || pid == ParentPID }

// Ppid is the parent's process id.
func (p *Process) Ppid() int {
	switch {
	case p.Parent != nil:
		return p.Parent.PID
	case p == p.Kernel.First:
		return ParentPID
	}
	return InitPID
}

// Process finds a process, zombies included.
func (k *Kernel) Process(pid int) *Process {
	if i := slices.IndexFunc(k.Processes, func(p *Process) bool { return p.PID == pid }); i >= 0 {
		return k.Processes[i]
	}
	return nil
}

// Children returns p's children in order of creation.
func (p *Process) Children() []*Process {
	var out []*Process
	for _, c := range p.Kernel.Processes {
		if c.Parent == p {
			out = append(out, c)
		}
	}
	return out
}

package task

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// fork makes a process: a copy of t's with one thread, which shares with it what c says.
func (t *Thread) fork(c CloneArgs) (uint64, linux.Errno) {
	k := t.Kernel
	q := t.Process.copy(c)
	q.forker = t
	if c.Flags&linux.CLONE_PARENT != 0 {
		q.forker = t.Process.forker
	}
	o := q.NewThread(emu.NewCPU())
	if e := t.giveMachine(q, c); e != 0 {
		delete(k.Threads, o.TID)
		return 0, e
	}
	o.Files = t.Files.Share(c.Flags)
	t.copyThread(o, c)
	if c.Flags&linux.CLONE_SYSVSEM != 0 {
		k.IPC.ShareUndo(t.Process, q)
	}
	k.Processes = append(k.Processes, q)
	q.watchCPU()
	k.ready = append(k.ready, o)
	if c.Flags&linux.CLONE_PARENT_SETTID != 0 {
		t.Out32(c.ParentTID, uint32(o.TID))
	}
	if c.Flags&linux.CLONE_CHILD_SETTID != 0 {
		o.Out32(c.ChildTID, uint32(o.TID))
	}
	if c.Flags&linux.CLONE_VFORK == 0 {
		return uint64(q.PID), 0
	}
	q.vforker = t
	return t.Block(Wait{Killable: true}, func() (uint64, linux.Errno) { return uint64(q.PID), 0 })
}

// copy returns a new process with what a child inherits (fork(2)). It has no machine and no thread yet.
func (p *Process) copy(c CloneArgs) *Process {
	q := newProcess(p.Kernel)
	q.family = family{Parent: p, PGID: p.PGID, SID: p.SID, Tty: p.Tty, exitSignal: c.ExitSignal}
	if c.Flags&linux.CLONE_PARENT != 0 {
		q.Parent, q.exitSignal = p.Parent, p.exitSignal
	}
	q.Program, q.Exe, q.ExeIno, q.Argv, q.Envv = p.Program, p.Exe, p.ExeIno, p.Argv, p.Envv
	q.Limits = p.Limits
	q.dumpable, q.NoNewPriv, q.thpOff, q.Persona = p.dumpable, p.NoNewPriv, p.thpOff, p.Persona
	q.OomScoreAdj, q.CoreFilter = p.OomScoreAdj, p.CoreFilter
	q.Membarrier = p.Membarrier
	if c.Flags&linux.CLONE_SIGHAND != 0 {
		q.Signals = p.Signals
	} else {
		*q.Signals = *p.Signals
	}
	if c.Flags&linux.CLONE_CLEAR_SIGHAND != 0 {
		q.Signals.reset()
	}
	return q
}

// giveMachine gives q, a copy of t's process, memory and an engine. If that fails, q is as if it had never been.
func (t *Thread) giveMachine(q *Process, c CloneArgs) (e linux.Errno) {
	p, k := t.Process, t.Kernel
	if c.Flags&linux.CLONE_VM != 0 {
		q.useMachine(p.Machine)
	} else {
		m, err := k.newMachine(q, p.Engine, p.Mem)
		if err != nil {
			// "A system-imposed limit on the number of threads was encountered." - fork(2)
			return k.LogNoMachine(k.CallName(t.Call.Nr), err, linux.EAGAIN)
		}
		m.Brk = p.Machine.Brk
		q.useMachine(m)
	}
	if c.Flags&linux.CLONE_PIDFD != 0 {
		if e := c.AddPidFile(t, q, c.PidFD); e != 0 {
			q.leaveMachine()
			return e
		}
	}
	return 0
}

// copyThread makes o, the first thread of a new process, go on where t is.
func (t *Thread) copyThread(o *Thread, c CloneArgs) {
	o.CPU.Copy(t.CPU)
	o.CPU.Regs[emu.RAX] = 0
	o.Comm, o.Mask, o.timerSlack, o.KeepCaps = t.Comm, t.Mask, t.timerSlack, t.KeepCaps
	o.Altstack = t.Altstack
	if c.Flags&(linux.CLONE_VM|linux.CLONE_VFORK) == linux.CLONE_VM {
		o.Altstack = altStack{flags: linux.SS_DISABLE} // both would run handlers on it
	}
	o.Sched, o.defaultSlack, o.mceKill = t.Sched.inherited(c.Flags), t.timerSlack, t.mceKill
	if t.OldMask != nil {
		o.Mask = *t.OldMask
	}
	if c.Stack != 0 {
		o.CPU.Regs[emu.RSP] = c.Stack
	}
	if c.Flags&linux.CLONE_SETTLS != 0 {
		o.CPU.FSBase = c.Tls
	}
	if c.Flags&linux.CLONE_CHILD_CLEARTID != 0 {
		o.ClearTID = c.ChildTID
	}
}

// reset gives all signals that are not ignored their default actions, as execve(2) does.
func (s *sigTable) reset() {
	for sig := range s {
		if s[sig].Handler != linux.SIG_IGN {
			s[sig] = SigAction{}
		} else {
			s[sig] = SigAction{Handler: linux.SIG_IGN}
		}
	}
}

package syscalls

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// sysFork implements fork(2).
func sysFork(t *Thread, _ Args) (uint64, linux.Errno) {
	return t.clone(cloneArgs{exitSignal: linux.SIGCHLD})
}

// sysVfork implements vfork(2).
func sysVfork(t *Thread, _ Args) (uint64, linux.Errno) {
	return t.clone(cloneArgs{flags: linux.CLONE_VM | linux.CLONE_VFORK, exitSignal: linux.SIGCHLD})
}

// fork makes a process, a copy of t's with one thread, but for what the two share.
func (t *Thread) fork(c cloneArgs) (uint64, linux.Errno) {
	k := t.k
	q := t.p.copy(c)
	o := q.newThread(emu.NewCPU())
	if e := t.equip(q, c); e != 0 {
		delete(k.threads, o.tid)
		return 0, e
	}
	o.files = t.files.share(c.flags)
	t.copyInto(o, c)
	k.procs = append(k.procs, q)
	q.watchCPU()
	k.ready = append(k.ready, o)
	if c.flags&linux.CLONE_PARENT_SETTID != 0 {
		t.out32(c.parentTID, uint32(o.tid))
	}
	if c.flags&linux.CLONE_CHILD_SETTID != 0 {
		o.out32(c.childTID, uint32(o.tid))
	}
	if c.flags&linux.CLONE_VFORK == 0 {
		return uint64(q.pid), 0
	}
	q.vforker = t
	return t.block(wait{unbreakable: true}, func() (uint64, linux.Errno) { return uint64(q.pid), 0 })
}

// copy returns a process that has of p what fork(2) says that a child has.
func (p *Process) copy(c cloneArgs) *Process {
	q := newProcess(p.k)
	q.family = family{parent: p, pgid: p.pgid, sid: p.sid, tty: p.tty, exitSignal: c.exitSignal}
	if c.flags&linux.CLONE_PARENT != 0 {
		q.parent, q.exitSignal = p.parent, p.exitSignal
	}
	q.program, q.exe, q.argv, q.envv = p.program, p.exe, p.argv, p.envv
	q.limits = p.limits
	q.dumpable, q.noNewPriv, q.thpOff, q.persona, q.oomAdj = p.dumpable, p.noNewPriv, p.thpOff, p.persona, p.oomAdj
	q.membarrier = p.membarrier
	if c.flags&linux.CLONE_SIGHAND != 0 {
		q.signals = p.signals
	} else {
		*q.signals = *p.signals
	}
	if c.flags&linux.CLONE_CLEAR_SIGHAND != 0 {
		q.signals.reset()
	}
	return q
}

// equip gives q, a copy of t's process, memory and an engine. What cannot be had is an error,
// and q is as if it had never been.
func (t *Thread) equip(q *Process, c cloneArgs) (e linux.Errno) {
	p, k := t.p, t.k
	if c.flags&linux.CLONE_VM != 0 {
		q.use(p.machine)
	} else {
		m, err := k.newMachine(q, p.engine, p.mem)
		if err != nil {
			// "A system-imposed limit on the number of threads was encountered." - fork(2)
			return k.noMachine(k.callName(t.call.nr), err, linux.EAGAIN)
		}
		m.brk = p.machine.brk
		q.use(m)
	}
	if c.flags&linux.CLONE_PIDFD != 0 {
		if e := c.addPidFile(q); e != 0 {
			q.leave()
			return e
		}
	}
	return 0
}

// copyInto makes o, the first thread of a new process, go on where t is.
func (t *Thread) copyInto(o *Thread, c cloneArgs) {
	o.cpu.Copy(t.cpu)
	o.cpu.Regs[emu.RAX] = 0
	o.comm, o.mask, o.timerSlack, o.altstack, o.keepCaps = t.comm, t.mask, t.timerSlack, t.altstack, t.keepCaps
	o.sched, o.defaultSlack = t.sched.inherited(), t.timerSlack
	if t.oldMask != nil {
		o.mask = *t.oldMask
	}
	if c.stack != 0 {
		o.cpu.Regs[emu.RSP] = c.stack
	}
	if c.flags&linux.CLONE_SETTLS != 0 {
		o.cpu.FSBase = c.tls
	}
	if c.flags&linux.CLONE_CHILD_CLEARTID != 0 {
		o.clearTID = c.childTID
	}
}

// reset makes all signals that are not ignored have their default actions, as execve(2) does.
func (s *sigTable) reset() {
	for sig := range s {
		if s[sig].handler != linux.SIG_IGN {
			s[sig] = sigAction{}
		} else {
			s[sig] = sigAction{handler: linux.SIG_IGN}
		}
	}
}

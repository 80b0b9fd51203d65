package syscalls

import (
	"slices"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// A family is how a process belongs to others.
type family struct {
	// parent is nil for the first process, and for orphans, whom init adopts.
	parent    *Process
	pgid, sid int
	// tty is the controlling terminal, or nil.
	tty *terminal
	// exitSignal is what the parent gets when it ends; a child whose signal is not SIGCHLD is
	// waited for with __WCLONE.
	exitSignal int
	// vforker waits for the process to execute a program or to end.
	vforker *Thread
	// executed says that it has executed a program since it was forked.
	executed bool
	// reported says that what it counted was given away.
	reported bool
}

const (
	// parentPID is the shell that is not there.
	parentPID = DefaultPID - 1
	// initPID is who adopts orphans. It is not there either.
	initPID = 1
)

// absent reports whether a process id is of a process that the guest knows of, and that is not there.
func absent(pid int) bool { return pid == initPID || pid == parentPID }

// ppid is the parent's process id.
func (p *Process) ppid() int {
	switch {
	case p.parent != nil:
		return p.parent.pid
	case p == p.k.first:
		return parentPID
	}
	return initPID
}

// process finds a process, zombies included.
func (k *Kernel) process(pid int) *Process {
	if i := slices.IndexFunc(k.procs, func(p *Process) bool { return p.pid == pid }); i >= 0 {
		return k.procs[i]
	}
	return nil
}

// children returns p's children in order of creation.
func (p *Process) children() []*Process {
	var out []*Process
	for _, c := range p.k.procs {
		if c.parent == p {
			out = append(out, c)
		}
	}
	return out
}

// end ends p: its threads run no more.
func (p *Process) end(e Exit) {
	if p.exited {
		return
	}
	k := p.k
	p.exited, p.status, p.halt = true, e, halt{}
	var alive []*Thread
	for _, t := range p.threads {
		if !t.dead {
			alive = append(alive, t)
		}
		t.dead = true
		t.files.endCall(k)
		k.unwait(t)
		k.futexForget(t)
		delete(k.threads, t.tid)
	}
	p.threads = []*Thread{p.threads[0]}
	for _, t := range alive {
		t.releaseLocks()
		if p.machine.users > 1 {
			t.clearChildTID()
		}
	}
	if k.trace != nil {
		k.trace.exited(p)
	}
	for _, t := range alive {
		t.files.leave(t.k)
	}
	k.ipc.ended(p)
	k.dropTimers(p)
	p.leave()
	p.wakeVforker()
	if p == k.first {
		k.firstEnd = k.now()
	}
	p.leaveSession()
	wake := p.leaveGroups()
	for _, c := range p.children() {
		c.orphan()
	}
	wake()
	p.announce()
}

// wakeVforker lets the thread that called vfork(2) go on.
func (p *Process) wakeVforker() {
	if t := p.vforker; t != nil {
		p.vforker = nil
		p.k.wake(t, wokenReady)
	}
}

// orphan gives p another parent: the nearest subreaper above, or init, which waits for it at once.
func (p *Process) orphan() {
	up := p.parent.parent
	for up != nil && (up.exited || up.subreaper == 0) {
		up = up.parent
	}
	p.parent = up
	if p.exited {
		p.announce()
		return
	}
	for _, t := range p.threads {
		if t.pdeathsig != 0 && !t.dead {
			t.send(&sigInfo{signo: int32(t.pdeathsig), code: linux.SI_USER})
		}
	}
}

// announce tells the parent of p, which has ended.
func (p *Process) announce() {
	up := p.parent
	if up == nil {
		if p != p.k.first {
			p.k.reap(p)
		}
		return
	}
	// Whoever waits looks for children before it looks for signals.
	up.wakeWaiters()
	act := &up.signals[linux.SIGCHLD]
	// clone(2), unlike clone3(2), takes numbers that no signal has.
	if p.exitSignal != 0 && p.exitSignal <= linux.NSIG {
		up.send(p.childInfo())
	}
	if p.exitSignal == linux.SIGCHLD && (act.handler == linux.SIG_IGN || act.flags&linux.SA_NOCLDWAIT != 0) {
		p.k.reap(p)
	}
}

// wakeWaiters lets threads that wait for children look again.
func (p *Process) wakeWaiters() {
	for _, t := range p.threads {
		if w := t.call.wait; w != nil && w.children {
			p.k.wake(t, wokenReady)
		}
	}
}

// reap forgets p, which has ended.
func (k *Kernel) reap(p *Process) {
	k.procs = slices.DeleteFunc(k.procs, func(o *Process) bool { return o == p })
	k.reapedTime += p.used
	p.parent = nil
}

// cause is how p ended: si_code and si_status of its SIGCHLD.
func (p *Process) cause() (code int32, status uint32) {
	if p.status.Signal != 0 {
		return linux.CLD_KILLED, uint32(p.status.Signal)
	}
	return linux.CLD_EXITED, uint32(p.status.Code)
}

// waitStatus is what wait(2) tells of p.
func (p *Process) waitStatus() uint32 {
	if p.status.Signal != 0 {
		return uint32(p.status.Signal)
	}
	return uint32(p.status.Code) << 8
}

// childInfo is the signal that p's parent gets.
func (p *Process) childInfo() *sigInfo {
	const tick = 10_000_000 // of si_utime, in nanoseconds
	code, status := p.cause()
	s := &sigInfo{signo: int32(p.exitSignal), code: code}
	put32(s.fields[:], uint32(p.pid))
	put32(s.fields[4:], p.k.uid)
	put32(s.fields[8:], status)
	put64(s.fields[16:], uint64(p.userTime()/tick))
	put64(s.fields[24:], uint64(p.system/tick))
	return s
}

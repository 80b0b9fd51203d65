package task

import (
	"slices"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// Exit ends t; with the last thread its process ends.
func (t *Thread) Exit(code int) {
	t.Dead = true
	t.releaseLocks()
	t.clearChildTID()
	t.Files.Leave(t.Kernel)
	t.leaveChildren()
	if t.Process.removeThread(t); len(t.Process.Threads) > 1 || !t.Process.Threads[0].Dead {
		return
	}
	t.Process.End(Exit{Code: code})
}

// clearChildTID clears the word that t has asked to be cleared at its end, and wakes a thread that waits for it by
// futex(2), such as pthread_join (set_tid_address(2)).
func (t *Thread) clearChildTID() {
	if t.ClearTID == 0 {
		return
	}
	t.Out32(t.ClearTID, 0)
	if key, e := t.FutexKey(t.ClearTID, 0); e == 0 {
		t.Kernel.wakeFutex(key, 1, linux.FUTEX_BITSET_MATCH_ANY)
	}
}

// kill ends p by the default action of signal s.
func (p *Process) kill(s *SigInfo) {
	p.End(Exit{Signal: int(s.Signo), Fault: s.Fault, RIP: s.rip})
}

// End ends p and all its threads: what exit_group(2) and fatal signals do.
func (p *Process) End(e Exit) {
	if p.Exited {
		return
	}
	k := p.Kernel
	p.Exited, p.Status, p.jobState = true, e, jobState{}
	var alive []*Thread
	for _, t := range p.Threads {
		if !t.Dead {
			alive = append(alive, t)
		}
		t.Dead = true
		t.ended()
		t.Files.EndCall(k)
		k.unwait(t)
		k.futexUnqueue(t)
		delete(k.Threads, t.TID)
	}
	p.Threads = []*Thread{p.Threads[0]}
	for _, t := range alive {
		t.releaseLocks()
		if p.Machine.users > 1 {
			t.clearChildTID()
		}
	}
	if k.Trace != nil {
		k.Trace.Exited(p)
	}
	for _, t := range alive {
		t.Files.Leave(t.Kernel)
	}
	k.IPC.LeaveUndo(p)
	k.dropTimers(p)
	p.leaveMachine()
	p.wakeVforker()
	if p == k.First {
		k.firstEndedAt = k.Now()
	}
	p.leaveSession()
	wake := p.leaveGroups()
	for _, c := range p.Children() {
		c.orphan()
	}
	wake()
	p.notifyParent()
}

// wakeVforker lets the thread go on that made p by vfork(2).
func (p *Process) wakeVforker() {
	if t := p.vforker; t != nil {
		p.vforker = nil
		p.Kernel.wake(t, wokenReady)
	}
}

// orphan is called when p's parent has ended. The new parent is the nearest subreaper above, or init, which waits for
// zombies at once.
func (p *Process) orphan() {
	up := p.Parent.Parent
	for up != nil && (up.Exited || up.Subreaper == 0) {
		up = up.Parent
	}
	p.Parent, p.forker = up, nil
	if up != nil {
		p.forker = up.anyThread()
	}
	if p.Exited {
		p.notifyParent()
		return
	}
	p.parentDied()
}

// parentDied sends the signals that p's threads have asked for by PR_SET_PDEATHSIG. The parent that this is about is a
// thread.
func (p *Process) parentDied() {
	for _, t := range p.Threads {
		if t.Pdeathsig != 0 && !t.Dead {
			p.Send(&SigInfo{Signo: int32(t.Pdeathsig), Code: linux.SI_USER})
		}
	}
}

// leaveChildren gives the children that t, which ends, has forked to another thread of its process. With the last one
// they are orphans.
func (t *Thread) leaveChildren() {
	heir := t.Process.anyThread()
	if heir == nil {
		return
	}
	for _, c := range t.Children() {
		c.forker = heir
		c.parentDied()
	}
}

// anyThread is the first live thread of p, or nil.
func (p *Process) anyThread() *Thread {
	if i := slices.IndexFunc(p.Threads, func(t *Thread) bool { return !t.Dead }); i >= 0 {
		return p.Threads[i]
	}
	return nil
}

// notifyParent tells p's parent that p has ended, and reaps p if nobody is going to wait for it.
func (p *Process) notifyParent() {
	up := p.Parent
	if up == nil {
		if p != p.Kernel.First {
			p.Kernel.reap(p)
		}
		return
	}
	// A thread that waits for children is woken before SIGCHLD can interrupt it.
	up.wakeChildWaiters()
	act := &up.Signals[linux.SIGCHLD]
	ignored := p.exitSignal == linux.SIGCHLD && act.Handler == linux.SIG_IGN // even if the parent blocks it
	// clone(2), unlike clone3(2), accepts numbers that are no signal's.
	if p.exitSignal != 0 && p.exitSignal <= linux.NSIG && !ignored {
		up.Send(p.childInfo())
	}
	if ignored || p.exitSignal == linux.SIGCHLD && act.Flags&linux.SA_NOCLDWAIT != 0 {
		p.Kernel.reap(p)
	}
}

// wakeChildWaiters lets the threads of p look again that wait for children.
func (p *Process) wakeChildWaiters() {
	for _, t := range p.Threads {
		if w := t.Call.Wait; w != nil && w.children {
			p.Kernel.wake(t, wokenReady)
		}
	}
}

// reap removes p, which has ended, from the process table.
func (k *Kernel) reap(p *Process) {
	k.Processes = slices.DeleteFunc(k.Processes, func(o *Process) bool { return o == p })
	p.Parent = nil
}

// cause says how p ended, as si_code and si_status of its SIGCHLD.
func (p *Process) cause() (code int32, status uint32) {
	if p.Status.Signal != 0 {
		return linux.CLD_KILLED, uint32(p.Status.Signal)
	}
	return linux.CLD_EXITED, uint32(p.Status.Code)
}

// waitStatus says how p ended, as wait4(2) encodes it.
func (p *Process) waitStatus() uint32 {
	if p.Status.Signal != 0 {
		return uint32(p.Status.Signal)
	}
	return uint32(p.Status.Code) << 8
}

// childInfo is the signal that tells p's parent of p's end.
func (p *Process) childInfo() *SigInfo {
	const tick = 10_000_000 // of si_utime, in nanoseconds
	code, status := p.cause()
	s := &SigInfo{Signo: int32(p.exitSignal), Code: code}
	linux.PutUint32(s.Fields[:], uint32(p.PID))
	linux.PutUint32(s.Fields[4:], p.Kernel.UID)
	linux.PutUint32(s.Fields[8:], status)
	linux.PutUint64(s.Fields[16:], uint64(p.UserTime()/tick))
	linux.PutUint64(s.Fields[24:], uint64(p.System/tick))
	return s
}

package task

import (
	"slices"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// A halt is whether a process is stopped, by which signal, and what its parent has not yet been told of that.
type jobState struct {
	Stopped        bool
	stopSignal     int
	stopUnreported bool
	contUnreported bool
	runnable       []*Thread // could run
}

// stopOrContinue does what signals about stopping do when they are sent, whatever is blocked. It reports true if that
// was all.
func (p *Process) stopOrContinue(sig int, blocked bool) (done bool) {
	switch {
	case sig == linux.SIGCONT:
		p.dropPending(stopping)
		p.resume(true)
	case sig == linux.SIGKILL:
		p.resume(false)
	case stopping.Has(sig):
		p.dropPending(SigBit(linux.SIGCONT))
		if !blocked && p.Signals[sig].Handler == linux.SIG_DFL {
			p.stop(sig)
			return true
		}
	}
	return false
}

// dropPending forgets signals that are pending.
func (p *Process) dropPending(set SigSet) {
	p.Pending.Drop(set)
	for _, t := range p.Threads {
		t.Pending.Drop(set)
	}
}

// stop stops p. If nobody is left who could let it go on, it is not stopped.
func (p *Process) stop(sig int) {
	if p.Stopped || p.Exited || sig != linux.SIGSTOP && p.Kernel.orphaned(p.PGID) {
		return
	}
	if !slices.ContainsFunc(p.Kernel.Processes, func(o *Process) bool { return o != p && !o.Exited && !o.Stopped }) {
		p.Kernel.Logf("signal %s would stop the last process that runs; it is ignored", linux.SignalName(sig))
		return
	}
	p.Stopped, p.stopSignal, p.stopUnreported, p.contUnreported = true, sig, true, false
	p.notifyParentJob(linux.CLD_STOPPED, uint32(sig))
}

// resume lets p go on, and tells its parent if that is wanted.
func (p *Process) resume(tell bool) {
	if !p.Stopped {
		return
	}
	p.Stopped, p.stopUnreported, p.contUnreported = false, false, tell
	p.Kernel.ready = append(p.Kernel.ready, p.runnable...)
	p.runnable = nil
	if tell {
		p.notifyParentJob(linux.CLD_CONTINUED, linux.SIGCONT)
	}
}

// notifyParentJob tells p's parent that it was stopped or goes on.
func (p *Process) notifyParentJob(code int32, status uint32) {
	up := p.Parent
	if up == nil {
		return
	}
	up.wakeChildWaiters()
	if act := &up.Signals[linux.SIGCHLD]; act.Flags&linux.SA_NOCLDSTOP == 0 {
		s := p.childInfo()
		s.Signo, s.Code = linux.SIGCHLD, code
		linux.PutUint32(s.Fields[8:], status)
		up.Send(s)
	}
}

// A ChildEvent is what wait(2) tells of a child.
type ChildEvent struct {
	Process *Process
	Status  uint32 // as wait4(2) has it
	// code and value are si_code and si_status.
	code  int32
	value uint32
}

// event returns what there is to tell of p to one who waits with options, and forgets it unless
// WNOWAIT is among them. p is nil if there is nothing.
func (p *Process) event(options uint32) ChildEvent {
	keep := options&linux.WNOWAIT != 0
	switch {
	case p.Exited && options&linux.WEXITED != 0:
		code, value := p.cause()
		return ChildEvent{p, p.waitStatus(), code, value}
	case p.stopUnreported && options&linux.WSTOPPED != 0:
		p.stopUnreported = keep
		return ChildEvent{p, uint32(p.stopSignal)<<8 | 0x7f, linux.CLD_STOPPED, uint32(p.stopSignal)}
	case p.contUnreported && options&linux.WCONTINUED != 0:
		p.contUnreported = keep
		return ChildEvent{p, 0xffff, linux.CLD_CONTINUED, linux.SIGCONT}
	}
	return ChildEvent{}
}

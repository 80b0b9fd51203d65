package task

import (
	"slices"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// A jobState says whether a process is stopped, and what its parent has not been told of that yet.
type jobState struct {
	// Stopped says that job control has stopped the process: its threads run no more until SIGCONT or SIGKILL.
	Stopped bool
	// stopSignal is the signal that stopped it last.
	stopSignal int
	// stopUnreported and contUnreported say that no wait(2) has reported the last stop, or the last continuation. At
	// most one of them is set.
	stopUnreported, contUnreported bool
	// runnable are the threads that could run if the process were not stopped.
	runnable []*Thread
}

// stopOrContinue does what a signal about stopping does the moment it is sent, whether it is blocked or not. It reports
// whether the signal needs no delivery.
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

// dropPending removes the signals of set that are pending for p or its threads.
func (p *Process) dropPending(set SigSet) {
	p.Pending.Drop(set)
	for _, t := range p.Threads {
		t.Pending.Drop(set)
	}
}

// stop stops p. An orphaned group is not stopped by the terminal's signals, as in POSIX; nor is the last process that
// runs, since nobody could let it go on.
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

// resume lets p, if it is stopped, go on, and tells its parent if tell is set.
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

// notifyParentJob tells p's parent that p was stopped or goes on, with si_code and si_status.
func (p *Process) notifyParentJob(code int32, status uint32) {
	up := p.Parent
	if up == nil {
		return
	}
	up.wakeChildWaiters()
	if act := &up.Signals[linux.SIGCHLD]; act.Handler != linux.SIG_IGN && act.Flags&linux.SA_NOCLDSTOP == 0 {
		s := p.childInfo()
		s.Signo, s.Code = linux.SIGCHLD, code
		linux.PutUint32(s.Fields[8:], status)
		up.Send(s)
	}
}

// A ChildEvent is what wait(2) reports of a child: that it ended, was stopped or goes on. Process is nil if there is
// nothing to report.
type ChildEvent struct {
	Process *Process
	// Status is the event as wait4(2) encodes it.
	Status uint32
	// code and value are si_code and si_status of waitid(2).
	code  int32
	value uint32
}

// event returns what is to be reported of p to a wait with options, and marks it reported unless WNOWAIT is among them.
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

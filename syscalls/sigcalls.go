package syscalls

import (
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

const sigSetSize = 8

// sysRtSigaction implements rt_sigaction(2).
func sysRtSigaction(t *Thread, a Args) (uint64, linux.Errno) {
	sig, act, old, size := a.Int(0), a.Addr(1), a.Addr(2), a.Uint(3)
	if size != sigSetSize {
		return 0, linux.EINVAL
	}
	var b []byte
	if act != 0 {
		var e linux.Errno
		if b, e = t.copyIn(act, 32); e != 0 {
			return 0, e
		}
	}
	if sig < 1 || sig > linux.NSIG || b != nil && unblockable.has(sig) {
		return 0, linux.EINVAL
	}
	cur := &t.p.signals[sig]
	was := *cur
	if b != nil {
		ignored := t.p.ignored(sig)
		*cur = sigAction{le64(b), le64(b[8:]), le64(b[16:]), sigSet(le64(b[24:])) &^ unblockable}
		// "Setting a signal action to SIG_IGN for a signal that is pending shall
		// cause the pending signal to be discarded" - POSIX, sigaction
		if t.p.ignored(sig) {
			t.p.pending.drop(sigBit(sig))
			for _, o := range t.p.threads {
				o.pending.drop(sigBit(sig))
			}
		} else if ignored {
			t.p.unignored(sig)
		}
	}
	if old != 0 {
		var o pack
		o.u64(was.handler)
		o.u64(was.flags)
		o.u64(was.restorer)
		o.u64(uint64(was.mask))
		return 0, t.copyOut(old, o)
	}
	return 0, 0
}

// sysRtSigprocmask implements rt_sigprocmask(2).
func sysRtSigprocmask(t *Thread, a Args) (uint64, linux.Errno) {
	how, set, old, size := a.Int(0), a.Addr(1), a.Addr(2), a.Uint(3)
	if size != sigSetSize {
		return 0, linux.EINVAL
	}
	was := t.mask
	if set != 0 {
		x, e := t.in64(set)
		if e != 0 {
			return 0, e
		}
		s := sigSet(x) &^ unblockable
		switch how {
		case linux.SIG_BLOCK:
			t.mask |= s
		case linux.SIG_UNBLOCK:
			t.mask &^= s
		case linux.SIG_SETMASK:
			t.mask = s
		default:
			return 0, linux.EINVAL
		}
	}
	if old != 0 {
		return 0, t.out64(old, uint64(was))
	}
	return 0, 0
}

// sysRtSigpending implements rt_sigpending(2).
func sysRtSigpending(t *Thread, a Args) (uint64, linux.Errno) {
	set, size := a.Addr(0), a.Uint(1)
	if size > sigSetSize {
		return 0, linux.EINVAL
	}
	var b pack
	b.u64(uint64((t.pending.set | t.p.pending.set) & t.mask))
	return 0, t.copyOut(set, b[:size])
}

// swapMask installs a mask for the time of a call (sigsuspend, ppoll, pselect6, epoll_pwait).
func (t *Thread) swapMask(set sigSet) {
	if t.oldMask == nil {
		m := t.mask
		t.oldMask = &m
	}
	t.mask = set &^ unblockable
}

// sysRtSigsuspend implements rt_sigsuspend(2).
func sysRtSigsuspend(t *Thread, a Args) (uint64, linux.Errno) {
	if a.Uint(1) != sigSetSize {
		return 0, linux.EINVAL
	}
	set, e := t.in64(a.Addr(0))
	if e != 0 {
		return 0, e
	}
	t.swapMask(sigSet(set))
	return sysPause(t, a)
}

// sysPause implements pause(2).
func sysPause(t *Thread, _ Args) (uint64, linux.Errno) {
	return t.block(wait{interrupted: linux.ERESTARTNOHAND}, nil) // only a signal ends it
}

// sysRtSigtimedwait implements rt_sigtimedwait(2).
func sysRtSigtimedwait(t *Thread, a Args) (uint64, linux.Errno) {
	set, info, timeout := a.Addr(0), a.Addr(1), a.Addr(2)
	if a.Uint(3) != sigSetSize {
		return 0, linux.EINVAL
	}
	x, e := t.in64(set)
	if e != 0 {
		return 0, e
	}
	d := int64(-1)
	if timeout != 0 {
		if d, e = t.timespec(timeout); e != 0 {
			return 0, e
		}
	}
	t.setDeadline(d)
	return t.awaitSignal(sigSet(x)&^unblockable, info, d == 0)
}

// awaitSignal takes a signal of want, and waits for one unless now is set.
func (t *Thread) awaitSignal(want sigSet, info emu.Addr, now bool) (uint64, linux.Errno) {
	if s := t.dequeue(want); s != nil {
		if info == 0 {
			return uint64(s.signo), 0
		}
		return uint64(s.signo), t.copyOut(info, s.encode())
	}
	if now || t.timedOut() {
		return 0, linux.EAGAIN
	}
	ready := func() bool { return (t.pending.set|t.p.pending.set)&want != 0 }
	return t.block(wait{ready: ready, signals: want, deadline: t.call.deadline, interrupted: linux.EINTR},
		func() (uint64, linux.Errno) { return t.awaitSignal(want, info, now) })
}

// sysKill implements kill(2).
func sysKill(t *Thread, a Args) (uint64, linux.Errno) {
	pid, sig := a.Int(0), a.Int(1)
	if absent(pid) {
		return 0, mayKillAbsent(pid, sig)
	}
	// 0 and -pid name process groups; -1 all processes but the caller and init.
	var targets []*Process
	if p := t.k.processOf(pid); p != nil && pid > 0 {
		targets = append(targets, p)
	}
	for _, p := range t.k.procs {
		if pid == 0 && p.pgid == t.p.pgid || pid < -1 && -pid == p.pgid || pid == -1 && p != t.p {
			targets = append(targets, p)
		}
	}
	if len(targets) == 0 {
		return 0, linux.ESRCH
	}
	if !validSignal(sig) {
		return 0, linux.EINVAL
	}
	for _, p := range targets {
		if sig != 0 {
			p.send(infoFromProcess(t.p, sig, linux.SI_USER))
		}
	}
	return 0, 0
}

// validSignal reports whether sig may be sent; 0 is none, and asks whether one may.
func validSignal(sig int) bool { return sig >= 0 && sig <= linux.NSIG }

// mayKillAbsent is the error of a signal to a process that is not there: the parent is the guest's user's, as far as it can tell.
func mayKillAbsent(pid, sig int) linux.Errno {
	switch {
	case !validSignal(sig):
		return linux.EINVAL
	case pid == parentPID && sig == 0:
		return 0
	}
	return linux.EPERM
}

// thread finds a live thread of p.
func (p *Process) thread(tid int) *Thread {
	if t := p.k.threads[tid]; t != nil && t.p == p {
		return t
	}
	return nil
}

// findThread finds a live thread by tid; tgid, if not -1, must be its process.
func (k *Kernel) findThread(tgid, tid int) *Thread {
	t := k.threads[tid]
	if t == nil || tgid != -1 && tgid != t.p.pid {
		return nil
	}
	return t
}

// sysTgkill implements tgkill(2).
func sysTgkill(t *Thread, a Args) (uint64, linux.Errno) {
	if a.Int(0) <= 0 {
		return 0, linux.EINVAL
	}
	return t.tkill(a.Int(0), a.Int(1), a.Int(2))
}

// sysTkill implements tkill(2).
func sysTkill(t *Thread, a Args) (uint64, linux.Errno) { return t.tkill(-1, a.Int(0), a.Int(1)) }

func (t *Thread) tkill(tgid, tid, sig int) (uint64, linux.Errno) {
	if tid <= 0 {
		return 0, linux.EINVAL
	}
	return t.sendTo(t.k.findThread(tgid, tid), infoFromProcess(t.p, sig, linux.SI_TKILL))
}

// sendTo sends s, if it is a signal, to a thread that may not be there.
func (t *Thread) sendTo(o *Thread, s *sigInfo) (uint64, linux.Errno) {
	switch {
	case o == nil:
		return 0, linux.ESRCH
	case !validSignal(int(s.signo)):
		return 0, linux.EINVAL
	case s.signo == 0:
		return 0, 0
	}
	return 0, o.send(s)
}

// sysRtSigqueueinfo implements rt_sigqueueinfo(2).
func sysRtSigqueueinfo(t *Thread, a Args) (uint64, linux.Errno) {
	pid, sig := a.Int(0), a.Int(1)
	s, e := t.userInfo(pid, sig, a.Addr(2))
	if e != 0 {
		return 0, e
	}
	if absent(pid) {
		return 0, mayKillAbsent(pid, sig)
	}
	p := t.k.processOf(pid)
	switch {
	case p == nil:
		return 0, linux.ESRCH
	case !validSignal(sig):
		return 0, linux.EINVAL
	case sig == 0:
		return 0, 0
	}
	return 0, p.send(s)
}

// sysRtTgsigqueueinfo implements rt_tgsigqueueinfo(2).
func sysRtTgsigqueueinfo(t *Thread, a Args) (uint64, linux.Errno) {
	tgid, tid, sig := a.Int(0), a.Int(1), a.Int(2)
	s, e := t.userInfo(tid, sig, a.Addr(3))
	if e == linux.E2BIG || e == linux.EFAULT {
		return 0, e
	}
	if tgid <= 0 || tid <= 0 {
		return 0, linux.EINVAL
	}
	if e != 0 {
		return 0, e
	}
	return t.sendTo(t.k.findThread(tgid, tid), s)
}

// knownLayout reports whether Linux knows what a siginfo_t of signal sig has with si_code code (known_siginfo_layout).
func knownLayout(sig int, code int32) bool {
	limits := map[int]int32{linux.SIGILL: 11, linux.SIGFPE: 15, linux.SIGSEGV: 10, linux.SIGBUS: 5, linux.SIGTRAP: 6, linux.SIGCHLD: 6, linux.SIGSYS: 2}
	const poll, deThread, asyncNL = 6, -7, -60
	limit, ok := limits[sig]
	if !ok {
		limit = poll
	}
	switch {
	case code == linux.SI_KERNEL:
		return true
	case code > linux.SI_USER:
		return code <= limit
	}
	return code >= deThread || code == asyncNL
}

// userInfo reads a siginfo_t made by the program for another thread or process, to. Only to itself may a thread say that a
// signal is the kernel's, or of kill(2) or tgkill(2).
func (t *Thread) userInfo(to, sig int, at emu.Addr) (*sigInfo, linux.Errno) {
	const size, expanded = 48, 128 // what Linux knows of a siginfo_t, and what it is
	b, e := t.copyIn(at, size)
	if e != 0 {
		return nil, e
	}
	b = append(b, make([]byte, expanded-size)...)
	s := decodeSigInfo(b)
	s.signo = int32(sig)
	if !knownLayout(sig, s.code) {
		rest, e := t.copyIn(at+size, expanded-size)
		if e == 0 && slices.ContainsFunc(rest, func(x byte) bool { return x != 0 }) {
			e = linux.E2BIG
		}
		if e != 0 {
			return nil, e
		}
	}
	if (s.code >= 0 || s.code == linux.SI_TKILL) && to != t.tid {
		return nil, linux.EPERM
	}
	return s, 0
}

// minSigStack is the least that sigaltstack(2) takes (MINSIGSTKSZ).
const minSigStack = 2048

// An altStack is where handlers with SA_ONSTACK run.
type altStack struct {
	sp, size uint64
	flags    uint32
}

// contains reports whether sp lies on the alternate stack in use.
func (s *altStack) contains(sp uint64) bool {
	return s.flags&linux.SS_AUTODISARM == 0 && s.size > 0 && sp > s.sp && sp-s.sp <= s.size
}

// state are the flags that sigaltstack(2) reports.
func (s *altStack) state(sp uint64) uint32 {
	switch {
	case s.size == 0:
		return linux.SS_DISABLE
	case s.contains(sp):
		return linux.SS_ONSTACK | s.flags&linux.SS_AUTODISARM
	}
	return s.flags & linux.SS_AUTODISARM
}

// encode is s as a stack_t.
func (s *altStack) encode(sp uint64) []byte {
	var b pack
	b.u64(s.sp)
	b.u32(s.state(sp))
	b.u32(0)
	b.u64(s.size)
	return b
}

// sysSigaltstack implements sigaltstack(2).
func sysSigaltstack(t *Thread, a Args) (uint64, linux.Errno) {
	ss, old, sp := a.Addr(0), a.Addr(1), t.cpu.Regs[emu.RSP]
	was := t.altstack.encode(sp)
	if ss != 0 {
		b, e := t.copyIn(ss, 24)
		if e != 0 {
			return 0, e
		}
		if e := t.setAltStack(le64(b), le32(b[8:]), le64(b[16:]), sp); e != 0 {
			return 0, e
		}
	}
	return 0, t.copyOutIf(old, was)
}

func (t *Thread) setAltStack(base uint64, flags uint32, size, sp uint64) linux.Errno {
	if t.altstack.contains(sp) {
		return linux.EPERM
	}
	mode := flags &^ linux.SS_AUTODISARM
	if mode <= linux.SS_DISABLE && t.altstack == (altStack{base, size, flags}) {
		return 0 // as it was, however small
	}
	switch mode {
	case linux.SS_DISABLE:
		t.altstack = altStack{flags: flags}
		return 0
	case 0, linux.SS_ONSTACK:
	default:
		return linux.EINVAL
	}
	if size < minSigStack {
		return linux.ENOMEM
	}
	t.altstack = altStack{base, size, flags}
	return 0
}

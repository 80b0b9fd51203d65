package syscalls

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// sysRtSigaction implements rt_sigaction(2).
func sysRtSigaction(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	sig, act, old, size := a.Int(0), a.Addr(1), a.Addr(2), a.Uint(3)
	if size != task.SigSetSize {
		return 0, linux.EINVAL
	}
	var b []byte
	if act != 0 {
		var e linux.Errno
		if b, e = t.CopyIn(act, 32); e != 0 {
			return 0, e
		}
	}
	if sig < 1 || sig > linux.NSIG || b != nil && task.Unblockable.Has(sig) {
		return 0, linux.EINVAL
	}
	cur := &t.Process.Signals[sig]
	was := *cur
	if b != nil {
		ignored := t.Process.Ignored(sig)
		*cur = task.SigAction{Handler: linux.Uint64(b), Flags: linux.Uint64(b[8:]) & linux.UAPI_SA_FLAGS, Restorer: linux.Uint64(b[16:]), Mask: task.SigSet(linux.Uint64(b[24:])) &^ task.Unblockable}
		// "Setting a signal action to SIG_IGN for a signal that is pending shall
		// cause the pending signal to be discarded" - POSIX, sigaction
		if t.Process.Ignored(sig) {
			t.Process.Pending.Drop(task.SigBit(sig))
			for _, o := range t.Process.Threads {
				o.Pending.Drop(task.SigBit(sig))
			}
		} else if ignored {
			t.Process.Unignored(sig)
		}
	}
	if old != 0 {
		var o linux.Pack
		o.U64(was.Handler)
		o.U64(was.Flags)
		o.U64(was.Restorer)
		o.U64(uint64(was.Mask))
		return 0, t.CopyOut(old, o)
	}
	return 0, 0
}

// sysRtSigprocmask implements rt_sigprocmask(2).
func sysRtSigprocmask(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	how, set, old, size := a.Int(0), a.Addr(1), a.Addr(2), a.Uint(3)
	if size != task.SigSetSize {
		return 0, linux.EINVAL
	}
	was := t.Mask
	if set != 0 {
		x, e := t.In64(set)
		if e != 0 {
			return 0, e
		}
		s := task.SigSet(x) &^ task.Unblockable
		switch how {
		case linux.SIG_BLOCK:
			t.Mask |= s
		case linux.SIG_UNBLOCK:
			t.Mask &^= s
		case linux.SIG_SETMASK:
			t.Mask = s
		default:
			return 0, linux.EINVAL
		}
	}
	if old != 0 {
		return 0, t.Out64(old, uint64(was))
	}
	return 0, 0
}

// sysRtSigpending implements rt_sigpending(2).
func sysRtSigpending(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	set, size := a.Addr(0), a.Uint(1)
	if size > task.SigSetSize {
		return 0, linux.EINVAL
	}
	var b linux.Pack
	b.U64(uint64((t.Pending.Set | t.Process.Pending.Set) & t.Mask))
	return 0, t.CopyOut(set, b[:size])
}

// swapMask installs a signal mask for the time of a call such as sigsuspend(2) or ppoll(2). ReturnToUser restores the
// old one.
func swapMask(t *task.Thread, set task.SigSet) {
	if t.OldMask == nil {
		m := t.Mask
		t.OldMask = &m
	}
	t.Mask = set &^ task.Unblockable
}

// sysRtSigsuspend implements rt_sigsuspend(2).
func sysRtSigsuspend(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	if a.Uint(1) != task.SigSetSize {
		return 0, linux.EINVAL
	}
	set, e := t.In64(a.Addr(0))
	if e != 0 {
		return 0, e
	}
	swapMask(t, task.SigSet(set))
	return sysPause(t, a)
}

// sysPause implements pause(2).
func sysPause(t *task.Thread, _ uio.Args) (uint64, linux.Errno) {
	return t.Block(task.Wait{OnSignal: linux.ERESTARTNOHAND}, nil) // only a signal ends it
}

// sysRtSigtimedwait implements rt_sigtimedwait(2).
func sysRtSigtimedwait(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	set, info, timeout := a.Addr(0), a.Addr(1), a.Addr(2)
	if a.Uint(3) != task.SigSetSize {
		return 0, linux.EINVAL
	}
	x, e := t.In64(set)
	if e != 0 {
		return 0, e
	}
	d := int64(-1)
	if timeout != 0 {
		if d, e = t.Timespec(timeout); e != 0 {
			return 0, e
		}
	}
	setDeadline(t, d)
	return t.AwaitSignal(task.SigSet(x)&^task.Unblockable, info, d == 0)
}

// sysKill implements kill(2).
func sysKill(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	pid, sig := a.Int(0), a.Int(1)
	if task.Outside(pid) {
		return 0, mayKillOutside(pid, sig)
	}
	// 0 and -pid name process groups, -1 all processes but the caller and init.
	var targets []*task.Process
	if p := processOf(t.Kernel, pid); p != nil && pid > 0 {
		targets = append(targets, p)
	}
	for _, p := range t.Kernel.Processes {
		if pid == 0 && p.PGID == t.Process.PGID || pid < -1 && -pid == p.PGID || pid == -1 && p != t.Process {
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
			p.Send(task.InfoFromProcess(t.Process, sig, linux.SI_USER))
		}
	}
	return 0, 0
}

// validSignal reports whether sig can be sent: 0 can, and only asks whether others could be.
func validSignal(sig int) bool { return sig >= 0 && sig <= linux.NSIG }

// mayKillOutside is the result of sending a signal to a process that the guest can name although it is not there. Its
// parent, the shell, belongs to the guest's user and can be asked for with signal 0.
func mayKillOutside(pid, sig int) linux.Errno {
	switch {
	case !validSignal(sig):
		return linux.EINVAL
	case pid == task.ParentPID && sig == 0:
		return 0
	}
	return linux.EPERM
}

// sysTgkill implements tgkill(2).
func sysTgkill(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	if a.Int(0) <= 0 {
		return 0, linux.EINVAL
	}
	return tkill(t, a.Int(0), a.Int(1), a.Int(2))
}

// sysTkill implements tkill(2).
func sysTkill(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return tkill(t, -1, a.Int(0), a.Int(1))
}

// tkill sends sig to thread tid, which must be one of process tgid unless that is -1.
func tkill(t *task.Thread, tgid, tid, sig int) (uint64, linux.Errno) {
	if tid <= 0 {
		return 0, linux.EINVAL
	}
	return sendTo(t, t.Kernel.Task(tgid, tid), task.InfoFromProcess(t.Process, sig, linux.SI_TKILL))
}

// sendTo sends s to o, which is nil if there is no such thread. Signal 0 is not sent.
func sendTo(t *task.Thread, o *task.Thread, s *task.SigInfo) (uint64, linux.Errno) {
	switch {
	case o == nil:
		return 0, linux.ESRCH
	case !validSignal(int(s.Signo)):
		return 0, linux.EINVAL
	case s.Signo == 0:
		return 0, 0
	}
	return 0, o.Send(s)
}

// sysRtSigqueueinfo implements rt_sigqueueinfo(2).
func sysRtSigqueueinfo(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	pid, sig := a.Int(0), a.Int(1)
	s, e := t.CopyInSigInfo(sig, a.Addr(2))
	if e == 0 {
		e = t.MayClaim(s, pid)
	}
	if e != 0 {
		return 0, e
	}
	if task.Outside(pid) {
		return 0, mayKillOutside(pid, sig)
	}
	p := processOf(t.Kernel, pid)
	switch {
	case p == nil:
		return 0, linux.ESRCH
	case !validSignal(sig):
		return 0, linux.EINVAL
	case sig == 0:
		return 0, 0
	}
	return 0, p.Send(s)
}

// sysRtTgsigqueueinfo implements rt_tgsigqueueinfo(2).
func sysRtTgsigqueueinfo(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	tgid, tid, sig := a.Int(0), a.Int(1), a.Int(2)
	s, e := t.CopyInSigInfo(sig, a.Addr(3))
	if e != 0 {
		return 0, e
	}
	if tgid <= 0 || tid <= 0 {
		return 0, linux.EINVAL
	}
	if e := t.MayClaim(s, tid); e != 0 {
		return 0, e
	}
	return sendTo(t, t.Kernel.Task(tgid, tid), s)
}

// sysSigaltstack implements sigaltstack(2).
func sysSigaltstack(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	ss, old, sp := a.Addr(0), a.Addr(1), t.CPU.Regs[emu.RSP]
	was := t.Altstack.Encode(sp)
	if ss != 0 {
		b, e := t.CopyIn(ss, 24)
		if e != 0 {
			return 0, e
		}
		if e := t.SetAltStack(linux.Uint64(b), linux.Uint32(b[8:]), linux.Uint64(b[16:]), sp); e != 0 {
			return 0, e
		}
	}
	return 0, t.CopyOutIf(old, was)
}

// restoredFlags are the bits of RFLAGS that a signal frame may set.
const restoredFlags = emu.UserFlags &^ emu.FlagID

// sysRtSigreturn implements rt_sigreturn(2).
func sysRtSigreturn(t *task.Thread, _ uio.Args) (uint64, linux.Errno) {
	c := t.CPU
	frame := emu.Addr(c.Regs[emu.RSP] - 8)
	b, e := t.CopyIn(frame, task.FrameSize)
	if e != 0 {
		t.ForceSegv(0)
		return 0, task.ENoReturn
	}
	t.Mask = task.SigSet(linux.Uint64(b[task.FrameMask:])) &^ task.Unblockable
	ctx := b[task.FrameContext:]
	for i, r := range task.ContextRegs {
		c.Regs[r] = linux.Uint64(ctx[8*i:])
	}
	c.RIP = emu.Addr(linux.Uint64(ctx[16*8:]))
	c.Flags = c.Flags&^restoredFlags | linux.Uint64(ctx[17*8:])&restoredFlags
	// A code segment of 32 bits, or none, is refused where Linux would go on there, to fault.
	if linux.Uint16(ctx[18*8:])|3 != task.UserCS || !t.RestoreFP(linux.Uint64(ctx[23*8:])) {
		t.ForceSegv(0)
		return 0, task.ENoReturn
	}
	st := b[task.FrameStack:]
	// Linux, too, ignores an error here: the stack may be in use.
	t.SetAltStack(linux.Uint64(st), linux.Uint32(st[8:]), linux.Uint64(st[16:]), c.Regs[emu.RSP])
	t.HandlerReturned()
	return 0, task.ENoReturn
}

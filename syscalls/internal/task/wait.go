package task

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// WaitChild waits for an event of a child that match accepts, as wait4(2) and waitid(2) do, and ends the call with what
// found returns for it. With WNOHANG and no event yet, found gets the zero ChildEvent.
func (t *Thread) WaitChild(match func(*Process) bool, options uint32, found func(ChildEvent) (uint64, linux.Errno)) (uint64, linux.Errno) {
	any := false
	for _, c := range t.Process.Children() {
		if !match(c) || options&linux.WALL == 0 && (options&linux.WCLONE != 0) == (c.exitSignal == linux.SIGCHLD) {
			continue
		}
		any = true
		if ev := c.event(options); ev.Process != nil {
			return found(ev)
		}
	}
	switch {
	case !any:
		return 0, linux.ECHILD
	case options&linux.WNOHANG != 0:
		return found(ChildEvent{})
	}
	return t.Block(Wait{children: true}, func() (uint64, linux.Errno) { return t.WaitChild(match, options, found) })
}

// ReapChild removes the zombie c after a wait for it, and adds its CPU time to WaitedFor. If c has not ended, nothing
// happens.
func (t *Thread) ReapChild(c *Process) {
	if !c.Exited {
		return
	}
	t.Process.WaitedFor = t.Process.WaitedFor.Plus(c.Usage()).Plus(c.WaitedFor)
	t.Kernel.reap(c)
}

// FinishWaitid ends waitid(2) with event ev, which has no process if there is none.
func (t *Thread) FinishWaitid(ev ChildEvent, options uint32, a uio.Args) (uint64, linux.Errno) {
	info := make([]byte, 28)
	if c := ev.Process; c != nil {
		linux.PutUint32(info, linux.SIGCHLD)
		linux.PutUint32(info[8:], uint32(ev.code))
		linux.PutUint32(info[16:], uint32(c.PID))
		linux.PutUint32(info[20:], t.Kernel.UID)
		linux.PutUint32(info[24:], ev.value)
		if options&linux.WNOWAIT == 0 {
			t.ReapChild(c)
		}
		if e := t.CopyOutIf(a.Addr(4), Rusage(c.Usage().Plus(c.WaitedFor))); e != 0 {
			return 0, e
		}
	}
	return t.CopyOutWaitInfo(a.Addr(2), info, 0)
}

// CopyOutWaitInfo writes the siginfo_t of waitid(2) to at, if that is not null, and ends the call with e.
func (t *Thread) CopyOutWaitInfo(at emu.Addr, info []byte, e linux.Errno) (uint64, linux.Errno) {
	if at == 0 {
		return 0, e
	}
	if e := t.CopyOut(at, info[:12]); e != 0 {
		return 0, e
	}
	if e := t.CopyOut(at+16, info[16:]); e != 0 {
		return 0, e
	}
	return 0, e
}

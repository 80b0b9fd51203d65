package syscalls

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// waitChild finds a child of t's process that match accepts and of which there is something to tell, and waits for
// one. found ends the call: it gets no child if options say that it is not to wait.
func (t *Thread) waitChild(match func(*Process) bool, options uint32, found func(childEvent) (uint64, linux.Errno)) (uint64, linux.Errno) {
	any := false
	for _, c := range t.p.children() {
		if !match(c) || options&linux.WALL == 0 && (options&linux.WCLONE != 0) == (c.exitSignal == linux.SIGCHLD) {
			continue
		}
		any = true
		if ev := c.event(options); ev.p != nil {
			return found(ev)
		}
	}
	switch {
	case !any:
		return 0, linux.ECHILD
	case options&linux.WNOHANG != 0:
		return found(childEvent{})
	}
	return t.block(wait{children: true}, func() (uint64, linux.Errno) { return t.waitChild(match, options, found) })
}

// collect ends c's time as a zombie, if it is one, after a wait for it.
func (t *Thread) collect(c *Process) {
	if !c.exited {
		return
	}
	t.p.waitedFor = t.p.waitedFor.plus(c.usage()).plus(c.waitedFor)
	t.k.reap(c)
}

// sysWait4 implements wait4(2).
func sysWait4(t *Thread, a Args) (uint64, linux.Errno) {
	pid, options := a.Int(0), a.U32(2)
	if options&^(linux.WNOHANG|linux.WSTOPPED|linux.WCONTINUED|linux.WNOTHREAD|linux.WALL|linux.WCLONE) != 0 {
		return 0, linux.EINVAL
	}
	if pid == -1<<31 {
		return 0, linux.ESRCH
	}
	own := t.p.pgid
	match := func(c *Process) bool {
		switch {
		case pid == -1:
			return true
		case pid == 0:
			return c.pgid == own
		case pid < 0:
			return c.pgid == -pid
		}
		return c.pid == pid
	}
	return t.waitChild(match, options|linux.WEXITED, func(ev childEvent) (uint64, linux.Errno) {
		c := ev.p
		if c == nil {
			return 0, 0
		}
		t.collect(c)
		if a.Addr(1) != 0 {
			if e := t.out32(a.Addr(1), ev.status); e != 0 {
				return 0, e
			}
		}
		return uint64(c.pid), t.copyOutIf(a.Addr(3), rusage(c.usage().plus(c.waitedFor)))
	})
}

// sysWaitid implements waitid(2).
func sysWaitid(t *Thread, a Args) (uint64, linux.Errno) {
	id, options := a.Int(1), a.U32(3)
	if options&^(linux.WNOHANG|linux.WNOWAIT|linux.WEXITED|linux.WSTOPPED|linux.WCONTINUED|linux.WNOTHREAD|linux.WALL|linux.WCLONE) != 0 ||
		options&(linux.WEXITED|linux.WSTOPPED|linux.WCONTINUED) == 0 {
		return t.finishWaitid(a.Addr(2), make([]byte, 28), linux.EINVAL)
	}
	match, e := t.waitMatch(a.Int(0), id)
	if e != 0 {
		return t.finishWaitid(a.Addr(2), make([]byte, 28), e)
	}
	mayWait := true
	if a.Int(0) == linux.P_PIDFD && options&linux.WNOHANG == 0 {
		if f, e := t.pidFile(id); e == 0 && f.nonblock() {
			options, mayWait = options|linux.WNOHANG, false
		}
	}
	ret, e := t.waitChild(match, options, func(ev childEvent) (uint64, linux.Errno) {
		if ev.p == nil && !mayWait {
			return 0, linux.EAGAIN
		}
		return t.tellChild(ev, options, a)
	})
	return t.then(ret, e, func(ret uint64, e linux.Errno) (uint64, linux.Errno) {
		if e == linux.ECHILD || e == linux.EAGAIN {
			return t.finishWaitid(a.Addr(2), make([]byte, 28), e)
		}
		return ret, e
	})
}

// tellChild ends waitid(2) with ev.
func (t *Thread) tellChild(ev childEvent, options uint32, a Args) (uint64, linux.Errno) {
	info := make([]byte, 28)
	if c := ev.p; c != nil {
		put32(info, linux.SIGCHLD)
		put32(info[8:], uint32(ev.code))
		put32(info[16:], uint32(c.pid))
		put32(info[20:], t.k.uid)
		put32(info[24:], ev.value)
		if options&linux.WNOWAIT == 0 {
			t.collect(c)
		}
		if e := t.copyOutIf(a.Addr(4), rusage(c.usage().plus(c.waitedFor))); e != 0 {
			return 0, e
		}
	}
	return t.finishWaitid(a.Addr(2), info, 0)
}

// finishWaitid writes what waitid(2) tells: nothing, in as many bytes, if there is an error.
func (t *Thread) finishWaitid(at emu.Addr, info []byte, e linux.Errno) (uint64, linux.Errno) {
	if at == 0 {
		return 0, e
	}
	if e := t.copyOut(at, info[:12]); e != 0 {
		return 0, e
	}
	if e := t.copyOut(at+16, info[16:]); e != 0 {
		return 0, e
	}
	return 0, e
}

// waitMatch returns which children waitid's first two arguments mean.
func (t *Thread) waitMatch(kind, id int) (func(*Process) bool, linux.Errno) {
	switch {
	case kind == linux.P_ALL:
		return func(*Process) bool { return true }, 0
	case kind == linux.P_PID && id > 0:
		return func(c *Process) bool { return c.pid == id }, 0
	case kind == linux.P_PGID && id >= 0:
		if id == 0 {
			id = t.p.pgid
		}
		return func(c *Process) bool { return c.pgid == id }, 0
	case kind == linux.P_PIDFD && id >= 0:
		f, e := t.pidFile(id)
		if e != 0 {
			return nil, e
		}
		return func(c *Process) bool { return c == f.p }, 0
	}
	return nil, linux.EINVAL
}

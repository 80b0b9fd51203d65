package syscalls

import (
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// sysWait4 implements wait4(2).
func sysWait4(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	pid, options := a.Int(0), a.U32(2)
	if options&^(linux.WNOHANG|linux.WSTOPPED|linux.WCONTINUED|linux.WNOTHREAD|linux.WALL|linux.WCLONE) != 0 {
		return 0, linux.EINVAL
	}
	if pid == -1<<31 {
		return 0, linux.ESRCH
	}
	own := t.Process.PGID
	match := func(c *task.Process) bool {
		switch {
		case pid == -1:
			return true
		case pid == 0:
			return c.PGID == own
		case pid < 0:
			return c.PGID == -pid
		}
		return c.PID == pid
	}
	return t.WaitChild(match, options|linux.WEXITED, func(ev task.ChildEvent) (uint64, linux.Errno) {
		c := ev.Process
		if c == nil {
			return 0, 0
		}
		t.ReapChild(c)
		if a.Addr(1) != 0 {
			if e := t.Out32(a.Addr(1), ev.Status); e != 0 {
				return 0, e
			}
		}
		return uint64(c.PID), t.CopyOutIf(a.Addr(3), task.Rusage(c.Usage().Plus(c.WaitedFor)))
	})
}

// sysWaitid implements waitid(2).
func sysWaitid(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	id, options := a.Int(1), a.U32(3)
	if options&^(linux.WNOHANG|linux.WNOWAIT|linux.WEXITED|linux.WSTOPPED|linux.WCONTINUED|linux.WNOTHREAD|linux.WALL|linux.WCLONE) != 0 ||
		options&(linux.WEXITED|linux.WSTOPPED|linux.WCONTINUED) == 0 {
		return t.CopyOutWaitInfo(a.Addr(2), make([]byte, 28), linux.EINVAL)
	}
	match, e := waitMatch(t, a.Int(0), id)
	if e != 0 {
		return t.CopyOutWaitInfo(a.Addr(2), make([]byte, 28), e)
	}
	mayWait := true
	if a.Int(0) == linux.P_PIDFD && options&linux.WNOHANG == 0 {
		if f, e := getPidFile(t, id); e == 0 && f.Nonblock() {
			options, mayWait = options|linux.WNOHANG, false
		}
	}
	ret, e := t.WaitChild(match, options, func(ev task.ChildEvent) (uint64, linux.Errno) {
		if ev.Process == nil && !mayWait {
			return 0, linux.EAGAIN
		}
		return t.FinishWaitid(ev, options, a)
	})
	return t.Then(ret, e, func(ret uint64, e linux.Errno) (uint64, linux.Errno) {
		if e == linux.ECHILD || e == linux.EAGAIN {
			return t.CopyOutWaitInfo(a.Addr(2), make([]byte, 28), e)
		}
		return ret, e
	})
}

// waitMatch returns which children the first two arguments of waitid(2) select.
func waitMatch(t *task.Thread, kind, id int) (func(*task.Process) bool, linux.Errno) {
	switch {
	case kind == linux.P_ALL:
		return func(*task.Process) bool { return true }, 0
	case kind == linux.P_PID && id > 0:
		return func(c *task.Process) bool { return c.PID == id }, 0
	case kind == linux.P_PGID && id >= 0:
		if id == 0 {
			id = t.Process.PGID
		}
		return func(c *task.Process) bool { return c.PGID == id }, 0
	case kind == linux.P_PIDFD && id >= 0:
		f, e := getPidFile(t, id)
		if e != 0 {
			return nil, e
		}
		return func(c *task.Process) bool { return c == f.Process }, 0
	}
	return nil, linux.EINVAL
}

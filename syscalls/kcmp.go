package syscalls

import (
	"cmp"

	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/ipc"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// sysKcmp implements kcmp(2): 0 if two threads share something, else 1 or 2 for which is the lesser. Linux orders by
// hidden addresses; here the ids decide by which they were asked for.
func sysKcmp(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	o, r := t.Kernel.Task(-1, a.Int(0)), t.Kernel.Task(-1, a.Int(1))
	if o == nil || r == nil {
		return 0, linux.ESRCH
	}
	p, q := o.Process, r.Process
	same, first, second := false, a.Int(0), a.Int(1)
	switch a.Int(2) {
	case linux.KCMP_FILE:
		if o.Dead || r.Dead {
			return 0, linux.EBADF
		}
		f, e := files.Of(o).FDs.File(a.Int(3))
		if e != 0 {
			return 0, e
		}
		g, e := files.Of(r).FDs.File(a.Int(4))
		if e != 0 {
			return 0, e
		}
		same = f == g
		if o == r {
			first, second = a.Int(3), a.Int(4)
		}
	case linux.KCMP_VM:
		same = o.Dead == r.Dead && (o.Dead || p.Machine == q.Machine)
	case linux.KCMP_FILES:
		same = files.Of(o).FDs == files.Of(r).FDs
	case linux.KCMP_FS:
		same = files.Of(o).FSInfo == files.Of(r).FSInfo
	case linux.KCMP_SIGHAND:
		same = p.Signals == q.Signals
	case linux.KCMP_IO: // who has none has the same as others who have none, here and below
		same = o.Sched.IO == r.Sched.IO
	case linux.KCMP_SYSVSEM:
		same = ipc.NamespaceOf(t.Kernel).SharesUndo(p, q)
	default:
		return 0, linux.EINVAL
	}
	switch {
	case same:
		return 0, 0
	case cmp.Less(first, second):
		return 1, 0
	}
	return 2, 0
}

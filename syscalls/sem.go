package syscalls

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/ipc"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// sysSemget implements semget(2).
func sysSemget(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	n := a.Int(1)
	if n < 0 || n > ipc.SemsMax {
		return 0, linux.EINVAL
	}
	return ipc.NamespaceOf(t.Kernel).Sem.Get(t, a.Int(0), a.Int(2), ipc.MaxSem, func(s *ipc.SemSet) bool { return n <= len(s.Values) },
		func(o ipc.Object) (*ipc.SemSet, linux.Errno) {
			if n == 0 {
				return nil, linux.EINVAL
			}
			return &ipc.SemSet{Object: o, Values: make([]int, n), Pids: make([]int, n), Undo: map[*ipc.UndoList][]int{}}, 0
		})
}

// sysSemop implements semop(2).
func sysSemop(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	setDeadline(t, -1)
	return ipc.Semop(t, a.Int(0), a.Addr(1), a.U32(2))
}

// sysSemtimedop implements semtimedop(2).
func sysSemtimedop(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	d := int64(-1)
	if a.Addr(3) != 0 {
		var e linux.Errno
		if d, e = t.Timespec(a.Addr(3)); e != 0 {
			return 0, e
		}
	}
	setDeadline(t, d)
	return ipc.Semop(t, a.Int(0), a.Addr(1), a.U32(2))
}

// sysSemctl implements semctl(2).
func sysSemctl(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	id, num, cmd, arg := a.Int(0), a.Int(1), a.Int(2), a.Addr(3)
	if id < 0 {
		return 0, linux.EINVAL
	}
	x := &ipc.NamespaceOf(t.Kernel).Sem
	switch cmd {
	case linux.IPC_INFO, linux.SEM_INFO:
		used, total := 0, 0
		if cmd == linux.SEM_INFO {
			used = len(x.List)
			for _, s := range x.List {
				total += len(s.Values)
			}
		}
		var b linux.Pack
		for _, n := range []int{1024000000, ipc.SemsMax, 1024000000, 1024000000, ipc.SemsMax, ipc.SemopsMax, ipc.SemopsMax, used, ipc.SemMax, total} {
			b.U32(uint32(n))
		}
		if cmd == linux.IPC_INFO {
			linux.PutUint32(b[28:], 20)
			linux.PutUint32(b[36:], ipc.SemMax)
		}
		return x.Last(), t.CopyOut(arg, b)
	case linux.SEM_STAT:
		return x.Stat(t, x.At, id, ipc.Read, arg)
	case linux.SEM_STAT_ANY:
		return x.Stat(t, x.At, id, 0, arg)
	case linux.IPC_STAT:
		_, e := x.Stat(t, x.Find, id, ipc.Read, arg)
		return 0, e
	case linux.SETVAL:
		return 0, setSem(t, id, num, a.Int(3))
	}
	s, e := x.Find(id)
	if e != 0 {
		return 0, e
	}
	switch cmd {
	case linux.IPC_SET:
		return 0, s.SetPermissions(t, arg)
	case linux.IPC_RMID:
		x.Remove(id)
		return 0, 0
	case linux.GETALL, linux.SETALL:
		return semAll(t, s, cmd, arg)
	case linux.GETVAL, linux.GETPID, linux.GETNCNT, linux.GETZCNT:
		if e := s.Allows(ipc.Read); e != 0 {
			return 0, e
		}
		if num < 0 || num >= len(s.Values) {
			return 0, linux.EINVAL
		}
		return s.Query(t.Kernel, num, cmd), 0
	}
	return 0, linux.EINVAL
}

// setSem is SETVAL. It checks its arguments in another order than the other commands, as Linux does.
func setSem(t *task.Thread, id, num, val int) linux.Errno {
	if val < 0 || val > ipc.SemMax {
		return linux.ERANGE
	}
	s, e := ipc.NamespaceOf(t.Kernel).Sem.Find(id)
	if e != 0 {
		return e
	}
	if num < 0 || num >= len(s.Values) {
		return linux.EINVAL
	}
	if e := s.Allows(ipc.Write); e != 0 {
		return e
	}
	s.Values[num], s.Pids[num], s.Ctime = val, t.Process.PID, t.Kernel.Wall()/1e9
	for _, u := range s.Undo {
		u[num] = 0
	}
	return 0
}

// semAll is GETALL and SETALL.
func semAll(t *task.Thread, s *ipc.SemSet, cmd int, at emu.Addr) (uint64, linux.Errno) {
	if cmd == linux.GETALL {
		if e := s.Allows(ipc.Read); e != 0 {
			return 0, e
		}
		var b linux.Pack
		for _, v := range s.Values {
			b.U16(uint16(v))
		}
		return 0, t.CopyOut(at, b)
	}
	if e := s.Allows(ipc.Write); e != 0 {
		return 0, e
	}
	b, e := t.CopyIn(at, 2*len(s.Values))
	if e != 0 {
		return 0, e
	}
	for i := range s.Values {
		if linux.Uint16(b[2*i:]) > ipc.SemMax {
			return 0, linux.ERANGE
		}
	}
	for i := range s.Values {
		s.Values[i], s.Pids[i] = int(linux.Uint16(b[2*i:])), t.Process.PID
	}
	s.Ctime = t.Kernel.Wall() / 1e9
	clear(s.Undo)
	return 0, 0
}

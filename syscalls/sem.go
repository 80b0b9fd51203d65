package syscalls

import (
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// Limits of System V semaphores (include/uapi/linux/sem.h).
const (
	semMax    = 32767 // SEMVMX
	semsMax   = 32000 // SEMMSL
	semopsMax = 500   // SEMOPM
)

// A semSet is a set of semaphores.
type semSet struct {
	ipcObject
	values []int
	pids   []int
	otime  int64
	// undo is what is added to the values when a process ends.
	undo map[*Process][]int
}

// A semOp is a struct sembuf.
type semOp struct{ num, op, flags int }

// A semWait is what a thread waits for that semop(2) holds up.
type semWait struct {
	set *semSet
	ops []semOp
}

// sysSemget implements semget(2).
func sysSemget(t *Thread, a Args) (uint64, linux.Errno) {
	n := a.Int(1)
	if n < 0 || n > semsMax {
		return 0, linux.EINVAL
	}
	return ipcOf(t.k).sem.get(t, a.Int(0), a.Int(2), func(s *semSet) bool { return n <= len(s.values) },
		func(o ipcObject) (*semSet, linux.Errno) {
			if n == 0 {
				return nil, linux.EINVAL
			}
			return &semSet{ipcObject: o, values: make([]int, n), pids: make([]int, n), undo: map[*Process][]int{}}, 0
		})
}

// blocked returns the first of ops that cannot be done, -1 if all can; e is ERANGE if one never can.
func (s *semSet) blocked(ops []semOp) (at int, e linux.Errno) {
	v := slices.Clone(s.values)
	for i, o := range ops {
		switch {
		case o.op == 0 && v[o.num] != 0, o.op < 0 && v[o.num]+o.op < 0:
			return i, 0
		case v[o.num]+o.op > semMax:
			return i, linux.ERANGE
		}
		v[o.num] += o.op
	}
	return -1, 0
}

// do does ops for p.
func (s *semSet) do(p *Process, ops []semOp) {
	for _, o := range ops {
		s.values[o.num] += o.op
		s.pids[o.num] = p.pid
		if o.flags&linux.SEM_UNDO != 0 && o.op != 0 {
			if s.undo[p] == nil {
				s.undo[p] = make([]int, len(s.values))
			}
			s.undo[p][o.num] -= o.op
		}
	}
	s.otime = p.k.wall() / 1e9
}

// ended takes back what p did with SEM_UNDO.
func (n *ipcSpace) ended(p *Process) {
	for _, s := range n.sem.list {
		for i, d := range s.undo[p] {
			if d != 0 {
				s.values[i] = min(max(s.values[i]+d, 0), semMax)
				s.pids[i] = p.pid
			}
		}
		delete(s.undo, p)
	}
}

// sysSemop implements semop(2).
func sysSemop(t *Thread, a Args) (uint64, linux.Errno) {
	t.setDeadline(-1)
	return t.semop(a.Int(0), a.Addr(1), a.U32(2))
}

// sysSemtimedop implements semtimedop(2).
func sysSemtimedop(t *Thread, a Args) (uint64, linux.Errno) {
	d := int64(-1)
	if a.Addr(3) != 0 {
		var e linux.Errno
		if d, e = t.timespec(a.Addr(3)); e != 0 {
			return 0, e
		}
	}
	t.setDeadline(d)
	return t.semop(a.Int(0), a.Addr(1), a.U32(2))
}

func (t *Thread) semop(id int, at emu.Addr, n uint32) (uint64, linux.Errno) {
	switch {
	case n < 1 || id < 0:
		return 0, linux.EINVAL
	case n > semopsMax:
		return 0, linux.E2BIG
	}
	b, e := t.copyIn(at, int(n)*6)
	if e != 0 {
		return 0, e
	}
	s, e := ipcOf(t.k).sem.find(id)
	if e != 0 {
		return 0, e
	}
	want := uint32(ipcRead)
	ops := make([]semOp, n)
	for i := range ops {
		x := b[i*6:]
		ops[i] = semOp{int(le16(x)), int(int16(le16(x[2:]))), int(le16(x[4:]))}
		if ops[i].num >= len(s.values) {
			return 0, linux.EFBIG
		}
		if ops[i].op != 0 {
			want = ipcWrite
		}
	}
	if e := s.allows(want); e != 0 {
		return 0, e
	}
	return t.operate(s, ops)
}

// operate does all of ops, and waits until that can be done.
func (t *Thread) operate(s *semSet, ops []semOp) (uint64, linux.Errno) {
	i, e := s.blocked(ops)
	switch {
	case s.removed:
		return 0, linux.EIDRM
	case e != 0:
		return 0, e
	case i < 0:
		s.do(t.p, ops)
		return 0, 0
	case ops[i].flags&linux.IPC_NOWAIT != 0, t.timedOut():
		return 0, linux.EAGAIN
	}
	w := wait{deadline: t.call.deadline, interrupted: linux.EINTR, on: &semWait{s, ops}}
	w.ready = func() bool {
		i, e := s.blocked(ops)
		return s.removed || i < 0 || e != 0
	}
	return t.block(w, func() (uint64, linux.Errno) { return t.operate(s, ops) })
}

// waiters counts the threads that wait for semaphore num to become zero, or to be raised.
func (s *semSet) waiters(k *Kernel, num int, zero bool) uint64 {
	var n uint64
	for _, t := range k.waiting {
		w, _ := t.call.wait.on.(*semWait)
		if w == nil || w.set != s {
			continue
		}
		if i, _ := s.blocked(w.ops); i >= 0 && w.ops[i].num == num && (w.ops[i].op == 0) == zero {
			n++
		}
	}
	return n
}

// sysSemctl implements semctl(2).
func sysSemctl(t *Thread, a Args) (uint64, linux.Errno) {
	id, num, cmd, arg := a.Int(0), a.Int(1), a.Int(2), a.Addr(3)
	if id < 0 {
		return 0, linux.EINVAL
	}
	x := &ipcOf(t.k).sem
	switch cmd {
	case linux.IPC_INFO, linux.SEM_INFO:
		used, total := 0, 0
		if cmd == linux.SEM_INFO {
			used = len(x.list)
			for _, s := range x.list {
				total += len(s.values)
			}
		}
		var b pack
		for _, n := range []int{1024000000, semsMax, 1024000000, 1024000000, semsMax, semopsMax, semopsMax, used, semMax, total} {
			b.u32(uint32(n))
		}
		if cmd == linux.IPC_INFO {
			put32(b[28:], 20)
			put32(b[36:], semMax)
		}
		return x.last(), t.copyOut(arg, b)
	case linux.SEM_STAT:
		return x.stat(t, x.at, id, ipcRead, arg)
	case linux.SEM_STAT_ANY:
		return x.stat(t, x.at, id, 0, arg)
	case linux.IPC_STAT:
		_, e := x.stat(t, x.find, id, ipcRead, arg)
		return 0, e
	case linux.SETVAL:
		return 0, t.setSem(id, num, a.Int(3))
	}
	s, e := x.find(id)
	if e != 0 {
		return 0, e
	}
	switch cmd {
	case linux.IPC_SET:
		return 0, s.set(t, arg)
	case linux.IPC_RMID:
		x.remove(id)
		return 0, 0
	case linux.GETALL, linux.SETALL:
		return t.semAll(s, cmd, arg)
	case linux.GETVAL, linux.GETPID, linux.GETNCNT, linux.GETZCNT:
		if e := s.allows(ipcRead); e != 0 {
			return 0, e
		}
		if num < 0 || num >= len(s.values) {
			return 0, linux.EINVAL
		}
		return s.about(t.k, num, cmd), 0
	}
	return 0, linux.EINVAL
}

// about answers a question about one semaphore.
func (s *semSet) about(k *Kernel, num, cmd int) uint64 {
	switch cmd {
	case linux.GETVAL:
		return uint64(s.values[num])
	case linux.GETPID:
		return uint64(s.pids[num])
	}
	return s.waiters(k, num, cmd == linux.GETZCNT)
}

// setSem sets one semaphore: SETVAL. The order of its checks is Linux's, and not that of the other commands.
func (t *Thread) setSem(id, num, val int) linux.Errno {
	if val < 0 || val > semMax {
		return linux.ERANGE
	}
	s, e := ipcOf(t.k).sem.find(id)
	if e != 0 {
		return e
	}
	if num < 0 || num >= len(s.values) {
		return linux.EINVAL
	}
	if e := s.allows(ipcWrite); e != 0 {
		return e
	}
	s.values[num], s.pids[num], s.ctime = val, t.p.pid, t.k.wall()/1e9
	for _, u := range s.undo {
		u[num] = 0
	}
	return 0
}

// semAll reads or sets all values.
func (t *Thread) semAll(s *semSet, cmd int, at emu.Addr) (uint64, linux.Errno) {
	if cmd == linux.GETALL {
		if e := s.allows(ipcRead); e != 0 {
			return 0, e
		}
		var b pack
		for _, v := range s.values {
			b.u16(uint16(v))
		}
		return 0, t.copyOut(at, b)
	}
	if e := s.allows(ipcWrite); e != 0 {
		return 0, e
	}
	b, e := t.copyIn(at, 2*len(s.values))
	if e != 0 {
		return 0, e
	}
	for i := range s.values {
		if le16(b[2*i:]) > semMax {
			return 0, linux.ERANGE
		}
	}
	for i := range s.values {
		s.values[i], s.pids[i] = int(le16(b[2*i:])), t.p.pid
	}
	s.ctime = t.k.wall() / 1e9
	clear(s.undo)
	return 0, 0
}

// encode is struct semid64_ds (arch/x86/include/uapi/asm/sembuf.h).
func (s *semSet) encode(k *Kernel) []byte {
	b := s.permissions(k)
	b.i64(s.otime)
	b.u64(0)
	b.i64(s.ctime)
	b.u64(0)
	b.u64(uint64(len(s.values)))
	b.zero(16)
	return b
}

package syscalls

import (
	"slices"

	"github.com/cgemu/cgemu/emu"
)

// Flags, commands and limits of System V semaphores (include/uapi/linux/sem.h).
const (
	semUndo = 0o10000

	semGetpid  = 11
	semGetval  = 12
	semGetall  = 13
	semGetncnt = 14
	semGetzcnt = 15
	semSetval  = 16
	semSetall  = 17
	semStat    = 18
	semInfo    = 19
	semStatAny = 20

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
func sysSemget(t *Thread, a Args) (uint64, Errno) {
	n := a.Int(1)
	if n < 0 || n > semsMax {
		return 0, EINVAL
	}
	return t.k.sem.get(t, a.Int(0), a.Int(2), func(s *semSet) bool { return n <= len(s.values) },
		func(o ipcObject) (*semSet, Errno) {
			if n == 0 {
				return nil, EINVAL
			}
			return &semSet{ipcObject: o, values: make([]int, n), pids: make([]int, n), undo: map[*Process][]int{}}, 0
		})
}

// blocked returns the first of ops that cannot be done, -1 if all can; e is ERANGE if one never can.
func (s *semSet) blocked(ops []semOp) (at int, e Errno) {
	v := slices.Clone(s.values)
	for i, o := range ops {
		switch {
		case o.op == 0 && v[o.num] != 0, o.op < 0 && v[o.num]+o.op < 0:
			return i, 0
		case v[o.num]+o.op > semMax:
			return i, ERANGE
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
		if o.flags&semUndo != 0 && o.op != 0 {
			if s.undo[p] == nil {
				s.undo[p] = make([]int, len(s.values))
			}
			s.undo[p][o.num] -= o.op
		}
	}
	s.otime = p.k.wall() / 1e9
}

// undoSems takes back what p did with SEM_UNDO.
func (k *Kernel) undoSems(p *Process) {
	for _, s := range k.sem.list {
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
func sysSemop(t *Thread, a Args) (uint64, Errno) {
	t.setDeadline(-1)
	return t.semop(a.Int(0), a.Addr(1), a.U32(2))
}

// sysSemtimedop implements semtimedop(2).
func sysSemtimedop(t *Thread, a Args) (uint64, Errno) {
	d := int64(-1)
	if a.Addr(3) != 0 {
		var e Errno
		if d, e = t.timespec(a.Addr(3)); e != 0 {
			return 0, e
		}
	}
	t.setDeadline(d)
	return t.semop(a.Int(0), a.Addr(1), a.U32(2))
}

func (t *Thread) semop(id int, at emu.Addr, n uint32) (uint64, Errno) {
	switch {
	case n < 1 || id < 0:
		return 0, EINVAL
	case n > semopsMax:
		return 0, E2BIG
	}
	b, e := t.copyIn(at, int(n)*6)
	if e != 0 {
		return 0, e
	}
	s, e := t.k.sem.find(id)
	if e != 0 {
		return 0, e
	}
	want := uint32(ipcRead)
	ops := make([]semOp, n)
	for i := range ops {
		x := b[i*6:]
		ops[i] = semOp{int(le16(x)), int(int16(le16(x[2:]))), int(le16(x[4:]))}
		if ops[i].num >= len(s.values) {
			return 0, EFBIG
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
func (t *Thread) operate(s *semSet, ops []semOp) (uint64, Errno) {
	i, e := s.blocked(ops)
	switch {
	case s.removed:
		return 0, EIDRM
	case e != 0:
		return 0, e
	case i < 0:
		s.do(t.p, ops)
		return 0, 0
	case ops[i].flags&ipcNowait != 0, t.timedOut():
		return 0, EAGAIN
	}
	w := wait{deadline: t.call.deadline, interrupted: EINTR, sem: &semWait{s, ops}}
	w.ready = func() bool {
		i, e := s.blocked(ops)
		return s.removed || i < 0 || e != 0
	}
	return t.block(w, func() (uint64, Errno) { return t.operate(s, ops) })
}

// waiters counts the threads that wait for semaphore num to become zero, or to be raised.
func (s *semSet) waiters(k *Kernel, num int, zero bool) uint64 {
	var n uint64
	for _, t := range k.waiting {
		w := t.call.wait.sem
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
func sysSemctl(t *Thread, a Args) (uint64, Errno) {
	id, num, cmd, arg := a.Int(0), a.Int(1), a.Int(2), a.Addr(3)
	if id < 0 {
		return 0, EINVAL
	}
	x := &t.k.sem
	switch cmd {
	case ipcInfo, semInfo:
		used, total := 0, 0
		if cmd == semInfo {
			used = len(x.list)
			for _, s := range x.list {
				total += len(s.values)
			}
		}
		var b pack
		for _, n := range []int{1024000000, semsMax, 1024000000, 1024000000, semsMax, semopsMax, semopsMax, used, semMax, total} {
			b.u32(uint32(n))
		}
		if cmd == ipcInfo {
			put32(b[28:], 20)
			put32(b[36:], semMax)
		}
		return x.last(), t.copyOut(arg, b)
	case semStat:
		return x.stat(t, x.at, id, ipcRead, arg)
	case semStatAny:
		return x.stat(t, x.at, id, 0, arg)
	case ipcStat:
		_, e := x.stat(t, x.find, id, ipcRead, arg)
		return 0, e
	case semSetval:
		return 0, t.setSem(id, num, a.Int(3))
	}
	s, e := x.find(id)
	if e != 0 {
		return 0, e
	}
	switch cmd {
	case ipcSet:
		return 0, s.set(t, arg)
	case ipcRmid:
		x.remove(id)
		return 0, 0
	case semGetall, semSetall:
		return t.semAll(s, cmd, arg)
	case semGetval, semGetpid, semGetncnt, semGetzcnt:
		if e := s.allows(ipcRead); e != 0 {
			return 0, e
		}
		if num < 0 || num >= len(s.values) {
			return 0, EINVAL
		}
		return s.about(t.k, num, cmd), 0
	}
	return 0, EINVAL
}

// about answers a question about one semaphore.
func (s *semSet) about(k *Kernel, num, cmd int) uint64 {
	switch cmd {
	case semGetval:
		return uint64(s.values[num])
	case semGetpid:
		return uint64(s.pids[num])
	}
	return s.waiters(k, num, cmd == semGetzcnt)
}

// setSem sets one semaphore: SETVAL. The order of its checks is Linux's, and not that of the other commands.
func (t *Thread) setSem(id, num, val int) Errno {
	if val < 0 || val > semMax {
		return ERANGE
	}
	s, e := t.k.sem.find(id)
	if e != 0 {
		return e
	}
	if num < 0 || num >= len(s.values) {
		return EINVAL
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
func (t *Thread) semAll(s *semSet, cmd int, at emu.Addr) (uint64, Errno) {
	if cmd == semGetall {
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
			return 0, ERANGE
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

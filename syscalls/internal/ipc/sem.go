package ipc

import (
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
)

// Limits of System V semaphores (include/uapi/linux/sem.h).
const (
	SemMax    = 32767 // SEMVMX
	SemsMax   = 32000 // SEMMSL
	SemopsMax = 500   // SEMOPM
)

// A SemSet is a set of semaphores.
type SemSet struct {
	Object
	// Values are the semaphores, Pids the processes that changed them last.
	Values []int
	Pids   []int
	// Otime is when semop(2) last succeeded, in seconds since 1970.
	Otime int64
	// Undo has, for lists of those who used SEM_UNDO, what is added to each value when they end.
	Undo map[*UndoList][]int
}

// An UndoList stands for the processes that share what they do with SEM_UNDO. A process has one as soon as it uses
// SEM_UNDO, or makes a thread or a process with CLONE_SYSVSEM.
type UndoList struct{ users int }

// A semOp is a struct sembuf.
type semOp struct{ num, op, flags int }

// A semWait is what a thread waits for in semop(2): it is its Wait.On, so that waiters can be counted.
type semWait struct {
	set *SemSet
	ops []semOp
}

// blocked is the index of the first of ops that has to wait, -1 if all can be done. e is ERANGE if one would make a
// value too large.
func (s *SemSet) blocked(ops []semOp) (at int, e linux.Errno) {
	v := slices.Clone(s.Values)
	for i, o := range ops {
		switch {
		case o.op == 0 && v[o.num] != 0, o.op < 0 && v[o.num]+o.op < 0:
			return i, 0
		case v[o.num]+o.op > SemMax:
			return i, linux.ERANGE
		}
		v[o.num] += o.op
	}
	return -1, 0
}

// do does ops, which are not blocked, for p.
func (s *SemSet) do(p *task.Process, ops []semOp) {
	for _, o := range ops {
		s.Values[o.num] += o.op
		s.Pids[o.num] = p.PID
		if o.flags&linux.SEM_UNDO != 0 && o.op != 0 {
			l := NamespaceOf(p.Kernel).undoList(p)
			if s.Undo[l] == nil {
				s.Undo[l] = make([]int, len(s.Values))
			}
			s.Undo[l][o.num] -= o.op
		}
	}
	s.Otime = p.Kernel.Wall() / 1e9
}

// undoList returns p's list, which it makes if there is none.
func (n *Namespace) undoList(p *task.Process) *UndoList {
	if n.undo[p] == nil {
		n.undo[p] = &UndoList{users: 1}
	}
	return n.undo[p]
}

// SharesUndo reports whether two processes have the same list, or both have none.
func (n *Namespace) SharesUndo(p, q *task.Process) bool { return n.undo[p] == n.undo[q] }

// ShareUndo implements task.IPC.
func (n *Namespace) ShareUndo(p, q *task.Process) {
	if l := n.undoList(p); n.undo[q] != l {
		n.undo[q] = l
		l.users++
	}
}

// LeaveUndo implements task.IPC.
func (n *Namespace) LeaveUndo(p *task.Process) {
	l := n.undo[p]
	if l == nil {
		return
	}
	delete(n.undo, p)
	if l.users--; l.users > 0 {
		return
	}
	for _, s := range n.Sem.List {
		for i, d := range s.Undo[l] {
			if d != 0 {
				s.Values[i] = min(max(s.Values[i]+d, 0), SemMax)
				s.Pids[i] = p.PID
			}
		}
		delete(s.Undo, l)
	}
}

// Semop implements semop(2) with the n struct sembuf at at. It waits until t.Call.Deadline.
func Semop(t *task.Thread, id int, at emu.Addr, n uint32) (uint64, linux.Errno) {
	switch {
	case n < 1 || id < 0:
		return 0, linux.EINVAL
	case n > SemopsMax:
		return 0, linux.E2BIG
	}
	b, e := t.CopyIn(at, int(n)*6)
	if e != 0 {
		return 0, e
	}
	for i := range int(n) {
		if linux.Uint16(b[i*6+4:])&linux.SEM_UNDO != 0 {
			NamespaceOf(t.Kernel).undoList(t.Process) // whatever comes of the rest
		}
	}
	s, e := NamespaceOf(t.Kernel).Sem.Find(id)
	if e != 0 {
		return 0, e
	}
	want := uint32(Read)
	ops := make([]semOp, n)
	for i := range ops {
		x := b[i*6:]
		ops[i] = semOp{int(linux.Uint16(x)), int(int16(linux.Uint16(x[2:]))), int(linux.Uint16(x[4:]))}
		if ops[i].num >= len(s.Values) {
			return 0, linux.EFBIG
		}
		if ops[i].op != 0 {
			want = Write
		}
	}
	if e := s.Allows(want); e != 0 {
		return 0, e
	}
	return operate(t, s, ops)
}

// operate does all of ops at once, and waits until that is possible.
func operate(t *task.Thread, s *SemSet, ops []semOp) (uint64, linux.Errno) {
	i, e := s.blocked(ops)
	switch {
	case s.removed:
		return 0, linux.EIDRM
	case e != 0:
		return 0, e
	case i < 0:
		s.do(t.Process, ops)
		return 0, 0
	case ops[i].flags&linux.IPC_NOWAIT != 0, t.TimedOut():
		return 0, linux.EAGAIN
	}
	w := task.Wait{Deadline: t.Call.Deadline, OnSignal: linux.EINTR, On: &semWait{s, ops}}
	w.Ready = func() bool {
		i, e := s.blocked(ops)
		return s.removed || i < 0 || e != 0
	}
	return t.Block(w, func() (uint64, linux.Errno) { return operate(t, s, ops) })
}

// waiters counts the threads that wait for semaphore num to become zero or, if zero is false, to be raised.
func (s *SemSet) waiters(k *task.Kernel, num int, zero bool) uint64 {
	var n uint64
	for _, t := range k.Waiting {
		w, _ := t.Call.Wait.On.(*semWait)
		if w == nil || w.set != s {
			continue
		}
		if i, _ := s.blocked(w.ops); i >= 0 && w.ops[i].num == num && (w.ops[i].op == 0) == zero {
			n++
		}
	}
	return n
}

// Query answers GETVAL, GETPID, GETNCNT and GETZCNT of semctl(2).
func (s *SemSet) Query(k *task.Kernel, num, cmd int) uint64 {
	switch cmd {
	case linux.GETVAL:
		return uint64(s.Values[num])
	case linux.GETPID:
		return uint64(s.Pids[num])
	}
	return s.waiters(k, num, cmd == linux.GETZCNT)
}

// encode is struct semid64_ds (arch/x86/include/uapi/asm/sembuf.h).
func (s *SemSet) encode(k *task.Kernel) []byte {
	b := s.permissions(k)
	b.I64(s.Otime)
	b.U64(0)
	b.I64(s.Ctime)
	b.U64(0)
	b.U64(uint64(len(s.Values)))
	b.Zero(16)
	return b
}

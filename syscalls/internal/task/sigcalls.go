package task

import (
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

const SigSetSize = 8

// AwaitSignal takes a signal of want, and waits for one unless now is set.
func (t *Thread) AwaitSignal(want SigSet, info emu.Addr, now bool) (uint64, linux.Errno) {
	if s := t.Dequeue(want); s != nil {
		if info == 0 {
			return uint64(s.Signo), 0
		}
		return uint64(s.Signo), t.CopyOut(info, s.encode())
	}
	if now || t.TimedOut() {
		return 0, linux.EAGAIN
	}
	ready := func() bool { return (t.Pending.Set|t.Process.Pending.Set)&want != 0 }
	return t.Block(Wait{Ready: ready, signals: want, Deadline: t.Call.Deadline, Interrupted: linux.EINTR},
		func() (uint64, linux.Errno) { return t.AwaitSignal(want, info, now) })
}

// Thread finds a live thread of p.
func (p *Process) Thread(tid int) *Thread {
	if t := p.Kernel.Threads[tid]; t != nil && t.Process == p {
		return t
	}
	return nil
}

// FindThread finds a live thread by tid; tgid, if not -1, must be its process.
func (k *Kernel) FindThread(tgid, tid int) *Thread {
	t := k.Threads[tid]
	if t == nil || tgid != -1 && tgid != t.Process.PID {
		return nil
	}
	return t
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

// CopyInSigInfo reads a siginfo_t made by the program for another thread or process, to. Only to itself may a thread say that a
// signal is the kernel's, or of kill(2) or tgkill(2).
func (t *Thread) CopyInSigInfo(to, sig int, at emu.Addr) (*SigInfo, linux.Errno) {
	const size, expanded = 48, 128 // what Linux knows of a siginfo_t, and what it is
	b, e := t.CopyIn(at, size)
	if e != 0 {
		return nil, e
	}
	b = append(b, make([]byte, expanded-size)...)
	s := decodeSigInfo(b)
	s.Signo = int32(sig)
	if !knownLayout(sig, s.Code) {
		rest, e := t.CopyIn(at+size, expanded-size)
		if e == 0 && slices.ContainsFunc(rest, func(x byte) bool { return x != 0 }) {
			e = linux.E2BIG
		}
		if e != 0 {
			return nil, e
		}
	}
	if (s.Code >= 0 || s.Code == linux.SI_TKILL) && to != t.TID {
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

// Encode is s as a stack_t.
func (s *altStack) Encode(sp uint64) []byte {
	var b linux.Pack
	b.U64(s.sp)
	b.U32(s.state(sp))
	b.U32(0)
	b.U64(s.size)
	return b
}

func (t *Thread) SetAltStack(base uint64, flags uint32, size, sp uint64) linux.Errno {
	if t.Altstack.contains(sp) {
		return linux.EPERM
	}
	mode := flags &^ linux.SS_AUTODISARM
	if mode <= linux.SS_DISABLE && t.Altstack == (altStack{base, size, flags}) {
		return 0 // as it was, however small
	}
	switch mode {
	case linux.SS_DISABLE:
		t.Altstack = altStack{flags: flags}
		return 0
	case 0, linux.SS_ONSTACK:
	default:
		return linux.EINVAL
	}
	if size < minSigStack {
		return linux.ENOMEM
	}
	t.Altstack = altStack{base, size, flags}
	return 0
}

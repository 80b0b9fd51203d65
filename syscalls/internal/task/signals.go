package task

import (
	"math/bits"
	"slices"
	"strings"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// A SigSet is a set of signals: bit n-1 stands for signal n.
type SigSet uint64

// SigBit is the set of sig alone.
func SigBit(sig int) SigSet { return 1 << (sig - 1) }

// Has reports whether sig is in s.
func (s SigSet) Has(sig int) bool { return s&SigBit(sig) != 0 }

// String shows a set as strace does: by what is not in it if that is shorter.
func (s SigSet) String() string {
	not := ""
	if n := bits.OnesCount64(uint64(s)); n > 32 {
		not, s = "~", ^s
	}
	var names []string
	for sig := 1; sig <= linux.NSIG; sig++ {
		if s.Has(sig) {
			names = append(names, strings.TrimPrefix(linux.SignalName(sig), "SIG"))
		}
	}
	return not + "[" + strings.Join(names, " ") + "]"
}

// SigsOf is the set of sigs.
func SigsOf(sigs ...int) (s SigSet) {
	for _, n := range sigs {
		s |= SigBit(n)
	}
	return s
}

var (
	// Unblockable are the signals that cannot be masked, caught or ignored.
	Unblockable = SigsOf(linux.SIGKILL, linux.SIGSTOP)
	// Synchronous signals come from what a thread has just executed, and are taken first (kernel/signal.c,
	// SYNCHRONOUS_MASK).
	Synchronous = SigsOf(linux.SIGSEGV, linux.SIGBUS, linux.SIGILL, linux.SIGTRAP, linux.SIGFPE, linux.SIGSYS)
	// ignoredByDefault and stopping are the signals whose default action is not to kill, dumping those that kill with a
	// core dump.
	ignoredByDefault = SigsOf(linux.SIGCHLD, linux.SIGURG, linux.SIGWINCH, linux.SIGCONT)
	stopping         = SigsOf(linux.SIGSTOP, linux.SIGTSTP, linux.SIGTTIN, linux.SIGTTOU)
	dumping          = Synchronous | SigsOf(linux.SIGQUIT, linux.SIGABRT, linux.SIGXCPU, linux.SIGXFSZ)
)

// A SigAction says what a process does with a signal: struct sigaction of rt_sigaction(2).
type SigAction struct {
	Handler  uint64
	Flags    uint64
	Restorer uint64
	Mask     SigSet
}

// A sigTable has the actions of signals 1 to 64; entry 0 is not used.
type sigTable [linux.NSIG + 1]SigAction

// A SigInfo is a signal with what is known of its cause: a siginfo_t, and what the kernel itself keeps.
type SigInfo struct {
	Signo, Errno, Code int32
	// Fields are the bytes of the siginfo_t from offset 16 on. What they mean depends on Code.
	Fields [112]byte
	// Fault is the exception behind the signal, at rip; nil if it was sent.
	Fault *emu.Fault
	rip   emu.Addr
	// Timer is the POSIX timer that sent the signal, or nil.
	Timer *PosixTimer
	// preferred is the thread that takes a signal sent to its process, if it does not block it: the one that ran when a
	// timer expired.
	preferred *Thread
}

// encode is s as a siginfo_t.
func (s *SigInfo) encode() []byte {
	b := make(linux.Pack, 0, 128)
	b.U32(uint32(s.Signo))
	b.U32(uint32(s.Errno))
	b.U32(uint32(s.Code))
	b.U32(0)
	return append(b, s.Fields[:]...)
}

// decodeSigInfo is the inverse of encode.
func decodeSigInfo(b []byte) *SigInfo {
	s := &SigInfo{Signo: int32(linux.Uint32(b)), Errno: int32(linux.Uint32(b[4:])), Code: int32(linux.Uint32(b[8:]))}
	copy(s.Fields[:], b[16:128])
	return s
}

// InfoFromProcess is the signal that kill(2) and its kin send for process p.
func InfoFromProcess(p *Process, sig int, code int32) *SigInfo {
	s := &SigInfo{Signo: int32(sig), Code: code}
	linux.PutUint32(s.Fields[:], uint32(p.PID))
	linux.PutUint32(s.Fields[4:], p.Kernel.UID)
	return s
}

// A SigQueue has pending signals in order of arrival. Set always has the signals of infos.
type SigQueue struct {
	Set   SigSet
	infos []*SigInfo
}

// add queues s, and reports whether it did: a standard signal is pending once at most, except those of timers.
func (q *SigQueue) add(s *SigInfo) (added bool) {
	sig := int(s.Signo)
	if s.Timer == nil && sig < linux.SIGRTMIN && q.Set.Has(sig) {
		return false
	}
	q.Set |= SigBit(sig)
	q.infos = append(q.infos, s)
	if s.Timer != nil {
		s.Timer.queued = true
	}
	return true
}

// peek returns the first entry for sig, which is pending.
func (q *SigQueue) peek(sig int) *SigInfo {
	return q.infos[slices.IndexFunc(q.infos, func(s *SigInfo) bool { return int(s.Signo) == sig })]
}

// take removes and returns the first entry for sig, which is pending.
func (q *SigQueue) take(sig int) *SigInfo {
	s := q.peek(sig)
	q.remove(func(o *SigInfo) bool { return o == s })
	return s
}

// Drop removes all signals of set.
func (q *SigQueue) Drop(set SigSet) {
	q.remove(func(s *SigInfo) bool {
		if set.Has(int(s.Signo)) && s.Timer != nil {
			s.Timer.queued = false
		}
		return set.Has(int(s.Signo))
	})
}

// remove removes the entries that match accepts.
func (q *SigQueue) remove(match func(*SigInfo) bool) {
	q.infos = slices.DeleteFunc(q.infos, match)
	q.Set = 0
	for _, s := range q.infos {
		q.Set |= SigBit(int(s.Signo))
	}
}

// next is the signal of set that is delivered first: a synchronous one, then the lowest; 0 for none.
func (set SigSet) next() int {
	for _, s := range [...]SigSet{set & Synchronous, set} {
		for n := 1; s != 0 && n <= linux.NSIG; n++ {
			if s.Has(n) {
				return n
			}
		}
	}
	return 0
}

// Ignored reports whether sig would do nothing to p.
func (p *Process) Ignored(sig int) bool {
	h := p.Signals[sig].Handler
	return h == linux.SIG_IGN || h == linux.SIG_DFL && ignoredByDefault.Has(sig)
}

// Send queues s for p. One of the threads that do not block it will take it. EAGAIN says that the queue is full.
func (p *Process) Send(s *SigInfo) linux.Errno {
	sig := int(s.Signo)
	if p.Exited {
		return 0
	}
	target := p.receiver(s)
	if p.stopOrContinue(sig, target == nil) {
		return 0
	}
	if target != nil && p.Ignored(sig) {
		return 0
	}
	e := p.queue(&p.Pending, s)
	if target != nil && e == 0 {
		p.Kernel.interrupt(target)
	}
	return e
}

// Send queues s for t alone.
func (t *Thread) Send(s *SigInfo) linux.Errno {
	sig := int(s.Signo)
	if t.Dead || t.Process.stopOrContinue(sig, t.Mask.Has(sig)) || !t.Mask.Has(sig) && t.Process.Ignored(sig) {
		return 0
	}
	e := t.Process.queue(&t.Pending, s)
	if !t.Mask.Has(sig) && e == 0 {
		t.Kernel.interrupt(t)
	}
	return e
}

// firstUnblocked is the first live thread of p that does not block sig.
func (p *Process) firstUnblocked(sig int) *Thread {
	for _, t := range p.Threads {
		if !t.Dead && !t.Mask.Has(sig) {
			return t
		}
	}
	return nil
}

// receiver is the thread that takes s, a signal sent to p; nil if all block it.
func (p *Process) receiver(s *SigInfo) *Thread {
	if t := s.preferred; t != nil && !t.Dead && t.Process == p && !t.Mask.Has(int(s.Signo)) {
		return t
	}
	return p.firstUnblocked(int(s.Signo))
}

// deliverable are the pending signals that t takes now.
func (t *Thread) deliverable() SigSet {
	set := t.Pending.Set &^ t.Mask
	for shared := t.Process.Pending.Set &^ t.Mask; shared != 0; {
		sig := shared.next()
		shared &^= SigBit(sig)
		if t.Process.receiver(t.Process.Pending.peek(sig)) == t {
			set |= SigBit(sig)
		}
	}
	return set
}

// HasSignal reports whether a signal that is not ignored waits for delivery to t.
func (t *Thread) HasSignal() bool {
	if t.Pending.Set|t.Process.Pending.Set == 0 {
		return false
	}
	for set := t.deliverable(); set != 0; {
		sig := set.next()
		set &^= SigBit(sig)
		if !t.Process.Ignored(sig) {
			return true
		}
	}
	return false
}

// isKilled reports whether a signal waits for t whose default action kills without a core dump (complete_signal in
// kernel/signal.c).
func (t *Thread) isKilled() bool {
	for set := t.deliverable() &^ (ignoredByDefault | stopping | dumping); set != 0; {
		sig := set.next()
		set &^= SigBit(sig)
		if t.Process.Signals[sig].Handler == linux.SIG_DFL {
			return true
		}
	}
	return false
}

// Dequeue takes the next signal of set out of t's queue or, after that, its process'. It is nil if none is pending.
func (t *Thread) Dequeue(set SigSet) *SigInfo {
	for _, q := range []*SigQueue{&t.Pending, &t.Process.Pending} {
		sig := (q.Set & set).next()
		if sig == 0 {
			continue
		}
		s := q.take(sig)
		if s.Timer != nil {
			s.Timer.dequeued(s)
		}
		if it := t.Process.itimers[0].timer; it != nil && sig == linux.SIGALRM && q == &t.Process.Pending {
			it.Rearm(t.Kernel)
		}
		return s
	}
	return nil
}

// ReturnToUser does what Linux does on the way back to the program: it delivers signals and restarts interrupted calls.
func (t *Thread) ReturnToUser() {
	if t.Pending.Set|t.Process.Pending.Set == 0 && !t.inCall && t.OldMask == nil {
		return
	}
	handled := false
	for !t.Dead {
		set := t.deliverable()
		if set == 0 {
			break
		}
		s := t.Dequeue(set)
		if s == nil {
			break
		}
		if t.deliver(s) {
			handled = true
		}
	}
	if !handled {
		t.restartCall(nil)
		if t.OldMask != nil {
			t.Mask = *t.OldMask
		}
	}
	t.OldMask = nil
	t.inCall = false
}

// deliver does what the action of s says, and reports whether a handler was called.
func (t *Thread) deliver(s *SigInfo) bool {
	sig := int(s.Signo)
	act := &t.Process.Signals[sig]
	if t.Kernel.Trace != nil {
		t.Kernel.Trace.Signal(t, s)
	}
	switch {
	case act.Handler == linux.SIG_IGN:
		return false
	case act.Handler == linux.SIG_DFL && ignoredByDefault.Has(sig):
		return false
	case act.Handler == linux.SIG_DFL && stopping.Has(sig):
		t.Process.stop(sig)
		return false
	case act.Handler == linux.SIG_DFL:
		t.Process.kill(s)
		return false
	}
	t.restartCall(act)
	t.callHandler(s, *act)
	if act.Flags&linux.SA_RESETHAND != 0 {
		act.Handler = linux.SIG_DFL
	}
	return true
}

// restartCall turns the result of an interrupted call into EINTR, or makes the program call again. act is the handler
// that runs first, nil for none.
func (t *Thread) restartCall(act *SigAction) {
	if !t.inCall {
		return
	}
	t.inCall = false
	again := false
	switch t.CPU.Regs[emu.RAX] {
	case linux.ERESTARTSYS.Result():
		again = act == nil || act.Flags&linux.SA_RESTART != 0
	case linux.ERESTARTNOINTR.Result():
		again = true
	case linux.ERESTARTNOHAND.Result():
		again = act == nil
	default:
		return
	}
	if !again {
		t.CPU.Regs[emu.RAX] = linux.EINTR.Result()
		return
	}
	const syscallLen = 2
	t.CPU.Regs[emu.RAX] = t.Call.Nr
	t.CPU.RIP -= syscallLen
}

// force delivers a signal that t itself has caused by executing something: it cannot be blocked or ignored.
func (t *Thread) force(s *SigInfo) {
	sig := int(s.Signo)
	act := &t.Process.Signals[sig]
	if t.Mask.Has(sig) || act.Handler == linux.SIG_IGN {
		act.Handler = linux.SIG_DFL
		t.Mask &^= SigBit(sig)
	}
	// The same signal, pending already, must not take its place.
	t.Pending.Drop(SigBit(sig))
	t.Pending.add(s)
}

// ForceSegv sends SIGSEGV for a frame of signal sig that cannot be written or read. If sig is SIGSEGV itself, it kills.
func (t *Thread) ForceSegv(sig int) {
	if sig == linux.SIGSEGV {
		t.Process.Signals[linux.SIGSEGV].Handler = linux.SIG_DFL
	}
	t.force(&SigInfo{Signo: linux.SIGSEGV, Code: linux.SI_KERNEL})
}

// SigSetSize is the size of a set of signals in memory: calls insist on it.
const SigSetSize = 8

// AwaitSignal takes a pending signal of want, as sigtimedwait(2) does. It waits for one until t.Call.Deadline, unless
// now is set.
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
	return t.Block(Wait{Ready: ready, signals: want, Deadline: t.Call.Deadline, OnSignal: linux.EINTR},
		func() (uint64, linux.Errno) { return t.AwaitSignal(want, info, now) })
}

// CopyInSigInfo reads a siginfo_t that the program has made, of signal sig.
func (t *Thread) CopyInSigInfo(sig int, at emu.Addr) (*SigInfo, linux.Errno) {
	const size, expanded = 48, 128 // what Linux knows of a siginfo_t, and what it is
	b, e := t.CopyIn(at, size)
	if e != 0 {
		return nil, e
	}
	b = append(b, make([]byte, expanded-size)...)
	s := decodeSigInfo(b)
	s.Signo = int32(sig)
	if !s.known() {
		rest, e := t.CopyIn(at+size, expanded-size)
		if e == 0 && slices.ContainsFunc(rest, func(x byte) bool { return x != 0 }) {
			e = linux.E2BIG
		}
		if e != 0 {
			return nil, e
		}
	}
	return s, 0
}

// MayClaim is EPERM if t may not send s, which it has made, to the thread or process to. Only to itself may a thread
// claim that a signal comes from the kernel, kill(2) or tgkill(2).
func (t *Thread) MayClaim(s *SigInfo, to int) linux.Errno {
	if (s.Code >= 0 || s.Code == linux.SI_TKILL) && to != t.TID {
		return linux.EPERM
	}
	return 0
}

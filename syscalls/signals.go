package syscalls

import (
	"math/bits"
	"slices"
	"strings"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// A sigSet is a set of signals: bit n-1 is signal n.
type sigSet uint64

func sigBit(sig int) sigSet       { return 1 << (sig - 1) }
func (s sigSet) has(sig int) bool { return s&sigBit(sig) != 0 }

// String shows a set as strace does: by what is not in it if that is shorter.
func (s sigSet) String() string {
	not := ""
	if n := bits.OnesCount64(uint64(s)); n > 32 {
		not, s = "~", ^s
	}
	var names []string
	for sig := 1; sig <= linux.NSIG; sig++ {
		if s.has(sig) {
			names = append(names, strings.TrimPrefix(linux.SignalName(sig), "SIG"))
		}
	}
	return not + "[" + strings.Join(names, " ") + "]"
}

func sigsOf(sigs ...int) (s sigSet) {
	for _, n := range sigs {
		s |= sigBit(n)
	}
	return s
}

var (
	// unblockable cannot be masked.
	unblockable = sigsOf(linux.SIGKILL, linux.SIGSTOP)
	// synchronous signals are taken first (kernel/signal.c, SYNCHRONOUS_MASK).
	synchronous = sigsOf(linux.SIGSEGV, linux.SIGBUS, linux.SIGILL, linux.SIGTRAP, linux.SIGFPE, linux.SIGSYS)
	// ignoredByDefault and stopping are default actions other than death.
	ignoredByDefault = sigsOf(linux.SIGCHLD, linux.SIGURG, linux.SIGWINCH, linux.SIGCONT)
	stopping         = sigsOf(linux.SIGSTOP, linux.SIGTSTP, linux.SIGTTIN, linux.SIGTTOU)
)

// A sigAction is what rt_sigaction(2) sets.
type sigAction struct {
	handler  uint64
	flags    uint64
	restorer uint64
	mask     sigSet
}

// A sigTable has the actions of signals 1 to 64.
type sigTable [linux.NSIG + 1]sigAction

// A sigInfo is a siginfo_t: signo, errno, code, then what the code says.
type sigInfo struct {
	signo, errno, code int32
	// fields are the bytes from offset 16 on.
	fields [112]byte
	// fault is the fault behind the signal, at rip.
	fault *emu.Fault
	rip   emu.Addr
	// timer is the POSIX timer that sent it, whose overrun count it resets.
	timer *posixTimer
	// to is the thread that takes it if it can, of those of its process: the one that ran when a timer went off.
	to *Thread
}

// encode lays s out as siginfo_t.
func (s *sigInfo) encode() []byte {
	b := make(pack, 0, 128)
	b.u32(uint32(s.signo))
	b.u32(uint32(s.errno))
	b.u32(uint32(s.code))
	b.u32(0)
	return append(b, s.fields[:]...)
}

// decodeSigInfo is encode's inverse.
func decodeSigInfo(b []byte) *sigInfo {
	s := &sigInfo{signo: int32(le32(b)), errno: int32(le32(b[4:])), code: int32(le32(b[8:]))}
	copy(s.fields[:], b[16:128])
	return s
}

// infoFromProcess is the sigInfo of kill(2) and its kin, sent by p.
func infoFromProcess(p *Process, sig int, code int32) *sigInfo {
	s := &sigInfo{signo: int32(sig), code: code}
	put32(s.fields[:], uint32(p.pid))
	put32(s.fields[4:], p.k.uid)
	return s
}

// A sigQueue has pending signals in order of arrival.
type sigQueue struct {
	set   sigSet
	infos []*sigInfo
}

// add queues s. A standard signal is pending at most once, but for those of timers.
func (q *sigQueue) add(s *sigInfo) (added bool) {
	sig := int(s.signo)
	if s.timer == nil && sig < linux.SIGRTMIN && q.set.has(sig) {
		return false
	}
	q.set |= sigBit(sig)
	q.infos = append(q.infos, s)
	if s.timer != nil {
		s.timer.queued = true
	}
	return true
}

// first returns the first s of signal sig, which is pending.
func (q *sigQueue) first(sig int) *sigInfo {
	return q.infos[slices.IndexFunc(q.infos, func(s *sigInfo) bool { return int(s.signo) == sig })]
}

// take removes and returns the first s of signal sig.
func (q *sigQueue) take(sig int) *sigInfo {
	s := q.first(sig)
	q.remove(func(o *sigInfo) bool { return o == s })
	return s
}

// drop removes all signals of set.
func (q *sigQueue) drop(set sigSet) {
	q.remove(func(s *sigInfo) bool {
		if set.has(int(s.signo)) && s.timer != nil {
			s.timer.queued = false
		}
		return set.has(int(s.signo))
	})
}

// remove removes the signals that match.
func (q *sigQueue) remove(match func(*sigInfo) bool) {
	q.infos = slices.DeleteFunc(q.infos, match)
	q.set = 0
	for _, s := range q.infos {
		q.set |= sigBit(int(s.signo))
	}
}

// first returns the signal of set that is taken first, or 0.
func (set sigSet) first() int {
	for _, s := range [...]sigSet{set & synchronous, set} {
		for n := 1; s != 0 && n <= linux.NSIG; n++ {
			if s.has(n) {
				return n
			}
		}
	}
	return 0
}

// ignored reports whether sig has no effect on p.
func (p *Process) ignored(sig int) bool {
	h := p.signals[sig].handler
	return h == linux.SIG_IGN || h == linux.SIG_DFL && ignoredByDefault.has(sig)
}

// send queues s for p; some thread that does not block it will take it. EAGAIN says that there are too many.
func (p *Process) send(s *sigInfo) linux.Errno {
	sig := int(s.signo)
	if p.exited {
		return 0
	}
	target := p.taker(s)
	if p.control(sig, target == nil) {
		return 0
	}
	if target != nil && p.ignored(sig) {
		return 0
	}
	e := p.queue(&p.pending, s)
	if target != nil && e == 0 {
		p.k.interrupt(target)
	}
	return e
}

// send queues s for t alone.
func (t *Thread) send(s *sigInfo) linux.Errno {
	sig := int(s.signo)
	if t.dead || t.p.control(sig, t.mask.has(sig)) || !t.mask.has(sig) && t.p.ignored(sig) {
		return 0
	}
	e := t.p.queue(&t.pending, s)
	if !t.mask.has(sig) && e == 0 {
		t.k.interrupt(t)
	}
	return e
}

// target is the thread that takes a signal sent to p: the first that does not block it.
func (p *Process) target(sig int) *Thread {
	for _, t := range p.threads {
		if !t.dead && !t.mask.has(sig) {
			return t
		}
	}
	return nil
}

// taker is the thread that takes s, which was sent to p.
func (p *Process) taker(s *sigInfo) *Thread {
	if t := s.to; t != nil && !t.dead && t.p == p && !t.mask.has(int(s.signo)) {
		return t
	}
	return p.target(int(s.signo))
}

// deliverable is the set of pending signals that t takes now.
func (t *Thread) deliverable() sigSet {
	set := t.pending.set &^ t.mask
	for shared := t.p.pending.set &^ t.mask; shared != 0; {
		sig := shared.first()
		shared &^= sigBit(sig)
		if t.p.taker(t.p.pending.first(sig)) == t {
			set |= sigBit(sig)
		}
	}
	return set
}

// hasSignal reports whether a signal must be delivered to t before it goes on.
func (t *Thread) hasSignal() bool {
	if t.pending.set|t.p.pending.set == 0 {
		return false
	}
	for set := t.deliverable(); set != 0; {
		sig := set.first()
		set &^= sigBit(sig)
		if !t.p.ignored(sig) {
			return true
		}
	}
	return false
}

// dequeue takes the next signal of set from t's queue or its process'.
func (t *Thread) dequeue(set sigSet) *sigInfo {
	for _, q := range []*sigQueue{&t.pending, &t.p.pending} {
		sig := (q.set & set).first()
		if sig == 0 {
			continue
		}
		s := q.take(sig)
		if s.timer != nil {
			s.timer.taken(s)
		}
		if it := t.p.itimers[0].timer; it != nil && sig == linux.SIGALRM && q == &t.p.pending {
			it.resume(t.k)
		}
		return s
	}
	return nil
}

// returnToUser does what Linux does on the way back to the program: signals are
// delivered and interrupted calls restarted.
func (t *Thread) returnToUser() {
	if t.pending.set|t.p.pending.set == 0 && !t.inCall && t.oldMask == nil {
		return
	}
	handled := false
	for !t.dead {
		set := t.deliverable()
		if set == 0 {
			break
		}
		s := t.dequeue(set)
		if s == nil {
			break
		}
		if t.deliver(s) {
			handled = true
		}
	}
	if !handled {
		t.restartCall(nil)
		if t.oldMask != nil {
			t.mask = *t.oldMask
		}
	}
	t.oldMask = nil
	t.inCall = false
}

// deliver acts on s, and reports whether a handler was called.
func (t *Thread) deliver(s *sigInfo) bool {
	sig := int(s.signo)
	act := &t.p.signals[sig]
	if t.k.trace != nil {
		t.k.trace.signal(t, s)
	}
	switch {
	case act.handler == linux.SIG_IGN:
		return false
	case act.handler == linux.SIG_DFL && ignoredByDefault.has(sig):
		return false
	case act.handler == linux.SIG_DFL && stopping.has(sig):
		t.p.stop(sig)
		return false
	case act.handler == linux.SIG_DFL:
		t.p.kill(s)
		return false
	}
	t.restartCall(act)
	t.callHandler(s, *act)
	if act.flags&linux.SA_RESETHAND != 0 {
		act.handler = linux.SIG_DFL
	}
	return true
}

// restartCall turns the result of an interrupted call into EINTR or makes the
// program call again. act is the handler that runs first, nil for none.
func (t *Thread) restartCall(act *sigAction) {
	if !t.inCall {
		return
	}
	t.inCall = false
	again := false
	switch t.cpu.Regs[emu.RAX] {
	case linux.ERESTARTSYS.Result():
		again = act == nil || act.flags&linux.SA_RESTART != 0
	case linux.ERESTARTNOINTR.Result():
		again = true
	case linux.ERESTARTNOHAND.Result():
		again = act == nil
	default:
		return
	}
	if !again {
		t.cpu.Regs[emu.RAX] = linux.EINTR.Result()
		return
	}
	const syscallLen = 2
	t.cpu.Regs[emu.RAX] = t.call.nr
	t.cpu.RIP -= syscallLen
}

// force delivers a signal that the thread itself caused: it cannot be blocked or ignored.
func (t *Thread) force(s *sigInfo) {
	sig := int(s.signo)
	act := &t.p.signals[sig]
	if t.mask.has(sig) || act.handler == linux.SIG_IGN {
		act.handler = linux.SIG_DFL
		t.mask &^= sigBit(sig)
	}
	// What is already pending must not swallow it.
	t.pending.drop(sigBit(sig))
	t.pending.add(s)
}

// forceSegv ends what cannot go on: a signal frame that cannot be written or read.
func (t *Thread) forceSegv(sig int) {
	if sig == linux.SIGSEGV {
		t.p.signals[linux.SIGSEGV].handler = linux.SIG_DFL
	}
	t.force(&sigInfo{signo: linux.SIGSEGV, code: linux.SI_KERNEL})
}

// kill ends p because of a signal's default action.
func (p *Process) kill(s *sigInfo) {
	p.end(Exit{Signal: int(s.signo), Fault: s.fault, RIP: s.rip})
}

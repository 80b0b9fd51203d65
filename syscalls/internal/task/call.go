package task

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// A Call is the system call a thread is in.
type Call struct {
	Nr   uint64
	Args uio.Args
	// Wait is what it waits for, resume how it goes on then.
	Wait   *Wait
	Resume func() (uint64, linux.Errno)
	// Resumed says that the call has waited; woken why it goes on.
	Resumed bool
	woken   wakeReason
	// resumedAt is Kernel.steps when it went on last.
	resumedAt uint64
	// Deadline is when it ends, done and messages how far it is: bytes, and messages before those.
	Deadline int64
	Done     uint64
	Messages uint64
}

// Results a handler may give that the guest never sees.
const (
	// EBlocked says that the thread waits: see Thread.Block.
	EBlocked linux.Errno = 600
	// ENoReturn says that registers are as they must be: sigreturn, execve, exit.
	ENoReturn linux.Errno = 601
)

// A Level says how far a call is supported.
type Level uint8

func (l Level) String() string { return [...]string{"missing", "full", "partial", "refused"}[l] }

// A Handler does a system call.
type Handler func(t *Thread, a uio.Args) (uint64, linux.Errno)

// An Entry is a system call.
type Entry struct {
	Name    string
	Level   Level
	Handler Handler
	Note    string
}

// missing is the handler of calls we do not have.
func NotImplemented(*Thread, uio.Args) (uint64, linux.Errno) { return 0, linux.ENOSYS }

// Unknown is the entry of numbers that no call has.
var Unknown = Entry{Name: "?", Level: Missing, Handler: NotImplemented}

// entry returns the entry for a number.
func (k *Kernel) entry(nr uint64) *Entry {
	if nr < uint64(len(k.Table)) && k.Table[nr].Handler != nil {
		return &k.Table[nr]
	}
	return &Unknown
}

// CallName is the name of call nr.
func (k *Kernel) CallName(nr uint64) string { return k.entry(nr).Name }

// A Tracer is told of what happens at the border of the kernel.
type Tracer interface {
	Enter(t *Thread)
	Leave(t *Thread, ret uint64, e linux.Errno)
	Signal(t *Thread, s *SigInfo)
	Exited(p *Process)
}

// syscall performs the system call that stopped the engine.
func (t *Thread) syscall() {
	r := &t.CPU.Regs
	t.Call = Call{
		Nr:   r[emu.RAX],
		Args: uio.Args{r[emu.RDI], r[emu.RSI], r[emu.RDX], r[emu.R10], r[emu.R8], r[emu.R9]},
	}
	t.dispatch()
}

// dispatch calls the handler of t's call.
func (t *Thread) dispatch() {
	k, nr := t.Kernel, t.Call.Nr
	t.Spend(price(nr))
	ent := k.entry(nr)
	if k.Trace != nil {
		k.Trace.Enter(t)
	}
	if ent.Level == Missing {
		k.reportMissing(nr)
	}
	t.finishUnlessBlocked(ent.Handler(t, t.Call.Args))
}

// resumeCall continues t's call, whose wait is over.
func (t *Thread) resumeCall() {
	resume := t.Call.Resume
	t.Call.Wait, t.Call.Resume = nil, nil
	t.finishUnlessBlocked(resume())
}

// finishUnlessBlocked ends t's call with what it returned, if it does not wait.
func (t *Thread) finishUnlessBlocked(ret uint64, e linux.Errno) {
	if e == EBlocked {
		if !t.Call.Wait.Unbreakable && t.HasSignal() {
			// A signal was pending before: the call is over before it waits.
			w := t.Call.Wait
			if w.cancel != nil {
				w.cancel(false)
			}
			t.finishInterrupted(w)
		}
		return
	}
	t.Kernel.noteUnsupported(t.Call.Nr, t.Kernel.entry(t.Call.Nr).Level, e)
	t.finish(ret, e)
}

// finishInterrupted ends a call that waited and may wait no longer.
func (t *Thread) finishInterrupted(w *Wait) {
	t.Call.Wait, t.Call.Resume = nil, nil
	if w.Partial > 0 {
		t.finish(w.Partial, 0)
		return
	}
	t.finish(0, w.Interrupted)
}

// finish sets the result of t's call, and is the only place that encodes results.
func (t *Thread) finish(ret uint64, e linux.Errno) {
	t.Files.EndCall(t.Kernel)
	if t.Kernel.Trace != nil {
		t.Kernel.Trace.Leave(t, ret, e)
	}
	if e == ENoReturn {
		return
	}
	if e != 0 {
		ret = e.Result()
	}
	t.CPU.Regs[emu.RAX] = ret
	t.Call.Done = 0
	t.inCall = true
}

// MaxReported is how many unsupported calls are named: a program may try all numbers there are.
const MaxReported = 100

// reportMissing names an unsupported call, once.
func (k *Kernel) reportMissing(nr uint64) {
	switch {
	case k.reported[nr] || len(k.reported) > MaxReported:
		return
	case len(k.reported) == MaxReported:
		k.Logf("more than %d system calls are not supported; further ones are not named", MaxReported)
		k.reported[nr] = true
		return
	}
	k.reported[nr] = true
	k.Logf("system call %d (%s) is not supported; the program gets ENOSYS", nr, k.CallName(nr))
}

// Levels. An entry that is not there is Missing.
const (
	Missing Level = iota // reported once; ENOSYS
	Full                 // as Linux, within what a single deterministic machine can be
	Partial              // the note says what there is
	Refused              // always the same error, which programs expect
)

package task

import (
	"fmt"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// A Call is the system call that a thread is in, or was in last.
type Call struct {
	Nr   uint64
	Args uio.Args
	// Wait is what the call waits for, nil if it does not. Resume, set together with it, goes on with the call when the
	// wait is over.
	Wait   *Wait
	Resume func() (uint64, linux.Errno)
	// Resumed says that the call has waited before; woken is what ended the last wait.
	Resumed bool
	woken   wakeReason
	// resumedAt is Kernel.activity of the moment at which the call last went on.
	resumedAt uint64
	// Deadline is when the call has to end, on Now's clock: a handler sets it before it first waits.
	Deadline int64
	// Done is how many bytes the call has transferred, for handlers that wait in between; Messages is how many whole
	// messages it has sent or received before those (sendmmsg(2), recvmmsg(2)).
	Done     uint64
	Messages uint64
	single   [1]uio.Iovec // what Single returned
}

// Single returns uio.Single as a list, which is valid as long as the call lasts.
func (c *Call) Single(a emu.Addr, n uint64) []uio.Iovec {
	c.single[0] = uio.Single(a, n)
	return c.single[:]
}

// What a handler may return that the guest never sees: these are no error numbers of Linux. After a call of something
// that may wait, a handler neither takes an Errno that is not 0 for a failure nor goes on if it is 0, but gives the
// rest of its work to Thread.Then.
const (
	// EBlocked says that the thread waits: a handler returns what Thread.Block returned.
	EBlocked linux.Errno = 600
	// ENoReturn says that there is no result, since the registers are those to go on with: after sigreturn, execve,
	// exit.
	ENoReturn linux.Errno = 601
)

// A Level says how far a system call is supported. docs/syscalls.md shows it.
type Level uint8

// The levels. A number without an entry is Missing.
const (
	Missing Level = iota // ENOSYS, with a message the first time
	Full                 // as on Linux, as far as a single deterministic machine can be that
	Partial              // the entry's note says what there is
	Refused              // always the same error, one that programs expect
)

// String is the level's name in docs/syscalls.md.
func (l Level) String() string { return [...]string{"missing", "full", "partial", "refused"}[l] }

// A Handler does a system call and returns its result or its error, or EBlocked or ENoReturn.
type Handler func(t *Thread, a uio.Args) (uint64, linux.Errno)

// An Entry is a row of the table of system calls. Note says what is there of a call that is not supported in full.
type Entry struct {
	Name    string
	Level   Level
	Handler Handler
	Note    string
}

// NotImplemented is the handler of calls that are missing.
func NotImplemented(*Thread, uio.Args) (uint64, linux.Errno) { return 0, linux.ENOSYS }

// Unknown stands for the numbers that no system call has.
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

// A Tracer is told of the calls that guests make and of what happens to them, for --strace.
type Tracer interface {
	// Enter is called when t makes the call t.Call, before its handler.
	Enter(t *Thread)
	// Leave is called with the result of that call.
	Leave(t *Thread, ret uint64, e linux.Errno)
	// Signal is called when s is delivered to t.
	Signal(t *Thread, s *SigInfo)
	// Exited is called when p has ended.
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

// resumeCall goes on with t's call, whose wait is over.
func (t *Thread) resumeCall() {
	resume := t.Call.Resume
	t.Call.Wait, t.Call.Resume = nil, nil
	t.Kernel.Spaces.Sync()
	t.finishUnlessBlocked(resume())
}

// finishUnlessBlocked ends t's call with what its handler returned. If that was EBlocked, the call goes on waiting,
// unless a signal is pending already.
func (t *Thread) finishUnlessBlocked(ret uint64, e linux.Errno) {
	if e == EBlocked {
		if t.HasSignal() && (!t.Call.Wait.Killable || t.isKilled()) {
			// A signal was pending before the call: it interrupts it at once.
			w := t.Call.Wait
			if w.cancel != nil {
				w.cancel(false)
			}
			t.finishInterrupted(w)
		}
		return
	}
	t.Kernel.noteUnsupported(t.Call.Nr, t.Kernel.entry(t.Call.Nr).Level, e)
	if e == linux.EMFILE && !t.Files.AtLimit() {
		t.Kernel.reportHostFiles(t.Call.Nr)
	}
	if e == linux.ENOMEM && t.Kernel.Spaces.Refused {
		t.Kernel.reportHostMappings(t.Call.Nr)
	}
	t.finish(ret, e)
}

// finishInterrupted ends a call that has waited and was interrupted, with the result that its Wait says.
func (t *Thread) finishInterrupted(w *Wait) {
	t.Call.Wait, t.Call.Resume = nil, nil
	if w.Partial > 0 {
		t.finish(w.Partial, 0)
		return
	}
	t.finish(0, w.OnSignal)
}

// finish ends t's call. It alone encodes results: as Linux does, an error e is -e in RAX.
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

// maxReported bounds the messages about unsupported calls: a program may try all numbers there are.
const maxReported = 100

// A messageSet is what messages have named: each is named once, and no more than maxReported.
type messageSet[T comparable] map[T]bool

// add reports whether a message is to name x, or to say that x and what follows it are too many.
func (s messageSet[T]) add(x T) (name, tooMany bool) {
	if s[x] || len(s) > maxReported {
		return false, false
	}
	s[x] = true
	return len(s) <= maxReported, len(s) > maxReported
}

// reportMissing names an unsupported call.
func (k *Kernel) reportMissing(nr uint64) {
	switch name, tooMany := k.reported.add(nr); {
	case name:
		k.Logf("system call %d (%s) is not supported; the program gets ENOSYS", nr, k.CallName(nr))
	case tooMany:
		k.Logf("more than %d system calls are not supported; further ones are not named", maxReported)
	}
}

// reportHostFiles tells the user, once, that a call failed for want of descriptors of the host's: nothing that the
// program sees says so.
func (k *Kernel) reportHostFiles(nr uint64) {
	if !k.fullOfFiles {
		k.fullOfFiles = true
		k.Logf("%s: the host has no descriptors for another file: the limit of open files, ulimit -n, is too low; the program gets EMFILE", k.CallName(nr))
	}
}

// reportHostMappings does so for want of mappings.
func (k *Kernel) reportHostMappings(nr uint64) {
	if !k.fullOfMappings {
		k.fullOfMappings = true
		k.Logf("%s: the host has no room for another mapping of memory: the limit, vm.max_map_count, is too low; the program gets ENOMEM", k.CallName(nr))
	}
}

// reportFailure says why the engine cannot go on at an address, once for each reason.
func (k *Kernel) reportFailure(why string, at emu.Addr) {
	if name, _ := k.refused.add(why); name {
		k.Logf("%s; the program gets SIGILL at %v", why, at)
	}
}

// reportRefused names an instruction that is not supported, at an address.
func (k *Kernel) reportRefused(what string, at emu.Addr) {
	text := fmt.Sprintf("%s at %v", what, at)
	switch name, tooMany := k.refused.add(text); {
	case name:
		k.Logf("%s is not supported; the program gets SIGILL", text)
	case tooMany:
		k.Logf("more than %d instructions are not supported; further ones are not named", maxReported)
	}
}

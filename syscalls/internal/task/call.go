package task

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// Results a handler may give that the guest never sees.
const (
	// EBlocked says that the thread waits: see Thread.Block.
	EBlocked linux.Errno = 600
	// ENoReturn says that registers are as they must be: sigreturn, execve, exit.
	ENoReturn linux.Errno = 601
)

// ReportTimeLeft ends a call that gave ret and e by telling how much of its timeout at is left, when it is over or a signal
// interrupts it. The timeout need not be writable.
func (t *Thread) ReportTimeLeft(ret uint64, e linux.Errno, at emu.Addr, encode func(int64) []byte) (uint64, linux.Errno) {
	if at == 0 {
		return ret, e
	}
	left := func() { t.CopyOut(at, encode(max(t.Call.Deadline-t.Kernel.Now(), 0))) }
	if e == EBlocked {
		t.Call.Wait.cancel = func(timeout bool) {
			if !timeout {
				left()
			}
		}
		resume := t.Call.Resume
		t.Call.Resume = func() (uint64, linux.Errno) {
			ret, e := resume()
			return t.ReportTimeLeft(ret, e, at, encode)
		}
		return ret, e
	}
	left()
	return ret, e
}

// A Level says how far a call is supported.
type Level uint8

// Levels. An entry that is not there is Missing.
const (
	Missing Level = iota // reported once; ENOSYS
	Full                 // as Linux, within what a single deterministic machine can be
	Partial              // the note says what there is
	Refused              // always the same error, which programs expect
)

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

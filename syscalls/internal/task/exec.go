package task

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/loader"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// CopyInVector reads a vector of string addresses that ends with null. It takes from room what that takes of the
// program's stack, and ends with E2BIG where there is none left.
func (t *Thread) CopyInVector(at emu.Addr, room *uint64) ([]string, linux.Errno) {
	var out []string
	if at == 0 {
		return nil, 0
	}
	for ; ; at += 8 {
		a, e := t.In64(at)
		if e != 0 {
			return nil, e
		}
		if a == 0 {
			return out, 0
		}
		longest := int(min(*room, loader.MaxArg))
		s, ok := t.Process.Mem.ReadString(emu.Addr(a), longest)
		switch n := uint64(len(s)) + 9; {
		case !ok:
			return nil, linux.EFAULT
		case len(s) >= longest, n > *room:
			return nil, linux.E2BIG
		default:
			*room -= n
		}
		out = append(out, s)
	}
}

// A ExecTarget is what execve(2) and execveat(2) are asked for.
type ExecTarget struct {
	// Name is what the program is told, at where it is found: /dev/fd need not be there.
	Name, At string
	// Opened says that it is an open file, whose own name the thread gets.
	Opened bool
	// Closes says that name leads nowhere for an interpreter, since execution closes the descriptor.
	Closes bool
}

// MachineForExec returns a machine for t's process if others run on that which it has.
func (t *Thread) MachineForExec() (*Machine, error) {
	if m := t.Process.Machine; m.users == 1 && m.owner == t.Process {
		return nil, nil
	}
	return t.Kernel.newMachine(t.Process, t.Process.Engine, nil)
}

// BeginExec drops what a new program does not inherit (execve(2), "Effect on process attributes"). It will
// run on m, if that is not nil.
func (t *Thread) BeginExec(m *Machine) {
	p := t.Process
	for _, o := range p.Threads {
		if o != t {
			o.Dead = true
			o.Files.EndCall(t.Kernel)
			t.Kernel.unwait(o)
			t.Kernel.futexUnqueue(o)
			o.releaseLocks()
			o.Files.Leave(o.Kernel)
		}
	}
	t.releaseLocks()
	for _, o := range p.Threads {
		delete(t.Kernel.Threads, o.TID)
	}
	p.Threads = []*Thread{t}
	t.TID = p.PID
	t.Kernel.Threads[t.TID] = t
	p.Executed = true
	t.Files.Exec(t.Kernel)
	own := *p.Signals // others may go on with the old one
	p.Signals = &own
	p.Signals.reset()
	for _, pt := range p.Posix {
		pt.Stop()
	}
	p.Posix = map[uint64]*PosixTimer{}
	t.Altstack = altStack{flags: t.Altstack.flags}
	t.RobustList, t.ClearTID, t.KeepCaps, p.dumpable = 0, 0, 0, 1
	p.Membarrier, p.LockFuture = 0, false
	if m == nil {
		p.Mem.Unmap(0, p.Mem.Limit())
	} else {
		old := p.Machine
		p.leaveMachine()
		p.useMachine(m)
		t.Kernel.handOver(old, m)
	}
	p.wakeVforker()
}

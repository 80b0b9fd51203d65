package task

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/loader"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// CopyInVector reads a vector of addresses of strings that ends with null, as argv. It subtracts from room what the
// strings take of the new program's stack, and ends with E2BIG where nothing is left.
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

// An ExecTarget is the program that execve(2) or execveat(2) names.
type ExecTarget struct {
	// Name is the name that an interpreter is told, At the path where the file is found: the guest may have no /dev/fd.
	Name, At string
	// Opened says that it is given by a descriptor alone. The thread then gets the file's own name.
	Opened bool
	// Closes says that execution closes that descriptor, so that Name would lead an interpreter nowhere.
	Closes bool
}

// MachineForExec returns a new machine for t's process, or nil if it can keep its own: no other process runs on it.
func (t *Thread) MachineForExec() (*Machine, error) {
	if m := t.Process.Machine; m.users == 1 && m.owner == t.Process {
		return nil, nil
	}
	return t.Kernel.newMachine(t.Process, t.Process.Engine, nil)
}

// BeginExec drops what a new program does not inherit (execve(2), "Effect on process attributes"): from here on there
// is no way back. The process goes on with m, or with its own machine, emptied, if m is nil.
func (t *Thread) BeginExec(m *Machine) {
	p := t.Process
	for _, o := range p.Threads {
		if o != t {
			o.Dead = true
			o.ended()
			o.Files.EndCall(t.Kernel)
			t.Kernel.unwait(o)
			t.Kernel.futexUnqueue(o)
			o.releaseLocks()
			o.Files.Leave(o.Kernel)
			o.leaveChildren()
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
	own := *p.Signals // another process may share the old table
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
		if t.Kernel.Config.OnUnload != nil {
			t.Kernel.Config.OnUnload(p.Engine)
		}
		p.Mem.Unmap(0, p.Mem.Limit())
	} else {
		old := p.Machine
		p.leaveMachine()
		p.useMachine(m)
		t.Kernel.handOver(old, m)
	}
	p.wakeVforker()
}

package task

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// A Machine is an address space and the engine that runs its code. A process has one of its own or,
// after vfork(2) or clone(2) with CLONE_VM, its parent's until it executes a program or ends (RATIONALE.md,
// "Processes").
type Machine struct {
	mem    *mem.Space
	engine emu.Engine
	Brk    emu.Addr
	// owner is the process whose counts it has, users are how many processes run on it.
	owner *Process
	users int
	// charged is the process whose CPU time it is what the engine executes since seen.
	charged   *Process
	chargedAt uint64
}

const (
	// maxAddresses is how much address space all machines may have, in bytes. A host's process has 128 TiB, of which engines need some;
	// with a number of our own it is the same process on every host that finds no room. It is enough for 326 machines.
	maxAddresses = 102 << 40
	// engineAddresses is how much of a guest's addresses an engine has room for in any case.
	engineAddresses = 1 << 40
)

// addresses is how much address space m takes: what is more than an engine has in any case is there once more in its own.
func (m *Machine) addresses() uint64 { return addressesFor(m.mem.Limit()) }

func addressesFor(limit emu.Addr) uint64 {
	return uint64(limit) + uint64(max(limit, engineAddresses)-engineAddresses) + mem.Guard
}

// newMachine makes a machine for p: its memory is a copy of from, or empty for nil.
func (k *Kernel) newMachine(p *Process, parent emu.Engine, from *mem.Space) (*Machine, error) {
	newSpace, limit := k.Spaces.New, mem.FirstLimit
	if from != nil {
		newSpace, limit = from.Fork, from.Limit()
	}
	if k.addresses+addressesFor(limit) > maxAddresses {
		return nil, fmt.Errorf("the others have %d TiB of addresses", k.addresses>>40)
	}
	m, err := newSpace()
	if err != nil {
		return nil, err
	}
	var e emu.Engine
	if k.Config.ForkEngine != nil {
		e, err = k.Config.ForkEngine(p.PID, parent, m, k)
	} else {
		e, err = k.Config.NewEngine(m, k)
	}
	if err != nil {
		m.Close()
		return nil, err
	}
	m.OnInvalidate(e.Invalidate)
	own := &Machine{mem: m, engine: e, owner: p}
	k.addresses += own.addresses()
	return own, nil
}

// useMachine makes p run on m.
func (p *Process) useMachine(m *Machine) {
	if p.Machine != m {
		m.users++
	}
	p.Machine, p.Mem, p.Engine = m, m.mem, m.engine
	p.memory.Space = m.mem
	// What the kernel copies to or from a stack makes it grow, as the program's own accesses do.
	m.mem.OnMissing(func(a emu.Addr) bool { return m.owner.Mem == m.mem && m.owner.growStack(a) })
}

// charge makes the CPU time from now on p's.
func (m *Machine) charge(p *Process) {
	if m.charged == p {
		return
	}
	now := m.engine.Executed()
	if m.charged != nil {
		m.charged.used += int64(now - m.chargedAt)
	}
	m.charged, m.chargedAt = p, now
}

// leaveMachine takes p off its machine. Without users a machine is closed, but not before what is
// being done is done.
func (p *Process) leaveMachine() {
	m := p.Machine
	if m.charged == p {
		m.charge(nil)
	}
	p.Machine = nil
	if m.users--; m.users == 0 {
		p.Kernel.unusedMachines = append(p.Kernel.unusedMachines, m)
	}
}

// handOver gives from, which its owner has left for to, to a process that still runs on it. What was
// counted goes with the old owner.
func (k *Kernel) handOver(from, to *Machine) {
	if from.owner != to.owner || from.users == 0 {
		return
	}
	i := slices.IndexFunc(k.Processes, func(p *Process) bool { return p.Machine == from })
	from.owner = k.Processes[i]
	if k.Config.OnMove != nil {
		k.Config.OnMove(from.engine, to.engine, from.owner.PID)
	}
}

// bury closes the machines that nothing runs on, and gives away what they counted.
func (k *Kernel) CloseUnused() {
	gone := k.unusedMachines
	k.unusedMachines = nil
	for _, m := range gone {
		k.report(m)
		if m.owner == k.First {
			k.unusedMachines = append(k.unusedMachines, m) // for those that ask for it when the run is over
			continue
		}
		if err := m.close(k); err != nil {
			k.Logf("process %d: %v", m.owner.PID, err)
		}
	}
}

// report gives away what m counted, once.
func (k *Kernel) report(m *Machine) {
	p := m.owner
	if k.Config.OnEnd != nil && !p.reported {
		p.reported = true
		k.Config.OnEnd(End{PID: p.PID, Argv: p.Argv, Engine: m.engine, Mem: m.mem, Exit: p.Status})
	}
}

func (m *Machine) close(k *Kernel) error {
	k.running.forget(m.engine)
	k.addresses -= m.addresses()
	var errs []error
	if m.engine != nil {
		errs = append(errs, m.engine.Close())
	}
	return errors.Join(append(errs, m.mem.Close())...)
}

// LogNoMachine says why a process gets no machine of its own, and returns e.
func (k *Kernel) LogNoMachine(call string, err error, e linux.Errno) linux.Errno {
	k.Logf("%s: no room for another process: %v; the program gets %v", call, err, e.String())
	return e
}

// GrowTo reports whether p's memory has addresses up to hi, and makes it grow if it has not.
func (p *Process) GrowTo(hi emu.Addr) bool {
	if hi <= p.Mem.Limit() {
		return true
	}
	if hi > mem.MaxAddr {
		return false
	}
	k, m, limit := p.Kernel, p.Machine, mem.FirstLimit
	for limit < hi {
		limit *= 2
	}
	others := k.addresses - m.addresses()
	if others+addressesFor(limit) > maxAddresses {
		return false
	}
	if err := m.mem.Grow(limit); err != nil {
		k.Logf("%v: %v", p, err)
		if errors.Is(err, mem.ErrLost) {
			p.kill(&SigInfo{Signo: linux.SIGKILL, Code: linux.SI_KERNEL})
		}
		return false
	}
	k.addresses = others + m.addresses()
	return true
}

// running has the engine that runs, for whoever wants to interrupt it.
type running struct {
	mu sync.Mutex
	e  emu.Engine
}

// set says that e runs next.
func (r *running) set(e emu.Engine) {
	if r.e == e {
		return // nobody else writes it
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.e = e
}

// forget says that e is about to be closed.
func (r *running) forget(e emu.Engine) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.e == e {
		r.e = nil
	}
}

// interrupt interrupts the engine that runs, if there is one.
func (r *running) interrupt() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.e != nil {
		r.e.Interrupt()
	}
}

// String names p for messages.
func (p *Process) String() string {
	comm := ""
	if len(p.Threads) > 0 {
		comm = p.Threads[0].Comm
	}
	return fmt.Sprintf("process %d (%s)", p.PID, comm)
}

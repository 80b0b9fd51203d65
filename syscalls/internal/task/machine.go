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

// A Machine is an address space and the engine that runs its code. A process has one of its own or, after vfork(2) or
// clone(2) with CLONE_VM, its parent's until it executes a program or ends (RATIONALE.md, "Processes").
type Machine struct {
	mem    *mem.Space
	engine emu.Engine
	// Brk is the end of the heap.
	Brk emu.Addr
	// users is how many processes run on the machine. owner is the one that its counts are reported for: the process it
	// was made for, until that executes a program on another machine (handOver).
	users int
	owner *Process
	// chargedProcess pays for the instructions that the engine executes from count chargedAt on; nil if nobody does.
	chargedProcess *Process
	chargedAt      uint64
	// running says that the engine runs. While it does not, what it has executed stays what it is: executed, once known
	// says so. To ask an engine takes as long as it has counters.
	running, known bool
	executed       uint64
	// unsettled says that the machine is among Kernel.unsettled.
	unsettled bool
}

// run has the engine execute c for chargedProcess, until it stops.
func (m *Machine) run(c *emu.CPU, budget uint64) emu.Stop {
	if !m.unsettled {
		k := m.chargedProcess.Kernel
		k.unsettled, m.unsettled = append(k.unsettled, m), true
	}
	m.running, m.known = true, false
	stop := m.engine.Run(c, budget)
	m.running = false
	return stop
}

// Executed is how many instructions the engine has executed.
func (m *Machine) Executed() uint64 {
	switch {
	case m.running:
		return m.engine.Executed()
	case !m.known:
		m.executed, m.known = m.engine.Executed(), true
	}
	return m.executed
}

// Address space is bounded by numbers of our own, not the host's.
const (
	// maxAddresses bounds the address space of all machines together, in bytes: 652 small ones. The host's own limit,
	// 47 bits less what its process and the engines need, would make fork(2) fail at a different process on each host.
	maxAddresses = 102 << 40
	// engineAddresses is how much of a guest's address space an engine always has room for.
	engineAddresses = 1 << 40
)

// addresses is how much of the host's address space m takes. What lies beyond engineAddresses takes it twice: once in
// the space, once in the engine.
func (m *Machine) addresses() uint64 { return addressesFor(m.mem.Limit()) }

func addressesFor(limit emu.Addr) uint64 {
	return uint64(limit) + uint64(max(limit, engineAddresses)-engineAddresses) + mem.Guard
}

// newMachine makes a machine for p. Its memory is a copy of from, or empty if from is nil; parent is the engine of p's
// parent.
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
	// What the kernel copies to or from a stack makes it grow, as the program's own accesses do.
	p.memory.Space, p.memory.Grow = m.mem, p.growStack
}

// charge makes p pay for what the engine executes from now on; nobody if p is nil.
func (m *Machine) charge(p *Process) {
	if m.chargedProcess == p {
		return
	}
	m.settle()
	m.chargedProcess = p
}

// settle has who pays for the machine do so.
func (m *Machine) settle() {
	now := m.Executed()
	if p := m.chargedProcess; p != nil {
		n := int64(now - m.chargedAt)
		p.used += n
		p.Kernel.executed += n
	}
	m.chargedAt = now
}

// leaveMachine takes p off its machine. The last one leaves it to CloseUnused.
func (p *Process) leaveMachine() {
	m := p.Machine
	if m.chargedProcess == p {
		m.charge(nil)
	}
	p.Machine = nil
	if m.users--; m.users == 0 {
		p.Kernel.unsettled = slices.DeleteFunc(p.Kernel.unsettled, func(o *Machine) bool { return o == m })
		p.Kernel.unusedMachines = append(p.Kernel.unusedMachines, m)
	}
}

// handOver gives from, which its owner has left for to by executing a program, to the first process that still runs on
// it. What was counted so far stays with the old owner.
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

// CloseUnused closes the machines on which nothing runs any more, and reports their counts. That of the first process
// stays open until Close, for those who ask for it when the run is over.
func (k *Kernel) CloseUnused() {
	gone := k.unusedMachines
	k.unusedMachines = nil
	for _, m := range gone {
		k.report(m)
		if m.owner == k.First {
			k.unusedMachines = append(k.unusedMachines, m) // Close frees it
			continue
		}
		if err := m.close(k); err != nil {
			k.Logf("process %d: %v", m.owner.PID, err)
		}
	}
}

// report gives what m counted to Config.OnEnd, once for each owner.
func (k *Kernel) report(m *Machine) {
	p := m.owner
	if k.Config.OnEnd != nil && !p.reported {
		p.reported = true
		k.Config.OnEnd(End{PID: p.PID, Argv: p.Argv, Engine: m.engine, Mem: m.mem, Exit: p.Status, Last: len(k.Threads) == 0})
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

// LogNoMachine tells the user why call could make no process, once, and returns e.
func (k *Kernel) LogNoMachine(call string, err error, e linux.Errno) linux.Errno {
	if k.full {
		return e
	}
	k.full = true
	k.Logf("%s: no room for another process: %v; the program gets %v", call, err, e.String())
	return e
}

// GrowTo reports whether p's address space reaches up to hi. If it does not yet, it is made larger, as far as that is
// possible.
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

// A running holds the engine that executes, so that other goroutines can interrupt it. Only the kernel's goroutine
// writes e.
type running struct {
	mu sync.Mutex
	e  emu.Engine
}

// set says that e executes next.
func (r *running) set(e emu.Engine) {
	if r.e == e {
		return // no lock is needed: this goroutine alone writes it
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

// interrupt interrupts the engine that executes, if there is one.
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

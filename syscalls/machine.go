package syscalls

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// A machine is an address space and the engine that runs its code. A process has one of its own or,
// after vfork(2) or clone(2) with CLONE_VM, its parent's until it executes a program or ends (RATIONALE.md,
// "Processes").
type machine struct {
	mem    *mem.Space
	engine emu.Engine
	brk    emu.Addr
	// owner is the process whose counts it has, users are how many processes run on it.
	owner *Process
	users int
	// charged is the process whose CPU time it is what the engine executes since seen.
	charged *Process
	seen    uint64
}

const (
	// maxAddresses is how much address space all machines may have, in bytes. A host's process has 128 TiB, of which engines need some;
	// with a number of our own it is the same process on every host that finds no room. It is enough for 326 machines.
	maxAddresses = 102 << 40
	// engineAddresses is how much of a guest's addresses an engine has room for in any case.
	engineAddresses = 1 << 40
)

// addresses is how much address space m takes: what is more than an engine has in any case is there once more in its own.
func (m *machine) addresses() uint64 { return addressesFor(m.mem.Limit()) }

func addressesFor(limit emu.Addr) uint64 {
	return uint64(limit) + uint64(max(limit, engineAddresses)-engineAddresses) + mem.Guard
}

// newMachine makes a machine for p: its memory is a copy of from, or empty for nil.
func (k *Kernel) newMachine(p *Process, parent emu.Engine, from *mem.Space) (*machine, error) {
	newSpace, limit := k.spaces.New, mem.FirstLimit
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
	if k.cfg.ForkEngine != nil {
		e, err = k.cfg.ForkEngine(p.pid, parent, m, k)
	} else {
		e, err = k.cfg.NewEngine(m, k)
	}
	if err != nil {
		m.Close()
		return nil, err
	}
	m.OnInvalidate(e.Invalidate)
	own := &machine{mem: m, engine: e, owner: p}
	k.addresses += own.addresses()
	return own, nil
}

// use makes p run on m.
func (p *Process) use(m *machine) {
	if p.machine != m {
		m.users++
	}
	p.machine, p.mem, p.engine = m, m.mem, m.engine
	p.memory.space = m.mem
	// What the kernel copies to or from a stack makes it grow, as the program's own accesses do.
	m.mem.OnMissing(func(a emu.Addr) bool { return m.owner.mem == m.mem && m.owner.growStack(a) })
}

// charge makes the CPU time from now on p's.
func (m *machine) charge(p *Process) {
	if m.charged == p {
		return
	}
	now := m.engine.Executed()
	if m.charged != nil {
		m.charged.used += int64(now - m.seen)
	}
	m.charged, m.seen = p, now
}

// leave takes p off its machine. Without users a machine is closed, but not before what is
// being done is done.
func (p *Process) leave() {
	m := p.machine
	if m.charged == p {
		m.charge(nil)
	}
	p.machine = nil
	if m.users--; m.users == 0 {
		p.k.gone = append(p.k.gone, m)
	}
}

// handOver gives from, which its owner has left for to, to a process that still runs on it. What was
// counted goes with the old owner.
func (k *Kernel) handOver(from, to *machine) {
	if from.owner != to.owner || from.users == 0 {
		return
	}
	i := slices.IndexFunc(k.procs, func(p *Process) bool { return p.machine == from })
	from.owner = k.procs[i]
	if k.cfg.OnMove != nil {
		k.cfg.OnMove(from.engine, to.engine, from.owner.pid)
	}
}

// bury closes the machines that nothing runs on, and gives away what they counted.
func (k *Kernel) bury() {
	gone := k.gone
	k.gone = nil
	for _, m := range gone {
		k.report(m)
		if m.owner == k.first {
			k.gone = append(k.gone, m) // for those that ask for it when the run is over
			continue
		}
		if err := m.close(k); err != nil {
			k.logf("process %d: %v", m.owner.pid, err)
		}
	}
}

// report gives away what m counted, once.
func (k *Kernel) report(m *machine) {
	p := m.owner
	if k.cfg.OnEnd != nil && !p.reported {
		p.reported = true
		k.cfg.OnEnd(End{PID: p.pid, Argv: p.argv, Engine: m.engine, Mem: m.mem, Exit: p.status})
	}
}

func (m *machine) close(k *Kernel) error {
	k.running.forget(m.engine)
	k.addresses -= m.addresses()
	var errs []error
	if m.engine != nil {
		errs = append(errs, m.engine.Close())
	}
	return errors.Join(append(errs, m.mem.Close())...)
}

// noMachine says why a process gets no machine of its own, and returns e.
func (k *Kernel) noMachine(call string, err error, e linux.Errno) linux.Errno {
	k.logf("%s: no room for another process: %v; the program gets %v", call, err, e.String())
	return e
}

// reach reports whether p's memory has addresses up to hi, and makes it grow if it has not.
func (p *Process) reach(hi emu.Addr) bool {
	if hi <= p.mem.Limit() {
		return true
	}
	if hi > mem.MaxAddr {
		return false
	}
	k, m, limit := p.k, p.machine, mem.FirstLimit
	for limit < hi {
		limit *= 2
	}
	others := k.addresses - m.addresses()
	if others+addressesFor(limit) > maxAddresses {
		return false
	}
	if err := m.mem.Grow(limit); err != nil {
		k.logf("%v: %v", p, err)
		if errors.Is(err, mem.ErrLost) {
			p.kill(&sigInfo{signo: linux.SIGKILL, code: linux.SI_KERNEL})
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
	if len(p.threads) > 0 {
		comm = p.threads[0].comm
	}
	return fmt.Sprintf("process %d (%s)", p.pid, comm)
}

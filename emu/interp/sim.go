package interp

import (
	"github.com/cgemu/cgemu/branchsim"
	"github.com/cgemu/cgemu/cachesim"
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
	"github.com/cgemu/cgemu/hooks"
)

// A simulation has the simulated caches and predictors, nil where there are none.
type simulation struct {
	caches   *cachesim.Hierarchy
	branches *branchsim.Predictor
	// details says that more than instructions counts or is simulated.
	details bool
	// refs are the references of the instruction that is being executed, which happen, and their addresses.
	refs []reference
}

// A reference is one that an instruction makes.
type reference struct {
	x86.Ref
	addr emu.Addr
}

func newSimulation(cfg *emu.Config) (s simulation) {
	if cfg.Caches != nil {
		s.caches = cachesim.NewHierarchy(*cfg.Caches)
	}
	if cfg.Branches {
		s.branches = new(branchsim.Predictor)
	}
	s.details = cfg.Caches != nil || cfg.Branches || cfg.Events&^emu.Events(emu.Ir) != 0
	return s
}

// watching reports whether anything but instructions counts or is simulated now.
func (e *Engine) watching() bool { return e.sim.details && e.counting != emu.CountOff }

// begin fetches in, and finds what it refers to: c is in front of it.
func (e *Engine) begin(c *emu.CPU, in *insn) {
	if !e.watching() || in.Kind == guest.FetchFault {
		return
	}
	s := &e.sim
	if s.caches != nil {
		l1, ll := s.caches.Fetch(uint64(in.PC), int(in.Len))
		e.missed(in.PC, emu.I1mr, l1, ll)
	}
	s.refs = s.refs[:0]
	if hooks.Repeats(&in.Inst) && in.Op.IsString() {
		return
	}
	for _, r := range in.effects.Refs {
		if guest.Happens(c, &in.Insn, r) {
			s.refs = append(s.refs, reference{r, guest.RefAddr(c, &in.Insn, r)})
		}
	}
}

// finish counts and simulates what in, which has been executed, referred to.
func (e *Engine) finish(in *insn) {
	if !e.watching() {
		return
	}
	for _, r := range e.sim.refs {
		if r.Guard != x86.Always {
			e.countRef(in.PC, r.Ref)
		}
		e.data(in.PC, r.addr, r.Ref)
	}
	if hooks.Retries(&in.Inst) {
		e.conditional(in.PC, false)
	}
}

func (e *Engine) countRef(a emu.Addr, r x86.Ref) {
	for _, ev := range hooks.EventsOf(r) {
		e.tally(a, ev, 1)
	}
}

// onlyUpTo takes back what in counts beyond its execution, for it raised f, but for the references in front of the one that faulted. That
// one is looked up in the caches as well if it writes to what can be read.
func (e *Engine) onlyUpTo(c *emu.CPU, in *insn, f *emu.Fault) {
	if e.counting == emu.CountAll {
		for _, p := range e.plans[in.plan] {
			if p.event != emu.Ir {
				e.tally(in.PC, p.event, -p.times)
			}
		}
	}
	if !e.watching() || f.Vector != emu.VecPF || f.Exec || hooks.Repeats(&in.Inst) {
		return
	}
	n, found := hooks.ReferencesBefore(&in.Inst, func(r x86.Ref) emu.Addr { return guest.RefAddr(c, &in.Insn, r) }, *f)
	for r := range in.References {
		a := guest.RefAddr(c, &in.Insn, r)
		if n--; n < 0 {
			var last [1]byte
			if found && e.mem.Read(a, last[:]) != 0 && e.mem.Read(a+emu.Addr(r.Size)-1, last[:]) != 0 {
				e.data(in.PC, a, r)
			}
			return
		}
		e.data(in.PC, a, r)
		e.countRef(in.PC, r)
	}
}

// branched counts and simulates where the branch in went: to next, taken or not.
func (e *Engine) branched(in *insn, taken bool, next emu.Addr) {
	if !e.watching() {
		return
	}
	if in.Flow == x86.FlowJcc || in.Flow == x86.FlowLoop {
		if taken {
			e.tally(in.PC, emu.Taken, 1)
		}
		e.conditional(in.PC, hooks.Taken(&in.Inst, taken))
	}
	if s := &e.sim; in.effects.Indirect && s.branches != nil && s.branches.Indirect(uint64(in.PC), uint64(next)) {
		e.tally(in.PC, emu.Bim, 1)
	}
}

// conditional simulates a conditional branch.
func (e *Engine) conditional(a emu.Addr, taken bool) {
	if e.sim.branches != nil && e.sim.branches.Conditional(uint64(a), taken) {
		e.tally(a, emu.Bcm, 1)
	}
}

// data simulates a data reference of the instruction at the address at.
func (e *Engine) data(at, a emu.Addr, r x86.Ref) {
	if e.sim.caches == nil || a >= e.mem.Limit() {
		return
	}
	l1, ll := e.sim.caches.Data(uint64(a), int(r.Size))
	first := emu.D1mr
	if r.Kind == x86.Write {
		first = emu.D1mw
	}
	e.missed(at, first, l1, ll)
}

// missed counts misses: first is the event of the first level, and that of the last level follows.
func (e *Engine) missed(a emu.Addr, first emu.Event, l1, ll bool) {
	if l1 {
		e.tally(a, first, 1)
	}
	if ll {
		e.tally(a, first+1, 1)
	}
}

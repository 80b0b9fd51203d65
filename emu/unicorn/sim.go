//go:build unicorn && linux && (amd64 || arm64)

package unicorn

import (
	"slices"

	"github.com/cgemu/cgemu/branchsim"
	"github.com/cgemu/cgemu/cachesim"
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
	"github.com/cgemu/cgemu/hooks"
)

// A simulation has the simulated caches and predictors, nil where there are none, and what is known of
// the instruction that is being executed.
type simulation struct {
	caches   *cachesim.Hierarchy
	branches *branchsim.Predictor

	// in is the instruction that was begun last, at addr; nil if it is done with.
	in   *insn
	addr emu.Addr
	// read and write are the first addresses it read and wrote; noAddr if none.
	read, write emu.Addr
	// settled says that its references are simulated.
	settled bool
	// holds has the condition of a jump to the next instruction.
	holds bool
	// run is where the instructions executed in a row began, prev the address behind the last one.
	run, prev emu.Addr
	// effects are those of contextual instructions.
	effects map[contextKey]*hooks.Effects
}

// A contextKey is an instruction, and where the run began in which it was executed.
type contextKey struct{ at, run emu.Addr }

func newSimulation(cfg *emu.Config) *simulation {
	s := &simulation{effects: map[contextKey]*hooks.Effects{}}
	if cfg.Caches != nil {
		s.caches = cachesim.NewHierarchy(*cfg.Caches)
	}
	if cfg.Branches {
		s.branches = new(branchsim.Predictor)
	}
	return s
}

// watching reports whether anything but instructions counts or is simulated now.
func (e *Engine) watching() bool { return e.shared.ring != 0 }

// restart begins a row of instructions at a.
func (e *Engine) restart(a emu.Addr) { e.sim.in, e.sim.run, e.sim.prev = nil, a, a }

// drain reads the ring: the library stopped in front of next.
func (e *Engine) drain(next emu.Addr) {
	if !e.watching() {
		return
	}
	e.replay()
	e.finish(next)
}

// drainTo reads the ring up to the instruction at a, which failed and did nothing.
func (e *Engine) drainTo(a emu.Addr) {
	if !e.watching() {
		return
	}
	e.replay()
	if e.sim.in != nil && e.sim.addr != a {
		e.finish(a)
	}
	e.drop()
}

// replay simulates what is in the ring.
func (e *Engine) replay() {
	s, first := e.sim, address(&e.shared.words[0])
	for _, w := range e.shared.words[:(e.shared.ring-first)/8] {
		a := emu.Addr(w & ringAddr)
		switch {
		case w&isCode != 0:
			e.finish(a)
			e.begin(a, e.known(a))
		case w&isWrite != 0:
			if s.write == noAddr {
				s.write = a
			}
		default:
			if s.read == noAddr {
				s.read = a
			}
		}
	}
	e.shared.ring = first
}

// begin begins the instruction at a with its fetch.
func (e *Engine) begin(a emu.Addr, in *insn) {
	if !e.watching() {
		return
	}
	s := e.sim
	if a != s.prev {
		s.run = a
	}
	s.in, s.addr, s.read, s.write, s.settled, s.prev = in, a, noAddr, noAddr, false, a+emu.Addr(in.length)
	if s.caches != nil {
		l1, ll := s.caches.Fetch(uint64(a), int(in.length))
		e.missed(a, emu.I1mr, l1, ll)
	}
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

// drop makes nothing more of the instruction that was begun.
func (e *Engine) drop() { e.sim.in = nil }

// finish does what is left of the instruction that was begun: next is the one behind it.
func (e *Engine) finish(next emu.Addr) {
	s := e.sim
	in := s.in
	if in == nil {
		return
	}
	s.in = nil
	refs, indirect := in.refs, in.indirect
	if in.contextual {
		x := e.inContext(in)
		refs, indirect = x.Refs, x.Indirect
	}
	if !s.settled {
		for _, r := range refs {
			a := s.read
			if r.Kind == x86.Write {
				a = s.write
			}
			e.data(s.addr, a, r)
		}
	}
	if in.retries {
		e.conditional(s.addr, false)
	}
	e.branched(in, next, indirect)
	if in.flow != x86.FlowNext || in.kind.Ends() {
		s.prev = noAddr
	}
}

// branched counts and simulates where a branch went.
func (e *Engine) branched(in *insn, next emu.Addr, indirect bool) {
	s := e.sim
	if in.flow == x86.FlowJcc || in.flow == x86.FlowLoop {
		taken := next != s.addr+emu.Addr(in.length)
		if in.toNext {
			taken = s.holds
		}
		if taken {
			e.tally(s.addr, emu.Taken, 1)
		}
		e.conditional(s.addr, taken != in.inverted)
	}
	if indirect && s.branches != nil && s.branches.Indirect(uint64(s.addr), uint64(next)) {
		e.tally(s.addr, emu.Bim, 1)
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

// inContext returns the effects of the instruction that was begun as it is in its run, and counts in what
// they differ from those of its plan.
func (e *Engine) inContext(in *insn) *hooks.Effects {
	s := e.sim
	key := contextKey{s.addr, s.run}
	x := s.effects[key]
	if x == nil {
		x = e.follow(s.run, s.addr)
		s.effects[key] = x
	}
	e.decode(s.addr)
	if p := e.planOf(&e.g.Inst, x); p != in.plan {
		e.unplan(s.addr, in)
		for _, q := range e.plans[p] {
			if q.event != emu.Ir {
				e.tally(s.addr, q.event, q.times)
			}
		}
	}
	return x
}

// follow returns the effects of the instruction at a behind those from run on.
func (e *Engine) follow(run, a emu.Addr) *hooks.Effects {
	var c hooks.Context
	for {
		e.decode(run)
		x := c.Next(&e.g.Inst)
		if run >= a {
			x.Refs = slices.Clone(x.Refs) // they are e.g's
			return &x
		}
		run = e.g.Next()
	}
}

// refer counts and simulates what the instruction in e.g refers to, which was begun, as c is in front
// of it.
func (e *Engine) refer(c *emu.CPU, in *insn) {
	s := e.sim
	if !e.watching() || s.in == nil {
		return
	}
	g := &e.g
	s.settled = true
	if in.toNext {
		s.holds = holds(c, g)
	}
	for _, r := range in.refs {
		if !guest.Happens(c, g, r) {
			continue
		}
		if r.Guard != x86.Always {
			for _, ev := range hooks.EventsOf(r) {
				e.tally(s.addr, ev, 1)
			}
		}
		e.data(s.addr, guest.RefAddr(c, g, r), r)
	}
}

// holds reports whether the condition of a jump holds.
func holds(c *emu.CPU, g *guest.Insn) bool {
	f := func(bit uint64) bool { return c.Flags&bit != 0 }
	if g.Flow == x86.FlowLoop {
		count := c.Regs[emu.RCX]
		jumpsAtZero := g.Op == x86.JRCXZ
		if !jumpsAtZero {
			count--
		}
		if g.Mem.AddrSize == 4 {
			count &= 1<<32 - 1
		}
		switch {
		case jumpsAtZero:
			return count == 0
		case g.Op == x86.LOOPE:
			return count != 0 && f(emu.FlagZF)
		case g.Op == x86.LOOPNE:
			return count != 0 && !f(emu.FlagZF)
		}
		return count != 0
	}
	var yes bool
	less := f(emu.FlagSF) != f(emu.FlagOF)
	switch g.Cond >> 1 {
	case 0:
		yes = f(emu.FlagOF)
	case 1:
		yes = f(emu.FlagCF)
	case 2:
		yes = f(emu.FlagZF)
	case 3:
		yes = f(emu.FlagCF) || f(emu.FlagZF)
	case 4:
		yes = f(emu.FlagSF)
	case 5:
		yes = f(emu.FlagPF)
	case 6:
		yes = less
	case 7:
		yes = less || f(emu.FlagZF)
	}
	return yes != (g.Cond&1 != 0)
}

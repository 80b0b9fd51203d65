package interp

import (
	"math/bits"
	"slices"
	"unsafe"

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
	// fetches and data are what exec looks at before it asks the caches.
	fetches, data recency
	// refs are the references of the instruction that is being executed, which happen, and their addresses.
	refs []hooks.Reference
	// longest is how many bytes of a reference are simulated at most.
	longest uint64
	// done is how many references of an instruction that faulted have been simulated.
	done int
}

// A recency has the line that each set of a first-level cache used last. A reference to it and to no other line is a
// hit, and changes nothing.
type recency struct {
	lines []uint64
	// recent is where lines begin. A line's number is its address without the lowest shift bits; sets masks the number
	// of its set.
	recent      unsafe.Pointer
	shift, sets uint64
	// line is the size of a line.
	line uint64
}

// newRecency returns that of a cache, or one whose references are all hits if there is none.
func newRecency(g *cachesim.Geometry) (r recency) {
	if g == nil {
		r.lines, r.shift, r.line = make([]uint64, 1), 63, 1<<32
	} else {
		// A new cache holds line 0.
		r.lines, r.shift, r.line = make([]uint64, g.Sets()), uint64(bits.TrailingZeros(uint(g.Line))), uint64(g.Line)
	}
	r.recent, r.sets = unsafe.Pointer(&r.lines[0]), uint64(len(r.lines)-1)
	return r
}

// used notes that a reference of size bytes at a was made.
func (r *recency) used(a, size uint64) {
	first, last := a>>(r.shift&63), (a+size-1)>>(r.shift&63)
	r.lines[first&r.sets] = first
	r.lines[last&r.sets] = last
}

func newSimulation(cfg *emu.Config) (s simulation) {
	var i1, d1 *cachesim.Geometry
	if cfg.Caches != nil {
		s.caches = cachesim.NewHierarchy(*cfg.Caches)
		i1, d1, s.longest = &cfg.Caches.I1, &cfg.Caches.D1, uint64(cfg.Caches.MinLine())
	}
	if cfg.Branches {
		s.branches = new(branchsim.Predictor)
	}
	s.fetches, s.data = newRecency(i1), newRecency(d1)
	s.details = cfg.Caches != nil || cfg.Branches || cfg.Events&^emu.Events(emu.Ir) != 0
	return s
}

// watching reports whether anything but instructions counts or is simulated now.
func (e *Engine) watching() bool { return e.sim.details && e.counting != emu.CountOff }

// fetch simulates the fetch of in.
func (e *Engine) fetch(in *insn) {
	s := &e.sim
	if s.caches == nil {
		return
	}
	l1, ll := s.caches.Fetch(uint64(in.PC), int(in.Len))
	s.fetches.used(uint64(in.PC), uint64(in.Len))
	e.missed(in, emu.I1mr, l1, ll)
}

// refer finds what in, which has been fetched, refers to: c is in front of it.
func (e *Engine) refer(c *emu.CPU, in *insn) {
	s := &e.sim
	s.refs, s.done = s.refs[:0], 0
	if hooks.Repeats(&in.Inst) && in.Op.IsString() {
		return
	}
	for _, r := range in.effects.Refs {
		if guest.Happens(c, &in.Insn, r) {
			s.refs = append(s.refs, hooks.Reference{Ref: r, Addr: guest.RefAddr(c, &in.Insn, r)})
		}
	}
}

// finish counts and simulates what in, which has been executed, referred to.
func (e *Engine) finish(in *insn) {
	for _, r := range e.sim.refs {
		if r.Guard != x86.Always {
			e.countRef(in.PC, r.Ref)
		}
		e.data(in, r.Addr, r.Ref)
	}
	e.sim.refs = e.sim.refs[:0]
	if hooks.LockedBranch(&in.Inst) {
		e.conditional(in, false)
	}
}

func (e *Engine) countRef(a emu.Addr, r x86.Ref) {
	for _, ev := range hooks.EventsOf(r) {
		e.tally(a, ev, 1)
	}
}

// onlyUpTo takes back what in counts beyond its execution, for it raised f, but for the references in front of the one
// that faulted. These, and that one if it writes, are looked up in the caches if they can be read: of a locked
// instruction, which CPUs let raise the fault of a write, not even that need be so.
func (e *Engine) onlyUpTo(c *emu.CPU, in *insn, f *emu.Fault) {
	refs := e.sim.refs // as refer found them, if it did: a gather has changed its mask since
	e.sim.refs = refs[:0]
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
	if !slices.ContainsFunc(refs, func(r hooks.Reference) bool { return r.Guard != x86.Always || r.At == x86.AtVSIB }) {
		refs = guest.References(c, &in.Insn, nil)
	}
	n, found := hooks.ReferencesBefore(refs, *f)
	for k, r := range refs[:n] {
		if k >= e.sim.done && guest.Readable(e.mem, r) {
			e.data(in, r.Addr, r.Ref)
		}
		e.countRef(in.PC, r.Ref)
	}
	if found && guest.Readable(e.mem, refs[n]) {
		e.data(in, refs[n].Addr, refs[n].Ref)
	}
}

// conditionalJump counts and simulates the conditional jump in.
func (e *Engine) conditionalJump(in *insn, taken bool) {
	if taken && e.Events.Has(emu.Taken) {
		e.happened(in, emu.Taken)
	}
	if s := &e.sim; s.branches != nil && s.branches.Conditional(uint64(in.PC), taken != in.inverted) {
		e.happened(in, emu.Bcm)
	}
}

// happened counts an event of in that does not follow from its plan.
func (e *Engine) happened(in *insn, ev emu.Event) {
	if e.counting != emu.CountAll {
		return
	}
	if e.calls != nil {
		e.calls.add(ev, 1)
	}
	if in.own == nil {
		in.own = new([emu.Taken + 1]uint32)
	}
	if in.own[ev]++; in.own[ev] == 1<<32-1 {
		e.gatherOwn(in)
	}
}

// indirectJump simulates the jump or call in to next.
func (e *Engine) indirectJump(in *insn, next uint64) {
	if s := &e.sim; in.effects.Indirect && s.branches != nil && s.branches.Indirect(uint64(in.PC), next) {
		e.happened(in, emu.Bim)
	}
}

// branched counts and simulates where the branch in went: to next, taken or not.
func (e *Engine) branched(in *insn, taken bool, next emu.Addr) {
	if !e.watching() {
		return
	}
	if in.Flow == x86.FlowJcc || in.Flow == x86.FlowLoop {
		e.conditionalJump(in, taken)
	}
	e.indirectJump(in, uint64(next))
}

// conditional simulates a conditional branch that in counts.
func (e *Engine) conditional(in *insn, taken bool) {
	if e.sim.branches != nil && e.sim.branches.Conditional(uint64(in.PC), taken) {
		e.happened(in, emu.Bcm)
	}
}

// data simulates a data reference of in.
func (e *Engine) data(in *insn, a emu.Addr, r x86.Ref) {
	first := emu.D1mr
	if r.Kind == x86.Write {
		first = emu.D1mw
	}
	e.dataAt(in, uint64(a), uint64(r.Size), first)
}

// dataAt does so for size bytes at a; first is the event of a miss in the first level.
func (e *Engine) dataAt(in *insn, a, size uint64, first emu.Event) {
	s := &e.sim
	if s.caches == nil || a >= e.limit {
		return
	}
	l1, ll := s.caches.Data(a, int(size))
	s.data.used(a, min(size, s.longest))
	if l1 {
		e.missed(in, first, l1, ll)
	}
}

// reference simulates a data reference of the micro-operation u.
func (e *Engine) reference(b *block, u *uop, a, size uint64, first emu.Event) {
	e.dataAt(&b.insns[u.insn], a, size, first)
}

// missed counts misses: first is the event of the first level, and that of the last level follows.
func (e *Engine) missed(in *insn, first emu.Event, l1, ll bool) {
	if l1 && e.Events.Has(first) {
		e.happened(in, first)
	}
	if ll && e.Events.Has(first+1) {
		e.happened(in, first+1)
	}
}

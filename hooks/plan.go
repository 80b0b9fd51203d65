package hooks

import (
	"math/bits"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/x86"
)

// Effects are what one execution of an instruction does that may count.
type Effects struct {
	// Refs are its data references, in order; of a repeated instruction, those of one
	// iteration.
	Refs []x86.Ref
	// Cond says that it counts a conditional branch, Indirect an indirect one.
	Cond, Indirect bool
}

// A Plan has what one execution of an instruction counts whatever it meets, by event. What
// depends on data is not in it: guarded references, and all that repeats with a REP prefix.
type Plan [emu.NumEvents]uint8

// Plan returns the plan of an instruction with effects x, for some events.
func (x *Effects) Plan(i *x86.Inst, events emu.EventSet) (p Plan) {
	p[emu.Ir] = 1
	if !Repeats(i) {
		for _, r := range x.Refs {
			if r.Guard == x86.Always {
				for _, e := range EventsOf(r) {
					p[e]++
				}
			}
		}
	}
	if x.Cond {
		p[emu.Bc]++
	}
	if x.Indirect {
		p[emu.Bi]++
	}
	for e := range p {
		if !events.Has(emu.Event(e)) {
			p[e] = 0
		}
	}
	return p
}

// Repeats reports whether i has a REP prefix that repeats it.
func Repeats(i *x86.Inst) bool { return i.Rep || i.Repne }

// LockedBranch reports whether i counts a conditional branch that is never taken: a locked or exchanging
// instruction, for which Valgrind tries a compare-and-swap again until it succeeds. CMPXCHG has no
// such loop.
func LockedBranch(i *x86.Inst) bool {
	return i.NRefs == 2 && i.Refs[0].Kind == x86.Read && i.Refs[1].Kind == x86.Modify
}

// EventsOf returns what a data reference counts. A modify is one read to Cachegrind, and a load and
// a store by size.
func EventsOf(r x86.Ref) []emu.Event {
	size := uint8(emu.LoadBig - emu.Load1)
	if s := uint16(1) << (bits.Len16(r.Size) - 1); s == r.Size && s <= 32 {
		size = uint8(bits.Len16(r.Size) - 1)
	}
	load, store := emu.Load1+emu.Event(size), emu.Store1+emu.Event(size)
	switch r.Kind {
	case x86.Read:
		return []emu.Event{emu.Dr, load}
	case x86.Write:
		return []emu.Event{emu.Dw, store}
	default:
		return []emu.Event{emu.Dr, load, store}
	}
}

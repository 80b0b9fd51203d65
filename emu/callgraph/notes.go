package callgraph

import (
	"slices"

	"github.com/cgemu/cgemu/emu"
)

// Notes are what code that records calls was made from: which functions hold addresses, and the arcs that it knows by
// their places.
type Notes struct {
	Functions []Answer
	Arcs      []int
}

// An Answer is the function that holds an address.
type Answer struct {
	At       emu.Addr
	Function emu.Function
}

// A Snapshot is what a recorder still knows when it is retired: its arcs in the order of their places, and the IDs of
// functions in that of their numbers.
type Snapshot struct {
	Arcs      []ArcEnds
	Functions []emu.Addr
}

// ArcEnds are the places that an arc is between; Jump says that it is of jumps within a function.
type ArcEnds struct {
	Site, Target emu.Addr
	Jump         bool
}

// Notes may have that many of each; code without names, each instruction of which is a function, has more.
const (
	maxAnswers = 16
	maxArcs    = 256
)

// note notes that f holds a, if that is not known.
func (n *Notes) note(a emu.Addr, f emu.Function) {
	for i := len(n.Functions) - 1; i >= 0; i-- {
		if k := &n.Functions[i].Function; a >= k.Lo && a < k.Hi {
			return
		}
	}
	if len(n.Functions) <= maxAnswers {
		n.Functions = append(n.Functions, Answer{a, f})
	}
}

// noteArc notes that the arc with number i is known by its place.
func (n *Notes) noteArc(i int) {
	if len(n.Arcs) <= maxArcs {
		n.Arcs = append(n.Arcs, i)
	}
}

// TakeNotes begins to take notes of what r is asked for.
func (r *Recorder) TakeNotes() {
	r.notes = &r.pad
	r.pad = Notes{r.pad.Functions[:0], r.pad.Arcs[:0]}
}

// Notes ends that, and returns what was noted, nil if that is too much to be kept.
func (r *Recorder) Notes() *Notes {
	if r.notes = nil; len(r.pad.Functions) > maxAnswers || len(r.pad.Arcs) > maxArcs {
		return nil
	}
	return &Notes{slices.Clone(r.pad.Functions), slices.Clone(r.pad.Arcs)}
}

// Recall reports whether r would give the same answers now as when it took notes. Then the arcs are as they have to be
// for code that is used again.
func (r *Recorder) Recall(n *Notes) bool {
	for i := range n.Functions {
		k := &n.Functions[i]
		recalled := &r.recalled[k.Function.Lo/functionPart%functionParts] // most blocks are of functions that others are of
		if *recalled == k.Function {
			continue
		}
		if r.function(k.At) != k.Function {
			return false
		}
		*recalled = k.Function
	}
	for _, i := range n.Arcs {
		r.refresh(i)
	}
	return true
}

// Known returns the place of an arc that there is, jump says whether it is of jumps within a function. Nothing is
// looked up.
func (r *Recorder) Known(site, target emu.Addr, jump bool) uint64 {
	i := r.arcs.keys.Find(arcKey{site: site, target: target, jump: jump})
	if i < 0 {
		panic("BUG: an arc that code knows is not there")
	}
	return r.Base + uint64(8*i*r.Width())
}

// Retire makes r as new, but that arcs keep their places and functions their numbers. Notes stay good.
func (r *Recorder) Retire() {
	for i := range r.arcs.list {
		r.arcs.list[i].stale, r.arcs.list[i].unsettled = true, false
	}
	r.unsettled = r.unsettled[:0]
	clear(r.Sums)
	clear(r.Totals)
	r.forgetFunctions()
	clear(r.goroutines)
	clear(r.entries)
	r.waiting = nil
	clear(r.threads)
	r.calledFrom = 0
	r.thread, r.cpu, r.inherited, r.Frames = nil, nil, nil, r.Frames[:0]
}

// Snapshot returns what r would know if it were retired. It does not tell contexts apart.
func (r *Recorder) Snapshot() Snapshot {
	s := Snapshot{make([]ArcEnds, len(r.arcs.list)), slices.Clone(r.numbers.Values())}
	for i, a := range r.arcs.keys.Values() {
		s.Arcs[i] = ArcEnds{a.site, a.target, a.jump}
	}
	return s
}

// Restore makes r, which is new, like the retired recorder of which s is: the notes of that one are good for r.
func (r *Recorder) Restore(s Snapshot) {
	r.arcs = newArcTable(len(s.Arcs))
	for _, a := range s.Arcs {
		r.arcNumber(&arcKey{site: a.Site, target: a.Target, jump: a.Jump})
	}
	for _, id := range s.Functions {
		r.numbers.Number(id)
	}
}

// Adopt has another address space, where function and mapping say what New's do.
func (r *Recorder) Adopt(function func(a emu.Addr) emu.Function, mapping func(a emu.Addr) (lo, hi emu.Addr)) {
	r.lookup, r.mapping = function, mapping
}

package callgraph

import (
	"slices"

	"github.com/cgemu/cgemu/emu"
)

// Notes are what code that records calls was made from: which functions hold addresses, and the arcs that it knows by their places.
type Notes struct {
	functions []answer
	arcs      []int
}

// An answer is the function that holds an address.
type answer struct {
	at       emu.Addr
	function emu.Function
}

// Notes may have that many of each; code without names, each instruction of which is a function, has more.
const (
	maxAnswers = 16
	maxArcs    = 256
)

// note notes that f holds a, if that is not known.
func (n *Notes) note(a emu.Addr, f emu.Function) {
	for i := len(n.functions) - 1; i >= 0; i-- {
		if k := &n.functions[i].function; a >= k.Lo && a < k.Hi {
			return
		}
	}
	if len(n.functions) <= maxAnswers {
		n.functions = append(n.functions, answer{a, f})
	}
}

// noteArc notes that the arc with number i is known by its place.
func (n *Notes) noteArc(i int) {
	if len(n.arcs) <= maxArcs {
		n.arcs = append(n.arcs, i)
	}
}

// TakeNotes begins to take notes of what r is asked for.
func (r *Recorder) TakeNotes() {
	r.notes = &r.pad
	r.pad = Notes{r.pad.functions[:0], r.pad.arcs[:0]}
}

// Notes ends that, and returns what was noted, nil if that is too much to be kept.
func (r *Recorder) Notes() *Notes {
	if r.notes = nil; len(r.pad.functions) > maxAnswers || len(r.pad.arcs) > maxArcs {
		return nil
	}
	return &Notes{slices.Clone(r.pad.functions), slices.Clone(r.pad.arcs)}
}

// Recall reports whether r would give the same answers now as when it took notes. Then the arcs are as they have to be for code that is used again.
func (r *Recorder) Recall(n *Notes) bool {
	for _, k := range n.functions {
		if r.function(k.at) != k.function {
			return false
		}
	}
	for _, i := range n.arcs {
		r.refresh(i)
	}
	return true
}

// Known returns the place of an arc that there is, jump says whether it is of jumps within a function. Nothing is looked up.
func (r *Recorder) Known(site, target emu.Addr, jump bool) uint64 {
	return r.Base + uint64(8*r.index[arcKey{site: site, target: target, jump: jump}]*r.Width())
}

// Retire makes r as new, but that arcs keep their places and functions their numbers. Notes stay good.
func (r *Recorder) Retire() {
	for i := range r.arcs {
		r.arcs[i].stale = true
	}
	clear(r.Sums)
	clear(r.Totals)
	clear(r.functions[:])
	clear(r.goroutines)
	clear(r.threads)
	r.last, r.calledFrom = emu.Function{}, 0
	r.thread, r.cpu, r.inherited, r.Frames = nil, nil, nil, r.Frames[:0]
}

// Adopt has another address space, where function and mapping say what New's do.
func (r *Recorder) Adopt(function func(a emu.Addr) emu.Function, mapping func(a emu.Addr) (lo, hi emu.Addr)) {
	r.lookup, r.mapping = function, mapping
}

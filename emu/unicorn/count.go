//go:build unicorn && linux && (amd64 || arm64)

package unicorn

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/x86"
	"github.com/cgemu/cgemu/hooks"
)

// A planned is one event of a plan, and how often one execution counts it.
type planned struct {
	event emu.Event
	times int64
}

// details reports whether it counts, or simulates, anything but instructions.
func (e *Engine) details() bool {
	return e.Caches != nil || e.Branches || e.Events&^emu.Events(emu.Ir) != 0
}

// planOf returns the index of what an instruction counts at each execution.
func (e *Engine) planOf(i *x86.Inst, x *hooks.Effects) uint16 {
	if !e.details() {
		return 0
	}
	p := x.Plan(i, e.Events)
	n, ok := e.planIndex[p]
	if !ok {
		n = uint16(len(e.plans))
		var list []planned
		for ev, times := range p {
			if times > 0 {
				list = append(list, planned{emu.Event(ev), int64(times)})
			}
		}
		e.plans = append(e.plans, list)
		e.planIndex[p] = n
	}
	return n
}

// tally counts n events of the instruction at a, if events count; n may be negative.
func (e *Engine) tally(a emu.Addr, ev emu.Event, n int64) {
	if e.counting == emu.CountAll && e.Events.Has(ev) && n != 0 {
		e.tallies[ev][a] += n
	}
}

// count counts an execution of the instruction at a that the hook passes.
func (e *Engine) count(a emu.Addr, in *insn) {
	e.shared.executed++
	if e.counting == emu.CountAll {
		e.settle(a, in, 1)
	}
}

// settle counts n executions of an instruction by its plan.
func (e *Engine) settle(a emu.Addr, in *insn, n uint64) {
	if n == 0 {
		return
	}
	for _, p := range e.plans[in.plan] {
		e.tallies[p.event][a] += int64(n) * p.times
	}
}

// uncount takes back the last execution of the instruction at a, which the hook counted.
func (e *Engine) uncount(a emu.Addr) {
	e.shared.executed--
	if c := e.page(a).counters[e.plane()]; c != nil {
		c[a%pageSize]--
	}
}

// Executed implements emu.Engine.
func (e *Engine) Executed() uint64 { return e.shared.executed }

// Collect implements emu.Engine.
func (e *Engine) Collect(lo, hi emu.Addr, add func(a emu.Addr, e emu.Event, n uint64)) {
	for n, p := range e.pages {
		first := n * pageSize
		if c := p.counters[0]; c != nil && first < hi && first+pageSize > lo {
			for off, in := range p.insns {
				a := first + emu.Addr(off)
				if in != nil && a >= lo && a < hi && c[off]&countMask != 0 {
					e.settle(a, in, c[off]&countMask)
					c[off] &^= countMask
				}
			}
		}
	}
	for ev := range e.tallies {
		for a, n := range e.tallies[ev] {
			if a >= lo && a < hi {
				if n != 0 {
					add(a, emu.Event(ev), uint64(n))
				}
				delete(e.tallies[ev], a)
			}
		}
	}
}

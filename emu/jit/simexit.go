//go:build linux && amd64

package jit

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/exec"
	"github.com/cgemu/cgemu/emu/x86"
	"github.com/cgemu/cgemu/hooks"
)

// emitOutside leaves to Go, which simulates what instruction i refers to, and comes back behind.
func (e *Engine) emitOutside(i int, kind exitKind) {
	x := exit{kind: kind, rip: e.block[i].PC, t: e.t, insn: int16(i)}
	site := e.jmp(0)
	x.resume = int32(e.pos)
	e.emitExit(site, x)
}

// outsideRefs handles exits of emitOutside.
func (e *Engine) outsideRefs(c *emu.CPU, x *exit) emu.Addr {
	g := &e.peekInsn
	e.decoder.Forget()
	e.decodeOne(g, x.rip)
	e.storeCPU(c, x.rip)
	if x.kind == exitRepeated {
		e.repeated(c, x.t, int(x.insn), g, e.get(slotC), false)
	} else {
		e.simulateRefs(c, x.t, int(x.insn), g)
	}
	e.resume = int(x.resume)
	return x.rip
}

// simulateRefs simulates the references of g as c is in front of it, and counts those that
// do not happen always.
func (e *Engine) simulateRefs(c *emu.CPU, t *tb, i int, g *ginsn) {
	for r := range g.References {
		if !exec.Happens(c, &g.Insn, r) {
			continue
		}
		if r.Guard != x86.Always {
			for _, ev := range hooks.EventsOf(r) {
				e.tally(t, i, ev, 1)
			}
		}
		e.dataRef(t, i, exec.RefAddr(c, &g.Insn, r), r)
	}
}

// repeated counts and simulates a REP instruction after its iterations: RCX was before in front of
// it. faulted says that a fault ended it.
func (e *Engine) repeated(c *emu.CPU, t *tb, i int, g *ginsn, before uint64, faulted bool) {
	n := before - c.Regs[emu.RCX]
	if g.Mem.AddrSize == 4 {
		n = uint64(uint32(n))
	}
	e.tally(t, i, emu.Reps, int64(n))
	kind := hooks.Options{}.RepeatOf(&g.Inst)
	byCondition := !faulted && n > 0 && kind != hooks.RepeatCount && (c.Flags&emu.FlagZF != 0) == (kind == hooks.RepeatUnequal)
	if e.Count.RepeatOf(&g.Inst) != hooks.NoRepeat {
		extra := int64(n) - int64(b2i(byCondition))
		e.tally(t, i, emu.Ir, extra)
		e.executed += extra
	}
	e.repeatedBranches(t, i, n, kind != hooks.RepeatCount, byCondition, faulted)
	e.repeatedRefs(c, t, i, g, n)
}

// repeatedBranches counts the branches of n iterations: each tests RCX, and the condition if there
// is one; the last test of RCX finds 0, unless the condition or a fault came first.
func (e *Engine) repeatedBranches(t *tb, i int, n uint64, conditional, byCondition, faulted bool) {
	for k := range n {
		e.condBranch(t, i, true)
		if conditional {
			e.condBranch(t, i, !byCondition || k+1 < n)
		}
	}
	bc := int64(n)
	if conditional {
		bc *= 2
	}
	if !byCondition && !faulted {
		e.condBranch(t, i, false)
		bc++
	}
	e.tally(t, i, emu.Bc, bc)
}

// repeatedRefs counts and simulates the references of n iterations, which have been made.
func (e *Engine) repeatedRefs(c *emu.CPU, t *tb, i int, g *ginsn, n uint64) {
	if n == 0 {
		return
	}
	refs := g.Refs[:g.NRefs]
	step := int64(g.OpSize)
	if c.Flags&emu.FlagDF != 0 {
		step = -step
	}
	var at [4]emu.Addr
	for k, r := range refs {
		at[k] = exec.RefAddr(c, &g.Insn, r) - emu.Addr(int64(n)*step)
		for _, ev := range hooks.EventsOf(r) {
			e.tally(t, i, ev, int64(n))
		}
	}
	if !e.sim.caches || t.world.counting == emu.CountOff {
		return
	}
	for n > 0 {
		missed := false
		for k, r := range refs {
			missed = e.dataRef(t, i, at[k], r) || missed
		}
		run := uint64(1)
		if !missed {
			// So are those that stay in the same lines: they change nothing more.
			run = min(n, e.sameLines(at[:len(refs)], step))
		}
		for k := range refs {
			at[k] += emu.Addr(int64(run) * step)
		}
		n -= run
	}
}

// sameLines returns how many iterations, this one included, touch the lines that this one does,
// and each of its references one line. It is at least 1.
func (e *Engine) sameLines(at []emu.Addr, step int64) uint64 {
	run := ^uint64(0)
	line := uint64(e.sim.d1.line)
	size := uint64(max(step, -step))
	for _, a := range at {
		in := uint64(a) & (line - 1)
		switch {
		case in+size > line:
			return 1
		case step > 0:
			run = min(run, (line-in)/size)
		default:
			run = min(run, in/size+1)
		}
	}
	return run
}

//go:build linux && amd64

package jit

import (
	"encoding/binary"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/x86"
	"github.com/cgemu/cgemu/hooks"
)

// emitOutside leaves to Go, which simulates what instruction i refers to, and comes back behind.
func (e *Engine) emitOutside(i int, kind exitKind) {
	x := exit{kind: kind, rip: e.block[i].pc, t: e.t, insn: int16(i)}
	site := e.jmp(0)
	x.resume = int32(e.pos)
	e.emitExit(site, x)
}

// outsideRefs handles exits of emitOutside.
func (e *Engine) outsideRefs(c *emu.CPU, x *exit) emu.Addr {
	g := &e.peekInsn
	e.src.n = 0
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
		if !happens(c, g, r) {
			continue
		}
		if r.Guard != x86.Always {
			for _, ev := range hooks.EventsOf(r) {
				e.tally(t, i, ev, 1)
			}
		}
		e.dataRef(t, i, refAddr(c, g, r), r)
	}
}

// happens reports whether a guarded reference is made.
func happens(c *emu.CPU, g *ginsn, r x86.Ref) bool {
	switch r.Guard {
	case x86.MaskLane:
		return laneSign(c, g.Args[1].Reg, int(r.Lane), int(r.Size))
	case x86.XSaveBit:
		return (c.Regs[emu.RDX]<<32|c.Regs[emu.RAX]&(1<<32-1))>>r.Lane&1 != 0
	}
	return true
}

// refAddr returns the address of a reference.
func refAddr(c *emu.CPU, g *ginsn, r x86.Ref) emu.Addr {
	off := emu.Addr(int64(r.Off))
	switch r.At {
	case x86.AtRSP:
		return emu.Addr(c.Regs[emu.RSP]) + off
	case x86.AtRBP:
		return emu.Addr(c.Regs[emu.RBP]) + off
	case x86.AtRSI:
		return cutAddr(g, c.Regs[emu.RSI]) + emu.Addr(segmentBase(c, g)) + off
	case x86.AtRDI:
		a := cutAddr(g, c.Regs[emu.RDI]) + off
		if !isString(g.Op) {
			a += emu.Addr(segmentBase(c, g)) // MASKMOVQ and MASKMOVDQU
		}
		return a
	case x86.AtXlat:
		return cutAddr(g, c.Regs[emu.RBX]+c.Regs[emu.RAX]&0xff) + emu.Addr(segmentBase(c, g))
	case x86.AtBitString:
		shift := 64 - 8*int(g.OpSize)
		index := int64(c.Regs[g.Args[1].Reg]) << shift >> shift
		return effective(c, g) + emu.Addr(index>>3)
	case x86.AtVSIB:
		return laneAddr(c, g, r)
	}
	return effective(c, g) + off
}

func isString(op x86.Op) bool {
	return op == x86.MOVS || op == x86.STOS || op == x86.LODS || op == x86.SCAS || op == x86.CMPS
}

// cutAddr cuts an address register to the size of g's addresses.
func cutAddr(g *ginsn, x uint64) emu.Addr {
	if g.Mem.AddrSize == 4 {
		x &= 1<<32 - 1
	}
	return emu.Addr(x)
}

// laneAddr returns the address of a gather's lane; one that is masked off reads at RSP (spec:
// cachegrind.md, section 3.5).
func laneAddr(c *emu.CPU, g *ginsn, r x86.Ref) emu.Addr {
	if !laneSign(c, g.Args[2].Reg, int(r.Lane), int(r.Size)) {
		return emu.Addr(c.Regs[emu.RSP])
	}
	a := uint64(g.Mem.Disp)
	if g.Mem.Base != x86.NoReg {
		a += c.Regs[g.Mem.Base]
	}
	var index int64
	switch g.Op {
	case x86.VGATHERQPS, x86.VGATHERQPD, x86.VPGATHERQD, x86.VPGATHERQQ:
		index = int64(binary.LittleEndian.Uint64(lane(c, g.Mem.Index, int(r.Lane), 8)))
	default:
		index = int64(int32(binary.LittleEndian.Uint32(lane(c, g.Mem.Index, int(r.Lane), 4))))
	}
	return cutAddr(g, a+uint64(index)*uint64(g.Mem.Scale)) + emu.Addr(segmentBase(c, g))
}

// lane returns a lane of vector register v.
func lane(c *emu.CPU, v x86.Reg, n, size int) []byte {
	at := n * size
	if at < 16 {
		return c.FP[emu.XOffXMM+16*int(v)+at:][:size]
	}
	return c.FP[emu.XOffYMMH+16*int(v)+at-16:][:size]
}

// laneSign returns the highest bit of a lane.
func laneSign(c *emu.CPU, v x86.Reg, n, size int) bool { return lane(c, v, n, size)[size-1]>>7 != 0 }

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
		at[k] = refAddr(c, g, r) - emu.Addr(int64(n)*step)
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

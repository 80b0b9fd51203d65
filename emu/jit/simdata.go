//go:build linux && amd64

package jit

import (
	"math"
	"math/bits"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
)

// An ea is the address of a data reference as an expression of guest registers at some point of
// the block: what of it the block changes by known constants (RSP) is in disp.
type ea struct {
	base, index x86.Reg
	scale       uint8
	seg         x86.Seg
	addr32      bool
	disp        int64
	// version counts the changes of base and index up to the reference.
	version int
}

// sameBut reports whether two addresses differ by their displacements alone.
func (a *ea) sameBut(b *ea) bool {
	x, y := *a, *b
	x.disp, y.disp = 0, 0
	return x == y
}

// constant returns an address that depends on nothing.
func (a *ea) constant() (uint64, bool) {
	ok := a.base == x86.NoReg && a.index == x86.NoReg && a.seg == x86.SegNone
	if a.addr32 {
		return uint64(uint32(a.disp)), ok
	}
	return uint64(a.disp), ok
}

// regs returns the registers of the address.
func (a *ea) regs() (mask uint16) {
	if a.base != x86.NoReg {
		mask |= 1 << a.base
	}
	if a.index != x86.NoReg {
		mask |= 1 << a.index
	}
	return mask
}

// A dataRef is one reference of a group.
type dataRef struct {
	insn int
	kind x86.RefKind
	size int
	disp int64
}

// A group is references in a row whose addresses differ by constants: one check serves
// them all, in front of instruction at.
type group struct {
	ea   ea // of the first
	at   int
	refs []dataRef
	// lo and hi are the displacements that the references lie between.
	lo, hi int64
}

// maxSpan is how many bytes the references of a group may span: the longer, the more
// often they lie in two lines.
const maxSpan = 32

// inline reports whether the references of g are simulated by generated code: they all happen, and
// their addresses follow from general registers.
func inline(g *ginsn) bool {
	if g.Kind.Ends() && g.Kind != guest.CallNoRedir || g.Kind == guest.Rep {
		return false
	}
	for _, r := range g.effects.Refs {
		if !inlineRef(r) {
			return false
		}
	}
	return true
}

// inlineRef is that for one reference.
func inlineRef(r x86.Ref) bool {
	return r.Guard == x86.Always && r.At != x86.AtXlat && r.At != x86.AtBitString && r.At != x86.AtVSIB
}

// outside reports whether Go has to simulate or count what g refers to.
func (e *Engine) outside(g *ginsn) bool {
	if !e.details() || g.Kind.Ends() {
		return false
	}
	return g.Kind == guest.Rep || !inline(g)
}

// An addressing follows the registers of a block while its references are collected.
type addressing struct {
	version [16]int
	rsp     int64 // what RSP is beyond its value at the last change by an unknown amount
}

// of returns the address of a reference of g.
func (s *addressing) of(g *ginsn, r *x86.Ref) ea {
	a := ea{base: x86.NoReg, index: x86.NoReg, disp: int64(r.Off)}
	switch r.At {
	case x86.AtRSP:
		a.base = x86.RSP
	case x86.AtRBP:
		a.base = x86.RBP
	case x86.AtRSI:
		a.base = x86.RSI
	case x86.AtRDI:
		a.base, a.seg, a.addr32 = x86.RDI, g.Mem.Seg, g.Mem.AddrSize == 4
	default:
		m := &g.Mem
		a.base, a.index, a.scale, a.seg, a.addr32 = m.Base, m.Index, m.Scale, m.Seg, m.AddrSize == 4
		a.disp += m.Disp
		if m.RIPRel {
			a.base, a.disp = x86.NoReg, a.disp+int64(g.Next())
		}
		if g.Op == x86.POP && m.Base == x86.RSP {
			a.disp += int64(g.OpSize) // it is computed behind the pop
		}
	}
	if a.index == x86.NoReg {
		a.scale = 0
	} else {
		a.version += s.version[a.index]
	}
	if a.base != x86.NoReg {
		a.version += s.version[a.base]
	}
	if a.base == x86.RSP {
		a.disp += s.rsp
	}
	return a
}

// pass follows what g does to registers.
func (s *addressing) pass(g *ginsn) {
	if n, ok := rspStep(g); ok {
		s.rsp += n
		if g.Kind == guest.Pop {
			s.version[g.Args[0].Reg]++
		}
		return
	}
	for r := range s.version {
		if g.GPRWrite>>r&1 != 0 {
			s.version[r]++
			if r == int(x86.RSP) {
				s.rsp = 0
			}
		}
	}
}

// rspStep returns what g adds to RSP, if that is known.
func rspStep(g *ginsn) (n int64, ok bool) {
	switch {
	case g.Kind == guest.Push:
		return -int64(g.OpSize), true
	case g.Kind == guest.Pop && g.Args[0].Kind == x86.ArgGPR && g.Args[0].Reg != x86.RSP:
		return int64(g.OpSize), true
	case g.Kind == guest.Plain && g.OpSize == 8 && g.Args[0].Kind == x86.ArgGPR && g.Args[0].Reg == x86.RSP && g.Args[1].Kind == x86.ArgImm:
		switch g.Op {
		case x86.ADD:
			return g.Args[1].Imm, true
		case x86.SUB:
			return -g.Args[1].Imm, true
		}
	}
	return 0, false
}

// planData finds the groups of the block. Those of instruction i begin at e.groupsAt(i).
func (e *Engine) planData() {
	if !e.sim.caches || e.counting == emu.CountOff {
		return
	}
	s := addressing{}
	open := false // whether the last group may grow
	for i := range e.block {
		g := &e.block[i]
		if e.fetches(i) || !inline(g) || e.checked(i) || i > 0 && e.mayHaveChanged(i) {
			open = false
		}
		if inline(g) {
			for k := range g.effects.Refs {
				e.addRef(&s, i, &g.effects.Refs[k], open)
				open = true
			}
		}
		s.pass(g)
		if g.Flow == x86.FlowJcc {
			open = false
		}
	}
}

// addRef adds a reference of instruction i to the last group, or to a new one.
func (e *Engine) addRef(s *addressing, i int, r *x86.Ref, open bool) {
	a := s.of(&e.block[i], r)
	ref := dataRef{insn: i, kind: r.Kind, size: min(int(r.Size), e.sim.maxRef), disp: a.disp}
	lo, hi := a.disp, a.disp+int64(ref.size)
	if n := len(e.groups); open && n > 0 {
		g := &e.groups[n-1]
		if g.ea.sameBut(&a) && max(hi, g.hi)-min(lo, g.lo) <= maxSpan {
			e.dataRefs = append(e.dataRefs, ref)
			g.refs = e.dataRefs[len(e.dataRefs)-len(g.refs)-1:]
			g.lo, g.hi = min(lo, g.lo), max(hi, g.hi)
			return
		}
	}
	a.disp -= s.rspIn(&a) // relative to RSP as it is in front of the instruction
	e.dataRefs = append(e.dataRefs, ref)
	e.groups = append(e.groups, group{ea: a, at: i, refs: e.dataRefs[len(e.dataRefs)-1:], lo: lo, hi: hi})
}

// rspIn returns what of a's displacement is RSP's.
func (s *addressing) rspIn(a *ea) int64 {
	if a.base == x86.RSP {
		return s.rsp
	}
	return 0
}

// emitData emits the checks of the references of instruction i.
func (e *Engine) emitData(i int) {
	for e.groupsDone < len(e.groups) && e.groups[e.groupsDone].at == i {
		e.emitGroup(&e.groups[e.groupsDone], i)
		e.groupsDone++
	}
}

// emitGroup emits the check of a group in front of instruction i: in the common case all lie in
// the line that their set used last, and nothing changes.
func (e *Engine) emitGroup(g *group, i int) {
	c := &e.sim.d1
	low := g.ea.disp + (g.lo - g.refs[0].disp) // of the lowest byte
	span := int(g.hi - g.lo)
	e.reload(g.ea.regs() &^ (1 << x86.RAX))
	e.spillFlags(i)
	if !e.flagsSpilled {
		e.reload(g.ea.regs())
	}
	if c.vectors > 0 {
		e.emitVectorGroup(g, i)
		return
	}
	if at, ok := g.ea.constant(); ok && at < math.MaxInt32-1<<20 {
		at = uint64(low)
		if c.base(at) == c.base(at+uint64(span)-1) {
			e.cmpAbsImm(e.abs(c.recentAt(at)), int32(c.base(at)))
			site := e.jcc(condNE, 0)
			back := e.pos
			e.swap()
			e.link(site, e.pos)
			e.emitLineStub(c, c.base(at), back, func() { e.emitReferences(g, x86.NoReg, at, back) })
			e.swap()
			return
		}
	}
	r1 := e.scratch(i, g.ea.regs())
	r2 := e.scratch(i, g.ea.regs()|1<<r1)
	e.emitAddress(&g.ea, low, r1, r2)
	e.emitMasked(&c.simCache, r2, r1)
	e.aluAbs(aluSUB, r1, r2, 1, e.abs(c.recent))
	e.aluImm(aluCMP, r1, int32(c.line-span))
	site := e.jcc(condA, 0)
	back := e.pos
	e.swap()
	e.link(site, e.pos)
	e.emitDataStub(g, r1, r2, back)
	e.swap()
}

// emitDataStub emits what happens if the check of a group fails. r1 has its lowest address less that of
// its set's recent line, r2 what chooses the set. RAX may have the flags.
func (e *Engine) emitDataStub(g *group, r1, r2 x86.Reg, back int) {
	c := &e.sim.d1
	span := int32(g.hi - g.lo)
	r3 := x86.RCX
	for r3 == r1 || r3 == r2 {
		r3++
		if r3 == x86.RSP {
			r3++
		}
	}
	spilled := e.spilled>>r3&1 != 0
	e.aluAbs(aluADD, r1, r2, 1, e.abs(c.recent))
	e.movRR32(r2, r1)
	e.aluImm32(aluAND, r2, int32(c.line-1))
	e.aluImm32(aluCMP, r2, int32(c.line)-span)
	straddles := e.jcc(condA, 0)
	if !spilled {
		e.store(slotTmp, r3)
	}
	e.compareLimit(r1)
	outside := e.jcc(condAE, 0)
	e.movImm(r2, uint64(c.ways.host))
	e.movRR(r3, r1)
	e.shiftRight(r3, log2(c.line))
	e.loadWordIndex(r2, r2, r3)
	e.testRR32(r2)
	missing := e.jcc(condE, 0)
	e.emitMasked(&c.simCache, r3, r1)
	e.aluImm(aluAND, r1, int32(-c.line))
	e.storeAbs(r3, e.abs(c.recent), r1)
	e.shiftLeft(r3, log2(c.scale))
	e.load(r1, stClock)
	e.aluImm(aluADD, r1, tick)
	e.store(stClock, r1)
	e.aluRR(aluADD, r1, r2)
	e.leaFull(r2, r3, r2, 8, e.abs(c.stamps)-8, false)
	e.storeAt(r2, 0, r1)
	if !spilled {
		e.load(r3, slotTmp)
	}
	e.jmp(back)
	e.link(straddles, e.pos)
	both := -1
	if len(g.refs) > 1 || span > 1 {
		both = e.emitBothRecent(g, r1, r2, back)
	}
	over := e.jmp(0)
	e.link(outside, e.pos)
	e.link(missing, e.pos)
	if !spilled {
		e.load(r3, slotTmp)
	}
	e.link(over, e.pos)
	if both >= 0 {
		e.link(both, e.pos)
	}
	e.emitReferences(g, r1, 0, back)
}

// emitReferences makes each reference of a group in full and goes back. r1 has the lowest address, or
// that is at if r1 is NoReg.
func (e *Engine) emitReferences(g *group, r1 x86.Reg, at uint64, back int) {
	e.store(stSimRSP, x86.RSP)
	e.leaRIP(x86.RSP, stSimStack)
	for _, ref := range g.refs {
		off := int32(ref.disp - g.lo)
		switch {
		case r1 == x86.NoReg:
			e.pushImm(int32(at) + off)
		case off == 0:
			e.pushReg(r1)
		default:
			e.lea(r1, r1, off)
			e.pushReg(r1)
			e.lea(r1, r1, -off)
		}
		l1, _ := missEvents(ref.kind)
		e.pushImm(e.abs(e.newEventCounter(ref.insn, l1, true)) | e.missTotal(l1))
		e.pushImm(int32(ref.size - 1))
		e.call(e.sim.data(ref.kind))
	}
	e.load(x86.RSP, stSimRSP)
	e.jmp(back)
}

// emitBothRecent goes back if the group lies in two lines, both the last used of their sets: then
// nothing changes either. r1 has its lowest address. It returns the site of the jump for the other case.
func (e *Engine) emitBothRecent(g *group, r1, r2 x86.Reg, back int) (other int) {
	c := &e.sim.d1
	span := int32(g.hi - g.lo)
	e.emitMasked(&c.simCache, r2, r1)
	e.aluAbs(aluSUB, r1, r2, 1, e.abs(c.recent))
	e.aluImm(aluCMP, r1, int32(c.line-1))
	low := e.jcc(condA, 0)
	e.aluAbs(aluADD, r1, r2, 1, e.abs(c.recent))
	e.lea(r1, r1, span-1)
	e.emitMasked(&c.simCache, r2, r1)
	e.aluAbs(aluSUB, r1, r2, 1, e.abs(c.recent))
	e.aluImm(aluCMP, r1, int32(c.line-1))
	e.jcc(condBE, back)
	e.aluAbs(aluADD, r1, r2, 1, e.abs(c.recent))
	e.lea(r1, r1, 1-span)
	other = e.jmp(0)
	e.link(low, e.pos)
	e.aluAbs(aluADD, r1, r2, 1, e.abs(c.recent))
	return other
}

// emitLineStub makes a line the last used of its set and goes back, if it is in the cache at all;
// else miss emits what happens. RAX may have the flags.
func (e *Engine) emitLineStub(c *stampCache, line uint64, back int, miss func()) {
	r1, r2 := x86.RCX, x86.RDX
	store := func() { e.store(slotTmp, r1); e.store(slotTmp2, r2) }
	load := func() { e.load(r1, slotTmp); e.load(r2, slotTmp2) }
	if free := e.spilled &^ (1 << x86.RAX); bits.OnesCount16(free) >= 2 {
		r1, r2 = lowest(free), lowest(free&(free-1))
		store, load = func() {}, func() {}
	}
	store()
	e.movImm(r1, uint64(c.ways.host)+2*(line/uint64(c.line)))
	e.loadWord(r1, r1)
	e.testRR32(r1)
	missing := e.jcc(condE, 0)
	e.load(r2, stClock)
	e.aluImm(aluADD, r2, tick)
	e.store(stClock, r2)
	e.aluRR(aluADD, r2, r1)
	e.leaAbs(r1, r1, 8, e.abs(c.stampsAt(line))-8)
	e.storeAt(r1, 0, r2)
	if line <= math.MaxInt32 {
		e.storeImm(c.recentAt(line), int32(line))
	} else {
		e.storeImm32(c.recentAt(line), uint32(line))
		e.storeImm32(c.recentAt(line)+4, uint32(line>>32))
	}
	load()
	e.jmp(back)
	e.link(missing, e.pos)
	load()
	miss()
}

// emitAddress puts an address into r1; r2 is free.
func (e *Engine) emitAddress(a *ea, disp int64, r1, r2 x86.Reg) {
	if a.base == x86.RSP {
		disp += int64(e.pendingRSP)
	}
	base, index := a.base, a.index
	if e.flagsSpilled && (base == x86.RAX || index == x86.RAX) {
		// RAX has the flags, and its value is spilled.
		e.load(r2, stSpill+8*int(x86.RAX))
		if base == x86.RAX {
			base = r2
		}
		if index == x86.RAX {
			index = r2
		}
	}
	if disp != int64(int32(disp)) {
		e.movImm(r1, uint64(disp))
		if base != x86.NoReg {
			e.leaIndex(r1, base, r1, 1, 0)
		}
		if index != x86.NoReg {
			e.leaFull(r1, r1, index, a.scale, 0, false)
		}
	} else {
		e.leaFull(r1, base, index, a.scale, int32(disp), a.addr32)
	}
	if a.addr32 {
		e.movRR32(r1, r1)
	}
	if a.seg != x86.SegNone {
		e.load(r2, segSlot(a.seg))
		e.leaIndex(r1, r1, r2, 1, 0)
	}
}

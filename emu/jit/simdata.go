//go:build linux && amd64

package jit

import (
	"encoding/binary"
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
	at := e.earlier(i, a.regs())
	if n := len(e.groups); n > 0 {
		at = max(at, e.groups[n-1].at) // the order stays as it is
	}
	a.disp -= s.rspIn(&a) // relative to RSP as it is in front of the instruction
	for k := at; k < i && a.base == x86.RSP; k++ {
		n, _ := rspStep(&e.block[k])
		a.disp += n
	}
	e.dataRefs = append(e.dataRefs, ref)
	e.groups = append(e.groups, group{ea: a, at: at, refs: e.dataRefs[len(e.dataRefs)-1:], lo: lo, hi: hi})
}

// earlier returns in front of which instruction what instruction i refers to by some registers is simulated: of another
// one, if the flags may be looked at behind that but are overwritten by it, and those between do nothing that is
// simulated, leave the registers alone but for known steps of RSP, and cannot stop. So flags need not be put aside.
func (e *Engine) earlier(i int, regs uint16) int {
	if !e.flagsLive(i) {
		return i
	}
	for j := i; j > 0 && !e.fetches(j) && !e.checked(j); {
		j--
		g := &e.block[j]
		lost := g.GPRWrite & regs
		if _, ok := rspStep(g); ok {
			lost &^= 1 << x86.RSP
		}
		if lost != 0 || g.Kind != guest.Lea && mayFault(g) || len(g.effects.Refs) > 0 { // BT of a register refers to the stack
			break
		}
		if !e.flagsLive(j) {
			return j
		}
	}
	return i
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

// emitGroup emits the check of a group in front of instruction i: in the common case all lie in one line that is in D1,
// which is given the time.
func (e *Engine) emitGroup(g *group, i int) {
	e.reload(g.ea.regs() &^ (1 << x86.RAX))
	e.spillFlags(i)
	if !e.flagsSpilled {
		e.reload(g.ea.regs())
	}
	c := &e.sim.d1
	low := g.ea.disp + (g.lo - g.refs[0].disp) // of the lowest byte
	span := int(g.hi - g.lo)
	if at, ok := g.ea.constant(); ok && at < math.MaxInt32-1<<20 && c.base(uint64(low)) == c.base(uint64(low)+uint64(span)-1) {
		e.emitKnownLine(g, i, uint64(low))
		return
	}
	e.haveDirectory(i, g.ea.regs())
	r, r2 := e.scratch(i, g.ea.regs()), x86.NoReg
	natural := span <= 8 && len(g.refs) == 1 && bits.OnesCount(uint(span)) == 1
	switch avoid := g.ea.regs() | 1<<r; {
	case g.ea.seg != x86.SegNone || e.flagsSpilled && g.ea.regs()>>x86.RAX&1 != 0 || e.clockInMemory():
		r2 = e.scratch(i, avoid)
	case !natural: // or the address is computed twice
		r2 = e.freeScratch(avoid)
	}
	e.emitAddress(&g.ea, low, r, r2)
	within := e.emitTestLine(r, r2, span, natural)
	if within >= 0 && !natural && r2 == x86.NoReg {
		e.emitAddress(&g.ea, low, r, r2)
	}
	one := e.pos
	p := e.emitPlace(r)
	missing := e.emitTestStamp(p)
	e.emitTime(r2, e.stampedNow.group(g, c))
	e.emitStoreTime(p, r2)
	back := e.pos
	e.swap()
	e.emitGroupApart(g, low, r, r2, natural, within, one, missing, back)
	e.swap()
}

// haveDirectory gives the address of D1's directory a register, none of avoid, if enough checks from instruction i on
// can do with it: each has fewer instructions then, but the register is put aside, and loaded again.
func (e *Engine) haveDirectory(i int, avoid uint16) {
	const enough = 3
	if e.directoryIn != x86.NoReg {
		return
	}
	candidates, served, k := ^(avoid | 1<<x86.RSP | 1<<x86.RAX), 0, e.groupsDone // flags may come to RAX
	for j := i; j < len(e.block) && candidates != 0; j++ {
		lasting := candidates
		for ; k < len(e.groups) && e.groups[k].at == j; k++ {
			if lasting &^= e.groups[k].ea.regs(); lasting != 0 {
				candidates, served = lasting, served+1
			}
		}
		g := &e.block[j]
		if lasting &^= g.GPRRead | g.GPRWrite; lasting == 0 || g.Kind.Ends() {
			break
		}
		candidates = lasting
	}
	if served < enough {
		return
	}
	if spilled := candidates & e.spilled; spilled != 0 {
		candidates = spilled
	}
	e.directoryIn = lowest(candidates)
	e.spill(e.directoryIn)
	e.load(e.directoryIn, stD1Directory)
}

// emitTestLine emits a jump for the case that the span bytes from r on lie in two lines. It loses r2, or r if r2 is
// NoReg. If natural says so, they are one reference of a natural size, nearly always aligned: then it jumps if that is
// not so, and loses neither.
func (e *Engine) emitTestLine(r, r2 x86.Reg, span int, natural bool) (site int) {
	switch {
	case span == 1:
		return -1
	case natural:
		e.testLow(r, byte(span-1))
		return e.jcc(condNE, 0)
	}
	if r2 == x86.NoReg {
		r2 = r
	} else {
		e.movRR32(r2, r)
	}
	e.emitTestOffset(r2, span)
	return e.jcc(condA, 0)
}

// emitTestOffset makes r, an address, its place in its line, and compares that with the last one where span bytes are
// in one line.
func (e *Engine) emitTestOffset(r x86.Reg, span int) {
	e.aluImm32(aluAND, r, int32(e.sim.d1.line-1))
	e.aluImm32(aluCMP, r, int32(e.sim.d1.line-span))
}

// A stampPlace is where a stamp is in the host's memory: at a register, or at an index of a directory.
type stampPlace struct {
	base, index x86.Reg
	disp        int32
}

// behind is the stamp of the line behind.
func (p stampPlace) behind() stampPlace {
	p.disp += stampSize
	return p
}

// emitPlace makes r, an address, say where the stamp of its line is in the directory. What is beyond the guest's memory
// has its stamp beyond the directory, where nothing is or nothing can be: the host faults then (stampFault).
func (e *Engine) emitPlace(r x86.Reg) stampPlace {
	bits := log2(e.sim.d1.line)
	if e.directoryIn != x86.NoReg {
		e.shiftRight(r, bits)
		return stampPlace{base: e.directoryIn, index: r}
	}
	e.shiftRight(r, bits-log2(stampSize))
	e.aluImm(aluAND, r, -stampSize)
	e.addSlot(r, stD1Directory)
	return stampPlace{base: r, index: x86.NoReg}
}

// emitTestStamp emits a jump for the case that a stamp is 0: its line is missing.
func (e *Engine) emitTestStamp(p stampPlace) (missing int) {
	e.cmpZeroAt(p.base, p.index, p.disp)
	return e.jcc(condE, 0)
}

// emitStoreTime makes the time a stamp, which emitTime may have put into r.
func (e *Engine) emitStoreTime(p stampPlace, r x86.Reg) {
	switch {
	case e.sim.clockInVector:
		e.vstoreLowAt(p.base, p.index, p.disp, vecClock)
	case e.clockInMMX():
		e.mmIndex(opMOVQStore, mmClock, p.base, p.index, p.disp)
	default:
		e.storeWordAt(p.base, p.index, p.disp, r)
	}
}

// stampFault returns where generated code goes on after a fault of emitTestStamp's comparison at arena offset pos:
// where it goes if the line is missing. All else that code of blocks compares with 0 in memory has an address of the
// guest's, and a prefix for GS, or is there.
func (e *Engine) stampFault(pos int) (resume int, ok bool) {
	if !e.sim.caches || pos < codeOff || pos+16 > arenaSize {
		return 0, false
	}
	code := e.arena.mem[pos : pos+16]
	modrm := code[2]
	if code[0]&^3 != 0x48 || code[1] != 0x83 || modrm>>6 > 1 || modrm>>3&7 != 7 {
		return 0, false
	}
	n := 4 + b2i(modrm&7 == 4) + b2i(modrm>>6 == 1)
	if code[n-1] != 0 || code[n] != 0x0f || code[n+1] != 0x80|condE {
		return 0, false
	}
	n += 6
	return pos + n + int(int32(binary.LittleEndian.Uint32(code[n-4:]))), true
}

// emitTouchLine makes the reference of size bytes at the address in r if they lie in one line that is in D1. It returns
// the sites of the jumps for other cases, and loses r, r2 and the flags. natural is emitTestLine's.
func (e *Engine) emitTouchLine(r, r2 x86.Reg, size int, natural bool) (sites []int) {
	if site := e.emitTestLine(r, r2, size, natural); site >= 0 {
		sites = append(sites, site)
	}
	p := e.emitPlace(r)
	sites = append(sites, e.emitTestStamp(p))
	e.emitTime(r2, true)
	e.emitStoreTime(p, r2)
	return sites
}

// emitKnownLine emits the check of a group whose lowest address is known and which lies in one line.
func (e *Engine) emitKnownLine(g *group, i int, at uint64) {
	c := &e.sim.d1
	p := stampPlace{base: e.directoryIn, index: x86.NoReg, disp: int32(at / uint64(c.line) * stampSize)}
	if p.base == x86.NoReg {
		p.base = e.scratch(i, 0)
		e.load(p.base, stD1Directory)
	}
	r := x86.NoReg
	if e.clockInMemory() {
		r = e.scratch(i, 1<<p.base)
	}
	missing := e.emitTestStamp(p)
	e.emitTime(r, e.stampedNow.group(g, c))
	e.emitStoreTime(p, r)
	back := e.pos
	e.swap()
	e.link(missing, e.pos)
	e.emitReferences(g, x86.NoReg, at, back)
	e.swap()
}

// emitGroupApart emits what happens if the check of a group fails: within and missing are the sites of its jumps, one
// is where it goes on with an address in r that lies in one line, low the displacement of the lowest byte.
func (e *Engine) emitGroupApart(g *group, low int64, r, r2 x86.Reg, natural bool, within, one, missing, back int) {
	span := int(g.hi - g.lo)
	if within >= 0 {
		e.link(within, e.pos)
		if natural {
			e.emitTestOffset(r, span)
			two := e.jcc(condA, 0)
			e.emitAddress(&g.ea, low, r, r2)
			e.jmp(one)
			e.link(two, e.pos)
		}
		if natural || r2 == x86.NoReg {
			e.emitAddress(&g.ea, low, r, r2)
		}
		// If both lines are there they become the most recently used ones of their sets.
		if e.sim.d1.mask != 0 { // else both are of one set, and the order of the references counts
			p := e.emitPlace(r)
			first, second := e.emitTestStamp(p), e.emitTestStamp(p.behind())
			e.emitTime(r2, true)
			e.emitStoreTime(p, r2)
			e.emitStoreTime(p.behind(), r2)
			e.jmp(back)
			e.link(first, e.pos)
			e.link(second, e.pos)
		}
	}
	e.link(missing, e.pos)
	e.emitAddress(&g.ea, low, r, r2)
	e.emitReferences(g, r, 0, back)
}

// emitReferences makes each reference of a group in full and goes back. r1 has the lowest address, or that is at if r1
// is NoReg. That of a linkage table's entry to its word is a group of its own.
func (e *Engine) emitReferences(g *group, r1 x86.Reg, at uint64, back int) {
	e.store(stSimRSP, x86.RSP)
	e.emitMissesOfEntry(g.refs[0].insn, emu.D1mr, false)
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
		e.call(e.simRoutines().data(ref.kind))
	}
	e.emitMissesOfEntry(g.refs[0].insn, emu.D1mr, true)
	e.load(x86.RSP, stSimRSP)
	e.jmp(back)
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

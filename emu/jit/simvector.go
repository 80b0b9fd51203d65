//go:build linux && amd64

package jit

import (
	"math"
	"slices"

	"github.com/cgemu/cgemu/emu/x86"
)

// On a host with registers of 512 bits that the guest does not have, all ways of a set are compared at once: neither
// wayTable nor the line used last is needed to find a line. A hit gives the way that has it the time, which is in a
// register, under the mask of the comparison.

// What is in vector registers while generated code simulates caches. With caches, the totals of calls are not in those
// that numbers have otherwise (totals.go).
const (
	// vecClock has the time in each element, with the number of its way; vecTick what is added for each reference.
	vecClock vec = 0
	vecTick  vec = 1
	// vecBehind is the number of ways in a vector: the clock of the second one is ahead by that.
	vecBehind vec = 2
	// vecRef has the address of a reference in each element; vecLine is scratch.
	vecRef  vec = 3
	vecLine vec = 4
	// From vecSpans on are how far from a line's beginning a reference may begin and still end in it, for spans that
	// are frequent.
	vecSpans vec = 5
)

// spans are those of frequent references, in bytes.
var spans = [...]int{1, 2, 4, 8, 16, 32}

// waysInVector is how many ways are compared at once; a set has one or two vectors.
const (
	waysInVector = 8
	maxVectors   = 2
)

// vectorsFor returns how many vectors the ways of a set are in, 0 if the cache is kept otherwise. With one set there is
// no address for a way that is not in use. Lines have 32 bytes or more, so that sets are apart by what an index may be
// multiplied with.
func (c *simCache) vectorsFor() int {
	n := (c.assoc + waysInVector - 1) / waysInVector
	if n > maxVectors || c.mask == 0 {
		return 0
	}
	return n
}

// placeVectors places the tables of a cache whose sets have n vectors at off, and returns their end. apart says that
// lines and stamps are two tables, for D1, whose checks stand in nearly every block: with one vector, bits of an
// address are the place of its set then, and need not be multiplied, which saves a byte each time. Elsewhere what a set
// has lies together.
func (c *stampCache) placeVectors(n, off int, apart bool) (end int) {
	c.vectors, c.tags = n, off
	if !apart {
		tags := 64 * n
		if bits := log2(c.line) + log2(int(c.mask)/c.line+1); bits > addressBits-32 {
			c.narrow, tags = bits, 64
		}
		c.scale, c.stamps = c.scaleFor(tags+64*n), off+tags
		return off + c.tableSize(c.scale)
	}
	c.scale = c.scaleFor(64 * n)
	// Half a page more: to a CPU a load depends on a store with the same low 12 bits of the address, and would wait for
	// it.
	c.stamps = off + c.tableSize(c.scale) + 1<<11
	return c.stamps + c.tableSize(c.scale)
}

// addressBits is how many bits the addresses of the guest's memory have.
const addressBits = 47

// tagsAt returns the arena offset of a set's lines. A way without one has the address of a line that
// belongs to another set, or noTag.
func (c *stampCache) tagsAt(a uint64) int { return c.tags + int(a&c.mask)*c.scale }

// emptyVectors makes all ways hold line 0, as far as that makes a difference: in its set the one used last does.
func (c *stampCache) emptyVectors(a *arena) {
	for set := uint64(0); set <= c.mask; set += uint64(c.line) {
		stamps := a.words(c.stampsAt(set), waysInVector*c.vectors)
		for i := range stamps {
			stamps[i] = uint64(i)
		}
		if c.narrow != 0 {
			tags := a.halves(c.tagsAt(set), narrowTags)
			for i := range tags {
				tags[i] = noTag
			}
			continue
		}
		for i := range stamps {
			c.setTag(a, set, i, set^uint64(c.line))
		}
	}
	c.setTag(a, 0, c.assoc-1, 0)
}

// narrowTags is how many tags of 32 bits a vector has, all of which are compared; noTag is none of a line.
const (
	narrowTags = 2 * waysInVector
	noTag      = 1<<32 - 1
)

// setTag says which line way i of the set of an address has.
func (c *stampCache) setTag(a *arena, set uint64, i int, line uint64) {
	if c.narrow != 0 {
		a.halves(c.tagsAt(set), narrowTags)[i] = uint32(line >> c.narrow)
		return
	}
	*a.word(c.tagsAt(set) + 8*i) = line
}

// wayOf returns the way that has a line, -1 if none has.
func (c *stampCache) wayOf(a *arena, line uint64) int {
	if c.narrow != 0 {
		return slices.Index(a.halves(c.tagsAt(line), c.assoc), uint32(line>>c.narrow))
	}
	return slices.Index(a.words(c.tagsAt(line), c.assoc), line)
}

// touchVector is touch for a cache that is in vectors.
func (c *stampCache) touchVector(a *arena, line uint64) (missed bool) {
	stamps, way := a.words(c.stampsAt(line), c.assoc), c.wayOf(a, line)
	if missed = way < 0; missed {
		way = int(slices.Min(stamps) % tick)
		c.setTag(a, line, way, line)
	}
	stamps[way] = *a.word(stClock) + uint64(way)
	return missed
}

// emitEnterSim loads what is in vector and mask registers while generated code runs, emitExitSim stores it.
func (e *Engine) emitEnterSim() {
	if e.sim.masks {
		e.kload(maskHistory, stHistory)
		e.kload(maskTaken, stTakenBit)
	}
	if !e.sim.vectors {
		return
	}
	e.vpbroadcastqLoad(vecClock, stClock)
	e.vpaddqWide(vecClock, vecClock, stWays)
	e.vpbroadcastqLoad(vecTick, stTick)
	e.vpbroadcastqLoad(vecBehind, stBehindWays)
	for i := range spans {
		e.vpbroadcastqLoad(vecSpans+vec(i), stSpans+8*i)
	}
}

func (e *Engine) emitExitSim() {
	if e.sim.masks {
		e.kstore(stHistory, maskHistory)
	}
	if e.sim.vectors {
		e.vstoreLow(stClock, vecClock)
	}
}

// prepareVectors sets what emitEnterSim loads.
func (e *Engine) prepareVectors() {
	for way := range waysInVector {
		e.set(stWays+8*way, uint64(way))
	}
	e.set(stTick, tick)
	e.set(stBehindWays, waysInVector)
	for i, n := range spans {
		e.set(stSpans+8*i, uint64(e.sim.d1.line-n))
	}
}

// emitTick advances the clock, and loads it into r if it is not in a vector.
func (e *Engine) emitTick(r x86.Reg) {
	if e.sim.vectors {
		e.vpaddqWideVector(vecClock, vecClock, vecTick)
		return
	}
	e.load(r, stClock)
	e.lea(r, r, tick)
	e.store(stClock, r)
}

// A stampedNow has the lines that have the present time as their stamp, as far as the block being translated knows: two
// lines of one set must not have the same stamp, or their order would be lost, and other lines may. Where a block
// begins any line may have it.
type stampedNow struct {
	d1 []group
	i1 []uint64
	// d1Known and i1Known say that the lists are complete.
	d1Known, i1Known bool
}

// advanced notes that the time has advanced.
func (s *stampedNow) advanced() {
	*s = stampedNow{d1: s.d1[:0], i1: s.i1[:0], d1Known: true, i1Known: true}
}

// group notes that the lines of g are stamped, and reports whether the time has to advance before.
func (s *stampedNow) group(g *group, c *stampCache) (late bool) {
	late = !s.d1Known
	for i := range s.d1 {
		o := &s.d1[i]
		late = late || !o.ea.sameBut(&g.ea) || max(o.hi, g.hi)-min(o.lo, g.lo) > int64(c.mask)
	}
	if late {
		s.advanced()
	}
	s.d1 = append(s.d1, *g)
	return late
}

// fetch notes that a line of code is, and reports the same.
func (s *stampedNow) fetch(line uint64, c *lineCache) (late bool) {
	late = !s.i1Known
	for _, o := range s.i1 {
		late = late || o != line && o&c.mask == line&c.mask
	}
	if late {
		s.advanced()
	}
	s.i1 = append(s.i1, line)
	return late
}

// emitCompareSpan sets k1, or k1 and k2, to the ways whose line has all of the span bytes from the address in vecRef
// on. set chooses the set.
func (e *Engine) emitCompareSpan(c *stampCache, set x86.Reg, span int) {
	limit := e.spanLimit(span)
	for n := range c.vectors {
		e.vpsubqTable(vecLine, vecRef, set, uint8(c.scale), e.abs(c.tags+64*n))
		e.vpcmpbe(opmask(1+n), vecLine, limit)
	}
	e.kortest(1, opmask(c.vectors))
}

// spanLimit returns the register that says where a reference of n bytes may begin in its line.
func (e *Engine) spanLimit(n int) vec {
	if i := slices.Index(spans[:], n); i >= 0 {
		return vecSpans + vec(i)
	}
	at := e.newCounter(0)
	e.set(counterOff+8*at, uint64(e.sim.d1.line-n))
	e.vpbroadcastqLoad(vecScratch, counterOff+8*at)
	return vecScratch
}

// emitStampSet gives the ways in k1, and k2, the time, which late says has to advance before.
func (e *Engine) emitStampSet(c *stampCache, set x86.Reg, late bool) {
	if late {
		e.emitTick(x86.NoReg)
	}
	e.vstoreTable(set, uint8(c.scale), e.abs(c.stamps), 1, vecClock)
	if c.vectors > 1 {
		e.vpaddqWideVector(vecLine, vecClock, vecBehind)
		e.vstoreTable(set, uint8(c.scale), e.abs(c.stamps+64), 2, vecLine)
	}
}

// emitVectorGroup is emitGroup for a D1 that is in vectors: if all references lie in a line that is there, this
// is the most recently used one then.
func (e *Engine) emitVectorGroup(g *group, i int) {
	c := &e.sim.d1
	low := g.ea.disp + (g.lo - g.refs[0].disp) // of the lowest byte
	span := int(g.hi - g.lo)
	if at, ok := g.ea.constant(); ok && at < math.MaxInt32-1<<20 && c.base(uint64(low)) == c.base(uint64(low)+uint64(span)-1) {
		e.emitKnownLine(g, uint64(low))
		return
	}
	r := e.scratch(i, g.ea.regs())
	r2 := x86.NoReg
	if g.ea.seg != x86.SegNone || e.flagsSpilled && g.ea.regs()>>x86.RAX&1 != 0 {
		r2 = e.scratch(i, g.ea.regs()|1<<r)
	}
	if base, ok := e.plainBase(&g.ea, low); ok {
		e.vpbroadcastq(vecRef, base)
		e.movRR32(r, base)
	} else {
		e.emitAddress(&g.ea, low, r, r2)
		e.vpbroadcastq(vecRef, r)
	}
	e.aluImm32(aluAND, r, int32(c.mask))
	e.emitCompareSpan(c, r, span)
	site := e.jcc(condE, 0)
	e.emitStampSet(c, r, e.stampedNow.group(g, c))
	back := e.pos
	e.swap()
	e.link(site, e.pos)
	if span > 1 && c.vectors == 1 {
		e.emitTwoLines(r, span, back)
	}
	e.vmovqFrom(r, vecRef)
	e.emitReferences(g, r, 0, back)
	e.swap()
}

// plainBase returns the register that has the address, if one has.
func (e *Engine) plainBase(a *ea, disp int64) (r x86.Reg, ok bool) {
	if a.base == x86.RSP {
		disp += int64(e.pendingRSP)
	}
	return a.base, disp == 0 && a.base != x86.NoReg && a.index == x86.NoReg && a.seg == x86.SegNone && !a.addr32 && !(e.flagsSpilled && a.base == x86.RAX)
}

// emitKnownLine emits the check of a group whose lowest address is known and which lies in one line.
func (e *Engine) emitKnownLine(g *group, at uint64) {
	c := &e.sim.d1
	line := e.newCounter(0)
	e.set(counterOff+8*line, c.base(at))
	e.vpbroadcastqLoad(vecLine, counterOff+8*line)
	for n := range c.vectors {
		e.vpcmpeq(opmask(1+n), vecLine, c.tagsAt(at)+64*n)
	}
	e.kortest(1, opmask(c.vectors))
	site := e.jcc(condE, 0)
	if e.stampedNow.group(g, c) {
		e.emitTick(x86.NoReg)
	}
	e.vstoreMasked(c.stampsAt(at), 1, vecClock)
	if c.vectors > 1 {
		e.vpaddqWideVector(vecLine, vecClock, vecBehind)
		e.vstoreMasked(c.stampsAt(at)+64, 2, vecLine)
	}
	back := e.pos
	e.swap()
	e.link(site, e.pos)
	e.emitReferences(g, x86.NoReg, at, back)
	e.swap()
}

// emitTwoLines goes back if the span bytes from r1 on lie in two lines that are there, which become the most recently
// used of their sets: these are different ones. r chooses the set of the first, and is lost.
func (e *Engine) emitTwoLines(r x86.Reg, span, back int) {
	c := &e.sim.d1
	e.emitCompareSpan(c, r, 1)
	first := e.jcc(condE, 0)
	e.vmovqFrom(r, vecRef)
	e.leaFull(r, r, x86.NoReg, 1, int32(span-1), false)
	e.vpbroadcastq(vecLine, r)
	e.aluImm32(aluAND, r, int32(c.mask))
	e.vpsubqTable(vecLine, vecLine, r, uint8(c.scale), e.abs(c.tags))
	e.vpcmpbe(2, vecLine, e.spanLimit(1))
	e.kortest(2, 2)
	second := e.jcc(condE, 0)
	e.emitTick(x86.NoReg)
	e.vstoreTable(r, uint8(c.scale), e.abs(c.stamps), 2, vecClock)
	e.vmovqFrom(r, vecRef)
	e.aluImm32(aluAND, r, int32(c.mask))
	e.vstoreTable(r, uint8(c.scale), e.abs(c.stamps), 1, vecClock)
	e.jmp(back)
	e.link(first, e.pos)
	e.link(second, e.pos)
}

// emitVectorStamp is emitStamp for a cache that is in vectors.
func (e *Engine) emitVectorStamp(c *stampCache) (hits []int) {
	stamps := int32(c.stamps - c.tags)
	e.emitMasked(&c.simCache, x86.RDX, x86.RAX)
	e.shiftLeft(x86.RDX, log2(c.scale))
	e.aluImm(aluADD, x86.RDX, e.abs(c.tags))
	e.emitTick(x86.NoReg)
	if c.narrow != 0 {
		return e.emitNarrowStamp(c, stamps)
	}
	e.vpbroadcastq(vecLine, x86.RAX)
	for n := range c.vectors {
		e.vpcmpeqAt(opmask(1+n), vecLine, x86.RDX, int32(64*n))
	}
	e.kortest(1, opmask(c.vectors))
	missing := e.jcc(condE, 0)
	e.vstoreMaskedAt(x86.RDX, stamps, 1, vecClock)
	if c.vectors > 1 {
		e.vpaddqWideVector(vecLine, vecClock, vecBehind)
		e.vstoreMaskedAt(x86.RDX, stamps+64, 2, vecLine)
	}
	hits = append(hits, e.jmp(0))
	e.link(missing, e.pos)
	e.leaFull(x86.RSI, x86.RDX, x86.NoReg, 1, stamps, false)
	e.emitOldest(c, x86.RSI)
	e.byte(0x4a, 0x89, 0x04, 0xc2) // mov [rdx+r8*8], rax
	e.emitStampWay()
	return hits
}

// emitNarrowStamp does so for the set at RDX, its stamps behind that, with tags of 32 bits. One way's stamp is stored,
// not vectors of them under masks: what the other ways have need not be in the host's caches.
func (e *Engine) emitNarrowStamp(c *stampCache, stamps int32) (hits []int) {
	e.movRR(x86.RCX, x86.RAX)
	e.shiftRight(x86.RCX, c.narrow)
	e.vpbroadcastd(vecLine, x86.RCX)
	e.vpcmpeqdAt(1, vecLine, x86.RDX, 0)
	e.leaFull(x86.RSI, x86.RDX, x86.NoReg, 1, stamps, false)
	e.kmovWordFrom(x86.R8, 1)
	e.byte(0x45, 0x0f, 0xbc, 0xc0) // bsf r8d, r8d
	missing := e.jcc(condE, 0)
	e.emitStampWay()
	hits = append(hits, e.jmp(0))
	e.link(missing, e.pos)
	e.emitOldest(c, x86.RSI)
	e.byte(0x42, 0x89, 0x0c, 0x82) // mov [rdx+r8*4], ecx
	e.emitStampWay()
	return hits
}

// emitStampWay gives the way of number R8 of those whose stamps are at RSI the time. It loses RCX.
func (e *Engine) emitStampWay() {
	e.vmovqFrom(x86.RCX, vecClock)
	e.aluRR(aluADD, x86.RCX, x86.R8)
	e.byte(0x4a, 0x89, 0x0c, 0xc6) // mov [rsi+r8*8], rcx
}

//go:build linux && amd64

package jit

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/x86"
)

// The routines that simulate a reference are called on a stack of their own, with, from the
// top: the return address, the reference's size less 1, the address of two counters for the
// misses in L1 and LL, the reference's address. They remove these and lose nothing but flags.
const (
	argSize    = int32(8 * (1 + len(routineRegs)))
	argCounter = argSize + 8
	argAddr    = argCounter + 8
)

// routineRegs are the registers the routines save.
var routineRegs = [...]x86.Reg{x86.RAX, x86.RCX, x86.RDX, x86.RSI, x86.RDI, x86.R8, x86.R9}

// emitSimRoutines generates the routines.
func (e *Engine) emitSimRoutines() {
	touchLL := e.emitTouchRoutine(&e.sim.ll)
	touchL1 := e.emitTouchRoutine(&e.sim.d1)
	e.sim.load = e.emitReference(&e.sim.d1, touchL1, touchLL, false)
	e.sim.store = e.emitReference(&e.sim.d1, touchL1, touchLL, true)
	e.sim.fetch = e.emitFetchRoutine(&e.sim.i1)
	e.sim.fetchLL = e.emitReference(nil, 0, touchLL, false).entry
}

// emitReference generates the routine that makes a reference to l1, and to LL if it misses; without l1
// it misses. writes says that the instruction writes there.
func (e *Engine) emitReference(l1 *stampCache, touchL1, touchLL int, writes bool) (r dataRoutine) {
	r.entry = e.pos
	for _, reg := range routineRegs {
		e.pushReg(reg)
	}
	var out []int
	wild := 0
	if l1 != nil {
		// A reference that will fault does not count: an address that is none of the guest's, and
		// memory that is not there.
		e.loadAt(x86.RAX, x86.RSP, argAddr)
		e.compareLimit(x86.RAX)
		wild = e.jcc(condAE, 0)
		e.loadAt(x86.RCX, x86.RSP, argSize)
		r.touch = e.pos
		if writes {
			e.emitTouchPage()
		}
		r.probe = e.pos
		e.byte(prefixGS, 0x80, 0x38, 0)       // cmp byte gs:[rax], 0
		e.byte(prefixGS, 0x80, 0x3c, 0x08, 0) // cmp byte gs:[rax+rcx], 0
		r.probed = e.pos
		two := e.emitLines(&l1.simCache)
		out = append(out, e.emitStamp(l1)...)
		toLL := e.jmp(0)
		e.link(two, e.pos)
		e.emitTouchTwo(touchL1)
		out = append(out, e.jcc(condE, 0))
		e.link(toLL, e.pos)
	}
	e.emitMissed(0)
	two := e.emitLines(&e.sim.ll.simCache)
	out = append(out, e.emitStamp(&e.sim.ll)...)
	one := e.jmp(0)
	e.link(two, e.pos)
	e.emitTouchTwo(touchLL)
	out = append(out, e.jcc(condE, 0))
	e.link(one, e.pos)
	e.emitMissed(8)
	if l1 != nil {
		out = append(out, e.jmp(0))
		e.link(wild, e.pos)
		r.given = e.pos
		e.storeImm32(stGiven, 1)
	}
	for _, site := range out {
		e.link(site, e.pos)
	}
	for i := len(routineRegs) - 1; i >= 0; i-- {
		e.popReg(routineRegs[i])
	}
	e.byte(0xc2, 24, 0) // ret 24
	return r
}

// emitTouchPage writes nothing to the page of RAX, unless it was the last one that this wrote to: the host gives a page
// that is new to whoever writes to it in one fault, and in two if it is read first. It loses RDX.
func (e *Engine) emitTouchPage() {
	e.movRR(x86.RDX, x86.RAX)
	e.shiftRight(x86.RDX, log2(emu.PageSize))
	e.byte(rexW(x86.RDX, 0), aluCMP<<3|3)
	e.rip(x86.RDX, stTouched, 0)
	same := e.short(opShortJE)
	e.store(stTouched, x86.RDX)
	e.byte(0xf0, prefixGS, 0x80, 0x08, 0) // lock or byte gs:[rax], 0
	e.patchShort(same)
}

// compareLimit emits cmp r, [stLimit].
func (e *Engine) compareLimit(r x86.Reg) {
	e.byte(rexW(r, 0), aluCMP<<3|3)
	e.rip(r, stLimit, 0)
}

// emitMissed counts a miss on the counter at an offset from the address of both. If calls are recorded, that has the
// column of their totals in its lowest bits (missTotal). It loses RDI, RDX and RSI.
func (e *Engine) emitMissed(off int32) {
	e.loadAt(x86.RDI, x86.RSP, argCounter)
	if e.calls == nil {
		e.incAt(x86.RDI, off)
		return
	}
	e.movRR32(x86.RDX, x86.RDI)
	e.aluImm(aluAND, x86.RDI, -8)
	e.incAt(x86.RDI, off)
	e.aluImm32(aluAND, x86.RDX, 7)
	none := e.short(opShortJE)
	e.leaRIP(x86.RSI, stTotals+8*(e.calls.misses-1))
	e.byte(0x48, 0xff, 0x44, 0xd6, byte(off)) // inc qword [rsi+rdx*8+off]
	e.patchShort(none)
}

// emitFetchRoutine generates the routine that gives a line of I1 a new stamp, and a way if it has
// none. It is called with, from the top: the return address, the address of the line's
// stamp, that of its set's ways.
func (e *Engine) emitFetchRoutine(c *lineCache) int {
	start := e.pos
	for _, r := range routineRegs {
		e.pushReg(r)
	}
	e.loadAt(x86.RAX, x86.RSP, argSize)
	e.emitTick(x86.RCX)
	if e.sim.vectors {
		e.vmovqFrom(x86.RCX, vecClock)
	}
	e.byte(0x48, 0x83, 0x38, 0) // cmp qword [rax], 0
	there := e.jcc(condNE, 0)
	e.loadAt(x86.RDX, x86.RSP, argCounter)
	e.emitOldestLine(c)
	e.leaFull(x86.RDI, x86.RDX, x86.R8, 8, 0, false)
	e.loadAt(x86.RSI, x86.RDI, 0)
	e.byte(0x48, 0xc7, 0x06, 0, 0, 0, 0) // mov qword [rsi], 0
	e.storeAt(x86.RDI, 0, x86.RAX)
	e.link(there, e.pos)
	e.storeAt(x86.RAX, 0, x86.RCX)
	for i := len(routineRegs) - 1; i >= 0; i-- {
		e.popReg(routineRegs[i])
	}
	e.byte(0xc2, 16, 0) // ret 16
	return start
}

// emitOldestLine puts the number of the way at RDX whose line has the least stamp into R8. Stamps of lines are times
// alone, with room for a way's number in the low bits. It loses RSI, RDI and R9.
func (e *Engine) emitOldestLine(c *lineCache) {
	for i := range c.assoc {
		oldest, r := x86.R8+x86.Reg(i&1), x86.RSI+x86.Reg(i&1) // two of each, as in emitOldest
		if i < 2 {
			r = oldest
		}
		e.loadAt(r, x86.RDX, int32(8*i))
		e.loadAt(r, r, 0)
		if i > 0 {
			e.lea(r, r, int32(i))
		}
		if i >= 2 {
			e.min(oldest, r)
		}
	}
	if c.assoc > 1 {
		e.min(x86.R8, x86.R9)
	}
	e.byte(0x45, 0x0f, 0xb7, 0xc0) // movzx r8d, r8w
}

// emitLines puts the addresses of the reference's first and last line into RAX and RCX and
// returns the site of a jump for the case that they differ.
func (e *Engine) emitLines(c *simCache) (two int) {
	e.loadAt(x86.RAX, x86.RSP, argAddr)
	e.loadAt(x86.RCX, x86.RSP, argSize)
	e.leaIndex(x86.RCX, x86.RAX, x86.RCX, 1, 0)
	e.aluImm(aluAND, x86.RAX, int32(-c.line))
	e.aluImm(aluAND, x86.RCX, int32(-c.line))
	e.aluRR(aluCMP, x86.RAX, x86.RCX)
	return e.jcc(condNE, 0)
}

// emitTouchTwo touches the lines in RAX and RCX; the zero flag says that both were there.
func (e *Engine) emitTouchTwo(touch int) {
	e.movImm(x86.RDI, 0)
	e.pushReg(x86.RCX)
	e.call(touch)
	e.byte(0x83, 0xd7, 0) // adc edi, 0
	e.popReg(x86.RAX)
	e.call(touch)
	e.byte(0x83, 0xd7, 0)
	e.byte(0x85, 0xff) // test edi, edi
}

// emitTouchRoutine generates a routine that touches the line in RAX and sets the carry flag if
// it was missing.
func (e *Engine) emitTouchRoutine(c *stampCache) int {
	start := e.pos
	hits := e.emitStamp(c)
	e.byte(0xf9, 0xc3) // stc; ret
	for _, site := range hits {
		e.link(site, e.pos)
	}
	e.byte(0xf8, 0xc3) // clc; ret
	return start
}

// emitStamp looks the line in RAX up and makes it the most recently used of its set. It returns the
// sites of the jumps to be taken if it was there, and loses RCX, RDX, RSI, R8, R9.
func (e *Engine) emitStamp(c *stampCache) (hits []int) {
	if c.vectors > 0 {
		return e.emitVectorStamp(c)
	}
	lineBits := log2(c.line)
	e.emitMasked(&c.simCache, x86.RDX, x86.RAX)
	if c.recent > 0 {
		e.aluAbs(aluCMP, x86.RAX, x86.RDX, 1, e.abs(c.recent))
		hits = append(hits, e.jcc(condE, 0))
		e.storeAt(x86.RDX, e.abs(c.recent), x86.RAX)
	}
	e.shiftLeft(x86.RDX, log2(c.scale))
	e.aluImm(aluADD, x86.RDX, e.abs(c.stamps))
	e.emitTick(x86.RCX)
	if e.sim.vectors {
		e.vmovqFrom(x86.RCX, vecClock)
	}
	e.movRR(x86.R8, x86.RAX)
	e.shiftRight(x86.R8, lineBits)
	e.movImm(x86.RSI, uint64(c.ways.host))
	e.leaFull(x86.RSI, x86.RSI, x86.R8, 2, 0, false)
	e.loadWord(x86.R8, x86.RSI)
	e.testRR32(x86.R8)
	missing := e.jcc(condE, 0)
	e.aluRR(aluADD, x86.RCX, x86.R8)
	e.byte(0x4a, 0x89, 0x4c, 0xc2, 0xf8) // mov [rdx+r8*8-8], rcx
	hits = append(hits, e.jmp(0))
	e.link(missing, e.pos)
	e.emitOldest(c, x86.RDX)
	e.aluRR(aluADD, x86.RCX, x86.R8)
	e.byte(0x4a, 0x89, 0x4c, 0xc2, 0xf8)
	e.leaFull(x86.RDX, x86.RDX, x86.R8, 8, int32(8*c.assoc-8), false)
	e.loadAt(x86.R9, x86.RDX, 0)
	e.storeAt(x86.RDX, 0, x86.RAX)
	e.byte(0x66, 0x44, 0x89, 0x06) // mov [rsi], r8w
	e.shiftRight(x86.R9, lineBits)
	e.movImm(x86.RSI, uint64(c.ways.host))
	e.byte(0x66, 0x42, 0xc7, 0x04, 0x4e, 0, 0) // mov word [rsi+r9*2], 0
	return hits
}

// emitOldest puts the number of the way with the least of the stamps at base into R8. It loses R9.
func (e *Engine) emitOldest(c *stampCache, base x86.Reg) {
	e.loadAt(x86.R8, base, 0)
	if c.assoc > 1 {
		e.loadAt(x86.R9, base, 8)
	}
	// Two minima, so that one need not wait for the other.
	for i := 2; i < c.assoc; i++ {
		r := x86.R8 + x86.Reg(i&1)
		e.minAt(r, base, int32(8*i))
	}
	if c.assoc > 1 {
		e.min(x86.R8, x86.R9)
	}
	e.byte(0x45, 0x0f, 0xb7, 0xc0) // movzx r8d, r8w
}

// emitMasked puts the bits of r that choose a set into dst.
func (e *Engine) emitMasked(c *simCache, dst, r x86.Reg) {
	e.movRR32(dst, r)
	e.aluImm32(aluAND, dst, int32(c.mask))
}

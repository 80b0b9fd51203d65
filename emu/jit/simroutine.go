//go:build linux && amd64

package jit

import "github.com/cgemu/cgemu/emu/x86"

// maxUnrolled is the associativity up to which a set's search is written out.
const maxUnrolled = 32

// The routines that simulate a reference are called on a stack of their own, with, from the
// top: the return address, the reference's size less 1, the address of two counters for the
// misses in L1 and LL, the reference's address. They remove these and lose nothing but flags.
const (
	argSize    = int32(8 * (1 + len(routineRegs)))
	argCounter = argSize + 8
	argAddr    = argCounter + 8
)

// routineRegs are the registers the routines save.
var routineRegs = [...]x86.Reg{x86.RAX, x86.RCX, x86.RDX, x86.RSI, x86.RDI}

// emitSimRoutines generates the routines.
func (e *Engine) emitSimRoutines() {
	e.sim.fetch = e.emitReference(&e.sim.i1)
	e.sim.data = e.emitReference(&e.sim.d1)
}

// emitReference generates the routine that makes a reference to l1, and to LL if it misses.
func (e *Engine) emitReference(l1 *simCache) int {
	touchL1, touchLL := e.emitTouchRoutine(l1), e.emitTouchRoutine(&e.sim.ll)
	start := e.pos
	for _, r := range routineRegs {
		e.pushReg(r)
	}
	var toLL, out []int
	two := e.emitLines(l1)
	out = append(out, e.emitTouch(l1)...)
	toLL = append(toLL, e.jmp(0))
	e.link(two, e.pos)
	e.emitTouchTwo(touchL1)
	out = append(out, e.jcc(condE, 0))
	for _, site := range toLL {
		e.link(site, e.pos)
	}
	e.loadAt(x86.RDI, x86.RSP, argCounter)
	e.incAt(x86.RDI, 0)
	two = e.emitLines(&e.sim.ll)
	out = append(out, e.emitTouch(&e.sim.ll)...)
	one := e.jmp(0)
	e.link(two, e.pos)
	e.emitTouchTwo(touchLL)
	out = append(out, e.jcc(condE, 0))
	e.link(one, e.pos)
	e.loadAt(x86.RDI, x86.RSP, argCounter)
	e.incAt(x86.RDI, 8)
	for _, site := range out {
		e.link(site, e.pos)
	}
	for i := len(routineRegs) - 1; i >= 0; i-- {
		e.popReg(routineRegs[i])
	}
	e.byte(0xc2, 24, 0) // ret 24
	return start
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
func (e *Engine) emitTouchRoutine(c *simCache) int {
	start := e.pos
	hits := e.emitTouch(c)
	e.byte(0xf9, 0xc3) // stc; ret
	for _, site := range hits {
		e.link(site, e.pos)
	}
	e.byte(0xf8, 0xc3) // clc; ret
	return start
}

// emitTouch looks the line in RAX up, moves the lines in front of it back by one way and makes
// it the first. It returns the sites of the jumps to be taken if it was there, and
// loses RCX, RDX, RSI.
func (e *Engine) emitTouch(c *simCache) (hits []int) {
	cur, prev := x86.RSI, x86.RCX
	e.emitSet(c, x86.RDX, x86.RAX)
	e.loadAt(cur, x86.RDX, 0)
	e.aluRR(aluCMP, cur, x86.RAX)
	hits = append(hits, e.jcc(condE, 0))
	e.storeAt(x86.RDX, 0, x86.RAX)
	if c.assoc > maxUnrolled {
		return append(hits, e.emitTouchLoop(c))
	}
	for i := 1; i < c.assoc; i++ {
		cur, prev = prev, cur
		e.loadAt(cur, x86.RDX, int32(8*i))
		e.storeAt(x86.RDX, int32(8*i), prev)
		e.aluRR(aluCMP, cur, x86.RAX)
		hits = append(hits, e.jcc(condE, 0))
	}
	return hits
}

// emitTouchLoop is the rest of emitTouch for large sets.
func (e *Engine) emitTouchLoop(c *simCache) (hit int) {
	e.pushReg(x86.RDI)
	e.movImm(x86.RDI, uint64(c.assoc-1))
	top := e.pos
	e.aluImm(aluADD, x86.RDX, 8)
	e.movRR(x86.RCX, x86.RSI)
	e.loadAt(x86.RSI, x86.RDX, 0)
	e.storeAt(x86.RDX, 0, x86.RCX)
	e.aluRR(aluCMP, x86.RSI, x86.RAX)
	found := e.jcc(condE, 0)
	e.byte(0xff, 0xcf) // dec edi
	e.jcc(condNE, top)
	e.popReg(x86.RDI)
	missed := e.jmp(0)
	e.link(found, e.pos)
	e.popReg(x86.RDI)
	hit = e.jmp(0)
	e.link(missed, e.pos)
	return hit
}

// emitSet puts the address of the set of the address in r into dst.
func (e *Engine) emitSet(c *simCache, dst, r x86.Reg) {
	scale := e.emitSetOffset(c, dst, r)
	e.leaAbs(dst, dst, scale, e.abs(c.off))
}

// emitSetOffset puts what chooses the set of the address in r into dst; the table has the set at
// that times scale.
func (e *Engine) emitSetOffset(c *simCache, dst, r x86.Reg) (scale uint8) {
	e.movRR32(dst, r)
	e.aluImm32(aluAND, dst, int32(c.mask))
	if c.scale <= 8 {
		return uint8(c.scale)
	}
	if dst >= 8 {
		e.byte(0x49)
	} else {
		e.byte(0x48)
	}
	e.byte(0xc1, 0xe0|byte(dst&7), log2(c.scale)-3) // shl dst, n
	return 8
}

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
var routineRegs = [...]x86.Reg{x86.RAX, x86.RCX, x86.RDX, x86.RSI, x86.R8, x86.R9}

// emitSimRoutines generates the routines.
func (e *Engine) emitSimRoutines() {
	e.sim.routines = [2]simRoutines{}
	for i := range e.sim.routines {
		e.x87 = i == 1
		if e.x87 && !e.keepsClock() {
			break
		}
		touchLL := e.emitTouchRoutine(e.emitLastTouch)
		touchD1 := e.emitTouchRoutine(e.emitDataStamp)
		e.sim.routines[i] = simRoutines{
			load:    e.emitReference(touchD1, touchLL, true, false),
			store:   e.emitReference(touchD1, touchLL, true, true),
			fetch:   e.emitFetchRoutine(&e.sim.i1),
			fetchLL: e.emitReference(0, touchLL, false, false).entry,
		}
	}
	e.x87 = false
}

// probeFault returns where a routine goes on after a fault at arena offset pos, and whether it is one that it expects.
func (e *Engine) probeFault(pos int) (resume int, ok bool) {
	for i := range e.sim.routines {
		for _, r := range [2]*dataRoutine{&e.sim.routines[i].load, &e.sim.routines[i].store} {
			if resume, ok = r.after(pos); ok {
				return resume, true
			}
		}
	}
	return 0, false
}

// emitReference generates the routine that makes a reference to D1, if data says that it is one, and to LL if it
// misses. writes says that the instruction writes there.
func (e *Engine) emitReference(touchD1, touchLL int, data, writes bool) (r dataRoutine) {
	r.entry = e.pos
	for _, reg := range routineRegs {
		e.pushReg(reg)
	}
	var out, gone []int // the sites of jumps to the end, and to where LL is known to miss
	wild := 0
	if data {
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
		d1, ll := &e.sim.d1, &e.sim.ll
		two := e.emitLines(&d1.simCache)
		out = append(out, e.emitDataStamp()...)
		toLL := -1
		if d1.line <= ll.line { // it lies in one line of LL, too
			e.emitMissed(0)
			e.loadAt(x86.RAX, x86.RSP, argAddr)
			e.aluImm(aluAND, x86.RAX, int32(-ll.line))
			out = append(out, e.emitLastTouch()...)
			gone = append(gone, e.jmp(0))
		} else {
			toLL = e.jmp(0)
		}
		e.link(two, e.pos)
		e.emitTouchTwo(touchD1)
		out = append(out, e.jcc(condE, 0))
		if toLL >= 0 {
			e.link(toLL, e.pos)
		}
	}
	e.emitMissed(0)
	two := e.emitLines(&e.sim.ll.simCache)
	out = append(out, e.emitLastTouch()...)
	gone = append(gone, e.jmp(0))
	e.link(two, e.pos)
	e.emitTouchTwo(touchLL)
	out = append(out, e.jcc(condE, 0))
	for _, site := range gone {
		e.link(site, e.pos)
	}
	e.emitMissed(8)
	if data {
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

// emitTouchPage writes nothing to the page of RAX, unless stTouched says that it has: the host gives a page that is new
// to whoever writes to it in one fault, and in two if it is read first. It loses RDX, RSI and R8.
func (e *Engine) emitTouchPage() {
	const there = 0x80
	e.movRR(x86.RDX, x86.RAX)
	e.shiftRight(x86.RDX, log2(emu.PageSize))
	e.movRR32(x86.RSI, x86.RDX)
	e.aluImm32(aluAND, x86.RSI, touchedPages-1)
	e.shiftRight(x86.RDX, log2(touchedPages))
	e.aluImm32(aluOR, x86.RDX, there)
	e.leaRIP(x86.R8, stTouched)
	e.byte(0x41, 0x38, 0x14, 0x30) // cmp [r8+rsi], dl
	same := e.short(opShortJE)
	e.byte(0x41, 0x88, 0x14, 0x30)        // mov [r8+rsi], dl
	e.byte(0xf0, prefixGS, 0x80, 0x08, 0) // lock or byte gs:[rax], 0
	e.patchShort(same)
}

// compareLimit emits cmp r, [stLimit].
func (e *Engine) compareLimit(r x86.Reg) {
	e.byte(rexW(r, 0), aluCMP<<3|3)
	e.rip(r, stLimit, 0)
}

// emitMissed counts a miss on the counter at an offset from the address of both. If calls are recorded, that has the
// column of their totals in its lowest bits (missTotal). It loses RCX, RDX and RSI.
func (e *Engine) emitMissed(off int32) {
	e.loadAt(x86.RCX, x86.RSP, argCounter)
	if e.calls == nil {
		e.incAt(x86.RCX, off)
		return
	}
	e.movRR32(x86.RDX, x86.RCX)
	e.aluImm(aluAND, x86.RCX, -8)
	e.incAt(x86.RCX, off)
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
	e.emitTime(x86.RCX, true)
	e.byte(0x48, 0x83, 0x38, 0) // cmp qword [rax], 0
	there := e.jcc(condNE, 0)
	e.loadAt(x86.RDX, x86.RSP, argCounter)
	e.emitGiveWay(&c.stampedCache)
	e.link(there, e.pos)
	e.emitTime(x86.RCX, false)
	e.emitStoreTime(stampPlace{base: x86.RAX, index: x86.NoReg}, x86.RCX)
	for i := len(routineRegs) - 1; i >= 0; i-- {
		e.popReg(routineRegs[i])
	}
	e.byte(0xc2, 16, 0) // ret 16
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
	e.pushReg(x86.RDI)
	e.movImm(x86.RDI, 0)
	e.pushReg(x86.RCX)
	e.call(touch)
	e.byte(0x83, 0xd7, 0) // adc edi, 0
	e.popReg(x86.RAX)
	e.call(touch)
	e.byte(0x83, 0xd7, 0)
	e.byte(0x85, 0xff) // test edi, edi
	e.popReg(x86.RDI)
}

// emitTouchRoutine generates a routine that touches the line in RAX, as emitStamp does, and sets the carry flag if it
// was missing.
func (e *Engine) emitTouchRoutine(emitStamp func() (hits []int)) int {
	start := e.pos
	hits := emitStamp()
	e.byte(0xf9, 0xc3) // stc; ret
	for _, site := range hits {
		e.link(site, e.pos)
	}
	e.byte(0xf8, 0xc3) // clc; ret
	return start
}

// emitDataStamp looks the line in RAX up in D1 and makes it the most recently used of its set. It returns the
// sites of the jumps to be taken if it was there, and loses RAX, RCX, RDX, RSI, R8, R9.
func (e *Engine) emitDataStamp() (hits []int) {
	c := &e.sim.d1
	e.emitMasked(&c.simCache, x86.RDX, x86.RAX)
	e.emitTime(x86.RCX, true)
	e.shiftRight(x86.RAX, log2(c.line)-log2(stampSize))
	e.addSlot(x86.RAX, stD1Directory)
	p := stampPlace{base: x86.RAX, index: x86.NoReg}
	missing := e.emitTestStamp(p)
	e.emitStoreTime(p, x86.RCX)
	hits = append(hits, e.jmp(0))
	e.link(missing, e.pos)
	e.shiftLeft(x86.RDX, log2(c.scale))
	e.aluImm(aluADD, x86.RDX, e.abs(c.ways))
	e.emitGiveWay(&c.stampedCache)
	e.emitTime(x86.RCX, false)
	e.emitStoreTime(p, x86.RCX)
	return hits
}

// emitGiveWay gives the line whose stamp is at RAX the way, of those at RDX, of the line with the least stamp, which is
// not there any more. It loses RCX, RSI, R8 and R9.
func (e *Engine) emitGiveWay(c *stampedCache) {
	e.emitOldest(c.assoc, x86.R9, func(r x86.Reg, i int) {
		e.loadAt(r, x86.RDX, int32(8*i))
		e.loadAt(r, r, 0)
	})
	e.leaFull(x86.R9, x86.RDX, x86.R8, 8, 0, false)
	e.loadAt(x86.RSI, x86.R9, 0)
	e.byte(0x48, 0xc7, 0x06, 0, 0, 0, 0) // mov qword [rsi], 0
	e.storeAt(x86.R9, 0, x86.RAX)
}

// emitOldest puts the number of the way with the least stamp into R8. load emits a load of the stamp of way i, a time
// alone, with room for a way's number in the low bits. It loses RCX and other.
func (e *Engine) emitOldest(assoc int, other x86.Reg, load func(r x86.Reg, i int)) {
	least := [2]x86.Reg{x86.R8, other} // two minima, so that one need not wait for the other
	for i := range assoc {
		r := x86.RCX
		if i < 2 {
			r = least[i]
		}
		load(r, i)
		if i > 0 {
			e.lea(r, r, int32(i))
		}
		if i >= 2 {
			e.min(least[i&1], r)
		}
	}
	if assoc > 1 {
		e.min(x86.R8, other)
	}
	e.byte(0x45, 0x0f, 0xb7, 0xc0) // movzx r8d, r8w
}

// emitMasked puts the bits of r that choose a set into dst.
func (e *Engine) emitMasked(c *simCache, dst, r x86.Reg) {
	e.movRR32(dst, r)
	e.aluImm32(aluAND, dst, int32(c.mask))
}

//go:build linux && amd64

package jit

import (
	"slices"
	"sync"

	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/sem"
	"github.com/cgemu/cgemu/emu/x86"
)

// Where the host's approximations are others than the guest's, and there are no vector registers to spare (refine.go),
// generated code finds those of RCPPS and RSQRTPS in a table, a lane at a time in general registers.

// approximations has the fractions of results, 12 bits: of 2,048 intervals of RCPPS, by the first 11 bits of the
// operand's fraction, and of as many of RSQRTPS, by the last bit of the exponent and the first 10 bits of the fraction
// (emu/soft, README.md).
var approximations = sync.OnceValue(func() *[2 * intervals]uint16 {
	var t [2 * intervals]uint16
	rcp, rsqrt := sem.Approximation(x86.RCPSS), sem.Approximation(x86.RSQRTSS)
	for i := range uint32(intervals) {
		t[i] = uint16(rcp(127<<23|i<<12) >> 11 & 0xfff)
		t[intervals+i] = uint16(rsqrt(126<<23+i<<13) >> 11 & 0xfff)
	}
	return &t
})

const intervals = 2048

// emitByTable emits g, instruction i, by the routine for it. Where the table is not known yet Go makes it, and comes
// back.
func (e *Engine) emitByTable(g *ginsn, i int) {
	e.giveFlags()
	e.reload(0xffff)
	e.flushRSP()
	e.placed[i].rsp = 0
	x := exit{kind: exitTable, rip: g.PC, t: e.t, insn: int16(i), first: int32(e.pos)}
	routine, lanes := e.stubs.rcp, int(g.Args[g.NArgs-1].Size)/4
	if isRsqrt(g.Op) {
		routine = e.stubs.rsqrt
	}
	if isScalar(g.Op) {
		lanes = 1
	}
	e.emitStoreLanes(g, lanes)
	e.emitAsk(routine, x)
	e.emitLoadLanes(&g.Insn, lanes)
}

// emitStoreLanes stores the source of g for the routine, with RCX in slotC, and loads into RCX how many bytes there
// are.
func (e *Engine) emitStoreLanes(g *ginsn, lanes int) {
	switch source := g.Args[g.NArgs-1].Reg; {
	case g.HasMem && lanes == 1:
		e.emitScalarOperand(g, func(r x86.Reg) {
			e.byte(0x89) // mov [stLanes], r
			e.rip(r, stLanes, 0)
		})
	case g.HasMem:
		e.emitOperandByDestination(g)
		e.moveVector(0x11, g.Args[0].Reg, lanes > 4)
		e.rip(g.Args[0].Reg, stLanes, 0)
	default:
		e.moveVector(0x11, source, lanes > 4)
		e.rip(source, stLanes, 0)
	}
	e.store(slotC, x86.RCX)
	e.movImm(x86.RCX, uint64(4*lanes))
}

// emitScalarOperand loads g's operand of 32 bits, which is in memory, for use.
func (e *Engine) emitScalarOperand(g *ginsn, use func(r x86.Reg)) {
	s := pickScratch(g)
	e.store(slotA, s)
	from := e.pos
	disp := e.address(g, s)
	e.byte(prefixGS, opMovLoad)
	e.memRM(s, s, disp)
	use(s)
	e.load(s, slotA)
	e.saved(from, s, slotA, 0)
}

// emitOperandByDestination loads g's operand, which is a vector in memory, into its destination. It faults where g
// does.
func (e *Engine) emitOperandByDestination(g *ginsn) {
	load := *g
	load.Bytes = slices.Clone(g.Bytes)
	opcode := &load.Bytes[g.ModRMOff-1]
	if *opcode = 0x28; g.Enc == x86.VEX { // MOVAPS and VMOVUPS
		*opcode = 0x10
	}
	e.emitPlain(&load)
}

// moveVector emits vmovups between a register and what e.rip says next.
func (e *Engine) moveVector(op byte, r x86.Reg, wide bool) {
	e.byte(0xc5, 0x78|byte(b2i(wide))<<2|byte(b2i(r < 8))<<7, op)
}

// emitLoadLanes loads what the routine has made of them, as g writes its destination.
func (e *Engine) emitLoadLanes(g *guest.Insn, lanes int) {
	dst := g.Args[0].Reg
	switch {
	case lanes == 1 && g.Enc == x86.VEX:
		e.insertLane(dst, g.Args[1].Reg, 0, true)
	case lanes == 1:
		e.insertLane(dst, dst, 0, false)
	case lanes > 4:
		e.moveVector(0x10, dst, true)
		e.rip(dst, stLanes, 0)
	default: // one by one, as the routine has stored them: what is read of several stores waits for all
		for lane := range lanes {
			e.insertLane(dst, dst, lane, g.Enc == x86.VEX)
		}
	}
}

// insertLane emits insertps dst, [stLanes+4*lane] or, if vex says so, vinsertps dst, source, [stLanes+4*lane].
func (e *Engine) insertLane(dst, source x86.Reg, lane int, vex bool) {
	if vex {
		e.byte(0xc4, byte(b2i(dst < 8))<<7|0x63, 0x01|(byte(source)^15)<<3, 0x21)
	} else {
		e.byte(0x66, 0x40|byte(dst>>3)<<2, 0x0f, 0x3a, 0x21)
	}
	e.rip(dst, stLanes+4*lane, 1)
	e.byte(byte(lane) << 4)
}

// emitApproximationRoutines emits the routines. They are entered as those of emitAnswerRoutines are, and as
// emitStoreLanes leaves it.
func (e *Engine) emitApproximationRoutines() {
	const sign, inf, quiet, defaultNaN = -1 << 31, 0xff << 23, 1 << 22, -1<<31 | 0x1ff<<22
	e.stubs.rcp = e.pos
	e.emitApproximation(func() {
		e.byte(0x8d, 0x14, 0x00) // lea edx, [rax+rax]
		e.aluImm32(aluSUB, x86.RDX, 1<<24)
		e.aluImm32(aluCMP, x86.RDX, -4<<24) // exponents 1 to 252
		special := e.jcc(condAE, 0)
		e.movRR32(x86.RDX, x86.RAX)
		e.byte(0xc1, 0xea, 12) // shr edx, 12
		e.aluImm32(aluAND, x86.RDX, intervals-1)
		e.aluImm32(aluAND, x86.RAX, -1<<23)
		e.byte(0x0f, 0xb7, 0x14, 0x57, 0xc1, 0xe2, 11) // movzx edx, word [rdi+rdx*2]; shl edx, 11
		e.byte(0x29, 0xc2)                             // sub edx, eax
		e.aluImm32(aluADD, x86.RDX, 253<<23)
		done := e.jmp(0)
		e.link(special, e.pos)
		e.emitSpecial(inf, quiet, func() { // infinity, and results that would be denormal
			e.movRR32(x86.RDX, x86.RAX)
			e.aluImm32(aluAND, x86.RDX, sign)
		})
		e.link(done, e.pos)
	})
	e.stubs.rsqrt = e.pos
	e.emitApproximation(func() {
		e.lea32(x86.RDX, x86.RAX, -1<<23)
		e.aluImm32(aluCMP, x86.RDX, 254<<23) // positive, exponents 1 to 254
		special := e.jcc(condAE, 0)
		e.movRR32(x86.RDX, x86.RAX)
		e.byte(0xc1, 0xea, 13) // shr edx, 13
		e.aluImm32(aluAND, x86.RDX, intervals-1)
		e.byte(0x0f, 0xb7, 0x94, 0x57) // movzx edx, word [rdi+rdx*2+2*intervals]
		e.u32(2 * intervals)
		e.byte(0xc1, 0xe2, 11, 0xc1, 0xe8, 23, 0xf7, 0xd8) // shl edx, 11; shr eax, 23; neg eax
		e.aluImm32(aluADD, x86.RAX, 380)
		e.byte(0xd1, 0xe8, 0xc1, 0xe0, 23, 0x09, 0xc2) // shr eax, 1; shl eax, 23; or edx, eax
		done := e.jmp(0)
		e.link(special, e.pos)
		e.emitSpecial(inf, quiet, func() { // negative, or infinity, which gives 0
			e.movRR32(x86.RDX, x86.RAX)
			e.byte(0xc1, 0xfa, 31) // sar edx, 31
			e.aluImm32(aluAND, x86.RDX, defaultNaN)
		})
		e.link(done, e.pos)
	})
	e.stubs.end = e.pos
}

// emitSpecial makes EDX of an operand in EAX which is a NaN, a zero or denormal, which counts as one, or for rest.
func (e *Engine) emitSpecial(inf, quiet int32, rest func()) {
	e.byte(0x8d, 0x14, 0x00) // lea edx, [rax+rax]
	e.aluImm32(aluCMP, x86.RDX, inf<<1)
	nan := e.jcc(condA, 0)
	e.aluImm32(aluCMP, x86.RDX, 1<<24)
	zero := e.jcc(condB, 0)
	rest()
	done := e.jmp(0)
	e.link(nan, e.pos)
	e.movRR32(x86.RDX, x86.RAX)
	e.aluImm32(aluOR, x86.RDX, quiet)
	quieted := e.jmp(0)
	e.link(zero, e.pos)
	e.movRR32(x86.RDX, x86.RAX)
	e.aluImm32(aluAND, x86.RDX, -1<<31)
	e.aluImm32(aluOR, x86.RDX, inf)
	e.link(done, e.pos)
	e.link(quieted, e.pos)
}

// emitApproximation emits a routine: lane makes EDX of the operand in EAX, with the table at RDI.
func (e *Engine) emitApproximation(lane func()) {
	e.store(slotTmp, x86.RDX)
	e.saveFlags()
	e.store(slotTmp2, x86.RAX)
	e.store(stSpill, x86.RSI)
	e.store(stSpill+8, x86.RDI)
	e.load(x86.RDI, stApproximations)
	e.byte(0x48, 0x85, 0xff) // test rdi, rdi
	unknown := e.jcc(condE, 0)
	e.leaRIP(x86.RSI, stLanes-4)
	loop := e.pos
	e.byte(0x8b, 0x04, 0x0e) // mov eax, [rsi+rcx]
	lane()
	e.byte(0x89, 0x14, 0x0e) // mov [rsi+rcx], edx
	e.aluImm32(aluSUB, x86.RCX, 4)
	e.jcc(condNE, loop)
	done := e.jmp(0)
	e.link(unknown, e.pos)
	e.load(x86.RAX, slotTmp)
	e.lea(x86.RAX, x86.RAX, -answerSkip)
	e.store(slotTmp, x86.RAX)
	e.link(done, e.pos)
	e.load(x86.RSI, stSpill)
	e.load(x86.RDI, stSpill+8)
	e.load(x86.RCX, slotC)
	e.load(x86.RAX, slotTmp2)
	e.restoreFlags()
	e.load(x86.RAX, slotA)
	e.load(x86.RDX, slotB)
	e.jmpTo(slotTmp)
}

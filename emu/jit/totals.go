//go:build linux && amd64

package jit

import (
	"fmt"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/x86"
)

// The totals of a call graph change with every block, and a block that adds to a word of memory waits until the block before has done so. Where
// there is one total, of instructions, it is therefore in a vector register which the guest does not have, or, if the host has none, in parts. The register's other half has
// 1 if calls count, so that one addition changes the sum and the number of calls that an arc has.
// Simulation takes longer than the wait, so that other totals are words.

// totalParts is how many parts a total has that is in memory; block after block takes another.
const totalParts = 4

// maxStep is the most that a count of a counter adds to a total that is in a register, or takes off it.
const maxStep = maxBlock

// prepareSteps makes the numbers that are added to a register, with 0 for its other half.
func (e *Engine) prepareSteps() {
	for n := -maxStep; n <= maxStep; n++ {
		e.set(stepAt(n), uint64(int64(n)))
	}
}

func stepAt(n int) int { return stSteps + 16*(n+maxStep) }

// totalAt returns where a part of a total is.
func (k *calls) totalAt(column, part int) int { return stTotals + 8*(column+part*len(k.Totals)) }

// joinTotals adds the parts up, for Go.
func (e *Engine) joinTotals() {
	k := e.calls
	for c := range k.Totals {
		for part := 1; part < k.parts; part++ {
			k.Totals[c] += e.get(k.totalAt(c, part))
			e.set(k.totalAt(c, part), 0)
		}
	}
}

// evex emits the prefix and opcode of an instruction of 128 bits, with one of the registers xmm24 to xmm31 as operand in ModRM.reg. p is the prefix's third
// byte: W, the other source and the kind of opcode. vPrime says that the other source is one of these registers, too; base is the register in ModRM.rm or its base.
func (e *assembler) evex(p byte, vPrime bool, opcode byte, base x86.Reg) {
	last := byte(0x08)
	if vPrime {
		last = 0
	}
	if base == x86.NoReg {
		base = 0
	}
	e.byte(0x62, 0x61&^(byte(base>>3)<<5), p, last, opcode)
}

// The third byte of the prefix: VPADDQ with xmm31, xmm30 and xmm28 as the other source; moves.
const (
	evexAdd31 = 0x85
	evexAdd30 = 0x8d
	evexAdd28 = 0x9d
	evexMove  = 0xfd // VMOVQ to memory and from and to registers
	evexLoad  = 0xfe // VMOVQ from memory, VMOVDQU64
)

// emitAddVector adds the total, and 1 for a call that counts, to two words of a row from word on. It leaves registers and flags alone.
func (e *Engine) emitAddVector(at row, word int) {
	operand := func() {
		if at.base == x86.NoReg {
			e.rip(x86.RBP, at.off+8*word, 0)
		} else {
			e.byte(0x80 | byte(x86.RBP)<<3 | byte(at.base&7)) // a displacement of 8 bits would be scaled
			e.u32(uint32(8 * word))
		}
	}
	e.evex(evexAdd31, true, 0xd4, at.base) // vpaddq xmm29, xmm31, [row]
	operand()
	e.evex(evexLoad, false, 0x7f, at.base) // vmovdqu64 [row], xmm29
	operand()
}

// emitVectorFrame stores the frame at regBias: RSP and n, and an arc.
func (e *Engine) emitVectorFrame(n int32, arc uint64) {
	constant := e.newCounter(0)
	e.newCounter(0)
	e.set(counterOff+8*constant, uint64(int64(n)))
	e.set(counterOff+8*constant+8, arc)
	e.evex(evexMove, false, 0x6e, x86.RSP) // vmovq xmm28, rsp
	e.byte(0xe4)
	e.evex(evexAdd28, true, 0xd4, x86.NoReg) // vpaddq xmm28, xmm28, [constant]
	e.rip(x86.RSP, counterOff+8*constant, 0)
	e.evex(evexLoad, false, 0x7f, regBias) // vmovdqu64 [regBias], xmm28
	e.byte(0x23)
}

// emitEnterCalls loads what is in registers while generated code runs, emitExitCalls stores it.
func (e *Engine) emitEnterCalls() {
	if e.calls != nil && e.calls.vectors {
		e.evex(evexLoad, false, 0x7e, x86.NoReg) // vmovq xmm30, [stFrame]
		e.rip(x86.RSI, stFrame, 0)
	}
	if e.calls != nil && e.calls.inVector {
		e.evex(evexLoad, false, 0x6f, x86.NoReg) // vmovdqu64 xmm31, [stTotals]
		e.rip(x86.RDI, stTotals, 0)
	}
}

func (e *Engine) emitExitCalls() {
	if e.calls != nil && e.calls.vectors {
		e.evex(evexMove, false, 0xd6, x86.NoReg) // vmovq [stFrame], xmm30
		e.rip(x86.RSI, stFrame, 0)
	}
	if e.calls != nil && e.calls.inVector {
		e.evex(evexMove, false, 0xd6, x86.NoReg) // vmovq [stTotals], xmm31
		e.rip(x86.RDI, stTotals, 0)
	}
}

// loadFrame loads the address of the innermost frame, storeFrame makes it what is in r.
func (e *Engine) loadFrame(r x86.Reg) {
	if e.calls.vectors {
		e.evex(evexMove, false, 0x7e, r) // vmovq r, xmm30
		e.byte(0xf0 | byte(r&7))
		return
	}
	e.load(r, stFrame)
}

func (e *Engine) storeFrame(r x86.Reg) {
	if e.calls.vectors {
		e.evex(evexMove, false, 0x6e, r) // vmovq xmm30, r
		e.byte(0xf0 | byte(r&7))
		return
	}
	e.store(stFrame, r)
}

// emitPushFrame makes room for a frame, whose address it leaves in r.
func (e *Engine) emitPushFrame(r x86.Reg) {
	if e.calls.vectors {
		e.emitStep(frameSize)
		e.loadFrame(r)
		return
	}
	e.load(r, stFrame)
	e.lea(r, r, frameSize)
	e.store(stFrame, r)
}

// emitStepBack makes the frame below that at r, which is lost, the innermost one.
func (e *Engine) emitStepBack(r x86.Reg) {
	if e.calls.vectors {
		e.emitStep(-frameSize)
		return
	}
	e.lea(r, r, -frameSize)
	e.store(stFrame, r)
}

// emitStep adds n to the frame's address.
func (e *Engine) emitStep(n int) {
	e.evex(evexAdd30, true, 0xd4, x86.NoReg) // vpaddq xmm30, xmm30, [step]
	e.rip(x86.RSI, stepAt(n), 0)
}

// emitSums adds to the totals what one count of a counter stands for. It overwrites r, or the flags if r is NoReg.
func (e *Engine) emitSums(counter int, r x86.Reg) {
	if e.calls == nil || e.counting != emu.CountAll {
		return
	}
	k := e.calls
	for _, s := range k.sums[counter] {
		at := k.totalAt(s.column, counter%k.parts)
		switch {
		case k.inVector:
			if s.n < -maxStep || s.n > maxStep {
				panic(fmt.Sprintf("BUG: a block of %d instructions", s.n))
			}
			e.evex(evexAdd31, true, 0xd4, x86.NoReg) // vpaddq xmm31, xmm31, [step]
			e.rip(x86.RDI, stepAt(int(s.n)), 0)
		case r == x86.NoReg:
			e.addMem(at, int16(s.n))
		default:
			e.addMemBy(at, int16(s.n), r)
		}
	}
}

// emitAddIterations adds the iterations in RDX of a REP instruction to the total of instructions. It loses RCX.
func (e *Engine) emitAddIterations() {
	switch k := e.calls; {
	case k == nil || e.counting != emu.CountAll:
	case k.inVector:
		e.evex(evexMove, false, 0x6e, x86.RDX) // vmovq xmm29, rdx
		e.byte(0xea)
		e.byte(0x62, 0x01, 0x85, 0x00, 0xd4, 0xfd) // vpaddq xmm31, xmm31, xmm29
	default:
		e.addFrom(k.totalAt(k.columns[emu.Ir], 0), x86.RDX)
	}
}

// emitHappened adds 1 to the total of an event. It changes the flags.
func (e *Engine) emitHappened(ev emu.Event) {
	if e.calls != nil && e.counting == emu.CountAll && e.calls.columns[ev] >= 0 {
		e.incMem(stTotals + 8*e.calls.columns[ev])
	}
}

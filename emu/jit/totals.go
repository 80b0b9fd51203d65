//go:build linux && amd64

package jit

import (
	"fmt"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/x86"
)

// The totals of a call graph change with every block, and a block that adds to a word of memory waits until the block before has done so. Where
// there is one total, of instructions, it is therefore in a vector register which the guest does not have, or, if the host has none, in parts.
// Simulation takes longer than the wait, so that other totals are words.

// totalParts is how many parts a total has that is in memory; block after block takes another.
const totalParts = 4

// maxStep is the most that a count of a counter adds to a total that is in a register, or takes off it.
const maxStep = maxBlock

// prepareSteps makes the numbers that are added to a register.
func (e *Engine) prepareSteps() {
	for n := -maxStep; n <= maxStep; n++ {
		e.set(stepAt(n), uint64(int64(n)))
	}
}

func stepAt(n int) int { return stSteps + 8*(n+maxStep) }

// totalAt returns where a part of a total is.
func (k *calls) totalAt(column, part int) int { return stTotals + 8*(column+part*len(k.Totals)) }

// read returns how many numbers make up a total for generated code.
func (k *calls) read() int {
	if k.inVector {
		return 1
	}
	return k.parts
}

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

// loadTotal loads a part of a total.
func (e *Engine) loadTotal(r x86.Reg, column, part int) {
	if e.calls.inVector {
		e.byte(0x62, 0x61&^(byte(r>>3)<<5), 0xfd, 0x08, 0x7e, 0xf8|byte(r&7)) // vmovq r, xmm31
		return
	}
	e.load(r, e.calls.totalAt(column, part))
}

// emitEnterCalls loads what is in registers while generated code runs, emitExitCalls stores it.
func (e *Engine) emitEnterCalls() {
	if e.calls != nil && e.calls.vectors {
		e.byte(0x62, 0x61, 0xfe, 0x08, 0x7e) // vmovq xmm30, [stFrame]
		e.rip(x86.RSI, stFrame, 0)
	}
	if e.calls != nil && e.calls.inVector {
		e.byte(0x62, 0x61, 0xfe, 0x08, 0x7e) // vmovq xmm31, [stTotals]
		e.rip(x86.RDI, stTotals, 0)
	}
}

func (e *Engine) emitExitCalls() {
	if e.calls != nil && e.calls.vectors {
		e.byte(0x62, 0x61, 0xfd, 0x08, 0xd6) // vmovq [stFrame], xmm30
		e.rip(x86.RSI, stFrame, 0)
	}
	if e.calls != nil && e.calls.inVector {
		e.byte(0x62, 0x61, 0xfd, 0x08, 0xd6) // vmovq [stTotals], xmm31
		e.rip(x86.RDI, stTotals, 0)
	}
}

// loadFrame loads the address of the innermost frame, storeFrame makes it what is in r.
func (e *Engine) loadFrame(r x86.Reg) {
	if e.calls.vectors {
		e.byte(0x62, 0x61&^(byte(r>>3)<<5), 0xfd, 0x08, 0x7e, 0xf0|byte(r&7)) // vmovq r, xmm30
		return
	}
	e.load(r, stFrame)
}

func (e *Engine) storeFrame(r x86.Reg) {
	if e.calls.vectors {
		e.byte(0x62, 0x61&^(byte(r>>3)<<5), 0xfd, 0x08, 0x6e, 0xf0|byte(r&7)) // vmovq xmm30, r
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
	e.byte(0x62, 0x61, 0x8d, 0x10, 0xd4) // vpaddq xmm30, xmm30, [step]{1to2}
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
			e.byte(0x62, 0x61, 0x85, 0x10, 0xd4) // vpaddq xmm31, xmm31, [step]{1to2}
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
		e.byte(0x62, 0x61, 0xfd, 0x08, 0x6e, 0xea) // vmovq xmm29, rdx
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

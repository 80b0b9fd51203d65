//go:build linux && amd64

package jit

import "github.com/cgemu/cgemu/emu/x86"

// Where the host has AVX-512 and the guest has not, generated code has 16 vector registers and the mask registers to
// itself (spare). They need not be saved, arithmetic in them leaves the flags alone, and no instruction of the guest
// waits for them: the budget is in one, and counters are incremented in others.

// What is in vector registers. The clock, its tick and elements are where the last of the numbers are otherwise.
const (
	vecOne       vec = 0  // 1, and behind it the numbers up to vecNumbers if calls are recorded alone, with 0 in the upper half
	vecClock     vec = 8  // the clock of simulated caches
	vecTick      vec = 9  // what it advances by
	vecElements  vec = 10 // the addresses of a gather's elements
	vecFrameSize vec = 11 // the size of a frame of the recorder of calls
	vecBudget    vec = 12
	vecScratch   vec = 13
	vecFrame     vec = 14 // the address of the innermost frame
	vecTotal     vec = 15 // the total that frames are given
)

// vecNumbers is how many numbers there are from vecOne on.
const vecNumbers = 11

// maskBudget is scratch.
const maskBudget opmask = 1

// countsInRegister reports whether counters are incremented in MMX or vector registers.
func (e *Engine) countsInRegister() bool {
	return e.inMMX() || e.spare && (e.calls == nil || e.calls.inRegisters)
}

// emitEnterSpare loads what is in registers while generated code runs, emitExitSpare stores it.
func (e *Engine) emitEnterSpare() {
	if e.spare {
		e.vloadLow(vecBudget, stBudget)
	}
	if e.spare && e.countsInRegister() {
		e.vload(vecOne, stepAt(1))
	}
}

func (e *Engine) emitExitSpare() {
	if e.spare {
		e.vstoreLow(stBudget, vecBudget)
	}
}

// emitCountInVector counts once on a counter, and leaves registers and flags alone. A word of memory is read alone, as
// it was written: what is read of two stores waits for both.
func (e *Engine) emitCountInVector(counter int) {
	off := counterOff + 8*counter
	e.vpaddqBroadcast(vecScratch, vecOne, off)
	e.vstoreLow(off, vecScratch)
	if e.metered {
		e.vload(vecScratch, stepAt(int(e.weights[counter])))
		e.vpaddqBroadcast(vecScratch, vecScratch, meterOf(counter))
		e.vstoreLow(meterOf(counter), vecScratch)
	}
}

// emitOverdrawn takes n off the budget, and loads into RCX what is not 0 if it is negative then. It leaves the flags
// alone.
func (e *Engine) emitOverdrawn(n int) {
	if e.spare {
		e.vpaddq(vecBudget, vecBudget, stepAt(-n))
		e.vpmovq2mLow(maskBudget, vecBudget)
		e.kmovFrom(x86.RCX, maskBudget)
		return
	}
	if e.mmx {
		e.emitOverdrawnMMX(n)
		return
	}
	e.load(x86.RCX, stBudget)
	e.lea(x86.RCX, x86.RCX, -int32(n))
	e.store(stBudget, x86.RCX)
	e.movImm(x86.RCX, 63)
	e.byte(0xc4, 0xe2, 0xf2, 0xf7) // sarx rcx, [stBudget], rcx
	e.rip(x86.RCX, stBudget, 0)
}

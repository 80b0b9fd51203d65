//go:build linux && amd64

package jit

import (
	"fmt"
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/callgraph"
	"github.com/cgemu/cgemu/emu/x86"
)

// The totals of a call graph change with every block, and a block that adds to a word of memory waits until the block
// before has done so. Where there is one total, of instructions, it is therefore in a vector register which the guest
// does not have (spare.go). The register's other half has 1 if calls count, so that one addition changes the sum and
// the number of calls that an arc has. With simulation there are lanes, where the host has registers of 512 bits: those
// that a block adds what it counts in any case are in one register, misses and mispredictions, which are rare, in
// memory.
//
// Without such vectors, what a block adds to is in registers of MMX (mmx.go); where x87 is the guest's, totals are
// words, and one alone is in parts. How often a CALL calls follows then from its block's counter, where all executions
// of the block come to it.

// totalParts is how many parts a total has that is in memory; block after block takes another.
const totalParts = 2

// maxStep is the most that a count of a counter adds to a total that is in a register, or takes off it.
const maxStep = maxBlock

// Lanes of totals: staticLanes are in a register, the last of them is the number of calls; the others are in memory.
const (
	staticLanes = 8
	callsLane   = staticLanes - 1
	allLanes    = 2 * staticLanes
)

// rareEvents are those that no block counts in any case, misses first.
var rareEvents = []emu.Event{emu.I1mr, emu.ILmr, emu.D1mr, emu.DLmr, emu.D1mw, emu.DLmw, emu.Bcm, emu.Bim, emu.Taken}

// setLanes gives each event a lane, if there are enough. The first one has instructions.
func (k *calls) setLanes() bool {
	columns, static, rare := k.columnsApart(staticLanes)
	if static > callsLane || rare > allLanes {
		return false
	}
	k.SetLayout(callgraph.Layout{Columns: columns, Calls: callsLane, Words: allLanes, Header: staticLanes})
	k.misses = staticLanes
	return true
}

// columnsApart returns columns for the events, those of rareEvents from a column on, and where each kind ends.
func (k *calls) columnsApart(from int) (columns []int, static, rare int) {
	rare = from
	for _, ev := range k.Events {
		next := &static
		if slices.Contains(rareEvents, ev) {
			next = &rare
		}
		columns = append(columns, *next)
		*next++
	}
	return columns, static, rare
}

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

// emitAddRegisters adds the totals, and 1 for a call that counts, to words of a row from word on. It leaves registers
// and flags alone.
func (e *Engine) emitAddRegisters(at row, word int) {
	switch {
	case e.calls.registers != nil:
		e.emitAddMMX(at, word, word == e.calls.In())
	case e.calls.lanes:
		e.emitAddLanes(at, word)
	case at.base == x86.NoReg:
		e.vpaddq(vecScratch, vecTotal, at.off+8*word)
		e.vstore(at.off+8*word, vecScratch)
	default:
		e.vpaddqAt(vecScratch, vecTotal, at.base, int32(8*word))
		e.vstoreAt(at.base, int32(8*word), vecScratch)
	}
}

func (e *Engine) emitAddLanes(at row, word int) {
	low, high := int32(8*word), int32(8*(word+staticLanes))
	if at.base == x86.NoReg {
		e.vpaddqWide(vecScratch, vecTotal, at.off+int(low))
		e.vstoreWide(at.off+int(low), vecScratch)
		e.vloadWide(vecScratch, stTotals+8*staticLanes)
		e.vpaddqWide(vecScratch, vecScratch, at.off+int(high))
		e.vstoreWide(at.off+int(high), vecScratch)
		return
	}
	e.vpaddqWideAt(vecScratch, vecTotal, at.base, low)
	e.vstoreWideAt(at.base, low, vecScratch)
	e.vloadWide(vecScratch, stTotals+8*staticLanes)
	e.vpaddqWideAt(vecScratch, vecScratch, at.base, high)
	e.vstoreWideAt(at.base, high, vecScratch)
}

// emitFrame stores the frame at regBias: RSP and n, and an arc.
func (e *Engine) emitFrame(n int32, arc uint64) {
	constant := e.newFrameWords(n, arc)
	if e.mmx {
		e.emitFrameMMX(n, constant)
		return
	}
	e.vmovqTo(vecScratch, x86.RSP)
	e.vpaddq(vecScratch, vecScratch, constant)
	e.vstoreAt(regBias, 0, vecScratch)
}

// newFrameWords makes two words beside the counters, n and an arc, and returns the arena offset.
func (e *Engine) newFrameWords(n int32, arc uint64) (off int) {
	first := e.newCounter(0)
	e.newCounter(0)
	off = counterOff + 8*first
	e.set(off, uint64(int64(n)))
	e.set(off+8, arc)
	e.calls.arcWords = append(e.calls.arcWords, first+1)
	return off
}

// emitFrameBehind pushes the frame of a jump by an arc behind that of a call, which is at RCX. It loses RCX.
func (e *Engine) emitFrameBehind(arc int) {
	words := e.newFrameWords(callgraph.Jumped, e.hostAddr(arc))
	if e.mmx {
		e.mmAt(opMOVQLoad, mmScratch, x86.RCX, 0)
		e.mm(opPADDQ, mmScratch, words)
		e.mmAt(opMOVQStore, mmScratch, x86.RCX, frameSize)
		e.mm(opMOVQLoad, mmScratch, words+8)
		e.mmAt(opMOVQStore, mmScratch, x86.RCX, frameSize+8)
		e.emitAddStep(mmFrame, frameSize)
		return
	}
	e.loadAt(x86.RCX, x86.RCX, 0)
	e.vmovqTo(vecScratch, x86.RCX)
	e.vpaddq(vecScratch, vecScratch, words)
	e.emitPushFrame(x86.RCX)
	e.vstoreAt(x86.RCX, 0, vecScratch)
}

// emitEnterCalls loads what is in registers while generated code runs, emitExitCalls stores it.
func (e *Engine) emitEnterCalls() {
	if e.calls != nil && e.spare {
		e.vload(vecFrame, stFrame)
		e.vload(vecFrameSize, stepAt(frameSize))
	}
	switch {
	case e.calls == nil || !e.calls.inRegisters || e.mmx:
	case e.calls.lanes:
		e.vloadWide(vecTotal, stTotals)
	default:
		e.vload(vecTotal, stTotals)
		for n := 1; n < vecNumbers; n++ {
			e.vload(vecOne+vec(n), stepAt(n+1))
		}
	}
}

func (e *Engine) emitExitCalls() {
	if e.calls != nil && e.spare {
		e.vstoreLow(stFrame, vecFrame)
	}
	switch {
	case e.calls == nil || !e.calls.inRegisters || e.mmx:
	case e.calls.lanes:
		e.vstoreWide(stTotals, vecTotal)
	default:
		e.vstoreLow(stTotals, vecTotal)
	}
}

// loadFrame loads the address of the innermost frame, storeFrame makes it what is in r.
func (e *Engine) loadFrame(r x86.Reg) {
	if e.mmx {
		e.movqFrom(r, mmFrame)
		return
	}
	if e.spare {
		e.vmovqFrom(r, vecFrame)
		return
	}
	e.load(r, stFrame)
}

func (e *Engine) storeFrame(r x86.Reg) {
	if e.mmx {
		e.movqTo(mmFrame, r)
		return
	}
	if e.spare {
		e.vmovqTo(vecFrame, r)
		return
	}
	e.store(stFrame, r)
}

// emitPushFrame makes room for a frame, whose address it leaves in r.
func (e *Engine) emitPushFrame(r x86.Reg) {
	if e.mmx {
		e.emitAddStep(mmFrame, frameSize)
		e.loadFrame(r)
		return
	}
	if e.spare {
		e.vpaddqVector(vecFrame, vecFrame, vecFrameSize)
		e.loadFrame(r)
		return
	}
	e.load(r, stFrame)
	e.lea(r, r, frameSize)
	e.store(stFrame, r)
}

// emitStepBack makes the frame below that at r, which is lost, the innermost one.
func (e *Engine) emitStepBack(r x86.Reg) {
	if e.mmx {
		e.emitAddStep(mmFrame, -frameSize)
		return
	}
	if e.spare {
		e.vpsubqVector(vecFrame, vecFrame, vecFrameSize)
		return
	}
	e.lea(r, r, -frameSize)
	e.store(stFrame, r)
}

// sumsLast reports whether what a block counts is added to the totals where it is left: in front of its last
// instruction, or at a side exit. An addition to a vector register needs neither flags nor another register, and may
// stand anywhere. An addition to memory goes with the block's counter, and side exits take off what was not executed.
func (e *Engine) sumsLast() bool { return e.calls != nil && e.calls.inRegisters }

// summed reports whether the totals have the instructions of block t when instruction i stops; entered says whether its
// entry is counted.
func (e *Engine) summed(t *tb, i int, entered bool) bool {
	if e.sumsLast() {
		return i == t.insnCount()-1
	}
	return entered
}

// emitLastSums adds what the block counts to the totals, if that is due in front of instruction i.
func (e *Engine) emitLastSums(i int) {
	if e.sumsLast() && i == len(e.block)-1 {
		defer e.emitFor(e.emitFor(forCounts))
		e.setSums(int(e.t.counter), 0, len(e.block), 1)
		e.emitSums(int(e.t.counter), x86.NoReg)
	}
}

// emitSums adds to the totals what one count of a counter stands for. It overwrites r, or the flags if r is NoReg.
func (e *Engine) emitSums(counter int, r x86.Reg) {
	if e.calls == nil || e.counting != emu.CountAll {
		return
	}
	k := e.calls
	if k.sums.counter != counter {
		panic(fmt.Sprintf("BUG: what counter %d adds to the totals is not known", counter))
	}
	if k.lanes {
		e.emitLaneSums()
	}
	for _, s := range k.sums.list {
		at := k.totalAt(s.column, counter%k.parts)
		switch {
		case k.registers != nil && k.registers[s.column] != inMemory:
			e.emitSumMMX(k.registers[s.column], int(s.n))
		case k.registers != nil:
			e.emitAddWordMMX(at, int(s.n))
		case k.lanes && s.column < staticLanes:
		case k.inRegisters && !k.lanes:
			if s.n < -maxStep || s.n > maxStep {
				panic(fmt.Sprintf("BUG: a block of %d instructions", s.n))
			}
			e.emitVectorSum(int(s.n))
		case r == x86.NoReg:
			e.addMem(at, int16(s.n))
		default:
			e.addMemBy(at, int16(s.n), r)
		}
	}
}

// emitVectorSum adds n to the total.
func (e *Engine) emitVectorSum(n int) {
	switch {
	case n > 0 && n <= vecNumbers:
		e.vpaddqVector(vecTotal, vecTotal, vecOne+vec(n-1))
	case n < 0 && n >= -vecNumbers:
		e.vpsubqVector(vecTotal, vecTotal, vecOne+vec(-n-1))
	default:
		e.vpaddq(vecTotal, vecTotal, stepAt(n))
	}
}

// emitLaneSums adds what is in lanes of the register: numbers of 16 bits.
func (e *Engine) emitLaneSums() {
	var words [staticLanes]uint16
	any := false
	for _, s := range e.calls.sums.list {
		if s.column < staticLanes {
			if s.n != int32(int16(s.n)) {
				panic(fmt.Sprintf("BUG: a block that counts %d of an event", s.n))
			}
			words[s.column], any = uint16(s.n), true
		}
	}
	if !any {
		return
	}
	constant := e.newCounter(0)
	e.newCounter(0)
	for half := range 2 {
		w := words[4*half:]
		e.set(counterOff+8*(constant+half), uint64(w[0])|uint64(w[1])<<16|uint64(w[2])<<32|uint64(w[3])<<48)
	}
	e.vpmovsxwq(vecScratch, counterOff+8*constant)
	e.vpaddqWideVector(vecTotal, vecTotal, vecScratch)
}

// emitAddIterations adds the iterations in RDX of a REP instruction to the total of instructions. It loses RCX.
func (e *Engine) emitAddIterations() {
	switch k := e.calls; {
	case k == nil || e.counting != emu.CountAll:
	case k.registers != nil:
		e.movqTo(mmScratch, x86.RDX)
		e.mmReg(opPADDQ, k.registers[k.columns[emu.Ir]], mmScratch)
	case k.lanes:
		e.vmovqTo(vecScratch, x86.RDX)
		e.vpaddqWideVector(vecTotal, vecTotal, vecScratch)
	case k.inRegisters:
		e.vmovqTo(vecScratch, x86.RDX)
		e.vpaddqVector(vecTotal, vecTotal, vecScratch)
	default:
		e.addFrom(k.totalAt(k.columns[emu.Ir], 0), x86.RDX)
	}
}

// total returns the offset of the total of an event, -1 if there is none.
func (e *Engine) total(ev emu.Event) int {
	if e.calls == nil || e.counting != emu.CountAll || e.calls.columns[ev] < 0 {
		return -1
	}
	return stTotals + 8*e.calls.columns[ev]
}

// emitHappened adds 1 to the total of an event. It changes the flags.
func (e *Engine) emitHappened(ev emu.Event) {
	if off := e.total(ev); off >= 0 {
		e.incMem(off)
	}
}

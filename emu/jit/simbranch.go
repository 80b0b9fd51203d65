//go:build linux && amd64

package jit

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/x86"
	"github.com/cgemu/cgemu/hooks"
)

// predicts reports whether branches are simulated.
func (e *Engine) predicts() bool { return e.sim.branches && e.counting != emu.CountOff }

// outcomes are those of the block's conditional branches that the history in the state block does not
// have yet: each of them would wait for the store of the one before. A history in a register has all.
type outcomes struct {
	n    uint8 // how many
	bits uint8 // the last seven, the last one in bit 0
}

func (o outcomes) with(taken bool) outcomes {
	return outcomes{n: min(o.n+1, historyBits), bits: (o.bits<<1 | uint8(b2i(taken))) &^ (1 << historyBits)}
}

// after returns a history, doubled as stHistory is, with the outcomes added.
func (o outcomes) after(history uint64) uint64 {
	return uint64(uint8(history<<o.n | uint64(o.bits)<<1))
}

// While generated code runs the history is in maskHistory, if there are mask registers that the guest does not have,
// and maskTaken has stTakenBit; or in mmHistory (mmx.go).
const (
	maskHistory opmask = 7
	maskTaken   opmask = 6
)

// historyInRegister reports whether it is in one of them.
func (e *Engine) historyInRegister() bool { return e.sim.masks || e.historyInMMX() }

// emitAfter loads the history with the outcomes added into r. It changes the flags.
func (e *Engine) emitAfter(r x86.Reg, o outcomes) {
	switch {
	case e.sim.masks:
		e.kmovFrom(r, maskHistory)
		return
	case e.historyInMMX():
		e.movqFrom(r, mmHistory)
		return
	case o.n == historyBits:
		e.movImm(r, uint64(o.bits)<<1)
		return
	}
	e.load(r, stHistory)
	if o.n > 0 {
		e.shiftLeft(r, o.n)
		if o.bits != 0 {
			e.aluImm32(aluOR, r, int32(o.bits)<<1)
		}
		e.lowByte(r)
	}
}

// emitOutcome adds an outcome to the history in a register, and leaves the flags alone.
func (e *Engine) emitOutcome(taken bool) {
	if e.historyInMMX() {
		e.mmReg(opPADDB, mmHistory, mmHistory)
		if taken {
			e.emitAddConstant(mmHistory, stTakenBit)
		}
		return
	}
	e.kadd(maskHistory, maskHistory, maskHistory)
	if taken {
		e.kor(maskHistory, maskHistory, maskTaken)
	}
}

// emitLockedBranch simulates the branch that instruction i has if it is locked (hooks.LockedBranch), behind it: when it
// faults there is none. Those that Go executes are simulated there.
func (e *Engine) emitLockedBranch(i int) {
	g := &e.block[i]
	if !e.predicts() || g.Kind.Ends() || !hooks.LockedBranch(&g.Inst) {
		return
	}
	e.giveFlags()
	e.emitPredict(g, false, e.newEventCounter(i, emu.Bcm, false), e.outcomes, true, e.flagsLive(i+1), e.unused())
	e.noteOutcome(false)
}

// noteOutcome notes the outcome of a branch behind which the block goes on.
func (e *Engine) noteOutcome(taken bool) {
	if !e.historyInRegister() {
		e.outcomes = e.outcomes.with(taken)
	}
}

// emitHistory brings the history up to date in front of instruction i.
func (e *Engine) emitHistory(i int) {
	if e.outcomes.n == 0 {
		return
	}
	e.spillFlags(i)
	r := e.scratch(i, 0)
	e.emitAfter(r, e.outcomes)
	e.store(stHistory, r)
	e.outcomes = outcomes{}
	if i < len(e.block) { // what instruction i does finds it made
		e.placed[i].outcomes = outcomes{}
	}
}

// emitPredict simulates the outcome of the conditional branch g, which follows those in o, and counts in
// the counter at own if it was mispredicted. stays says that the block goes on and will bring the history
// up to date. live says that the flags may be read behind it. Registers in spilled are free.
func (e *Engine) emitPredict(g *ginsn, taken bool, own int, o outcomes, stays, live bool, spilled uint16) {
	defer e.emitFor(e.emitFor(forBranches))
	r := x86.RCX
	free := spilled &^ (1 << x86.RAX)
	if free != 0 {
		r = lowest(free)
	} else {
		e.store(slotTmp2, r)
	}
	keep := live && spilled>>x86.RAX&1 == 0
	if keep {
		e.store(slotTmp, x86.RAX)
	}
	if live {
		e.saveFlags()
	}
	entry := e.abs(e.sim.condEntry(g.PC))
	e.emitAfter(r, o)
	e.cmpByteImm(r, entry, byte(3*b2i(taken)))
	site := e.jcc(condNE, 0)
	back := e.pos
	switch {
	case e.historyInRegister():
		e.emitOutcome(taken)
	case !stays:
		e.leaIndex(r, r, r, 1, 2*int8(b2i(taken)))
		e.lowByte(r)
		e.store(stHistory, r)
	}
	if live {
		e.restoreFlags()
	}
	if keep {
		e.load(x86.RAX, slotTmp)
	}
	if free == 0 {
		e.load(r, slotTmp2)
	}
	e.swap()
	defer e.swap()
	e.link(site, e.pos)
	// It was wrong if the counter favours the other outcome. The host could not predict which it does, so that is no
	// branch.
	for _, counter := range [2]int{own, e.total(emu.Bcm)} {
		if counter >= 0 {
			e.cmpByteImm(r, entry, 2)
			e.countCarry(counter, !taken)
		}
	}
	e.stepByte(r, entry, !taken)
	e.jmp(back)
}

// emitTarget simulates the indirect branch of instruction i to the address in regTarget.
func (e *Engine) emitTarget(i int) {
	if !e.predicts() || !e.block[i].effects.Indirect {
		return
	}
	defer e.emitFor(e.emitFor(forBranches))
	entry := e.sim.ind + 8*int(e.block[i].PC%indEntries)
	e.store(slotTmp, x86.RAX)
	e.saveFlags()
	e.aluAbs(aluCMP, regTarget, x86.NoReg, 1, e.abs(entry))
	site := e.jcc(condNE, 0)
	back := e.pos
	e.restoreFlags()
	e.load(x86.RAX, slotTmp)
	e.swap()
	defer e.swap()
	e.link(site, e.pos)
	e.store(entry, regTarget)
	e.incMem(e.newEventCounter(i, emu.Bim, false))
	e.emitHappened(emu.Bim)
	e.jmp(back)
}

// emitKnownTarget simulates that of instruction i if it leads to an address that is known.
func (e *Engine) emitKnownTarget(i int, to emu.Addr) {
	if !e.predicts() {
		return
	}
	defer e.emitFor(e.emitFor(forBranches))
	entry := e.sim.ind + 8*int(e.block[i].PC%indEntries)
	live := e.flagsAtTarget(to)&flagsDead == 0
	if live {
		e.store(slotTmp, x86.RAX)
		e.saveFlags()
	}
	e.cmpAbsImm(e.abs(entry), int32(to))
	site := e.jcc(condNE, 0)
	back := e.pos
	if live {
		e.restoreFlags()
		e.load(x86.RAX, slotTmp)
	}
	e.swap()
	defer e.swap()
	e.link(site, e.pos)
	e.storeImm32(entry, uint32(to))
	e.storeImm32(entry+4, 0)
	e.incMem(e.newEventCounter(i, emu.Bim, false))
	e.emitHappened(emu.Bim)
	if arc := e.entryArc(i); arc != 0 && e.total(emu.Bim) >= 0 {
		e.incMem(arc + 8*(e.calls.Out()+e.calls.columns[emu.Bim]))
	}
	e.jmp(back)
}

// emitTaken counts a taken branch of instruction i, if that is an event.
func (e *Engine) emitTaken(i int) {
	if e.counting != emu.CountOff && e.Events.Has(emu.Taken) {
		e.store(slotCount, x86.R11)
		e.addMemBy(e.newEventCounter(i, emu.Taken, false), 1, x86.R11)
		if e.calls != nil && e.counting == emu.CountAll {
			e.addMemBy(stTotals+8*e.calls.columns[emu.Taken], 1, x86.R11)
		}
		e.load(x86.R11, slotCount)
	}
}

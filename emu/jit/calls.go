//go:build linux && amd64

package jit

import (
	"math"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/callgraph"
	"github.com/cgemu/cgemu/emu/x86"
)

// Generated code records calls itself: a CALL pushes a frame, its return site pops it, jumps to the beginning of another function push one and
// entries of procedure linkage tables change the one that their caller pushed. Go does it wherever a frame is not where that is simple, and
// whenever an arc comes up for the first time. Both work on the same frames, sums and totals, those of a callgraph.Recorder.
//
// The totals are in the state block: a block adds to them what its instructions count beside its counter. The innermost frame's host address is in
// stFrame.

// A calls is what an engine has to record calls.
type calls struct {
	*callgraph.Recorder
	// columns has the total of each event, -1 for those that are not counted.
	columns [emu.NumEvents]int
	// frames is the memory of all frames.
	frames frameMemory
	// sums has what a count of each counter adds to the totals.
	sums [][]columnSum
	// vectors says that the innermost frame's address is in a vector register while generated code runs, inVector that the one total there is is,
	// too; parts are how many parts totals have.
	vectors, inVector bool
	parts             int
	// The arena offsets of routines.
	unwind, lookup, cross, crossIndirect, crossed int
}

// A columnSum is how much a count of a counter adds to a total.
type columnSum struct {
	column int
	n      int32
}

// frameSize is the size of a callgraph.Frame.
const frameSize = 16

// newCalls gives e what it needs to record calls.
func (e *Engine) newCalls() error {
	k := &calls{Recorder: callgraph.New(e.Events|e.Others, e.Function, e.mem.SameMapping)}
	for ev := range k.columns {
		k.columns[ev] = k.Column(emu.Event(ev))
	}
	e.calls = k
	if err := k.frames.reserve(); err != nil {
		return err
	}
	k.Frames = k.frames.slice()
	k.Totals = e.arena.words(stTotals, len(k.Totals))
	k.vectors, k.parts = e.hostAVX512 && !e.wide, 1
	if len(k.Totals) == 1 {
		if k.inVector = k.vectors; !k.inVector {
			k.parts = totalParts
		}
	}
	e.prepareSteps()
	k.Sums, k.Base = e.arena.words(sumsOff, sumsSize/8)[:0], e.hostAddr(sumsOff)
	return nil
}

// Calls returns what records the engine's calls, nil if nothing does.
func (e *Engine) Calls() *callgraph.Recorder {
	if e.calls == nil {
		return nil
	}
	return e.calls.Recorder
}

// takeFrames tells the recorder which frames generated code has left, giveFrames tells generated code of the recorder's.
func (e *Engine) takeFrames() {
	k := e.calls
	k.Frames = k.Frames[:(e.get(stFrame)-k.frames.base)/frameSize+1]
	e.joinTotals()
}

func (e *Engine) giveFrames() {
	k := e.calls
	e.set(stFrame, k.frames.base+uint64(frameSize*(len(k.Frames)-1)))
}

// beginCalls is called when c's thread is about to run.
func (e *Engine) beginCalls(c *emu.CPU) {
	if e.calls != nil {
		e.calls.Begin(c)
		e.set(stCounts, uint64(b2i(e.counting == emu.CountAll)))
		if e.calls.inVector {
			e.set(stTotals+8, e.get(stCounts))
		}
		e.set(stStackLo, 0) // mappings may have changed
		e.set(stStackHi, 0)
	}
}

// fullOfArcs reports whether there might be no room for the arcs of another block.
func (e *Engine) fullOfArcs() bool {
	return e.calls != nil && 8*(len(e.calls.Sums)+2*maxBlock*e.calls.Width()) > sumsSize
}

// told tells the recorder, by one of its methods, that the guest went from site to target.
func (e *Engine) told(tell func(site, target, rsp emu.Addr, counts bool), site, target emu.Addr) {
	rsp := emu.Addr(e.get(stRegs + 8*emu.RSP))
	tell(site, target, rsp, e.counting == emu.CountAll)
	if v := e.mem.VMA(rsp); v != nil {
		e.set(stStackLo, uint64(v.Lo))
		e.set(stStackHi, uint64(v.Hi))
	}
}

// wentOn tells it that the guest went from site to target by a direct jump, or without one.
func (e *Engine) wentOn(site, target emu.Addr) {
	if e.calls != nil {
		e.calls.Jump(site, target, e.counting == emu.CountAll)
	}
}

// looked tells the recorder of a lookup of target by a jump or return that generated code has left to Go. The frame of a CALL is there.
func (e *Engine) looked(target emu.Addr) {
	if e.calls == nil {
		return
	}
	switch uint32(e.get(stFrom)) {
	case fromCall:
	case fromReturn:
		e.returned(target)
	default:
		if site := e.origin(); !e.calls.Same(site, target) {
			e.told(e.calls.Flow, site, target)
			e.keepArc(uint64(target), e.get(stOrigin), e.calls.Arc(site, target))
		}
	}
}

// returned tells it of a return to target which its return site did not expect.
func (e *Engine) returned(target emu.Addr) {
	if e.calls != nil {
		e.told(e.calls.Return, e.origin(), target)
	}
}

// origin returns the address of the jump or return that set stOrigin last.
func (e *Engine) origin() emu.Addr {
	x := e.exitAt(int(uint32(e.get(stOrigin))))
	return x.t.addr(int(x.insn))
}

// newArc finds the arc of the indirect call that x leaves in front of. The exit cache names has the number of x, too.
func (e *Engine) newArc(x *exit) {
	target := e.get(stRegs + 8*int(regTarget))
	arc := e.calls.Arc(x.rip, emu.Addr(target))
	e.set(counterOff+8*int(x.cache), target)
	e.set(counterOff+8*int(x.cache)+8, arc)
	e.keepArc(target, e.get(stExit), arc)
}

// keepArc has later lookups find the arc from the place that an exit knows to target.
func (e *Engine) keepArc(target, origin, arc uint64) {
	origin = uint64(uint32(origin))
	at := arcsOff + arcSlot*int(uint16(target>>4+origin<<5))
	e.set(at, target)
	e.set(at+8, origin)
	e.set(at+16, arc)
}

// arcSlot is the size of an entry of the table of arcs: target, number of an exit, arc.
const arcSlot = 32

// add adds n of an event to the totals.
func (k *calls) add(ev emu.Event, n int64) {
	if c := k.columns[ev]; c >= 0 {
		k.Totals[c] += uint64(n)
	}
}

// setSums says that a count of a counter counts what the block's instructions from from on count, sign times.
func (e *Engine) setSums(counter, from int, sign int64) {
	if e.calls == nil || e.counting != emu.CountAll {
		return
	}
	sums := make([]int64, len(e.calls.Totals))
	for i := from; i < len(e.block); i++ {
		for _, p := range e.plans[e.planOf(&e.block[i])] {
			if c := e.calls.columns[p.event]; c >= 0 {
				sums[c] += sign * p.times
			}
		}
	}
	e.addSums(counter, sums)
}

func (e *Engine) addSums(counter int, sums []int64) {
	k := e.calls
	for len(k.sums) <= counter {
		k.sums = append(k.sums, nil)
	}
	k.sums[counter] = k.sums[counter][:0]
	for c, n := range sums {
		if n != 0 {
			k.sums[counter] = append(k.sums[counter], columnSum{c, int32(n)})
		}
	}
}

// missTotal returns the column of an event of misses, behind which that of the last level comes, 0 if it has none: of Cachegrind's events it
// is one of the first eight.
func (e *Engine) missTotal(ev emu.Event) int32 {
	if e.calls == nil || e.counting != emu.CountAll {
		return 0
	}
	c := e.calls.columns[ev]
	if c < 0 {
		return 0
	}
	if c > 7 || e.calls.columns[ev+1] != c+1 {
		panic("BUG: events of misses are not the first columns")
	}
	return int32(c)
}

// crosses reports whether the way to target leads into another function than that of the block being translated.
func (e *Engine) crosses(target emu.Addr) bool {
	return e.calls != nil && !e.calls.Same(e.t.pc, target)
}

// parts reports whether a block that begins at pc may not have the instruction at a, which another function has.
func (e *Engine) parts(pc, a emu.Addr) bool { return e.calls != nil && !e.calls.Same(pc, a) }

// arc returns the arena offset of the sums of an arc.
func (e *Engine) arc(site, target emu.Addr) int {
	return sumsOff + int(e.calls.Arc(site, target)-e.calls.Base)
}

// A row is where generated code finds what Sums has of an arc: behind an arena offset, or behind the address in a register.
type row struct {
	base x86.Reg // NoReg for none
	off  int
}

func (e *Engine) loadRow(r x86.Reg, at row, word int) {
	if at.base == x86.NoReg {
		e.load(r, at.off+8*word)
	} else {
		e.loadAt(r, at.base, int32(8*word))
	}
}

func (e *Engine) storeRow(at row, word int, r x86.Reg) {
	if at.base == x86.NoReg {
		e.store(at.off+8*word, r)
	} else {
		e.storeAt(at.base, int32(8*word), r)
	}
}

// emitEntered counts a call of an arc, and adds the totals to those when it was entered; emitLeft does so for those when it was left. Both lose r1 and
// r2, if the total is not in a register, and leave the flags alone.
func (e *Engine) emitEntered(at row, r1, r2 x86.Reg) {
	if e.calls.inVector {
		e.emitAddVector(at, callgraph.In)
		return
	}
	if e.counting == emu.CountAll {
		e.loadRow(r1, at, e.calls.Recorder.Calls())
		e.lea(r1, r1, 1)
		e.storeRow(at, e.calls.Recorder.Calls(), r1)
	}
	e.emitTotals(at, callgraph.In, r1, r2)
}

func (e *Engine) emitLeft(at row, r1, r2 x86.Reg) {
	if e.calls.inVector {
		e.emitAddVector(at, e.calls.Out())
		return
	}
	e.emitTotals(at, e.calls.Out(), r1, r2)
}

func (e *Engine) emitTotals(at row, word int, r1, r2 x86.Reg) {
	for c := range e.calls.Totals {
		e.loadRow(r1, at, word+c)
		for part := range e.calls.parts {
			e.load(r2, e.calls.totalAt(c, part))
			e.leaIndex(r1, r1, r2, 1, 0)
		}
		e.storeRow(at, word+c, r1)
	}
}

// emitCallFrame pushes the frame of the direct call of instruction i, behind its push of the return address. It loses regBias.
func (e *Engine) emitCallFrame(i int) {
	g := &e.block[i]
	arc := e.arc(g.PC, g.Dest())
	if e.calls.inVector {
		e.emitEntered(row{x86.NoReg, arc}, x86.NoReg, x86.NoReg)
		e.emitPushFrame(regBias)
		e.emitVectorFrame(e.pendingRSP+8, e.hostAddr(arc))
		return
	}
	e.store(slotB, regTable)
	e.emitEntered(row{x86.NoReg, arc}, regTable, regBias)
	e.emitPushFrame(regBias)
	e.leaRIP(regTable, arc)
	e.storeAt(regBias, 8, regTable)
	e.lea(regTable, x86.RSP, e.pendingRSP+8)
	e.storeAt(regBias, 0, regTable)
	e.load(regTable, slotB)
}

// emitIndirectFrame does so for an indirect call, whose target is in regTarget. It loses regTable.
func (e *Engine) emitIndirectFrame(i int) {
	cache := e.newCounter(0)
	e.newCounter(0)
	e.set(counterOff+8*cache, 0)
	retry := e.pos
	e.store(slotA, x86.RCX)
	e.store(slotB, x86.RDX)
	e.load(x86.RCX, counterOff+8*cache)
	e.load(x86.RDX, counterOff+8*cache+8)
	e.not(x86.RCX)
	e.leaIndex(x86.RCX, x86.RCX, regTarget, 1, 1)
	known := e.short(opJRCXZ)
	site := e.jmp(0)
	e.patchShort(known)
	found := e.pos
	e.emitEntered(row{base: x86.RDX}, x86.RCX, regTable)
	e.emitPushFrame(x86.RCX)
	e.storeAt(x86.RCX, 8, x86.RDX)
	e.lea(regTable, x86.RSP, e.pendingRSP+8)
	e.storeAt(x86.RCX, 0, regTable)
	e.load(x86.RCX, slotA)
	e.load(x86.RDX, slotB)
	e.storeImm32(stFrom, fromCall)

	e.swap()
	defer e.swap()
	e.link(site, e.pos)
	x, number := e.newExit()
	*x = exit{kind: exitArc, rip: e.block[i].PC, t: e.t, insn: int16(i), resume: int32(retry), cache: int32(cache)}
	e.storeImm32(stOrigin, uint32(number))
	failed := e.emitRoutine(e.calls.lookup, func() {
		e.movRR(x86.RDX, regTable)
		e.store(counterOff+8*cache, regTarget)
		e.store(counterOff+8*cache+8, x86.RDX)
		e.jmp(found)
	})
	e.link(failed, e.pos)
	e.giveSaved()
	e.load(x86.RCX, slotA)
	e.load(x86.RDX, slotB)
	e.storeImm32(stExit, uint32(number))
	e.jmp(e.stubs.exit)
}

// emitRoutine goes to a routine, which may lose the flags, and on with success, the flags as before. It returns the site of a jump for the case that the
// routine failed: giveSaved gives RAX and the flags back there. RCX is lost.
func (e *Engine) emitRoutine(routine int, success func()) (failed int) {
	e.store(slotTmp2, x86.RAX)
	e.saveFlags()
	e.store(slotTmp, x86.RAX)
	e.leaRIP(x86.RCX, e.pos+7+7+5)
	e.store(stBack, x86.RCX)
	e.jmp(routine)
	failed = e.jcc(condB, 0)
	e.giveSaved()
	success()
	return failed
}

func (e *Engine) giveSaved() {
	e.load(x86.RAX, slotTmp)
	e.restoreFlags()
	e.load(x86.RAX, slotTmp2)
}

// emitOrigin notes for Go where a jump or return of instruction i comes from.
func (e *Engine) emitOrigin(i int) {
	x, number := e.newExit()
	x.t, x.insn = e.t, int16(i)
	e.storeImm32(stOrigin, uint32(number))
}

// emitJumpOrigin does what is due for the indirect jump of instruction i, whose target is in regTarget. It loses regTable.
func (e *Engine) emitJumpOrigin(i int) {
	if e.calls.Passes(e.block[i].PC) {
		e.emitPass(i)
		return
	}
	e.emitOrigin(i)
	e.storeImm32(stFrom, e.calls.Number(e.t.pc))
}

// emitPass makes the frame of what only passes one of the function to which it leads.
func (e *Engine) emitPass(i int) {
	e.store(slotA, x86.RCX)
	e.store(slotB, x86.RDX)
	e.loadFrame(x86.RDX)
	e.loadAt(x86.RCX, x86.RDX, 0)
	e.not(x86.RCX)
	e.leaIndex(x86.RCX, x86.RSP, x86.RCX, 1, 10) // 1 or, of a jump's frame, 0
	e.movImm(regTable, 1)
	e.byte(0xc4, 0xe2, 0xab, 0xf7, 0xc9) // shrx rcx, rcx, r10
	here := e.short(opJRCXZ)
	elsewhere := e.jmp(0)
	e.patchShort(here)
	e.loadAt(x86.RDX, x86.RDX, 8)
	e.loadAt(x86.RCX, x86.RDX, 8*callgraph.Pass)
	e.not(x86.RCX)
	e.leaIndex(x86.RCX, x86.RCX, regTarget, 1, 1)
	known := e.short(opJRCXZ)
	e.link(elsewhere, e.pos)
	e.load(x86.RCX, slotA)
	e.load(x86.RDX, slotB)
	site := e.jmp(0)
	e.patchShort(known)
	e.emitLeft(row{base: x86.RDX}, x86.RCX, regTable)
	e.loadAt(x86.RDX, x86.RDX, 8*callgraph.PassTo)
	e.emitEntered(row{base: x86.RDX}, x86.RCX, regTable)
	e.loadFrame(x86.RCX)
	e.storeAt(x86.RCX, 8, x86.RDX)
	e.load(x86.RCX, slotA)
	e.load(x86.RDX, slotB)
	e.emitExit(site, exit{kind: exitPass, rip: e.block[i].PC, t: e.t, insn: int16(i), resume: int32(e.pos)})
	e.storeImm32(stFrom, fromCall)
}

// emitReceived is what an entry for lookups has: a block that another function jumped to does not go on before that is recorded.
func (e *Engine) emitReceived(pc emu.Addr) {
	e.store(slotA, x86.RCX)
	e.byte(0x8b) // mov ecx, [stFrom]
	e.rip(x86.RCX, stFrom, 0)
	called := e.short(opJRCXZ)
	e.lea(x86.RCX, x86.RCX, -int32(e.calls.Number(pc)))
	same := e.short(opJRCXZ)
	e.leaRIP(x86.RCX, e.pos+7+7+5)
	e.store(stBehind, x86.RCX)
	e.jmp(e.calls.crossed)
	e.patchShort(called)
	e.patchShort(same)
	e.load(x86.RCX, slotA)
}

// emitRecordedReturn is a return site with the frame of its call: RSP is behind the return address, and regBias waits in stSavedBias.
func (e *Engine) emitRecordedReturn(ret emu.Addr) {
	dead := ret <= math.MaxInt32 && e.flagsAtTarget(ret)&flagsDead != 0
	var astray, other int
	if dead {
		e.byte(prefixGS, 0x48, 0x81, 0x7c, 0x24, 0xf8) // cmp qword gs:[rsp-8], ret
		e.u32(uint32(ret))
		astray = e.jcc(condNE, 0)
		e.loadFrame(regBias)
		e.aluAt(aluCMP, x86.RSP, regBias, 0)
		other = e.jcc(condNE, 0)
	} else {
		e.store(slotA, x86.RCX)
		e.loadGuest(x86.RCX, x86.RSP, -8)
		e.movImm(regBias, -uint64(ret))
		e.leaIndex(x86.RCX, x86.RCX, regBias, 1, 0)
		match := e.short(opJRCXZ)
		e.load(x86.RCX, slotA)
		astray = e.jmp(0)
		e.patchShort(match)
		e.loadFrame(regBias)
		e.loadAt(x86.RCX, regBias, 0)
		e.not(x86.RCX)
		e.leaIndex(x86.RCX, x86.RSP, x86.RCX, 1, 1)
		mine := e.short(opJRCXZ)
		e.load(x86.RCX, slotA)
		other = e.jmp(0)
		e.patchShort(mine)
		e.load(x86.RCX, slotA)
	}
	e.emitPopFrame(dead)
	done := e.pos
	e.load(regBias, stSavedBias)
	e.emitJump(ret)
	e.returns = append(e.returns, recordedReturn{astray: astray, other: other, done: done, dead: dead})
}

// emitPopFrame pops the frame at regBias, which it loses, and the flags if it may.
func (e *Engine) emitPopFrame(dead bool) {
	switch {
	case e.calls.inVector:
		e.loadAt(regBias, regBias, 8)
		e.emitStep(-frameSize)
		e.emitAddVector(row{base: regBias}, e.calls.Out())
	case dead:
		e.store(slotB, regTable)
		e.loadAt(regTable, regBias, 8)
		e.emitStepBack(regBias)
		e.emitAddTotals(regTable, e.calls.Out(), regBias)
		e.load(regTable, slotB)
	default:
		e.store(slotB, regTable)
		e.store(slotTmp, x86.RDX)
		e.loadAt(regTable, regBias, 8)
		e.emitStepBack(regBias)
		e.emitLeft(row{base: regTable}, regBias, x86.RDX)
		e.load(x86.RDX, slotTmp)
		e.load(regTable, slotB)
	}
}

// A recordedReturn is a return site whose cold part is to be emitted: astray is the jump for a return address that is another, other that for
// a frame that is, done where the frame has been popped.
type recordedReturn struct {
	astray, other, done int
	dead                bool
}

// emitReturnsDue emits the cold parts of return sites.
func (e *Engine) emitReturnsDue() {
	for _, r := range e.returns {
		e.link(r.other, e.pos)
		if !r.dead {
			e.store(slotTmp2, x86.RAX)
			e.saveFlags()
		}
		e.leaRIP(regBias, e.pos+7+7+5)
		e.store(stBack, regBias)
		e.jmp(e.calls.unwind)
		failed := e.jcc(condB, 0)
		give := func() {
			if !r.dead {
				e.restoreFlags()
				e.load(x86.RAX, slotTmp2)
			}
		}
		give()
		e.jmp(r.done)
		e.link(failed, e.pos)
		give()
		e.link(r.astray, e.pos)
		e.load(regBias, stSavedBias)
		e.jmp(e.stubs.mismatch)
	}
}

// emitCallRoutines emits what blocks share to record calls.
func (e *Engine) emitCallRoutines() {
	k := e.calls
	// unwind pops the frames of jumps and that of the call to whose return site RSP has come, if these are the innermost ones: carry says that
	// they are not. It goes to where stBack says, and loses regBias and the flags.
	k.unwind = e.pos
	e.loadFrame(regBias)
	e.lea(x86.RSP, x86.RSP, callgraph.Jumped)
	e.aluAt(aluCMP, x86.RSP, regBias, 0)
	e.lea(x86.RSP, x86.RSP, -callgraph.Jumped)
	last := e.jcc(condNE, 0)
	e.emitPopFrame(true)
	e.jmp(k.unwind)
	e.link(last, e.pos)
	e.aluAt(aluCMP, x86.RSP, regBias, 0)
	other := e.jcc(condNE, 0)
	e.emitPopFrame(true)
	e.emitBack(true)
	e.link(other, e.pos)
	e.emitBack(false)

	e.emitLookupRoutine()
	e.emitCrossRoutine()
	e.emitCrossedRoutine()
	e.stubs.end = e.pos
}

// emitLookupRoutine generates the routine lookup, which loads into regTable the arc from the place that stOrigin knows to regTarget. Carry says that it
// does not know it. It goes to where stBack says, and loses RCX, RDX and the flags.
func (e *Engine) emitLookupRoutine() {
	e.calls.lookup = e.pos
	e.byte(0x8b) // mov edx, [stOrigin]
	e.rip(x86.RDX, stOrigin, 0)
	e.movRR(x86.RCX, x86.RDX)
	e.shiftLeft(x86.RCX, 5)
	e.movRR(regTable, regTarget)
	e.shiftRight(regTable, 4)
	e.aluRR(aluADD, x86.RCX, regTable)
	e.byte(0x0f, 0xb7, 0xc9) // movzx ecx, cx
	e.shiftLeft(x86.RCX, log2(arcSlot))
	e.leaRIP(regTable, arcsOff)
	e.aluRR(aluADD, x86.RCX, regTable)
	e.aluAt(aluCMP, regTarget, x86.RCX, 0)
	other := e.jcc(condNE, 0)
	e.aluAt(aluCMP, x86.RDX, x86.RCX, 8)
	another := e.jcc(condNE, 0)
	e.loadAt(regTable, x86.RCX, 16)
	e.emitBack(true)
	e.link(other, e.pos)
	e.link(another, e.pos)
	e.emitBack(false)
}

// emitBack goes to where stBack says; carry says that a routine failed.
func (e *Engine) emitBack(succeeded bool) {
	e.byte(0xf9-byte(b2i(succeeded)), 0xff) // stc or clc; jmp [stBack]
	e.rip(4, stBack, 0)
}

// emitCrossRoutine generates the routines cross and, for indirect jumps, crossIndirect, which record a jump by the arc in regTable, as Recorder.Jump and Flow do. Carry says that they cannot. They go to where
// stBack says, and lose RAX, RCX, RDX and the flags.
func (e *Engine) emitCrossRoutine() {
	// An indirect jump may have moved RSP: Go unwinds, and knows other stacks.
	e.calls.crossIndirect = e.pos
	var far []int
	e.loadFrame(x86.RDX)
	e.loadAt(x86.RCX, x86.RDX, 0)
	e.lea(x86.RCX, x86.RCX, -8)
	e.aluRR(aluCMP, x86.RSP, x86.RCX)
	far = append(far, e.jcc(condA, 0))
	for _, r := range [2]x86.Reg{x86.RSP, x86.RCX} {
		e.byte(rexW(r, 0), aluCMP<<3|3) // cmp r, [stStackLo]
		e.rip(r, stStackLo, 0)
		far = append(far, e.jcc(condB, 0))
		e.byte(rexW(r, 0), aluCMP<<3|3)
		e.rip(r, stStackHi, 0)
		far = append(far, e.jcc(condAE, 0))
	}
	e.calls.cross = e.pos
	e.loadFrame(x86.RDX)
	e.loadAt(x86.RCX, regTable, 8*callgraph.Function)
	next := e.pos
	e.byte(0xf6, 0x02, callgraph.Jumped) // test byte [rdx], 1
	push := e.jcc(condE, 0)
	e.byte(0x48, 0x83, 0x3a, 0xff) // cmp qword [rdx], -1
	first := e.jcc(condE, 0)
	e.lea(x86.RDX, x86.RDX, -frameSize)
	e.loadAt(x86.RAX, x86.RDX, 8)
	e.aluAt(aluCMP, x86.RCX, x86.RAX, 8*callgraph.Function)
	e.jcc(condNE, next)

	pop := e.pos
	e.loadFrame(x86.RCX)
	e.aluRR(aluCMP, x86.RCX, x86.RDX)
	popped := e.jcc(condE, 0)
	e.loadAt(x86.RAX, x86.RCX, 8)
	e.emitStepBack(x86.RCX)
	e.emitAddTotals(x86.RAX, e.calls.Out(), x86.RCX)
	e.jmp(pop)
	e.link(popped, e.pos)
	e.loadAt(x86.RCX, regTable, 8*callgraph.Begins)
	e.load(x86.RDX, stCounts)
	e.aluRR(aluAND, x86.RCX, x86.RDX)
	e.addAt(regTable, int32(8*e.calls.Recorder.Calls()), x86.RCX)
	e.emitBack(true)

	e.link(push, e.pos)
	e.loadFrame(x86.RDX)
	e.loadAt(x86.RCX, x86.RDX, 0)
	e.aluImm(aluOR, x86.RCX, callgraph.Jumped)
	e.lea(x86.RDX, x86.RDX, frameSize)
	e.storeAt(x86.RDX, 0, x86.RCX)
	e.storeAt(x86.RDX, 8, regTable)
	e.storeFrame(x86.RDX)
	if !e.calls.inVector {
		e.load(x86.RCX, stCounts)
		e.addAt(regTable, int32(8*e.calls.Recorder.Calls()), x86.RCX)
	}
	e.emitAddTotals(regTable, callgraph.In, x86.RCX)
	e.emitBack(true)

	for _, site := range append(far, first) {
		e.link(site, e.pos)
	}
	e.emitBack(false)
}

// emitAddTotals adds the totals to those from a word of a row on. It loses scratch and the flags.
func (e *Engine) emitAddTotals(base x86.Reg, word int, scratch x86.Reg) {
	if e.calls.inVector {
		e.emitAddVector(row{base: base}, word)
		return
	}
	for c := range e.calls.Totals {
		for part := range e.calls.parts {
			e.load(scratch, e.calls.totalAt(c, part))
			e.addAt(base, int32(8*(word+c)), scratch)
		}
	}
}

// emitCrossedRoutine generates the routine crossed: an entry for lookups found that its block was jumped to from another function. It goes to where
// stBehind says, or leaves to Go.
func (e *Engine) emitCrossedRoutine() {
	e.calls.crossed = e.pos
	e.store(slotB, x86.RDX)
	e.byte(0x8b) // mov ecx, [stFrom]
	e.rip(x86.RCX, stFrom, 0)
	e.lea(x86.RCX, x86.RCX, 1)
	e.byte(0x89, 0xc9) // mov ecx, ecx
	returned := e.short(opJRCXZ)
	on := e.jmp(0)
	e.patchShort(returned)
	returning := e.jmp(0)
	e.link(on, e.pos)
	unknown := e.emitRoutine(e.calls.lookup, func() {})
	first := e.emitRoutine(e.calls.crossIndirect, func() {
		e.load(x86.RDX, slotB)
		e.byte(0xff) // jmp [stBehind]
		e.rip(4, stBehind, 0)
	})
	e.link(unknown, e.pos)
	e.link(first, e.pos)
	e.giveSaved()
	e.link(returning, e.pos)
	e.load(x86.RCX, slotA)
	e.load(x86.RDX, slotB)
	e.store(stRIP, regTarget)
	e.load(regTarget, slotTarget)
	e.load(regTable, slotTable)
	e.storeImm32(stExit, exitCrossing)
	e.jmp(e.stubs.exit)
}

// emitCross goes to target in another function, from the instruction being translated. Where it begins there, and the frame is that of a call, a frame is pushed for the
// jump at once; otherwise a routine does what is due, or Go.
func (e *Engine) emitCross(target emu.Addr) {
	from := &e.block[e.insn]
	x := exit{kind: exitCrossed, rip: target, t: e.t, insn: int16(e.insn)}
	if e.calls.Passes(from.PC) {
		e.emitExit(e.jmp(0), x)
		return
	}
	arc := e.arc(from.PC, target)
	e.store(slotA, x86.RCX)
	e.store(slotB, x86.RDX)
	e.store(slotC, regTable)
	if e.calls.Begins(target) {
		e.emitJumpFrame(arc, target)
	}
	e.leaRIP(regTable, arc)
	gone := 0
	failed := e.emitRoutine(e.calls.cross, func() {
		e.emitGiveCrossed()
		gone = e.jmp(0)
	})
	e.link(failed, e.pos)
	e.giveSaved()
	e.emitGiveCrossed()
	e.emitExit(e.jmp(0), x)
	e.emitLink(gone, target)
}

func (e *Engine) emitGiveCrossed() {
	e.load(x86.RCX, slotA)
	e.load(x86.RDX, slotB)
	e.load(regTable, slotC)
}

// emitJumpFrame pushes the frame of a jump by an arc, unless the innermost frame is that of a jump itself.
func (e *Engine) emitJumpFrame(arc int, target emu.Addr) {
	e.loadFrame(x86.RDX)
	e.loadAt(regTable, x86.RDX, 0)
	e.movImm(x86.RCX, 63)
	e.byte(0xc4, 0xc2, 0xf1, 0xf7, 0xca) // shlx rcx, r10, rcx
	called := e.short(opJRCXZ)
	other := e.jmp(0)
	e.patchShort(called)
	e.lea(regTable, regTable, callgraph.Jumped)
	e.storeAt(x86.RDX, frameSize, regTable)
	e.leaRIP(x86.RCX, arc)
	e.storeAt(x86.RDX, frameSize+8, x86.RCX)
	e.lea(x86.RDX, x86.RDX, frameSize)
	e.storeFrame(x86.RDX)
	e.emitEntered(row{x86.NoReg, arc}, x86.RCX, x86.RDX)
	e.emitGiveCrossed()
	e.emitLink(e.jmp(0), target)
	e.link(other, e.pos)
}

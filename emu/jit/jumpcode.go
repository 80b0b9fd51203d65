//go:build linux && amd64

package jit

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/callgraph"
	"github.com/cgemu/cgemu/emu/x86"
)

// The code that records jumps to another function, which are calls in a call graph: see calls.go. A jump pushes a
// frame, or goes back to one.

// emitJumpedTo is where a jump from another function comes to an entry for lookups of function number, with RCX, which
// has what emitFrom loads, in slotA. If the jump is the last one's again, and a tail call, it pushes the frame itself,
// and goes on behind. Otherwise a routine does what is due.
func (e *Engine) emitJumpedTo(cache int, number uint32, behind int) {
	e.load(regTable, counterOff+8*cache)
	e.leaIndex(x86.RCX, x86.RCX, regTable, 1, 0)
	known := e.short(opJRCXZ)
	e.not(regTable)
	e.leaIndex(x86.RCX, x86.RCX, regTable, 1, 1)
	routine := e.pos
	e.store(stFrom, x86.RCX)
	e.leaRIP(x86.RCX, behind)
	e.store(stBehind, x86.RCX)
	e.leaRIP(regTable, counterOff+8*cache)
	e.jmp(e.calls.crossed)

	e.patchShort(known)
	e.emitUnlessTailCall(number, func() {
		e.load(x86.RCX, counterOff+8*cache)
		e.not(x86.RCX)
		e.lea(x86.RCX, x86.RCX, 1)
		e.jmp(routine)
	})
	e.emitPushTailCall(row{base: x86.RCX}, func() { e.load(x86.RCX, counterOff+8*cache+8) })
	e.jmp(behind)
}

// emitPushTailCall pushes the frame of a tail call by the arc at a row, whose address loadArc loads into RCX, and
// counts it. It loses RCX and regTable, and regTarget if totals are in memory.
func (e *Engine) emitPushTailCall(at row, loadArc func()) {
	e.emitPushFrame(regTable)
	e.lea(x86.RCX, x86.RSP, 8+callgraph.Jumped)
	e.storeAt(regTable, 0, x86.RCX) // if that faults at an entry for lookups, regTarget says where
	loadArc()
	e.storeAt(regTable, 8, x86.RCX)
	e.emitEntered(at, true, regTable, regTarget)
}

// emitUnlessTailCall emits otherwise, which leads elsewhere, for an indirect jump into function number that is no tail
// call, or one that goes back: a tail call comes with RSP at the return address of the innermost call, and if those
// that were active since, by a tail call each, are the target's function, it goes back to that. RCX and regTable are
// lost.
func (e *Engine) emitUnlessTailCall(number uint32, otherwise func()) {
	e.loadFrame(regTable)
	first := e.emitFrameOfCall()
	e.lea(x86.RCX, x86.RCX, callgraph.Jumped)
	jumped := e.short(opJRCXZ)
	other := []int{e.short(opShortJ)}
	e.patchShort(jumped)
	e.lea(x86.RCX, x86.RSP, 8+callgraph.Jumped+1)
	other = append(other, e.short(opJRCXZ)) // that was a stack's first frame, which has none below it
	below := e.pos
	e.lea(regTable, regTable, -frameSize)
	e.loadAt(x86.RCX, regTable, 8)
	e.loadAt(x86.RCX, x86.RCX, 8*callgraph.Function)
	e.lea(x86.RCX, x86.RCX, -int32(number))
	other = append(other, e.short(opJRCXZ))
	last := e.emitFrameOfCall()
	e.lea(x86.RCX, x86.RCX, callgraph.Jumped)
	e.shortBack(opJRCXZ, below)
	other = append(other, e.short(opShortJ))
	e.patchShort(first)
	e.patchShort(last)
	e.movImm(x86.RCX, 63)
	e.byte(0xc4, 0xe2, 0xf1, 0xf7, 0xcc) // shlx rcx, rsp, rcx
	even := e.short(opJRCXZ)             // frames at odd places look like those of jumps
	for _, site := range other {
		e.patchShort(site)
	}
	otherwise()
	e.patchShort(even)
}

// emitFrameOfCall emits a short jump for the case that the frame at regTable is that of the call whose
// return address is on top of the stack. RCX is lost; it is -Jumped for the frame of a jump in place of that.
func (e *Engine) emitFrameOfCall() (site int) {
	e.loadAt(x86.RCX, regTable, 0)
	e.not(x86.RCX)
	e.leaIndex(x86.RCX, x86.RSP, x86.RCX, 1, 8+1)
	return e.short(opJRCXZ)
}

// emitCrossRoutine generates the routines cross and, for indirect jumps, crossIndirect, which record a jump by the arc
// in regTable, as Recorder.Jump and Flow do. Carry says that they cannot. They go to where stBack says, and lose RAX,
// RCX, RDX and the flags.
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
	if !e.calls.inRegisters {
		e.load(x86.RCX, stCounts)
		e.addAt(regTable, int32(8*e.calls.Recorder.Calls()), x86.RCX)
	}
	e.emitAddTotals(regTable, e.calls.In(), x86.RCX)
	e.emitBack(true)

	for _, site := range append(far, first) {
		e.link(site, e.pos)
	}
	e.emitBack(false)
}

// emitCrossedRoutine generates the routine crossed: an entry for lookups found that its block was jumped to from
// another function. It puts the arc into the two words at regTable, and goes to where stBehind says, or leaves to Go.
// So does called, for an indirect call.
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
	failed := e.emitFindCaller()
	failed = append(failed, e.emitGoTo(e.calls.crossIndirect))
	e.emitBehind()

	e.calls.called = e.pos
	e.store(slotB, x86.RDX)
	failed = append(failed, e.emitFindCaller()...)
	e.emitBehind()

	for _, site := range failed {
		e.link(site, e.pos)
	}
	e.restoreRAXAndFlags()
	e.link(returning, e.pos)
	e.load(x86.RCX, slotA)
	e.load(x86.RDX, slotB)
	e.store(stRIP, regTarget)
	e.load(regTarget, slotTarget)
	e.load(regTable, slotTable)
	e.storeImm32(stExit, exitCrossing)
	e.jmp(e.stubs.exit)
}

// emitFindCaller saves RAX and the flags, loads into regTable the arc from the place that stFrom knows to regTarget,
// and puts both into the two words at regTable. It returns the sites of jumps for the case that the arc is not kept.
// RCX and RDX are lost.
func (e *Engine) emitFindCaller() (unknown []int) {
	e.store(slotC, regTable)
	e.saveRAXAndFlags()
	unknown = e.emitFindArc()
	e.load(x86.RCX, slotC)
	e.load(x86.RDX, stFrom)
	e.not(x86.RDX)
	e.lea(x86.RDX, x86.RDX, 1)
	e.storeAt(x86.RCX, 0, x86.RDX)
	e.storeAt(x86.RCX, 8, regTable)
	return unknown
}

// emitBehind gives back what emitFindCaller's code has saved, and RDX from slotB, and goes to where stBehind says.
func (e *Engine) emitBehind() {
	e.restoreRAXAndFlags()
	e.load(x86.RDX, slotB)
	e.byte(0xff) // jmp [stBehind]
	e.rip(4, stBehind, 0)
}

// emitCross goes to target in another function, from the instruction being translated. Where the frame is that of a
// call, one is pushed for the jump at once, and where it is that of a jump from the target's function, to its middle,
// that is popped; otherwise a routine does what is due, or Go.
func (e *Engine) emitCross(target emu.Addr) {
	from := &e.block[e.insn]
	x := exit{kind: exitCrossed, rip: target, t: e.t, insn: int16(e.insn)}
	if e.calls.Passes(from.PC) {
		e.emitExit(e.jmp(0), x)
		return
	}
	arc := e.arc(from.PC, target)
	if e.calls.inRegisters && e.flagsAtTarget(target)&flagsDead != 0 {
		other := e.emitTailCall(arc, target)
		e.link(other, e.pos)
		e.store(slotB, x86.RDX)
		e.store(slotC, regTable)
		e.loadFrame(x86.RDX)
		e.loadAt(regTable, x86.RDX, 0)
	} else {
		e.store(slotA, x86.RCX)
		e.store(slotB, x86.RDX)
		e.store(slotC, regTable)
		e.emitJumpFrame(arc, target)
	}
	for _, site := range e.emitJumpBack(arc, target) {
		e.link(site, e.pos)
	}
	e.leaRIP(regTable, arc)
	failed := e.emitRoutine(e.calls.cross, func() {
		e.emitGiveCrossed()
		e.emitLink(target)
	})
	e.link(failed, e.pos)
	e.restoreRAXAndFlags()
	e.emitGiveCrossed()
	e.emitExit(e.jmp(0), x)
}

func (e *Engine) emitGiveCrossed() {
	e.load(x86.RCX, slotA)
	e.load(x86.RDX, slotB)
	e.load(regTable, slotC)
}

// emitTailCall pushes the frame of a jump by an arc, unless the innermost frame is that of a jump itself, and goes to
// target, where the flags are not looked at. It returns the site of a jump for the case that it is, with RCX in slotA.
func (e *Engine) emitTailCall(arc int, target emu.Addr) (other int) {
	e.store(slotA, x86.RCX)
	e.loadFrame(x86.RCX)
	e.byte(0xf6, 0x01, callgraph.Jumped) // test byte [rcx], 1
	other = e.jcc(condNE, 0)
	e.emitFrameBehind(arc)
	e.emitAddRegisters(row{x86.NoReg, arc}, e.calls.In())
	e.load(x86.RCX, slotA)
	e.emitLink(target)
	return other
}

// emitJumpFrame pushes the frame of a jump by an arc, unless the innermost frame is that of a jump itself. Then it goes
// on, with that frame's address in RDX and its SP in regTable.
func (e *Engine) emitJumpFrame(arc int, target emu.Addr) {
	e.loadFrame(x86.RDX)
	e.loadAt(regTable, x86.RDX, 0)
	e.movImm(x86.RCX, 63)
	e.byte(0xc4, 0xc2, 0xf1, 0xf7, 0xca) // shlx rcx, r10, rcx
	called := e.short(opJRCXZ)
	other := e.jmp(0)
	e.patchShort(called)
	e.lea(regTable, regTable, callgraph.Jumped)
	e.emitPushJump(arc, target)
	e.link(other, e.pos)
}

// emitPushJump pushes the frame of a jump by an arc, with the SP in regTable, behind the frame at RDX, and goes to
// target.
func (e *Engine) emitPushJump(arc int, target emu.Addr) {
	e.storeAt(x86.RDX, frameSize, regTable)
	e.leaRIP(x86.RCX, arc)
	e.storeAt(x86.RDX, frameSize+8, x86.RCX)
	e.lea(x86.RDX, x86.RDX, frameSize)
	e.storeFrame(x86.RDX)
	e.emitEntered(row{x86.NoReg, arc}, true, x86.RCX, x86.RDX)
	e.emitGiveCrossed()
	e.emitLink(target)
}

// emitJumpBack does what is due where emitJumpFrame gives up. If the frame below is that of target's function, in whose
// middle target is, it pops the innermost one; if it is another function's, and that of a call, it pushes one. It
// returns the sites of jumps for the case that neither is so.
func (e *Engine) emitJumpBack(arc int, target emu.Addr) (other []int) {
	giveUp := func() { other = append(other, e.jmp(0)) }
	e.lea(x86.RCX, regTable, 1) // 0 for the first frame of a stack
	first := e.short(opJRCXZ)
	second := e.short(opShortJ)
	e.patchShort(first)
	giveUp()
	e.patchShort(second)
	e.loadAt(x86.RCX, x86.RDX, 8-frameSize)
	e.loadAt(x86.RCX, x86.RCX, 8*callgraph.Function)
	e.lea(x86.RCX, x86.RCX, -int32(e.calls.Number(target)))
	back := e.short(opJRCXZ)
	on := e.jmp(0)
	e.patchShort(back)
	if e.calls.Begins(target) {
		giveUp()
	} else {
		e.loadAt(regTable, x86.RDX, 8)
		e.emitStepBack(x86.RDX)
		e.emitLeft(row{base: regTable}, x86.RCX, x86.RDX)
		e.emitGiveCrossed()
		e.emitLink(target)
	}
	e.link(on, e.pos)
	e.store(slotTmp, x86.RAX)
	e.loadAt(x86.RAX, x86.RDX, -frameSize)
	e.movImm(x86.RCX, 63)
	e.byte(0xc4, 0xe2, 0xf1, 0xf7, 0xc8) // shlx rcx, rax, rcx
	e.load(x86.RAX, slotTmp)
	called := e.short(opJRCXZ)
	giveUp()
	e.patchShort(called)
	e.emitPushJump(arc, target)
	return other
}

//go:build linux && amd64

package jit

import (
	"fmt"
	"math"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/callgraph"
	"github.com/cgemu/cgemu/emu/x86"
)

// The code that records calls: see calls.go. It leaves guest registers and flags alone but for those that its caller
// has saved.

// A row is where generated code finds what Sums has of an arc: behind an arena offset, or behind the address in a
// register.
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

// emitEntered counts a call of an arc, if counts is set, and adds the totals to those when it was entered; emitLeft
// does so for those when it was left. Both lose r1 and r2, if the total is not in a register, and leave the flags
// alone.
func (e *Engine) emitEntered(at row, counts bool, r1, r2 x86.Reg) {
	switch {
	case e.calls.registers != nil:
		e.emitAddMMX(at, e.calls.In(), counts)
		return
	case e.calls.inRegisters:
		e.emitAddRegisters(at, e.calls.In())
		return
	}
	if counts && e.counting == emu.CountAll {
		e.loadRow(r1, at, e.calls.Recorder.Calls())
		e.lea(r1, r1, 1)
		e.storeRow(at, e.calls.Recorder.Calls(), r1)
	}
	e.emitTotals(at, e.calls.In(), r1, r2)
}

func (e *Engine) emitLeft(at row, r1, r2 x86.Reg) {
	if e.calls.inRegisters {
		e.emitAddRegisters(at, e.calls.Out())
		return
	}
	e.emitTotals(at, e.calls.Out(), r1, r2)
}

func (e *Engine) emitTotals(at row, word int, r1, r2 x86.Reg) {
	for c := range e.calls.Totals {
		if c == e.calls.callsColumn() {
			continue
		}
		e.loadRow(r1, at, word+c)
		for part := range e.calls.parts {
			e.load(r2, e.calls.totalAt(c, part))
			e.leaIndex(r1, r1, r2, 1, 0)
		}
		e.storeRow(at, word+c, r1)
	}
}

// emitCallFrame pushes the frame of a call by an arc, behind the push of the return address, and counts the call if
// counts is set. It loses regBias.
func (e *Engine) emitCallFrame(arc int, counts bool) {
	if e.calls.inRegisters {
		e.emitEntered(row{x86.NoReg, arc}, counts, x86.NoReg, x86.NoReg)
		e.emitPushFrame(regBias)
		e.emitFrame(e.pendingRSP+8, e.hostAddr(arc))
		return
	}
	e.store(slotB, regTable)
	e.emitEntered(row{x86.NoReg, arc}, counts, regTable, regBias)
	e.emitPushFrame(regBias)
	e.leaRIP(regTable, arc)
	e.storeAt(regBias, 8, regTable)
	e.lea(regTable, x86.RSP, e.pendingRSP+8)
	e.storeAt(regBias, 0, regTable)
	e.load(regTable, slotB)
}

// emitCountJump counts the indirect jump of instruction i, whose target is in regTarget, if such jumps are recorded. It
// loses regTable.
func (e *Engine) emitCountJump(i int) {
	pc := e.block[i].PC
	if !e.Jumps || e.counting != emu.CountAll || e.calls.Passes(pc) {
		return
	}
	cache := e.newCounter(0)
	e.newCounter(0)
	// It begins with an arc, since any address may be jumped to: 0, too.
	e.set(counterOff+8*cache, uint64(pc))
	e.set(counterOff+8*cache+8, e.calls.JumpArc(pc, pc))
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
	again := e.pos
	at := row{base: x86.RDX}
	e.loadRow(x86.RCX, at, e.calls.Recorder.Calls())
	e.lea(x86.RCX, x86.RCX, 1)
	e.storeRow(at, e.calls.Recorder.Calls(), x86.RCX)
	e.load(x86.RCX, slotA)
	e.load(x86.RDX, slotB)

	e.swap()
	defer e.swap()
	e.link(site, e.pos)
	x, number := e.newExit()
	*x = exit{kind: exitJumpArc, rip: pc, t: e.t, insn: int16(i), first: int32(retry), second: int32(cache), flags: regsAway}
	failed := e.emitCachedArc(uint32(number))
	e.loadAt(x86.RDX, regTable, 16)
	e.store(counterOff+8*cache, regTarget)
	e.store(counterOff+8*cache+8, x86.RDX)
	e.jmp(again)
	for _, site := range failed {
		e.link(site, e.pos)
	}
	e.load(x86.RCX, slotA)
	e.load(x86.RDX, slotB)
	e.storeImm32(stExit, uint32(number))
	e.jmp(e.stubs.exit)
}

// emitCachedArc loads into regTable where cacheArc has put the arc from origin to regTarget. It returns the sites of
// jumps for the case that it has not. RCX is lost, flags are not.
func (e *Engine) emitCachedArc(origin uint32) (failed []int) {
	e.byte(0x42, 0x8d, 0x0c, 0x5d) // lea ecx, [r11*2+origin*64]
	e.u32(origin << 6)
	e.byte(0x0f, 0xb7, 0xc9)                               // movzx ecx, cx
	e.byte(0xc4, 0xe3, 0x7b, 0xf0, 0xc9, 32-log2(arcSlot)) // rorx ecx, ecx, 27
	e.leaRIP(regTable, arcsOff)
	e.leaIndex(regTable, regTable, x86.RCX, 1, 0)
	first := e.emitCachedIn(origin)
	e.lea(regTable, regTable, arcSlot)
	second := e.emitCachedIn(origin)
	failed = append(failed, e.jmp(0))
	e.patchShort(first)
	e.patchShort(second)
	return failed
}

// emitCachedIn looks whether the slot at regTable has the arc from origin to regTarget, and returns a short jump for
// the case that it has. RCX is lost.
func (e *Engine) emitCachedIn(origin uint32) (found int) {
	e.loadAt(x86.RCX, regTable, 0)
	e.not(x86.RCX)
	e.leaIndex(x86.RCX, x86.RCX, regTarget, 1, 1)
	target := e.short(opJRCXZ)
	other := e.short(opShortJ)
	e.patchShort(target)
	e.loadAt(x86.RCX, regTable, 8)
	e.lea(x86.RCX, x86.RCX, -int32(origin))
	found = e.short(opJRCXZ)
	e.patchShort(other)
	return found
}

// emitRoutine goes to a routine, which may lose the flags, and on with success, the flags as before. It returns the
// site of a jump for the case that the routine failed: restoreRAXAndFlags is due there. RCX is lost.
func (e *Engine) emitRoutine(routine int, success func()) (failed int) {
	e.saveRAXAndFlags()
	failed = e.emitGoTo(routine)
	e.restoreRAXAndFlags()
	success()
	return failed
}

// emitGoTo goes to a routine, with RAX and the flags saved. It returns the site of a jump for the case that the routine
// failed. RCX is lost.
func (e *Engine) emitGoTo(routine int) (failed int) {
	e.leaRIP(x86.RCX, e.pos+7+7+5)
	e.store(stBack, x86.RCX)
	e.jmp(routine)
	return e.jcc(condB, 0)
}

// saveRAXAndFlags saves RAX and the flags, restoreRAXAndFlags gives them back.
func (e *Engine) saveRAXAndFlags() {
	e.store(slotTmp2, x86.RAX)
	e.saveFlags()
	e.store(slotTmp, x86.RAX)
}

func (e *Engine) restoreRAXAndFlags() {
	e.load(x86.RAX, slotTmp)
	e.restoreFlags()
	e.load(x86.RAX, slotTmp2)
}

// newOrigin returns the number of an exit that knows that a jump or return comes from instruction i.
func (e *Engine) newOrigin(i int) uint32 {
	x, number := e.newExit()
	x.t, x.insn = e.t, int16(i)
	return uint32(number)
}

// lookupFrom returns what emitLookup is told of a lookup by instruction i: the origin, in the upper half, and who looks
// up, the number of a function or what stands for one.
func (e *Engine) lookupFrom(i int, who uint32) uint64 {
	return uint64(e.newOrigin(i))<<32 | uint64(who)
}

// emitJumpOrigin does what is due for the indirect jump of instruction i, whose target is in regTarget, and says what
// emitLookup is to be told. It loses regTable.
func (e *Engine) emitJumpOrigin(i int) (from uint64) {
	e.emitCountJump(i)
	if e.calls.Passes(e.block[i].PC) {
		e.emitPass(i)
		return fromCall
	}
	if e.calls.Resumes(e.block[i].PC) {
		return e.lookupFrom(i, fromReturn)
	}
	return e.lookupFrom(i, e.calls.Number(e.t.pc))
}

// emitFrom loads into RCX what lookupFrom says, if emitReceived asks for it there, with RCX in slotA.
func (e *Engine) emitFrom(from uint64) {
	if e.calls != nil && from != fromCall {
		e.store(slotA, x86.RCX)
		e.movImm(x86.RCX, from)
	}
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
	e.emitEntered(row{base: x86.RDX}, true, x86.RCX, regTable)
	e.loadFrame(x86.RCX)
	e.storeAt(x86.RCX, 8, x86.RDX)
	e.load(x86.RCX, slotA)
	e.load(x86.RDX, slotB)
	e.emitExit(site, exit{kind: exitPass, rip: e.block[i].PC, t: e.t, insn: int16(i), first: int32(e.pos)})
}

// emitReceived is what an entry for lookups begins with. RCX has what emitFrom loads. A block that another function
// jumped to does not go on before that is recorded. Indirect calls come calledAt bytes behind the entry, where their
// frame is pushed, and calls whose frame is there behind all of this, receivedSize bytes on.
func (e *Engine) emitReceived(pc emu.Addr) {
	defer e.emitFor(e.emitFor(forCalls))
	number := e.calls.Number(pc)
	from := e.pos
	e.byte(0x48, 0x8d, 0x89) // lea rcx, [rcx-number]
	e.u32(-number)
	e.byte(0x67)
	same := e.short(opJRCXZ) // jecxz
	other := e.jmp(0)
	if e.pos-from != calledAt {
		panic("BUG: indirect calls do not find where their frame is pushed")
	}
	cache, jumper := e.newCaller(), e.newCaller()
	var unlike, again int
	if e.calls.receivesInline() {
		unlike, again = e.emitCalled(cache)
	} else { // too long for jecxz
		called := e.jmp(0)
		e.swap()
		e.link(called, e.pos)
		unlike, again = e.emitCalled(cache)
		e.jmp(e.far)
		e.swap()
	}
	e.patchShort(same)
	back := e.pos
	e.load(x86.RCX, slotA)
	if e.pos-from != e.calls.receivedSize() {
		panic(fmt.Sprintf("BUG: calls do not find the way behind the check of jumps, %d bytes", e.pos-from))
	}

	e.swap()
	defer e.swap()
	e.link(other, e.pos)
	e.byte(0x48, 0x8d, 0x89) // lea rcx, [rcx+number]
	e.u32(number)
	e.emitJumpedTo(jumper, number, back)

	e.link(unlike, e.pos)
	e.not(regTable)
	e.leaIndex(x86.RCX, x86.RCX, regTable, 1, 1)
	e.store(stFrom, x86.RCX)
	e.leaRIP(x86.RCX, again)
	e.store(stBehind, x86.RCX)
	e.leaRIP(regTable, counterOff+8*cache)
	e.jmp(e.calls.called)
}

// calledAt is where the part for calls begins in the code that emitReceived emits, and receivedSize where that ends.
const calledAt = 7 + 3 + 5

func (k *calls) receivedSize() int {
	called := 5 // a jump
	switch {
	case !k.receivesInline():
	case k.registers != nil:
		called = 75
	case k.lanes:
		called = 88
	default:
		called = 64
	}
	return calledAt + called + 7
}

// receivesInline reports whether what emitCalled emits is short enough for a short jump over it.
func (k *calls) receivesInline() bool {
	return k.inRegisters && (k.registers == nil || len(k.Events) == 1)
}

// emitCalled pushes the frame of an indirect call that comes to an entry for lookups, with RCX in slotA. Whatever is
// called has, from the counter cache on, two words: from which call the last one came, negative, and the arc of that;
// most functions are called from one place, also by a place that calls a hundred. unlike is the site of a jump for a
// call from elsewhere, with what was found in regTable, and again where it goes on once the arc is there.
func (e *Engine) emitCalled(cache int) (unlike, again int) {
	e.load(regTable, counterOff+8*cache)
	e.leaIndex(x86.RCX, x86.RCX, regTable, 1, 0)
	known := e.short(opJRCXZ)
	unlike = e.jmp(0)
	e.patchShort(known)
	again = e.pos
	e.load(regTable, counterOff+8*cache+8)
	e.emitPushFrame(x86.RCX)
	e.storeAt(x86.RCX, 8, regTable) // if that faults, regTarget says where
	e.lea(regTarget, x86.RSP, 8)
	e.storeAt(x86.RCX, 0, regTarget)
	e.emitEntered(row{base: regTable}, true, x86.RCX, regTarget)
	return unlike, again
}

// newCaller makes two words beside the counters in which an entry for lookups has who came last, negative, and the arc
// of that.
func (e *Engine) newCaller() int {
	first := e.newCounter(0)
	e.newCounter(0)
	e.calls.callers = append(e.calls.callers, first)
	return first
}

// emitMissFrom is what the code for a missed lookup begins with, as emitReceived is what blocks begin with.
func (e *Engine) emitMissFrom() {
	if e.calls == nil {
		return
	}
	from := e.pos
	pad := func(to int) {
		for e.pos-from < to {
			e.byte(0x90)
		}
	}
	e.store(stFrom, x86.RCX)
	jumped := e.short(opShortJ)
	pad(calledAt)
	e.store(stFrom, x86.RCX)
	called := e.short(opShortJ)
	pad(e.calls.receivedSize())
	e.storeImm32(stFrom, fromCall)
	on := e.short(opShortJ)
	e.patchShort(jumped)
	e.patchShort(called)
	e.load(x86.RCX, slotA)
	e.patchShort(on)
}

// emitRecordedReturn is a return site with the frame of its call, which is of an arc, or 0 for any: RSP is behind the
// return address. A frame of another arc is Go's: code may return here that never called, by a return address that lies
// where something else was called, as Erlang's does when it has copied a stack.
func (e *Engine) emitRecordedReturn(ret emu.Addr, arc int) {
	dead := ret <= math.MaxInt32 && e.flagsAtTarget(ret)&flagsDead != 0
	var r recordedReturn
	if dead {
		e.byte(prefixGS, 0x48, 0x81, 0x7c, 0x24, 0xf8) // cmp qword gs:[rsp-8], ret
		e.u32(uint32(ret))
		r.astray = e.jcc(condNE, 0)
		r.again = e.pos
		e.loadFrame(regBias)
		e.aluAt(aluCMP, x86.RSP, regBias, 0)
		r.other = e.jcc(condNE, 0)
		if arc != 0 {
			e.byte(0x41, 0x81, 0x7b, 8) // cmp dword [r11+8], arc
			e.u32(uint32(e.hostAddr(arc)))
			e.jcc(condNE, e.stubs.mismatch)
		}
	} else {
		e.store(slotA, x86.RCX)
		e.loadGuest(x86.RCX, x86.RSP, -8)
		e.movImm(regBias, -uint64(ret))
		e.leaIndex(x86.RCX, x86.RCX, regBias, 1, 0)
		match := e.short(opJRCXZ)
		e.load(x86.RCX, slotA)
		r.astray = e.jmp(0)
		e.patchShort(match)
		r.again, r.keeps = e.pos, true
		e.loadFrame(regBias)
		e.loadAt(x86.RCX, regBias, 0)
		e.not(x86.RCX)
		e.leaIndex(x86.RCX, x86.RSP, x86.RCX, 1, 1)
		mine := e.short(opJRCXZ)
		e.load(x86.RCX, slotA)
		r.other = e.jmp(0)
		e.patchShort(mine)
		if arc != 0 {
			e.emitCheckArc(arc)
		}
		e.load(x86.RCX, slotA)
	}
	e.emitPopFrame(arc, dead)
	e.emitJump(ret)
	e.returns = append(e.returns, r)
}

// emitCheckArc looks whether the frame at regBias is of an arc, with RCX, which is lost, in slotA. It leaves the flags
// alone.
func (e *Engine) emitCheckArc(arc int) {
	e.loadAt(x86.RCX, regBias, 8)
	e.movImm(regBias, -e.hostAddr(arc))
	e.leaIndex(x86.RCX, x86.RCX, regBias, 1, 0)
	same := e.short(opJRCXZ)
	e.load(x86.RCX, slotA)
	e.jmp(e.stubs.mismatch)
	e.patchShort(same)
	if !e.calls.inRegisters {
		e.loadFrame(regBias)
	}
}

// emitPopFrame pops the frame at regBias, which is of an arc, or 0 for any. It loses regBias, and the flags if it may.
func (e *Engine) emitPopFrame(arc int, dead bool) {
	switch {
	case e.calls.inRegisters && arc != 0:
		e.emitStepBack(x86.NoReg)
		e.emitAddRegisters(row{x86.NoReg, arc}, e.calls.Out())
	case e.calls.inRegisters:
		e.loadAt(regBias, regBias, 8)
		e.emitStepBack(x86.NoReg)
		e.emitAddRegisters(row{base: regBias}, e.calls.Out())
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

// A recordedReturn is a return site whose cold part is to be emitted: astray is the jump for a return address that is
// another, other that for a frame that is; again is where the frame is looked at, with RCX in slotA if keeps is set.
type recordedReturn struct {
	astray, other, again int
	keeps                bool
}

// emitReturnsDue emits the cold parts of return sites. A frame that is not the call's may be that of a jump from there:
// it is popped.
func (e *Engine) emitReturnsDue() {
	for _, r := range e.returns {
		e.link(r.other, e.pos)
		if r.keeps {
			e.leaRIP(regBias, e.pos+7+7+5)
			e.store(stBack, regBias)
			e.jmp(e.calls.unwind)
			e.store(slotA, x86.RCX)
			e.jmp(r.again)
		} else {
			e.store(slotA, x86.RCX)
			e.lea(x86.RCX, x86.RSP, callgraph.Jumped)
			e.aluAt(aluCMP, x86.RCX, regBias, 0)
			e.load(x86.RCX, slotA)
			unlike := e.jcc(condNE, 0)
			e.emitPopFrame(0, true)
			e.jmp(r.again)
			e.link(unlike, e.pos)
		}
		e.link(r.astray, e.pos)
		e.jmp(e.stubs.mismatch)
	}
}

// emitCallRoutines emits what blocks share to record calls.
func (e *Engine) emitCallRoutines() {
	k := e.calls
	// unwind pops the innermost frame, to go to where stBack says, if that is of a jump from the call to whose return
	// site RSP has come. Otherwise the return is left to Go. It loses regBias.
	k.unwind = e.pos
	e.store(slotA, x86.RCX)
	e.loadFrame(regBias)
	e.loadAt(x86.RCX, regBias, 0)
	e.not(x86.RCX)
	e.leaIndex(x86.RCX, x86.RSP, x86.RCX, 1, 1+callgraph.Jumped)
	jumped := e.short(opJRCXZ)
	e.load(x86.RCX, slotA)
	e.jmp(e.stubs.mismatch)
	e.patchShort(jumped)
	e.load(x86.RCX, slotA)
	e.emitPopFrame(0, false)
	e.emitGoBack()

	e.emitCrossRoutine()
	e.emitCrossedRoutine()
	e.stubs.end = e.pos
}

// emitFindArc loads into regTable the arc from the place that stOrigin knows to regTarget. It returns the sites of
// jumps for the case that it is not kept. RCX, RDX and the flags are lost.
func (e *Engine) emitFindArc() (unknown []int) {
	e.byte(0x8b) // mov edx, [stOrigin]
	e.rip(x86.RDX, stOrigin, 0)
	e.movRR(x86.RCX, x86.RDX)
	e.shiftLeft(x86.RCX, 5)
	e.aluRR(aluADD, x86.RCX, regTarget)
	e.shiftLeft(x86.RCX, 1)
	e.byte(0x0f, 0xb7, 0xc9) // movzx ecx, cx
	e.shiftLeft(x86.RCX, log2(arcSlot))
	e.leaRIP(regTable, arcsOff)
	e.aluRR(aluADD, x86.RCX, regTable)
	var other []int
	compare := func() {
		e.aluAt(aluCMP, regTarget, x86.RCX, 0)
		other = append(other, e.jcc(condNE, 0))
		e.aluAt(aluCMP, x86.RDX, x86.RCX, 8)
		other = append(other, e.jcc(condNE, 0))
	}
	compare()
	first := e.short(opShortJ)
	for _, site := range other {
		e.link(site, e.pos)
	}
	other = nil
	e.aluImm(aluADD, x86.RCX, arcSlot)
	compare()
	e.patchShort(first)
	e.loadAt(regTable, x86.RCX, 16)
	return other
}

// emitBack goes to where stBack says; carry says that a routine failed.
func (e *Engine) emitBack(succeeded bool) {
	e.byte(0xf9 - byte(b2i(succeeded))) // stc or clc
	e.emitGoBack()
}

// emitGoBack goes to where stBack says.
func (e *Engine) emitGoBack() {
	e.byte(0xff) // jmp [stBack]
	e.rip(4, stBack, 0)
}

// emitAddTotals adds the totals to those from a word of a row on. It loses scratch and the flags.
func (e *Engine) emitAddTotals(base x86.Reg, word int, scratch x86.Reg) {
	if e.calls.inRegisters {
		e.emitAddRegisters(row{base: base}, word)
		return
	}
	for c := range e.calls.Totals {
		if c == e.calls.callsColumn() {
			continue
		}
		for part := range e.calls.parts {
			e.load(scratch, e.calls.totalAt(c, part))
			e.addAt(base, int32(8*(word+c)), scratch)
		}
	}
}

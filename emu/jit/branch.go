//go:build linux && amd64

package jit

import (
	"math"
	"math/bits"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
	"github.com/cgemu/cgemu/hooks"
)

// emitBranch translates a control transfer.
func (e *Engine) emitBranch(g *ginsn, i int) {
	switch g.Flow {
	case x86.FlowJcc:
		e.emitJcc(g, i)
	case x86.FlowLoop:
		e.emitLoop(g, i)
	case x86.FlowJmp:
		if g.follow {
			return
		}
		if e.budgeted && g.Target < 0 {
			e.emitBudget(i, g.Dest())
		}
		e.emitJump(g.Dest())
	case x86.FlowJmpInd:
		if e.linkage > 0 {
			e.emitLinkedCall(i)
			return
		}
		unbound, done := e.emitLinkage(g, i)
		if done {
			return
		}
		e.emitIndirect(g)
		e.emitTarget(i)
		if unbound {
			e.emitUnbound(i)
			return
		}
		from := uint64(fromCall)
		if e.calls != nil {
			from = e.emitJumpOrigin(i)
		}
		e.emitLookup(from)
	case x86.FlowCall:
		e.emitPushReturn(g.Next())
		if !g.follow { // else the linkage table's jump calls
			e.emitDirectCall(i, g.Dest(), true)
		}
	case x86.FlowCallInd:
		e.emitCallInd(g, i)
	case x86.FlowRet:
		e.emitRet(g, i)
	default:
		panic("BUG: control flow")
	}
}

// emitJcc translates a conditional jump: a side exit if the block goes on, else the
// end of the block.
func (e *Engine) emitJcc(g *ginsn, i int) {
	if !g.follow && !e.crosses(g.Dest()) && !e.predicts() && !e.Events.Has(emu.Taken) && !(e.budgeted && g.Target < 0) {
		e.settleRegs()
		e.emitLinkIf(g.Cond, g.Dest())
		e.emitJump(g.Next())
		return
	}
	c := coldExit{target: g.Dest(), insn: i, side: g.follow, holds: true, spilled: e.spilled, directoryIn: e.directoryIn, unused: e.unused(), outcomes: e.outcomes}
	cond, next := g.Cond, g.Next()
	if g.again {
		c.target, next = next, c.target
		c.holds, cond = false, cond^1
	}
	if e.predicts() {
		c.own = e.newEventCounter(i, emu.Bcm, false)
	}
	c.site = e.jcc(cond, 0)
	e.cold = append(e.cold, c)
	if e.predicts() {
		live := e.flagsLive(i + 1)
		if !g.follow {
			live = e.flagsAtTarget(next)&flagsDead == 0
		}
		taken := hooks.Taken(&g.Inst, !c.holds)
		e.emitPredict(g, taken, c.own, e.outcomes, g.follow, live, e.unused())
		e.noteOutcome(taken)
	}
	if !c.holds {
		e.emitTaken(i)
	}
	if !g.follow {
		e.settleRegs()
		e.emitJump(next)
	}
}

// emitLoop translates LOOP, JRCXZ and the like: the host's jumps over the way to the next
// instruction.
func (e *Engine) emitLoop(g *ginsn, i int) {
	own := 0
	if e.predicts() {
		own = e.newEventCounter(i, emu.Bcm, false)
	}
	if g.Mem.AddrSize == 4 { // ECX counts
		e.byte(0x67)
	}
	// An operand size prefix stays behind: AMD's CPUs would cut RIP to 16 bits.
	e.byte(g.Bytes[g.OpcodeOff], 5)
	on := e.jmp(0)
	for _, taken := range [2]bool{true, false} {
		to := g.Dest()
		if !taken {
			to = g.Next()
			e.link(on, e.pos)
		}
		if e.predicts() {
			e.emitPredict(g, taken, own, outcomes{}, false, e.flagsAtTarget(to)&flagsDead == 0, 0)
		}
		if taken {
			e.emitTaken(i)
		}
		if taken && e.budgeted && g.Target < 0 {
			e.emitBudget(i, to)
		}
		e.emitJump(to)
	}
}

// emitPushReturn pushes a return address on the guest's stack.
func (e *Engine) emitPushReturn(ret emu.Addr) {
	defer e.emitFor(e.emitFor(forCalls))
	if ret <= math.MaxInt32 {
		e.storeGuestImm(x86.RSP, e.pendingRSP-8, int32(ret))
	} else {
		r := lowest(^(e.spilled | 1<<x86.RSP)) // those that are spilled may have something
		e.store(slotA, r)
		from := e.pos
		e.movImm(r, uint64(ret))
		e.storeGuest(x86.RSP, e.pendingRSP-8, r)
		e.load(r, slotA)
		e.saved(from, r, slotA, 0)
	}
	e.pendingRSP -= 8
}

// emitDirectCall calls target from instruction i, behind its push of the return address. always says that all
// executions of i that the block's counter has come here.
func (e *Engine) emitDirectCall(i int, target emu.Addr, always bool) {
	defer e.emitFor(e.emitFor(forCalls))
	from, arc := e.saveBias(), 0
	if e.calls != nil {
		arc = e.arc(e.block[i].PC, target)
		always = always && !e.calls.countsAlong()
		if always && e.counting == emu.CountAll {
			e.t.entered = int32(arc)
		}
		if e.linkage > 0 && e.counting == emu.CountAll {
			e.t.passed = int32(e.arc(e.block[i].PC, e.block[i].Dest()))
		}
		e.emitCallFrame(arc, !always)
		if e.calls.Passes(target) {
			arc = 0 // its frame becomes another's
		}
	}
	site := e.emitCallFrom(from, e.block[i].Next(), arc)
	e.emitCallLink(site, target)
}

// saveBias saves regBias for a CALL on a shadow stack that does not lie near, unless it is away, and returns since
// where it is saved; giveBackBias gives it back where the CALL or a RET has come from there.
func (e *Engine) saveBias() (from int) {
	if !e.near && !e.isAway(regBias) {
		e.store(stSavedBias, regBias)
	}
	return e.pos
}

func (e *Engine) giveBackBias() {
	if !e.near && !e.isAway(regBias) {
		e.load(regBias, stSavedBias)
	}
}

// emitCallFrom executes the host's CALL, with regBias saved since from, and emits the return site. It returns the site
// of the CALL's displacement.
func (e *Engine) emitCallFrom(from int, ret emu.Addr, arc int) (site int) {
	if !e.near {
		site = e.emitShadowCall(regBias)
		e.emitReturnSite(ret, arc)
		e.saved(from, regBias, stSavedBias, 0)
		return site
	}
	site = e.emitShadowCall(x86.NoReg)
	e.emitReturnSite(ret, arc)
	return site
}

// emitShadowCall executes a host CALL on the shadow stack, so that the guest's RET,
// a host RET there, is predicted as natively. bias is a register that is free. It
// returns the site of the CALL's displacement.
func (e *Engine) emitShadowCall(bias x86.Reg) (site int) {
	// The host's CALL itself moves RSP below the return address.
	e.pendingRSP += 8
	e.emitOntoShadow(bias)
	e.padSite(1) // as in padBackwardSite: the callee may lie behind us
	from := e.pos
	site = e.call(0)
	e.saves(from, saved{reg: x86.RSP, kind: onShadow})
	return site
}

// emitReturnSite emits what a RET comes back to behind the host's CALL: it checks that the guest returned to ret, as
// this call would have. arc is that of the call's frame, 0 if only the frame says which it is.
func (e *Engine) emitReturnSite(ret emu.Addr, arc int) {
	e.fetchKnown = false // the callee has fetched
	e.emitOffShadow(regBias)
	if e.calls != nil {
		e.emitRecordedReturn(ret, arc)
		return
	}
	e.giveBackBias()
	if ret <= math.MaxInt32 && e.flagsAtTarget(ret)&flagsDead != 0 {
		e.byte(prefixGS, 0x48, 0x81, 0x7c, 0x24, 0xf8) // cmp qword gs:[rsp-8], ret
		e.u32(uint32(ret))
		e.jcc(condNE, e.stubs.mismatch)
		e.emitJump(ret)
	} else {
		e.emitCheckedReturn(ret)
	}
}

// emitOntoShadow takes the guest's RSP to its place on the shadow stack. Unless that lies near, it loses bias.
func (e *Engine) emitOntoShadow(bias x86.Reg) {
	if e.near {
		e.lea(x86.RSP, x86.RSP, int32(nearBias)+e.pendingRSP)
		e.pendingRSP = 0
		return
	}
	if e.pendingRSP != int32(int8(e.pendingRSP)) {
		e.flushRSP()
	}
	e.load(bias, stShadow)
	e.leaIndex(x86.RSP, x86.RSP, bias, 1, int8(e.pendingRSP))
	e.pendingRSP = 0
}

// emitOffShadow takes RSP from the shadow stack to the guest's. Unless that lies near, bias has the distance, and is
// lost.
func (e *Engine) emitOffShadow(bias x86.Reg) {
	if e.near {
		e.lea(x86.RSP, x86.RSP, int32(-nearBias))
		return
	}
	e.emitOffDistantShadow(bias)
}

// emitOffDistantShadow is emitOffShadow for one that does not lie near.
func (e *assembler) emitOffDistantShadow(bias x86.Reg) {
	e.not(bias)
	e.leaIndex(x86.RSP, x86.RSP, bias, 1, 1)
}

// emitCheckedReturn is the return site's check where the flags may be live.
func (e *Engine) emitCheckedReturn(ret emu.Addr) {
	e.store(slotA, x86.RCX)
	e.store(slotB, x86.RDX)
	e.loadGuest(x86.RCX, x86.RSP, -8)
	e.movImm(x86.RDX, -uint64(ret))
	e.leaIndex(x86.RCX, x86.RCX, x86.RDX, 1, 0)
	e.load(x86.RDX, slotB)
	match := e.short(opJRCXZ)
	e.load(x86.RCX, slotA)
	e.jmp(e.stubs.mismatch)
	e.patchShort(match)
	e.load(x86.RCX, slotA)
	e.emitJump(ret)
}

// emitIndirect loads the target of an indirect jump or call into regTarget, and saves
// it and regTable.
func (e *Engine) emitIndirect(g *ginsn) {
	defer e.emitFor(e.emitFor(forLookups))
	from := e.pos
	if e.spilled>>regTarget&1 == 0 {
		e.store(slotTarget, regTarget)
		from = e.pos
		if e.isAway(regTarget) {
			e.nowSpilled(regTarget)
		}
	}
	switch {
	case g.Kind == guest.CallNoRedir:
		e.movRR(regTarget, x86.RAX)
	case !g.HasMem:
		e.movRR(regTarget, g.Args[0].Reg)
	case needsScratch(g):
		s := pickScratch(g)
		e.store(slotA, s)
		inner := e.pos
		e.opGuest(opMovLoad, regTarget, e.resolve(g, s), true)
		e.load(s, slotA)
		e.saved(inner, s, slotA, 0)
	default:
		e.opGuest(opMovLoad, regTarget, e.resolve(g, x86.NoReg), true)
	}
	e.saved(from, regTarget, slotTarget, 0)
	if e.spilled>>regTable&1 == 0 {
		e.store(slotTable, regTable)
		if e.isAway(regTable) {
			e.nowSpilled(regTable)
		}
	}
	if e.isAway(regDirectory) {
		e.directoryIn = regDirectory // as good as: what is looked up loads it
	}
	e.settleRegs()
}

// emitCallInd translates an indirect call.
func (e *Engine) emitCallInd(g *ginsn, i int) {
	defer e.emitFor(e.emitFor(forLookups))
	if to, ok := e.linkageOf(g); ok {
		e.emitLinkedCallInd(g, i, to)
		return
	}
	e.emitLookupCall(g, i)
}

// emitLookupCall translates one as a lookup of its target.
func (e *Engine) emitLookupCall(g *ginsn, i int) {
	e.emitIndirect(g)
	from := e.pos
	e.emitPushReturn(g.Next())
	// A fault of the shadow stack executes the whole call again.
	site := e.emitShadowCall(regTable)
	e.saved(from, regTarget, slotTarget, 0)
	e.saved(from, regTable, slotTable, 0)
	from = e.pos
	e.emitReturnSite(g.Next(), 0)
	if !e.near {
		e.saved(from, regBias, stSavedBias, 0)
	}
	e.link(site, e.pos)
	e.emitOffShadow(regTable)
	e.emitTarget(i)
	who := uint64(fromCall)
	if e.calls != nil {
		who = e.lookupFrom(i, fromIndirectCall)
	}
	e.emitLookup(who)
}

// emitLookup jumps to the code of the guest address in regTarget, which may be any. from says who does, if calls are
// recorded: see lookupFrom.
func (e *Engine) emitLookup(from uint64) {
	e.mustBeAway()
	defer e.emitFor(e.emitFor(forLookups))
	e.t.from = uint32(from)
	part := 0 // of the entry
	switch {
	case e.calls == nil:
	case e.t.from == fromCall:
		part = e.calls.receivedSize()
	case e.t.from == fromIndirectCall:
		part = calledAt
	}
	if e.directory == 0 {
		e.store(slotA, x86.RCX)
		e.movImm(x86.RCX, uint64(bits.TrailingZeros64(uint64(maxCode))))
		e.byte(0xc4, 0xc2, 0xf3, 0xf7, 0xcb) // shrx rcx, r11, rcx
		inside := e.short(opJRCXZ)
		e.load(x86.RCX, slotA)
		e.emitFrom(from)
		e.jmp(e.stubs.miss + part)
		e.patchShort(inside)
		e.load(x86.RCX, slotA)
	}
	e.emitFrom(from)
	if e.directory != 0 {
		e.byte(0xc4, 0x43, 0xfb, 0xf0, 0xd3, 32) // rorx r10, r11, 32
		e.byte(0x45, 0x89, 0xd2)                 // mov r10d, r10d
		e.t.lookup = int32(e.pos)
		e.byte(0x4e, 0x8b, 0x14, 0xd5) // mov r10, [directory+r10*8]
		e.u32(uint32(e.directory))
	} else {
		e.t.lookup = int32(e.pos)
		e.load(regTable, stJumpTable)
	}
	if part == 0 {
		e.byte(jmpTable...)
		return
	}
	e.byte(0x4f, 0x8b, 0x14, 0xda) // mov r10, [r10+r11*8]
	e.lea(regTable, regTable, int32(part))
	e.byte(0x41, 0xff, 0xe2) // jmp r10
}

// emitRet translates RET, through the shadow stack.
func (e *Engine) emitRet(g *ginsn, i int) {
	e.mustBeAway()
	defer e.emitFor(e.emitFor(forCalls))
	if g.ImmLen > 0 || e.stepping || e.writesTarget(i) || e.returnsFlags(i) {
		e.emitRetPop(int32(uint16(g.Imm)), i)
		return
	}
	if e.calls != nil {
		e.storeImm32(stOrigin, e.newOrigin(i))
	}
	// The guest's stack is read for the fault it may raise.
	from := 0
	switch {
	case e.near && e.inMMX():
		e.byte(prefixGS)
		e.mmAt(opMOVQLoad, mmScratch, x86.RSP, e.pendingRSP)
	case e.near && e.spare:
		e.byte(prefixGS)
		e.vloadLowAt(vecScratch, x86.RSP, e.pendingRSP)
	case e.isAway(regBias):
		e.loadGuest(regBias, x86.RSP, e.pendingRSP)
	default:
		e.store(stSavedBias, regBias)
		from = e.pos
		e.loadGuest(regBias, x86.RSP, e.pendingRSP)
		if e.near {
			e.load(regBias, stSavedBias)
			e.saved(from, regBias, stSavedBias, 0)
		}
	}
	e.emitOntoShadow(regBias)
	onto := e.pos
	e.byte(0xc3)
	if !e.near {
		e.saved(from, regBias, stSavedBias, 0)
	}
	e.saves(onto, saved{reg: x86.RSP, kind: onShadow})
}

// emitRetPop translates a rare RET, which pops n bytes more, and looks its target up. Flags stay.
func (e *Engine) emitRetPop(n int32, i int) {
	e.flushRSP()
	if !e.isAway(regTarget) {
		e.store(slotTarget, regTarget)
	}
	from := e.pos
	e.loadGuest(regTarget, x86.RSP, 0)
	e.saved(from, regTarget, slotTarget, 0)
	if !e.isAway(regTable) {
		e.store(slotTable, regTable)
	}
	e.lea(x86.RSP, x86.RSP, 8+n)
	looks := uint64(fromReturn)
	if e.calls != nil {
		looks = e.lookupFrom(i, fromReturn)
	}
	e.emitLookup(looks)
}

// checked reports whether the budget is checked in front of instruction i. Behind its mark nothing stops an
// instruction: who stopped at the mark would stop there again.
func (e *Engine) checked(i int) bool {
	g := &e.block[i]
	return e.budgeted && (g.Flow == x86.FlowCall || g.Flow == x86.FlowCallInd || g.Flow == x86.FlowJmpInd) && !e.marks[g.PC]
}

// emitBudgetBefore checks the budget in front of instruction i, before anything of it is simulated.
func (e *Engine) emitBudgetBefore(i int) {
	e.settle(i)
	e.emitBudgetCheck(exit{kind: exitBudget, rip: e.block[i].PC, t: e.t, insn: int16(i)}, i)
}

// settle makes all that the guest knows what it is in front of instruction i.
func (e *Engine) settle(i int) {
	e.emitHistory(i)
	e.giveFlags()
	e.settleRegs()
	e.flushRSP()
	e.placed[i].rsp = 0
}

// emitBudget checks the budget at a taken backward jump to target, instruction i.
func (e *Engine) emitBudget(i int, target emu.Addr) {
	x := exit{kind: exitBudget, rip: target}
	if e.crosses(target) {
		x = exit{kind: exitOverdrawn, rip: target, t: e.t, insn: int16(i)}
	}
	e.emitBudgetCheck(x, i)
}

// emitBudgetCheck takes the length of the straight run that ends with instruction i
// off the budget, and leaves by x once it is negative. Registers and flags stay.
func (e *Engine) emitBudgetCheck(x exit, i int) {
	e.store(slotA, x86.RCX)
	e.emitOverdrawn(1 + int(e.placed[i].run))
	left := e.short(opJRCXZ)
	e.load(x86.RCX, slotA)
	e.emitExit(e.jmp(0), x)
	e.patchShort(left)
	e.load(x86.RCX, slotA)
}

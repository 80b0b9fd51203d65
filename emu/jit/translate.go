//go:build linux && amd64

package jit

import (
	"fmt"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
	"github.com/cgemu/cgemu/hooks"
)

// maxBlockCode is more code than one block can need, in bytes.
const maxBlockCode = 64 << 10

// A coldExit is the taken side of a conditional jump, to be put behind the block.
type coldExit struct {
	site   int // rel32 to link to it
	target emu.Addr
	insn   int
	// holds says that it is taken if the condition holds.
	holds    bool
	own      int      // the counter of its mispredictions
	outcomes outcomes // of the branches before it
	spilled  uint16
	// directoryIn has the address of D1's directory, unused are those spilled registers that have nothing.
	directoryIn x86.Reg
	unused      uint16
	// side says that the block goes on behind the jump: the exit needs a counter.
	side bool
}

// A stub is an exit stub to be put behind a block.
type stub struct {
	site int
	exit exit
}

// translate makes the block at pc. It returns nil and the fault if no instruction can be fetched there.
func (e *Engine) translate(pc emu.Addr) (*tb, *emu.Fault) {
	e.begin()
	e.beginAway()
	e.decoder.Forget()
	if e.noting && e.calls != nil {
		e.calls.TakeNotes()
		e.calls.Number(pc)
	}
	end := e.decodeBlock(pc)
	if e.singleStep && len(e.block) > 1 {
		e.block = e.block[:1]
		e.block[0].follow = false
		end = endOnce
	}
	if len(e.block) == 0 {
		if !guest.Canonical(pc) {
			return nil, &emu.Fault{Vector: emu.VecGP}
		}
		return nil, &emu.Fault{Vector: emu.VecPF, Addr: pc, Exec: true}
	}
	if g := &e.block[0]; g.Kind == guest.FetchFault {
		return nil, &emu.Fault{Vector: emu.VecPF, Addr: g.Next(), Exec: true}
	}
	if e.full() {
		e.flush()
	}
	e.enlarge(8*len(e.weights), e.pos-codeOff)
	e.align(cacheLine)
	indirect := 0
	if e.wantIndirect {
		indirect, e.wantIndirect = e.emitIndirectEntry(pc), false
	}
	called := 0
	if e.wantCalled {
		called = e.emitCalledEntry()
	}
	t := e.newBlock()
	t.pc, t.entry, t.indirect, t.called = pc, int32(e.pos), int32(indirect), int32(called)
	t.counter, t.counting, t.firstExit = int32(e.newCounter(len(e.block))), e.counting, int32(e.exitsMade())
	t.length, t.selfChecks = int16(len(e.block)), e.selfChecks
	if e.linkage > 0 {
		t.linkage, t.linkageOff = int16(e.linkage), int32(e.block[len(e.block)-e.linkage].PC-pc)
	}
	e.t = t
	e.storable = e.isStorable()
	e.planEffects()
	e.setSums(int(t.counter), 0, len(e.block), 1)
	e.planFetch()
	e.planData()
	if e.marks[pc] {
		e.emitExit(e.jmp(0), exit{kind: exitMark, rip: pc})
		t.unmarked = int32(e.pos)
	}
	e.emitInsns()
	tail := e.pos
	e.emitEnd(end)
	e.emitFetchedEntry()
	e.emitCold()
	t.end = int32(e.pos)
	e.swap()
	e.emitReturnsDue()
	e.emitStubsDue()
	e.swap()
	e.record(t, end)
	e.all = push(e.all, t)
	e.translated += b2i(t.lasting)
	if n := e.pos - int(t.entry); n > maxBlockCode {
		panic(fmt.Sprintf("BUG: block of %d bytes", n))
	}
	if e.debugs() {
		e.debugBlock(t, end, tail)
	}
	e.debugPurposes()
	if err := e.register(t); err != nil {
		e.drop(t)
		e.bury(t)
		return nil, &emu.Fault{Vector: emu.VecUD, Failure: err.Error()}
	}
	return t, nil
}

// record notes what is known of t, the block that was just translated, and why it ends.
func (e *Engine) record(t *tb, end ending) {
	r, l := &t.blockRecord, e.lists
	r.n[inExits] = uint16(e.exitsMade() - int(r.firstExit))
	e.packed = packInsns(e.packed[:0], e.placed)
	l.insns.put(r, inInsns, e.packed)
	l.sideExits.put(r, inSideExits, e.sideExits)
	l.reps.put(r, inReps, e.repCounters)
	l.own.put(r, inOwn, e.own)
	l.saved.put(r, inSaved, e.savedAt)
	t.cut = end == endMark
	t.lasting = e.recordSource(r) && !t.cut // the mark is this run's
	for _, p := range e.words {
		e.depend(p)
	}
	l.pages.put(r, inPages, e.deps)
}

// emitInsns translates the block's instructions.
func (e *Engine) emitInsns() {
	e.placeCounter()
	run := e.runOffset
	for i := range e.block {
		g := &e.block[i]
		e.read(g.PC, int(g.Len))
		if e.pendingRSP != 0 && !e.leavesRSP(i) {
			e.flushRSP()
		}
		e.insn, e.fetchKnown = i, true
		e.placed = append(e.placed, insnAt{off: e.t.offOf(g.PC, i), host: uint16(e.pos - int(e.t.entry)), rsp: int16(e.pendingRSP), plan: e.planOf(g), outcomes: e.outcomes, run: uint8(run)})
		if e.mmx && e.x87 && (!usesX87(g) || i == len(e.block)-1 || e.codeChecked(i)) {
			e.emitFromX87()
		}
		if e.codeChecked(i) {
			e.emitCodeCheck(i)
		}
		if e.checked(i) {
			e.emitBudgetBefore(i)
		}
		e.emitSimulation(i)
		e.emitLastSums(i)
		if i == int(e.t.counted) {
			e.emitCounted(i)
		} else {
			e.emitInsn(i)
		}
		e.overwritten(g)
		e.emitLockedBranch(i)
		if run++; g.Flow != x86.FlowNext || g.endsRun {
			run = 0
		}
	}
}

// emitEnd goes on behind the last one, where the block ends for a reason.
func (e *Engine) emitEnd(end ending) {
	defer e.emitFor(e.emitFor(forFlags))
	if e.mmx && e.x87 {
		e.emitFromX87()
	}
	last := &e.block[len(e.block)-1]
	falls := last.Flow == x86.FlowNext && !last.Kind.Ends() || last.follow
	if falls {
		e.emitHistory(len(e.block))
	}
	e.giveFlags()
	if !last.Kind.Ends() {
		e.settleRegs()
	}
	if falls {
		e.flushRSP()
		run := (1 + int(e.placed[len(e.block)-1].run)) % emu.MaxRun
		cut, kind := e.singleStep, exitCarry
		if end == endFunction {
			cut, kind = true, exitFalls
		}
		if cut && e.budgeted && run != 0 && last.Flow == x86.FlowNext && !last.endsRun {
			e.emitExit(e.jmp(0), exit{kind: kind, rip: last.Next(), t: e.t, insn: int16(run)})
		} else {
			e.emitJump(e.fallsTo(last))
		}
	}
}

// emitSimulation simulates what instruction i does, in front of it.
func (e *Engine) emitSimulation(i int) {
	g := &e.block[i]
	defer e.emitFor(e.emitFor(forI1))
	e.emitFetch(i)
	if i == 0 {
		e.fetchedAt, e.fetchedSpilled, e.fetchedFlagsSpilled = e.pos, e.spilled, e.flagsSpilled
	}
	e.emitFor(forD1)
	e.emitData(i)
	e.emitFor(forBranches)
	if g.Kind == guest.Rep || g.Kind.Ends() || g.Kind == guest.Branch && !g.follow && g.Flow != x86.FlowJcc {
		e.emitHistory(i)
	}
	outside := e.outside(g)
	if outside {
		e.stampedNow.d1Known = false
	}
	if outside && g.Kind != guest.Rep {
		e.giveFlags()
		e.reload(0xffff)
		e.flushRSP()
		e.placed[i].rsp = 0
		kind := e.aloneKindOf(g)
		switch {
		case e.gathers(g):
			e.emitGather(i)
		case kind != notAlone:
			e.emitAlone(i, kind)
		default:
			e.emitOutside(i, exitOutside)
		}
	}
	e.emitFor(forFlags)
	e.reloadFor(g)
}

// fallsTo returns where a block goes on behind its last instruction.
func (e *Engine) fallsTo(g *ginsn) emu.Addr {
	if g.Flow == x86.FlowJmp {
		return g.Dest()
	}
	return g.Next()
}

// depend notes that the block depends on the page of a.
func (e *Engine) depend(a emu.Addr) {
	p := a.PageDown()
	for _, have := range e.deps {
		if have == p {
			return
		}
	}
	e.deps = append(e.deps, p)
}

// register makes a finished block known and guards its pages. One that is to run once is not found again, and the pages
// of an instruction that writes to them stay as they are: what was found there is not known any more.
func (e *Engine) register(t *tb) error {
	if !e.singleStep {
		if err := e.mem.Guard(t.pages()...); err != nil {
			return err
		}
	}
	if again := e.falls && !t.selfChecks; e.singleStep || e.runOffset != 0 && !again {
		e.gatherOnce()
		e.once = t
		e.dead++
		e.peeks.forget()
		return nil
	}
	for _, p := range t.pages() {
		if len(e.pages[p]) == 0 {
			e.noteGuarded(p)
		}
		e.pages[p] = append(e.pages[p], t)
	}
	if e.falls {
		t.run = int16(e.runOffset)
		e.fallenInto[fall{t.pc, e.runOffset}] = t
		return nil
	}
	e.tbs.put(t)
	return nil
}

// writesAllFlags reports whether g overwrites the status flags and cannot fault:
// in front of it they may be changed without anyone seeing it.
func writesAllFlags(g *ginsn) bool {
	return g.Kind == guest.Plain && !mayFault(g) &&
		g.FlagsWrite&x86.StatusFlags == x86.StatusFlags && g.FlagsRead&x86.StatusFlags == 0
}

// leavesRSP reports whether instruction i can be emitted while the guest's RSP is
// not in the host's.
func (e *Engine) leavesRSP(i int) bool {
	g := &e.block[i]
	usesRSP := (g.GPRRead|g.GPRWrite)>>x86.RSP&1 != 0
	operandRSP := g.HasMem && g.Mem.Base == x86.RSP || g.Args[0].Kind == x86.ArgGPR && g.Args[0].Reg == x86.RSP
	switch g.Kind {
	case guest.Leave:
		return true
	case guest.Push, guest.Pop:
		return !operandRSP
	case guest.Plain, guest.Lea, guest.Nop:
		// In front of a conditional jump nothing may part it from the comparison.
		return !usesRSP && !(i+1 < len(e.block) && e.block[i+1].Flow == x86.FlowJcc)
	case guest.Branch:
		switch g.Flow {
		case x86.FlowRet:
			return true
		case x86.FlowCall:
			return !e.budgeted
		case x86.FlowCallInd:
			return !e.budgeted && !operandRSP
		case x86.FlowJmp:
			return g.follow
		case x86.FlowJmpInd:
			return e.linkage > 0 && !e.budgeted
		}
	}
	return false
}

// flushRSP brings the guest's RSP into the host's.
func (e *Engine) flushRSP() {
	if e.pendingRSP != 0 {
		e.lea(x86.RSP, x86.RSP, e.pendingRSP)
		e.pendingRSP = 0
	}
}

// overwrites returns a register that g overwrites whatever it held, or NoReg.
func overwrites(g *ginsn) x86.Reg {
	if g.Kind != guest.Plain {
		return x86.NoReg
	}
	lost := g.GPRWrite &^ g.GPRRead
	for r := x86.RAX; r <= x86.R15; r++ {
		if lost>>r&1 != 0 && r != x86.RSP {
			return r
		}
	}
	return x86.NoReg
}

// placeCounter chooses the instruction in front of which the entry counter is incremented: the
// first one, before any side exit, where that needs least.
func (e *Engine) placeCounter() {
	best, cost := 0, 3
	for i := range e.block {
		g := &e.block[i]
		c := 3
		switch free := overwrites(g) != x86.NoReg; {
		case writesAllFlags(g):
			c = 0
		case free && !mayFault(g):
			c = 1
		case free:
			c = 2
		}
		if c < cost {
			best, cost = i, c
		}
		if c == 0 || g.Flow != x86.FlowNext && g.Flow != x86.FlowJmp || g.Kind.Ends() || g.Kind == guest.Rep {
			break
		}
	}
	e.t.counted = int16(best)
}

// emitCounted increments the entry counter in front of instruction i and translates it.
func (e *Engine) emitCounted(i int) {
	g := &e.block[i]
	r := overwrites(g)
	switch {
	case writesAllFlags(g):
		e.emitCount(int(e.t.counter), x86.NoReg)
	case e.countsInRegister():
		e.emitCountLeavingFlags(int(e.t.counter), x86.NoReg)
	case r != x86.NoReg && (!mayFault(g) || e.away&e.spilled>>r&1 != 0):
		e.emitCount(int(e.t.counter), r)
	case r != x86.NoReg:
		// Only a fault finds the register overwritten too early.
		e.store(slotCount, r)
		from := e.pos
		e.emitCount(int(e.t.counter), r)
		e.emitInsn(i)
		e.saved(from, r, slotCount, 0)
		return
	default:
		e.emitCountLeavingFlags(int(e.t.counter), e.spareOr(e.idle(i)))
	}
	e.emitInsn(i)
}

// idle returns a register that the block does not use soon from instruction i on:
// its being saved and restored then delays nothing.
func (e *Engine) idle(i int) x86.Reg {
	var used uint16 = 1 << x86.RSP
	for ; i < len(e.block); i++ {
		g := &e.block[i]
		now := used | g.GPRRead | g.GPRWrite
		if now == 0xffff {
			break
		}
		used = now
	}
	for r := x86.R15; r > x86.RAX; r-- {
		if used>>r&1 == 0 {
			return r
		}
	}
	return x86.RAX
}

// emitCount counts once on a counter. It overwrites r, or the flags if r is NoReg.
func (e *Engine) emitCount(counter int, r x86.Reg) {
	defer e.emitFor(e.emitFor(forCounts))
	off, weight := counterOff+8*counter, e.weights[counter]
	if r == x86.NoReg {
		e.incMem(off)
		if e.metered {
			e.addMem(meterOf(counter), weight)
		}
	} else {
		e.addMemBy(off, 1, r)
		if e.metered {
			e.addMemBy(meterOf(counter), weight, r)
		}
	}
	if !e.sumsLast() {
		e.emitSums(counter, r)
	}
}

// emitCountLeavingFlags does the same and leaves the flags alone, and registers: if it needs one it saves r.
func (e *Engine) emitCountLeavingFlags(counter int, r x86.Reg) {
	defer e.emitFor(e.emitFor(forCounts))
	if e.countsInRegister() {
		if e.mmx {
			e.emitCountMMX(counter)
		} else {
			e.emitCountInVector(counter)
		}
		return
	}
	if e.spares()>>r&1 != 0 {
		e.emitCount(counter, r)
		return
	}
	e.store(slotCount, r)
	e.emitCount(counter, r)
	e.load(r, slotCount)
}

// emitCold emits the taken sides of conditional jumps.
func (e *Engine) emitCold() {
	e.endPlaces()
	e.beginAway()
	for _, c := range e.cold {
		g := &e.block[c.insn]
		e.insn, e.fetchKnown = c.insn, true
		e.link(c.site, e.pos)
		if e.predicts() {
			e.emitPredict(g, hooks.Taken(&g.Inst, c.holds), c.own, c.outcomes, false, e.flagsAtTarget(c.target)&flagsDead == 0, c.unused)
		}
		if c.holds {
			e.emitTaken(c.insn)
		}
		e.settleOnExit(c.spilled, c.directoryIn)
		if c.side {
			e.emitSideExit(c.insn+1, e.flagsAtTarget(c.target)&flagsDeadNow != 0, !e.sumsLast())
		} else if e.budgeted && g.Target < 0 {
			e.emitBudget(c.insn, c.target)
		}
		e.emitJump(c.target)
	}
	e.emitRebound()
}

// emitSideExit counts that the block is left when some instructions have been executed. free says that flags need not
// stay, summed that the totals of calls have the whole block.
func (e *Engine) emitSideExit(after int, free, summed bool) {
	k := e.newCounter(after - len(e.block))
	if summed {
		e.setSums(k, after, len(e.block), -1)
	} else {
		e.setSums(k, 0, after, 1)
	}
	e.sideExits = append(e.sideExits, sideExit{after: int16(after), counter: int32(k)})
	if free {
		e.emitCount(k, x86.NoReg)
	} else {
		e.emitCountLeavingFlags(k, e.spareOr(x86.R11))
	}
	if e.sumsLast() && after < len(e.block) { // else emitLastSums has added all, in front of the jump
		e.emitSums(k, x86.NoReg)
	}
}

// emitStubsDue emits the exit stubs.
func (e *Engine) emitStubsDue() {
	defer e.emitFor(e.emitFor(forStubs))
	for _, s := range e.stubsDue {
		x, number := e.newExit()
		*x = s.exit
		e.link(s.site, e.pos)
		if x.kind == exitLink {
			x.first, x.second = int32(s.site), int32(e.pos)
		}
		if x.is(linkCall) {
			e.emitCalledEntry()
		}
		e.storeImm32(stExit, uint32(number))
		e.jmp(e.stubs.exit)
		if x.kind != exitLink {
			continue
		}
		if x.is(linkBack) {
			e.backEdges = push(e.backEdges, x)
		}
		if to := e.tbs.at(x.rip); to != nil && !e.stepping {
			e.swap() // it may get an entry for calls
			e.connect(uint32(number), to)
			e.swap()
		}
	}
}

// emitJump jumps to the block at target.
func (e *Engine) emitJump(target emu.Addr) {
	defer e.emitFor(e.emitFor(forLinks))
	if e.crosses(target) {
		e.emitCross(target)
		return
	}
	e.emitLink(target)
}

// emitLink emits a jump to the block at target, which is linked with it now or when it exists; emitLinkIf one that is
// made if cond holds.
func (e *Engine) emitLink(target emu.Addr) {
	e.padBackwardSite(1, target)
	e.noteLink(e.jmp(0), target)
}

func (e *Engine) emitLinkIf(cond byte, target emu.Addr) {
	e.padBackwardSite(2, target)
	e.noteLink(e.jcc(cond, 0), target)
}

// noteLink makes the rel32 at site a link to the block at target.
func (e *Engine) noteLink(site int, target emu.Addr) {
	e.emitExit(site, exit{kind: exitLink, rip: target, flags: linkBack.when(e.isBack(target)) | linkNear.when(e.fetchedBy(target))})
}

// emitCallLink makes the CALL at site enter the block at target.
func (e *Engine) emitCallLink(site int, target emu.Addr) {
	e.emitExit(site, exit{kind: exitLink, rip: target, t: e.t, flags: linkCall | linkBack.when(e.isBack(target))})
}

// isBack reports whether a branch of the block to target goes backwards. The entry of a linkage table may lie in front
// of the CALL: every loop has a branch that goes back if that does not count.
func (e *Engine) isBack(target emu.Addr) bool {
	return target <= e.block[len(e.block)-1-e.linkage].PC
}

// padBackwardSite pads so that the rel32 of a backward branch, behind opcode bytes, lies in one
// cache line: Interrupt changes it while another core may fetch it.
func (e *Engine) padBackwardSite(opcode int, target emu.Addr) {
	if e.isBack(target) {
		e.padSite(opcode)
	}
}

// emitExit makes the jump at site leave generated code with the given exit.
func (e *Engine) emitExit(site int, x exit) {
	switch e.away & e.spilled {
	case e.away:
		x.flags |= regsAway
	case 0:
		if x.kind == exitLink {
			e.mustBeAway()
		}
	default:
		panic("BUG: an exit where some registers are away")
	}
	e.stubsDue = append(e.stubsDue, stub{site: site, exit: x})
}

//go:build linux && amd64

package jit

import (
	"math"
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/emu/x86"
)

// Jumps and calls through a word at a fixed address, as procedure linkage tables (PLT) and code compiled without them
// make, by words of the global offset table (GOT): where it leads is a link. A word that the guest cannot write to, as
// the dynamic linker leaves them with -z now (RELRO), is part of what the block is made from; another one is compared
// with what it held when the code was translated. The entry of a linkage table that a CALL leads to belongs to the
// block of the CALL.

// linkageOf returns where a jump or call through a word at a fixed address leads now. ok is false if it is no such jump
// or if that is not to be compared.
func (e *Engine) linkageOf(g *ginsn) (to emu.Addr, ok bool) {
	if e.stepping || e.singleStep || !g.HasMem || !g.Mem.RIPRel || needsScratch(g) {
		return 0, false
	}
	word, ok := e.mem.ReadUint64(wordOf(g))
	return emu.Addr(word), ok && word <= math.MaxInt32
}

// wordOf is where the word of g is.
func wordOf(g *ginsn) emu.Addr { return emu.Addr(int64(g.Next()) + g.Mem.Disp) }

// constant reports whether the word at a stays as it is until its mapping changes.
func (e *Engine) constant(a emu.Addr) bool {
	v := e.mem.VMA(a)
	return v != nil && v.Prot&(mem.Read|mem.Write) == mem.Read && !v.Shared && (a+7).PageDown() == a.PageDown()
}

// leadsTo returns where g leads if that is such a jump or call, by a word that does not change as long as the block is
// good.
func (e *Engine) leadsTo(g *ginsn) (to emu.Addr, ok bool) {
	if g.Flow != x86.FlowJmpInd && g.Flow != x86.FlowCallInd {
		return 0, false
	}
	to, ok = e.linkageOf(g)
	return to, ok && !e.isUnbound(to) && e.constant(wordOf(g))
}

// entryLeadsTo returns where the entry of a linkage table at a leads, if there is one whose jump is such a one. The
// block depends on both then.
func (e *Engine) entryLeadsTo(a emu.Addr) (to emu.Addr, ok bool) {
	g := &e.examined
	for range maxLinkage {
		if !e.decodeOne(g, a) {
			break
		}
		if to, ok := e.leadsTo(g); ok {
			e.read(a, int(g.Len))
			e.readWord(wordOf(g))
			return to, true
		}
		if g.Kind != guest.Nop {
			break
		}
		e.read(a, int(g.Len))
		a = g.Next()
	}
	return 0, false
}

// emitLinkage emits the way of jump i through a word at a fixed address, as entries of procedure linkage tables make
// them, to where it leads now: the word is compared, and the jump is a link. It reports whether the word is likely to
// change before long, since the dynamic linker binds it when the entry is used first, or whether it cannot, and nothing
// is left to do.
func (e *Engine) emitLinkage(g *ginsn, i int) (unbound, done bool) {
	to, ok := e.linkageOf(g)
	if !ok {
		return false, false
	}
	if e.isUnbound(to) {
		return e.unbound[g.PC] < maxUnbound, false
	}
	if e.calls != nil && !e.linksJump(g.PC) {
		return false, false
	}
	e.settleRegs()
	var others []int
	if site := e.emitBound(g, to); site != 0 {
		others = append(others, site)
	}
	if e.crosses(to) {
		others = append(others, e.emitLinkedTailCall(g, i, to))
	} else {
		e.emitKnownTarget(i, to)
		e.emitLink(to)
	}
	if len(others) == 0 {
		return false, true
	}
	for _, site := range others {
		e.link(site, e.pos)
	}
	e.load(x86.RCX, slotA)
	return false, false
}

// linksJump reports whether a jump at pc may be a link where calls are recorded: not if jumps are counted, nor if the
// recorder looks at more than where it comes from and leads to.
func (e *Engine) linksJump(pc emu.Addr) bool {
	return e.calls.inRegisters && !e.Jumps && !e.calls.Passes(pc) && !e.calls.Resumes(pc)
}

// emitLinkedTailCall goes to to, which is of another function, if jump i is a tail call. It returns the site of a jump
// for the case that it is not, with RCX in slotA. Totals are in registers.
func (e *Engine) emitLinkedTailCall(g *ginsn, i int, to emu.Addr) (other int) {
	defer e.emitFor(e.emitFor(forCalls))
	arc := e.arc(g.PC, to)
	e.store(slotA, x86.RCX)
	e.store(slotC, regTable)
	e.emitUnlessTailCall(e.calls.Number(to), func() {
		e.load(regTable, slotC)
		other = e.jmp(0)
	})
	e.emitKnownTarget(i, to)
	e.emitPushTailCall(row{x86.NoReg, arc}, func() { e.leaRIP(x86.RCX, arc) })
	e.load(x86.RCX, slotA)
	e.load(regTable, slotC)
	e.emitLink(to)
	return other
}

// isUnbound reports whether a word that leads to to is one of a linkage table that is not bound yet: it leads to where
// the number of the entry is pushed for the dynamic linker (System V ABI, AMD64 supplement, "Procedure Linkage Table").
func (e *Engine) isUnbound(to emu.Addr) bool {
	const endbr64, push = 0xfa1e0ff3, 0x68
	code, ok := e.mem.ReadUint64(to)
	if uint32(code) == endbr64 {
		code >>= 32
	}
	return ok && byte(code) == push
}

// emitBound goes on if the word of g holds to. It returns the site of a jump for the case that it does not, with RCX in
// slotA, or 0 if it always does. Flags stay: elsewhere they may be looked at.
func (e *Engine) emitBound(g *ginsn, to emu.Addr) (other int) {
	if e.constant(wordOf(g)) {
		e.readWord(wordOf(g))
		return 0
	}
	e.store(slotA, x86.RCX)
	from := e.pos
	e.opGuest(opMovLoad, x86.RCX, e.resolve(g, x86.NoReg), true)
	e.lea(x86.RCX, x86.RCX, -int32(to))
	same := e.short(opJRCXZ)
	other = e.jmp(0)
	e.patchShort(same)
	e.load(x86.RCX, slotA)
	e.saved(from, x86.RCX, slotA, 0)
	return other
}

// maxUnbound is how often a jump is left to Go in the hope that its word is bound then.
const maxUnbound = 3

// emitUnbound leaves the jump of instruction i to Go, which translates it anew when its word is bound.
func (e *Engine) emitUnbound(i int) {
	e.store(stRIP, regTarget)
	e.load(regTarget, slotTarget)
	e.load(regTable, slotTable)
	e.emitExit(e.jmp(0), exit{kind: exitUnbound, rip: e.block[i].PC, t: e.t, insn: int16(i)})
}

// jumped makes the jump that x has left to Go.
func (e *Engine) jumped(x *exit) emu.Addr {
	to := emu.Addr(e.get(stRIP))
	if e.unbound == nil {
		e.unbound = map[emu.Addr]uint8{}
	}
	e.unbound[x.rip]++
	done := !e.isUnbound(to) || e.unbound[x.rip] == maxUnbound
	if done {
		for _, call := range slices.Collect(e.linksTo(x.t)) {
			if call.is(linkCall) {
				e.replace(call.t) // it will go on to where the entry leads
			}
		}
		e.replace(x.t)
	}
	switch {
	case e.calls == nil:
	case !e.calls.Same(x.rip, to):
		e.told(e.calls.Flow, x.rip, to)
	case e.Jumps && e.counting == emu.CountAll:
		e.calls.CountJump(x.rip, to)
	}
	return to
}

// replace has a block translated anew when it is entered next.
func (e *Engine) replace(t *tb) {
	if t.cache.tbs.at(t.pc) == t { // else it is gone already
		e.drop(t)
		e.bury(t)
	}
}

// decodeLinkage adds the entry of a linkage table to the block if call, its last instruction, leads to one that is
// bound.
func (e *Engine) decodeLinkage(call *ginsn) {
	n := len(e.block)
	for a := call.Dest(); len(e.block) < min(n+maxLinkage, cap(e.block)) && !e.marks[a] && !e.inBlock(a); {
		e.block = e.block[:len(e.block)+1]
		g := &e.block[len(e.block)-1]
		if !e.decodeOne(g, a) {
			break
		}
		if g.Flow == x86.FlowJmpInd {
			if to, ok := e.linkageOf(g); ok && !e.isUnbound(to) && e.handsOn(a, to) {
				call.follow, e.linkage = true, len(e.block)-n
				return
			}
		}
		if g.Kind != guest.Nop {
			break
		}
		a = g.Next()
	}
	e.block = e.block[:n]
}

// maxLinkage is how many instructions an entry of a linkage table has: ENDBR64 and a jump.
const maxLinkage = 2

// handsOn reports whether a CALL of the entry at a, which leads to to, is a call of that, if calls are recorded.
func (e *Engine) handsOn(a, to emu.Addr) bool {
	return e.calls == nil || e.calls.Passes(a) && !e.calls.Same(a, to)
}

// A reboundCall is what is to be emitted behind the block for the call that ends it, in case that its word has changed.
type reboundCall struct {
	site int   // of the jump here, 0 if there is none
	rsp  int32 // pendingRSP there
}

// emitLinkedCall translates jump i of a linkage table, and the call of what leads to it.
func (e *Engine) emitLinkedCall(i int) {
	defer e.emitFor(e.emitFor(forCalls))
	g, call := &e.block[i], e.t.lastOwn()
	to, _ := e.linkageOf(g)
	e.settleRegs()
	e.rebound = reboundCall{site: e.emitBound(g, to), rsp: e.pendingRSP}
	e.emitKnownTarget(i, to)
	e.emitDirectCall(call, to, true)
}

// emitLinkedCallInd translates call i through a word that leads to to.
func (e *Engine) emitLinkedCallInd(g *ginsn, i int, to emu.Addr) {
	e.settleRegs()
	e.rebound = reboundCall{site: e.emitBound(g, to), rsp: e.pendingRSP}
	e.emitPushReturn(g.Next())
	e.emitKnownTarget(i, to) // unless the push faults
	e.emitDirectCall(i, to, false)
}

// emitRebound emits the call whose word has changed. The jump of a linkage table is a block of its own then, which is
// called.
func (e *Engine) emitRebound() {
	r, last := &e.rebound, len(e.block)-1
	if r.site == 0 {
		return
	}
	e.link(r.site, e.pos)
	if e.linkage > 0 && e.checked(last) {
		e.emitOverdrawn(-1) // it is taken off again by the jump's block
	}
	e.load(x86.RCX, slotA)
	e.pendingRSP = r.rsp
	if e.linkage == 0 {
		e.emitLookupCall(&e.block[last], last)
		return
	}
	e.emitSideExit(last, false, true)
	call := e.t.lastOwn()
	from := e.saveBias()
	if e.calls != nil {
		e.emitCallFrame(e.arc(e.block[call].PC, e.block[call].Dest()), true)
		e.emitTailOfEntry(call)
	}
	site := e.emitCallFrom(from, e.block[call].Next(), 0)
	e.emitCallLink(site, e.block[last].PC)
}

// addCalls adds n calls that t's CALL made, which need no code to be counted, and as many of the entry of a linkage
// table that it leads to, with what its instructions count: the totals have that when the arc that t records is
// entered, and the entry's is not entered.
func (e *Engine) addCalls(t *tb, n int64) {
	if n == 0 {
		return
	}
	k := e.calls
	add := func(arc int32, word int, n int64) {
		at := int(arc) + 8*word
		e.set(at, e.get(at)+uint64(n))
	}
	if t.entered != 0 {
		add(t.entered, k.Recorder.Calls(), n)
	}
	if t.passed != 0 {
		add(t.passed, k.Recorder.Calls(), n)
		for i := t.lastOwn() + 1; i < t.insnCount(); i++ {
			for _, p := range e.plans[t.insn(i).plan] {
				if c := k.columns[p.event]; c >= 0 {
					add(t.passed, k.Out()+c, n*p.times)
				}
			}
		}
	}
}

// entryArc returns the arc of the call of a linkage table's entry that instruction i belongs to, 0 if there is none:
// what happens there, and does not always, is added to it at once (addCalls).
func (e *Engine) entryArc(i int) (arc int) {
	call := e.t.lastOwn()
	if i <= call || e.calls == nil || e.counting != emu.CountAll {
		return 0
	}
	return e.arc(e.block[call].PC, e.block[call].Dest())
}

// emitMissesOfEntry adds the totals of misses of an event, and of the last level's behind it, to those with which such
// an arc was entered, in front of what may miss in instruction i, and behind it to those with which it was left. It
// loses RSP and the flags.
func (e *Engine) emitMissesOfEntry(i int, ev emu.Event, behind bool) {
	arc := e.entryArc(i)
	if arc == 0 || e.total(ev) < 0 {
		return
	}
	word := e.calls.In()
	if behind {
		word = e.calls.Out()
	}
	for _, ev := range [2]emu.Event{ev, ev + 1} {
		e.load(x86.RSP, e.total(ev))
		e.byte(rexW(x86.RSP, 0), aluADD<<3|1) // add [...], rsp
		e.rip(x86.RSP, arc+8*(word+e.calls.columns[ev]), 0)
	}
}

// emitTailOfEntry has the instructions of the linkage table's entry in front of its jump, which the totals have
// already, belong to its arc. It loses regBias.
func (e *Engine) emitTailOfEntry(call int) {
	if n := e.linkage - 1; n > 0 && e.counting == emu.CountAll {
		ir := e.arc(e.block[call].PC, e.block[call].Dest()) + 8*(e.calls.In()+e.calls.columns[emu.Ir])
		e.addMemBy(ir, int16(-n), regBias)
	}
}

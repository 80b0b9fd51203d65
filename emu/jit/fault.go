//go:build linux && amd64

package jit

import (
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/sem"
	"github.com/cgemu/cgemu/emu/x86"
	"github.com/cgemu/cgemu/hooks"
)

// blockAt returns the block whose code contains arena offset pos.
func (e *Engine) blockAt(pos int) *tb {
	if e.image != nil && pos < e.image.end {
		return e.image.blockAt(pos)
	}
	lo, hi := 0, len(e.all)
	for lo < hi {
		mid := (lo + hi) / 2
		if int(e.all[mid].end) <= pos {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(e.all) && int(e.all[lo].entry) <= pos {
		return e.all[lo]
	}
	return nil
}

// fault handles a signal that generated code raised: the guest's registers are made
// precise, counts too, and the guest goes on if the fault was ours (a write to a page that
// held translated code, a jump to code not yet translated), else it stops.
func (e *Engine) fault() (emu.Addr, *emu.Stop) {
	pos := int(e.get(stSigRIP) - uint64(e.arena.base))
	if copied, stop := e.copyOnWrite(pos); copied {
		e.resume = pos
		return 0, stop
	}
	if e.shared(pos) {
		return 0, nil
	}
	t := e.blockAt(pos)
	if e.interrupted(t, pos) {
		e.set(stExit, e.get(stSigExit)) // it may have been on its way out
		e.resume = pos
		if pos == e.stubs.start { // which leads to where it began
			e.resume = int(e.get(stTarget) - uint64(e.arena.base))
		}
		return 0, nil
	}
	if t == nil {
		return e.faultBetween()
	}
	if t.lookup != 0 && pos >= int(t.lookup) && pos < int(t.lookup)+lookupSize {
		return e.lookupFault(t)
	}
	if e.mixedReturn(t, pos) {
		return e.unpairedReturn()
	}
	i := t.insnAtHost(pos)
	pc := t.addr(i)
	if e.framesFull() {
		return pc, e.tooManyFrames()
	}
	f := e.decodeFault()
	if p := uintptr(e.get(stSigAddr)); f.Vector == emu.VecPF && t.onShadow(pos) && e.shadow.has(p) {
		if e.shadow.open(p) == nil {
			if e.wildEntries(e.shadow.windowAt(p)) {
				e.loseDirectory()
			}
			e.resume = pos
			return pc, nil
		}
		// Without memory for it the guest's stack has come to its end.
		f.Addr = emu.Addr(p - e.shadow.base)
	}
	ours := f.Vector == emu.VecPF && f.Write && e.mem.Guarded(f.Addr)
	if ours && e.unguardOutside(t, f.Addr) {
		e.resume = pos
		return pc, nil
	}
	return pc, e.stopAt(t, i, pos, f, ours)
}

// shared handles a fault of code at arena offset pos that blocks share, or of a lookup that found nothing, where there
// is another way to go on, and reports whether it was one.
func (e *Engine) shared(pos int) bool {
	given, probes := e.probeFault(pos)
	missing, tests := e.stampFault(pos)
	switch resume, changing := e.changing(pos); {
	case probes:
		e.resume = given
	case tests:
		e.resume = missing
	case e.unfilled():
		e.resume = e.stubs.miss + int(e.get(stSigRIP))
	case changing:
		e.resume = resume
	default:
		return false
	}
	return true
}

// faultBetween handles a fault that is no block's: at an entry for lookups, or behind a return.
func (e *Engine) faultBetween() (emu.Addr, *emu.Stop) {
	switch at := uintptr(e.get(stRegs + 8*emu.RSP)); {
	case e.framesFull(): // at an entry for lookups
		return emu.Addr(e.get(stRegs + 8*int(regTarget))), e.tooManyFrames()
	case e.shadow.has(at) && e.shadow.opened(at-8):
		return e.unpairedReturn()
	}
	return e.returnAstray()
}

// stopAt stops the guest at instruction i of t, whose code at arena offset pos raised f. ours says that it stores to
// code, to be executed again, as it is where it uses x87 too often; otherwise the fault is the guest's.
func (e *Engine) stopAt(t *tb, i, pos int, f emu.Fault, ours bool) *emu.Stop {
	pc := t.addr(i)
	often := e.oftenX87(f, pos)
	e.restore(t, i, pos)
	e.set(stHistory, t.insn(i).outcomes.after(e.get(stHistory)))
	e.faultedPiece(pc)
	e.adjustForStop(t, i, ours || often)
	switch {
	case ours:
		if err := e.mem.Unguard(f.Addr, f.Addr+1); err != nil {
			return stopFault(emu.Fault{Vector: emu.VecUD, Failure: err.Error()})
		}
		if e.details() {
			e.revokeGuarded(t, i, pc)
		}
		e.singleStep, e.runOffset = true, int(t.insn(i).run)
		e.passing, e.passes = e.cpu, pc // a mark there was passed
		return nil
	case often:
		e.runOffset = int(t.insn(i).run)
		e.passing, e.passes = e.cpu, pc
		e.takeX87()
		return nil
	}
	e.storeCPU(e.cpu, pc)
	decoded := e.examine(t, i)
	if f.Vector == emu.VecGP {
		f = e.beyondHost(f)
	}
	if decoded && sem.FaultsByVendor(&e.examined.Insn) {
		before := emu.NewCPU()
		before.Copy(e.cpu)
		if made := e.machine.Execute(e.cpu, &e.examined.Insn); made != nil {
			f = *made
			e.machine.MarkBus(&f)
		} else { // the host's fault stays, with what that has left
			e.cpu.Copy(before)
		}
	}
	if e.details() {
		e.revokeEvents(t, i, &e.examined, f)
	}
	return stopFault(f)
}

// unguardOutside makes the guarded page of a writable, where t stores, if t was not made from it. It reports whether t
// is still known: the store may be tried again then. A block that runs once never is, and one that was made from a
// mirror of the page no longer.
func (e *Engine) unguardOutside(t *tb, a emu.Addr) bool {
	return !slices.Contains(t.pages(), a.PageDown()) && e.mem.Unguard(a, a+1) == nil && t.cache.tbs.at(t.pc) == t
}

// interrupted reports whether the code at arena offset pos, that of t or, if t is nil, code that blocks share, did not
// fault, and an interrupt came while RSP was no canonical address: a kernel that runs under PVM, without a hypervisor's
// privileges, cannot return to such code, and raises #GP there, or #UD, where PVM tries to emulate an instruction it
// does not know. It is tried again: what really faults does so each time, without anything being entered anew in
// between. A push, pop, call or return has really faulted.
func (e *Engine) interrupted(t *tb, pos int) bool {
	vector := e.get(stSigTrap)
	if vector != emu.VecGP && vector != emu.VecUD || guest.Canonical(emu.Addr(e.get(stRegs+8*emu.RSP))) {
		return false
	}
	if pos < codeOff || pos >= arenaSize || t != nil && e.faultsAtRSP(t, pos) {
		return false
	}
	n := e.entered(t)
	if e.tried.pos != pos || e.tried.count != n {
		e.tried.pos, e.tried.count, e.tried.times = pos, n, 0
	}
	e.tried.times++
	return e.tried.times <= maxTries
}

// faultsAtRSP reports whether the instruction of t with code at arena offset pos raises #GP if RSP is no canonical
// address, or cannot be fetched.
func (e *Engine) faultsAtRSP(t *tb, pos int) bool {
	e.decoder.Forget()
	g := &e.examined
	if !e.decodeOne(g, t.addr(t.insnAtHost(pos))) {
		return true
	}
	if e.get(stSigTrap) == emu.VecGP {
		for ref := range g.References {
			if ref.At == x86.AtRSP {
				return true
			}
		}
	}
	return false
}

// entered returns how often t was entered or, if it is nil, blocks in all, since counts were gathered.
func (e *Engine) entered(t *tb) (n uint64) {
	if t != nil {
		return e.count(int(t.counter))
	}
	for counter := range e.weights {
		n += e.count(counter)
	}
	return n
}

// maxTries is how often an instruction is tried again before it counts as one that faults: under a storm of signals
// several interrupts come before it is through.
const maxTries = 16

// copyOnWrite copies the page that the code at arena offset pos could not access because no fork had copied it yet, and
// reports whether that was it: then the guest goes on where it was, and knows nothing.
func (e *Engine) copyOnWrite(pos int) (copied bool, stop *emu.Stop) {
	if e.get(stSigTrap) != emu.VecPF || pos < codeOff || pos >= arenaSize {
		return false, nil
	}
	copied, err := e.mem.CopyOnWrite(emu.Addr(e.get(stSigAddr)-e.get(stBase)), e.get(stSigErr)&2 != 0)
	if err != nil {
		stop = stopFault(emu.Fault{Vector: emu.VecUD, Failure: err.Error()})
	}
	return copied, stop
}

// revokeGuarded takes back what Go counted of the references of the instruction at pc that do not happen always: those
// that are still to be made count when it is executed again.
func (e *Engine) revokeGuarded(t *tb, i int, pc emu.Addr) {
	g := &e.examined
	e.storeCPU(e.cpu, pc)
	e.examine(t, i)
	refs, simulated := e.refsOf(g)
	for _, r := range refs[:simulated] {
		if r.Guard != x86.Always && guest.Happens(e.cpu, &g.Insn, r.Ref) {
			e.countRef(t, pc, r.Ref, -1)
		}
	}
}

// revokeEvents takes back what an instruction that faulted counts beyond its execution, but for the references before
// the one that faulted.
func (e *Engine) revokeEvents(t *tb, i int, g *ginsn, f emu.Fault) {
	e.revokePlan(t, i)
	if hooks.Repeats(&g.Inst) {
		return
	}
	refs, simulated := e.refsOf(g)
	n, _ := hooks.ReferencesBefore(refs, f)
	pc := t.addr(i)
	for k, r := range refs {
		counted := r.Guard != x86.Always && k < simulated
		switch {
		case k < n && !counted:
			e.countRef(t, pc, r.Ref, 1)
		case k >= n && counted:
			e.countRef(t, pc, r.Ref, -1)
		}
	}
}

// revokePlan takes back what an instruction counts always, but for its execution.
func (e *Engine) revokePlan(t *tb, i int) {
	pc := t.addr(i)
	for _, p := range e.plans[t.insn(i).plan] {
		if p.event != emu.Ir {
			e.tally(t, pc, p.event, -p.times)
		}
	}
}

// refsOf returns the references of g, which faulted as it was executed, and how many of them have been simulated, and
// counted where they do not happen always, in front of it. A gather of AVX2, which Go need not have seen, may have
// forgotten elements that it has read: they are references at RSP then, as many.
func (e *Engine) refsOf(g *ginsn) (refs []hooks.Reference, simulated int) {
	switch kind := e.aloneKindOf(g); {
	case kind == masked && e.get(stCounted) != 0:
		refs = guest.References(e.cpu, &g.Insn, nil)
		return refs, len(refs)
	case kind == alone:
		return guest.References(e.cpu, &g.Insn, nil), 0
	}
	for r := range g.References {
		if !inlineRef(r) && !e.gathers(g) {
			return e.refs, e.simulated
		}
	}
	return guest.References(e.cpu, &g.Insn, nil), 0
}

// adjustForStop corrects the counts of block t, which stopped at instruction i. An
// instruction that faulted counts, one that is to be executed again does not.
func (e *Engine) adjustForStop(t *tb, i int, again bool) {
	for _, r := range t.reps() {
		if int(r.insn) == i && r.outside {
			e.examine(t, i)
			e.storeCPU(e.cpu, t.addr(i))
			e.repeated(e.cpu, t, &e.examined, e.get(slotC), true)
		} else if int(r.insn) == i {
			n := int64(e.get(slotC) - e.get(stRegs+8*emu.RCX))
			e.tally(t, t.addr(i), emu.Ir, n)
			e.executed += n
		}
	}
	done := i + 1
	if again {
		done = i
	}
	e.countUntil(t, i, done, i >= int(t.counted), e.summed(t, i, i >= int(t.counted)))
}

// examine puts t's instruction i into examined, as insnOf has it, and reports whether any of it could be fetched.
func (e *Engine) examine(t *tb, i int) bool {
	for k := range t.exitCount() {
		if x := e.exitAt(int(t.firstExit) + k); x.kind == exitPiece && int(x.insn) == i && x.cache() != 0 {
			e.examined = *e.decoded[x.cache()]
			return true
		}
	}
	e.decoder.Forget()
	return e.decodeOne(&e.examined, t.addr(i))
}

// restore puts guest registers back that were elsewhere at arena offset pos, in
// instruction i.
func (e *Engine) restore(t *tb, i, pos int) {
	const rsp = stRegs + 8*emu.RSP
	host := e.get(rsp)
	e.restoreAway(t, pos)
	e.set(rsp, host+uint64(int64(t.insn(i).rsp)))
	for _, s := range t.saved() {
		if !s.holds(pos) {
			continue
		}
		r := stRegs + 8*int(s.reg)
		add := uint64(int64(s.add))
		switch s.kind {
		case inSlot:
			e.set(r, e.get(int(s.slot))+add)
		case hostAddr:
			e.set(r, e.get(r)-e.get(stBase)+add)
		case onShadow:
			e.set(rsp, host-e.get(stShadow)+add)
		case flagsInRAX:
			e.set(stFlags, flagsOf(e.get(stFlags), e.get(stRegs)))
		}
	}
}

// framesFull reports whether the fault is that of a frame for which there is no room.
func (e *Engine) framesFull() bool {
	return e.calls != nil && e.calls.frames.overflowed(e.get(stSigAddr))
}

func (e *Engine) tooManyFrames() *emu.Stop {
	e.takeAway()
	return stopFault(emu.Fault{Vector: emu.VecUD, Unsupported: fmt.Sprintf("a call graph with more than %d active functions,", e.calls.frames.size/frameSize)})
}

// flagsOf returns flags with the status flags as LAHF and SETO left them in rax.
func flagsOf(flags, rax uint64) uint64 {
	const low = uint64(x86.StatusFlags &^ x86.OF)
	flags = flags&^uint64(x86.StatusFlags) | rax>>8&low
	if rax&1 != 0 {
		flags |= emu.FlagOF
	}
	return flags
}

// unfilled reports whether a lookup found a page of the jump table without entries, and the host jumped to 0, or as far
// beyond it as calls go on beyond what they look up. Where RET finds nothing in the place of the shadow stack it leads
// there too: the registers of a lookup are the guest's then.
func (e *Engine) unfilled() bool {
	table, target := e.get(stRegs+8*int(regTable)), emu.Addr(e.get(stRegs+8*int(regTarget)))
	switch rip := e.get(stSigRIP); {
	case target >= maxCode:
		return false
	case rip == 0:
		return table == uint64(e.table.base)
	default:
		return e.calls != nil && table == rip && (rip == calledAt || rip == uint64(e.calls.receivedSize()))
	}
}

// lookupFault handles a jump-table lookup, by t, of an address that has no entry.
func (e *Engine) lookupFault(t *tb) (emu.Addr, *emu.Stop) {
	rip := emu.Addr(e.get(stRegs + 8*int(regTarget)))
	e.takeAway()
	e.set(stRegs+8*int(regTarget), e.get(slotTarget))
	e.set(stRegs+8*int(regTable), e.get(slotTable))
	if e.calls != nil {
		e.set(stFrom, fromCall)
		if t.from != fromCall {
			e.set(stFrom, e.get(stRegs+8*emu.RCX))
			e.set(stRegs+8*emu.RCX, e.get(slotA))
		}
	}
	e.looked(rip)
	if e.interrupt.Load() || e.stepping {
		return rip, nil
	}
	e.leaveDirectory()
	return rip, e.admit(rip)
}

// returnAstray handles a RET whose stack pointer lies beyond the guest's memory, where something of the host's is
// mapped: what it found in the place of the shadow stack is no code. The guest's stack is what it cannot use.
func (e *Engine) returnAstray() (emu.Addr, *emu.Stop) {
	sp := e.get(stRegs+8*emu.RSP) - 8 - e.get(stShadow)
	e.set(stRegs+8*emu.RSP, sp)
	e.giveBias()
	e.takeAway()
	return 0, stopFault(emu.Fault{Vector: emu.VecPF, Addr: emu.Addr(sp)})
}

// giveBias gives the guest's regBias back behind a RET.
func (e *Engine) giveBias() {
	if !e.near {
		e.set(stRegs+8*int(regBias), e.get(stSavedBias))
	}
}

// strayReturn is the host address of the stub for a return for which there was no call.
func (e *Engine) strayReturn() uint64 {
	if e.near {
		return e.hostAddr(e.stubs.strayNear)
	}
	return e.hostAddr(e.stubs.stray)
}

// mixedReturn reports whether the host's RET at arena offset pos of t found parts of two addresses, together not
// canonical, on the shadow stack. RSP is then what it is where such a RET has gone elsewhere: AMD's CPUs raise #GP
// there, Intel's at the RET.
func (e *Engine) mixedReturn(t *tb, pos int) bool {
	const rsp, ret = stRegs + 8*emu.RSP, 0xc3
	at := e.get(rsp)
	if e.get(stSigTrap) != emu.VecGP || e.arena.mem[pos] != ret || !t.onShadow(pos) || !e.shadow.has(uintptr(at)) {
		return false
	}
	e.set(rsp, at+8)
	return true
}

// unpairedReturn handles a RET to an address no CALL put on the stack: its place on the
// shadow stack holds 0, where the host is now. The next one there takes a shorter way.
func (e *Engine) unpairedReturn() (emu.Addr, *emu.Stop) {
	at := e.get(stRegs + 8*emu.RSP)
	if at%8 == 0 { // else parts of others are there (placeOfArena)
		e.shadow.put(uintptr(at)-8, e.strayReturn())
	}
	sp := at - e.get(stShadow)
	e.set(stRegs+8*emu.RSP, sp)
	e.giveBias()
	e.takeAway()
	// It was read just before.
	rip, _ := e.mem.ReadUint64(emu.Addr(sp) - 8)
	e.returned(emu.Addr(rip))
	return emu.Addr(rip), nil
}

// beyondHost returns what the fault f, #GP of the instruction in examined, is to the guest: an address that is
// canonical to it may not be one to the host, whose is larger.
func (e *Engine) beyondHost(f emu.Fault) emu.Fault {
	g := &e.examined.Insn
	if sem.FaultsByAlignment(e.cpu, g) { // which comes first
		return f
	}
	refs := guest.References(e.cpu, g, nil)
	if len(refs) == 0 && g.HasMem { // CLFLUSH and its kin
		refs = append(refs, hooks.Reference{Addr: guest.EffectiveAddr(e.cpu, g)})
	}
	for i, r := range refs {
		// What is read to be written back is looked at as for writing.
		write := r.Kind != x86.Read || i+1 < len(refs) && refs[i+1].Addr == r.Addr && !g.Op.IsString()
		if r.At == x86.AtBitString {
			r.Addr = guest.BitStringAddr(e.cpu, g)
		}
		switch {
		case !guest.Canonical(r.Addr):
			return f
		case guest.Canonical(r.Addr + emu.Addr(e.get(stBase))):
			continue
		}
		return emu.Fault{Vector: emu.VecPF, Addr: r.Addr, Write: write}
	}
	return f
}

// decodeFault makes a guest fault of what the host's signal said.
func (e *Engine) decodeFault() emu.Fault {
	f := emu.Fault{Vector: uint8(e.get(stSigTrap))}
	if f.Vector == emu.VecPF {
		f.Addr = emu.Addr(e.get(stSigAddr) - e.get(stBase))
		if !guest.Canonical(f.Addr) {
			return emu.Fault{Vector: emu.VecGP} // it became canonical by what we added
		}
		f.Write = e.get(stSigErr)&2 != 0
		f.Bus = unix.Signal(e.get(stSigNo)) == unix.SIGBUS
	}
	return f
}

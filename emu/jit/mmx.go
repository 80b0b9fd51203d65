//go:build linux && amd64

package jit

import (
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/callgraph"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
)

// Where the host has no vector registers to spare (spare.go), those of MMX, which are x87's, are generated code's own:
// arithmetic in them leaves the flags alone, and they need not be saved. Where the guest uses x87 itself, a block
// stores what is in them, loads the guest's x87, and changes back behind the last such instruction in a row. A guest
// that does so often has x87 to itself from then on (takeX87).

// What is in the registers. What else adds up is in memory.
const (
	mmTotals  mmx = 5 // how many of the totals of calls may be in registers, from MM0 on, if nothing is simulated
	mmHistory mmx = 3 // the history of simulated branches
	mmClock   mmx = 4 // the clock of simulated caches
	mmFrame   mmx = 5 // the address of the innermost frame
	mmBudget  mmx = 6
	mmScratch mmx = 7
)

// inMemory says that a total is in no register.
const inMemory mmx = 0xff

const (
	// maxX87 is how often blocks change to the guest's x87 before it is asked whether that is too often: more than once
	// in x87Part instructions. A change and the way back take as long as some 500 instructions.
	maxX87  = 1 << 14
	x87Part = 8000
)

// inMMX reports whether the engine's values are in MMX where the assembler is.
func (e *Engine) inMMX() bool { return e.mmx && !e.x87 }

// addedMost are the events that most blocks count.
var addedMost = []emu.Event{emu.Ir, emu.Dr, emu.Bc}

// setRegisters gives as many of the totals that blocks add to a register as s leaves, those of addedMost first. A clock
// or a history in memory would have every block wait for the one before, and a clock more than once; a total that few
// blocks add to does not.
func (k *calls) setRegisters(s *simulation) {
	room := mmTotals
	if s.caches {
		room = mmClock
	}
	if s.branches {
		room = mmHistory
	}
	k.setRareApart()
	k.registers = slices.Repeat([]mmx{inMemory}, len(k.Totals))
	next := mmx(0)
	for _, ev := range slices.Concat(addedMost, k.Events) {
		if c := k.Column(ev); c >= 0 && next < room && k.registers[c] == inMemory && !slices.Contains(rareEvents, ev) {
			k.registers[c] = next
			next++
		}
	}
}

// setRareApart gives rareEvents the last columns, two by two, behind the others and that of calls.
func (k *calls) setRareApart() {
	even := func(n int) int { return (n + 1) &^ 1 }
	_, static, rares := k.columnsApart(0)
	k.rare = even(static + 1)
	columns, _, _ := k.columnsApart(k.rare)
	k.SetLayout(callgraph.Layout{Columns: columns, Calls: static, Words: k.rare + even(rares), Header: k.In()})
	k.misses = k.rare
}

// keepsClock reports whether the clock of simulated caches is in mmClock while generated code runs, historyInMMX
// whether the history of simulated branches is in mmHistory.
func (e *Engine) keepsClock() bool { return e.mmx && e.sim.caches }

func (e *Engine) historyInMMX() bool { return e.mmx && e.sim.branches }

// kept calls f with each register that keeps a value, and the value's place in memory.
func (e *Engine) kept(f func(m mmx, off int)) {
	f(mmBudget, stBudget)
	if e.keepsClock() {
		f(mmClock, stClock)
	}
	if e.historyInMMX() {
		f(mmHistory, stHistory)
	}
	if e.calls == nil {
		return
	}
	f(mmFrame, stFrame)
	for c, m := range e.calls.registers {
		if m != inMemory {
			f(m, e.calls.totalAt(c, 0))
		}
	}
}

// An mmxConstant is a number that is often added, at an arena offset, and the register that has it, too: code that adds
// a register is shorter.
type mmxConstant struct {
	off int
	in  mmx
}

// placeConstants gives such numbers the registers that keep nothing, as far as there are some.
func (e *Engine) placeConstants() {
	wanted := []int{stepAt(1)}
	if e.keepsClock() {
		wanted = append(wanted, stTick)
	}
	if e.historyInMMX() {
		wanted = append(wanted, stTakenBit)
	}
	if e.calls != nil {
		wanted = append(wanted, stepAt(frameSize), stepAt(2), stepAt(3)) // frames, and blocks that are as long
	}
	used := 1 << mmScratch
	e.kept(func(m mmx, _ int) { used |= 1 << m })
	e.constants = nil
	for m := mmx(0); m < mmScratch && len(e.constants) < len(wanted); m++ {
		if used>>m&1 == 0 {
			e.constants = append(e.constants, mmxConstant{wanted[len(e.constants)], m})
		}
	}
}

// constantIn returns the register with the constant at an arena offset.
func (e *Engine) constantIn(off int) (in mmx, ok bool) {
	for _, c := range e.constants {
		if c.off == off {
			return c.in, true
		}
	}
	return 0, false
}

// emitAddConstant adds what is at an arena offset, a constant, to m; emitAddStep a number from -maxStep to maxStep.
func (e *Engine) emitAddConstant(m mmx, off int) {
	if in, ok := e.constantIn(off); ok {
		e.mmReg(opPADDQ, m, in)
	} else {
		e.mm(opPADDQ, m, off)
	}
}

func (e *Engine) emitAddStep(m mmx, n int) {
	if in, ok := e.constantIn(stepAt(-n)); ok {
		e.mmReg(opPSUBQ, m, in)
	} else {
		e.emitAddConstant(m, stepAt(n))
	}
}

// emitEnterMMX loads the registers when generated code is entered, and emitExitMMX stores them when it is left, unless
// the guest's x87 is loaded.
func (e *Engine) emitEnterMMX() { e.unlessX87(e.emitLoadMMX) }

func (e *Engine) emitExitMMX() {
	e.unlessX87(func() {
		e.emitStoreMMX()
		e.byte(0x0f, 0x77) // emms
	})
}

// unlessX87 does something unless the guest's x87 is loaded. It loses the flags.
func (e *Engine) unlessX87(do func()) {
	loaded := e.jumpX87(x87Away, condNE)
	do()
	e.link(loaded, e.pos)
}

func (e *Engine) emitLoadMMX() {
	load := func(m mmx, off int) { e.mm(opMOVQLoad, m, off) }
	e.kept(load)
	for _, c := range e.constants {
		load(c.in, c.off)
	}
}

func (e *Engine) emitStoreMMX() { e.kept(func(m mmx, off int) { e.mm(opMOVQStore, m, off) }) }

// emitX87Routines generates toX87, which changes from MMX to the guest's x87 and goes to where stBack says, or two
// bytes in front of that if the guest has done so maxX87 times, and fromX87, which changes back. RCX is in slotTmp;
// other registers and the flags stay.
func (e *Engine) emitX87Routines() {
	e.stubs.toX87 = e.pos
	e.emitStoreMMX()
	e.storeImm32(stX87, x87Changing)
	e.emitLoadX87()
	e.load(x86.RCX, stX87Left)
	e.lea(x86.RCX, x86.RCX, -1)
	e.store(stX87Left, x86.RCX)
	often := e.short(opJRCXZ)
	e.load(x86.RCX, slotTmp)
	e.emitGoBack()
	e.patchShort(often)
	e.load(x86.RCX, stBack)
	e.lea(x86.RCX, x86.RCX, -2)
	e.store(stBack, x86.RCX)
	e.load(x86.RCX, slotTmp)
	e.emitGoBack()

	e.stubs.fromX87 = e.pos
	e.load(x86.RCX, stFP)
	e.byte(0x48, 0x0f, 0xae, 0x01) // fxsave64 [rcx]
	e.storeImm32(stX87Saved, 1)
	e.storeImm32(stX87, x87Changing)
	e.stubs.loadMMX = e.pos
	e.byte(0xdb, 0xe3) // fninit: an exception that waits would be MMX's
	e.emitLoadMMX()
	e.storeImm32(stX87, x87Away)
	e.load(x86.RCX, slotTmp)
	e.emitGoBack()
	e.stubs.endX87, e.stubs.end = e.pos, e.pos
}

// changing reports whether an interrupt came at an arena offset of emitX87Routines's code while RSP was no canonical
// address (see interrupted), and where that is to go on: nothing there faults.
func (e *Engine) changing(pos int) (resume int, ok bool) {
	if pos < e.stubs.toX87 || pos >= e.stubs.endX87 || guest.Canonical(emu.Addr(e.get(stRegs+8*emu.RSP))) {
		return 0, false
	}
	if pos > e.stubs.loadMMX && e.get(stX87) == x87Changing { // what was loaded is gone
		pos = e.stubs.loadMMX
	}
	return pos, true
}

// emitToX87 changes to the guest's x87, in front of an instruction. UD2, which is skipped, says that the guest does so
// often.
func (e *Engine) emitToX87() {
	e.store(slotTmp, x86.RCX)
	e.leaRIP(x86.RCX, e.pos+7+7+5+len(ud2))
	e.store(stBack, x86.RCX)
	e.jmp(e.stubs.toX87)
	e.byte(ud2...)
	e.x87 = true
}

var ud2 = []byte{0x0f, 0x0b}

// emitFromX87 changes back.
func (e *Engine) emitFromX87() {
	e.store(slotTmp, x86.RCX)
	e.leaRIP(x86.RCX, e.pos+7+7+5)
	e.store(stBack, x86.RCX)
	e.jmp(e.stubs.fromX87)
	e.x87 = false
}

// oftenX87 reports whether the host's exception f at an arena offset is that of emitToX87.
func (e *Engine) oftenX87(f emu.Fault, pos int) bool {
	return e.mmx && f.Vector == emu.VecUD && slices.Equal(e.arena.mem[pos:pos+len(ud2)], ud2)
}

// takeX87 is called when the guest has used x87 maxX87 times, while nothing of its code runs. It gives it to the guest
// for good if that was often.
func (e *Engine) takeX87() {
	e.set(stX87Left, maxX87)
	executed := e.Executed()
	few := executed-e.x87Since > maxX87*x87Part
	e.x87Since = executed
	if !few {
		e.withoutMMX()
	}
}

// withoutMMX has the engine's values in memory from now on. All is translated anew.
func (e *Engine) withoutMMX() {
	e.flush()
	e.mmx = false
	if k := e.calls; k != nil {
		e.set(k.totalAt(k.callsColumn(), 0), 0)
		k.registers, k.inRegisters = nil, false
		k.setParts()
	}
	e.placeStubs()
	e.set(stX87, x87Away)
}

// emitMMX emits an instruction with m and a word of a row.
func (e *Engine) emitMMX(op byte, m mmx, at row, word int) {
	if at.base == x86.NoReg {
		e.mm(op, m, at.off+8*word)
	} else {
		e.mmAt(op, m, at.base, int32(8*word))
	}
}

// emitSSE emits an instruction with XMM15 and two words of a row.
func (e *Engine) emitSSE(op byte, at row, word int) {
	if at.base == x86.NoReg {
		e.sse(op, at.off+8*word)
	} else {
		e.sseAt(op, at.base, int32(8*word))
	}
}

// emitAddMMX adds the totals, and 1 for a call that counts if calls is set, to words of a row from word on. It leaves
// registers and flags alone.
func (e *Engine) emitAddMMX(at row, word int, calls bool) {
	k := e.calls
	for c, m := range k.registers[:k.callsColumn()+b2i(calls)] {
		e.emitMMX(opMOVQLoad, mmScratch, at, word+c)
		if m != inMemory {
			e.mmReg(opPADDQ, mmScratch, m)
		} else {
			e.mm(opPADDQ, mmScratch, k.totalAt(c, 0))
		}
		e.emitMMX(opMOVQStore, mmScratch, at, word+c)
	}
	if k.rare == len(k.registers) {
		return
	}
	e.sse(opMOVUPSStore, stXMM15)
	for c := k.rare; c < len(k.registers); c += 2 {
		e.emitSSE(opMOVUPSLoad, at, word+c)
		e.sse(opPADDQ, k.totalAt(c, 0))
		e.emitSSE(opMOVUPSStore, at, word+c)
	}
	e.sse(opMOVUPSLoad, stXMM15)
}

// emitSumMMX adds n to the total in m.
func (e *Engine) emitSumMMX(m mmx, n int) {
	for ; n > maxStep; n -= maxStep {
		e.emitAddStep(m, maxStep)
	}
	e.emitAddStep(m, n)
}

// emitFrameMMX stores the frame at regBias: RSP and n, which is at an arena offset, and the arc behind that.
func (e *Engine) emitFrameMMX(n int32, constant int) {
	if n == 0 {
		e.storeAt(regBias, 0, x86.RSP)
	} else {
		e.movqTo(mmScratch, x86.RSP)
		e.mm(opPADDQ, mmScratch, constant)
		e.mmAt(opMOVQStore, mmScratch, regBias, 0)
	}
	e.mm(opMOVQLoad, mmScratch, constant+8)
	e.mmAt(opMOVQStore, mmScratch, regBias, 8)
}

// emitCountMMX counts once on a counter, and leaves registers and flags alone.
func (e *Engine) emitCountMMX(counter int) {
	e.emitAddWordMMX(counterOff+8*counter, 1)
	if e.metered {
		e.emitAddWordMMX(meterOf(counter), int(e.weights[counter]))
	}
}

// emitAddWordMMX adds n to a word of memory, and leaves registers and flags alone.
func (e *Engine) emitAddWordMMX(off, n int) {
	e.mm(opMOVQLoad, mmScratch, off)
	e.emitSumMMX(mmScratch, n)
	e.mm(opMOVQStore, mmScratch, off)
}

// emitOverdrawnMMX takes n off the budget, and loads into RCX what is not 0 if it is negative then. It leaves the flags
// alone.
func (e *Engine) emitOverdrawnMMX(n int) {
	e.emitAddStep(mmBudget, -n)
	e.mmReg(opMOVQLoad, mmScratch, mmBudget)
	e.psrlq(mmScratch, 63)
	e.movqFrom(x86.RCX, mmScratch)
}

//go:build linux && amd64

package jit

import (
	"math/bits"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
)

// Spilled registers: generated code that simulates needs registers of its own. It stores the
// guest's value to the register's slot and works with the register until the guest
// reads it or the block ends; where the guest overwrites it first, nothing has to be
// loaded again.

// spill frees a register.
func (e *Engine) spill(r x86.Reg) {
	if e.spilled>>r&1 == 0 {
		defer e.emitFor(e.emitFor(forFlags))
		e.store(stSpill+8*int(r), r)
		e.nowSpilled(r)
	}
}

// nowSpilled notes that the guest's value is in the slot.
func (e *Engine) nowSpilled(r x86.Reg) {
	if e.away>>r&1 != 0 {
		e.saves(e.spilledAt[r], saved{reg: r, kind: inPlace})
	}
	e.spilled |= 1 << r
	e.spilledAt[r] = e.pos
}

// reload gives registers back to the guest.
func (e *Engine) reload(regs uint16) {
	defer e.emitFor(e.emitFor(forFlags))
	for r := x86.RAX; r <= x86.R15; r++ {
		if e.spilled&regs>>r&1 != 0 {
			e.load(r, stSpill+8*int(r))
			e.reloaded(r)
		}
	}
}

// reloaded notes that the guest's value is in the register again.
func (e *Engine) reloaded(r x86.Reg) {
	if e.away>>r&1 == 0 {
		e.saved(e.spilledAt[r], r, stSpill+8*int(r), 0)
	}
	e.spilled &^= 1 << r
	e.spilledAt[r] = e.pos
	if r == e.directoryIn {
		e.directoryIn = x86.NoReg
	}
}

// unused returns the spilled registers that have nothing else either.
func (e *Engine) unused() (regs uint16) {
	if e.directoryIn == x86.NoReg {
		return e.spilled
	}
	return e.spilled &^ (1 << e.directoryIn)
}

// reloadFor makes the registers and flags available that g needs.
func (e *Engine) reloadFor(g *ginsn) {
	e.giveFlagsFor(g)
	switch g.Kind {
	case guest.Plain, guest.Nop, guest.Lea, guest.Push, guest.Pop:
		e.reload(g.GPRRead)
	case guest.Branch:
		switch {
		case g.Flow == x86.FlowJcc || g.follow:
		case g.Flow == x86.FlowJmpInd || g.Flow == x86.FlowCallInd: // emitIndirect sends them away
			e.reload(g.GPRRead | ^e.away)
		default:
			e.settleRegs()
		}
	case guest.Emulated: // emitEmulated sends them away
		e.reload(g.GPRRead | ^e.away)
	default:
		e.reload(0xffff)
	}
}

// overwritten notes that g, just emitted, has given registers new values.
func (e *Engine) overwritten(g *ginsn) {
	for r := x86.RAX; r <= x86.R15; r++ {
		if e.spilled&g.GPRWrite>>r&1 != 0 {
			e.reloaded(r)
		}
	}
	if overwritesFlags(g) {
		e.endFlags()
	}
}

// scratch spills the register, none of avoid, that the guest reads last from instruction i on, the first of several:
// code with it is shorter.
func (e *Engine) scratch(i int, avoid uint16) x86.Reg {
	if r := e.freeScratch(avoid); r != x86.NoReg {
		return r
	}
	avoid |= e.inUse()
	best, last := x86.NoReg, -1
	for k := range x86.R15 + 1 {
		r := (regSpare + k) % 16
		if n := e.nextRead(i, r); avoid>>r&1 == 0 && n > last {
			best, last = r, n
		}
	}
	e.spill(best)
	return best
}

// freeScratch returns a register, none of avoid, that is spilled already, or NoReg.
func (e *Engine) freeScratch(avoid uint16) x86.Reg {
	if free := e.spilled &^ (avoid | e.inUse()); free != 0 {
		return lowest(free)
	}
	return x86.NoReg
}

// inUse are the registers that generated code needs for something else.
func (e *Engine) inUse() (regs uint16) {
	regs = 1 << x86.RSP
	if e.flagsSpilled {
		regs |= 1 << x86.RAX
	}
	if e.directoryIn != x86.NoReg {
		regs |= 1 << e.directoryIn
	}
	return regs
}

// lowest returns the first register of a set that is not empty.
func lowest(regs uint16) x86.Reg { return x86.Reg(bits.TrailingZeros16(regs)) }

// nextRead returns how far from instruction i the block first reads r; far if it overwrites r first.
func (e *Engine) nextRead(i int, r x86.Reg) int {
	for k := i; k < len(e.block); k++ {
		g := &e.block[k]
		switch {
		case g.GPRRead>>r&1 != 0 || g.Kind.Ends():
			return k - i
		case g.GPRWrite>>r&1 != 0:
			return 2 * maxBlock
		}
	}
	return maxBlock
}

// flagsLive reports whether the status flags in front of instruction i may still be read.
func (e *Engine) flagsLive(i int) bool {
	live := x86.StatusFlags
	for k := i; k < len(e.block); k++ {
		g := &e.block[k]
		if g.FlagsRead&live != 0 || g.Kind.Ends() || k > i && (e.mayHaveChanged(k) || e.checked(k)) {
			return true
		}
		live &^= g.FlagsWrite &^ g.FlagsRead
		if live == 0 {
			return false
		}
		if g.Kind == guest.Branch && !g.follow && g.Flow != x86.FlowJcc {
			return !e.flagsDeadBehind(g)
		}
		if g.Flow == x86.FlowJcc && e.flagsAtTarget(e.leavesTo(g))&flagsDead == 0 {
			return true
		}
	}
	last := &e.block[len(e.block)-1]
	return e.mayHaveChanged(len(e.block)) || e.flagsAtTarget(e.fallsTo(last))&flagsDead == 0
}

// flagsDeadBehind reports whether the status flags are overwritten before they are read behind g, a jump or call that
// ends the block.
func (e *Engine) flagsDeadBehind(g *ginsn) bool {
	direct := g.Flow == x86.FlowCall || g.Flow == x86.FlowJmp
	if direct && e.flagsAtTarget(g.Dest())&flagsDead != 0 {
		return true
	}
	l := &e.led
	switch {
	case l.asked:
	case direct:
		l.to, l.ok = e.entryLeadsTo(g.Dest())
	default:
		if l.to, l.ok = e.leadsTo(g); l.ok {
			e.readWord(wordOf(g))
		}
	}
	l.asked = true
	return l.ok && e.flagsAtTarget(l.to)&flagsDead != 0
}

// leavesTo returns where a Jcc goes if the block does not go on behind it; the end of a block goes on
// with the next instruction.
func (e *Engine) leavesTo(g *ginsn) emu.Addr {
	if g.again {
		return g.Next()
	}
	return g.Dest()
}

// spillFlags makes the flags free to change in front of instruction i: live ones wait in RAX, whose own
// value is spilled, until they are read or overwritten.
func (e *Engine) spillFlags(i int) {
	switch live := e.flagsLive(i); {
	case !live:
		e.endFlags()
	case !e.flagsSpilled:
		defer e.emitFor(e.emitFor(forFlags))
		e.spill(x86.RAX)
		e.saveFlags()
		e.flagsSpilled, e.flagsAt = true, e.pos
	}
}

// endFlags notes that RAX no longer has the guest's flags.
func (e *Engine) endFlags() {
	if e.flagsSpilled {
		e.saves(e.flagsAt, saved{kind: flagsInRAX})
		e.flagsSpilled = false
	}
}

// giveFlags gives the flags back to the guest.
func (e *Engine) giveFlags() {
	if e.flagsSpilled {
		defer e.emitFor(e.emitFor(forFlags))
		e.endFlags()
		e.restoreFlags()
	}
}

// giveFlagsFor gives them back in front of g if it reads them, or changes some, or RAX.
func (e *Engine) giveFlagsFor(g *ginsn) {
	if g.Kind == guest.Leave || g.Kind > guest.Lea || (g.FlagsRead|g.FlagsWrite)&x86.StatusFlags != 0 && !overwritesFlags(g) ||
		(g.GPRRead|g.GPRWrite)>>x86.RAX&1 != 0 {
		e.giveFlags()
	}
}

// overwritesFlags reports whether g overwrites all status flags whatever they were.
func overwritesFlags(g *ginsn) bool {
	return g.FlagsWrite&x86.StatusFlags == x86.StatusFlags && g.FlagsRead&x86.StatusFlags == 0
}

// restoreFlags takes the flags back from RAX.
func (e *assembler) restoreFlags() {
	e.byte(0x04, 0x7f, 0x9e) // add al, 127; sahf
}

// saveFlags puts them there.
func (e *assembler) saveFlags() {
	e.byte(0x9f, 0x0f, 0x90, 0xc0) // lahf; seto al
}

//go:build linux && amd64

package jit

import (
	"math/bits"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
	"github.com/cgemu/cgemu/hooks"
)

// A repetition is a repeated string instruction of many iterations, which is executed in pieces: to the host it is one
// instruction, and between two pieces Go sees what Interrupt and the budget ask for.
type repetition struct {
	// making says that generated code makes a piece, and rest how many iterations lie behind it.
	making bool
	rest   uint64
	// piece is the arena offset of the code that makes one.
	piece int
	// flags are those in front of the instruction.
	flags uint64
	// paused is the CPU that Interrupt stopped between two pieces, at the instruction at, which run
	// instructions of its straight run lie in front of; nil if there is none.
	paused *emu.CPU
	at     emu.Addr
	run    int
}

// manyRepeats returns from which power of two on iterations are many, and made in pieces, each of which costs two
// exits. Without a budget the limit is higher.
func (e *Engine) manyRepeats() int {
	if e.budgeted {
		return emu.MaxRepeat
	}
	return emu.MaxPiece
}

// emitRep translates a repeated string instruction: the host repeats, and the
// iterations are what RCX lost.
func (e *Engine) emitRep(g *ginsn, i int) {
	outside, none := e.outside(g), 0
	if !outside {
		none = e.short(opJRCXZ)
	}
	e.store(slotC, x86.RCX)
	e.store(slotA, x86.RDX)
	e.movImm(x86.RDX, uint64(log2(e.manyRepeats())))
	e.byte(0xc4, 0xe2, 0xeb, 0xf7, 0xc9) // shrx rcx, rcx, rdx
	e.load(x86.RDX, slotA)
	few := e.short(opJRCXZ)
	e.load(x86.RCX, slotC)
	site, end := e.jmp(0), 0
	if !outside {
		e.patchShort(none)
		end = e.jmp(0)
	}
	e.emitExit(site, exit{kind: exitLong, rip: g.PC, t: e.t, insn: int16(i), first: int32(e.pos)})
	e.store(slotC, x86.RCX)
	e.emitString(g)
	kept := e.recordDecoded(g)
	e.emitExit(e.jmp(0), exit{kind: exitPiece, rip: g.PC, t: e.t, insn: int16(i), second: kept})
	piece := len(e.stubsDue) - 1
	e.patchShort(few)
	e.load(x86.RCX, slotC)
	e.emitString(g)
	switch r := hooks.CountedRepeat(&g.Inst, &e.Config); {
	case outside:
		e.repCounters = append(e.repCounters, repCounter{insn: int16(i), outside: true})
		e.emitOutside(i, exitRepeated)
		e.stubsDue[len(e.stubsDue)-1].exit.second = kept
	case r != hooks.NoRepeat:
		k := e.newCounter(1)
		e.repCounters = append(e.repCounters, repCounter{insn: int16(i), counter: int32(k)})
		e.emitIterations(r, k)
	}
	if !outside {
		e.link(end, e.pos)
	}
	e.stubsDue[piece].exit.first = int32(e.pos)
}

// repeatLong handles the exits in front of a piece and behind one: generated code goes on with the next piece or behind
// the instruction.
func (e *Engine) repeatLong(c *emu.CPU, x *exit) (emu.Addr, *emu.Stop) {
	if x.kind == exitLong {
		e.rep.piece, e.rep.flags = x.resume(), e.get(stFlags)
	} else {
		g := e.insnOf(x)
		before := e.endPiece()
		e.storeCPU(c, x.rip)
		ends := c.Regs[emu.RCX] == 0 || hooks.EndsByCondition(&g.Inst, c.Flags&emu.FlagZF != 0)
		e.charge(x.rip, before, c.Regs[emu.RCX], ends)
		e.repeated(c, x.t, g, before, !ends)
		if ends {
			e.resume = x.resume()
			return x.rip, nil
		}
		if stops, stop := e.pause(c, x); stops {
			return x.rip, stop
		}
	}
	n := e.get(stRegs + 8*emu.RCX)
	piece := e.pieceOf(x.rip, n)
	e.set(stRegs+8*emu.RCX, piece)
	e.rep.making, e.rep.rest = true, n-piece
	e.resume = e.rep.piece
	return x.rip, nil
}

// endPiece makes of slotC and RCX what they are to the whole instruction, and returns the former: RCX in front of the
// piece.
func (e *Engine) endPiece() (before uint64) {
	e.rep.making = false
	const rcx = stRegs + 8*emu.RCX
	e.set(slotC, e.get(slotC)+e.rep.rest)
	e.set(rcx, e.get(rcx)+e.rep.rest)
	return e.get(slotC)
}

// checksRepeat reports whether the iterations of the REP instruction at pc are taken off the budget.
func (e *Engine) checksRepeat(pc emu.Addr) bool {
	return e.budgeted && !e.RepOnce && !e.marks[pc]
}

// pieceOf returns how many of n iterations of the instruction at pc are made next.
func (e *Engine) pieceOf(pc emu.Addr, n uint64) uint64 {
	if e.checksRepeat(pc) {
		return emu.CheckedPiece(n, int64(e.get(stBudget)))
	}
	return emu.Piece(n)
}

// charge takes the iterations of the instruction at pc that made after of before off the budget. ended says that it
// ended there.
func (e *Engine) charge(pc emu.Addr, before, after uint64, ended bool) {
	if e.checksRepeat(pc) {
		e.set(stBudget, e.get(stBudget)-emu.PieceCost(before, after, ended))
	}
}

// pause reports whether the guest stops between two pieces of the instruction of x, and for which reason, nil for an
// interrupt. The instruction itself then counts when it ends.
func (e *Engine) pause(c *emu.CPU, x *exit) (stops bool, stop *emu.Stop) {
	run := int(x.t.insn(int(x.insn)).run)
	switch {
	case int64(e.get(stBudget)) < 0:
		stop = &plainStops[emu.StopBudget]
	case e.interrupt.Load():
		e.rep.paused, e.rep.at, e.rep.run = c, x.rip, 0
		if e.budgeted {
			e.rep.run = run
		}
	default:
		return false, nil
	}
	i := int(x.insn)
	e.correctCounts(x.t, i, true)
	e.correctTotals(x.t, i, e.summed(x.t, i, true))
	e.passing, e.passes = c, x.rip // a mark there was passed
	return true, stop
}

// faultedPiece does what is due if a piece of the instruction at pc raised a fault. The flags are as a fault of the
// whole instruction would leave them on the host: AMD's CPUs show those of the last iteration, Intel's those in front
// of it.
func (e *Engine) faultedPiece(pc emu.Addr) {
	if !e.rep.making {
		return
	}
	before := e.endPiece()
	e.charge(pc, before, e.get(stRegs+8*emu.RCX), false)
	if hostIsIntel() {
		e.set(stFlags, e.rep.flags)
	}
}

// emulateRepeated executes a repeated string instruction of traps.
func (e *Engine) emulateRepeated(c *emu.CPU, g *ginsn, x *exit) (emu.Addr, *emu.Stop) {
	e.storeCPU(c, g.Next())
	defer e.loadCPU(c)
	mask := ^uint64(0)
	if g.Mem.AddrSize == 4 {
		mask = 1<<32 - 1
	}
	for flags := c.Flags; ; {
		before := c.Regs[emu.RCX]
		e.machine.Piece = e.pieceOf(x.rip, before&mask)
		f := e.machine.Execute(c, &g.Insn)
		again := f == nil && c.RIP == g.PC
		e.charge(x.rip, before&mask, c.Regs[emu.RCX]&mask, f == nil && !again)
		e.repeated(c, x.t, g, before, f != nil || again)
		if f != nil {
			c.Flags = flags
			return x.rip, stopFault(*f)
		}
		if !again {
			return c.RIP, nil
		}
		if stops, stop := e.pause(c, x); stops {
			return x.rip, stop
		}
		c.RIP = g.Next()
	}
}

// repeated counts and simulates iterations of the REP instruction g of t that have been made: RCX was before in front
// of them. unfinished says that the instruction did not end behind them: a fault did, or more are to come.
func (e *Engine) repeated(c *emu.CPU, t *tb, g *ginsn, before uint64, unfinished bool) {
	it := hooks.IterationsOf(&g.Inst, c, before, unfinished)
	e.tally(t, g.PC, emu.Reps, int64(it.N))
	extra := it.Ir(&e.Config)
	e.tally(t, g.PC, emu.Ir, int64(extra))
	e.executed += int64(extra)
	if e.details() {
		e.tally(t, g.PC, emu.Bc, int64(it.Branches(func(taken bool) { e.condBranch(t, g.PC, taken) })))
		e.repeatedRefs(c, t, g, it.N)
	}
}

// repeatedRefs counts and simulates the references of n iterations of g, which have been made.
func (e *Engine) repeatedRefs(c *emu.CPU, t *tb, g *ginsn, n uint64) {
	if n == 0 {
		return
	}
	refs := g.Refs[:g.NRefs]
	step := int64(g.OpSize)
	if c.Flags&emu.FlagDF != 0 {
		step = -step
	}
	var at [4]emu.Addr
	for k, r := range refs {
		at[k] = guest.RefAddr(c, &g.Insn, r) - emu.Addr(int64(n)*step)
		for _, ev := range hooks.EventsOf(r) {
			e.tally(t, g.PC, ev, int64(n))
		}
	}
	if !e.sim.caches || t.cache.counting == emu.CountOff {
		return
	}
	for n > 0 {
		missed := false
		for k, r := range refs {
			missed = e.dataRef(t, g.PC, at[k], r) || missed
		}
		run := uint64(1)
		if !missed {
			// So are those that stay in the same lines: they change nothing more.
			run = min(n, e.sameLines(at[:len(refs)], step))
		}
		for k := range refs {
			at[k] += emu.Addr(int64(run) * step)
		}
		n -= run
	}
}

// sameLines returns how many iterations, this one included, touch the lines that this one does,
// and each of its references one line. It is at least 1.
func (e *Engine) sameLines(at []emu.Addr, step int64) uint64 {
	run := ^uint64(0)
	line := uint64(e.sim.d1.line)
	size := uint64(max(step, -step))
	shift := bits.TrailingZeros64(size) // a division takes longer than a look into the cache
	for _, a := range at {
		in := uint64(a) & (line - 1)
		switch {
		case in+size > line:
			return 1
		case step > 0:
			run = min(run, (line-in)>>shift)
		default:
			run = min(run, in>>shift+1)
		}
	}
	return run
}

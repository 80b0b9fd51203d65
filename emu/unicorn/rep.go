//go:build unicorn && linux && (amd64 || arm64)

package unicorn

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
	"github.com/cgemu/cgemu/hooks"
)

// repeat has the library execute a REP instruction, in pieces if it is long, and counts what it did.
func (e *Engine) repeat(c *emu.CPU, rip *emu.Addr, in *insn) *emu.Stop {
	at := *rip
	e.storeGeneral(c)
	flags, has := c.Flags, c.Regs[emu.RCX] // what the library has in RCX
	for {
		before := c.Regs[emu.RCX]
		piece := e.pieceOf(at, before)
		if c.Regs[emu.RCX] = piece; piece != has {
			e.loadGeneral(c)
		}
		f, err := e.runPiece(c, at)
		has = c.Regs[emu.RCX]
		c.Regs[emu.RCX] += before - piece
		e.decode(at)
		ends := f == nil && err == nil && (c.Regs[emu.RCX] == 0 || hooks.EndsByCondition(&e.g.Inst, c.Flags&emu.FlagZF != 0))
		e.chargePiece(at, before, c.Regs[emu.RCX], ends)
		if f != nil {
			e.place(c, &e.g, f)
		}
		e.repeated(c, at, before, !ends)
		switch {
		case err != nil:
			return e.broken(c, at, err)
		case ends:
			if c.Regs[emu.RCX] != has {
				e.loadGeneral(c)
			}
			*rip = emu.Addr(e.shared.at)
			return nil
		case f != nil:
			// SDM Vol. 2, REP: the flags are as before the whole instruction.
			c.Flags = c.Flags&^uint64(x86.StatusFlags) | flags&uint64(x86.StatusFlags)
			e.storeFloat(c)
			c.RIP = at
			return &emu.Stop{Reason: emu.StopFault, Fault: f}
		}
		if stop := e.pause(c, at, in); stop != nil {
			e.storeFloat(c)
			c.RIP = at
			return stop
		}
	}
}

// runPiece has the library execute the REP instruction at a, and returns the fault that ended it.
func (e *Engine) runPiece(c *emu.CPU, at emu.Addr) (*emu.Fault, error) {
	for ring := e.shared.ring; ; {
		e.shared.ring = 0
		e.shared.pass, e.shared.thenPass, e.stepping = uint64(at), uint64(at), true
		err := e.start(at)
		e.shared.ring = ring
		e.storeGeneral(c)
		if err == nil {
			return nil, nil
		}
		f, again, err := e.accessFault(err)
		if err != nil || !again {
			return &f, err
		}
		e.mem.Unguard(f.Addr, f.Addr+1)
	}
}

// repeatInGo executes a repeated string instruction that the library cannot execute.
func (e *Engine) repeatInGo(c *emu.CPU, rip *emu.Addr, in *insn) *emu.Stop {
	at, g := *rip, &e.g
	e.store(c, g.Next())
	mask := ^uint64(0)
	if g.Mem.AddrSize == 4 {
		mask = 1<<32 - 1
	}
	for flags := c.Flags; ; c.RIP = g.Next() {
		before := c.Regs[emu.RCX]
		e.machine.Piece = e.pieceOf(at, before&mask)
		f := e.machine.Execute(c, g)
		again := f == nil && c.RIP == at
		e.chargePiece(at, before&mask, c.Regs[emu.RCX]&mask, f == nil && !again)
		e.repeated(c, at, before, f != nil || again)
		switch {
		case f != nil:
			c.Flags, c.RIP = flags, at
			return &emu.Stop{Reason: emu.StopFault, Fault: f}
		case !again:
			e.load(c, rip)
			return nil
		}
		if stop := e.pause(c, at, in); stop != nil {
			return stop
		}
	}
}

// checksRepeat reports whether the iterations of the REP instruction at a are taken off the budget.
func (e *Engine) checksRepeat(a emu.Addr) bool {
	return e.shared.budgeted != 0 && !e.RepOnce && !e.marks[a]
}

// pieceOf returns how many of n iterations of the instruction at a are made next.
func (e *Engine) pieceOf(a emu.Addr, n uint64) uint64 {
	if e.checksRepeat(a) {
		return emu.CheckedPiece(n, e.shared.budget)
	}
	return emu.Piece(n)
}

// chargePiece takes the iterations of the instruction at a that made after of before off the budget. ended says that it
// ended there.
func (e *Engine) chargePiece(a emu.Addr, before, after uint64, ended bool) {
	if e.checksRepeat(a) {
		e.shared.budget -= int64(emu.PieceCost(before, after, ended))
	}
}

// pause returns why the guest stops between two pieces of the instruction at a, nil if it does not. The instruction
// itself then counts when it ends.
func (e *Engine) pause(c *emu.CPU, a emu.Addr, in *insn) *emu.Stop {
	stop := &emu.Stop{Reason: emu.StopInterrupt}
	switch s := e.shared; {
	case s.budgeted != 0 && s.budget < 0:
		stop.Reason = emu.StopBudget
	case e.interrupt.Swap(false):
		e.interrupted = c
		s.run = (s.run + emu.MaxRun - 1) % emu.MaxRun
	default:
		return nil
	}
	e.shared.executed--
	if e.counting == emu.CountAll {
		e.settle(a, in, ^uint64(0))
	}
	e.passing, e.passes = c, a // a mark there was passed
	return stop
}

// repeated counts and simulates iterations of a REP instruction, which is in e.g and was begun, that have been made:
// RCX was before in front of them. unfinished says that the instruction did not end behind them: a fault did, or more
// are to come.
func (e *Engine) repeated(c *emu.CPU, at emu.Addr, before uint64, unfinished bool) {
	g := &e.g
	e.drop()
	it := hooks.IterationsOf(&g.Inst, c, before, unfinished)
	e.tally(at, emu.Reps, int64(it.N))
	extra := it.Ir(&e.Config)
	e.tally(at, emu.Ir, int64(extra))
	e.shared.executed += extra
	if e.watching() {
		e.tally(at, emu.Bc, int64(it.Branches(func(taken bool) { e.conditional(at, taken) })))
		e.repeatedRefs(c, at, it.N)
	}
}

// repeatedRefs counts and simulates the references of n iterations, which have been made.
func (e *Engine) repeatedRefs(c *emu.CPU, at emu.Addr, n uint64) {
	if n == 0 {
		return
	}
	g := &e.g
	step := int64(g.OpSize)
	if c.Flags&emu.FlagDF != 0 {
		step = -step
	}
	refs := g.Refs[:g.NRefs]
	var from [4]emu.Addr
	for k, r := range refs {
		from[k] = guest.RefAddr(c, g, r) - emu.Addr(int64(n)*step)
		for _, ev := range hooks.EventsOf(r) {
			e.tally(at, ev, int64(n))
		}
	}
	if e.sim.caches == nil {
		return
	}
	for range n {
		for k, r := range refs {
			e.data(at, from[k], r)
			from[k] += emu.Addr(step)
		}
	}
}

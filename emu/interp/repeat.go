package interp

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/sem"
	"github.com/cgemu/cgemu/hooks"
)

// repeat executes b's instruction i, a string instruction with a REP prefix, in pieces. left says that b does not go on
// behind it.
func (e *Engine) repeat(c *emu.CPU, b *block, i int) (stop *emu.Stop, left bool) {
	in := &b.insns[i]
	execute := sem.Of(&in.Insn)
	mask := ^uint64(0)
	if in.Mem.AddrSize == 4 {
		mask = 1<<32 - 1
	}
	checked := e.budgeted && !e.RepOnce && !e.marks[in.PC]
	for flags := c.Flags; ; c.RIP = in.Next() {
		before := c.Regs[emu.RCX]
		if e.machine.Piece = emu.Piece(before & mask); checked {
			e.machine.Piece = emu.CheckedPiece(before&mask, e.left)
		}
		f := execute(&e.machine, c, &in.Insn)
		again := f == nil && c.RIP == in.PC
		if checked {
			e.left -= int64(emu.PieceCost(before&mask, c.Regs[emu.RCX]&mask, f == nil && !again))
		}
		e.repeated(c, in, before, f != nil || again)
		switch {
		case f != nil:
			c.Flags = flags // SDM Vol. 2, REP: as before the whole instruction
			return e.fault(c, b, i, f), true
		case !again && (b.dropped || in.Kind == guest.Emulated):
			return e.leave(b, i), true
		case !again:
			return nil, false
		}
		if stop := e.pause(c, b, i, checked); stop != nil {
			return stop, true
		}
	}
}

// pause returns why the guest stops between two pieces of b's instruction i, nil if it does not. The instruction itself
// then counts when it ends.
func (e *Engine) pause(c *emu.CPU, b *block, i int, checked bool) *emu.Stop {
	stop := &emu.Stop{Reason: emu.StopInterrupt}
	switch {
	case checked && e.left < 0:
		stop.Reason = emu.StopBudget
	case e.interrupt.Swap(false):
		e.interrupted = e.owner
		e.run = (e.run + i) % emu.MaxRun
	default:
		return nil
	}
	e.uncount(b, i)
	e.gatherRest(b)
	c.RIP = b.insns[i].PC
	e.passing, e.passes = e.owner, c.RIP // a mark there was passed
	return stop
}

// repeated counts and simulates iterations of a REP instruction that have been made: RCX was before in front of them.
// unfinished says that the instruction did not end behind them: a fault did, or more are to come.
func (e *Engine) repeated(c *emu.CPU, in *insn, before uint64, unfinished bool) {
	it := hooks.IterationsOf(&in.Inst, c, before, unfinished)
	e.tally(in.PC, emu.Reps, int64(it.N))
	extra := it.Ir(&e.Config)
	e.tally(in.PC, emu.Ir, int64(extra))
	e.executed += extra
	if !e.watching() {
		return
	}
	e.tally(in.PC, emu.Bc, int64(it.Branches(func(taken bool) { e.conditional(in, taken) })))
	e.repeatedRefs(c, in, it.N)
}

// repeatedRefs counts and simulates the references of n iterations, which have been made.
func (e *Engine) repeatedRefs(c *emu.CPU, in *insn, n uint64) {
	if n == 0 {
		return
	}
	step := emu.Addr(in.OpSize)
	if c.Flags&emu.FlagDF != 0 {
		step = -step
	}
	refs := in.Refs[:in.NRefs]
	var at [4]emu.Addr
	for k, r := range refs {
		at[k] = guest.RefAddr(c, &in.Insn, r) - emu.Addr(n)*step
		for _, ev := range hooks.EventsOf(r) {
			e.tally(in.PC, ev, int64(n))
		}
	}
	if e.sim.caches == nil {
		return
	}
	for range n {
		for k, r := range refs {
			e.data(in, at[k], r)
			at[k] += step
		}
	}
}

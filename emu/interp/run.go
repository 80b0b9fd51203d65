package interp

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
)

// Run implements emu.Engine.
func (e *Engine) Run(c *emu.CPU, budget uint64) emu.Stop {
	e.budgeted, e.left = budget < emu.NoBudget, int64(budget)
	if e.interrupted != c {
		e.run = 0
	}
	e.interrupted = nil
	if err := e.findMemory(); err != nil {
		return emu.Stop{Reason: emu.StopFault, Fault: &emu.Fault{Vector: emu.VecUD, Failure: err.Error()}, Left: int64(budget)}
	}
	e.owner, e.state.CPU, e.state.kind = c, *c, kindNone
	if e.calls != nil {
		e.calls.Begin(c)
	}
	stop := e.careful()
	*c = e.state.CPU
	if stop.Left = e.left; !e.budgeted {
		stop.Left = int64(budget)
	}
	return *stop
}

// loop executes blocks until something stops it.
func (e *Engine) loop(c *emu.CPU) *emu.Stop {
	for {
		if e.interrupt.Load() && e.interrupt.Swap(false) {
			e.interrupted = e.owner
			return &emu.Stop{Reason: emu.StopInterrupt}
		}
		b, f := e.lookup(c.RIP)
		if f != nil {
			return faulted(*f)
		}
		if b.marked && (e.passing != e.owner || e.passes != b.pc) {
			e.passing, e.passes = e.owner, b.pc
			return &emu.Stop{Reason: emu.StopMark}
		}
		e.passing = nil
		var stop *emu.Stop
		if e.calls == nil {
			stop = e.enter(c, b)
		} else {
			stop = e.enterRecorded(c, b)
		}
		if stop != nil {
			return stop
		}
	}
}

// enter executes b, and those behind it that it knows. It returns nil if the run goes on at c's RIP.
func (e *Engine) enter(c *emu.CPU, b *block) *emu.Stop {
	switch {
	case c.Flags&emu.StepFlags != 0:
		return e.step(c, b)
	case e.run != 0 || b.alone:
		return e.execute(c, b, len(b.insns))
	case e.watching():
		return e.execSimulating(b)
	default:
		return e.exec(b)
	}
}

// lacking begins the text of a fault of an instruction without semantics.
const lacking = "an instruction that this engine lacks: "

func faulted(f emu.Fault) *emu.Stop { return &emu.Stop{Reason: emu.StopFault, Fault: &f} }

// execute executes the first n instructions of b. It returns nil if the run goes on at c's RIP.
func (e *Engine) execute(c *emu.CPU, b *block, n int) *emu.Stop {
	b.count++
	e.executed += uint64(len(b.insns))
	watching := e.watching()
	for i := range b.insns[:n] {
		in := &b.insns[i]
		if in.checksBudget() && !(b.marked && i == 0) && e.overdrawn(i) {
			return e.overdrawnBefore(b)
		}
		if watching {
			e.fetch(in)
			e.refer(c, in)
		}
		c.RIP = in.Next()
		if in.execute == nil {
			if stop, left := e.special(c, b, i); left {
				return stop
			}
			if b.code == nil || e.sameFrom(b, in.Next()) {
				continue
			}
			return e.leave(b, i)
		}
		if f := in.execute(&e.machine, c, &in.Insn); f != nil {
			return e.fault(c, b, i, f)
		}
		if watching {
			e.finish(in)
		}
		if b.dropped || in.Kind == guest.Emulated || b.code != nil && !e.sameFrom(b, in.Next()) {
			return e.leave(b, i)
		}
	}
	return e.leave(b, n-1)
}

// leave ends b behind its instruction i.
func (e *Engine) leave(b *block, i int) *emu.Stop {
	e.uncount(b, i+1)
	e.gatherRest(b)
	if e.run = (e.run + i + 1) % emu.MaxRun; b.insns[i].endsRun {
		e.run = 0
	}
	return nil
}

// fault ends the run with what b's instruction i raised.
func (e *Engine) fault(c *emu.CPU, b *block, i int, f *emu.Fault) *emu.Stop {
	in := &b.insns[i]
	e.uncount(b, i+1)
	if !f.Trap() {
		c.RIP = in.PC
	}
	e.onlyUpTo(c, in, f)
	e.gatherRest(b)
	e.machine.MarkBus(f)
	return faulted(*f)
}

// special executes b's instruction i, the last one, or one that repeats. left says that b does not go on behind it.
func (e *Engine) special(c *emu.CPU, b *block, i int) (stop *emu.Stop, left bool) {
	in := &b.insns[i]
	if in.Kind == guest.Rep || in.Kind == guest.Emulated && !in.Far() {
		return e.repeat(c, b, i)
	}
	return e.last(c, b, i), true
}

// last executes b's instruction i, with which b ends.
func (e *Engine) last(c *emu.CPU, b *block, i int) *emu.Stop {
	in := &b.insns[i]
	switch in.Kind {
	case guest.Branch:
		return e.branch(c, b, i)
	case guest.Syscall:
		c.Regs[emu.RCX] = uint64(c.RIP)
		c.Regs[emu.R11] = c.Flags&emu.UserFlags | emu.FlagR1 | emu.FlagIF
		return &emu.Stop{Reason: emu.StopSyscall}
	case guest.Client:
		return &emu.Stop{Reason: emu.StopClient}
	case guest.NRAddr:
		c.Regs[emu.RAX] = 0
		return e.leave(b, i)
	case guest.CallNoRedir:
		return e.callNoRedir(c, b, i)
	case guest.Emulated:
		return e.transferFar(c, b, i)
	case guest.Undefined, guest.Unknown, guest.Unsupported, guest.TooLong:
		f := e.decoder.Refuse(&in.Insn, e.Model)
		return e.fault(c, b, i, &f)
	}
	return e.fault(c, b, i, &emu.Fault{Vector: emu.VecUD, Unsupported: lacking + in.Op.String()})
}

// callNoRedir executes a client request that calls *RAX.
func (e *Engine) callNoRedir(c *emu.CPU, b *block, i int) *emu.Stop {
	if f := e.machine.Push(c, uint64(c.RIP)); f != nil {
		return e.fault(c, b, i, f)
	}
	if e.watching() {
		e.finish(&b.insns[i])
	}
	c.RIP = emu.Addr(c.Regs[emu.RAX])
	return e.leave(b, i)
}

// transferFar executes a far transfer.
func (e *Engine) transferFar(c *emu.CPU, b *block, i int) *emu.Stop {
	if f := e.machine.Execute(c, &b.insns[i].Insn); f != nil {
		return e.fault(c, b, i, f)
	}
	if e.watching() {
		e.finish(&b.insns[i])
	}
	return e.leave(b, i)
}

// step executes the first instruction of b with TF or AC set: it raises VecDB behind an instruction that TF was set in
// front of, and VecAC for an unaligned access. A repeated string instruction counts as one.
func (e *Engine) step(c *emu.CPU, b *block) *emu.Stop {
	traps, in := c.Flags&emu.FlagTF != 0, &b.insns[0]
	if c.Flags&emu.FlagAC != 0 && guest.Misaligned(c, &in.Insn) {
		return faulted(emu.Fault{Vector: emu.VecAC})
	}
	stop := e.execute(c, b, 1)
	e.run = 0
	if stop == nil && traps {
		return faulted(emu.Fault{Vector: emu.VecDB})
	}
	return stop
}

// overdrawn takes the straight run that ends with b's instruction i off the budget, and reports whether it is used up.
func (e *Engine) overdrawn(i int) bool {
	e.left -= int64((e.run+i)%emu.MaxRun + 1)
	return e.left < 0
}

// branch executes b's instruction i, which is a branch.
func (e *Engine) branch(c *emu.CPU, b *block, i int) *emu.Stop {
	in := &b.insns[i]
	taken, f := e.machine.Branch(c, &in.Insn)
	if f != nil {
		return e.fault(c, b, i, f)
	}
	if e.watching() {
		e.finish(in)
	}
	e.branched(in, taken, c.RIP)
	e.gatherRest(b)
	over := taken && in.Target < 0 && in.Flow != x86.FlowCall && e.overdrawn(i)
	if e.run = 0; over {
		return &emu.Stop{Reason: emu.StopBudget}
	}
	return nil
}

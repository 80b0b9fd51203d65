package interp

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/callgraph"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/emu/x86"
)

// A calls records calls: behind each block it looks where the guest went.
type calls struct {
	*callgraph.Recorder
	// columns has the total of each event, -1 for those that are not counted.
	columns [emu.NumEvents]int
	// done is the last instruction of the block that was executed last which was executed.
	done int
}

// A blockCalls is what calls knows of a block.
type blockCalls struct {
	// sums is what a block counts whatever it meets, in the order of the totals.
	sums []uint64
	// leaves says which of the ways behind it, through and to the target of its direct branch, lead into another
	// function.
	leaves [2]bool
}

func newCalls(events emu.EventSet, function func(emu.Addr) emu.Function, m *mem.Space) *calls {
	k := &calls{Recorder: callgraph.New(events, function, m.Mapping)}
	for e := range k.columns {
		k.columns[e] = k.Column(emu.Event(e))
	}
	return k
}

// Calls returns what records the engine's calls, nil if nothing does.
func (e *Engine) Calls() *callgraph.Recorder {
	if e.calls == nil {
		return nil
	}
	return e.calls.Recorder
}

// add adds n of an event, which are counted, to the totals.
func (k *calls) add(ev emu.Event, n int64) {
	if c := k.columns[ev]; c >= 0 {
		k.Totals[c] += uint64(n)
	}
}

// addPlans adds what n executions of some instructions count.
func (k *calls) addPlans(e *Engine, insns []insn, n int64) {
	for i := range insns {
		for _, p := range e.plans[insns[i].plan] {
			k.add(p.event, n*p.times)
		}
	}
}

// uncount takes back what b's instructions from i on counted.
func (k *calls) uncount(e *Engine, b *block, i int) {
	k.done = i - 1
	if e.counting == emu.CountAll {
		k.addPlans(e, b.insns[i:], -1)
	}
}

// entersFunction reports whether a block that began at pc has to end in front of a, which is of another function.
func (e *Engine) entersFunction(pc, a emu.Addr) bool { return e.calls != nil && !e.calls.Same(pc, a) }

// prepare finds out what is to be known of b.
func (k *calls) prepare(e *Engine, b *block) {
	b.calls = &blockCalls{}
	was := k.Totals
	k.Totals = make([]uint64, len(was))
	k.addPlans(e, b.insns, 1)
	b.calls.sums, k.Totals = k.Totals, was
	last := &b.insns[len(b.insns)-1]
	b.calls.leaves[0] = !k.Same(b.pc, last.Next())
	b.calls.leaves[1] = (last.Flow == x86.FlowJmp || last.Flow == x86.FlowJcc || last.Flow == x86.FlowLoop) && !k.Same(b.pc, last.Dest())
}

// enterRecorded is enter of one block, with its calls.
func (e *Engine) enterRecorded(c *emu.CPU, b *block) *emu.Stop {
	k := e.calls
	if b.calls == nil {
		k.prepare(e, b)
	}
	counts := e.counting == emu.CountAll
	if e.contexts != nil {
		e.enterContext(b, k.Context())
	}
	if counts {
		for i, n := range b.calls.sums {
			k.Totals[i] += n
		}
	}
	k.done = len(b.insns) - 1
	before := e.executed
	stop := e.enter(c, b)
	switch {
	case stop == nil && e.executed == before: // it was interrupted before it began
		if counts {
			k.addPlans(e, b.insns, -1)
		}
	case stop == nil || stop.Reason == emu.StopBudget:
		if k.done == len(b.insns)-1 {
			e.record(c, b, counts)
		}
	}
	return stop
}

// record tells the recorder where the guest went behind b, which was executed.
func (e *Engine) record(c *emu.CPU, b *block, counts bool) {
	k, last := e.calls, &b.insns[len(b.insns)-1]
	if e.Jumps && counts && last.Flow == x86.FlowJmpInd {
		k.CountJump(last.PC, c.RIP)
	}
	rsp := emu.Addr(c.Regs[emu.RSP])
	switch {
	case last.Flow == x86.FlowCall || last.Flow == x86.FlowCallInd || last.Kind == guest.CallNoRedir:
		k.Call(last.PC, c.RIP, rsp, counts)
	case last.Flow == x86.FlowRet:
		k.Return(last.PC, c.RIP, rsp, counts)
	case last.Flow == x86.FlowJmpInd && k.Resumes(b.pc):
		k.Resume(c.Regs[emu.R14], c.RIP, rsp)
	case last.Flow == x86.FlowJmpInd && k.Passes(b.pc), (last.Flow == x86.FlowJmpInd || last.Far()) && !k.Same(b.pc, c.RIP):
		k.Flow(last.PC, c.RIP, rsp, counts)
	case b.calls.leaves[0] && c.RIP == last.Next() || b.calls.leaves[1] && c.RIP == last.Dest():
		k.Jump(last.PC, c.RIP, counts)
	}
}

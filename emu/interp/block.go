package interp

import (
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/callgraph"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/sem"
	"github.com/cgemu/cgemu/emu/x86"
	"github.com/cgemu/cgemu/hooks"
)

// A cache has the blocks of one way of counting.
type cache struct {
	counting emu.Counting
	blocks   map[emu.Addr]*block
	// recent has blocks that were looked up, by the lowest bits of their addresses. recorded has those of a guest whose
	// calls are recorded: exec, which finds blocks in recent, is to come back after each.
	recent, recorded [1 << 12]*block
}

// A block is a straight run of instructions.
type block struct {
	pc       emu.Addr
	counting emu.Counting
	insns    []insn
	// count is how often it was entered since it was gathered last.
	count uint64
	// marked says that its first instruction is, dropped that its code changed or that it has another mark, alone that
	// exec does not execute it.
	marked, dropped, alone bool
	// code is what it was made from if it checks itself (selfcheck.go), nil if not.
	code  []byte
	pages [2]emu.Addr

	// uops are what exec executes; the rest is for it too. n is how many instructions there are.
	uops []uop
	n    uint64
	// words are the functions of opVWords.
	words []func(a, b uint64) uint64
	// through is the address behind the block, target where its direct branch goes, back that this is backwards. next
	// are the blocks there, nil while they are not known.
	through, target uint64
	back            bool
	next            [2]*block
	// calls is what the recorder of calls has to know, nil while nobody does.
	calls *blockCalls
	// context is that in which counts are, others are the counts in others: see enterContext.
	context callgraph.Context
	others  map[callgraph.Context]blockCounts
}

// maxInsns is how many instructions a block has at most: a straight run ends there.
const maxInsns = emu.MaxRun

// An insn is an instruction of a block.
type insn struct {
	guest.Insn
	// execute is nil for what branches, stops or repeats, and for what is refused.
	execute func(*sem.Machine, *emu.CPU, *guest.Insn) *emu.Fault
	// effects are what it may count, plan the number of what it counts each time.
	effects hooks.Effects
	plan    uint16
	// endsRun is what sem.Machine.EndsRun says of it: its block ends, too.
	endsRun bool
	// inverted says that a conditional branch is recorded as taken if it is not.
	inverted bool
	// own has the counts of events that do not follow from the plan, nil if there are none.
	own *[emu.Taken + 1]uint32
}

// checksBudget reports whether the budget is looked at in front of the instruction: it is a call or an indirect jump.
func (in *insn) checksBudget() bool {
	return in.Kind == guest.Branch && (in.Flow == x86.FlowCall || in.Flow == x86.FlowCallInd || in.Flow == x86.FlowJmpInd)
}

// A planned is one event of a plan, and how often one execution counts it.
type planned struct {
	event emu.Event
	times int64
}

// lookup returns the block at pc, or the fault of fetching it.
func (e *Engine) lookup(pc emu.Addr) (*block, *emu.Fault) {
	slot := &e.recent[pc%emu.Addr(len(e.recent))]
	if e.calls != nil {
		slot = &e.recorded[pc%emu.Addr(len(e.recorded))]
	}
	if b := *slot; b != nil && b.pc == pc && !b.dropped && (b.code == nil || e.same(b)) {
		return b, nil
	}
	b := e.blocks[pc]
	if b == nil || b.code != nil && !e.same(b) {
		var f *emu.Fault
		if b, f = e.decode(pc); f != nil {
			return nil, f
		}
	}
	*slot = b
	return b, nil
}

// maxDecoded is how many instructions all blocks may have, at some 500 bytes each, before they are forgotten and made
// again: a guest may enter code at each of its bytes.
const maxDecoded = 1 << 19

// decode makes the block at pc.
func (e *Engine) decode(pc emu.Addr) (*block, *emu.Fault) {
	if e.decoded > maxDecoded {
		e.forgetBlocks()
	}
	e.decoder.Forget()
	b := &block{pc: pc, counting: e.counting, marked: e.marks[pc]}
	var context hooks.Context
	a, fault := pc, pc
	for len(b.insns) < maxInsns && (a == pc || !e.marks[a] && !e.entersFunction(pc, a)) {
		var in insn
		if !e.decoder.Decode(&in.Insn, a) {
			break
		}
		if in.Kind == guest.FetchFault {
			fault = in.Next()
			break
		}
		in.Bytes = slices.Clone(in.Bytes)
		in.effects = context.Next(&in.Inst)
		in.effects.Refs = slices.Clone(in.effects.Refs)
		in.plan, in.inverted = e.planOf(&in), !hooks.Taken(&in.Inst, true)
		in.execute, in.endsRun = e.executes(&in.Insn), e.machine.EndsRun(&in.Insn)
		b.insns = append(b.insns, in)
		if a = in.Next(); in.endsRun || in.Flow != x86.FlowNext {
			break
		}
	}
	if len(b.insns) == 0 {
		return nil, fetchFault(fault)
	}
	b.pages = [2]emu.Addr{pc.PageDown(), (a - 1).PageDown()}
	if err := e.mem.Guard(b.pages[:]...); err != nil {
		return nil, &emu.Fault{Vector: emu.VecUD, Failure: err.Error()}
	}
	e.prepareCheck(b)
	b.alone = b.marked || b.code != nil
	e.translate(b)
	e.blocks[pc] = b
	e.decoded += len(b.insns)
	for _, p := range slices.Compact(b.pages[:]) {
		e.pages[p] = append(e.pages[p], b)
	}
	return b, nil
}

// executes returns what executes g where nothing but the next instruction can follow; nil for others.
func (e *Engine) executes(g *guest.Insn) func(*sem.Machine, *emu.CPU, *guest.Insn) *emu.Fault {
	switch g.Kind {
	case guest.Nop:
		return func(*sem.Machine, *emu.CPU, *guest.Insn) *emu.Fault { return nil }
	case guest.Plain, guest.Push, guest.Pop, guest.Leave, guest.Lea, guest.String:
	case guest.Emulated:
		if hooks.Repeats(&g.Inst) && g.Op.IsString() || g.Far() {
			return nil
		}
	default:
		return nil
	}
	if f := sem.Of(g); f == nil || !e.machine.ZeroesBeyond(g) {
		return f
	}
	return (*sem.Machine).Execute
}

// fetchFault is the fault of fetching code at a.
func fetchFault(a emu.Addr) *emu.Fault {
	if !guest.Canonical(a) {
		return &emu.Fault{Vector: emu.VecGP}
	}
	return &emu.Fault{Vector: emu.VecPF, Addr: a, Exec: true}
}

// planOf returns the number of in's plan.
func (e *Engine) planOf(in *insn) uint16 {
	p := in.effects.Plan(&in.Inst, e.Events)
	n, ok := e.planIndex[p]
	if !ok {
		n = uint16(len(e.plans))
		var list []planned
		for ev, times := range p {
			if times != 0 {
				list = append(list, planned{emu.Event(ev), int64(times)})
			}
		}
		e.plans = append(e.plans, list)
		e.planIndex[p] = n
	}
	return n
}

// has reports whether an instruction of b is at a.
func (b *block) has(a emu.Addr) bool {
	return slices.ContainsFunc(b.insns, func(in insn) bool { return in.PC == a })
}

// Invalidate implements emu.Engine.
func (e *Engine) Invalidate(lo, hi emu.Addr) {
	if e.calls != nil {
		e.calls.Invalidate(lo, hi)
	}
	for p := lo.PageDown(); p < hi; p += emu.PageSize {
		for _, b := range slices.Clone(e.pages[p]) {
			e.drop(b)
		}
	}
}

// forgetBlocks drops all blocks.
func (e *Engine) forgetBlocks() {
	for _, blocks := range e.pages {
		for _, b := range slices.Clone(blocks) {
			e.drop(b)
		}
	}
}

// drop forgets a block, which may be running. One on two pages may have been dropped with the other.
func (e *Engine) drop(b *block) {
	if b.dropped {
		return
	}
	e.decoded -= len(b.insns)
	e.gather(b)
	b.dropped = true
	if c := e.caches[b.counting]; c.blocks[b.pc] == b {
		delete(c.blocks, b.pc)
	}
	for _, p := range slices.Compact(b.pages[:]) {
		e.pages[p] = slices.DeleteFunc(e.pages[p], func(x *block) bool { return x == b })
		if len(e.pages[p]) == 0 {
			delete(e.pages, p)
		}
	}
}

// gatherAll moves the counts of some blocks to where they are collected.
func (e *Engine) gatherAll(blocks []*block) {
	for _, b := range blocks {
		e.gather(b)
	}
}

// gather does so with those of one.
func (e *Engine) gather(b *block) {
	if e.contexts != nil {
		e.gatherContexts(b)
		return
	}
	e.gatherCounts(b)
}

func (e *Engine) gatherCounts(b *block) {
	n := b.count
	b.count = 0
	if b.counting != emu.CountAll {
		return
	}
	for i := range b.insns {
		if n != 0 {
			e.addPlan(&b.insns[i], int64(n))
		}
		e.gatherOwn(&b.insns[i])
	}
}

// gatherRest gathers what happened in b after it was dropped. Whatever leaves a block calls it: nothing else knows of b
// then.
func (e *Engine) gatherRest(b *block) {
	if b.dropped {
		for i := range b.insns {
			e.gatherOwn(&b.insns[i])
		}
	}
}

// gatherOwn does so with the counts that do not follow from in's plan.
func (e *Engine) gatherOwn(in *insn) {
	if in.own == nil {
		return
	}
	for ev, n := range in.own {
		if n != 0 {
			e.collect(emu.Event(ev), in.PC, int64(n))
			in.own[ev] = 0
		}
	}
}

// addPlan adds what n executions of in count whatever they meet.
func (e *Engine) addPlan(in *insn, n int64) {
	for _, p := range e.plans[in.plan] {
		e.collect(p.event, in.PC, n*p.times)
	}
}

// collect adds n to what is to be collected of an event at a.
func (e *Engine) collect(ev emu.Event, a emu.Addr, n int64) {
	if e.contexts != nil {
		e.contexts.add(contextCount{a, e.context, ev}, n)
		return
	}
	e.collected[ev].Add(a, n)
}

// tally adds n events of the instruction at a.
func (e *Engine) tally(a emu.Addr, ev emu.Event, n int64) {
	if e.counting == emu.CountAll && e.Events.Has(ev) && n != 0 {
		e.collect(ev, a, n)
		if e.calls != nil {
			e.calls.add(ev, n)
		}
	}
}

// uncount takes back what b's instructions from i on counted, which were not executed although b was entered.
func (e *Engine) uncount(b *block, i int) {
	for k := i; k < len(b.insns); k++ {
		if e.counting == emu.CountAll {
			e.addPlan(&b.insns[k], -1)
		}
	}
	if e.calls != nil {
		e.calls.uncount(e, b, i)
	}
	e.executed -= uint64(len(b.insns) - i)
}

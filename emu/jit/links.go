//go:build linux && amd64

package jit

import (
	"slices"

	"github.com/cgemu/cgemu/emu"
)

// connect makes the jump or call of x reach t.
func (e *Engine) connect(x *exit, t *tb) {
	e.link(int(x.site), e.entryFor(x, t))
	t.incoming = append(t.incoming, x)
	x.to = t
}

// disconnect makes the jump or call of x leave generated code.
func (e *Engine) disconnect(x *exit) { e.link(int(x.site), int(x.stub)) }

// entryFor returns where x enters t.
func (e *Engine) entryFor(x *exit, t *tb) int {
	if x.near && t.fetched != 0 {
		return t.fetched
	}
	if !x.call {
		return t.entry
	}
	if t.called == 0 {
		t.called = e.emitCalledEntry()
		e.jmp(t.entry)
	}
	return t.called
}

// newCounter returns the index of a fresh counter whose every count adds weight to
// the instructions executed.
func (e *Engine) newCounter(weight int) int {
	e.weights = append(e.weights, int16(weight))
	return len(e.weights) - 1
}

func (e *Engine) count(counter int) uint64 { return e.get(counterOff + 8*counter) }

// newExit returns a fresh exit and its number.
func (e *Engine) newExit() (*exit, int) {
	last := len(e.exits) - 1
	if last < 0 || len(e.exits[last]) == exitChunk {
		e.exits = append(e.exits, make([]exit, 0, exitChunk))
		last++
	}
	c := &e.exits[last]
	*c = append(*c, exit{})
	i := len(*c) - 1
	return &(*c)[i], last*exitChunk + i
}

// fixExits makes the exits that belong to no block.
func (e *Engine) fixExits() {
	for _, kind := range [fixedExits]exitKind{exitFault: exitSignal, exitMiss: exitMissed, exitMismatch: exitReturn} {
		x, _ := e.newExit()
		x.kind = kind
	}
}

// full reports whether another block might not fit.
func (e *Engine) full() bool {
	return e.pos+2*maxBlockCode > farOff || e.far+2*maxBlockCode > arenaSize ||
		8*(len(e.weights)+2*maxBlock) > counterSize || 8*(e.owns+8*maxBlock) > ownSize ||
		e.sim.i1.full() || len(e.all) >= maxBlocks || e.dead > minDead+e.live() || e.asleep > minAsleep+e.live()
}

// Blocks that nothing reaches any more keep their code, which may be running, and what is known of it until the next flush. It comes
// when there are more of them than of others: what it costs to translate those anew is paid for by the ones that
// died. So it is with dormant blocks, but for those of programs that may be run again.
const (
	minDead   = 1 << 14
	minAsleep = 1 << 18
	// maxBlocks is how many there may be in all: what is known of one takes some 500 bytes.
	maxBlocks = 1 << 19
)

// crowded reports whether there is no room for what is emitted between two translations, which is small.
func (e *Engine) crowded() bool { return e.pos+maxBlockCode > farOff }

// live returns how many blocks are neither dead nor dormant.
func (e *Engine) live() int { return len(e.all) - e.dead - e.asleep }

// flush forgets all translations; what they counted stays.
func (e *Engine) flush() {
	e.gather()
	clear(e.pages)
	clear(e.peeks)
	clear(e.behindPOPF)
	e.all, e.dead, e.asleep, e.once = nil, 0, 0, nil
	e.exits, e.backEdges = nil, nil
	e.fixExits()
	e.weights, e.owns = e.weights[:0], 0
	e.sim.i1.forget(&e.arena)
	e.pos, e.far = e.stubs.end, farOff
	for _, w := range e.worlds {
		if w != nil {
			w.forget()
			clear(w.dormant)
		}
	}
	e.epoch++
}

// gather moves the counts of all blocks to the tally.
func (e *Engine) gather() {
	for _, t := range e.all {
		if !t.dormant { // those have counted nothing
			e.gatherBlock(t)
		}
	}
}

// gatherOnce does so with those of the block that ran once last.
func (e *Engine) gatherOnce() {
	if e.once != nil {
		e.gatherBlock(e.once)
		e.once = nil
	}
}

// gatherBlock moves a block's counts to the tally.
func (e *Engine) gatherBlock(t *tb) {
	n := int64(e.take(t.counter))
	exits := t.exits
	for i := range t.insns {
		for len(exits) > 0 && exits[0].after <= i {
			n -= int64(e.take(exits[0].counter))
			exits = exits[1:]
		}
		if n != 0 {
			e.tallyInsn(t, i, n)
		}
	}
	for _, x := range exits {
		e.take(x.counter)
	}
	for _, r := range t.reps {
		if r.outside {
			continue
		}
		if k := e.take(r.counter); k != 0 {
			e.tally(t, r.insn, emu.Ir, int64(k))
		}
	}
	for _, m := range t.own {
		if k := e.takeOwn(m.counter); k != 0 {
			e.tally(t, m.insn, m.event, int64(k))
		}
	}
}

// tallyInsn adds what n executions of t's instruction i count whatever they meet.
func (e *Engine) tallyInsn(t *tb, i int, n int64) {
	if t.world.counting != emu.CountAll {
		return
	}
	a := t.addr(i)
	for _, c := range e.plans[t.insns[i].plan] {
		e.gone[c.event].add(a, n*c.times)
	}
}

// tally adds n events of t's instruction i.
func (e *Engine) tally(t *tb, i int, ev emu.Event, n int64) {
	if t.world.counting == emu.CountAll && e.Events.Has(ev) {
		e.gone[ev].add(t.addr(i), n)
	}
}

// take returns a counter's value and makes it 0.
func (e *Engine) take(counter int) uint64 {
	n := e.count(counter)
	if n != 0 {
		if !e.metered {
			e.executed += int64(e.weights[counter]) * int64(n)
		}
		e.set(counterOff+8*counter, 0)
	}
	return n
}

// Counters are added up one by one until that was done meterAfter times, and meterPart times per instruction
// executed. Adding one takes 0.65 ns, metering an instruction 0.06.
const (
	meterAfter = 1 << 26
	meterPart  = 0.4
)

// meter has generated code add up the instructions executed from now on, if adding up its counters is too slow.
func (e *Engine) meter() {
	if !e.metered && e.added > meterAfter && float64(e.added) > meterPart*float64(e.Executed()) {
		e.flush()
		e.metered = true
	}
}

// meterOf returns where a counter is metered.
func meterOf(counter int) int { return stMeters + 8*(counter%meters) }

// pending returns the instructions executed according to the counters, or to the meter.
func (e *Engine) pending() int64 {
	var sum int64
	if e.metered {
		for _, n := range e.arena.words(stMeters, meters) {
			sum += int64(n)
		}
		return sum
	}
	e.added += int64(len(e.weights))
	counts := e.arena.words(counterOff, len(e.weights))
	for i, w := range e.weights {
		sum += int64(w) * int64(counts[i])
	}
	return sum
}

// Executed implements emu.Engine.
func (e *Engine) Executed() uint64 { return uint64(e.executed + e.pending()) }

// Collect implements emu.Engine.
func (e *Engine) Collect(lo, hi emu.Addr, add func(a emu.Addr, ev emu.Event, n uint64)) {
	e.gatherOnce()
	if (hi-lo)/emu.PageSize > emu.Addr(len(e.pages)) {
		e.gather()
	} else {
		for p := lo.PageDown(); p < hi; p += emu.PageSize {
			for _, t := range e.pages[p] {
				e.gatherBlock(t)
			}
		}
	}
	for ev := range e.gone {
		e.gone[ev].drain(lo, hi, func(a emu.Addr, n uint64) { add(a, emu.Event(ev), n) })
	}
}

// uncount takes back the counts of t's instructions from insn on, which were not
// executed although t was entered.
func (e *Engine) uncount(t *tb, insn int) {
	for i := insn; i < len(t.insns); i++ {
		e.tallyInsn(t, i, -1)
	}
	e.executed -= int64(len(t.insns) - insn)
}

// recount adds the counts of t's instructions up to insn, exclusively: executed,
// although the entry was not counted.
func (e *Engine) recount(t *tb, insn int) {
	for i := range insn {
		e.tallyInsn(t, i, 1)
	}
	e.executed += int64(insn)
}

// Invalidate implements emu.Engine.
func (e *Engine) Invalidate(lo, hi emu.Addr) {
	any := false
	for p := lo.PageDown(); p < hi; p += emu.PageSize {
		blocks := e.pages[p]
		delete(e.pages, p)
		for _, t := range blocks {
			e.drop(t)
			e.sleep(t)
			any = true
		}
	}
	if any {
		clear(e.peeks)
	}
}

// drop makes a block unreachable. Its code stays until the next flush: it may be running. Who calls it makes the block dormant
// or counts it as dead.
func (e *Engine) drop(t *tb) {
	e.gatherBlock(t)
	e.isolate(t)
	if t.world.tbs[t.pc] == t {
		delete(t.world.tbs, t.pc)
	}
	if t.listed {
		t.listed = false
		t.world.table.clear(t.pc)
	}
	for _, p := range t.pages {
		if left := slices.DeleteFunc(e.pages[p], func(u *tb) bool { return u == t }); len(left) > 0 {
			e.pages[p] = left
		} else {
			delete(e.pages, p)
		}
	}
}

// isolate parts t from all that leads to it.
func (e *Engine) isolate(t *tb) {
	for _, x := range t.incoming {
		e.disconnect(x)
		x.to = nil
	}
	t.incoming = nil
}

// Interrupt implements emu.Engine. Generated code has no polls: it stops because every
// loop passes a backward link or a table lookup, and these are broken here; repetitions are made in pieces.
func (e *Engine) Interrupt() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.interrupt = true
	if e.inCode && !e.broken {
		e.breakLinks()
	}
}

// breakLinks makes generated code leave soon.
func (e *Engine) breakLinks() {
	e.broken = true
	for _, x := range e.backEdges {
		e.disconnect(x)
	}
	e.showTable(withdrawn)
}

// mend undoes what Interrupt broke.
func (e *Engine) mend() {
	e.broken = false
	e.showTable(uint64(e.table.base))
	for _, x := range e.backEdges {
		if x.to != nil {
			e.link(int(x.site), e.entryFor(x, x.to))
		}
	}
}

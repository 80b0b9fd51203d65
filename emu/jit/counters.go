//go:build linux && amd64

package jit

import (
	"iter"
	"slices"

	"github.com/cgemu/cgemu/emu"
)

// Counters are added up one by one until that was done meterAfter times, and meterPart times per instruction
// executed. Adding one takes 0.65 ns, metering an instruction 0.06.
const (
	meterAfter = 1 << 26
	meterPart  = 0.4
)

// newCounter returns the index of a fresh counter whose every count adds weight to
// the instructions executed.
func (e *Engine) newCounter(weight int) int {
	e.weights = push(e.weights, int16(weight))
	return len(e.weights) - 1
}

func (e *Engine) count(counter int) uint64 { return e.get(counterOff + 8*counter) }

// blocks are all blocks of all code caches, dead ones included, until the next flush.
func (e *Engine) blocks() iter.Seq[*tb] {
	return func(yield func(*tb) bool) {
		if e.image != nil {
			for _, t := range e.image.taken {
				if t != nil && !yield(t) {
					return
				}
			}
		}
		for _, t := range e.all {
			if !yield(t) {
				return
			}
		}
	}
}

// gather moves the counts of all blocks to the tally.
func (e *Engine) gather() {
	for t := range e.blocks() {
		if !t.retained { // those have counted nothing
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

// gatherBlock moves a block's counts to the tally, or to what collects them.
func (e *Engine) gatherBlock(t *tb) {
	n := int64(e.take(int(t.counter)))
	exits, insns := t.sideExits(), t.insns()
	counts := t.counting == emu.CountAll
	for i := 0; insns.next(); i++ {
		for len(exits) > 0 && int(exits[0].after) <= i {
			n -= int64(e.take(int(exits[0].counter)))
			exits = exits[1:]
		}
		if n == 0 || !counts {
			continue
		}
		a := t.addrOf(insns.off, i)
		for _, c := range e.plans[insns.plan] {
			e.gatherAt(t, a, c.event, n*c.times)
		}
	}
	for _, x := range exits {
		e.take(int(x.counter))
	}
	e.addCalls(t, n)
	for _, r := range t.reps() {
		if r.outside {
			continue
		}
		if k := e.take(int(r.counter)); k != 0 {
			e.gatherEvent(t, t.addr(int(r.insn)), emu.Ir, int64(k))
		}
	}
	for _, m := range t.ownCounters() {
		for behind := range 1 + b2i(m.two) {
			if k := e.takeOwn(int(m.counter) + behind); k != 0 {
				e.gatherEvent(t, t.addr(int(m.insn)), m.event+emu.Event(behind), int64(k))
			}
		}
	}
	t.corrected = false
}

// gatherInsn adds what n executions of t's instruction i count whatever they meet.
func (e *Engine) gatherInsn(t *tb, i int, n int64) {
	if t.cache.counting != emu.CountAll {
		return
	}
	at := t.insn(i)
	a := t.addrOf(at.off, i)
	for _, c := range e.plans[at.plan] {
		e.gatherAt(t, a, c.event, n*c.times)
	}
}

// gatherAt adds n events of t's instruction at a. Once some were taken back that t's counters have, all go to tallies,
// until t's counts are gathered.
func (e *Engine) gatherAt(t *tb, a emu.Addr, ev emu.Event, n int64) {
	t.corrected = t.corrected || n < 0
	if c := &e.collector; c.add != nil && !t.corrected && a >= c.lo && a < c.hi {
		c.add(a, ev, uint64(n))
		return
	}
	e.collected[ev].Add(a, n)
}

// A collector gets counts of [lo, hi) that would go to tallies; nobody does if add is nil.
type collector struct {
	lo, hi emu.Addr
	add    func(a emu.Addr, ev emu.Event, n uint64)
}

// tallyInsn does so for what no counter has.
func (e *Engine) tallyInsn(t *tb, i int, n int64) {
	e.gatherInsn(t, i, n)
	e.sumInsn(t, i, n)
}

// sumInsn adds to the totals of calls what n executions of t's instruction i count whatever they meet.
func (e *Engine) sumInsn(t *tb, i int, n int64) {
	if e.calls != nil && t.cache.counting == emu.CountAll {
		for _, c := range e.plans[t.insn(i).plan] {
			e.calls.add(c.event, n*c.times)
		}
	}
}

// tally adds n events of t's instruction at pc that no counter has.
func (e *Engine) tally(t *tb, pc emu.Addr, ev emu.Event, n int64) {
	e.gatherEvent(t, pc, ev, n)
	if e.calls != nil && t.cache.counting == emu.CountAll && e.Events.Has(ev) {
		e.calls.add(ev, n)
	}
}

// gatherEvent adds n events of t's instruction at pc.
func (e *Engine) gatherEvent(t *tb, pc emu.Addr, ev emu.Event, n int64) {
	if t.cache.counting == emu.CountAll && e.Events.Has(ev) {
		e.gatherAt(t, pc, ev, n)
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

// meter has generated code add up the instructions executed from now on, if adding up its counters is too slow. An
// image that would be lost is worth some of that.
func (e *Engine) meter() {
	if e.added > meterAfter && (e.image == nil || e.added > 4*meterAfter) && e.wantsMeter() {
		e.flush()
		e.metered = true
	}
}

// wantsMeter reports whether adding up counters has taken more than metering would have.
func (e *Engine) wantsMeter() bool {
	return !e.metered && float64(e.added) > meterPart*float64(e.Executed())
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
	counts := e.arena.words(counterOff, len(e.weights))
	for lo, hi := range e.counterParts() {
		e.added += int64(hi - lo)
		for i, w := range e.weights[lo:hi] {
			sum += int64(w) * int64(counts[lo+i])
		}
	}
	return sum
}

// counterParts are the parts of all counters, [lo, hi), in which some may not be 0.
func (e *Engine) counterParts() iter.Seq2[int, int] {
	return func(yield func(lo, hi int) bool) {
		rest := 0
		if img := e.image; img != nil {
			rest = len(img.weights)
			for part, counts := range img.counts {
				if counts && !yield(part*countersPart, min((part+1)*countersPart, rest)) {
					return
				}
			}
		}
		yield(rest, len(e.weights))
	}
}

// Executed implements emu.Engine.
func (e *Engine) Executed() uint64 { return uint64(e.executed + e.pending()) }

// Collect implements emu.Engine.
func (e *Engine) Collect(lo, hi emu.Addr, add func(a emu.Addr, ev emu.Event, n uint64)) {
	e.gatherOnce()
	// A few pages at a time, so that not all counts there are lie in tallies.
	for pages := range slices.Chunk(e.pagesWithin(lo, hi), collectPages) {
		for _, p := range pages {
			e.gatherPage(p, lo, hi)
		}
		e.drain(max(lo, pages[0]), min(hi, pages[len(pages)-1]+emu.PageSize), add)
	}
	e.drain(lo, hi, add)
}

// CollectBlocks does so, but what blocks count of an instruction that they share is not added up before: add gets it of
// each.
func (e *Engine) CollectBlocks(lo, hi emu.Addr, add func(a emu.Addr, ev emu.Event, n uint64)) {
	e.gatherOnce()
	e.collector = collector{lo, hi, add}
	for _, p := range e.pagesWithin(lo, hi) {
		e.gatherPage(p, lo, hi)
	}
	e.collector = collector{}
	e.drain(lo, hi, add)
}

// gatherPage gathers the counts of blocks with code on page p, where [lo, hi) is collected. All of them are known by
// it, and some that jump there: they are gathered with the page where they begin, if that is collected, too.
func (e *Engine) gatherPage(p, lo, hi emu.Addr) {
	for _, t := range e.pages[p] {
		if begin := t.pc.PageDown(); begin == p || begin+emu.PageSize <= lo || begin >= hi {
			e.gatherBlock(t)
		}
	}
}

// drain gives what tallies have of [lo, hi) to add.
func (e *Engine) drain(lo, hi emu.Addr, add func(a emu.Addr, ev emu.Event, n uint64)) {
	for ev := range e.collected {
		e.collected[ev].Drain(lo, hi, func(a emu.Addr, n uint64) { add(a, emu.Event(ev), n) })
	}
}

// collectPages is how many pages of code are collected at a time: no more pages of tallies than these keep (tally.Kept)
// have their counts.
const collectPages = 16

// pagesWithin returns the pages with code that overlap [lo, hi), in ascending order.
func (e *Engine) pagesWithin(lo, hi emu.Addr) (list []emu.Addr) {
	if (hi-lo)/emu.PageSize > emu.Addr(len(e.pages)) {
		for p := range e.pages {
			if p+emu.PageSize > lo && p < hi {
				list = append(list, p)
			}
		}
		slices.Sort(list)
		return list
	}
	for p := lo.PageDown(); p < hi; p += emu.PageSize {
		if len(e.pages[p]) > 0 {
			list = append(list, p)
		}
	}
	return list
}

// countUntil corrects the counts of block t, which stopped at instruction i when done of them were executed. entered
// says whether its entry is counted, summed whether the totals of calls have its instructions.
func (e *Engine) countUntil(t *tb, i, done int, entered, summed bool) {
	call := t.lastOwn()
	if call >= i || e.calls == nil {
		e.correctCounts(t, done, entered)
		e.correctTotals(t, done, summed)
		return
	}
	// The recorder has to be told of the CALL.
	e.correctCounts(t, call+1, entered)
	e.correctTotals(t, call+1, summed)
	rsp := e.get(stRegs + 8*emu.RSP)
	e.calls.Call(t.addr(call), t.addr(call+1), emu.Addr(rsp), e.counting == emu.CountAll)
	if at := uintptr(rsp + e.get(stShadow)); e.shadow.opened(at) { // a return site found there might be of a call to elsewhere
		e.shadow.put(at, e.strayReturn())
	}
	for k := call + 1; k < done; k++ {
		e.tallyInsn(t, k, 1)
		e.executed++
	}
}

// correctCounts takes back the counts of t's instructions from done on, which were not executed although t was entered,
// or adds those before.
func (e *Engine) correctCounts(t *tb, done int, entered bool) {
	if !entered {
		for i := range done {
			e.gatherInsn(t, i, 1)
		}
		e.executed += int64(done)
		return
	}
	for i := done; i < t.insnCount(); i++ {
		e.gatherInsn(t, i, -1)
	}
	e.addCalls(t, -1)
	e.executed -= int64(t.insnCount() - done)
}

// correctTotals does so with the totals of calls.
func (e *Engine) correctTotals(t *tb, done int, summed bool) {
	if !summed {
		for i := range done {
			e.sumInsn(t, i, 1)
		}
		return
	}
	for i := done; i < t.insnCount(); i++ {
		e.sumInsn(t, i, -1)
	}
}

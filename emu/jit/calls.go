//go:build linux && amd64

package jit

import (
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/callgraph"
)

// Generated code records calls itself: a CALL pushes a frame, its return site pops it, jumps to another function push
// one or go back to the one below, and entries of procedure linkage tables that are no part of their caller's block
// change the one that it pushed. Go does it wherever a frame is not where that is simple, and whenever an arc comes up
// for the first time. Both work on the same frames, sums and totals, those of a callgraph.Recorder.
//
// The totals are in the state block: a block adds to them what its instructions count beside its counter. The innermost
// frame's host address is in stFrame.

// A calls is what an engine has to record calls.
type calls struct {
	*callgraph.Recorder
	// columns has the total of each event, -1 for those that are not counted.
	columns [emu.NumEvents]int
	// frames is the memory of all frames.
	frames frameMemory
	// sums is what a count of the counter that is emitted next adds to the totals. scratch is setSums'.
	sums    counterSums
	scratch []int64
	// inRegisters says that the totals that blocks add to are in registers while generated code runs, as the innermost
	// frame's address is: in a vector (spare), with lanes if there are several, or in those of MMX that registers has,
	// inMemory for other totals. parts are how many parts totals have in memory.
	inRegisters, lanes bool
	registers          []mmx
	parts              int
	// rare is the first column of rareEvents, which is even, if registers has the totals; an even number of columns
	// follow.
	rare int
	// misses is the first column of events of misses.
	misses int
	// kept is how many of the sums are of arcs of other processes, which had the engine before, or of the image.
	kept int
	// arcWords are the indices of words beside the counters that are the place of an arc, which does not change.
	arcWords []int
	// listed is how many arcs the table of arcs was given since it was empty.
	listed int
	// callers are the indices of the first of the two words in which an entry for lookups has who called it last, or
	// jumped to it (newCaller).
	callers []int
	// The arena offsets of routines.
	unwind, cross, crossIndirect, crossed, called int
}

// A counterSums is what a count of a counter adds to the totals.
type counterSums struct {
	counter int
	list    []columnSum
}

// A columnSum is how much a count of a counter adds to a total.
type columnSum struct {
	column int
	n      int32
}

// frameSize is the size of a callgraph.Frame.
const frameSize = 16

// newCalls gives e what it needs to record calls.
func (e *Engine) newCalls() error {
	k := &calls{Recorder: callgraph.New(e.Events|e.Others, e.Function, e.mem.Mapping)}
	e.calls = k
	if err := k.frames.reserve(); err != nil {
		return err
	}
	k.Frames = k.frames.slice()
	k.parts, k.misses = 1, 1
	switch {
	case e.mmx:
		k.setRegisters(&e.sim)
		k.inRegisters = true
	case len(k.Events) > 1 || e.sim.clockInVector: // there are no registers left for numbers
		k.lanes = e.spare && k.setLanes()
		k.inRegisters = k.lanes
	case e.spare:
		k.inRegisters = true
	default:
		k.setParts()
	}
	for ev := range k.columns {
		k.columns[ev] = k.Column(emu.Event(ev))
	}
	k.scratch = make([]int64, len(k.Totals))
	k.Totals = e.arena.words(stTotals, len(k.Totals))
	k.Sums, k.Base = e.arena.words(sumsOff, sumsSize/8)[:0], e.hostAddr(sumsOff)
	return nil
}

// Calls returns what records the engine's calls, nil if nothing does. Collect of the engine comes before that of the
// calls.
func (e *Engine) Calls() *callgraph.Recorder {
	if e.calls == nil {
		return nil
	}
	return e.calls.Recorder
}

// takeFrames tells the recorder which frames generated code has left, giveFrames tells generated code of the
// recorder's.
func (e *Engine) takeFrames() {
	k := e.calls
	n := (e.get(stFrame)-k.frames.base)/frameSize + 1
	k.Frames = k.Frames[:min(n, uint64(cap(k.Frames)))] // one too many faulted
	e.joinTotals()
}

func (e *Engine) giveFrames() {
	k := e.calls
	k.Settle()
	e.set(stFrame, k.frames.base+uint64(frameSize*(len(k.Frames)-1)))
}

// beginCalls is called when c's thread is about to run.
func (e *Engine) beginCalls(c *emu.CPU) {
	if e.calls != nil {
		e.calls.Begin(c)
		e.set(stCounts, uint64(b2i(e.counting == emu.CountAll)))
		if e.calls.inRegisters {
			e.set(e.calls.totalAt(e.calls.callsColumn(), 0), e.get(stCounts))
		}
		e.set(stStackLo, 0) // mappings may have changed
		e.set(stStackHi, 0)
	}
}

// sumsRoom is what the arcs of a process may take beside those of others that had the engine. A test fills it.
var sumsRoom = sumsSize - maxImageSums

// fullOfArcs reports whether there might be no room for the arcs that come up before generated code is entered again.
func (e *Engine) fullOfArcs() bool {
	return e.calls != nil && 8*(len(e.calls.Sums)-e.calls.kept+2*maxBlock*e.calls.Width()) > sumsRoom
}

// told tells the recorder, by one of its methods, that the guest went from site to target.
func (e *Engine) told(tell func(site, target, rsp emu.Addr, counts bool), site, target emu.Addr) {
	rsp := emu.Addr(e.get(stRegs + 8*emu.RSP))
	tell(site, target, rsp, e.counting == emu.CountAll)
	lo, hi := e.calls.Alone(rsp)
	e.set(stStackLo, uint64(lo))
	e.set(stStackHi, uint64(hi))
}

// wentOn tells it that the guest went from site to target by a direct jump, or without one.
func (e *Engine) wentOn(site, target emu.Addr) {
	if e.calls != nil {
		e.calls.Jump(site, target, e.counting == emu.CountAll)
	}
}

// looked tells the recorder of a lookup of target by a jump or return that generated code has left to Go. The frame of
// a CALL is there.
func (e *Engine) looked(target emu.Addr) {
	if e.calls == nil {
		return
	}
	switch uint32(e.get(stFrom)) {
	case fromCall:
	case fromReturn:
		e.returned(target)
	case fromIndirectCall:
		site := e.origin()
		e.told(e.calls.Call, site, target)
		e.cacheArc(uint64(target), e.get(stFrom)>>32, e.calls.Arc(site, target))
	default:
		if site := e.origin(); !e.calls.Same(site, target) {
			e.told(e.calls.Flow, site, target)
			e.cacheArc(uint64(target), e.get(stFrom)>>32, e.calls.Arc(site, target))
		}
	}
}

// returned tells it of a return to target which its return site did not expect, or of a goroutine that goes on there.
func (e *Engine) returned(target emu.Addr) {
	if e.calls == nil {
		return
	}
	if site := e.origin(); !e.calls.Resumes(site) {
		e.told(e.calls.Return, site, target)
		return
	}
	e.told(func(_, target, rsp emu.Addr, _ bool) {
		e.calls.Resume(e.get(stRegs+8*emu.R14), target, rsp)
	}, 0, target)
}

// origin returns the address of the jump or return that set stOrigin, the upper half of stFrom, last.
func (e *Engine) origin() emu.Addr {
	x := e.exitAt(int(e.get(stFrom) >> 32))
	return x.t.addr(int(x.insn))
}

// newJumpArc finds the arc of the indirect jump that x leaves in front of, where jumps are counted.
func (e *Engine) newJumpArc(x *exit) {
	target := e.target
	arc := e.calls.JumpArc(x.rip, emu.Addr(target))
	e.set(counterOff+8*x.cache(), target)
	e.set(counterOff+8*x.cache()+8, arc)
	e.cacheArc(target, e.get(stExit), arc)
}

// cacheArc has later lookups find the arc from the place that an exit knows to target. Which pair of slots may have it
// depends on both, and on all of the lower bits of target, as small functions lie close together. What was kept last is
// in the first one.
func (e *Engine) cacheArc(target, origin, arc uint64) {
	origin = uint64(uint32(origin))
	e.calls.listed++
	first := arcsOff + arcSlot*int(uint16(2*(target+origin<<5)))
	for word := 0; word < 24; word += 8 {
		e.set(first+arcSlot+word, e.get(first+word))
	}
	e.set(first, target)
	e.set(first+8, origin)
	e.set(first+16, arc)
}

// forgetArcs empties the table of arcs, whose pages are there once they are used.
func (e *Engine) forgetArcs() {
	if e.calls.listed > 0 {
		clear(e.arena.words(arcsOff, arcsSize/8))
		e.calls.listed = 0
	}
}

// enlarge puts parts of the arena that are large enough on huge pages, given what counters and code will take. An arc
// may be anywhere in its table.
func (e *Engine) enlarge(counters, code int) {
	parts := partsInUse{counters, 0, 0, code}
	if k := e.calls; k != nil {
		parts[1], parts[2] = emu.PageSize*k.listed, 8*len(k.Sums)
	}
	e.arena.enlarge(parts)
}

// arcSlot is the size of an entry of the table of arcs: target, number of an exit, arc.
const arcSlot = 32

// retireCalls makes what records calls as new, but for the arcs that blocks know. Indirect jumps begin with their first
// arc again, and nobody was called.
func (e *Engine) retireCalls() {
	if e.calls == nil {
		return
	}
	e.forgetArcs()
	for _, chunk := range e.exits {
		for i := range chunk {
			e.forgetArc(&chunk[i])
		}
	}
	e.forgetCallers()
	e.calls.Retire()
}

// forgetArc has the indirect jump that x leaves in front of begin with its first arc again.
func (e *Engine) forgetArc(x *exit) {
	if x.kind == exitJumpArc {
		e.set(counterOff+8*x.cache(), uint64(x.rip))
		e.set(counterOff+8*x.cache()+8, e.calls.Known(x.rip, x.rip, true))
	}
}

// forgetCallers has entries for lookups know of no call.
func (e *Engine) forgetCallers() {
	for _, i := range e.calls.callers {
		clear(e.arena.words(counterOff+8*i, 2))
	}
}

// restoreCalls has the recorder, which is new, know what that of img did.
func (e *Engine) restoreCalls(img *image) {
	if k := e.calls; k != nil {
		k.Restore(callgraph.Snapshot{Arcs: img.arcs, Functions: img.functions})
		k.kept = len(k.Sums)
		k.arcWords = slices.Grow(k.arcWords, len(img.arcWords))
		for _, c := range img.arcWords {
			e.set(counterOff+8*int(c.index), k.Base+c.value)
			k.arcWords = append(k.arcWords, int(c.index))
		}
		k.callers = slices.Grow(k.callers, len(img.callers))
		for _, i := range img.callers {
			k.callers = append(k.callers, int(i))
		}
	}
}

// saveCalls adds to b what the recorder knows. It comes before what the words beside the counters hold is saved.
func (e *Engine) saveCalls(b *imageBody) {
	if k := e.calls; k != nil {
		e.forgetCallers()
		s := k.Snapshot()
		b.arcs, b.functions = s.Arcs, s.Functions
		for _, i := range k.arcWords {
			b.arcWords = append(b.arcWords, constant{int64(i), e.get(counterOff+8*i) - k.Base})
		}
		for _, i := range k.callers {
			b.callers = append(b.callers, int64(i))
		}
	}
}

// countsAlong reports whether what adds totals to those when an arc was entered counts the call, too.
func (k *calls) countsAlong() bool { return k.inRegisters && k.registers == nil }

// setParts divides a total that is in memory and alone.
func (k *calls) setParts() {
	if len(k.Events) == 1 {
		k.parts = totalParts
	}
}

// callsColumn is the column of totals that is none of an event. It has 1 if calls count, if totals are in registers.
func (k *calls) callsColumn() int { return k.Recorder.Calls() - k.In() }

// add adds n of an event to the totals.
func (k *calls) add(ev emu.Event, n int64) {
	if c := k.columns[ev]; c >= 0 {
		k.Totals[c] += uint64(n)
	}
}

// setSums says that a count of a counter counts what the block's instructions in [lo, hi) count, sign times.
func (e *Engine) setSums(counter, lo, hi int, sign int64) {
	if e.calls == nil || e.counting != emu.CountAll {
		return
	}
	sums := e.calls.scratch
	clear(sums)
	for i := lo; i < hi; i++ {
		for _, p := range e.plans[e.planOf(&e.block[i])] {
			if c := e.calls.columns[p.event]; c >= 0 {
				sums[c] += sign * p.times
			}
		}
	}
	e.addSums(counter, sums)
}

func (e *Engine) addSums(counter int, sums []int64) {
	s := &e.calls.sums
	s.counter, s.list = counter, s.list[:0]
	for c, n := range sums {
		if n != 0 {
			s.list = append(s.list, columnSum{c, int32(n)})
		}
	}
}

// missTotal returns which column of misses, from 1 on, is that of an event, behind which that of the last level comes;
// 0 if it has none. There are three bits for it.
func (e *Engine) missTotal(ev emu.Event) int32 {
	if e.calls == nil || e.counting != emu.CountAll {
		return 0
	}
	c := e.calls.columns[ev]
	if c < 0 {
		return 0
	}
	n := c - e.calls.misses + 1
	if n > 7 || e.calls.columns[ev+1] != c+1 {
		panic("BUG: events of misses are not the first columns")
	}
	return int32(n)
}

// crosses reports whether the way to target leads into another function than that of the block being translated.
func (e *Engine) crosses(target emu.Addr) bool {
	return e.calls != nil && !e.calls.Same(e.t.pc, target)
}

// otherFunction reports whether a is of another function than pc, and no part of a block that begins there: calls are
// recorded.
func (e *Engine) otherFunction(pc, a emu.Addr) bool { return e.calls != nil && !e.calls.Same(pc, a) }

// arc returns the arena offset of the sums of an arc.
func (e *Engine) arc(site, target emu.Addr) int {
	return sumsOff + int(e.calls.Arc(site, target)-e.calls.Base)
}

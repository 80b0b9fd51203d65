//go:build linux && amd64

package jit

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"

	"github.com/cgemu/cgemu/cachesim"
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/x86"
	"github.com/cgemu/cgemu/hooks"
)

// A simCache is a simulated cache in the arena.
type simCache struct {
	line  int // bytes
	assoc int
	// mask has the bits of an address that choose the set; a set's part of a table
	// begins at these times some power of two.
	mask uint64
}

func newSimCache(g cachesim.Geometry) simCache {
	return simCache{line: g.Line, assoc: g.Assoc, mask: uint64(g.Size/g.Line/g.Assoc-1) * uint64(g.Line)}
}

// base returns the address of the line of a.
func (c *simCache) base(a uint64) uint64 { return a &^ uint64(c.line-1) }

// scaleFor returns by what to multiply a masked address so that sets are n bytes apart, or more.
func (c *simCache) scaleFor(n int) int {
	scale := 1
	for c.line*scale < n {
		scale *= 2
	}
	return scale
}

// tableSize returns the size of a table whose sets are scale times as far apart as their addresses.
func (c *simCache) tableSize(scale int) int { return (int(c.mask) + c.line) * scale }

// tick is what the clock advances by, and more than any way's number.
const tick = 1 << 16

// A stampedCache is one whose lines have a stamp each, the time of their last use, or 0 if they are not in the cache:
// so nothing is searched, and a hit writes a stamp and changes nothing else. The ways of a set are the addresses of the
// stamps of their lines, or of a word that stays 0; the line with the least stamp goes. D1 and I1 are such caches.
type stampedCache struct {
	simCache
	ways, scale int
}

// newStampedCache places the ways at off and returns their end.
func newStampedCache(g cachesim.Geometry, off int) (c stampedCache, end int) {
	c = stampedCache{simCache: newSimCache(g), ways: off}
	c.scale = c.scaleFor(8 * c.assoc)
	return c, off + c.tableSize(c.scale)
}

// set returns the arena offset of the ways of an address.
func (c *stampedCache) set(a uint64) int { return c.ways + int(a&c.mask)*c.scale }

// A dataCache is D1. Its stamps are the words of a directory of lines. Without the directory parked has the stamps of
// the ways, in the order of eachWay, and a way whose stamp is not 0 is a place in the directory.
type dataCache struct {
	stampedCache
	directory lineDirectory
	parked    []uint64
}

// A lineCache is I1. The lines that can be fetched are known when code is translated, so each has a stamp of its own in
// the arena.
type lineCache struct {
	stampedCache
	// stamps has the arena offset of each line's stamp; free are those of lines forgotten.
	stamps map[uint64]int
	free   []int
	used   int // stamps in use or free
	// known has those of an image's lines, in their order; stamps may have some of them, too.
	known []lineStamp
}

// newLineCache places the ways at off and returns their end.
func newLineCache(g cachesim.Geometry, off int) (c lineCache, end int) {
	c = lineCache{stamps: map[uint64]int{}, used: 1}
	c.stampedCache, end = newStampedCache(g, off)
	return c, end
}

// stampOf returns the arena offset of a line's stamp.
func (c *lineCache) stampOf(line uint64) int {
	at, ok := c.stamps[line]
	if !ok {
		at = c.newStamp(line)
		c.stamps[line] = at
	}
	return at
}

// newStamp returns where the stamp of a line belongs that stamps has not.
func (c *lineCache) newStamp(line uint64) (at int) {
	if i, ok := slices.BinarySearchFunc(c.known, line, func(k lineStamp, line uint64) int { return cmp.Compare(k.line, line) }); ok {
		return int(c.known[i].at)
	}
	if n := len(c.free); n > 0 {
		at, c.free = c.free[n-1], c.free[:n-1]
		return at
	}
	at = linesOff + 8*c.used
	c.used++
	return at
}

// full reports whether a block might find no stamps for its lines.
func (c *lineCache) full() bool { return c.used+2*maxBlock > linesSize/8 && len(c.free) < 2*maxBlock }

// forget frees the stamps of lines that are not in the cache: no code knows them any more.
func (c *lineCache) forget(a *arena) {
	for _, k := range c.known {
		c.stamps[k.line] = int(k.at)
	}
	c.known = nil
	for _, line := range slices.Sorted(maps.Keys(c.stamps)) {
		if at := c.stamps[line]; *a.word(at) == 0 {
			delete(c.stamps, line)
			c.free = append(c.free, at)
		}
	}
}

// all returns where all stamps are, in the order of lines.
func (c *lineCache) all() []lineStamp {
	list := make([]lineStamp, 0, len(c.stamps)+len(c.known))
	for line, at := range c.stamps {
		list = append(list, lineStamp{line, int64(at)})
	}
	for _, k := range c.known {
		if _, ok := c.stamps[k.line]; !ok {
			list = append(list, k)
		}
	}
	slices.SortFunc(list, func(x, y lineStamp) int { return cmp.Compare(x.line, y.line) })
	return list
}

// A simulation is where the tables of caches and predictors lie.
type simulation struct {
	caches, branches bool
	clockInVector    bool // whether the clock is in a vector register
	masks            bool // whether the history is in a mask register
	i1               lineCache
	d1               dataCache
	ll               lastCache
	// cond has a two-bit counter in each byte: 128 for each value of an address's
	// low seven bits, by history (condEntry). ind has 512 targets.
	cond, ind int
	size      int // of all tables, rounded up to pages
	// maxRef is the longest reference there is: longer ones count as that.
	maxRef int
	// removals is what the guest's memory said of removals when stTouched was cleared last.
	removals uint64
	// routines simulate a reference (simroutine.go): the second ones where the guest's x87 is loaded, and not the
	// clock.
	routines [2]simRoutines
}

type simRoutines struct {
	fetch, fetchLL int
	load, store    dataRoutine
}

// A dataRoutine simulates a data reference. Between probe and probed it reads memory; if that faults, it gives up and
// goes on at given. One for stores writes to memory before, between touch and probe, and goes on at probe if that
// faults.
type dataRoutine struct{ entry, touch, probe, probed, given int }

// after returns where the routine goes on after a fault at arena offset pos, and whether it is one that it expects.
func (r *dataRoutine) after(pos int) (resume int, ok bool) {
	switch {
	case pos < r.touch || pos >= r.probed:
		return 0, false
	case pos < r.probe:
		return r.probe, true
	}
	return r.given, true // the instruction will fault itself
}

// data returns the routine for a reference that does what k says.
func (s *simRoutines) data(k x86.RefKind) int {
	if k == x86.Read {
		return s.load.entry
	}
	return s.store.entry
}

// simRoutines returns the routines for where the assembler is.
func (e *Engine) simRoutines() *simRoutines { return &e.sim.routines[b2i(e.keepsClock() && e.x87)] }

// Sizes of the predictors' tables (docs/counting.md, "Conditional branches").
const (
	historyBits = 7
	condEntries = 1 << (2 * historyBits)
	indEntries  = 512
)

// newSimulation lays the tables of cfg out; avx512 says that there are registers of 512 bits, and masks, for them.
func newSimulation(cfg *emu.Config, avx512 bool) (s simulation) {
	end := tablesOff
	if cfg.Caches != nil {
		s.caches = true
		s.clockInVector = avx512
		s.i1, end = newLineCache(cfg.Caches.I1, end)
		s.d1.stampedCache, end = newStampedCache(cfg.Caches.D1, end)
		s.ll, end = newLastCache(cfg.Caches.LL, end)
		s.maxRef = min(s.i1.line, s.d1.line, s.ll.line)
	}
	if cfg.Branches {
		s.branches, s.masks = true, avx512
		s.cond = end
		s.ind = s.cond + condEntries
		end = s.ind + 8*indEntries
	}
	s.size = (end - tablesOff + int(emu.PageSize) - 1) &^ (int(emu.PageSize) - 1)
	return s
}

// openDirectories makes the directories of lines, as large as the guest's memory may be, with what the caches hold. If
// there are some, these take their place.
func (e *Engine) openDirectories() (err error) {
	d1, ll := &e.sim.d1, &e.sim.ll
	if !e.sim.caches {
		return nil
	}
	e.closeDirectories()
	if d1.directory, err = newLineDirectory(e.mem.Limit(), d1.line, stampSize); err != nil {
		return err
	}
	if ll.directory, err = newLineDirectory(e.mem.Limit(), ll.line, ll.cell); err != nil {
		d1.directory.close()
		return err
	}
	e.set(stD1Directory, uint64(d1.directory.host))
	e.set(stLLDirectory, uint64(ll.directory.host))
	i := 0
	d1.eachWay(e, func(way *uint64) {
		if stamp := d1.parked[i]; stamp != 0 {
			*d1.directory.stamp(*way) = stamp
			*way += uint64(d1.directory.host)
		}
		i++
	})
	ll.fill(e)
	return nil
}

// closeDirectories gives their addresses back. What is in the caches stays.
func (e *Engine) closeDirectories() {
	d1, ll := &e.sim.d1, &e.sim.ll
	if d1.directory.size == 0 {
		return
	}
	i := 0
	d1.eachWay(e, func(way *uint64) {
		d1.parked[i] = 0
		if *way != e.hostAddr(linesOff) {
			d1.parked[i] = *stampAt(*way)
			*way -= uint64(d1.directory.host)
		}
		i++
	})
	d1.directory.close()
	ll.directory.close()
}

// eachWay calls do for all ways.
func (c *stampedCache) eachWay(e *Engine, do func(way *uint64)) {
	for set := uint64(0); set <= c.mask; set += uint64(c.line) {
		ways := e.arena.words(c.set(set), c.assoc)
		for i := range ways {
			do(&ways[i])
		}
	}
}

// emptyCaches makes empty caches of tables that are all zero, while there are no directories.
func (e *Engine) emptyCaches() {
	if !e.sim.caches {
		return
	}
	e.set(stTick, tick)
	// The first stamp is of no line, and stays 0.
	none := func(way *uint64) { *way = e.hostAddr(linesOff) }
	i1, d1, ll := &e.sim.i1, &e.sim.d1, &e.sim.ll
	i1.eachWay(e, none)
	d1.eachWay(e, none)
	ll.empty(e)
	// To begin with all ways have line 0, as far as that makes a difference: in its set the one that goes last does.
	e.set(stClock, tick)
	d1.parked = make([]uint64, (int(d1.mask)/d1.line+1)*d1.assoc)
	d1.parked[d1.assoc-1] = tick
	e.set(d1.ways+8*(d1.assoc-1), 0)
}

// forgetSimulated makes caches and predictors as new, of an engine that is idle. Lines of code keep the places of their
// stamps, which blocks know.
func (e *Engine) forgetSimulated() {
	if e.sim.size == 0 {
		return
	}
	clear(e.arena.words(linesOff, e.sim.i1.used))
	clear(e.arena.words(tablesOff, e.sim.size/8))
	e.set(stClock, 0)
	e.set(stHistory, 0)
	e.emptyCaches()
}

// details reports whether it counts, or simulates, anything but instructions.
func (e *Engine) details() bool {
	return e.counting != emu.CountOff && e.countsMore()
}

// countsMore reports whether the engine counts more than instructions, if it counts.
func (e *Engine) countsMore() bool { return e.sim.size > 0 || e.Events&^emu.Events(emu.Ir) != 0 }

// abs returns the address of an offset in the arena's low part, for a displacement or an immediate.
func (e *Engine) abs(off int) int32 { return int32(e.hostAddr(off)) }

// forgetTouched has the routine for stores write to pages again, once pages may be new. What it takes for touched
// though it is new, in the memory of another process, costs a second fault and nothing else.
func (e *Engine) forgetTouched() {
	if n := e.mem.Removals(); n != e.sim.removals && e.sim.caches {
		e.sim.removals = n
		clear(e.arena.words(stTouched, touchedPages/8))
	}
}

// touch makes a line the most recently used of its set and reports whether it was missing. It is what generated code
// does.
func (c *dataCache) touch(e *Engine, line uint64) (missed bool) {
	e.set(stClock, e.get(stClock)+tick)
	place := line / uint64(c.line) * stampSize
	stamp := c.directory.stamp(place)
	if missed = *stamp == 0; missed {
		ways := e.arena.words(c.set(line), c.assoc)
		oldest := slices.MinFunc(ways, func(x, y uint64) int { return cmp.Compare(*stampAt(x), *stampAt(y)) })
		*stampAt(oldest) = 0
		ways[slices.Index(ways, oldest)] = uint64(c.directory.host) + place
	}
	*stamp = e.get(stClock)
	return missed
}

// A dataLevel is D1 or LL, to which data references go.
type dataLevel interface {
	base(a uint64) uint64
	touch(e *Engine, line uint64) (missed bool)
}

// refer makes a reference to c, which may touch two lines and misses if either is missing.
func (e *Engine) refer(c dataLevel, a uint64, size int) (missed bool) {
	first, last := c.base(a), c.base(a+uint64(size)-1)
	missed = c.touch(e, first)
	if last != first {
		missed = c.touch(e, last) || missed
	}
	return missed
}

// dataRef simulates a data reference of the instruction of t at pc, and reports whether it missed D1.
func (e *Engine) dataRef(t *tb, pc, a emu.Addr, r x86.Ref) (missed bool) {
	if !e.sim.caches || t.cache.counting == emu.CountOff || a >= e.mem.Limit() {
		return false
	}
	size := min(int(r.Size), e.sim.maxRef)
	if !e.refer(&e.sim.d1, uint64(a), size) {
		return false
	}
	l1, last := missEvents(r.Kind)
	e.tally(t, pc, l1, 1)
	if e.refer(&e.sim.ll, uint64(a), size) {
		e.tally(t, pc, last, 1)
	}
	return true
}

// missEvents returns the events of a data reference's misses.
func missEvents(k x86.RefKind) (l1, ll emu.Event) {
	if k == x86.Write {
		return emu.D1mw, emu.DLmw
	}
	return emu.D1mr, emu.DLmr
}

// condBranch simulates a conditional branch of the instruction of t at pc.
func (e *Engine) condBranch(t *tb, pc emu.Addr, taken bool) {
	if !e.sim.branches || t.cache.counting == emu.CountOff {
		return
	}
	h := e.get(stHistory)
	entry := e.arena.byteAt(e.sim.condEntry(pc) + int(h))
	predicted := *entry >= 2
	if predicted != taken {
		e.tally(t, pc, emu.Bcm, 1)
	}
	switch {
	case taken:
		*entry = min(*entry+1, 3)
	case *entry > 0:
		*entry--
	}
	e.set(stHistory, outcomes{}.with(taken).after(h))
}

// condEntry returns the arena offset of the counters of a branch at a, every second byte. Those of another branch lie
// between.
func (s *simulation) condEntry(a emu.Addr) int {
	a %= 1 << historyBits
	return s.cond + int(a&^1)<<historyBits + int(a&1)
}

// newEventCounter returns the arena offset of a fresh counter of an event of t's instruction i. A
// second one for the event of the level behind it follows if two is set.
func (e *Engine) newEventCounter(i int, ev emu.Event, two bool) int {
	k := e.eventCounters
	e.own = append(e.own, ownCounter{insn: int16(i), event: ev, counter: int32(k), two: two})
	e.eventCounters += 1 + b2i(two)
	return ownOff + 8*k
}

// takeOwn returns an own counter's value and makes it 0.
func (e *Engine) takeOwn(k int) uint64 {
	n := e.get(ownOff + 8*k)
	if n != 0 {
		e.set(ownOff+8*k, 0)
	}
	return n
}

// planEffects finds what the instructions of the block may count.
func (e *Engine) planEffects() {
	if !e.details() {
		return
	}
	var c hooks.Context
	for i := range e.block {
		g := &e.block[i]
		g.effects = c.Next(&g.Inst)
	}
}

// planOf returns the index of what g counts at each execution.
func (e *Engine) planOf(g *ginsn) uint16 {
	if !e.details() {
		return 0
	}
	p := g.effects.Plan(&g.Inst, e.Events)
	i, ok := e.planIndex[p]
	if !ok {
		i = e.addPlan(p)
	}
	return i
}

// addPlan returns the index of a new plan.
func (e *Engine) addPlan(p hooks.Plan) uint16 {
	i := uint16(len(e.plans))
	var list []planned
	for ev, n := range p {
		if n > 0 {
			list = append(list, planned{event: emu.Event(ev), times: int64(n)})
		}
	}
	e.plans = append(e.plans, list)
	e.planIndex[p] = i
	return i
}

// log2 returns the binary logarithm of a power of two.
func log2(n int) byte { return byte(bits.TrailingZeros(uint(n))) }

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

// A stampCache finds a line without a search. For each line of guest memory, ways has the way
// that holds it, from 1 on, or 0; each way has a stamp, the time when its line was last
// made the most recently used of its set, with the way's number in the low bits, and the
// least of these is that of the least recently used way. D1 and LL are such caches. In D1 a hit on
// the line used last changes nothing.
type stampCache struct {
	simCache
	ways wayTable
	// recent has for each set the address of the line used last; it is 0 for LL, which is not asked
	// so often.
	recent int
	// stamps has for each set, scale times as far apart, the stamps of its ways and then the
	// addresses of their lines.
	stamps, scale int
	// If vectors is not 0, a set has so many (simvector.go): stamps has its stamps, tags the addresses of its lines,
	// and there is neither ways nor recent.
	vectors, tags int
	// narrow, if it is not 0, says that tags has the addresses shifted right by that, in 32 bits: what tells the lines
	// of a set apart. All are in one vector then.
	narrow byte
}

// tick is what the clock advances by, and more than any way's number.
const tick = 1 << 16

// newStampCache places the tables at off, a multiple of 64, and returns their end, which is another.
func newStampCache(g cachesim.Geometry, off int, recent, vectors bool) (c stampCache, end int) {
	c = stampCache{simCache: newSimCache(g), stamps: off}
	if n := c.vectorsFor(); vectors && n > 0 {
		end = c.placeVectors(n, off, recent)
		return c, end
	}
	if recent {
		c.recent = off
		c.stamps += c.tableSize(1)
	}
	c.scale = c.scaleFor(16 * c.assoc)
	return c, c.stamps + c.tableSize(c.scale)
}

// recentAt and stampsAt return the arena offsets of what a set has.
func (c *stampCache) recentAt(a uint64) int { return c.recent + int(a&c.mask) }
func (c *stampCache) stampsAt(a uint64) int { return c.stamps + int(a&c.mask)*c.scale }

// A lineCache is I1. The lines that can be fetched are known when code is translated, so each
// has a stamp of its own, the time of its last use or 0 if it is not in the cache, and a
// fetch that hits changes nothing else. The ways of a set are the addresses of the stamps
// of their lines.
type lineCache struct {
	simCache
	ways, scale int
	// stamps has the arena offset of each line's stamp; free are those of lines forgotten.
	stamps map[uint64]int
	free   []int
	used   int // stamps in use or free
	// known has those of an image's lines, in their order; stamps may have some of them, too.
	known []lineStamp
}

// newLineCache places the table at off and returns its end.
func newLineCache(g cachesim.Geometry, off int) (c lineCache, end int) {
	c = lineCache{simCache: newSimCache(g), ways: off, stamps: map[uint64]int{}, used: 1}
	c.scale = c.scaleFor(8 * c.assoc)
	return c, off + c.tableSize(c.scale)
}

// set returns the arena offset of the ways of an address.
func (c *lineCache) set(a uint64) int { return c.ways + int(a&c.mask)*c.scale }

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
	vectors          bool // whether D1 is in vectors, and the clock
	masks            bool // whether the history is in a mask register
	i1               lineCache
	d1, ll           stampCache
	// cond has a two-bit counter in each byte: 128 for each value of an address's
	// low seven bits, by history (condEntry). ind has 512 targets.
	cond, ind int
	size      int // of all tables, rounded up to pages
	// maxRef is the longest reference there is: longer ones count as that.
	maxRef int
	// fetch, load and store are the routines that simulate a reference (simroutine.go).
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
func (s *simulation) data(k x86.RefKind) int {
	if k == x86.Read {
		return s.load.entry
	}
	return s.store.entry
}

// waysMove reports whether there are tables of ways, which are as large as the guest's memory may be and whose
// addresses code knows.
func (s *simulation) waysMove() bool { return s.caches && (s.d1.vectors == 0 || s.ll.vectors == 0) }

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
		s.i1, end = newLineCache(cfg.Caches.I1, end)
		end = (end + 63) &^ 63
		s.d1, end = newStampCache(cfg.Caches.D1, end, true, avx512)
		s.vectors = s.d1.vectors > 0
		s.ll, end = newStampCache(cfg.Caches.LL, end, false, s.vectors)
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

// reserveWays gives caches that are not in vectors their tables of ways.
func (e *Engine) reserveWays() (err error) {
	for i, c := range [2]*stampCache{&e.sim.d1, &e.sim.ll} {
		if e.sim.caches && c.vectors == 0 {
			if c.ways, err = newWayTable(e.mem.Limit(), c.line, 2*e.arena.place.number+i); err != nil {
				return err
			}
		}
	}
	return nil
}

// emptyCaches makes empty caches of tables that are all zero.
func (e *Engine) emptyCaches() {
	if !e.sim.caches {
		return
	}
	if e.sim.vectors {
		e.prepareVectors()
	}
	for _, c := range [2]*stampCache{&e.sim.d1, &e.sim.ll} {
		if c.vectors > 0 {
			c.emptyVectors(&e.arena)
			continue
		}
		for set := uint64(0); set <= c.mask; set += uint64(c.line) {
			for i := range c.assoc {
				e.set(c.stampsAt(set)+8*i, uint64(i+1))
			}
		}
	}
	// The first stamp is of no line, and stays 0.
	c := &e.sim.i1
	for set := uint64(0); set <= c.mask; set += uint64(c.line) {
		for i := range e.arena.words(c.set(set), c.assoc) {
			e.set(c.set(set)+8*i, e.hostAddr(linesOff))
		}
	}
}

// forgetSimulated makes caches and predictors as new. Lines of code keep the places of their stamps, which blocks know.
func (e *Engine) forgetSimulated() {
	if e.sim.size == 0 {
		return
	}
	clear(e.arena.words(linesOff, e.sim.i1.used))
	clear(e.arena.words(tablesOff, e.sim.size/8))
	e.sim.d1.ways.clear()
	e.sim.ll.ways.clear()
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

// touch makes a line the most recently used of its set and reports whether it was missing. It is
// what the generated routines do.
func (c *stampCache) touch(a *arena, line uint64) (missed bool) {
	if c.recent > 0 {
		recent := a.word(c.recentAt(line))
		if *recent == line {
			return false
		}
		*recent = line
	}
	*a.word(stClock) += tick
	if c.vectors > 0 {
		return c.touchVector(a, line)
	}
	set := a.words(c.stampsAt(line), 2*c.assoc)
	way := c.ways.at(line / uint64(c.line))
	if *way == 0 {
		missed = true
		oldest := slices.Min(set[:c.assoc]) % tick
		old := &set[c.assoc+int(oldest)-1]
		*c.ways.at(*old / uint64(c.line)) = 0
		*old = line
		*way = uint16(oldest)
	}
	set[*way-1] = *a.word(stClock) + uint64(*way)
	return missed
}

// refer makes a reference to c, which may touch two lines and misses if either is missing.
func (e *Engine) refer(c *stampCache, a uint64, size int) (missed bool) {
	first, last := c.base(a), c.base(a+uint64(size)-1)
	missed = c.touch(&e.arena, first)
	if last != first {
		missed = c.touch(&e.arena, last) || missed
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

//go:build linux && amd64

package jit

import (
	"math/bits"

	"github.com/cgemu/cgemu/cachesim"
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/x86"
	"github.com/cgemu/cgemu/hooks"
)

// A simCache is a simulated cache in the arena: for each set its lines' addresses, the
// most recently used first. 0 says that a way is empty, as in Cachegrind, where
// the line at address 0 is in every set it belongs to.
type simCache struct {
	off   int // of the table
	line  int // bytes
	assoc int
	// mask has the bits of an address that choose the set. A set begins at these times
	// scale behind off.
	mask  uint64
	scale int
}

func newSimCache(g cachesim.Geometry, off int) (c simCache, end int) {
	sets := g.Size / g.Line / g.Assoc
	scale := 1
	for g.Line*scale < 8*g.Assoc {
		scale *= 2
	}
	c = simCache{off: off, line: g.Line, assoc: g.Assoc, mask: uint64(sets-1) * uint64(g.Line), scale: scale}
	return c, off + sets*g.Line*scale
}

// set returns the arena offset of the set of an address.
func (c *simCache) set(a uint64) int { return c.off + int(a&c.mask)*c.scale }

// base returns the address of the line of a.
func (c *simCache) base(a uint64) uint64 { return a &^ uint64(c.line-1) }

// A simulation is where the tables of caches and predictors lie.
type simulation struct {
	caches, branches bool
	i1, d1, ll       simCache
	// cond has a two-bit counter in each byte: 128 for each value of an address's
	// low seven bits, by history. ind has 512 targets.
	cond, ind int
	size      int // of all tables, rounded up to pages
	// maxRef is the longest reference there is: longer ones count as that.
	maxRef int
	// fetch and data are the routines that simulate a reference (simroutine.go).
	fetch, data int
}

// Sizes of the predictors' tables (spec: cachegrind.md, section 4).
const (
	historyBits = 7
	condEntries = 1 << (2 * historyBits)
	indEntries  = 512
)

func newSimulation(cfg *Config) (s simulation) {
	end := tablesOff
	if cfg.Caches != nil {
		s.caches = true
		s.i1, end = newSimCache(cfg.Caches.I1, end)
		s.d1, end = newSimCache(cfg.Caches.D1, end)
		s.ll, end = newSimCache(cfg.Caches.LL, end)
		s.maxRef = min(s.i1.line, s.d1.line, s.ll.line)
	}
	if cfg.Branches {
		s.branches = true
		s.cond = end
		s.ind = s.cond + condEntries
		end = s.ind + 8*indEntries
	}
	s.size = (end - tablesOff + int(emu.PageSize) - 1) &^ (int(emu.PageSize) - 1)
	return s
}

// simulates reports whether the code being translated simulates caches or predictors.
func (e *Engine) simulates() bool {
	return e.counting != emu.CountOff && (e.sim.caches || e.sim.branches)
}

// details reports whether it counts, or simulates, anything but instructions.
func (e *Engine) details() bool {
	return e.counting != emu.CountOff && (e.sim.size > 0 || e.Events&^emu.Events(emu.Ir) != 0)
}

// abs returns the address of an arena offset, for a displacement: simulating engines lie low.
func (e *Engine) abs(off int) int32 { return int32(e.hostAddr(off)) }

// touch looks a line up in c, makes it the most recently used of its set, and reports
// whether it was missing. It is what the generated routine does.
func (e *Engine) touch(c *simCache, line uint64) (missed bool) {
	ways := e.arena.words(c.set(line), c.assoc)
	last := line
	for i := range ways {
		last, ways[i] = ways[i], last
		if last == line {
			return false
		}
	}
	return true
}

// refer makes a reference to c, which may touch two lines and misses if either is missing.
func (e *Engine) refer(c *simCache, a uint64, size int) (missed bool) {
	first, last := c.base(a), c.base(a+uint64(size)-1)
	missed = e.touch(c, first)
	if last != first {
		missed = e.touch(c, last) || missed
	}
	return missed
}

// dataRef simulates a data reference of instruction i of t, and reports whether it missed D1.
func (e *Engine) dataRef(t *tb, i int, a emu.Addr, r x86.Ref) (missed bool) {
	if !e.sim.caches || t.world.counting == emu.CountOff {
		return false
	}
	size := min(int(r.Size), e.sim.maxRef)
	if !e.refer(&e.sim.d1, uint64(a), size) {
		return false
	}
	l1, last := missEvents(r.Kind)
	e.tally(t, i, l1, 1)
	if e.refer(&e.sim.ll, uint64(a), size) {
		e.tally(t, i, last, 1)
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

// condBranch simulates a conditional branch of instruction i of t.
func (e *Engine) condBranch(t *tb, i int, taken bool) {
	if !e.sim.branches || t.world.counting == emu.CountOff {
		return
	}
	h := e.get(stHistory)
	entry := &e.arena.mem[e.condEntry(t.addr(i))+int(h)]
	predicted := *entry >= 2
	if predicted != taken {
		e.tally(t, i, emu.Bcm, 1)
	}
	h = h << 1 & (1<<historyBits - 1)
	switch {
	case taken:
		h |= 1
		*entry = min(*entry+1, 3)
	case *entry > 0:
		*entry--
	}
	e.set(stHistory, h)
}

// condEntry returns the arena offset of the counters of a branch at a.
func (e *Engine) condEntry(a emu.Addr) int {
	return e.sim.cond + int(a&(1<<historyBits-1))<<historyBits
}

// newOwn returns the arena offset of a fresh counter of an event of t's instruction i. A
// second one for the event of the level behind it follows if two is set.
func (e *Engine) newOwn(i int, ev emu.Event, two bool) int {
	k := e.owns
	e.t.own = append(e.t.own, ownCounter{insn: i, event: ev, counter: k})
	e.owns++
	if two {
		e.t.own = append(e.t.own, ownCounter{insn: i, event: ev + 1, counter: k + 1})
		e.owns++
	}
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
		i = uint16(len(e.plans))
		var list []planned
		for ev, n := range p {
			if n > 0 {
				list = append(list, planned{event: emu.Event(ev), times: int64(n)})
			}
		}
		e.plans = append(e.plans, list)
		e.planIndex[p] = i
	}
	return i
}

// log2 returns the binary logarithm of a power of two.
func log2(n int) byte { return byte(bits.TrailingZeros(uint(n))) }

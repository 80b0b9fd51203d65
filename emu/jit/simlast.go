//go:build linux && amd64

package jit

import (
	"math/bits"

	"github.com/cgemu/cgemu/cachesim"
	"github.com/cgemu/cgemu/emu/x86"
)

// A lastCache is LL. It has far more lines than D1, so what it takes of the host's caches counts. A directory has a
// cell for each line of guest memory, of one byte if all ways fit: 1 and the number of the line's way, or 0 if it is
// not in the cache. A set's ways are a list, from the one used last to the one that goes next: four bits each where all
// fit into a word, else 16.
type lastCache struct {
	simCache
	directory lineDirectory
	cell      int // bytes
	wayBits   int // of each way in a list
	// order has the lists, listSize bytes apart. lines has for each way where behind its line the next cell is in the
	// directory, or 0 if there is no line; sets are scale times as far apart as their addresses.
	order, listSize, lines, scale int
	// untouched says that no line has been referred to since it was empty.
	untouched bool
}

// newLastCache places its tables at off, a multiple of 8, and returns their end, which is another.
func newLastCache(g cachesim.Geometry, off int) (c lastCache, end int) {
	c = lastCache{simCache: newSimCache(g), cell: 1, wayBits: 4, listSize: 8, order: off}
	if c.assoc > 0xff-1 {
		c.cell = 2
	}
	if c.assoc > 16 {
		c.wayBits, c.listSize = 16, 1<<bits.Len(uint(2*c.assoc-1))
	}
	c.scale = c.scaleFor(8 * c.assoc)
	c.lines = c.order + (int(c.mask)/c.line+1)*c.listSize
	return c, c.lines + c.tableSize(c.scale)
}

// A lastSet is a set of LL.
type lastSet struct {
	c     *lastCache
	list  []uint64
	lines []uint64 // by way
}

// set returns the set of an address.
func (c *lastCache) set(e *Engine, a uint64) lastSet {
	a &= c.mask
	return lastSet{c, e.arena.words(c.order+int(a)/c.line*c.listSize, c.listSize/8), e.arena.words(c.lines+int(a)*c.scale, c.assoc)}
}

// eachSet calls do for all sets.
func (c *lastCache) eachSet(e *Engine, do func(s lastSet)) {
	for a := uint64(0); a <= c.mask; a += uint64(c.line) {
		do(c.set(e, a))
	}
}

// at returns where in the list the way is that i others were used behind.
func (s *lastSet) at(i int) (word *uint64, shift int, mask uint64) {
	n, each := 64/s.c.wayBits, s.c.wayBits
	return &s.list[i/n], i % n * each, 1<<each - 1
}

// way returns it, put sets it.
func (s *lastSet) way(i int) int {
	word, shift, mask := s.at(i)
	return int(*word >> shift & mask)
}

func (s *lastSet) put(i, way int) {
	word, shift, mask := s.at(i)
	*word = *word&^(mask<<shift) | uint64(way)<<shift
}

// use makes way the one used last.
func (s *lastSet) use(way int) {
	for i, next := 0, way; ; i++ {
		was := s.way(i)
		s.put(i, next)
		if was == way {
			return
		}
		next = was
	}
}

// empty makes an empty cache of tables that are all zero.
func (c *lastCache) empty(e *Engine) {
	s := c.set(e, 0)
	for i := range c.assoc {
		s.put(i, i)
	}
	lists := e.arena.words(c.order, (c.lines-c.order)/8)
	for done := len(s.list); done < len(lists); done *= 2 {
		copy(lists[done:], lists[:done])
	}
	// To begin with all ways have line 0, as far as that makes a difference: in its set the one that goes last does.
	s.lines[0] = uint64(c.cell)
	c.untouched = true
}

// fill gives the cells of a directory that is all zero the ways of the lines that are in the cache. What is untouched
// is not looked at: that would take the host's memory.
func (c *lastCache) fill(e *Engine) {
	if c.untouched {
		c.directory.setCell(0, c.cell, 1)
		c.untouched = false
		return
	}
	c.eachSet(e, func(s lastSet) {
		for way, next := range s.lines {
			if next != 0 {
				c.directory.setCell(next-uint64(c.cell), c.cell, 1+way)
			}
		}
	})
}

// touch is what emitLastTouch does.
func (c *lastCache) touch(e *Engine, line uint64) (missed bool) {
	place := line / uint64(c.line) * uint64(c.cell)
	s := c.set(e, line)
	way := c.directory.getCell(place, c.cell) - 1
	if missed = way < 0; missed {
		way = s.way(c.assoc - 1)
		c.directory.setCell(s.lines[way]-uint64(c.cell), c.cell, 0) // that of no line, if it had none
		s.lines[way] = place + uint64(c.cell)
		c.directory.setCell(place, c.cell, 1+way)
	}
	s.use(way)
	return missed
}

// emitLastTouch looks the line in RAX up in LL and makes it the most recently used of its set. It returns the sites of
// the jumps to be taken if it was there, and loses RAX, RCX, RDX, RSI, R8, R9.
func (e *Engine) emitLastTouch() (hits []int) {
	c := &e.sim.ll
	e.emitMasked(&c.simCache, x86.RDX, x86.RAX)
	e.shiftRight(x86.RAX, log2(c.line)-log2(c.cell))
	e.movRR(x86.RSI, x86.RAX)
	e.addSlot(x86.RSI, stLLDirectory)
	e.loadSmall(x86.R8, x86.RSI, 0, c.cell)
	e.testRR32(x86.R8)
	missing := e.jcc(condE, 0)
	e.emitList(x86.RDX)
	e.lea(x86.R8, x86.R8, -1)
	e.emitUse()
	hits = append(hits, e.jmp(0))
	e.link(missing, e.pos)
	e.movRR(x86.RCX, x86.RDX)
	e.shiftLeft(x86.RCX, log2(c.scale))
	e.emitList(x86.RDX)
	if c.wayBits == 4 {
		e.loadAt(x86.R8, x86.RDX, 0)
		e.shiftRight(x86.R8, byte(4*(c.assoc-1)))
		e.aluImm32(aluAND, x86.R8, 0xf)
	} else {
		e.loadSmall(x86.R8, x86.RDX, int32(2*(c.assoc-1)), 2)
	}
	e.leaFull(x86.RCX, x86.RCX, x86.R8, 8, e.abs(c.lines), false)
	e.lea(x86.RAX, x86.RAX, int32(c.cell))
	e.loadAt(x86.R9, x86.RCX, 0)
	e.storeAt(x86.RCX, 0, x86.RAX)
	e.addSlot(x86.R9, stLLDirectory)
	e.lea(x86.RAX, x86.R8, 1)
	e.storeSmall(x86.RSI, 0, x86.RAX, c.cell)
	e.movImm(x86.RAX, 0)
	e.storeSmall(x86.R9, int32(-c.cell), x86.RAX, c.cell)
	e.emitUse()
	return hits
}

// emitList makes r, the bits of an address that choose a set, the address of its list.
func (e *Engine) emitList(r x86.Reg) {
	c := &e.sim.ll
	if c.listSize < c.line {
		e.shiftRight(r, log2(c.line)-log2(c.listSize))
	} else {
		e.shiftLeft(r, log2(c.listSize)-log2(c.line))
	}
	e.aluImm(aluADD, r, e.abs(c.order))
}

// emitUse makes the way in R8 the first one of the list at RDX. It loses RAX, RCX, RDX, RSI and R9.
func (e *Engine) emitUse() {
	if e.sim.ll.wayBits != 4 {
		e.emitUseLong()
		return
	}
	// The four bits that are the way's are 0 in RAX, where it is in all.
	const each = 0x1111_1111_1111_1111
	e.loadAt(x86.RCX, x86.RDX, 0)
	e.movImm(x86.RSI, each)
	e.movRR(x86.RAX, x86.R8)
	e.imul(x86.RAX, x86.RSI)
	e.aluRR(aluXOR, x86.RAX, x86.RCX)
	// The lowest zero: RAX-each has a carry there that RAX had no bit for, and below there is none.
	e.movRR(x86.R9, x86.RAX)
	e.aluRR(aluSUB, x86.RAX, x86.RSI)
	e.not(x86.R9)
	e.aluRR(aluAND, x86.RAX, x86.R9)
	e.shiftLeft(x86.RSI, 3)
	e.aluRR(aluAND, x86.RAX, x86.RSI)
	e.lea(x86.R9, x86.RAX, -1)
	e.aluRR(aluXOR, x86.RAX, x86.R9) // the bits up to there
	// These move up by one way, and the last one of them has room for it in front.
	e.movRR(x86.R9, x86.RCX)
	e.shiftLeft(x86.R9, 4)
	e.aluRR(aluOR, x86.R9, x86.R8)
	e.aluRR(aluXOR, x86.R9, x86.RCX)
	e.aluRR(aluAND, x86.R9, x86.RAX)
	e.aluRR(aluXOR, x86.RCX, x86.R9)
	e.storeAt(x86.RDX, 0, x86.RCX)
}

// emitUseLong is emitUse for lists of 16 bits each.
func (e *Engine) emitUseLong() {
	e.movRR(x86.RCX, x86.R8)
	next := e.pos
	e.loadSmall(x86.RAX, x86.RDX, 0, 2)
	e.storeSmall(x86.RDX, 0, x86.RCX, 2)
	e.lea(x86.RDX, x86.RDX, 2)
	e.movRR(x86.RCX, x86.RAX)
	e.aluRR(aluCMP, x86.RAX, x86.R8)
	e.jcc(condNE, next)
}

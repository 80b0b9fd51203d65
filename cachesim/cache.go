// Package cachesim simulates caches as Cachegrind does: two first-level caches, one for
// fetches (I1) and one for data (D1), and a last level (LL) that both go to when they miss.
// All are set-associative, allocate on reads and writes alike, and replace the least recently
// used line.
//
// Sizes are in bytes, addresses are guest virtual addresses. A line is the unit of a cache,
// numbered by address / line size; a set is the ways a line may occupy; the whole number of
// a line serves as its tag. Two rules follow Cachegrind rather than hardware, and counts depend
// on them (docs/counting.md, "Caches"):
//
//   - A reference that straddles two lines is one reference and at most one miss, and if it
//     missed, the next level looks both lines up.
//   - A new cache is not empty: every way holds line 0.
//
// This is the reference: engines may keep caches in other forms, but see the same misses. A
// Cache is not safe for concurrent use.
package cachesim

import (
	"fmt"
	"math/bits"
)

// A Cache is one cache.
type Cache struct {
	geometry Geometry
	shift    int // log2 of the line size
	// tags has a line number for each way of each set: set after set, and in a set the most
	// recently used line first.
	tags []uint64
}

// New returns a cache. The geometry has passed Check.
func New(g Geometry) *Cache {
	if err := g.Check(); err != nil {
		panic("BUG: cachesim: " + err.Error())
	}
	return &Cache{geometry: g, shift: bits.TrailingZeros(uint(g.Line)), tags: make([]uint64, g.Sets()*g.Assoc)}
}

// Access looks up the lines of [addr, addr+size) and fetches those that are not there. The size
// is 1 to the line's. It reports whether a line was missing.
func (c *Cache) Access(addr uint64, size int) (miss bool) {
	if size < 1 || size > c.geometry.Line {
		panic(fmt.Sprintf("BUG: cachesim: a reference of %d bytes to lines of %d", size, c.geometry.Line))
	}
	first, last := addr>>c.shift, (addr+uint64(size)-1)>>c.shift
	miss = c.use(first)
	if last != first {
		miss = c.use(last) || miss
	}
	return miss
}

// use makes a line the most recently used one of its set, in place of the least recently used
// one if it is not there.
func (c *Cache) use(line uint64) (miss bool) {
	set := c.set(line)
	moved := line
	for way, tag := range set {
		set[way] = moved
		if tag == line {
			return false
		}
		moved = tag
	}
	return true
}

// set returns the ways that a line may occupy.
func (c *Cache) set(line uint64) []uint64 {
	n := int(line & uint64(c.geometry.Sets()-1))
	return c.tags[n*c.geometry.Assoc : (n+1)*c.geometry.Assoc]
}

// A Hierarchy is the three caches of a Config.
type Hierarchy struct {
	I1, D1, LL *Cache
	maxSize    int
}

// NewHierarchy returns the caches of a configuration that has passed Check.
func NewHierarchy(c Config) *Hierarchy {
	return &Hierarchy{I1: New(c.I1), D1: New(c.D1), LL: New(c.LL), maxSize: c.MinLine()}
}

// Fetch is a reference to an instruction. It reports whether it missed in I1, and in LL too.
func (h *Hierarchy) Fetch(addr uint64, size int) (l1, ll bool) { return h.reference(h.I1, addr, size) }

// Data is a reference to data, a read or a write. It reports whether it missed in D1, and in LL
// too. Of more bytes than the shortest line has, only so many are referred to.
func (h *Hierarchy) Data(addr uint64, size int) (l1, ll bool) { return h.reference(h.D1, addr, size) }

func (h *Hierarchy) reference(c *Cache, addr uint64, size int) (l1, ll bool) {
	size = min(size, h.maxSize)
	l1 = c.Access(addr, size)
	return l1, l1 && h.LL.Access(addr, size)
}

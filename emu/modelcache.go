package emu

import (
	"maps"

	"github.com/cgemu/cgemu/cachesim"
)

// The caches of the models: those that cgemu simulates by default.
var (
	defaultL1     = cachesim.Geometry{Size: 32 << 10, Assoc: 8, Line: 64}
	defaultLL     = cachesim.Geometry{Size: 8 << 20, Assoc: 16, Line: 64}
	defaultCaches = cachesim.Config{I1: defaultL1, D1: defaultL1, LL: defaultLL}
)

// secondLevel lies between the first and the last level, and is not simulated: programs divide by
// its size.
var secondLevel = cachesim.Geometry{Size: 256 << 10, Assoc: 8, Line: 64}

// WithCaches returns a copy of m that has other caches, or m if that is Valgrind's, which keeps its own.
func (m *Model) WithCaches(caches cachesim.Config) *Model {
	if m.keepsCaches {
		return m
	}
	c := *m
	c.leaves = maps.Clone(m.leaves)
	c.setCaches(caches)
	return &c
}

// setCaches fills leaves 4 and 80000006H. The last level is the third, or the second if it is no
// larger than ours. Leaf 2 refers to leaf 4.
func (m *Model) setCaches(caches cachesim.Config) {
	const data, instructions, unified = 1, 2, 3
	second := secondLevel
	m.leaves[leaf{4, 0}] = cacheLeaf(data, 1, caches.D1)
	m.leaves[leaf{4, 1}] = cacheLeaf(instructions, 1, caches.I1)
	if caches.LL.Size > secondLevel.Size {
		m.leaves[leaf{4, 3}] = cacheLeaf(unified, 3, caches.LL)
	} else {
		second = caches.LL
		delete(m.leaves, leaf{4, 3})
	}
	m.leaves[leaf{4, 2}] = cacheLeaf(unified, 2, second)
	m.leaves[leaf{0x80000006, 0}] = regs{0, 0, uint32(second.Size)>>10<<16 | waysCode(second.Assoc)<<12 | uint32(second.Line)&0xff, 0}
}

// cacheLeaf encodes a subleaf of leaf 4: SDM Vol. 2, CPUID. Its fields hold lines of 4096 bytes and
// 1024 ways. Of larger ones a part goes to the number of partitions, by which programs multiply
// too.
func cacheLeaf(kind, level uint32, c cachesim.Geometry) regs {
	sets := c.Size / c.Line / c.Assoc
	line, ways, partitions := c.Line, c.Assoc, 1
	for ; line > 4096; line /= 2 {
		partitions *= 2
	}
	for ; ways > 1024 && ways%2 == 0; ways /= 2 {
		partitions *= 2
	}
	a := kind | level<<5 | 1<<8 // self-initialising
	if sets == 1 {
		a |= 1 << 9 // fully associative
	}
	return regs{a, field(line, 12) | field(partitions, 10)<<12 | field(ways, 10)<<22, uint32(sets - 1), 0}
}

// field encodes a number from 1 on; one that is too large becomes the largest.
func field(n, width int) uint32 { return uint32(min(n, 1<<width) - 1) }

// waysCodes has leaf 80000006H's codes for numbers of ways: APM Vol. 3, CPUID.
var waysCodes = []struct {
	ways int
	code uint32
}{{128, 0xe}, {96, 0xd}, {64, 0xc}, {48, 0xb}, {32, 0xa}, {16, 8}, {8, 6}, {4, 4}, {2, 2}, {1, 1}}

// waysCode encodes a number of ways; one that has no code gets that of the next smaller one.
func waysCode(ways int) uint32 {
	for _, w := range waysCodes {
		if ways >= w.ways {
			return w.code
		}
	}
	panic("BUG: a cache of no ways")
}

package profiler

import (
	"encoding/binary"
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/callgraph"
)

// notedCounts are counts by address as an engine gave them, in few bytes: each is how far its address is from the last
// one's, its event, and the number. What they take grows with none of it copied.
type notedCounts struct {
	chunks [][]byte
	last   emu.Addr
	calls  []callgraph.Sum
}

// notedChunk is the size of a chunk, which holds whole counts.
const notedChunk = 64 << 10

func (c *notedCounts) add(a emu.Addr, e emu.Event, n uint64) {
	const most = 2*binary.MaxVarintLen64 + 1
	k := len(c.chunks) - 1
	if k < 0 || len(c.chunks[k])+most > notedChunk {
		c.chunks = append(c.chunks, make([]byte, 0, notedChunk))
		k++
	}
	b := binary.AppendVarint(c.chunks[k], int64(a-c.last))
	c.chunks[k] = binary.AppendUvarint(append(b, byte(e)), n)
	c.last = a
}

func (c *notedCounts) addCall(s callgraph.Sum) {
	s.Costs = slices.Clone(s.Costs)
	c.calls = append(c.calls, s)
}

// eachCall gives all calls to f, and forgets them.
func (c *notedCounts) eachCall(f func(s callgraph.Sum)) {
	for _, s := range c.calls {
		f(s)
	}
	c.calls = nil
}

// each gives all counts to f, in the order in which they came, and forgets them.
func (c *notedCounts) each(f func(a emu.Addr, e emu.Event, n uint64)) {
	var a emu.Addr
	for i, b := range c.chunks {
		for len(b) > 0 {
			apart, size := binary.Varint(b)
			e := emu.Event(b[size])
			n, more := binary.Uvarint(b[size+1:])
			a += emu.Addr(apart)
			f(a, e, n)
			b = b[size+1+more:]
		}
		c.chunks[i] = nil
	}
	c.chunks, c.last = nil, 0
}

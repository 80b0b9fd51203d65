//go:build linux && amd64

package jit

import (
	"iter"
	"math/bits"

	"github.com/cgemu/cgemu/emu"
)

// A blockTable finds blocks by where they begin: by open addressing, for all that is done with code that is executed
// seldom is to translate it and to look it up.
type blockTable struct {
	slots []blockSlot // 2^n of them, at most three of four in use
	count int
	shift uint8 // 64 - n
}

// A blockSlot is empty if t is nil. A block may lie behind its own slot, with none empty in between.
type blockSlot struct {
	pc emu.Addr
	t  *tb
}

// minSlots is the size of a table that is not empty.
const minSlots = 64

// home is the slot of pc.
func (b *blockTable) home(pc emu.Addr) int {
	const golden = 0x9e3779b97f4a7c15 // 2^64 divided by the golden ratio
	return int(uint64(pc) * golden >> (b.shift & 63))
}

// find returns the slot that has pc, or the empty one where it would be.
func (b *blockTable) find(pc emu.Addr) int {
	i := b.home(pc)
	for b.slots[i].t != nil && b.slots[i].pc != pc {
		i = (i + 1) & (len(b.slots) - 1)
	}
	return i
}

// at returns the block at pc, nil if there is none.
func (b *blockTable) at(pc emu.Addr) *tb {
	if b.count == 0 {
		return nil
	}
	return b.slots[b.find(pc)].t
}

// put adds t, in the place of another one that begins there.
func (b *blockTable) put(t *tb) {
	if 4*b.count >= 3*len(b.slots) {
		b.grow()
	}
	s := &b.slots[b.find(t.pc)]
	b.count += b2i(s.t == nil)
	*s = blockSlot{t.pc, t}
}

func (b *blockTable) grow() {
	old := b.slots
	b.slots = make([]blockSlot, max(minSlots, 2*len(old)))
	b.shift = uint8(64 - bits.TrailingZeros(uint(len(b.slots))))
	for _, s := range old {
		if s.t != nil {
			b.slots[b.find(s.pc)] = s
		}
	}
}

// remove takes the block at pc out, if there is one. Those behind it move to where they are found.
func (b *blockTable) remove(pc emu.Addr) {
	if b.at(pc) == nil {
		return
	}
	mask := len(b.slots) - 1
	hole := b.find(pc)
	for i := (hole + 1) & mask; b.slots[i].t != nil; i = (i + 1) & mask {
		if (i-b.home(b.slots[i].pc))&mask >= (i-hole)&mask {
			b.slots[hole], hole = b.slots[i], i
		}
	}
	b.slots[hole] = blockSlot{}
	b.count--
}

// clear takes all out.
func (b *blockTable) clear() { *b = blockTable{} }

// all are the blocks.
func (b *blockTable) all() iter.Seq[*tb] {
	return func(yield func(*tb) bool) {
		for _, s := range b.slots {
			if s.t != nil && !yield(s.t) {
				return
			}
		}
	}
}

package mem

import (
	"slices"
	"sort"

	"github.com/cgemu/cgemu/emu"
)

// maxBlock is how many VMAs a block of a vmaList has at most.
const maxBlock = 128

// A vmaList has VMAs in ascending order, disjoint. It is cut into blocks, none of them empty, so that a change moves
// few others however many there are.
type vmaList struct {
	blocks [][]VMA
	// count is how many there are.
	count int
	// flat is all of it, for who wants a slice; nil since the last change.
	flat []VMA
	// found are results of find, the last first: of mmap(2) one in front of the heap and one behind it.
	found [2]found
}

// A found says that no hole in [low, at) has size bytes.
type found struct{ low, at, size emu.Addr }

// A vmaPlace is where in the list a VMA is, or would be.
type vmaPlace struct{ block, i int }

// search returns the place of the first VMA that ends above a.
func (l *vmaList) search(a emu.Addr) vmaPlace {
	b := sort.Search(len(l.blocks), func(i int) bool { return l.blocks[i][len(l.blocks[i])-1].Hi > a })
	if b == len(l.blocks) {
		return vmaPlace{b, 0}
	}
	block := l.blocks[b]
	return vmaPlace{b, sort.Search(len(block), func(i int) bool { return block[i].Hi > a })}
}

// at returns the VMA at p, nil behind the last.
func (l *vmaList) at(p vmaPlace) *VMA {
	if p.block == len(l.blocks) {
		return nil
	}
	return &l.blocks[p.block][p.i]
}

// next returns the place behind p.
func (l *vmaList) next(p vmaPlace) vmaPlace {
	if p.i++; p.i == len(l.blocks[p.block]) {
		p = vmaPlace{p.block + 1, 0}
	}
	return p
}

// before returns the VMA in front of p, nil if there is none.
func (l *vmaList) before(p vmaPlace) *VMA {
	switch {
	case p.i > 0:
		return &l.blocks[p.block][p.i-1]
	case p.block > 0:
		block := l.blocks[p.block-1]
		return &block[len(block)-1]
	}
	return nil
}

// all returns the VMAs as a slice, which is the list's own.
func (l *vmaList) all() []VMA {
	if l.flat == nil && len(l.blocks) > 0 {
		l.flat = slices.Concat(l.blocks...)
	}
	return l.flat
}

// put inserts v at p.
func (l *vmaList) put(p vmaPlace, v VMA) {
	l.flat = nil
	l.count++
	if p.i == 0 && p.block > 0 {
		p = vmaPlace{p.block - 1, len(l.blocks[p.block-1])} // at the end of the block before
	}
	if p.block == len(l.blocks) {
		l.blocks = append(l.blocks, []VMA{v})
		return
	}
	block := l.blocks[p.block]
	if len(block) == maxBlock {
		const half = maxBlock / 2
		l.blocks = slices.Insert(l.blocks, p.block+1, slices.Clone(block[half:]))
		clear(block[half:])
		block = block[:half]
		l.blocks[p.block] = block
		if p.i > half {
			p = vmaPlace{p.block + 1, p.i - half}
			block = l.blocks[p.block]
		}
	}
	l.blocks[p.block] = slices.Insert(block, p.i, v)
}

// drop removes the VMA at p.
func (l *vmaList) drop(p vmaPlace) {
	l.flat = nil
	l.count--
	block := slices.Delete(l.blocks[p.block], p.i, p.i+1)
	if l.blocks[p.block] = block; len(block) == 0 {
		l.blocks = slices.Delete(l.blocks, p.block, p.block+1)
	}
}

// carve removes [lo, hi), splitting what straddles its ends.
func (l *vmaList) carve(lo, hi emu.Addr) {
	l.flat = nil
	p := l.search(lo)
	for i := range l.found {
		if h := &l.found[i]; lo < h.at {
			h.at = h.low
			if v := l.before(p); v != nil {
				h.at = max(v.Hi, h.low) // where the hole begins that [lo, hi) will be a part of
			}
		}
	}
	for {
		v := l.at(p)
		if v == nil || v.Lo >= hi {
			return
		}
		tail := *v
		tail.Lo = max(v.Lo, hi)
		tail.Off += uint64(tail.Lo - v.Lo)
		switch {
		case v.Lo < lo && v.Hi > hi:
			v.Hi = lo
			l.put(l.next(p), tail)
			return
		case v.Lo < lo:
			v.Hi = lo
			p = l.next(p)
		case v.Hi > hi:
			*v = tail
			return
		default:
			l.drop(p)
			p = l.search(lo)
		}
	}
}

// insert adds v, joining it with equal neighbours. Its range must be free.
func (l *vmaList) insert(v VMA) {
	l.flat = nil
	p := l.search(v.Lo)
	prev, next := l.before(p), l.at(p)
	if next != nil && v.joins(next) {
		v.Hi = next.Hi
		if prev != nil && prev.joins(&v) {
			prev.Hi = v.Hi
			l.drop(p)
			return
		}
		*next = v
		return
	}
	if prev != nil && prev.joins(&v) {
		prev.Hi = v.Hi
		return
	}
	l.put(p, v)
}

// find returns the lowest address at or above low where size bytes are free, or the end of the last VMA.
func (l *vmaList) find(size, low emu.Addr) emu.Addr {
	if l.found[0].low != low {
		l.found[0], l.found[1] = l.found[1], l.found[0]
	}
	h := &l.found[0]
	a := low
	if h.low == low && size >= h.size {
		a = max(a, h.at)
	}
	for p := l.search(a); ; p = l.next(p) {
		v := l.at(p)
		if v == nil || v.Lo >= a && v.Lo-a >= size {
			break
		}
		a = v.Hi
	}
	if h.low != low || h.size == 0 || size <= h.size {
		*h = found{low, a, size}
	}
	return a
}

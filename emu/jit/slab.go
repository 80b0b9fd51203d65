//go:build linux && amd64

package jit

import "github.com/cgemu/cgemu/emu"

// A slab keeps short lists that live about as long as each other, many in one piece of memory: what is known of blocks.
type slab[T any] struct {
	rest []T
	size int // of the last piece
}

// The first piece has minSlab elements or more, each further one twice as many up to maxSlab.
const (
	minSlab = 64
	maxSlab = 4096
)

// room returns a list of n elements that are zero.
func (s *slab[T]) room(n int) []T {
	if n > len(s.rest) {
		s.size = min(max(2*s.size, minSlab), maxSlab)
		s.rest = make([]T, max(n, s.size))
	}
	list := s.rest[:n:n]
	s.rest = s.rest[n:]
	return list
}

// keep returns a copy of list, nil if that is empty.
func (s *slab[T]) keep(list []T) []T {
	if len(list) == 0 {
		return nil
	}
	kept := s.room(len(list))
	copy(kept, list)
	return kept
}

// slabs are those of an engine.
type slabs struct {
	tbs        slab[tb]
	insns      slab[insnAt]
	exits      slab[sideExit]
	own        slab[ownCounter]
	saved      slab[saved]
	pages      slab[emu.Addr]
	sources    slab[source]
	spans      slab[span]
	code       slab[byte]
	lookaheads slab[lookahead]
	sums       slab[pageSum]
}

//go:build linux && amd64

package jit

import (
	"math/bits"
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/callgraph"
)

// lists have what is known of an engine's blocks, by kind, since its last flush: each block has a part of each list.
// They have no pointers, as an image has them too.
type lists struct {
	insns     list[byte] // packed
	sideExits list[sideExit]
	reps      list[repCounter]
	own       list[ownCounter]
	saved     list[saved]
	pages     list[emu.Addr]
	// What the block was made from (retained.go).
	spans      list[span]
	code       list[byte]
	lookaheads list[lookahead]
	sums       list[pageSum]
	answers    list[callgraph.Answer]
	noted      list[int]
}

// The parts of a block, in the order in which images have the lists. Its exits are the engine's, who knows them by
// their numbers.
const (
	inInsns = iota
	inSideExits
	inReps
	inOwn
	inSaved
	inPages
	inSpans
	inCode
	inLookaheads
	inSums
	inAnswers
	inNoted
	inExits
	numParts
)

// all are the lists by their parts.
func (l *lists) all() [inExits]rawParts {
	return [inExits]rawParts{&l.insns, &l.sideExits, &l.reps, &l.own, &l.saved, &l.pages, &l.spans, &l.code, &l.lookaheads, &l.sums, &l.answers, &l.noted}
}

// A list grows without being moved. Its elements have numbers: first those of the image that the engine began with,
// then those in chunks.
type list[T any] struct {
	image  []T
	chunks [][]T
	next   int // the number of the next element, less those of the image
}

// The first chunk has minChunk elements, each further one twice as many up to maxChunk.
const (
	minChunk = 64
	maxChunk = 4096
	// firstLarge is the number of the first chunk of maxChunk elements.
	firstLarge = 6
)

// chunkOf returns which chunk has element i, and where in it. The smaller chunks have maxChunk-minChunk elements
// together.
func chunkOf(i int) (chunk, at int) {
	if i += minChunk; i < maxChunk {
		chunk = bits.Len(uint(i/minChunk)) - 1
		return chunk, i - minChunk<<chunk
	}
	return firstLarge - 1 + i/maxChunk, i % maxChunk
}

func chunkSize(chunk int) int { return minChunk << min(chunk, firstLarge) }

// put adds part, which is to be the part k of block r. It lies in one chunk: a block has at most maxBlock instructions,
// of 15 bytes.
func (l *list[T]) put(r *blockRecord, k int, part []T) {
	n := len(part)
	if r.n[k] = uint16(n); n == 0 {
		return
	}
	chunk, at := chunkOf(l.next)
	for at+n > chunkSize(chunk) {
		l.next += chunkSize(chunk) - at
		chunk, at = chunk+1, 0
	}
	for len(l.chunks) <= chunk {
		l.chunks = append(l.chunks, nil)
	}
	if l.chunks[chunk] == nil {
		l.chunks[chunk] = make([]T, chunkSize(chunk))
	}
	r.at[k] = uint32(len(l.image) + l.next)
	l.next += copy(l.chunks[chunk][at:], part)
}

// of returns the part k of block r.
func (l *list[T]) of(r *blockRecord, k int) []T {
	n := int(r.n[k])
	if n == 0 {
		return nil
	}
	i := int(r.at[k])
	if i < len(l.image) {
		return l.image[i : i+n : i+n]
	}
	chunk, at := chunkOf(i - len(l.image))
	return l.chunks[chunk][at : at+n : at+n]
}

// push appends x to a list that may grow long, which then has twice the room: what it leaves behind is no more than it
// has.
func push[T any](list []T, x T) []T {
	if len(list) == cap(list) {
		list = slices.Grow(list, max(len(list), minChunk))
	}
	return append(list, x)
}

// blockSlab is how many blocks are allocated at once: they do not move.
const blockSlab = 128

// newBlock returns a block without parts.
func (e *Engine) newBlock() *tb {
	if len(e.freshBlocks) == 0 {
		e.freshBlocks = make([]tb, blockSlab)
	}
	t := &e.freshBlocks[0]
	e.freshBlocks = e.freshBlocks[1:]
	t.lists, t.cache = e.lists, e.codeCache
	return t
}

//go:build linux && amd64

package jit

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestChunks finds each element in a chunk of its own place.
func TestChunks(t *testing.T) {
	chunk, at := 0, 0
	for i := range 5 * maxChunk {
		if at == chunkSize(chunk) {
			chunk, at = chunk+1, 0
		}
		c, a := chunkOf(i)
		require.Equal(t, [2]int{chunk, at}, [2]int{c, a}, i)
		at++
	}
	require.Equal(t, maxChunk, chunkSize(chunk))
}

// TestList adds parts of all sizes to a list, behind those of an image.
func TestList(t *testing.T) {
	l := list[int]{image: []int{7, 8, 9}}
	blocks := []blockRecord{{}}
	blocks[0].at[inOwn], blocks[0].n[inOwn] = 1, 2
	require.Equal(t, []int{8, 9}, l.of(&blocks[0], inOwn))

	part := func(i int) (p []int) {
		for k := range i * 37 % (maxBlock * 15) {
			p = append(p, i+k)
		}
		return p
	}
	const n = 300
	for i := range n {
		var r blockRecord
		l.put(&r, inOwn, part(i))
		blocks = append(blocks, r)
	}
	for i := range n {
		require.Equal(t, part(i), l.of(&blocks[1+i], inOwn))
	}
	first := l.of(&blocks[2], inOwn)
	require.Equal(t, len(first), cap(first), "who appends to a part writes to the next one")
}

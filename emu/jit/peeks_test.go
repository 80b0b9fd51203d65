//go:build linux && amd64

package jit

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
)

// TestPeeks remembers what was found at addresses, or knows nothing of them; it forgets all when it is told to, however
// often.
func TestPeeks(t *testing.T) {
	p := newPeeks(minPeeks)
	found := func(a emu.Addr) peek { return peek(a/3) & 3 }
	for a := emu.Addr(0); a < 10*maxPeeks; a += 3 {
		p.put(a, found(a))
		got, ok := p.at(a)
		require.True(t, ok)
		require.Equal(t, found(a), got)
	}
	require.Len(t, p.entries, maxPeeks)
	known := 0
	for a := emu.Addr(0); a < 10*maxPeeks; a++ {
		if got, ok := p.at(a); ok {
			known++
			require.Zero(t, a%3)
			require.Equal(t, found(a), got)
		}
	}
	require.Greater(t, known, maxPeeks*3/4)
	for _, epoch := range []uint32{p.epoch, math.MaxUint32} {
		p.epoch = epoch
		p.put(7, flagsDead)
		p.forget()
		_, ok := p.at(7)
		require.False(t, ok)
		_, ok = p.at(0)
		require.False(t, ok)
	}
}

//go:build linux

package mem

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
)

// TestUnguarded stores to a page of code over and over: its guard is given up, until it was quiet.
func TestUnguarded(t *testing.T) {
	needsHostMappings(t)
	m, err := (&Group{SelfChecks: true}).New()
	require.NoError(t, err)
	defer m.Close()
	const p = emu.Addr(0x10000)
	forgotten := 0
	m.OnInvalidate(func(lo, hi emu.Addr) { forgotten++ })
	mapAnon(t, m, p, 2, Read|Write|Exec)
	store := func() (seen bool) {
		require.NoError(t, m.Guard(p))
		seen = m.Guarded(p)
		before := forgotten
		require.Equal(t, 1, m.Write(p, []byte{1}))
		require.Equal(t, seen, forgotten > before)
		return seen
	}
	for round := range 3 {
		for range maxBreaks {
			require.False(t, m.Unguarded(p))
			require.True(t, store())
		}
		require.True(t, m.Unguarded(p))
		require.False(t, store())
		require.False(t, m.Unguarded(p+emu.PageSize))
		require.EqualValues(t, firstPatience<<round, m.Patience(p))
		before := forgotten
		m.GuardAgain(p)
		require.Equal(t, before+1, forgotten)
	}
	for _, change := range []func() error{
		func() error { return m.Protect(p, p+emu.PageSize, Read|Write) },
		func() error { return m.Unmap(p, p+2*emu.PageSize) },
	} {
		mapAnon(t, m, p, 2, Read|Write|Exec)
		for range maxBreaks {
			require.True(t, store())
		}
		before := forgotten
		require.NoError(t, change())
		require.Equal(t, before+1, forgotten, "code is forgotten with its mapping")
		require.False(t, m.Unguarded(p))
		require.Zero(t, m.unguarded)
		require.Empty(t, m.stored)
	}
}

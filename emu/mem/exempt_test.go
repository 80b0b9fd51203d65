//go:build linux

package mem

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
)

// TestExempt stores to a page of code over and over: its guard is given up, until it was quiet.
func TestExempt(t *testing.T) {
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
			require.False(t, m.Exempt(p))
			require.True(t, store())
		}
		require.True(t, m.Exempt(p))
		require.False(t, store())
		require.False(t, m.Exempt(p+emu.PageSize))
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
		require.False(t, m.Exempt(p))
		require.Zero(t, m.exempt)
		require.Empty(t, m.stored)
	}
}

// TestExemptMirror has an exempt page guarded again for the sake of code that another page of the same file holds.
func TestExemptMirror(t *testing.T) {
	needsHostMappings(t)
	f, err := os.Create(t.TempDir() + "/code")
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, f.Truncate(page))
	m, err := (&Group{SelfChecks: true}).New()
	require.NoError(t, err)
	defer m.Close()
	const stored, run = emu.Addr(0x10000), emu.Addr(0x20000)
	require.NoError(t, m.Map(VMA{Lo: stored, Hi: stored + page, Prot: Read | Write, Shared: true, Ino: 7}, f))
	require.NoError(t, m.Map(VMA{Lo: run, Hi: run + page, Prot: Read | Exec, Shared: true, Ino: 7}, f))
	require.True(t, m.Storable(run), "by the other mapping")
	for range 3 {
		for range maxBreaks {
			require.False(t, m.Exempt(run))
			require.NoError(t, m.Guard(run))
			require.True(t, m.Guarded(stored))
			require.Equal(t, 1, m.Write(stored, []byte{1}))
		}
		require.True(t, m.Exempt(run))
		require.NoError(t, m.Guard(run))
		require.False(t, m.Guarded(stored))
		m.GuardAgain(run)
	}
	require.NoError(t, m.Unmap(stored, stored+page))
	require.NoError(t, m.Unmap(run, run+page))
	require.False(t, m.AnyExempt())
}

//go:build linux

package mem

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
)

// TestGuardsAreBounded guards more pages than the host may write-protect: the first ones are given up, and their code
// with them.
func TestGuardsAreBounded(t *testing.T) {
	needsHostMappings(t)
	defer func(was func() int) { maxProtected = was }(maxProtected)
	maxProtected = func() int { return 16 }
	m := newSpace(t)
	dropped := map[emu.Addr]bool{}
	m.OnInvalidate(func(lo, hi emu.Addr) { dropped[lo] = true })
	const pages = 100
	mapAnon(t, m, 0x10000, pages, Read|Write|Exec)
	for i := range emu.Addr(pages) {
		p := 0x10000 + i*page
		require.NoError(t, m.Guard(p))
		require.True(t, m.Guarded(p))
		require.Equal(t, len(m.GuardedPages()), m.group.protected)
		require.LessOrEqual(t, m.group.protected, 16)
	}
	for i := range emu.Addr(pages) {
		p := 0x10000 + i*page
		require.NotEqual(t, m.Guarded(p), dropped[p], "%v", p)
	}
	require.NoError(t, m.Unmap(0x10000, 0x10000+pages*page))
	require.Zero(t, m.group.protected)
}

// TestGuardedAgain guards a page again and again, as code that is rewritten is: what is known of it stays small, and it
// can be given up.
func TestGuardedAgain(t *testing.T) {
	needsHostMappings(t)
	defer func(was func() int) { maxProtected = was }(maxProtected)
	maxProtected = func() int { return 16 }
	m := newSpace(t)
	mapAnon(t, m, 0x10000, 2, Read|Write|Exec)
	require.NoError(t, m.Guard(0x11000))
	for range 1000 {
		require.NoError(t, m.Guard(0x10000))
		require.LessOrEqual(t, len(m.group.queue), 2*16)
		m.unguard(0x10000, 0x10001, false)
	}
	require.NoError(t, m.Guard(0x10000))
	require.Equal(t, []emu.Addr{0x10000, 0x11000}, m.GuardedPages())
	m.group.evict(len(m.group.queue))
	require.Empty(t, m.GuardedPages())
}

// TestMirrors guards code that several spaces see: all that can store to it do so after the code was forgotten.
func TestMirrors(t *testing.T) {
	f, err := os.Create(t.TempDir() + "/code")
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, f.Truncate(2*page))
	readOnly, err := os.Open(f.Name())
	require.NoError(t, err)
	defer readOnly.Close()
	a := newSpace(t)
	forgotten := map[emu.Addr]int{}
	a.OnInvalidate(func(lo, hi emu.Addr) { forgotten[lo]++ })
	const stored, run, private = 0x10000, 0x20000, 0x30000
	require.NoError(t, a.Map(VMA{Lo: stored, Hi: stored + 2*page, Prot: Read | Write, Shared: true, Ino: 7}, f))
	require.NoError(t, a.Map(VMA{Lo: run, Hi: run + page, Prot: Read | Exec, Shared: true, Off: page, Ino: 7}, readOnly))
	require.NoError(t, a.Map(VMA{Lo: private, Hi: private + page, Prot: Read | Exec, Off: page, Ino: 7}, readOnly))
	guard := func() {
		clear(forgotten)
		require.NoError(t, a.Guard(run, private))
		require.True(t, a.Guarded(stored+page))
		require.False(t, a.Guarded(stored), "another page")
	}
	seen := func() {
		t.Helper()
		require.Equal(t, map[emu.Addr]bool{run: true, private: true}, map[emu.Addr]bool{run: forgotten[run] > 0, private: forgotten[private] > 0})
	}
	guard()
	require.Equal(t, 1, a.Write(stored+page, []byte{1}))
	seen()
	guard()
	b, err := a.Fork()
	require.NoError(t, err)
	defer b.Close()
	require.True(t, b.Guarded(stored+page))
	require.Equal(t, 1, b.Write(stored+page, []byte{2}))
	seen()
	guard()
	require.True(t, b.Guarded(stored+page))
	a.group.FileChanged(8)
	require.Empty(t, forgotten)
	a.group.FileChanged(7)
	seen()
	guard()
	require.NoError(t, b.Map(VMA{Lo: 0x50000, Hi: 0x50000 + 2*page, Prot: Read | Write, Shared: true, Ino: 7}, f))
	seen()
	guard()
	require.True(t, b.Guarded(0x50000+page))
}

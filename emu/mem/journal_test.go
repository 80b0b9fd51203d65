//go:build linux

package mem

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
)

// TestUndo writes to private and shared memory, through two mappings of one page, by Write and by permissions: Undo has
// all as before.
func TestUndo(t *testing.T) {
	m := newSpace(t)
	mapAnon(t, m, 0x10000, 4, Read|Write)
	f := tempFile(t, bytes.Repeat([]byte{7}, page))
	for _, lo := range []emu.Addr{0x20000, 0x30000} {
		v := VMA{Lo: lo, Hi: lo + page, Prot: Read | Write, Shared: true, Ino: 5}
		require.NoError(t, m.Map(v, f))
	}
	_, err := m.Perms()
	require.NoError(t, err)
	require.NotNil(t, m.Direct(0x10000, 8, Write))
	m.Write(0x10ffe, []byte("before"))
	for round := range 3 {
		m.Record()
		require.Nil(t, m.Direct(0x10000, 8, Write), "not recorded yet")
		require.NotNil(t, m.Direct(0x10000, 8, Read))
		require.Equal(t, 6, m.Write(0x10ffe, []byte("behind")))
		copy(m.Direct(0x10000, 8, Write), "directly")
		m.Write(0x20000, []byte{1})
		m.Write(0x30001, []byte{2})
		m.Write(0x20002, []byte{3})
		m.Guard(0x11000)
		require.Nil(t, m.Direct(0x11000, 8, Write))
		m.Write(0x11008, []byte{1})
		changes := m.Undo()
		require.Len(t, changes, 4, round)
		require.Equal(t, []byte("directly"), changes[0].After[:8])
		require.Equal(t, make([]byte, 8), changes[0].Before[:8])
		require.Equal(t, []byte{1, 2, 3}, changes[3].After[:3])
		got := make([]byte, 6)
		m.Read(0x10ffe, got)
		require.Equal(t, "before", string(got))
		m.Read(0x20000, got)
		require.Equal(t, bytes.Repeat([]byte{7}, 6), got)
		m.Read(0x10000, got)
		require.Equal(t, make([]byte, 6), got)
	}
	m.Write(0x10000, []byte("kept"))
	got := make([]byte, 4)
	m.Read(0x10000, got)
	require.Equal(t, "kept", string(got), "nothing is recorded any more")
}

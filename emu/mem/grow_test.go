//go:build linux

package mem

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
)

// TestGrow has memory of all kinds, split and joined in ways of which the host knows more and less than the Space.
func TestGrow(t *testing.T) {
	m := newSpace(t)
	var dropped []emu.Addr
	m.OnInvalidate(func(lo, hi emu.Addr) { dropped = append(dropped, lo) })
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, make([]byte, 3*emu.PageSize), 0o600))
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	defer f.Close()

	mapAnon(t, m, 0x10000, 3, Read|Write|Exec)
	m.Write(0x12000, []byte("third"))
	mapAnon(t, m, 0x13000, 2, Read|Write|Exec) // which joins
	m.Write(0x13000, []byte("fourth"))
	m.Guard(0x11000)
	mapAnon(t, m, 0x20000, 2, Read|Write)
	m.Write(0x20000, []byte("hidden"))
	require.NoError(t, m.Protect(0x20000, 0x21000, 0))
	require.NoError(t, m.Map(VMA{Lo: 0x30000, Hi: 0x33000, Prot: Read | Write, Shared: true}, f))
	require.NoError(t, m.Map(VMA{Lo: 0x40000, Hi: 0x43000, Prot: Read | Write}, f))
	m.Write(0x41000, []byte("private"))
	mapAnon(t, m, FirstLimit-0x1000, 1, Read|Write)
	m.Write(FirstLimit-5, []byte("end"))
	require.Equal(t, ErrRange, m.Map(VMA{Lo: FirstLimit, Hi: FirstLimit + 0x1000, Prot: Read}, nil))
	vmas := append([]VMA(nil), m.VMAs()...)

	const limit = 4 * FirstLimit
	base := m.Base()
	require.NoError(t, m.Grow(limit))
	require.NotEqual(t, base, m.Base())
	require.Equal(t, limit, m.Limit())
	require.Equal(t, vmas, m.VMAs())
	require.Empty(t, dropped)
	require.NoError(t, m.Protect(0x20000, 0x21000, Read))
	for _, tt := range []struct {
		at   emu.Addr
		want string
	}{
		{0x12000, "third"}, {0x13000, "fourth"}, {0x20000, "hidden"}, {0x41000, "private"}, {FirstLimit - 5, "end"},
		{0x10000, "\x00"}, {0x30000, "\x00"}, {0x42000, "\x00"},
	} {
		got := make([]byte, len(tt.want))
		require.Equal(t, len(got), m.Read(tt.at, got))
		require.Equal(t, tt.want, string(got), tt.at)
	}
	m.Write(0x31000, []byte("shared"))
	m.group.Sync()
	got := make([]byte, 6)
	_, err = f.ReadAt(got, emu.PageSize)
	require.NoError(t, err)
	require.Equal(t, "shared", string(got))
	require.True(t, m.Guarded(0x11000))
	m.Write(0x11000, []byte{1})
	require.Equal(t, []emu.Addr{0x11000}, dropped)
	mapAnon(t, m, limit-0x1000, 1, Read|Write)
	require.Equal(t, 1, m.Write(limit-1, []byte{1}))

	n, err := m.Fork()
	require.NoError(t, err)
	defer n.Close()
	require.Equal(t, limit, n.Limit())
}

// TestGrowTooFar asks for more than the host has: nothing changes.
func TestGrowTooFar(t *testing.T) {
	m := newSpace(t)
	mapAnon(t, m, 0x10000, 1, Read|Write)
	base := m.Base()
	err := m.Grow(1 << 47)
	require.ErrorContains(t, err, "reserving 131072 GiB of address space")
	require.NotErrorIs(t, err, ErrLost)
	require.Equal(t, base, m.Base())
	require.Equal(t, 1, m.Write(0x10000, []byte{1}))
}

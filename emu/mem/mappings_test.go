//go:build linux && !portable

package mem

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
)

// withMappings makes the host one on which a process has n mappings.
func withMappings(t *testing.T, n int) {
	was := hostMappings
	hostMappings = func() int { return n }
	t.Cleanup(func() { hostMappings = was })
}

// striped maps up to n pages in a row, no two of which are alike, and returns the first error.
func striped(m *Space, at emu.Addr, n int) (int, error) {
	for i := range n {
		v := VMA{Lo: at, Hi: at + emu.PageSize, Prot: Read | Prot(i&1)<<1}
		if err := m.Map(v, nil); err != nil {
			return i, err
		}
		at += emu.PageSize
	}
	return n, nil
}

// TestManyMappings has a guest map, part and fork more than a host with few mappings has room for.
func TestManyMappings(t *testing.T) {
	const host, at = 800, emu.Addr(0x100000)
	withMappings(t, host)
	m, err := New()
	require.NoError(t, err)
	defer m.Close()
	n, err := striped(m, at, host)
	require.ErrorIs(t, err, ErrMappings)
	require.InDelta(t, host*3/4, n, moreMappings+2)
	require.True(t, m.group.Refused)
	require.Equal(t, n, len(m.VMAs()))
	require.Equal(t, n, m.vmas.count)

	require.ErrorIs(t, m.Map(VMA{Lo: at, Hi: at + emu.PageSize, Prot: Read}, nil), ErrMappings)
	_, err = m.Fork()
	require.ErrorIs(t, err, ErrMappings)
	require.ErrorIs(t, m.Grow(2*FirstLimit), ErrMappings)
	require.Equal(t, FirstLimit, m.Limit())

	require.NoError(t, m.Unmap(at, at+10*emu.PageSize), "what makes room is never refused")
	big := VMA{Lo: 0x10000000, Hi: 0x10000000 + 8*emu.PageSize, Prot: Read}
	require.NoError(t, m.Map(big, nil))
	_, err = striped(m, at, 10)
	require.ErrorIs(t, err, ErrMappings)
	inside := big.Lo + emu.PageSize
	require.ErrorIs(t, m.Unmap(inside, inside+emu.PageSize), ErrMappings)
	require.ErrorIs(t, m.Protect(inside, inside+emu.PageSize, Write), ErrMappings)
	require.ErrorIs(t, m.Move(inside, inside+emu.PageSize, 0x20000000, emu.PageSize), ErrMappings)
	require.NotNil(t, m.VMA(inside))
	require.NoError(t, m.Unmap(big.Lo, big.Hi))
}

// TestOthersMappings has two groups share what the host has room for.
func TestOthersMappings(t *testing.T) {
	const host, at = 800, emu.Addr(0x100000)
	withMappings(t, host)
	before := allTaken.Load()
	m, err := New()
	require.NoError(t, err)
	defer m.Close()
	o, err := New()
	require.NoError(t, err)
	n, err := striped(m, at, host/2)
	require.NoError(t, err)
	k, err := striped(o, at, host)
	require.ErrorIs(t, err, ErrMappings)
	require.LessOrEqual(t, n+k, host*3/4)
	require.Greater(t, n+k, host/2+host/16)
	require.NoError(t, o.Close())
	_, err = striped(m, at+host*emu.PageSize, k/2)
	require.NoError(t, err)
	require.NoError(t, m.Close())
	require.Equal(t, before, allTaken.Load())
}

// TestGuardsMakeRoom guards pages until the host has no more mappings for that, and maps others: guards are given up,
// and some can be made all the same.
func TestGuardsMakeRoom(t *testing.T) {
	const host, code = 800, emu.Addr(0x10000000)
	withMappings(t, host)
	m, err := New()
	require.NoError(t, err)
	defer m.Close()
	const pages = 1000
	require.NoError(t, m.Map(VMA{Lo: code, Hi: code + pages*emu.PageSize, Prot: Read | Write | Exec}, nil))
	for i := emu.Addr(0); i < pages; i += 2 {
		require.NoError(t, m.Guard(code+i*emu.PageSize))
		require.LessOrEqual(t, m.group.protected, host/8)
	}
	n, err := striped(m, 0x100000, host)
	require.ErrorIs(t, err, ErrMappings)
	require.Greater(t, n, host/2)
	for i := emu.Addr(0); i < pages; i += 2 {
		require.NoError(t, m.Guard(code+i*emu.PageSize, code+(i+1)*emu.PageSize))
		require.LessOrEqual(t, m.group.taken(0)+2*m.group.protected, host/8*7+2*minProtected)
	}
}

// TestManyMarks marks parts of a mapping, which takes none of the host's, until the guest has as many as it may have.
func TestManyMarks(t *testing.T) {
	m, err := New()
	require.NoError(t, err)
	defer m.Close()
	const lo, hi = emu.Addr(0x10000000), emu.Addr(0x10000000 + (maxVMAs+2)*emu.PageSize)
	require.NoError(t, m.Map(VMA{Lo: lo, Hi: hi, Prot: Read}, nil))
	lock := func(v *VMA) { v.Locked = true }
	at := lo + emu.PageSize
	for ; err == nil; at += 2 * emu.PageSize {
		err = m.Mark(at, at+emu.PageSize, lock)
	}
	require.ErrorIs(t, err, ErrMappings)
	require.InDelta(t, maxVMAs, m.vmas.count, 2)
	require.False(t, m.group.Refused)
	require.NoError(t, m.Mark(lo, hi, lock))
	require.Equal(t, 1, m.vmas.count)
}

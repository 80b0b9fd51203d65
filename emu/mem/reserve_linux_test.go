//go:build !portable

package mem

import (
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/emu"
)

// TestMoveFrom moves pages out of a place that nobody else gets meanwhile.
func TestMoveFrom(t *testing.T) {
	const n = 1 << 20
	pages := func(prot int) uintptr {
		p, err := mmap(0, n, prot, unix.MAP_PRIVATE|unix.MAP_ANON, -1, 0)
		require.NoError(t, err)
		t.Cleanup(func() { unix.Syscall(unix.SYS_MUNMAP, p, n, 0) })
		return p
	}
	at := func(p uintptr) *byte { return (*byte)(unsafe.Add(unsafe.Pointer(nil), p)) }
	for _, place := range []uintptr{0, pages(unix.PROT_NONE)} {
		from := pages(unix.PROT_READ | unix.PROT_WRITE)
		*at(from) = 7
		p, err := moveFrom(from, n, place)
		require.NoError(t, err)
		t.Cleanup(func() { unix.Syscall(unix.SYS_MUNMAP, p, n, 0) })
		require.NotEqual(t, from, p)
		require.EqualValues(t, 7, *at(p))
		if place != 0 {
			require.Equal(t, place, p)
		}
		if runtime.GOARCH != "amd64" {
			continue // qemu-user has no MREMAP_DONTUNMAP
		}
		_, err = mmap(from, n, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_FIXED_NOREPLACE, -1, 0)
		require.ErrorIs(t, err, unix.EEXIST)
	}
}

// TestCloseAgain closes a Space whose addresses are something else's by now.
func TestCloseAgain(t *testing.T) {
	m, err := New()
	require.NoError(t, err)
	at := m.host.start
	take := func() error {
		_, err := mmap(at, emu.PageSize, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_FIXED_NOREPLACE, -1, 0)
		return err
	}
	require.NoError(t, m.Close())
	require.NoError(t, take())
	require.NoError(t, m.Close())
	require.ErrorIs(t, take(), unix.EEXIST, "it was unmapped")
	unix.Syscall(unix.SYS_MUNMAP, at, emu.PageSize, 0)
}

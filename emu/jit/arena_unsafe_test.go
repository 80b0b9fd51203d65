//go:build linux && amd64

package jit

import (
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/emu"
)

// TestArcsNotTouched throws code away that knows no arcs: the table of arcs stays without memory.
func TestArcsNotTouched(t *testing.T) {
	m := newMachineWith(t, emu.Config{Function: sixteen}, "ffd0 0f05 # call rax; syscall")
	resident := func() (n int) {
		var pages [arcsSize / emu.PageSize]byte
		_, _, e := unix.Syscall(unix.SYS_MINCORE, m.arena.base+arcsOff, arcsSize, uintptr(unsafe.Pointer(&pages[0])))
		require.Zero(t, e)
		for _, p := range pages {
			n += int(p & 1)
		}
		return n
	}
	m.flush()
	require.Zero(t, resident())
	m.keepArc(uint64(codeAt), 1, 2)
	require.NotZero(t, resident())
	require.NotZero(t, slices.Max(m.arena.words(arcsOff, arcsSize/8)))
	m.flush()
	require.Zero(t, slices.Max(m.arena.words(arcsOff, arcsSize/8)))
}

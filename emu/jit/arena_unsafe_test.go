//go:build linux && amd64

package jit

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/cgemu/cgemu/cachesim"
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
	m.cacheArc(uint64(codeAt), 1, 2)
	require.NotZero(t, resident())
	require.NotZero(t, slices.Max(m.arena.words(arcsOff, arcsSize/8)))
	m.flush()
	require.Zero(t, slices.Max(m.arena.words(arcsOff, arcsSize/8)))
}

// TestMixedAddresses joins parts of two addresses of code, or of one and of an empty place, as a RET finds them whose
// stack pointer is no multiple of 8: nothing that can be executed is there.
func TestMixedAddresses(t *testing.T) {
	const (
		lowest = 0x400000 // of what a host's binary takes
		lowEnd = 1 << 29  // binaries end below
	)
	r := rand.New(rand.NewPCG(1, 2))
	code := func(base uintptr) uint64 {
		if r.IntN(4) == 0 {
			return 0
		}
		return uint64(base) + codeOff + r.Uint64N(arenaSize-codeOff)
	}
	for i := range 100_000 {
		base := placeOfArena(i % maxArenas)
		place := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, code(base)), code(base))
		for off := 1; off < 8; off++ {
			a := binary.LittleEndian.Uint64(place[off:])
			ours := a >= uint64(base) && a < uint64(base)+arenaSize
			if ours || a >= lowest && a < lowEnd {
				t.Fatalf("%x of % x", a, place)
			}
		}
	}
}

// TestPlacesOfArenas maps two of each kind, which have places of their own, and one where all are taken.
func TestPlacesOfArenas(t *testing.T) {
	places := maxArenas
	defer func() { maxArenas = places }()
	for _, make := range []func() (arena, error){newArena, newDualArena} {
		var bases []uintptr
		for _, maxArenas = range []int{places, places, 0} {
			a, err := make()
			require.NoError(t, err)
			defer a.close()
			require.NotContains(t, bases, a.base)
			bases = append(bases, a.base)
			require.Zero(t, a.base%hugePage)
			*a.word(stRegs) = 1 // it is there
			if maxArenas > 0 {
				require.EqualValues(t, firstArena%arenaStep, a.base%arenaStep)
			}
		}
	}
}

// TestCloseAgain closes engines whose addresses are something else's by now.
func TestCloseAgain(t *testing.T) {
	for _, cfg := range []emu.Config{{}, {Caches: &cachesim.Default, Events: ^emu.EventSet(0)}, {Function: sixteen}} {
		m := newMachineWith(t, cfg, "f4 # hlt")
		places := []uintptr{m.arena.base, uintptr(unsafe.Pointer(&m.arena.mem[0])), m.sim.d1.directory.host, m.sim.ll.directory.host, m.codeCache.table.base, m.codeCache.shadow.windows.at + m.codeCache.shadow.windows.kept}
		if m.calls != nil {
			places = append(places, uintptr(m.calls.frames.base))
		}
		slices.Sort(places)
		places = slices.DeleteFunc(slices.Compact(places), func(p uintptr) bool { return p == 0 })
		take := func(p uintptr) error {
			_, err := rawMmap(p, emu.PageSize, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_FIXED_NOREPLACE, -1)
			return err
		}
		require.NoError(t, m.Close())
		for _, p := range places {
			require.NoError(t, take(p))
		}
		require.NoError(t, m.Close())
		for _, p := range places {
			require.ErrorIs(t, take(p), unix.EEXIST, "it was unmapped")
			unix.Syscall(unix.SYS_MUNMAP, p, emu.PageSize, 0)
		}
	}
}

package tally

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
)

// TestTally adds, drains and clears at random, and compares with a map.
func TestTally(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var tally Tally
	want := map[emu.Addr]uint64{}
	for range 5000 {
		switch lo := emu.Addr(rng.IntN(2000)); rng.IntN(50) {
		case 0:
			hi := lo + 1 + emu.Addr(rng.IntN(3000))
			var got []emu.Addr
			tally.Drain(lo, hi, func(a emu.Addr, n uint64) {
				require.Equal(t, want[a], n, "%v", a)
				delete(want, a)
				got = append(got, a)
			})
			require.IsIncreasing(t, append([]emu.Addr{0}, got...))
			for a := range want {
				require.False(t, a >= lo && a < hi, "%v was not handed out", a)
			}
		case 1:
			tally.Clear()
			clear(want)
		default:
			n := int64(1 + rng.IntN(9))
			tally.Add(lo+1, n)
			want[lo+1] += uint64(n)
		}
	}
	kept := tally.Pages()
	var got []emu.Addr
	tally.Drain(0, 1<<40, func(a emu.Addr, n uint64) { got = append(got, a) })
	require.Equal(t, slices.Sorted(maps.Keys(want)), got)
	require.Equal(t, kept, tally.Pages(), "few pages are kept")
}

// TestManyPages gives pages back when there are many.
func TestManyPages(t *testing.T) {
	var tally Tally
	for a := range emu.Addr(Kept + 10) {
		tally.Add(a*pageSize, 1)
	}
	n := 0
	tally.Drain(0, 1<<40, func(emu.Addr, uint64) { n++ })
	require.Equal(t, Kept+10, n)
	require.Equal(t, Kept, tally.Pages())
	tally.Add(1<<20, 1)
	tally.Clear()
	require.Equal(t, Kept, tally.Pages())
}

// TestFewAtATime gives pages back, too, if they are drained few at a time, in descending order.
func TestFewAtATime(t *testing.T) {
	const pages = 4 * Kept
	var tally Tally
	for i := range emu.Addr(pages) {
		tally.Add((pages-i)*pageSize, 1)
	}
	n := 0
	for i := range emu.Addr(pages) {
		a := (pages - i) * pageSize
		tally.Drain(a, a+pageSize, func(emu.Addr, uint64) { n++ })
	}
	require.Equal(t, pages, n)
	require.Equal(t, Kept, tally.Pages())
}

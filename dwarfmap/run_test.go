package dwarfmap

import (
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLookupRun checks that all addresses of a run have its place, looked up in any order.
func TestLookupRun(t *testing.T) {
	for _, file := range []string{"testdata/bin/t36_funcs", "testdata/bin/t42_loc", "testdata/bin/inline5", os.Args[0]} {
		runs, err := Open(file, Options{Demangle: true})
		require.NoError(t, err)
		single, err := Open(file, Options{Demangle: true})
		require.NoError(t, err)
		lo, hi := runs.text.lo, min(runs.text.hi, runs.text.lo+300_000)
		places, found := map[uint64]Loc{}, 0
		for a := lo - 16; a < hi; {
			loc, end := runs.LookupRun(a)
			require.Greater(t, end, a)
			for ; a < end; a++ {
				places[a] = loc
			}
			found++
		}
		require.NotEmpty(t, places)
		require.Less(t, found, len(places), "%s: runs are longer than an address", file)
		rng := rand.New(rand.NewPCG(1, 2))
		for range 20_000 {
			a := lo + rng.Uint64N(hi-lo)
			require.Equal(t, places[a], single.Lookup(a), "%s: %#x", file, a)
			if a+1 < hi { // the next row, and one behind it
				require.Equal(t, places[a+1], single.Lookup(a+1), "%s: %#x", file, a+1)
			}
		}
		require.NoError(t, runs.Close())
		require.NoError(t, single.Close())
	}
}

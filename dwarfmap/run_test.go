package dwarfmap

import (
	"debug/elf"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLookupRun checks that all addresses of a run have its place, looked up in any order: in code with names and
// lines, in tables of linkage, and in what has neither.
func TestLookupRun(t *testing.T) {
	for _, file := range []string{
		"testdata/bin/t36_funcs", "testdata/bin/t42_loc", "testdata/bin/inline5", os.Args[0], buildGo(t, t.TempDir(), "go"),
	} {
		runs, err := Open(file, Options{Demangle: true})
		require.NoError(t, err)
		single, err := Open(file, Options{Demangle: true})
		require.NoError(t, err)
		lo, hi := runs.execs.spans[0].lo, min(runs.execs.spans[0].hi, runs.text.lo+300_000)
		places, found := map[uint64]Loc{}, 0
		for a := lo - 16; a < hi; {
			loc, end := runs.LookupRun(a)
			require.Greater(t, end, a)
			for end = min(end, hi); a < end; a++ {
				places[a] = loc
			}
			found++
		}
		require.NotEmpty(t, places)
		require.Less(t, found, len(places), "%s: runs are longer than an address", file)
		for a := lo; a < hi; a++ {
			if want := single.Lookup(a); places[a] != want { // faster than a comparison by require
				require.Equal(t, want, places[a], "%s: %#x", file, a)
			}
		}
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

// TestRunsWithoutPlaces has code without names, without lines and without either be in runs, too.
func TestRunsWithoutPlaces(t *testing.T) {
	const files = "\x01\x01\x08\x01/d\x00\x01\x01\x08\x01a.c\x00"
	o := openELF(t, makeELF(t, 0x1000,
		elfSection{name: ".symtab", kind: elf.SHT_SYMTAB, link: 3, data: slices.Concat(elfSymbol(0, 0, 0), elfSymbol(1, textAt+0x100, 0x10), elfSymbol(3, textAt+0x200, 0x10))},
		elfSection{name: ".strtab", kind: elf.SHT_STRTAB, data: []byte("\x00f\x00g\x00")},
		elfSection{name: ".debug_line", data: slices.Concat(
			tables5(files, setAddress(textAt+0x300), at(0, 0, 0), end(0x10)), tables5(files, setAddress(textAt+0x208), at(6, 0, 0), end(0x10)),
		)},
		elfSection{name: ".debug_info", data: []byte{0}}, elfSection{name: ".debug_abbrev", data: []byte{0}}))
	for _, tt := range []struct {
		at, end uint64
		fn      string
		line    int
	}{
		{textAt - 0x2000, textAt - 0x2000 + 1, Unknown, 0}, // not mapped
		{textAt - 0x10, textAt, Unknown, 0},                // in front of .text
		{textAt, textAt + 0x100, Unknown, 0},
		{textAt + 0x100, textAt + 0x110, "f", 0},
		{textAt + 0x110, textAt + 0x200, Unknown, 0},
		{textAt + 0x200, textAt + 0x208, "g", 0},
		{textAt + 0x208, textAt + 0x210, "g", 7},
		{textAt + 0x210, textAt + 0x218, Unknown, 7},
		{textAt + 0x218, textAt + 0x300, Unknown, 0},
		{textAt + 0x300, textAt + 0x310, Unknown, 1},
		{textAt + 0x310, textAt + 0x1000, Unknown, 0}, // to the end of what is mapped
	} {
		loc, end := o.LookupRun(tt.at)
		require.Equal(t, tt.end, end, "%#x", tt.at)
		require.Equal(t, []any{tt.fn, tt.line}, []any{loc.Func, loc.Line}, "%#x", tt.at)
	}
	require.NoError(t, o.Err())
}

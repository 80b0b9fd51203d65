package dwarfmap

import (
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestIndexByUnit looks up addresses at random in tables as linkers make them, whose
// units' rows often join. It compares units indexed one by one with all at once.
func TestIndexByUnit(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for run := range 500 {
		var units [][]byte
		addr := uint64(0x1000)
		for range 1 + r.IntN(12) {
			var code [][]byte
			for range r.IntN(4) {
				addr += uint64(r.IntN(2))
				code = append(code, setAddress(addr))
				for range 1 + r.IntN(2) {
					size := uint64(1 + r.IntN(2))
					code = append(code, at(int64(r.IntN(2)), byte(1+r.IntN(3)), 0), []byte{lnsAdvancePC, byte(size)})
					addr += size
				}
				code = append(code, end(0))
			}
			units = append(units, program(code...))
		}
		if r.IntN(3) == 0 {
			r.Shuffle(len(units), func(i, j int) { units[i], units[j] = units[j], units[i] })
		}
		want, got := lineLookup(t, units, true), lineLookup(t, units, false)
		for range 40 {
			a := 0x1000 + r.Uint64N(addr-0x1000+2)
			require.Equal(t, want(a), got(a), "run %d, %#x", run, a)
		}
	}
}

// sameIndexes looks up every address of a file with its units indexed one by one, in
// any order, and with all at once. It reports whether there were lines, and whether
// they were found by units to the end.
func sameIndexes(t *testing.T, file string) (lines, byUnit bool) {
	var objects [2]*Object
	for i := range objects {
		o, err := Open(file, Options{})
		require.NoError(t, err)
		defer o.Close()
		o.lines = &lineTable{}
		require.NoError(t, o.loadLines())
		objects[i] = o
	}
	one, all := objects[0], objects[1]
	all.lines.indexAll()
	const block = 512
	size := one.text.hi - one.text.lo
	for _, i := range rand.New(rand.NewPCG(9, 10)).Perm(int(size/block) + 1) {
		for addr := one.text.lo + uint64(i)*block; addr < min(one.text.lo+uint64(i+1)*block, one.text.hi); addr++ {
			want, wantLine, wantOK := all.line(addr)
			got, gotLine, gotOK := one.line(addr)
			if got != want || gotLine != wantLine || gotOK != wantOK {
				require.Failf(t, "differ", "%s, %#x: %s:%d, want %s:%d", file, addr, got, gotLine, want, wantLine)
			}
			lines = lines || gotOK
		}
	}
	return lines, one.lines.starts != nil
}

func TestIndexOfFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/bin/*")
	require.NoError(t, err)
	byUnit := 0
	for _, file := range files {
		if strings.HasSuffix(file, ".out") {
			continue
		}
		if lines, ok := sameIndexes(t, file); lines && ok {
			byUnit++
		}
	}
	require.Greater(t, byUnit, 1)
}

//go:build linux && amd64

package jit

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cgemu/cgemu/emu"
)

// TestBlockTable compares the table with a map, as blocks come and go that lie close to each other, or far apart.
func TestBlockTable(t *testing.T) {
	for name, apart := range map[string]emu.Addr{"close": 1, "pages": emu.PageSize, "far": 1 << 40} {
		t.Run(name, func(t *testing.T) {
			var b blockTable
			require.Nil(t, b.at(0))
			b.remove(0)
			want := map[emu.Addr]*tb{}
			r := rand.New(rand.NewPCG(1, 2))
			for n := range 40_000 {
				room := 200 << (n / 10_000) // it grows
				pc := apart * emu.Addr(r.IntN(room))
				if r.IntN(3) == 0 {
					b.remove(pc)
					delete(want, pc)
				} else {
					x := &tb{blockRecord: blockRecord{pc: pc}}
					b.put(x)
					want[pc] = x
				}
				other := apart * emu.Addr(r.IntN(room))
				require.True(t, b.at(other) == want[other])
				require.Equal(t, len(want), b.count)
			}
			require.Len(t, slices.Collect(b.all()), len(want))
			for x := range b.all() {
				require.True(t, want[x.pc] == x)
			}
			for pc := range maps.Clone(want) {
				b.remove(pc)
				require.Nil(t, b.at(pc))
			}
			require.Zero(t, b.count)
			require.Empty(t, slices.Collect(b.all()))
		})
	}
}

func BenchmarkBlockTable(b *testing.B) {
	var table blockTable
	for i := range emu.Addr(100_000) {
		table.put(&tb{blockRecord: blockRecord{pc: 0x400000 + i*37}})
	}
	b.ResetTimer()
	for i := range b.N {
		if table.at(0x400000+emu.Addr(i*7919%100_000*37)) == nil {
			b.Fatal("not found")
		}
	}
}

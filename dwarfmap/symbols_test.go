package dwarfmap

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFindSymbol looks addresses up in tables of all kinds, at the ends of symbols and between them.
func TestFindSymbol(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, count := range []int{0, 1, 2, 3, 100, 1000} {
		for _, gap := range []uint64{1, 100, 1 << 50} {
			var table symbolTable
			at := rng.Uint64N(gap)
			for range count {
				s := symbol{addr: at, size: 1 + rng.Uint64N(40)}
				table.syms = append(table.syms, s)
				at = s.end() + rng.Uint64N(gap)
			}
			for i := range table.syms {
				s := &table.syms[i]
				require.Same(t, s, table.find(s.addr))
				require.Same(t, s, table.find(s.end()-1))
				if i+1 == count || table.syms[i+1].addr > s.end() {
					require.Nil(t, table.find(s.end()))
				}
				if i > 0 && table.syms[i-1].end() < s.addr || i == 0 && s.addr > 0 {
					require.Nil(t, table.find(s.addr-1))
				}
			}
			require.Nil(t, table.find(math.MaxUint64))
		}
	}
}

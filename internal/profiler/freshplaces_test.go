package profiler

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFreshPlaces adds places in order, in the reverse order and at random: each is found, and what lies between two is
// not.
func TestFreshPlaces(t *testing.T) {
	const n, apart, size = 5 * freshChunk, 16, 10
	orders := map[string][]int{"ascending": nil, "descending": nil, "random": rand.New(rand.NewPCG(1, 2)).Perm(n)}
	for i := range n {
		orders["ascending"] = append(orders["ascending"], i)
	}
	orders["descending"] = slices.Clone(orders["ascending"])
	slices.Reverse(orders["descending"])
	for name, order := range orders {
		t.Run(name, func(t *testing.T) {
			var f freshPlaces
			for _, i := range order {
				f.add(freshPlace{uint64(apart * (i + 1)), keptPlace{size: size, line: uint32(i)}})
			}
			_, found := f.find(apart - 1)
			require.False(t, found)
			for i := range n {
				for k := range uint64(apart) {
					p, found := f.find(apart*uint64(i+1) + k)
					require.Equal(t, k < size, found)
					require.True(t, !found || int(p.line) == i)
				}
			}
			all := slices.Collect(f.all())
			require.Len(t, all, n)
			require.True(t, slices.IsSortedFunc(all, func(a, b freshPlace) int { return int(a.addr) - int(b.addr) }))
			if name == "ascending" {
				require.Len(t, f, n/freshChunk)
			}
		})
	}
}

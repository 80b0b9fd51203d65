package numbering

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

type pair struct {
	name string
	n    uint8
}

// TestTable compares a table with a map.
func TestTable(t *testing.T) {
	for _, room := range []int{0, 1, 1000, 5000} {
		var table Table[pair]
		require.Equal(t, -1, table.Find(pair{}))
		if room > 0 {
			table.Grow(room)
		}
		rng := rand.New(rand.NewPCG(1, 2))
		numbers := map[pair]int{}
		for range 20_000 {
			k := pair{string(rune('a' + rng.IntN(26))), uint8(rng.Uint32())}
			n, known := numbers[k]
			if !known {
				require.Equal(t, -1, table.Find(k))
				n = len(numbers)
				numbers[k] = n
			}
			got, isNew := table.Number(k)
			require.Equal(t, n, got)
			require.Equal(t, !known, isNew)
			require.Equal(t, n, table.Find(k))
			require.Equal(t, k, table.Value(n))
			require.Equal(t, len(numbers), table.Len())
			require.LessOrEqual(t, 2*table.Len(), len(table.index))
		}
		require.Len(t, table.Values(), len(numbers))
	}
}

// TestGrow has no value moved while there is room.
func TestGrow(t *testing.T) {
	var table Table[int]
	table.Number(7)
	table.Grow(100)
	first, index := &table.Values()[0], &table.index[0]
	for i := range 100 {
		table.Number(i + 10)
	}
	require.Same(t, first, &table.Values()[0])
	require.Same(t, index, &table.index[0])
}

func BenchmarkNumber(b *testing.B) {
	var table Table[pair]
	for i := 0; b.Loop(); i++ {
		table.Number(pair{"a name", uint8(i)})
	}
}

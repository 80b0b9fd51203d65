package soft

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestQuick compares quick arithmetic with the one for all numbers, which the reserved value of precision control
// gives, of 64 bits too.
func TestQuick(t *testing.T) {
	const usualWord, reservedWord = 0x37f, 0x17f
	r := rand.New(rand.NewPCG(11, 12))
	for name, f := range map[string]func(a, b Number, cw uint16) Result{"Add": Add, "Sub": Sub, "Mul": Mul, "Div": Div} {
		quick := 0
		for range 50_000 {
			a, b := randomF80(r, -70, 70), randomF80(r, -70, 70)
			switch r.IntN(8) {
			case 0: // out of range, or nearly
				a, b = randomF80(r, -16382, 16383), randomF80(r, -16382, 16383)
			case 1: // cancelled, or nearly
				b = F80{a.Mant ^ 1<<r.IntN(63), a.SE - uint16(r.IntN(2))}
			case 2: // ties
				a.Mant &= ^uint64(0) << r.IntN(64)
				b.Mant &= ^uint64(0) << r.IntN(64)
				a.Mant, b.Mant = a.Mant|integer, b.Mant|integer
			case 3: // carries
				a.Mant, b.Mant = ^uint64(0)<<r.IntN(3), ^uint64(0)<<r.IntN(3)
			}
			if usual(a.Number(), b.Number(), usualWord) {
				quick++
			}
			require.False(t, usual(a.Number(), b.Number(), reservedWord))
			require.Equal(t, f(a.Number(), b.Number(), reservedWord), f(a.Number(), b.Number(), usualWord), "%s of %v and %v", name, a, b)
		}
		require.Greater(t, quick, 40_000)
	}
}

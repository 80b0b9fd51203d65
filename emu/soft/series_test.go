package soft

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// seriesOf says by what each series divides the k-th power, and how many leading zeros behind the point there are at
// least where it is used.
var seriesOf = map[string]struct {
	series  func() *series
	divisor func(k int64) *big.Int
	zeros   int
}{
	"sine":   {sineSeries, func(k int64) *big.Int { return factorial(2*k + 1) }, 0},
	"cosine": {cosineSeries, func(k int64) *big.Int { return factorial(2 * k) }, 0},
	"exp":    {expSeries, func(k int64) *big.Int { return factorial(k + 1) }, 0},
	"atan":   {atanSeries, func(k int64) *big.Int { return big.NewInt(2*k + 1) }, 6},
	"rest":   {atanhRest, func(k int64) *big.Int { return big.NewInt(2*k + 3) }, 6},
}

func factorial(n int64) *big.Int { return new(big.Int).MulRange(1, n) }

// exactSum adds terms until they are too small to count.
func exactSum(z u128, divisor func(k int64) *big.Int, alternating bool) *big.Float {
	sum, power, x := new(big.Float).SetPrec(300), big.NewFloat(1).SetPrec(300), wide{m: z}.big()
	if alternating {
		x.Neg(x)
	}
	for k := int64(0); k < 200 && power.Sign() != 0 && power.MantExp(nil) > -200; k++ {
		sum.Add(sum, new(big.Float).Quo(power, new(big.Float).SetPrec(300).SetInt(divisor(k))))
		power.Mul(power, x)
	}
	return sum
}

func checkSeries(t *testing.T, z u128) {
	for name, s := range seriesOf {
		z := z.shr(uint(1 + s.zeros)) // below 2^-zeros
		for _, alternating := range []bool{false, true} {
			got := wide{m: s.series().sum(z, alternating)}.big()
			diff := new(big.Float).SetPrec(300).Sub(got, exactSum(z, s.divisor, alternating))
			require.True(t, diff.Sign() == 0 || diff.MantExp(nil) <= -113, "%s(%x): %v", name, z, diff)
		}
	}
}

// TestSeries compares sums with those of 300 bits.
func TestSeries(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for range 5_000 {
		checkSeries(t, u128{digits(r), digits(r)}.shr(uint(r.IntN(128))))
	}
	checkSeries(t, u128{})
	checkSeries(t, u128{^uint64(0), ^uint64(0)})
}

func FuzzSeries(f *testing.F) {
	f.Add(uint64(1)<<63, uint64(0))
	f.Fuzz(func(t *testing.T, hi, lo uint64) { checkSeries(t, u128{hi, lo}) })
}

package soft

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestApproximations14 has the error that the SDM allows, and powers of two exact.
func TestApproximations14(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 14))
	for range 200_000 {
		x := math.Float64frombits(r.Uint64()&(1<<52-1) | uint64(800+r.Uint32N(446))<<52)
		for _, tt := range []struct {
			f    func(uint64, Mode) (uint64, uint16)
			want float64
		}{{Float64.Rcp14, 1 / x}, {Float64.Rsqrt14, 1 / math.Sqrt(x)}} {
			bits, status := tt.f(math.Float64bits(x), 0x1f80)
			require.Zero(t, status)
			require.Less(t, math.Abs(math.Float64frombits(bits)/tt.want-1), math.Ldexp(1, -14), "%v", x)
		}
		y := float32(x)
		bits, _ := Float32.Rcp14(uint64(math.Float32bits(y)), 0x1f80)
		if want := 1 / float64(y); y != 0 && !math.IsInf(float64(y), 0) && math.Abs(want) > 0x1p-126 && math.Abs(want) < 0x1p127 {
			require.Less(t, math.Abs(float64(math.Float32frombits(uint32(bits)))/want-1), math.Ldexp(1, -14), "%v", y)
		}
	}
	for e := -1000; e <= 1000; e++ {
		x := math.Ldexp(1, e)
		bits, _ := Float64.Rcp14(math.Float64bits(x), 0x1f80)
		require.Equal(t, 1/x, math.Float64frombits(bits))
		if e%2 == 0 {
			bits, _ = Float64.Rsqrt14(math.Float64bits(x), 0x1f80)
			require.Equal(t, math.Ldexp(1, -e/2), math.Float64frombits(bits))
		}
	}
}

// TestSpecial14 has the operands that the SDM names.
func TestSpecial14(t *testing.T) {
	const daz, ftz = 1 << 6, 1 << 15
	inf, nan := math.Inf(1), math.NaN()
	negative := math.Copysign(0, -1)
	for _, tt := range []struct {
		x, rcp, rsqrt float64
		mode          Mode
	}{
		{0, inf, inf, 0}, {negative, -inf, -inf, 0}, {inf, 0, 0, 0}, {-inf, negative, nan, 0}, {nan, nan, nan, 0}, {-4, -0.25, nan, 0},
		{0x1p-1024, inf, 0x1p512, 0}, {0x1p-1024, inf, inf, daz}, {0x1p1023, 0x1p-1023, math.Float64frombits(0x1ff6a08000000000), 0}, {0x1p1023, 0, math.Float64frombits(0x1ff6a08000000000), ftz},
	} {
		rcp, _ := Float64.Rcp14(math.Float64bits(tt.x), 0x1f80|tt.mode)
		rsqrt, _ := Float64.Rsqrt14(math.Float64bits(tt.x), 0x1f80|tt.mode)
		same := func(want float64, got uint64) {
			t.Helper()
			if math.IsNaN(want) {
				require.True(t, math.IsNaN(math.Float64frombits(got)))
			} else {
				require.Equal(t, math.Float64bits(want), got, "%v: %v", tt.x, math.Float64frombits(got))
			}
		}
		same(tt.rcp, rcp)
		same(tt.rsqrt, rsqrt)
	}
}

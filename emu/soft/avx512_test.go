package soft

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestApproximations14 has the error that the SDM allows, and powers of two exact.
func TestApproximations14(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 14))
	for range many(200_000) {
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

// TestMeasured14 has the approximations of all that an operand's upper bits can be hash to what an Intel Xeon, family
// 6, model 207, gave: results depend on 16 bits behind the highest one, and on whether others are set. All of its 2^23
// fractions, with even and odd exponents, gave what these do; results have 17 bits.
func TestMeasured14(t *testing.T) {
	for _, tt := range []struct {
		name      string
		f, double func(uint64, Mode) (uint64, uint16)
		exponents int
		sum       string
	}{
		{"rcp14", Float32.Rcp14, Float64.Rcp14, 1, "95884c88df3abdf712632c7906a67cfb7224292e3c063af171f6fc2bc0e26f77"},
		{"rsqrt14", Float32.Rsqrt14, Float64.Rsqrt14, 2, "0dcd997436477b35853f70a19b9bcb5150820b2a2d543b9758fc76366a918d9a"},
	} {
		var values []byte
		for e := range tt.exponents {
			for m := range uint64(1 << 16) {
				x := uint64(127+e)<<23 | m<<7 | 1
				r, status := tt.f(x, 0x1f80)
				require.Zero(t, status)
				require.Zero(t, r&0x7f)
				values = binary.LittleEndian.AppendUint32(values, uint32(r&(1<<23-1)|1<<23)>>7)
				rest, _ := tt.f(x|0x7e, 0x1f80)
				require.Equal(t, r, rest)
				double, _ := tt.double(math.Float64bits(float64(math.Float32frombits(uint32(x)))), 0x1f80)
				require.Equal(t, float64(math.Float32frombits(uint32(r))), math.Float64frombits(double))
			}
		}
		require.Equal(t, tt.sum, fmt.Sprintf("%x", sha256.Sum256(values)), tt.name)
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
		{0x1p-1024, inf, 0x1p512, 0}, {0x1p-1024, inf, inf, daz}, {0x1p1023, 0x1p-1023, math.Float64frombits(0x1ff6a05000000000), 0}, {0x1p1023, 0, math.Float64frombits(0x1ff6a05000000000), ftz},
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

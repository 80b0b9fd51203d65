package soft

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A reference computes in math/big what an operation of a format returns, for operands and results that are numbers.
type reference struct {
	f  *Format
	rc int
}

// value returns a finite number.
func (f *Format) value(x uint64) *big.Float {
	exp, frac := int(x>>f.fracBits())&f.maxExp, int64(x&(1<<f.fracBits()-1))
	if exp == 0 {
		exp = 1
	} else {
		frac |= 1 << f.fracBits()
	}
	v := exactly().SetMantExp(exactly().SetInt64(frac), exp-f.bias-int(f.fracBits()))
	if x&f.signBit() != 0 {
		v.Neg(v)
	}
	return v
}

// exactly gives a new number with bits enough for sums and products of double precision to be exact.
func exactly() *big.Float { return new(big.Float).SetPrec(5000).SetMode(big.ToZero) }

// round returns the bits of v, which is not zero, the exceptions of rounding it, and whether it is tiny.
func (ref reference) round(v *big.Float) (uint64, uint16) {
	f, neg := ref.f, v.Signbit()
	tiny := f.tiny(ref.toPrecision(v))
	// The last place of the format at v.
	place := max(v.MantExp(nil)-int(f.prec), 1-f.bias-int(f.fracBits()))
	scaled := exactly().SetMantExp(exactly().Abs(v), -place)
	q, accuracy := scaled.Int(nil)
	var status uint16
	if accuracy != big.Exact {
		status = PE
		if tiny {
			status |= UE
		}
		half := exactly().Sub(scaled, exactly().SetInt(q)).Cmp(big.NewFloat(0.5))
		if ref.up(half, neg, q.Bit(0) != 0) {
			q.Add(q, big.NewInt(1))
		}
	}
	if exactly().SetMantExp(exactly().SetInt(q), place).MantExp(nil)-1 > f.bias {
		return ref.tooLarge(neg), OE | PE
	}
	return f.assemble(q, place, neg), status
}

// up tells whether a magnitude is rounded up: half compares what is cut off with half a unit.
func (ref reference) up(half int, neg, odd bool) bool {
	switch ref.rc {
	case 0:
		return half > 0 || half == 0 && odd
	case roundDown:
		return neg
	case roundUp:
		return !neg
	}
	return false
}

// tooLarge returns the result of a masked overflow.
func (ref reference) tooLarge(neg bool) uint64 {
	infinity := uint64(ref.f.maxExp) << ref.f.fracBits()
	if ref.rc != 0 && !ref.up(1, neg, false) {
		infinity--
	}
	return ref.f.signed(infinity, neg)
}

// toPrecision rounds v as if exponents had no limit.
func (ref reference) toPrecision(v *big.Float) *big.Float {
	mode := [4]big.RoundingMode{big.ToNearestEven, big.ToNegativeInf, big.ToPositiveInf, big.ToZero}[ref.rc]
	return new(big.Float).SetPrec(ref.f.prec).SetMode(mode).Set(v)
}

// tiny reports whether v is below the smallest normal number.
func (f *Format) tiny(v *big.Float) bool { return v.MantExp(nil)-1 < 1-f.bias }

// assemble returns the bits of q * 2^place.
func (f *Format) assemble(q *big.Int, place int, neg bool) uint64 {
	exp := place + f.bias + int(f.fracBits())
	// A denormal has exponent 0 rather than 1; a carry out of the fraction goes into the exponent.
	return f.signed(uint64(exp-1)<<f.fracBits()+q.Uint64(), neg)
}

// TestArithmetic compares with math/big, in all roundings.
func TestArithmetic(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, f := range []*Format{Float16, Float32, Float64} {
		for range many(20_000) {
			rc := r.IntN(4)
			x, y, z := f.finite(r), f.finite(r), f.finite(r)
			a, b, c := f.value(x), f.value(y), f.value(z)
			check := func(name string, v *big.Float, got uint64, status uint16) {
				if v == nil || v.Sign() == 0 {
					return
				}
				want, wantStatus := reference{f, rc}.round(v)
				same(t, want, got, "%d bits: %s %x %x %x rounding %d", f.prec, name, x, y, z, rc)
				same(t, wantStatus, status&^DE, "%d bits: %s %x %x %x rounding %d", f.prec, name, x, y, z, rc)
			}
			mode := Mode(0x1f80).WithRounding(uint8(rc))
			got, status := f.Add(x, y, mode)
			check("add", exactly().Add(a, b), got, status)
			got, status = f.Sub(x, y, mode)
			check("sub", exactly().Sub(a, b), got, status)
			got, status = f.Mul(x, y, mode)
			check("mul", exactly().Mul(a, b), got, status)
			got, status = f.FMA(x, y, z, mode)
			check("fma", exactly().Add(exactly().Mul(a, b), c), got, status)
			if b.Sign() != 0 {
				got, status = f.Div(x, y, mode)
				check("div", exactly().Quo(a, b), got, status)
			}
			if a.Sign() > 0 {
				got, status = f.Sqrt(x, mode)
				// Roots are rounded as the operand's mode says, so that an exact one may be missed by its last bit.
				root := new(big.Float).SetPrec(500).Sqrt(a)
				check("sqrt", root.SetMode(big.ToNearestEven).SetPrec(200), got, status)
			}
			for _, to := range []*Format{Float16, Float32, Float64} {
				got, status = f.Convert(x, to, mode)
				if a.Sign() != 0 {
					want, wantStatus := reference{to, rc}.round(a)
					same(t, want, got, "%x from %d bits to %d", x, f.prec, to.prec)
					same(t, wantStatus, status&^DE, "%x from %d bits to %d", x, f.prec, to.prec)
				}
			}
		}
	}
}

// finite returns a number that is neither infinite nor a NaN.
func (f *Format) finite(r *rand.Rand) uint64 {
	for {
		if x := f.random(r); f.Unpack(x).class < infinite {
			return x
		}
	}
}

// TestIntegers compares conversions with Go's, where Go says what they are.
func TestIntegers(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range many(100_000) {
		i := int64(r.Uint64()) >> r.IntN(64)
		got, status := Float64.FromInt(i, 0x1f80)
		same(t, math.Float64bits(float64(i)), got, i)
		same(t, big.NewFloat(0).SetPrec(53).SetInt64(i).Acc() != big.Exact, status == PE, i)
		got, _ = Float32.FromInt(i, 0x1f80)
		want, _ := big.NewFloat(0).SetPrec(64).SetInt64(i).Float32() // Go for 386 rounds float32(i) twice
		same(t, uint64(math.Float32bits(want)), got, i)

		v := math.Float64frombits(Float64.finite(r))
		for rc, round := range []func(float64) float64{math.RoundToEven, math.Floor, math.Ceil, math.Trunc} {
			mode := Mode(0x1f80).WithRounding(uint8(rc))
			want := round(v)
			got, status := Float64.Round(math.Float64bits(v), mode)
			same(t, math.Float64bits(want), got, "%v rounding %d", v, rc)
			same(t, want != v, status == PE, "%v rounding %d", v, rc)
			for _, width := range []uint{16, 32, 64} {
				limit := math.Ldexp(1, int(width-1))
				got, status := Float64.ToInt(math.Float64bits(v), width, mode)
				if want < -limit || want >= limit {
					same(t, int64(-1)<<(width-1), got, "%v rounding %d", v, rc)
					same(t, IE, status)
					continue
				}
				same(t, int64(want), got, "%v rounding %d", v, rc)
				same(t, want != v, status == PE, "%v rounding %d", v, rc)
			}
		}
	}
}

// TestSpecialResults has operands that are no numbers, or lead to none.
func TestSpecialResults(t *testing.T) {
	const (
		inf, one, denormal    = 0x7f800000, 0x3f800000, 0x00000001
		minus                 = 0x80000000
		quiet, signaling      = 0x7fc12345, 0xff812345
		down, daz, ftz, plain = 0x3f80, 0x1fc0, 0x9f80, 0x1f80
	)
	add, sub, mul, div := Float32.Add, Float32.Sub, Float32.Mul, Float32.Div
	for i, tt := range []struct {
		op         func(x, y uint64, mode Mode) (uint64, uint16)
		x, y       uint64
		mode       Mode
		want       uint64
		wantStatus uint16
	}{
		{add, inf, inf | minus, plain, indef32, IE},
		{sub, inf, inf, plain, indef32, IE},
		{add, one, one | minus, plain, 0, 0},
		{add, one, one | minus, down, minus, 0},
		{add, 0, minus, down, minus, 0},
		{add, minus, minus, plain, minus, 0},
		{mul, 0, inf, plain, indef32, IE},
		{div, 0, minus, plain, indef32, IE},
		{div, inf, inf, plain, indef32, IE},
		{div, one, minus, plain, inf | minus, ZE},
		{div, denormal, 0, plain, inf, ZE},
		{add, quiet, signaling, plain, quiet, IE},
		{add, signaling, quiet, plain, 0xffc12345, IE},
		{add, one, quiet, plain, quiet, 0},
		{add, denormal, quiet, plain, quiet, 0},
		{add, denormal, one, plain, one, DE | PE},
		{add, denormal, one, daz, one, 0},
		{mul, 0x00800000, 0x3f000000, plain, 0x00400000, 0},
		{mul, 0x00800000, 0xbf000000, ftz, minus, UE | PE},
		{mul, 0x00800000, 0x3f000000, 0x1780, 0, UE}, // underflow is not masked
		{add, denormal, one, 0x1e80, 0, DE},          // nothing is computed
	} {
		got, status := tt.op(tt.x, tt.y, tt.mode)
		require.Equal(t, tt.wantStatus, status, "case %d", i)
		if tt.mode.Unmasked(status) == 0 {
			require.Equal(t, tt.want, got, "case %d", i)
		}
	}
	half, status := HalfToSingle(1, daz&^0x100) // denormal, whether that is masked or not
	require.Equal(t, uint64(math.Float32bits(0x1p-24)), half)
	require.Zero(t, status)
	for i, tt := range []struct {
		x, y     uint64
		min, max uint64
		status   uint16
	}{
		{0, minus, minus, minus, 0},
		{minus, 0, 0, 0, 0},
		{quiet, one, one, one, IE},
		{one, signaling, signaling, signaling, IE},
		{one, denormal, denormal, one, DE},
		{inf, one, one, inf, 0},
	} {
		got, status := Float32.Min(tt.x, tt.y, plain)
		require.Equal(t, tt.min, got, "case %d", i)
		require.Equal(t, tt.status, status, "case %d", i)
		got, status = Float32.Max(tt.x, tt.y, plain)
		require.Equal(t, tt.max, got, "case %d", i)
		require.Equal(t, tt.status, status, "case %d", i)
	}
}

// TestFormatsSameEverywhere holds basic arithmetic to what it returned where it was compared with a CPU: hosts differ
// in how they fuse products and sums, in NaNs and in conversions.
func TestFormatsSameEverywhere(t *testing.T) {
	var got strings.Builder
	for _, name := range slices.Sorted(maps.Keys(hardAndSoft)) {
		format := Float64
		if strings.HasSuffix(name, "32") {
			format = Float32
		}
		r := rand.New(rand.NewPCG(13, 14))
		h := fnv.New64a()
		for range 20_000 {
			mode := Mode(r.IntN(1 << 16))
			v, status := hardAndSoft[name].hard(format.random(r), format.random(r), mode)
			if mode.Unmasked(status) != 0 {
				v = 0
			}
			require.NoError(t, binary.Write(h, binary.LittleEndian, [2]uint64{v, uint64(status)}))
		}
		fmt.Fprintf(&got, "%s %016x\n", name, h.Sum64())
	}
	const golden = "testdata/formats.golden"
	if *updateHash {
		require.NoError(t, os.WriteFile(golden, []byte(got.String()), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), got.String(), "go test ./emu/soft -updatehash rewrites it")
}

// FuzzFormats looks for panics, and for results that depend on what must not matter.
func FuzzFormats(f *testing.F) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 20 {
		f.Add(Float64.random(r), Float64.random(r), Float64.random(r), uint32(r.IntN(1<<16)))
	}
	f.Fuzz(func(t *testing.T, x, y, z uint64, mxcsr uint32) {
		mode := Mode(mxcsr & 0xffff)
		for _, f := range []*Format{Float16, Float32, Float64} {
			mask := f.signBit()<<1 - 1
			x, y, z := x&mask, y&mask, z&mask
			sum, status := f.Add(x, y, mode)
			one := uint64(f.bias) << f.fracBits()
			fused, fusedStatus := f.FMA(x, one, y, mode)
			if !f.Unpack(x).IsNaN() && !f.Unpack(y).IsNaN() {
				require.Equal(t, sum, fused)
				require.Equal(t, status, fusedStatus)
			}
			for _, op := range []func(x, y uint64, mode Mode) (uint64, uint16){f.Sub, f.Mul, f.Div, f.Min, f.Max} {
				v, status := op(x, y, mode)
				require.Zero(t, v&^mask)
				require.Zero(t, status&^exceptions)
			}
			_, _ = f.Sqrt(z, mode)
			_, _ = f.ToInt(z, 32, mode)
			_, _ = f.FMA(x, y, z, mode)
		}
		a, b := F80{x, uint16(z)}.Number(), F80{y, uint16(z >> 16)}.Number()
		cw := uint16(mxcsr)
		for _, r := range []Result{Add(a, b, cw), Sub(a, b, cw), Mul(a, b, cw), Div(a, b, cw), Sqrt(a, cw), RoundToInt(a, cw)} {
			require.NotEqual(t, unsupported, r.Value.class())
			require.Zero(t, r.Status&^(exceptions|C1))
		}
	})
}

func BenchmarkSoft(b *testing.B) {
	x, y := math.Float64bits(1.1), math.Float64bits(3.3)
	for name, op := range map[string]func(x, y uint64, mode Mode) (uint64, uint16){
		"add": Float64.Add, "mul": Float64.Mul, "div": Float64.Div,
		"sqrt": func(x, _ uint64, mode Mode) (uint64, uint16) { return Float64.Sqrt(x, mode) },
		"fma":  func(x, y uint64, mode Mode) (uint64, uint16) { return Float64.FMA(x, y, x, mode) },
	} {
		b.Run("op="+name, func(b *testing.B) {
			for b.Loop() {
				op(x, y, 0x1f80)
			}
		})
	}
}

func BenchmarkBasicX87(b *testing.B) {
	x, y := F80{0xb504f333f9de6484, expBias + 3}, F80{0xc123456789abcdef, expBias - 2}
	for name, op := range map[string]func(x, y Number, cw uint16) Result{
		"add": Add, "mul": Mul, "div": Div,
		"sqrt": func(x, _ Number, cw uint16) Result { return Sqrt(x, cw) },
	} {
		b.Run("op="+name, func(b *testing.B) {
			for b.Loop() {
				op(x.Number(), y.Number(), 0x37f)
			}
		})
	}
}

// same is require.Equal for loops of millions: equal values cost it nothing.
func same[T comparable](t *testing.T, want, got T, message ...any) {
	if want != got {
		t.Helper()
		require.Equal(t, want, got, message...)
	}
}

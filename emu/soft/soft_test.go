package soft

import (
	"encoding/binary"
	"flag"
	"fmt"
	"hash/fnv"
	"math/big"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// many returns how many random operands a test compares: n, or with -short, for runs under an emulator, a tenth of
// them.
func many(n int) int {
	if testing.Short() {
		return n / 10
	}
	return n
}

// TestSpecialOperands has the tables of the SDM, and what the reference does
// where they leave the result open.
func TestSpecialOperands(t *testing.T) {
	const cw = 0x37f
	inf, nan, snan := infinity80(false), F80{^uint64(0), maxExp}, F80{integer | 1, maxExp}
	two, half := F80{integer, expBias + 1}, F80{integer, expBias - 1}
	neg := func(x F80) F80 { return x.withSign(true) }
	for _, tt := range []struct {
		op      string
		y, x    F80
		value   F80
		statusw uint16
	}{
		{"fsin", zero80(false), zero80(true), zero80(true), 0},
		{"fsin", zero80(false), inf, indefinite, IE},
		{"fsin", zero80(false), nan, nan, 0},
		{"fsin", zero80(false), snan, F80{snan.Mant | quiet80, maxExp}, IE},
		{"fsin", zero80(false), F80{1, expBias}, indefinite, IE},
		{"fsin", zero80(false), F80{integer, expBias + 63}, F80{integer, expBias + 63}, C2},
		{"fsin", zero80(false), F80{1, 0}, F80{1, 0}, DE | UE | PE},
		{"fcos", zero80(false), zero80(true), one80, 0},
		{"fcos", zero80(false), neg(inf), indefinite, IE},
		{"fptan", zero80(false), zero80(true), zero80(true), 0},
		{"fptan", zero80(false), inf, indefinite, IE},
		{"f2xm1", zero80(false), zero80(true), zero80(true), 0},
		{"f2xm1", zero80(false), inf, inf, 0},
		{"f2xm1", zero80(false), neg(inf), neg(one80), 0},
		{"f2xm1", zero80(false), one80, one80, PE},
		{"f2xm1", zero80(false), neg(one80), neg(half), PE},
		{"f2xm1", zero80(false), two, two, PE}, // undefined
		{"fpatan", zero80(true), one80, zero80(true), 0},
		{"fpatan", one80, inf, zero80(false), 0},
		{"fpatan", zero80(false), neg(one80), F80{0xc90fdaa22168c235, expBias + 1}, PE | C1},
		{"fpatan", zero80(true), zero80(true), F80{0xc90fdaa22168c235, negative | expBias + 1}, PE | C1},
		{"fpatan", inf, neg(inf), F80{0x96cbe3f9990e91a8, expBias + 1}, PE | C1},
		{"fpatan", nan, one80, nan, 0},
		{"fyl2x", one80, zero80(false), neg(inf), ZE},
		{"fyl2x", inf, zero80(false), neg(inf), 0},
		{"fyl2x", zero80(false), zero80(true), indefinite, IE},
		{"fyl2x", zero80(false), inf, indefinite, IE},
		{"fyl2x", inf, one80, indefinite, IE},
		{"fyl2x", one80, neg(one80), indefinite, IE},
		{"fyl2x", neg(two), one80, zero80(true), 0},
		{"fyl2x", two, half, neg(two), PE | C1},
		{"fyl2x", two, two, two, PE},
		{"fyl2xp1", inf, zero80(false), indefinite, IE},
		{"fyl2xp1", zero80(false), inf, indefinite, IE},
		{"fyl2xp1", one80, neg(inf), indefinite, IE},
		{"fyl2xp1", neg(one80), inf, neg(inf), 0},
		{"fyl2xp1", one80, neg(two), neg(two), PE}, // undefined
		{"fyl2xp1", two, one80, two, PE},
	} {
		r := ops[tt.op](tt.y, tt.x, cw)
		assert.Equal(t, tt.value.String(), r.Value.String(), "%s(%v, %v)", tt.op, tt.y, tt.x)
		assert.Equal(t, tt.statusw, r.Status, "status of %s(%v, %v)", tt.op, tt.y, tt.x)
	}
}

// TestConstants computes the constants anew.
func TestConstants(t *testing.T) {
	atan := func(n int64) *big.Float { // atan(1/n)
		return sumOf300(func(k int64) *big.Rat {
			r := new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Exp(big.NewInt(n), big.NewInt(2*k+1), nil))
			return r.Mul(r, big.NewRat(1-2*(k%2), 2*k+1))
		})
	}
	// pi/4 = 4*atan(1/5) - atan(1/239)
	quarter := new(big.Float).SetPrec(300).Sub(new(big.Float).Mul(big.NewFloat(4), atan(5)), atan(239))
	// ln2 = the sum of 1 / (k * 2^k)
	log := sumOf300(func(k int64) *big.Rat {
		return new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Lsh(big.NewInt(k+1), uint(k+1)))
	})
	// ln10 = 3*ln2 + ln(5/4), and -ln(1 - 1/5) = the sum of 1 / (k * 5^k)
	quarterMore := sumOf300(func(k int64) *big.Rat {
		return new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Mul(big.NewInt(k+1), new(big.Int).Exp(big.NewInt(5), big.NewInt(k+1), nil)))
	})
	log10 := new(big.Float).Mul(log, big.NewFloat(3))
	log10.Add(log10, quarterMore)
	for name, tt := range map[string]struct {
		got  wide
		want *big.Float
	}{
		"log2(10)": {log2ten, new(big.Float).Quo(log10, log)},
		"log10(2)": {log10of2, new(big.Float).Quo(log, log10)},
		"pi":       {pi, new(big.Float).Mul(quarter, big.NewFloat(4))},
		"ln2":      {ln2, log},
		"log2e":    {log2e, new(big.Float).Quo(big.NewFloat(1).SetPrec(300), log)},
	} {
		want := new(big.Float).SetPrec(128).Set(tt.want)
		assert.Equal(t, want.Text('p', 0), tt.got.big().Text('p', 0), name)
	}
	// 66 bits of pi, followed by zeros
	assert.Equal(t, pi.m.shr(128-66), halfPi)
}

// sumOf300 returns the sum of the first 300 terms.
func sumOf300(term func(k int64) *big.Rat) *big.Float {
	sum := new(big.Float).SetPrec(300)
	for k := range int64(300) {
		sum.Add(sum, new(big.Float).SetPrec(300).SetRat(term(k)))
	}
	return sum
}

func (a wide) big() *big.Float {
	m := new(big.Int).SetUint64(a.m.hi)
	m.Lsh(m, 64).Or(m, new(big.Int).SetUint64(a.m.lo))
	f := new(big.Float).SetPrec(128).SetInt(m)
	return f.SetMantExp(f, a.exp-127)
}

// TestWide compares with math/big.
func TestWide(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	random := func() wide {
		return wide{r.IntN(2) == 1, r.IntN(80) - 40, u128{r.Uint64() | integer, r.Uint64()}}
	}
	exact := func() *big.Float { return new(big.Float).SetPrec(1000) }
	value := func(a wide) *big.Float {
		if f := a.big(); a.neg {
			return f.Neg(f)
		}
		return a.big()
	}
	for range many(10_000) {
		a, b := random(), random()
		x, y := value(a), value(b)
		for name, tt := range map[string]struct {
			got  wide
			want *big.Float
		}{
			"mul": {a.mul(b), exact().Mul(x, y)},
			"div": {a.div(b), exact().Quo(x, y)},
			"add": {a.add(b), exact().Add(x, y)},
		} {
			// Two units of the last place, those of the larger operand for sums.
			limit := new(big.Float).SetMantExp(big.NewFloat(1), max(tt.got.exp, a.exp, b.exp)-125)
			if name != "add" {
				limit.SetMantExp(big.NewFloat(1), tt.got.exp-125)
			}
			diff := exact().Sub(value(tt.got), tt.want)
			require.Negative(t, diff.Abs(diff).Cmp(limit), "%s %v %v: got %v", name, a, b, tt.got)
		}
	}
}

var updateHash = flag.Bool("updatehash", false, "rewrite testdata/hash.golden from this run")

// TestSameEverywhere sees to it that results have the same bits on all hosts,
// and change on purpose only.
func TestSameEverywhere(t *testing.T) {
	var got strings.Builder
	for _, op := range opNames {
		r := rand.New(rand.NewPCG(5, 6))
		h := fnv.New64a()
		for range 20_000 {
			y, x := randomF80(r, -20, 20), randomF80(r, -20, 20)
			res := ops[op](y, x, 0x37f|uint16(r.IntN(4)<<10))
			require.NoError(t, binary.Write(h, binary.LittleEndian, res))
		}
		fmt.Fprintf(&got, "%s %016x\n", op, h.Sum64())
	}
	const golden = "testdata/hash.golden"
	if *updateHash {
		require.NoError(t, os.WriteFile(golden, []byte(got.String()), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), got.String(), "go test ./emu/soft -updatehash rewrites it")
}

// FuzzTranscendentals looks for panics and for what no instruction does.
func FuzzTranscendentals(f *testing.F) {
	for i, x := range edgeOperands() {
		y := edgeOperands()[i*7%len(edgeOperands())]
		f.Add(y.Mant, y.SE, x.Mant, x.SE, uint16(0x37f))
		f.Add(x.Mant, x.SE, y.Mant, y.SE, uint16(0xc00))
	}
	f.Fuzz(func(t *testing.T, ym uint64, ys uint16, xm uint64, xs uint16, cw uint16) {
		y, x := F80{ym, ys}, F80{xm, xs}
		for _, op := range opNames {
			r := ops[op](y, x, cw)
			require.Zero(t, r.Status&^(flags|C1|C2), op)
			require.NotEqual(t, unsupported, r.Value.class(), "%s(%v, %v) = %v", op, y, x, r.Value)
			require.NotEqual(t, OE|UE, r.Status&(OE|UE), op)
		}
	})
}

func BenchmarkX87(b *testing.B) {
	y, x := F80{0xb504f333f9de6484, expBias + 3}, F80{0xc123456789abcdef, expBias - 2}
	for _, op := range opNames {
		b.Run("op="+op, func(b *testing.B) {
			for b.Loop() {
				ops[op](y, x, 0x37f)
			}
		})
	}
}

func BenchmarkApproximations(b *testing.B) {
	for name, f := range map[string]func(uint32) uint32{"rcp": Rcp, "rsqrt": Rsqrt} {
		b.Run("op="+name, func(b *testing.B) {
			x := uint32(0x3f912345)
			for b.Loop() {
				x = f(x) | 1<<20
			}
		})
	}
}

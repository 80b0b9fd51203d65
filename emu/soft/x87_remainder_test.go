package soft

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// inPlaces returns |x| in units of the last place of denormal numbers, of which every number is an integral multiple.
func (x F80) inPlaces() *big.Int {
	exp := max(x.SE&^negative, 1) - 1
	n := new(big.Int).SetUint64(x.Mant)
	return n.Lsh(n, uint(exp))
}

// signedPlaces is inPlaces with the sign.
func (x F80) signedPlaces() *big.Int {
	if x.neg() {
		return new(big.Int).Neg(x.inPlaces())
	}
	return x.inPlaces()
}

// TestRemainder takes FPREM and FPREM1 to their ends, and compares these and the quotients with math/big.
func TestRemainder(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	longest := 0
	for range many(10_000) {
		x, y := randomF80(r, -40, 60), randomF80(r, -40, 60)
		switch r.IntN(64) {
		case 0: // many steps
			x, y = randomF80(r, -16382, 16383), randomF80(r, -16382, 16383)
		case 1, 2, 3, 4, 5, 6, 7, 8: // ties
			y.Mant &^= 1<<(1+r.IntN(62)) - 1
			x = F80{y.Mant, y.SE ^ 0x8000 - uint16(r.IntN(2))}
		case 9:
			y = F80{r.Uint64() >> 20, 0}
		}
		for _, nearest := range []bool{false, true} {
			quotient, rest := new(big.Int).QuoRem(x.signedPlaces(), y.signedPlaces(), new(big.Int))
			if double := new(big.Int).Lsh(new(big.Int).Abs(rest), 1); nearest {
				if c := double.Cmp(y.inPlaces()); c > 0 || c == 0 && quotient.Bit(0) != 0 {
					step := big.NewInt(1)
					if x.neg() != y.neg() {
						step.SetInt64(-1)
					}
					quotient.Add(quotient, step)
					rest.Sub(x.signedPlaces(), new(big.Int).Mul(quotient, y.signedPlaces()))
				}
			}
			got, status, steps := remainderSteps(t, y, x, nearest)
			longest = max(longest, steps)
			require.Zero(t, rest.Cmp(got.signedPlaces()), "%v rem %v (nearest %v): got %v", x, y, nearest, got)
			if rest.Sign() == 0 {
				require.Equal(t, zero80(x.neg()), got)
			}
			low := new(big.Int).And(new(big.Int).Abs(quotient), big.NewInt(7)).Uint64()
			require.Equal(t, quotientBits(low), status&(C0|C1|C3), "%v rem %v (nearest %v): quotient %v", x, y, nearest, quotient)
		}
	}
	require.Greater(t, longest, 300)
}

// remainderSteps repeats an instruction until C2 says that it is done. Each step but the last brings exponents nearer
// by 32 to 63.
func remainderSteps(t *testing.T, y, x F80, nearest bool) (rem F80, status uint16, steps int) {
	f := Fprem
	if nearest {
		f = Fprem1
	}
	for {
		steps++
		r := f(y, x, 0x37f)
		require.Zero(t, r.Status&(IE|ZE|OE|UE|PE), "%v rem %v", x, y)
		if r.Status&C2 == 0 {
			return r.Value, r.Status, steps
		}
		require.Zero(t, r.Status&(C0|C1|C3))
		if r.Value.Mant != 0 {
			require.LessOrEqual(t, r.Value.Number().exp, x.Number().exp-32)
		}
		x = r.Value
	}
}

// TestOddRemainders has what is no quotient.
func TestOddRemainders(t *testing.T) {
	inf, two, snan := infinity80(false), F80{integer, expBias + 1}, F80{integer | 1, maxExp}
	tiny := F80{1, 0}
	for _, f := range []func(y, x F80, cw uint16) Result{Fprem, Fprem1} {
		require.Equal(t, Result{Value: indefinite, Status: IE}, f(two, inf, 0x37f))
		require.Equal(t, Result{Value: indefinite, Status: IE}, f(zero80(true), two, 0x37f))
		require.Equal(t, Result{Value: zero80(true)}, f(two, zero80(true), 0x37f))
		require.Equal(t, Result{Value: two}, f(inf, two, 0x37f))
		require.Equal(t, Result{Value: F80{integer | quiet80 | 1, maxExp}, Status: IE}, f(two, snan, 0x37f))
		require.Equal(t, Result{Value: tiny, Status: DE}, f(two, tiny, 0x37f))
		require.Equal(t, DE, f(two, tiny, 0x37f&^DE).Status)
		unmasked := f(two, tiny, 0x37f&^UE)
		require.Equal(t, Result{Value: F80{integer, uint16(3<<13 - 62)}, Status: DE | UE}, unmasked, "a tiny result, though exact")
	}
}

// TestScale has FSCALE at its limits, and the special operands of SDM Vol. 2, "Results of FSCALE".
func TestScale(t *testing.T) {
	inf, nan := infinity80(false), F80{^uint64(0), maxExp}
	minus := func(x F80) F80 { return x.withSign(true) }
	int80 := func(n int64) F80 { return FromInt(n).f80() }
	three := F80{3 << 62, expBias + 1}
	for _, tt := range []struct {
		x, y   F80
		cw     uint16
		value  F80
		status uint16
	}{
		{three, int80(4), 0x37f, F80{3 << 62, expBias + 5}, 0},
		{three, F80{^uint64(0), expBias}, 0x37f, F80{3 << 62, expBias + 2}, 0},        // 2^1.99…
		{three, F80{^uint64(0), negative | expBias}, 0x37f, F80{3 << 62, expBias}, 0}, // 2^-1.99…
		{three, F80{^uint64(0), expBias - 1}, 0x37f, three, 0},                        // 2^0.99…
		{three, int80(-16383 - 1), 0x37f, F80{3 << 61, 0}, 0},                         // denormal, exact
		{three, int80(-16383 - 63), 0x37f, F80{2, 0}, PE | UE | C1},
		{three, int80(-16383 - 63), 0xf7f, F80{1, 0}, PE | UE}, // to zero
		{three, int80(-30000), 0x37f, zero80(false), PE | UE},
		{three, int80(-30000), 0xb7f, F80{1, 0}, PE | UE | C1}, // up
		{three, int80(30000), 0x37f, inf, PE | OE | C1},
		{minus(three), int80(30000), 0xb7f, F80{^uint64(0), negative | maxExp - 1}, PE | OE},
		{three, int80(30000), 0x37f &^ OE, F80{3 << 62, expBias + 1 + 30000 - 24576}, OE},
		{three, int80(-30000), 0x37f &^ UE, F80{3 << 62, expBias + 1 - 30000 + 24576}, UE},
		{three, int80(50000), 0x37f &^ OE, inf, OE | PE | C1},
		{minus(three), int80(-50000), 0x37f &^ UE, zero80(true), UE | PE},
		{three, int80(math.MinInt64), 0x37f, zero80(false), PE | UE},
		{F80{1, 0}, int80(62), 0x37f, F80{1 << 62, 0}, DE},
		{F80{1, 0}, int80(63), 0x37f, F80{integer, 1}, DE},
		{three, inf, 0x37f, inf, 0},
		{minus(three), minus(inf), 0x37f, zero80(true), 0},
		{zero80(false), inf, 0x37f, indefinite, IE},
		{inf, minus(inf), 0x37f, indefinite, IE},
		{minus(inf), three, 0x37f, minus(inf), 0},
		{zero80(true), minus(inf), 0x37f, zero80(true), 0},
		{three, nan, 0x37f, nan, 0},
		{F80{1, expBias}, three, 0x37f, indefinite, IE}, // unsupported
	} {
		r := Fscale(tt.y, tt.x, tt.cw)
		require.Equal(t, tt.value.String(), r.Value.String(), "%v by %v, control word %#x", tt.x, tt.y, tt.cw)
		require.Equal(t, tt.status, r.Status, "%v by %v, control word %#x", tt.x, tt.y, tt.cw)
	}
}

// TestExtract has the parts of numbers of all kinds.
func TestExtract(t *testing.T) {
	inf := infinity80(false)
	for _, tt := range []struct {
		x, exp, significand F80
		status              uint16
	}{
		{F80{3 << 62, negative | expBias + 5}, FromInt(5).f80(), F80{3 << 62, negative | expBias}, 0},
		{F80{3, 0}, FromInt(-16382 - 62).f80(), F80{3 << 62, expBias}, DE},
		{F80{integer, 0}, FromInt(-16382).f80(), F80{integer, expBias}, DE}, // pseudo-denormal
		{zero80(true), infinity80(true), zero80(true), ZE},
		{infinity80(true), inf, infinity80(true), 0},
		{F80{integer | 5, maxExp}, F80{integer | quiet80 | 5, maxExp}, F80{integer | quiet80 | 5, maxExp}, IE},
		{F80{1, 9}, indefinite, indefinite, IE},
	} {
		require.Equal(t, Result{Value: tt.exp, Pushed: tt.significand, Status: tt.status}, Fxtract(tt.x, 0x37f), tt.x)
	}
}

// TestKeptDenormals scales a denormal number by zero, and takes its remainder by infinity: it stays, and is no
// underflow.
func TestKeptDenormals(t *testing.T) {
	denormal := F80{Mant: 0x5081}
	for _, cw := range []uint16{0x37f, 0x37f &^ UE} {
		require.Equal(t, Result{Value: denormal, Status: DE}, Fscale(zero80(true), denormal, cw))
		require.Equal(t, Result{Value: denormal, Status: DE}, Fprem(infinity80(false), denormal, cw))
		require.Equal(t, Result{Value: denormal, Status: DE}, Fprem1(infinity80(true), denormal, cw))
	}
}

package soft

import (
	"math"
	"math/rand/v2"
	"testing"
)

// An operation is a function of two elements, or of fewer.
type operation func(x, y uint64, mode Mode) (uint64, uint16)

// hardAndSoft has the functions of hard.go beside those that they stand for.
var hardAndSoft = map[string]struct{ hard, soft operation }{
	"Add64": {Add64, Float64.Add}, "Add32": {Add32, Float32.Add}, "Sub64": {Sub64, Float64.Sub}, "Sub32": {Sub32, Float32.Sub},
	"Mul64": {Mul64, Float64.Mul}, "Mul32": {Mul32, Float32.Mul}, "Div64": {Div64, Float64.Div}, "Div32": {Div32, Float32.Div},
	"Sqrt64": {ofOne(Sqrt64), ofOne(Float64.Sqrt)}, "Sqrt32": {ofOne(Sqrt32), ofOne(Float32.Sqrt)},
	"FMA64": {ofThree(FMA64), ofThree(Float64.FMA)}, "FMA32": {ofThree(FMA32), ofThree(Float32.FMA)},
	"SingleToDouble32": {ofOne(SingleToDouble), ofOne(func(x uint64, m Mode) (uint64, uint16) { return Float32.Convert(x, Float64, m) })},
	"DoubleToSingle64": {ofOne(DoubleToSingle), ofOne(func(x uint64, m Mode) (uint64, uint16) { return Float64.Convert(x, Float32, m) })},
	"Compare64":        {asOperation(Compare64), asOperation(Float64.Compare)}, "Compare32": {asOperation(Compare32), asOperation(Float32.Compare)},
	"Min64": {Min64, Float64.Min}, "Min32": {Min32, Float32.Min}, "Max64": {Max64, Float64.Max}, "Max32": {Max32, Float32.Max},
	"Round64": {ofOne(Round64), ofOne(Float64.Round)}, "Round32": {ofOne(Round32), ofOne(Float32.Round)},
	"IntToDouble64": {ofInt(IntToDouble), ofInt(Float64.FromInt)}, "IntToSingle64": {ofInt(IntToSingle), ofInt(Float32.FromInt)},
	"ToInt64": {toInts(DoubleToInt), toInts(Float64.ToInt)}, "ToInt32": {toInts(SingleToInt), toInts(Float32.ToInt)},
}

func ofOne(f func(x uint64, mode Mode) (uint64, uint16)) operation {
	return func(x, _ uint64, mode Mode) (uint64, uint16) { return f(x, mode) }
}

// ofThree adds a third operand, which makes the sum small, or as large as the others.
func ofThree(f func(x, y, z uint64, mode Mode) (uint64, uint16)) operation {
	return func(x, y uint64, mode Mode) (uint64, uint16) {
		z := x
		switch {
		case y&3 == 0:
			z = x ^ y
		case y&1 != 0:
			format := Float64
			if x>>32 == 0 && y>>32 == 0 {
				format = Float32
			}
			z, _ = format.Mul(x, y, 0x1f80)
			z ^= format.signBit()
		}
		return f(x, y, z, mode)
	}
}

func asOperation(f func(x, y uint64, signaling bool, mode Mode) (Relation, uint16)) operation {
	return func(x, y uint64, mode Mode) (uint64, uint16) {
		r, status := f(x, y, true, mode)
		return uint64(r), status
	}
}

// ofInt takes the integer that is left of x without as many bits as the lowest six of y say.
func ofInt(f func(i int64, mode Mode) (uint64, uint16)) operation {
	return func(x, y uint64, mode Mode) (uint64, uint16) { return f(int64(x)>>(y&63), mode) }
}

func toInts(f func(x uint64, width uint, mode Mode) (int64, uint16)) operation {
	return func(x, _ uint64, mode Mode) (uint64, uint16) {
		i, status := f(x, 32, mode)
		j, status2 := f(x, 64, mode)
		return uint64(i) ^ uint64(j)<<1, status | status2
	}
}

// TestHard compares the host's arithmetic with ours, whatever MXCSR says.
func TestHard(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for name, f := range hardAndSoft {
		format := Float64
		if name[len(name)-2:] == "32" {
			format = Float32
		}
		for range many(200_000) {
			x, y := format.random(r), format.random(r)
			mode := Mode(exceptions)<<modeMasks | Mode(r.IntN(64))
			if r.IntN(2) == 0 {
				mode |= Mode(r.IntN(8)) << modeRounding
			}
			if r.IntN(4) == 0 {
				mode |= modeDAZ
			}
			got, status := f.hard(x, y, mode)
			want, wantStatus := f.soft(x, y, mode)
			same(t, want, got, "%s %x %x mode %x", name, x, y, mode)
			same(t, wantStatus|uint16(mode)&PE, status|uint16(mode)&PE, "%s %x %x mode %x", name, x, y, mode)
		}
	}
}

func BenchmarkArithmetic(b *testing.B) {
	operands := map[string][2]uint64{
		"64": {math.Float64bits(1.1), math.Float64bits(3.3)},
		"32": {uint64(math.Float32bits(1.1)), uint64(math.Float32bits(3.3))},
	}
	for name, f := range hardAndSoft {
		xy := operands[name[len(name)-2:]]
		for how, do := range map[string]struct {
			f    operation
			mode Mode
		}{"hard": {f.hard, 0x1f80}, "hard, PE set": {f.hard, 0x1fa0}, "soft": {f.soft, 0x1f80}} {
			b.Run("op="+name+"/how="+how, func(b *testing.B) {
				x, y := xy[0], xy[1]
				for b.Loop() {
					do.f(x, y, do.mode)
				}
			})
		}
	}
}

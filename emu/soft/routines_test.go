//go:build amd64

package soft

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var operands = flag.Int("operands", 100_000, "how many operands of each kind TestRoutines compares")

// wholes are the functions with all bits.
var wholes = [Routines]struct {
	name string
	f    func(y, x F80, cw uint16) Result
}{
	RoutineSin:    {"fsin", func(_, x F80, cw uint16) Result { return fsin(x, cw) }},
	RoutineCos:    {"fcos", func(_, x F80, cw uint16) Result { return fcos(x, cw) }},
	RoutineSincos: {"fsincos", func(_, x F80, cw uint16) Result { return fsincos(x, cw) }},
	RoutineTan:    {"fptan", func(_, x F80, cw uint16) Result { return fptan(x, cw) }},
	Routine2xm1:   {"f2xm1", func(_, x F80, cw uint16) Result { return f2xm1(x, cw) }},
	RoutinePatan:  {"fpatan", fpatan},
	RoutineYl2x:   {"fyl2x", fyl2x},
	RoutineYl2xp1: {"fyl2xp1", fyl2xp1},
}

// checkRoutine reports whether f's routine has a result, which must be that of all bits.
func checkRoutine(t *testing.T, f Routine, y, x F80, cw uint16) bool {
	got, ok := fromRoutine(f, y, x, cw)
	if ok && got != wholes[f].f(y, x, cw) {
		require.Equal(t, wholes[f].f(y, x, cw), got, "%s(%v, %v)", wholes[f].name, y, x)
	}
	return ok
}

// ofExps makes y and x of exponents from lo to hi.
func ofExps(ylo, yhi, xlo, xhi int) func(r *rand.Rand) (y, x F80) {
	return func(r *rand.Rand) (y, x F80) { return randomF80(r, ylo, yhi), randomF80(r, xlo, xhi) }
}

// positive makes x positive.
func positive(of func(r *rand.Rand) (y, x F80)) func(r *rand.Rand) (y, x F80) {
	return func(r *rand.Rand) (F80, F80) {
		y, x := of(r)
		return y, x.withSign(false)
	}
}

// nearBreak makes x one of the places where a table or a way of computing begins, or a neighbour.
func nearBreak(exp int) func(r *rand.Rand) (y, x F80) {
	return func(r *rand.Rand) (y, x F80) {
		y, x = randomF80(r, -3, 3), randomF80(r, exp, 0)
		x.Mant = x.Mant>>58<<58 | integer
		x.Mant += uint64(r.IntN(9)) - 4
		if x.Mant < integer {
			x.Mant |= integer
		}
		return y, x
	}
}

// nearHalfPi makes x one of the numbers next to a multiple of pi/4, as the processor has it.
func nearHalfPi(r *rand.Rand) (y, x F80) {
	n := r.Uint64()>>(20+r.IntN(44)) | 1
	w := makeWide(false, 127-66, halfPi).mul(makeWide(false, 127, u128{lo: n})) // times n and 1/2
	return y, F80{w.m.hi + uint64(r.IntN(9)) - 4 | integer, uint16(w.exp + expBias)}
}

// kinds are operands, and the share of them for which a routine may have no result.
var kinds = []struct {
	routines []Routine
	operands func(r *rand.Rand) (y, x F80)
	without  float64
}{
	{[]Routine{RoutineSin, RoutineCos}, ofExps(0, 0, -30, 2), 0.01},
	{[]Routine{RoutineSincos, RoutineTan}, ofExps(0, 0, -30, 2), 0.04},
	{[]Routine{RoutineSin, RoutineCos, RoutineSincos, RoutineTan}, ofExps(0, 0, 2, 49), 0.04},
	{[]Routine{RoutineSin, RoutineCos, RoutineSincos, RoutineTan}, nearHalfPi, 1},
	{[]Routine{Routine2xm1}, ofExps(0, 0, -2, -1), 0.04},
	{[]Routine{Routine2xm1}, ofExps(0, 0, -30, -3), 0.15},
	{[]Routine{RoutinePatan}, ofExps(-2, 2, -2, 2), 0.03},
	{[]Routine{RoutinePatan}, ofExps(-12, 12, -12, 12), 0.15},
	{[]Routine{RoutineYl2x}, positive(ofExps(-100, 100, -3, 3)), 0.08},
	{[]Routine{RoutineYl2x}, positive(ofExps(-3, 3, -16000, 16000)), 0.03},
	{[]Routine{RoutineYl2xp1}, ofExps(-3, 3, -30, -1), 0.08},
	{[]Routine{RoutineYl2xp1}, positive(ofExps(-3, 3, -1, 0)), 0.08},
	{[]Routine{Routine2xm1, RoutineYl2x, RoutineYl2xp1, RoutinePatan, RoutineSin, RoutineCos}, nearBreak(-8), 1},
	{[]Routine{0, 1, 2, 3, 4, 5, 6, 7}, ofExps(-16383, 16384, -16383, 16384), 1},
	{[]Routine{0, 1, 2, 3, 4, 5, 6, 7}, ofExps(-70, 70, -70, 70), 1},
}

// TestRoutines compares what routines return with what all bits do, and sees to it that they return something for nearly
// all operands.
func TestRoutines(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	for i, kind := range kinds {
		for _, f := range kind.routines {
			without, n := 0, many(*operands)
			for range n {
				if y, x := kind.operands(r); !checkRoutine(t, f, y, x, 0x37f) {
					without++
				}
			}
			share := float64(without) / float64(n)
			t.Logf("%s, kind %d: %.2f %% without a result", wholes[f].name, i, 100*share)
			assert.LessOrEqual(t, share, kind.without, "%s, kind %d", wholes[f].name, i)
		}
	}
	// A routine is for one control word.
	x := F80{integer, expBias - 2}
	for cw := range 1 << 16 {
		assert.Equal(t, cw&0xf3f == 0x33f, checkRoutine(t, RoutineSin, x, F80{0xb504f333f9de6484, expBias - 2}, uint16(cw)))
	}
}

// FuzzRoutines compares them, too.
func FuzzRoutines(f *testing.F) {
	for i, x := range edgeOperands() {
		y := edgeOperands()[i*7%len(edgeOperands())]
		f.Add(y.Mant, y.SE, x.Mant, x.SE)
	}
	f.Fuzz(func(t *testing.T, ym uint64, ys uint16, xm uint64, xs uint16) {
		for f := range Routines {
			checkRoutine(t, f, F80{ym, ys}, F80{xm, xs}, 0x37f)
		}
	})
}

func BenchmarkRoutines(b *testing.B) {
	y, x := F80{0xb504f333f9de6484, expBias + 3}, F80{0xc123456789abcdef, expBias - 2}
	for f, whole := range wholes {
		b.Run(fmt.Sprintf("op=%s/bits=all", whole.name), func(b *testing.B) {
			for b.Loop() {
				whole.f(y, x, 0x37f)
			}
		})
		b.Run(fmt.Sprintf("op=%s/bits=few", whole.name), func(b *testing.B) {
			for b.Loop() {
				if _, ok := fromRoutine(Routine(f), y, x, 0x37f); !ok {
					b.Fatal("no result")
				}
			}
		})
	}
}

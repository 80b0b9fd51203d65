package soft

import "math/rand/v2"

// ops has the instructions under test; those of one operand ignore y.
var ops = map[string]func(y, x F80, cw uint16) Result{
	"fsin":    func(_, x F80, cw uint16) Result { return Fsin(x, cw) },
	"fcos":    func(_, x F80, cw uint16) Result { return Fcos(x, cw) },
	"fsincos": func(_, x F80, cw uint16) Result { return Fsincos(x, cw) },
	"fptan":   func(_, x F80, cw uint16) Result { return Fptan(x, cw) },
	"f2xm1":   func(_, x F80, cw uint16) Result { return F2xm1(x, cw) },
	"fpatan":  Fpatan,
	"fyl2x":   Fyl2x,
	"fyl2xp1": Fyl2xp1,
}

// opNames is in the order of reports.
var opNames = []string{"fsin", "fcos", "fsincos", "fptan", "fpatan", "f2xm1", "fyl2x", "fyl2xp1"}

// edgeOperands returns operands of every class, on both sides of limits.
func edgeOperands() []F80 {
	var xs []F80
	for _, x := range []F80{
		{0, 0}, // zero
		{1, 0},
		{1 << 62, 0},
		{integer - 1, 0}, // denormals
		{integer, 0},
		{^uint64(0), 0}, // pseudo-denormals
		{integer, 1},
		{integer | 12345, 2}, // smallest normals
		{integer, 60},
		{^uint64(0), 64}, //
		{integer, expBias - 69},
		{integer, expBias - 68},         // no approximation below
		{integer | 1<<40, expBias - 40}, //
		{integer, expBias - 3},
		{integer, expBias - 2},            //
		{0x95f619980c4336f6, expBias - 2}, // sqrt(2)-1, 1-sqrt(1/2)
		{integer, expBias - 1},            // 1/2
		{0xc90fdaa22168c234, expBias - 1}, // pi/4
		{0xc90fdaa22168c235, expBias - 1}, //
		{^uint64(0), expBias - 1},
		{integer, expBias}, // 1
		{integer + 1, expBias},
		{0xb504f333f9de6484, expBias},     // sqrt(2)
		{0xc90fdaa22168c235, expBias},     // pi/2
		{integer, expBias + 1},            // 2
		{0xc90fdaa22168c235, expBias + 1}, // pi
		{0xa000000000000000, expBias + 3}, // 10
		{^uint64(0), expBias + 62},
		{integer, expBias + 63}, // limit of FSIN
		{integer, maxExp - 1},
		{^uint64(0), maxExp - 1}, // largest
		{integer, maxExp},        // infinity
		{integer | 1, maxExp},
		{integer | 7<<59, maxExp}, // NaNs
		{integer | quiet80, maxExp},
		{^uint64(0), maxExp},
		{1, 1},
		{quiet80, expBias},
		{0, maxExp},
		{quiet80, maxExp}, // unsupported
	} {
		xs = append(xs, x, x.withSign(true))
	}
	return xs
}

// randomF80 returns a normal number of either sign with an exponent from lo to hi.
func randomF80(r *rand.Rand, lo, hi int) F80 {
	exp := lo + r.IntN(hi-lo+1) + expBias
	return F80{r.Uint64() | integer, uint16(exp)}.withSign(r.IntN(2) == 1)
}

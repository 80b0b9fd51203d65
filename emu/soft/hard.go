package soft

import "math"

// hard.go computes with the host's floating-point unit where that is sure to be right: IEEE 754 leaves no choice where
// results are rounded to nearest, and operands and result are normal, or zeros. All else goes to the functions of
// Format. Go rounds to nearest on all its platforms; each conversion that seems superfluous keeps it from fusing a
// product with a sum (Go specification, "Floating-point operators").
//
// Elements are bits, those of single precision in the lower half of a word. PE is not returned if mode has it already,
// and masks it: nothing depends on it then, and it takes the most time to find out.

// nearest reports whether mode rounds as the host does.
func (m Mode) nearest() bool { return m.rounding() == 0 }

// knowsPE reports whether another inexact result changes nothing.
func (m Mode) knowsPE() bool {
	const known = Mode(PE) | Mode(PE)<<modeMasks
	return m&known == known
}

// normal64 reports whether x is a normal number.
func normal64(x uint64) bool { return (x>>52+1)&0x7fe != 0 }

// normal32 is normal64 in single precision.
func normal32(x uint32) bool { return (x>>23+1)&0xfe != 0 }

// usable64 reports whether x is a normal number or a zero.
func usable64(x uint64) bool { return normal64(x) || x<<1 == 0 }

// usable32 is usable64 in single precision.
func usable32(x uint32) bool { return normal32(x) || x<<1 == 0 }

// safe64 reports whether x is a normal number but not the smallest one, to which a tiny result may have been rounded.
func safe64(x uint64) bool { return normal64(x) && x>>52&0x7ff != 1 }

// safe32 is safe64 in single precision.
func safe32(x uint32) bool { return normal32(x) && x>>23&0xff != 1 }

// large64 reports whether what a product or a quotient of x is rounded by is a number of double precision, too.
func large64(x uint64) bool { return x>>52&0x7ff > 110 }

// inexact returns PE if a result is not exact.
func inexact(is bool) uint16 {
	if is {
		return PE
	}
	return 0
}

// Add64 returns x + y.
func Add64(x, y uint64, mode Mode) (uint64, uint16) {
	if mode.nearest() && usable64(x) && usable64(y) {
		if r, status, ok := add64(x, y, mode); ok {
			return r, status
		}
	}
	return Float64.Add(x, y, mode)
}

// Sub64 returns x - y.
func Sub64(x, y uint64, mode Mode) (uint64, uint16) {
	if mode.nearest() && usable64(x) && usable64(y) {
		if r, status, ok := add64(x, y^1<<63, mode); ok {
			return r, status
		}
	}
	return Float64.Sub(x, y, mode)
}

// add64 adds what is usable.
func add64(x, y uint64, mode Mode) (r uint64, status uint16, ok bool) {
	a, b := math.Float64frombits(x), math.Float64frombits(y)
	sum := a + b
	r = math.Float64bits(sum)
	if !usable64(r) {
		return 0, 0, false
	}
	if mode.knowsPE() {
		return r, 0, true
	}
	return r, inexact(sumError(a, b, sum) != 0), true
}

// sumError returns a + b - sum (D. E. Knuth, The Art of Computer Programming, Vol. 2, 4.2.2, Theorem B).
func sumError(a, b, sum float64) float64 {
	bRounded := sum - a
	aRounded := sum - bRounded
	return (a - aRounded) + (b - bRounded)
}

// Mul64 returns x * y.
func Mul64(x, y uint64, mode Mode) (uint64, uint16) {
	if mode.nearest() && usable64(x) && usable64(y) {
		a, b := math.Float64frombits(x), math.Float64frombits(y)
		product := a * b
		switch r := math.Float64bits(product); {
		case a == 0 || b == 0, safe64(r) && mode.knowsPE():
			return r, 0
		case normal64(r) && large64(r):
			return r, inexact(math.FMA(a, b, -product) != 0)
		}
	}
	return Float64.Mul(x, y, mode)
}

// Div64 returns x / y.
func Div64(x, y uint64, mode Mode) (uint64, uint16) {
	if mode.nearest() && usable64(x) && normal64(y) {
		a, b := math.Float64frombits(x), math.Float64frombits(y)
		quotient := a / b
		switch r := math.Float64bits(quotient); {
		case a == 0, safe64(r) && mode.knowsPE():
			return r, 0
		case safe64(r) && large64(x):
			return r, inexact(math.FMA(quotient, b, -a) != 0)
		}
	}
	return Float64.Div(x, y, mode)
}

// Sqrt64 returns the square root of x.
func Sqrt64(x uint64, mode Mode) (uint64, uint16) {
	if a := math.Float64frombits(x); mode.nearest() && normal64(x) && a > 0 {
		root := math.Sqrt(a)
		switch {
		case mode.knowsPE():
			return math.Float64bits(root), 0
		case large64(x):
			return math.Float64bits(root), inexact(math.FMA(root, root, -a) != 0)
		}
	}
	return Float64.Sqrt(x, mode)
}

// FMA64 returns x * y + z, rounded once.
func FMA64(x, y, z uint64, mode Mode) (uint64, uint16) {
	if mode.nearest() && mode.knowsPE() && usable64(x) && usable64(y) && usable64(z) {
		sum := math.FMA(math.Float64frombits(x), math.Float64frombits(y), math.Float64frombits(z))
		if r := math.Float64bits(sum); safe64(r) {
			return r, 0
		}
	}
	return Float64.FMA(x, y, z, mode)
}

// Add32 returns x + y.
func Add32(x, y uint64, mode Mode) (uint64, uint16) {
	if mode.nearest() && usable32(uint32(x)) && usable32(uint32(y)) {
		if r, status, ok := add32(uint32(x), uint32(y), mode); ok {
			return r, status
		}
	}
	return Float32.Add(x, y, mode)
}

// Sub32 returns x - y.
func Sub32(x, y uint64, mode Mode) (uint64, uint16) {
	if mode.nearest() && usable32(uint32(x)) && usable32(uint32(y)) {
		if r, status, ok := add32(uint32(x), uint32(y)^1<<31, mode); ok {
			return r, status
		}
	}
	return Float32.Sub(x, y, mode)
}

// add32 adds what is usable.
func add32(x, y uint32, mode Mode) (r uint64, status uint16, ok bool) {
	a, b := math.Float32frombits(x), math.Float32frombits(y)
	sum := a + b
	s := math.Float32bits(sum)
	if !usable32(s) {
		return 0, 0, false
	}
	if mode.knowsPE() {
		return uint64(s), 0, true
	}
	bRounded := sum - a
	aRounded := sum - bRounded
	return uint64(s), inexact((a-aRounded)+(b-bRounded) != 0), true
}

// Mul32 returns x * y.
func Mul32(x, y uint64, mode Mode) (uint64, uint16) {
	if mode.nearest() && usable32(uint32(x)) && usable32(uint32(y)) {
		product := single(x) * single(y) // exactly
		rounded := float32(product)
		if r := math.Float32bits(rounded); product == 0 || safe32(r) {
			return uint64(r), inexact(float64(rounded) != product)
		}
	}
	return Float32.Mul(x, y, mode)
}

// single returns a number of single precision in double precision.
func single(x uint64) float64 { return float64(math.Float32frombits(uint32(x))) }

// Div32 returns x / y.
func Div32(x, y uint64, mode Mode) (uint64, uint16) {
	if mode.nearest() && usable32(uint32(x)) && normal32(uint32(y)) {
		quotient := math.Float32frombits(uint32(x)) / math.Float32frombits(uint32(y))
		if r := math.Float32bits(quotient); x<<33 == 0 || safe32(r) {
			return uint64(r), inexact(float64(float64(quotient)*single(y)) != single(x))
		}
	}
	return Float32.Div(x, y, mode)
}

// Sqrt32 returns the square root of x.
func Sqrt32(x uint64, mode Mode) (uint64, uint16) {
	if a := single(x); mode.nearest() && normal32(uint32(x)) && a > 0 {
		// Double precision has more than twice the bits, so that rounding twice is as rounding once.
		root := float32(math.Sqrt(a))
		return uint64(math.Float32bits(root)), inexact(float64(float64(root)*float64(root)) != a)
	}
	return Float32.Sqrt(x, mode)
}

// FMA32 returns x * y + z, rounded once.
func FMA32(x, y, z uint64, mode Mode) (uint64, uint16) {
	if mode.nearest() && usable32(uint32(x)) && usable32(uint32(y)) && usable32(uint32(z)) {
		product := float64(single(x) * single(y)) // exactly
		sum := product + single(z)
		rest := sumError(product, single(z), sum)
		rounded := float32(toOdd(sum, rest))
		if r := math.Float32bits(rounded); safe32(r) {
			return uint64(r), inexact(rest != 0 || float64(rounded) != sum)
		}
	}
	return Float32.FMA(x, y, z, mode)
}

// toOdd returns sum + rest, rounded to double precision so that another rounding gives what one of sum + rest would: of
// the two numbers next to it, the one whose last bit is set (S. Boldo and G. Melquiond, "Emulation of a FMA and
// correctly rounded sums").
func toOdd(sum, rest float64) float64 {
	s := math.Float64bits(sum)
	if rest == 0 || s&1 != 0 {
		return sum
	}
	if (rest > 0) == (sum > 0) {
		return math.Float64frombits(s + 1)
	}
	return math.Float64frombits(s - 1)
}

// SingleToDouble returns x, of single precision, in double precision.
func SingleToDouble(x uint64, mode Mode) (uint64, uint16) {
	if usable32(uint32(x)) {
		return math.Float64bits(single(x)), 0
	}
	return Float32.Convert(x, Float64, mode)
}

// DoubleToSingle returns x, of double precision, in single precision.
func DoubleToSingle(x uint64, mode Mode) (uint64, uint16) {
	if mode.nearest() && usable64(x) {
		a := math.Float64frombits(x)
		rounded := float32(a)
		if r := math.Float32bits(rounded); a == 0 || safe32(r) {
			return uint64(r), inexact(float64(rounded) != a)
		}
	}
	return Float64.Convert(x, Float32, mode)
}

// Compare64 is Float64.Compare.
func Compare64(x, y uint64, signaling bool, mode Mode) (Relation, uint16) {
	if usable64(x) && usable64(y) {
		return relation(math.Float64frombits(x), math.Float64frombits(y)), 0
	}
	return Float64.Compare(x, y, signaling, mode)
}

// Compare32 is Float32.Compare.
func Compare32(x, y uint64, signaling bool, mode Mode) (Relation, uint16) {
	if usable32(uint32(x)) && usable32(uint32(y)) {
		return relation(single(x), single(y)), 0
	}
	return Float32.Compare(x, y, signaling, mode)
}

// relation compares what is no NaN.
func relation(a, b float64) Relation {
	switch {
	case a < b:
		return Less
	case a > b:
		return Greater
	}
	return Equal
}

// DoubleToInt is Float64.ToInt.
func DoubleToInt(x uint64, width uint, mode Mode) (int64, uint16) {
	if usable64(x) {
		if i, status, ok := nearInt(math.Float64frombits(x), width, mode); ok {
			return i, status
		}
	}
	return Float64.ToInt(x, width, mode)
}

// SingleToInt is Float32.ToInt.
func SingleToInt(x uint64, width uint, mode Mode) (int64, uint16) {
	if usable32(uint32(x)) {
		if i, status, ok := nearInt(single(x), width, mode); ok {
			return i, status
		}
	}
	return Float32.ToInt(x, width, mode)
}

// nearInt converts what fits with a margin.
func nearInt(a float64, width uint, mode Mode) (i int64, status uint16, ok bool) {
	rounded := toIntegral(a, mode)
	if math.Abs(rounded) >= float64(int64(1)<<(width-2)) {
		return 0, 0, false
	}
	return int64(rounded), inexact(rounded != a), true
}

// IntToDouble is Float64.FromInt.
func IntToDouble(i int64, mode Mode) (uint64, uint16) {
	const limit = 1 << 53 // integers below it are exact
	if -limit <= i && i <= limit {
		return math.Float64bits(float64(i)), 0
	}
	return Float64.FromInt(i, mode)
}

// IntToSingle is Float32.FromInt.
func IntToSingle(i int64, mode Mode) (uint64, uint16) {
	const limit = 1 << 53
	if mode.nearest() && -limit <= i && i <= limit {
		exact := float64(i)
		rounded := float32(exact)
		return uint64(math.Float32bits(rounded)), inexact(float64(rounded) != exact)
	}
	return Float32.FromInt(i, mode)
}

// Round64 is Float64.Round.
func Round64(x uint64, mode Mode) (uint64, uint16) {
	if !usable64(x) {
		return Float64.Round(x, mode)
	}
	a := math.Float64frombits(x)
	rounded := toIntegral(a, mode)
	return math.Float64bits(rounded), inexact(rounded != a)
}

// Round32 is Float32.Round.
func Round32(x uint64, mode Mode) (uint64, uint16) {
	if !usable32(uint32(x)) {
		return Float32.Round(x, mode)
	}
	a := single(x)
	rounded := toIntegral(a, mode)
	return uint64(math.Float32bits(float32(rounded))), inexact(rounded != a)
}

// toIntegral rounds to an integer, and keeps the sign of zeros.
func toIntegral(a float64, mode Mode) float64 {
	switch mode.rounding() {
	case roundDown:
		return math.Floor(a)
	case roundUp:
		return math.Ceil(a)
	case roundZero:
		return math.Trunc(a)
	}
	return math.RoundToEven(a)
}

// Min64 is Float64.Min.
func Min64(x, y uint64, mode Mode) (uint64, uint16) {
	if !usable64(x) || !usable64(y) {
		return Float64.Min(x, y, mode)
	}
	if math.Float64frombits(x) < math.Float64frombits(y) {
		return x, 0
	}
	return y, 0
}

// Max64 is Float64.Max.
func Max64(x, y uint64, mode Mode) (uint64, uint16) {
	if !usable64(x) || !usable64(y) {
		return Float64.Max(x, y, mode)
	}
	if math.Float64frombits(x) > math.Float64frombits(y) {
		return x, 0
	}
	return y, 0
}

// Min32 is Float32.Min.
func Min32(x, y uint64, mode Mode) (uint64, uint16) {
	if !usable32(uint32(x)) || !usable32(uint32(y)) {
		return Float32.Min(x, y, mode)
	}
	if single(x) < single(y) {
		return x, 0
	}
	return y, 0
}

// Max32 is Float32.Max.
func Max32(x, y uint64, mode Mode) (uint64, uint16) {
	if !usable32(uint32(x)) || !usable32(uint32(y)) {
		return Float32.Max(x, y, mode)
	}
	if single(x) > single(y) {
		return x, 0
	}
	return y, 0
}

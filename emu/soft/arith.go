package soft

import (
	"math"
	"math/bits"
)

// arith.go has the basic operations on what is no NaN, exactly: SDM Vol. 1, "Invalid Operation Exception (#I)" and
// "Divide-By-Zero Exception (#Z)" have what is special. The sign of a zero is that of IEEE 754, 6.3.

// invalidOperation is the default NaN.
func invalidOperation() (exact, uint16) { return exact{class: nan, wide: wide{neg: true}}, IE }

// sum returns a + b.
func sum(a, b exact, mode Mode) (exact, uint16) {
	switch {
	case a.class == infinite && b.class == infinite && a.neg != b.neg:
		return invalidOperation()
	case a.class == infinite:
		return a, 0
	case b.class == infinite:
		return b, 0
	}
	w := a.add(b.wide)
	if !w.m.isZero() {
		return exact{normal, w}, 0
	}
	if a.neg != b.neg {
		w.neg = mode.rounding() == roundDown
	}
	return exact{zero, w}, 0
}

// product returns a * b.
func product(a, b Number) (exact, uint16) {
	neg := a.neg != b.neg
	switch {
	case a.class == infinite && b.class == zero, a.class == zero && b.class == infinite:
		return invalidOperation()
	case a.class == infinite || b.class == infinite:
		return exact{infinite, wide{neg: neg}}, 0
	case a.class == zero || b.class == zero:
		return exact{zero, wide{neg: neg}}, 0
	}
	hi, lo := bits.Mul64(a.m, b.m)
	return exact{normal, makeWide(neg, a.exp+b.exp+1, u128{hi, lo})}, 0
}

// quotient returns a / b.
func quotient(a, b Number) (exact, uint16) {
	neg := a.neg != b.neg
	switch {
	case a.class == b.class && (a.class == zero || a.class == infinite):
		return invalidOperation()
	case a.class == infinite:
		return exact{infinite, wide{neg: neg}}, 0
	case b.class == zero:
		return exact{infinite, wide{neg: neg}}, ZE
	case a.class == zero || b.class == infinite:
		return exact{zero, wide{neg: neg}}, 0
	}
	// The significands' quotient, in [1/2, 1) if it is below 1, else in [1/2, 1) of half of it.
	exp, m := a.exp-b.exp-1, u128{hi: a.m}
	if a.m >= b.m {
		exp, m = exp+1, m.shr(1)
	}
	hi, rest := bits.Div64(m.hi, m.lo, b.m)
	lo, rest := bits.Div64(rest, 0, b.m)
	if rest != 0 {
		lo |= 1
	}
	return exact{normal, wide{neg, exp, u128{hi, lo}}}, 0
}

// squareRoot returns the square root of a.
func squareRoot(a Number) (exact, uint16) {
	switch {
	case a.class == zero || a.class == infinite && !a.neg:
		return exact{a.class, wide{neg: a.neg}}, 0
	case a.neg:
		return invalidOperation()
	}
	// n is the significand times 2^126 or 2^127, whichever leaves an even exponent. Its root has 64 bits.
	n := u128{hi: a.m}.shr(uint(1 - a.exp&1))
	root := n.squareRoot()
	rest := n.sub(square(root))
	var lo uint64
	switch {
	case rest.hi != 0 || rest.lo > root: // beyond root + 1/2; nothing is at it
		lo = 1<<63 | 1
	case rest.lo != 0:
		lo = 1
	}
	return exact{normal, wide{exp: a.exp >> 1, m: u128{root, lo}}}, 0
}

// squareRoot returns the root of a, which has one of its two highest bits set, without its fraction.
func (a u128) squareRoot() uint64 {
	// A root in double precision has 53 right bits; one step of Newton's method makes more of them than there are.
	if a.hi == math.MaxUint64 {
		return math.MaxUint64
	}
	guess := uint64(math.MaxUint64)
	if r := math.Sqrt(float64(a.hi)) * (1 << 32); r < 1<<64 {
		guess = uint64(r)
	}
	guess = max(guess, a.hi+1) // a quotient has to fit
	q, _ := bits.Div64(a.hi, a.lo, guess)
	mean, carry := bits.Add64(guess, q, 0)
	root := mean>>1 | carry<<63
	for a.less(square(root)) {
		root--
	}
	for root != math.MaxUint64 && !a.less(square(root+1)) {
		root++
	}
	return root
}

// square returns x * x.
func square(x uint64) u128 {
	hi, lo := bits.Mul64(x, x)
	return u128{hi, lo}
}

// fusedSum returns a * b + c. It is exact for significands of up to 53 bits.
func fusedSum(a, b, c Number, mode Mode) (exact, uint16) {
	p, status := product(a, b)
	if status != 0 {
		return p, status
	}
	return sum(p, c.exact(), mode)
}

// fixedPoint returns |n|, which is below 2^64, as an integer and its fraction.
func (n Number) fixedPoint() u128 {
	return u128{hi: n.m}.shrSticky(uint(63 - n.exp))
}

// integral returns n, which is no NaN, rounded to an integer. The status has PE and C1.
func integral(n Number, mode Mode) (exact, uint16) {
	if n.class == zero || n.class == infinite || n.exp >= 63 {
		return n.exact(), 0
	}
	t := n.fixedPoint()
	mant, up := roundSignificand(t, n.neg, mode)
	e := exact{normal, makeWide(n.neg, 63, u128{hi: mant})}
	if mant == 0 {
		e.class, e.neg = zero, n.neg
	}
	return e, roundingStatus(t.lo != 0, up)
}

// roundingStatus returns PE and C1 as a result was inexact and larger.
func roundingStatus(inexact, up bool) (status uint16) {
	if inexact {
		status |= PE
	}
	if up {
		status |= C1
	}
	return status
}

// ToInt returns n as a signed integer of width bits. What does not fit is invalid and gives the integer indefinite,
// which is the least one (SDM Vol. 1, "Integer Indefinite"). The status has IE, PE and C1.
func ToInt(n Number, width uint, mode Mode) (int64, uint16) {
	indefinite := int64(-1) << (width - 1)
	switch {
	case n.class == zero:
		return 0, 0
	case n.class >= infinite || n.exp > 63:
		return indefinite, IE
	}
	t := n.fixedPoint()
	mant, up := roundSignificand(t, n.neg, mode)
	limit := uint64(1) << (width - 1)
	if !n.neg {
		limit--
	}
	if mant > limit {
		return indefinite, IE
	}
	if n.neg {
		mant = -mant
	}
	return int64(mant), roundingStatus(t.lo != 0, up)
}

package soft

import "math/bits"

// A u128 is an unsigned integer, or a number with a fixed point whose place the
// context tells. Most often 127 bits follow the point: such a number is below 2.
type u128 struct{ hi, lo uint64 }

// one is 1 with 127 bits after the point.
var one = u128{hi: 1 << 63}

func (a u128) isZero() bool { return a.hi|a.lo == 0 }

func (a u128) less(b u128) bool { return a.hi < b.hi || a.hi == b.hi && a.lo < b.lo }

func (a u128) add(b u128) u128 {
	lo, carry := bits.Add64(a.lo, b.lo, 0)
	hi, _ := bits.Add64(a.hi, b.hi, carry)
	return u128{hi, lo}
}

func (a u128) sub(b u128) u128 {
	lo, borrow := bits.Sub64(a.lo, b.lo, 0)
	hi, _ := bits.Sub64(a.hi, b.hi, borrow)
	return u128{hi, lo}
}

// shl returns a * 2^n modulo 2^128.
func (a u128) shl(n uint) u128 {
	return u128{a.hi<<n | a.lo>>(64-n) | a.lo<<(n-64), a.lo << n}
}

// shr returns a / 2^n, truncated.
func (a u128) shr(n uint) u128 {
	return u128{a.hi >> n, a.lo>>n | a.hi<<(64-n) | a.hi>>(n-64)}
}

// shrSticky returns a / 2^n with its last bit set if anything was lost.
func (a u128) shrSticky(n uint) u128 {
	if n < 64 {
		r := u128{a.hi >> n, a.lo>>n | a.hi<<(64-n)}
		if a.lo<<(64-n) != 0 {
			r.lo |= 1
		}
		return r
	}
	r := a.shr(n)
	if r.shl(n) != a {
		r.lo |= 1
	}
	return r
}

func (a u128) leadingZeros() uint {
	if a.hi != 0 {
		return uint(bits.LeadingZeros64(a.hi))
	}
	return 64 + uint(bits.LeadingZeros64(a.lo))
}

// mul128 returns the upper half of a * b, exactly.
func (a u128) mul128(b u128) u128 {
	hi, mid := bits.Mul64(a.hi, b.hi)
	h1, l1 := bits.Mul64(a.hi, b.lo)
	h2, l2 := bits.Mul64(a.lo, b.hi)
	h3, _ := bits.Mul64(a.lo, b.lo)
	low, c1 := bits.Add64(l1, l2, 0)
	_, c2 := bits.Add64(low, h3, 0)
	mid, c3 := bits.Add64(mid, h1, c1)
	mid, c4 := bits.Add64(mid, h2, c2)
	return u128{hi + c3 + c4, mid}
}

// mul returns a * b for numbers with 127 bits after the point. The product must
// be below 2; it is truncated, and its last bit is lost.
func (a u128) mul(b u128) u128 { return a.mul128(b).shl(1) }

// timesSmall returns a * n modulo 2^128.
func (a u128) timesSmall(n uint64) u128 {
	hi, lo := bits.Mul64(a.lo, n)
	return u128{a.hi*n + hi, lo}
}

// divSmall returns a / d, truncated.
func (a u128) divSmall(d uint64) u128 {
	hi, rem := a.hi/d, a.hi%d
	lo, _ := bits.Div64(rem, a.lo, d)
	return u128{hi, lo}
}

// quotient returns a / b with 127 bits after the point, truncated. b has its
// top bit set and a < 2b.
func (a u128) quotient(b u128) u128 {
	var q u128
	if !a.less(b) {
		a = a.sub(b)
		q.hi = 1 << 63
	}
	// a * 2^127 has four digits of 64 bits.
	first, rem := a.shr(1).digit(a.lo<<63, b)
	second, _ := rem.digit(0, b)
	q.hi |= first
	q.lo = second
	return q
}

// digit returns quotient and remainder of a * 2^64 + next by b, which has its top bit set and is more than a.
func (a u128) digit(next uint64, b u128) (q uint64, rem u128) {
	// The first guess is at most 2 too large (Knuth, The Art of Computer Programming, 4.3.1, theorem B).
	q = ^uint64(0)
	if a.hi < b.hi {
		q, _ = bits.Div64(a.hi, a.lo, b.hi)
	}
	mid, low := bits.Mul64(q, b.lo)
	top, c := bits.Mul64(q, b.hi)
	mid, carry := bits.Add64(mid, c, 0)
	top += carry
	low, borrow := bits.Sub64(next, low, 0)
	mid, borrow = bits.Sub64(a.lo, mid, borrow)
	top, _ = bits.Sub64(a.hi, top, borrow)
	for top != 0 { // negative
		q--
		low, carry = bits.Add64(low, b.lo, 0)
		mid, carry = bits.Add64(mid, b.hi, carry)
		top += carry
	}
	return q, u128{mid, low}
}

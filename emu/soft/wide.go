package soft

import (
	"math/bits"
	"sync"
)

// A wide is a real number in the precision of intermediate results: its value
// is m * 2^exp, negated if neg, where m has 127 bits after the point. A wide is
// normal: m is in [1, 2), or zero for zero.
type wide struct {
	neg bool
	exp int
	m   u128
}

// makeWide returns m * 2^exp, negated if neg, where 127 bits of m follow the point.
func makeWide(neg bool, exp int, m u128) wide {
	if m.hi == 0 {
		if m.lo == 0 {
			return wide{neg: neg}
		}
		m, exp = u128{hi: m.lo}, exp-64
	}
	z := uint(bits.LeadingZeros64(m.hi)) & 63
	return wide{neg, exp - int(z), u128{m.hi<<z | m.lo>>1>>(63-z), m.lo << z}}
}

// mul returns a * b, truncated.
func (a wide) mul(b wide) wide {
	// The product of significands is in [1, 4) and has 126 bits after the point.
	return makeWide(a.neg != b.neg, a.exp+b.exp+1, a.m.mul128(b.m))
}

// div returns a / b, truncated. b is not zero.
func (a wide) div(b wide) wide {
	return makeWide(a.neg != b.neg, a.exp-b.exp, a.m.quotient(b.m))
}

// internalBits is the precision of the reference's internal registers.
const internalBits = 67

// internal returns a truncated to the precision of internal registers.
func (a wide) internal() wide {
	a.m.lo &^= 1<<(128-internalBits) - 1
	return a
}

// nearest returns a rounded to the precision of internal registers.
func (a wide) nearest() wide { return a.plusUlp(128 - internalBits - 1).internal() }

// nearest64 returns a rounded to 64 bits.
func (a wide) nearest64() wide {
	a = a.plusUlp(63)
	a.m.lo = 0
	return a
}

// plusUlp adds bit n of the significand; on a carry the result is rounded down
// to the power of two.
func (a wide) plusUlp(n uint) wide {
	m := a.m.add(u128{lo: 1 << n})
	if m.less(a.m) {
		return wide{a.neg, a.exp + 1, one}
	}
	a.m = m
	return a
}

// add returns a + b, truncated.
func (a wide) add(b wide) wide {
	switch {
	case b.m.isZero():
		return a
	case a.m.isZero():
		return b
	}
	if a.exp < b.exp || a.exp == b.exp && a.m.less(b.m) {
		a, b = b, a
	}
	// Leave room for a carry. What is lost of b counts as a bit, so that a
	// difference remains below a.
	shift := uint(a.exp - b.exp + 1)
	am, bm := a.m.shr(1), b.m.shrSticky(shift)
	if a.neg == b.neg {
		return makeWide(a.neg, a.exp+1, am.add(bm))
	}
	return makeWide(a.neg, a.exp+1, am.sub(bm))
}

func (a wide) negated() wide {
	a.neg = !a.neg
	return a
}

// fixed returns |a|, truncated, with n bits after the point. It must fit.
func (a wide) fixed(n int) u128 {
	shift := 127 - n - a.exp
	if shift < 0 {
		panic("BUG: number too large for a fixed point")
	}
	return a.m.shr(uint(shift))
}

// The tables, made when they are used first, hold numbers with 127 bits after the point, truncated.
var (
	inverse          = sync.OnceValue(makeInverses)   // 1/n
	inverseFactorial = sync.OnceValue(makeFactorials) // 1/n!
)

// tableSize is one more than the largest n of the tables.
const tableSize = 60

func makeInverses() *[tableSize]u128 {
	var t [tableSize]u128
	for n := uint64(1); n < tableSize; n++ {
		t[n] = one.divSmall(n)
	}
	return &t
}

func makeFactorials() *[tableSize]u128 {
	var t [tableSize]u128
	t[0] = one
	for n := uint64(1); n < tableSize; n++ {
		t[n] = t[n-1].divSmall(n)
	}
	return &t
}

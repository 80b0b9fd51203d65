package soft

import "math/bits"

// x87_quick.go has the arithmetic of x87 for what nearly all of it is: normal numbers, rounding to nearest with 64
// bits, as Linux starts programs, and a result that is far from denormal and infinite ones. It takes half the time,
// with the same results.

// usual reports whether a, b and the control word are.
func usual(a, b Number, cw uint16) bool {
	return a.class == normal && b.class == normal && cw&(3<<10|3<<8) == 3<<8
}

// nearest64 rounds (hi + lo / 2^64) * 2^(exp-63), whose first bit is set and whose last one stands for all that follow.
// It reports false if the result may be out of range.
func nearest64(neg bool, exp int, hi, lo uint64) (Result, bool) {
	exp += expBias
	if exp <= 0 || exp >= maxExp-1 {
		return Result{}, false
	}
	var status uint16
	if lo != 0 {
		status = PE
	}
	if lo > 1<<63 || lo == 1<<63 && hi&1 != 0 {
		status |= C1
		if hi++; hi == 0 {
			hi, exp = integer, exp+1
		}
	}
	se := uint16(exp)
	if neg {
		se |= negative
	}
	return Result{Value: F80{hi, se}, Status: status}, true
}

// quickProduct returns a * b.
func quickProduct(a, b Number) (Result, bool) {
	exp := a.exp + b.exp + 1
	hi, lo := bits.Mul64(a.m, b.m)
	if hi>>63 == 0 {
		hi, lo, exp = hi<<1|lo>>63, lo<<1, exp-1
	}
	return nearest64(a.neg != b.neg, exp, hi, lo)
}

// quickQuotient returns a / b.
func quickQuotient(a, b Number) (Result, bool) {
	exp, hi, lo := a.exp-b.exp-1, a.m, uint64(0)
	if hi >= b.m {
		exp, hi, lo = exp+1, hi>>1, hi<<63
	}
	hi, rest := bits.Div64(hi, lo, b.m)
	lo, rest = bits.Div64(rest, 0, b.m)
	if rest != 0 {
		lo |= 1
	}
	return nearest64(a.neg != b.neg, exp, hi, lo)
}

// quickSum returns a + b; it leaves a sum of zero to others.
func quickSum(a, b Number) (Result, bool) {
	if a.exp < b.exp || a.exp == b.exp && a.m < b.m {
		a, b = b, a
	}
	bhi, blo := shiftedSticky(b.m, uint(a.exp-b.exp))
	exp := a.exp
	if a.neg == b.neg {
		hi, carry := bits.Add64(a.m, bhi, 0)
		if carry != 0 {
			hi, blo, exp = hi>>1|integer, hi<<63|blo>>1|blo&1, exp+1
		}
		return nearest64(a.neg, exp, hi, blo)
	}
	lo, borrow := bits.Sub64(0, blo, 0)
	hi, _ := bits.Sub64(a.m, bhi, borrow)
	if hi == 0 {
		if lo == 0 {
			return Result{}, false
		}
		hi, lo, exp = lo, 0, exp-64
	}
	n := uint(bits.LeadingZeros64(hi))
	return nearest64(a.neg, exp-int(n), hi<<n|lo>>(64-n), lo<<n)
}

// shiftedSticky returns m / 2^n in two words, whose last bit stands for all that are lost.
func shiftedSticky(m uint64, n uint) (hi, lo uint64) {
	switch {
	case n < 64:
		return m >> n, m << (64 - n)
	case n < 128:
		hi, lo = 0, m>>(n-64)
		if m<<(128-n) != 0 {
			lo |= 1
		}
		return hi, lo
	}
	return 0, 1
}

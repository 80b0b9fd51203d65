package soft

import "math/bits"

// hard80.go is for x87 what hard.go is for SSE: sums and products of normal numbers, rounded to the nearest number of 64 bits, whose result
// is normal by far. No host is asked, since none but x86 has such numbers; what is saved is all that special cases cost.

// plain80 reports whether cw rounds to nearest and to 64 bits.
func plain80(cw uint16) bool {
	const rounding, precision, bits64 = 3 << 10, 3 << 8, 3 << 8
	return cw&(rounding|precision) == bits64
}

// nearest80 rounds (hi + lo / 2^64) * 2^(exp-63), whose highest bit is set. It does not if the result might be tiny or too large.
func nearest80(neg bool, exp int, hi, lo uint64) (r Result, ok bool) {
	if exp <= 1-expBias || exp >= expBias {
		return r, false
	}
	if lo != 0 {
		r.Status = PE
	}
	if lo > 1<<63 || lo == 1<<63 && hi&1 != 0 {
		r.Status |= C1
		if hi++; hi == 0 {
			hi, exp = integer, exp+1
		}
	}
	r.Value = F80{hi, uint16(exp + expBias)}.withSign(neg)
	return r, true
}

// product80 returns a * b, which are normal.
func product80(a, b *Number) (Result, bool) {
	hi, lo := bits.Mul64(a.m, b.m)
	exp := a.exp + b.exp + 1
	if hi>>63 == 0 {
		hi, lo, exp = hi<<1|lo>>63, lo<<1, exp-1
	}
	return nearest80(a.neg != b.neg, exp, hi, lo)
}

// sum80 returns a + b, which are normal; b with another sign if negate is set. It does not if one of them is far below the other, or if
// nearly nothing is left.
func sum80(a, b *Number, negate bool) (Result, bool) {
	aNeg, bNeg := a.neg, b.neg != negate
	if a.exp < b.exp || a.exp == b.exp && a.m < b.m {
		a, b, aNeg, bNeg = b, a, bNeg, aNeg
	}
	shift := uint(a.exp - b.exp)
	if shift >= 64 {
		return Result{}, false
	}
	exp, hi, lo := a.exp, b.m>>shift, b.m<<(64-shift) // nothing is lost
	if aNeg == bNeg {
		var carry uint64
		if hi, carry = bits.Add64(a.m, hi, 0); carry != 0 {
			hi, lo, exp = integer|hi>>1, hi<<63|lo>>1|lo&1, exp+1
		}
		return nearest80(aNeg, exp, hi, lo)
	}
	lo, borrow := bits.Sub64(0, lo, 0)
	hi, _ = bits.Sub64(a.m, hi, borrow)
	if hi == 0 {
		return Result{}, false
	}
	zeros := bits.LeadingZeros64(hi)
	return nearest80(aNeg, exp-zeros, hi<<zeros|lo>>(64-zeros), lo<<zeros)
}

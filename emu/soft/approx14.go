package soft

import "math"

// VRCP14PS, VRSQRT14PS and their kin. SDM Vol. 2, the entry of each mnemonic, says 2^-14 of relative error and which operands are special. What the
// results are beyond that CPUs' makers decide; here they are rounded to nearest in 15 significant bits, and exact for powers of two. No
// exceptions are raised.

// Rcp14 returns the approximation of 1/x.
func (f *Format) Rcp14(x uint64, mode Mode) (uint64, uint16) {
	a := f.unpackSSE(x, mode)
	mode = mode.WithRounding(0).Masked()
	switch a.class {
	case nan:
		return f.quieten(a), 0
	case zero:
		return f.approximate(exact{infinite, wide{neg: a.neg}}, mode)
	case infinite:
		return f.approximate(exact{zero, wide{neg: a.neg}}, mode)
	}
	q := 1 << 63 / (a.m >> 32) // 2^32 / significand
	return f.approximate(exact{normal, makeWide(a.neg, 31-a.exp, u128{hi: inFifteenBits(q)})}, mode)
}

// Rsqrt14 returns the approximation of 1/sqrt(x).
func (f *Format) Rsqrt14(x uint64, mode Mode) (uint64, uint16) {
	a := f.unpackSSE(x, mode)
	mode = mode.WithRounding(0).Masked()
	switch {
	case a.class == nan:
		return f.quieten(a), 0
	case a.class == zero:
		return f.approximate(exact{infinite, wide{neg: a.neg}}, mode)
	case a.neg:
		return f.indefinite(), 0
	case a.class == infinite:
		return f.approximate(exact{class: zero}, mode)
	}
	// Division and square root are rounded as IEEE 754 says on every host.
	significand := math.Ldexp(float64(a.m>>32), a.exp&1-31) // in [1, 4)
	q := uint64(math.Ldexp(1/math.Sqrt(significand), 32))
	return f.approximate(exact{normal, makeWide(false, 31-a.exp>>1, u128{hi: inFifteenBits(q)})}, mode)
}

// inFifteenBits rounds q, whose highest bit is 31 or which is 2^32.
func inFifteenBits(q uint64) uint64 {
	if q>>32 != 0 {
		return q
	}
	return (q + 1<<16) &^ (1<<17 - 1)
}

// approximate returns e in the format.
func (f *Format) approximate(e exact, mode Mode) (uint64, uint16) {
	r, _ := f.finish(e, mode)
	return f.pack(r), 0
}

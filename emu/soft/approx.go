package soft

import "math"

// RCPPS, RCPSS, RSQRTPS, RSQRTSS. SDM Vol. 2, the entry of each mnemonic, says
// 1.5 * 2^-12 of relative error and which operands are special; the rest is
// measured. The reference cuts the range of the operand into intervals and
// returns, for the whole interval, the function of its midpoint rounded to
// nearest in 13 significant bits. No midpoint is a tie. MXCSR has no influence,
// nor are exceptions raised.

const (
	signBit  = 1 << 31
	fracBits = 23
	fracMask = 1<<fracBits - 1
	expMask  = 0xff
	quietBit = 1 << 22
	infinity = 0x7f800000
	indef32  = 0xffc00000 // the default NaN

	// The results have resultBits bits after the leading one.
	resultBits  = 12
	resultShift = fracBits - resultBits
)

// Rcp returns the element RCPPS makes of an element, both float32 bits.
func Rcp(x uint32) uint32 {
	sign := x & signBit
	exp := x >> fracBits & expMask
	switch {
	case x&^signBit > infinity:
		return x | quietBit
	case exp == 0: // denormals count as zeros
		return sign | infinity
	case exp >= 253: // infinity, and results that would be denormal
		return sign
	}
	// Interval i of 2048 has the midpoint d/4096 for significands in [1, 2).
	i := x & fracMask >> 12
	d := 4096 + 2*i + 1
	r := (1<<25 + d/2) / d // 2^13 / (d/4096)
	return sign | (253-exp)<<fracBits | r<<resultShift&fracMask
}

// Rsqrt returns the element RSQRTPS makes of an element, both float32 bits.
func Rsqrt(x uint32) uint32 {
	exp := x >> fracBits & expMask
	switch {
	case x&^signBit > infinity:
		return x | quietBit
	case exp == 0: // denormals count as zeros
		return x&signBit | infinity
	case x&signBit != 0:
		return indef32
	case x == infinity:
		return 0
	}
	// Interval i of 1024 has the midpoint d/2048 for significands in [1, 2),
	// doubled for even exponents: 127 stands for 2^0. Division, square root and
	// addition are rounded as IEEE 754 says on every host; there is no product
	// to fuse an addition with.
	i := x & fracMask >> 13
	d := (2048 + 2*i + 1) << (^exp & 1)
	r := uint32(math.Sqrt(1<<37/float64(d)) + 0.5) // 2^13 / sqrt(d/2048)
	return (380-exp)/2<<fracBits | r<<resultShift&fracMask
}

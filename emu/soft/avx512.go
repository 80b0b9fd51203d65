package soft

import "math/bits"

// What AVX-512 computes with elements beyond SSE and AVX. SDM Vol. 2, the entries of VRNDSCALEPD, VREDUCEPD, VGETEXPPD,
// VGETMANTPD, VSCALEFPD, VRANGEPD, VFPCLASSPD and VFIXUPIMMPD.

// FromUint returns an integer without sign in the format.
func (f *Format) FromUint(i uint64, mode Mode) (uint64, uint16) {
	if i == 0 {
		return 0, 0
	}
	shift := bits.LeadingZeros64(i)
	n := Number{class: normal, exp: 63 - shift, m: i << shift}
	return f.result(n.exact(), 0, 0, mode)
}

// ToUint returns x as an integer without sign of width bits. What does not fit is invalid and gives the largest one.
func (f *Format) ToUint(x uint64, width uint, mode Mode) (uint64, uint16) {
	n := f.unpackSSE(x, mode)
	indefinite := ^uint64(0) >> (64 - width)
	switch {
	case n.class == zero:
		return 0, 0
	case n.class >= infinite || n.exp > 63:
		return indefinite, IE
	}
	t := n.fixedPoint()
	mant, up := roundSignificand(t, n.neg, mode)
	carried := up && mant == 0
	if mant > indefinite || carried || n.neg && mant != 0 {
		return indefinite, IE
	}
	return mant, roundingStatus(t.lo != 0, false)
}

// scaled returns n, rounded to a multiple of 2^-scale.
func scaled(n Number, scale int, mode Mode) (exact, uint16) {
	n.exp += scale
	e, status := integral(n, mode)
	if e.class == normal {
		e.exp -= scale
	}
	return e, status &^ C1
}

// withImmediate returns the mode of an immediate's lowest four bits: a rounding control, or that MXCSR's counts.
func (m Mode) withImmediate(imm uint8) Mode {
	if imm&4 != 0 {
		return m
	}
	return m.WithRounding(imm)
}

// quietBy returns status without the inexactness that bit 3 of an immediate suppresses.
func quietBy(imm uint8, status uint16) uint16 {
	if imm&8 != 0 {
		status &^= PE
	}
	return status
}

// RoundScale is VRNDSCALE: the upper half of imm says to how many bits after the point x is rounded.
func (f *Format) RoundScale(x uint64, imm uint8, mode Mode) (uint64, uint16) {
	a := f.unpackSSE(x, mode)
	if a.class == nan {
		return f.firstNaN(a)
	}
	mode = mode.withImmediate(imm)
	e, status := scaled(a, int(imm>>4), mode)
	r, _ := f.finish(e, mode)
	return f.pack(r), quietBy(imm, status)
}

// Reduce is VREDUCE: what RoundScale takes away. It is inexact if that has too many bits, as AMD's CPUs say, not if
// anything is taken away.
func (f *Format) Reduce(x uint64, imm uint8, mode Mode) (uint64, uint16) {
	a := f.unpackSSE(x, mode)
	if a.class == nan {
		return f.firstNaN(a)
	}
	mode = mode.withImmediate(imm)
	if a.class == infinite {
		return 0, 0
	}
	e, _ := scaled(a, int(imm>>4), mode)
	e.neg = !e.neg
	d, _ := sum(a.exact(), e, mode)
	r, status := f.finish(d, mode.Masked())
	return f.pack(r), quietBy(imm, status&PE)
}

// GetExp is VGETEXP: the exponent of x as a number.
func (f *Format) GetExp(x uint64, mode Mode) (uint64, uint16) {
	a := f.unpackSSE(x, mode)
	switch a.class {
	case nan:
		return f.firstNaN(a)
	case infinite:
		return f.pack(rounded{false, f.maxExp, 1 << (f.prec - 1)}), 0
	case zero:
		return f.pack(rounded{true, f.maxExp, 1 << (f.prec - 1)}), 0
	}
	r, _ := f.FromInt(int64(a.exp), mode)
	return r, a.denormal()
}

// GetMant is VGETMANT: the significand of x, in an interval and with a sign that imm says.
func (f *Format) GetMant(x uint64, imm uint8, mode Mode) (uint64, uint16) {
	a := f.unpackSSE(x, mode)
	if a.class == nan {
		return f.firstNaN(a)
	}
	neg := a.neg && imm&4 == 0
	switch {
	case a.class == zero:
		return f.one(neg), 0
	case a.neg && imm&8 != 0:
		return f.indefinite(), IE
	case a.class == infinite:
		return f.one(neg), 0
	}
	exp := 0
	switch imm & 3 {
	case 1: // [1/2, 2)
		if a.exp&1 != 0 {
			exp = -1
		}
	case 2: // [1/2, 1)
		exp = -1
	case 3: // [3/4, 3/2)
		if a.m>>62&1 != 0 {
			exp = -1
		}
	}
	return f.pack(rounded{neg, f.bias + exp, a.m >> (64 - f.prec)}), a.denormal()
}

// one is 1, or -1.
func (f *Format) one(neg bool) uint64 { return f.pack(rounded{neg, f.bias, 1 << (f.prec - 1)}) }

// indefinite is the default NaN.
func (f *Format) indefinite() uint64 {
	return f.pack(rounded{true, f.maxExp, 3 << (f.prec - 2)})
}

// ScaleF is VSCALEF: x times 2 to the power of y rounded down.
func (f *Format) ScaleF(x, y uint64, mode Mode) (uint64, uint16) {
	a, b := f.unpackSSE(x, mode), f.unpackSSE(y, mode)
	if a.class == nan || b.class == nan {
		return f.scaledNaN(a, b)
	}
	switch {
	case b.class == infinite && (a.class == zero && !b.neg || a.class == infinite && b.neg):
		return f.indefinite(), IE
	case a.class == zero || a.class == infinite:
		r, _ := f.finish(a.exact(), mode)
		return f.pack(r), 0
	case b.class == infinite:
		e := exact{infinite, wide{neg: a.neg}}
		if b.neg {
			e.class = zero
		}
		r, _ := f.finish(e, mode)
		return f.pack(r), a.denormal()
	}
	e := a.exact()
	down, _ := ToInt(b, 32, mode.WithRounding(1).Masked())
	if b.exp >= 31 {
		down = 1 << 31
		if b.neg {
			down = -1 << 31
		}
	}
	if b.class == zero {
		down = 0
	}
	e.exp += int(max(min(down, 1<<16), -1<<16))
	return f.result(e, 0, a.denormal(), mode)
}

// scaledNaN is ScaleF with a NaN among its operands: a quiet one that is scaled by an infinity becomes that, or zero.
func (f *Format) scaledNaN(a, b Number) (uint64, uint16) {
	if a.class == nan && !a.signaling() && b.class == infinite {
		e := exact{infinite, wide{}}
		if b.neg {
			e.class = zero
		}
		r, _ := f.finish(e, 0)
		return f.pack(r), 0
	}
	return f.firstNaN(a, b)
}

// Range is VRANGE: of x and y the lesser or the greater, by value or by magnitude, with a sign that imm says.
func (f *Format) Range(x, y uint64, imm uint8, mode Mode) (uint64, uint16) {
	a, b := f.unpackSSE(x, mode), f.unpackSSE(y, mode)
	switch {
	case a.signaling():
		return f.quieten(a), IE
	case b.signaling():
		return f.quieten(b), IE
	}
	status := a.denormal() | b.denormal()
	flush := func(n Number, x uint64) uint64 {
		if n.class == zero {
			return x & f.signBit()
		}
		return x
	}
	x, y = flush(a, x), flush(b, y)
	var r uint64
	switch {
	case a.class == nan && b.class != nan:
		r, status = y, 0
	case b.class == nan:
		r, status = x, 0
	default:
		r = f.extreme(x, y, imm)
	}
	switch imm >> 2 & 3 {
	case 0:
		r = r&^f.signBit() | x&f.signBit()
	case 2:
		r &^= f.signBit()
	case 3:
		r |= f.signBit()
	}
	return r, status
}

// extreme returns the lesser or the greater of two numbers. Of numbers that are equal in what counts, the lesser is
// negative.
func (f *Format) extreme(x, y uint64, imm uint8) uint64 {
	sign := f.signBit()
	key := func(x uint64) int64 {
		if x&sign != 0 && imm&2 == 0 {
			return -int64(x&^sign) - 1
		}
		return int64(x &^ sign)
	}
	least, greatest := x, y
	if kx, ky := key(x), key(y); kx > ky || kx == ky && x&sign == 0 {
		least, greatest = y, x
	}
	if imm&1 != 0 {
		return greatest
	}
	return least
}

// Classes that VFPCLASS asks for.
const (
	classQuiet = 1 << iota
	classPlusZero
	classMinusZero
	classPlusInfinity
	classMinusInfinity
	classDenormal
	classNegative
	classSignaling
)

// Class reports whether x is of one of the classes in imm, as VFPCLASS does.
func (f *Format) Class(x uint64, imm uint8, mode Mode) bool {
	a := f.unpackSSE(x, mode)
	pick := func(plus, minus uint8) uint8 {
		if a.neg {
			return minus
		}
		return plus
	}
	var is uint8
	switch a.class {
	case zero:
		is = pick(classPlusZero, classMinusZero)
	case infinite:
		is = pick(classPlusInfinity, classMinusInfinity)
	case denormal:
		is = classDenormal | pick(0, classNegative)
	case normal:
		is = pick(0, classNegative)
	default:
		if is = classQuiet; a.signaling() {
			is = classSignaling
		}
	}
	return is&imm != 0
}

// What x is to VFIXUPIMM: the number of four bits in its table.
const (
	tokenQuiet = iota
	tokenSignaling
	tokenZero
	tokenOne
	tokenMinusInfinity
	tokenPlusInfinity
	tokenNegative
	tokenPositive
)

// token returns what a, of the bits x, is.
func (f *Format) token(a Number, x uint64) uint {
	switch {
	case a.signaling():
		return tokenSignaling
	case a.class == nan:
		return tokenQuiet
	case a.class == zero:
		return tokenZero
	case x == f.one(false):
		return tokenOne
	case a.class == infinite && a.neg:
		return tokenMinusInfinity
	case a.class == infinite:
		return tokenPlusInfinity
	case a.neg:
		return tokenNegative
	}
	return tokenPositive
}

// FixUp is VFIXUPIMM: table says what takes x's place by what x is, imm which exceptions that raises. old is what stays
// if nothing does.
func (f *Format) FixUp(old, x, table uint64, imm uint8, mode Mode) (uint64, uint16) {
	a := f.unpackSSE(x, mode)
	token := f.token(a, x)
	var status uint16
	flag := func(bit uint, e uint16) {
		if imm>>bit&1 != 0 {
			status |= e
		}
	}
	switch token {
	case tokenZero:
		flag(0, ZE)
		flag(1, IE)
	case tokenOne:
		flag(2, ZE)
		flag(3, IE)
	case tokenSignaling:
		flag(4, IE)
	case tokenMinusInfinity:
		flag(5, IE)
	case tokenNegative:
		flag(6, IE)
	case tokenPlusInfinity:
		flag(7, IE)
	}
	return f.response(old, x, a, table>>(4*token)&15), status
}

// response returns what a number of FixUp's table stands for.
func (f *Format) response(old, x uint64, a Number, which uint64) uint64 {
	infinity := uint64(f.maxExp) << f.fracBits()
	sign := f.signBit()
	switch which {
	case 0:
		return old
	case 1:
		if a.class == zero {
			return x & sign
		}
		return x
	case 2:
		if a.class == zero {
			x &= sign
		}
		return x | infinity | f.quiet()
	case 3:
		return f.indefinite()
	case 4:
		return infinity | sign
	case 5:
		return infinity
	case 6:
		return infinity | x&sign
	case 7:
		return sign
	case 8:
		return 0
	case 9:
		return f.one(true)
	case 10:
		return f.one(false)
	case 11:
		return f.pack(rounded{false, f.bias - 1, 1 << (f.prec - 1)})
	case 12:
		r, _ := f.FromInt(90, 0)
		return r
	case 13:
		const halfPi = 0xc90fdaa22168c234 // the first 64 bits of π/2, which are rounded to the format
		r, _ := f.finish(exact{normal, wide{exp: 0, m: u128{hi: halfPi}}}, 0)
		return f.pack(r)
	case 14:
		return infinity - 1
	}
	return infinity - 1 | sign
}

package soft

import "math/bits"

// format.go takes numbers apart, rounds what was computed from them, and puts it together again. All arithmetic is
// between these two: a Number is exact, so is an exact but for its last bit, which says whether anything follows, and
// round rounds once.

// A Format is a binary floating-point format of IEEE 754, or a precision to which x87 rounds.
type Format struct {
	prec    uint // significant bits, the leading one included
	expBits uint
	bias    int
	maxExp  int // of infinities and NaNs
}

// newFormat returns the format with so many significant bits and bits of the exponent.
func newFormat(prec, expBits uint) *Format {
	return &Format{prec: prec, expBits: expBits, bias: 1<<(expBits-1) - 1, maxExp: 1<<expBits - 1}
}

// The formats of SSE and AVX: half, single and double precision.
var (
	Float16 = newFormat(11, 5)
	Float32 = newFormat(24, 8)
	Float64 = newFormat(53, 11)
)

// precisions are what x87 rounds to, by precision control; the second is reserved, and as the last.
var precisions = [4]*Format{newFormat(24, 15), extended, newFormat(53, 15), extended}

// extended is double extended precision.
var extended = newFormat(64, 15)

func (f *Format) fracBits() uint { return f.prec - 1 }
func (f *Format) quiet() uint64  { return 1 << (f.prec - 2) }

// wrapExp is what the exponent of a result changes by if its overflow or underflow is not masked (IEEE 754-1985, 7.3;
// SDM Vol. 1, "Numeric Overflow Exception (#O)").
func (f *Format) wrapExp() int { return 3 << (f.expBits - 2) }

// A Number is an operand taken apart, whatever its format was.
type Number struct {
	class class
	neg   bool
	exp   int    // the value is m * 2^(exp-63) if it is neither zero, infinite nor a NaN
	m     uint64 // bit 63 is set but for zeros; of a NaN, and what is not supported, as F80.Mant
}

// Unpack takes a number of a format of at most 64 bits apart.
func (f *Format) Unpack(x uint64) Number {
	frac := x << (64 - f.fracBits())
	exp := int(x>>f.fracBits()) & f.maxExp
	n := Number{class: normal, neg: x>>(f.fracBits()+f.expBits)&1 != 0, exp: exp - f.bias, m: integer | frac>>1}
	switch {
	case exp == f.maxExp && frac == 0:
		n.class = infinite
	case exp == f.maxExp:
		n.class = nan
	case exp == 0 && frac == 0:
		n.class, n.m = zero, 0
	case exp == 0:
		shift := bits.LeadingZeros64(frac)
		n.class, n.m, n.exp = denormal, frac<<shift, -f.bias-shift
	}
	return n
}

// unpackSSE takes an operand apart as SSE does: a denormal counts as zero if the mode says so.
func (f *Format) unpackSSE(x uint64, mode Mode) Number {
	n := f.Unpack(x)
	if n.class == denormal && mode&modeDAZ != 0 {
		n.class, n.m = zero, 0
	}
	return n
}

// Number takes x apart.
func (x F80) Number() Number {
	n := Number{class: x.class(), neg: x.neg(), exp: int(x.SE&^negative) - expBias, m: x.Mant}
	if n.class == denormal {
		shift := bits.LeadingZeros64(x.Mant)
		n.m, n.exp = x.Mant<<shift, 1-expBias-shift
	}
	return n
}

// FromInt returns an integer as a Number.
func FromInt(i int64) Number {
	n := Number{class: normal, neg: i < 0, exp: 63, m: uint64(i)}
	if n.neg {
		n.m = -n.m
	}
	if i == 0 {
		return Number{}
	}
	shift := bits.LeadingZeros64(n.m)
	n.m, n.exp = n.m<<shift, 63-shift
	return n
}

// Denormal, IsNaN and the like tell x87 instructions what they have to know of an operand before they use it.
func (n Number) Denormal() bool { return n.class == denormal }

// IsNaN reports whether n is a NaN, or an encoding that counts as one since it is not supported.
func (n Number) IsNaN() bool { return n.class >= nan }

// signaling reports whether n is a signaling NaN.
func (n Number) signaling() bool { return n.class == nan && n.m&quiet80 == 0 }

// An exact is the result of an operation before it is rounded.
type exact struct {
	class class // zero, normal, infinite, or nan for the default NaN
	wide        // the sign always, the rest if it is normal
}

// exact returns n, which is not a NaN, as a result.
func (n Number) exact() exact {
	switch n.class {
	case zero, infinite:
		return exact{n.class, wide{neg: n.neg}}
	}
	return exact{normal, wide{n.neg, n.exp, u128{hi: n.m}}}
}

// A rounded is a number in a format: its exponent as it is stored, and as many bits of the significand as the format
// has.
type rounded struct {
	neg  bool
	exp  int
	mant uint64
}

// round rounds w, which is not zero. lost says that w is not exact though its last bit does not tell. The status has
// the exceptions, and C1 if the significand became larger. If overflow or underflow is not masked, the exponent is
// wrapped.
func (f *Format) round(w wide, lost bool, mode Mode) (rounded, uint16) {
	status := uint16(0)
	r, rest, up := f.cut(w, w.exp+f.bias, 0, mode)
	switch {
	case r.exp >= f.maxExp:
		if mode.masks(OE) {
			return f.overflow(w.neg, mode)
		}
		status |= OE
		r.exp -= f.wrapExp()
	case r.exp > 0: // tininess is detected after rounding
	case !mode.masks(UE):
		status |= UE
		r.exp += f.wrapExp()
	case mode&modeFTZ != 0:
		return rounded{neg: w.neg}, UE | PE
	default:
		r, rest, up = f.cut(w, 0, uint(1-w.exp-f.bias), mode)
		r.exp = int(r.mant >> (f.prec - 1))
		if rest || lost {
			status |= UE
		}
	}
	if rest || lost {
		status |= PE
	}
	if up {
		status |= C1
	}
	return r, status
}

// cut rounds the significand of w to the precision less shift bits. It reports whether there was a rest, and whether
// the significand became larger.
func (f *Format) cut(w wide, exp int, shift uint, mode Mode) (r rounded, rest, up bool) {
	t := w.m.shrSticky(64 - f.prec + shift)
	mant, up := roundSignificand(t, w.neg, mode)
	if mant>>(f.prec-1) > 1 || mant < t.hi { // a carry out of the precision, out of 64 bits
		mant, exp = 1<<(f.prec-1), exp+1
	}
	return rounded{w.neg, exp, mant}, t.lo != 0, up
}

// roundSignificand returns the upper half of m, rounded, modulo 2^64, and whether that was upwards.
func roundSignificand(m u128, neg bool, mode Mode) (mant uint64, up bool) {
	switch mode.rounding() {
	case roundDown:
		up = neg && m.lo != 0
	case roundUp:
		up = !neg && m.lo != 0
	case roundZero:
	default:
		up = m.lo > 1<<63 || m.lo == 1<<63 && m.hi&1 != 0
	}
	if up {
		m.hi++
	}
	return m.hi, up
}

// overflow returns the masked response: SDM Vol. 1, "Numeric Overflow Exception (#O)".
func (f *Format) overflow(neg bool, mode Mode) (rounded, uint16) {
	rc := mode.rounding()
	if rc == roundZero || rc == roundDown && !neg || rc == roundUp && neg {
		return rounded{neg, f.maxExp - 1, 1<<f.prec - 1}, OE | PE
	}
	return rounded{neg, f.maxExp, 1 << (f.prec - 1)}, OE | PE | C1
}

// finish rounds e if it has to be.
func (f *Format) finish(e exact, mode Mode) (rounded, uint16) {
	switch e.class {
	case zero:
		return rounded{neg: e.neg}, 0
	case infinite:
		return rounded{e.neg, f.maxExp, 1 << (f.prec - 1)}, 0
	case nan:
		return rounded{true, f.maxExp, 3 << (f.prec - 2)}, 0
	}
	return f.round(e.wide, false, mode)
}

// pack puts r together in a format of at most 64 bits.
func (f *Format) pack(r rounded) uint64 {
	x := uint64(r.exp&f.maxExp)<<f.fracBits() | r.mant&^(1<<f.fracBits())
	return f.signed(x, r.neg)
}

// signed gives x, whose sign is clear, a sign.
func (f *Format) signed(x uint64, neg bool) uint64 {
	if neg {
		x |= 1 << (f.fracBits() + f.expBits)
	}
	return x
}

// quieten returns NaN n as a quiet one in the format: what does not fit of it is lost.
func (f *Format) quieten(n Number) uint64 {
	frac := n.m << 1 >> (64 - f.fracBits())
	return f.signed(uint64(f.maxExp)<<f.fracBits()|frac|f.quiet(), n.neg)
}

// pack80 puts r together in double extended precision.
func (f *Format) pack80(r rounded) F80 {
	return F80{r.mant << (64 - f.prec), uint16(r.exp)}.withSign(r.neg)
}

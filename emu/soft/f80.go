package soft

// An F80 is a number in double extended precision: SDM Vol. 1, "x87 FPU Data
// Types and Formats".
type F80 struct {
	Mant uint64 // the significand, bit 63 is the integer bit
	SE   uint16 // bit 15 is the sign, the others are the exponent + 16383
}

// Bits of the status word.
const (
	IE uint16 = 1 << 0
	DE uint16 = 1 << 1
	ZE uint16 = 1 << 2
	OE uint16 = 1 << 3
	UE uint16 = 1 << 4
	PE uint16 = 1 << 5
	C0 uint16 = 1 << 8
	C1 uint16 = 1 << 9
	C2 uint16 = 1 << 10
	C3 uint16 = 1 << 14
)

// A Result is what an instruction leaves behind.
type Result struct {
	// Value is the result: what replaces ST(0), or ST(1) where the
	// instruction pops.
	Value F80
	// Pushed is what FSINCOS and FPTAN push after that.
	Pushed F80
	// Status has the bits among IE to PE, C1 and C2 that are set. Exception
	// flags are to be added to the status word. C1 replaces the old one, and so
	// does C2 for FSIN, FCOS, FSINCOS and FPTAN; the reference leaves C0, C3
	// and, in the other instructions, C2 alone.
	//
	// If it has C2, or one of IE, DE and ZE whose exception is not masked, then
	// the instruction changes no register, and pushes and pops nothing. For an
	// unmasked OE or UE, Value and Pushed are scaled by 2^-24576 or 2^24576 as
	// the SDM says. Stack faults are the caller's.
	Status uint16
}

const (
	expBias   = 16383
	maxExp    = 0x7fff // of infinities and NaNs
	integer   = 1 << 63
	quiet80   = 1 << 62
	negative  = 0x8000
	roundDown = 1
	roundUp   = 2
	roundZero = 3
)

var (
	indefinite = F80{integer | quiet80, negative | maxExp} // the default NaN
	one80      = F80{integer, expBias}
)

// A class is a kind of F80 the instructions treat alike.
type class uint8

const (
	zero class = iota
	denormal
	normal
	infinite
	nan
	unsupported // SDM Vol. 1, "Unsupported Double Extended-Precision ... Encodings"
)

func (x F80) class() class {
	switch exp := x.SE &^ negative; {
	case exp == 0 && x.Mant == 0:
		return zero
	case exp == 0: // with the integer bit a pseudo-denormal
		return denormal
	case x.Mant&integer == 0:
		return unsupported
	case exp < maxExp:
		return normal
	case x.Mant == integer:
		return infinite
	}
	return nan
}

func (x F80) neg() bool { return x.SE&negative != 0 }

// withSign returns x with the sign given.
func (x F80) withSign(neg bool) F80 {
	x.SE &^= negative
	if neg {
		x.SE |= negative
	}
	return x
}

// wide returns a finite x.
func (x F80) wide() wide {
	exp := int(x.SE &^ negative)
	if exp == 0 {
		exp = 1
	}
	return makeWide(x.neg(), exp-expBias, u128{hi: x.Mant})
}

func infinity80(neg bool) F80 { return F80{Mant: integer, SE: maxExp}.withSign(neg) }

func zero80(neg bool) F80 { return F80{}.withSign(neg) }

func invalid() Result { return Result{Value: indefinite, Status: IE} }

// quieten is the result for operands of which one is a NaN or unsupported: SDM
// Vol. 1, "Rules for Generating QNaNs" and "Invalid Arithmetic Operand
// Exception (#IA)".
func quieten(xs ...F80) Result {
	var r Result
	for _, x := range xs {
		switch x.class() {
		case unsupported:
			return invalid()
		case nan:
			if x.Mant&quiet80 == 0 {
				r.Status |= IE
			}
			if preferred(x, r.Value) {
				r.Value = x
			}
		}
	}
	r.Value.Mant |= quiet80
	return r
}

// preferred tells whether NaN x is the result rather than y: the one with the
// larger significand, or the positive one.
func preferred(x, y F80) bool {
	return x.Mant > y.Mant || x.Mant == y.Mant && x.SE < y.SE
}

// denormals adds DE to r if one of the operands is denormal. Where it is not
// masked nothing else happens: it comes before the computation.
func (r Result) denormals(cw uint16, xs ...F80) Result {
	for _, x := range xs {
		if x.class() != denormal {
			continue
		}
		if cw&DE == 0 {
			return Result{Value: r.Value, Pushed: r.Pushed, Status: DE}
		}
		r.Status |= DE
	}
	return r
}

// round rounds w to a result as the rounding control in cw says. The result
// counts as inexact: transcendental functions have few exact values. Precision
// control has no influence: SDM Vol. 1, "Precision Control Field".
func (w wide) round(cw uint16) (F80, uint16) {
	r, status := extended.round(w, true, x87Mode(cw))
	return extended.pack80(r), status
}

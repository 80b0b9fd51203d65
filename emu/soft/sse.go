package soft

// sse.go has the arithmetic of SSE, AVX, FMA and F16C on one element: SDM Vol. 1, "Programming with Intel Streaming
// SIMD Extensions".
//
// Elements are bits. What is returned besides the result is the exceptions (IE to PE); C1 is never among them. If one
// of them is not masked, the result means nothing: such an instruction writes no register, for none of its elements.

// Add returns x + y.
func (f *Format) Add(x, y uint64, mode Mode) (uint64, uint16) {
	a, b := f.unpackSSE(x, mode), f.unpackSSE(y, mode)
	if a.class == nan || b.class == nan {
		return f.firstNaN(a, b)
	}
	e, status := sum(a.exact(), b.exact(), mode)
	return f.result(e, status, a.denormal()|b.denormal(), mode)
}

// Sub returns x - y.
func (f *Format) Sub(x, y uint64, mode Mode) (uint64, uint16) {
	a, b := f.unpackSSE(x, mode), f.unpackSSE(y, mode)
	if a.class == nan || b.class == nan {
		return f.firstNaN(a, b)
	}
	e, status := sum(a.exact(), b.negated().exact(), mode)
	return f.result(e, status, a.denormal()|b.denormal(), mode)
}

// Mul returns x * y.
func (f *Format) Mul(x, y uint64, mode Mode) (uint64, uint16) {
	a, b := f.unpackSSE(x, mode), f.unpackSSE(y, mode)
	if a.class == nan || b.class == nan {
		return f.firstNaN(a, b)
	}
	e, status := product(a, b)
	return f.result(e, status, a.denormal()|b.denormal(), mode)
}

// Div returns x / y.
func (f *Format) Div(x, y uint64, mode Mode) (uint64, uint16) {
	a, b := f.unpackSSE(x, mode), f.unpackSSE(y, mode)
	if a.class == nan || b.class == nan {
		return f.firstNaN(a, b)
	}
	e, status := quotient(a, b)
	return f.result(e, status, a.denormal()|b.denormal(), mode)
}

// Sqrt returns the square root of x.
func (f *Format) Sqrt(x uint64, mode Mode) (uint64, uint16) {
	a := f.unpackSSE(x, mode)
	if a.class == nan {
		return f.firstNaN(a)
	}
	e, status := squareRoot(a)
	return f.result(e, status, a.denormal(), mode)
}

// FMA returns x * y + z, rounded once; in double precision and below.
func (f *Format) FMA(x, y, z uint64, mode Mode) (uint64, uint16) {
	a, b, c := f.unpackSSE(x, mode), f.unpackSSE(y, mode), f.unpackSSE(z, mode)
	if a.class == nan || b.class == nan || c.class == nan {
		return f.firstNaN(a, b, c)
	}
	e, status := fusedSum(a, b, c, mode)
	return f.result(e, status, a.denormal()|b.denormal()|c.denormal(), mode)
}

func (n Number) negated() Number {
	n.neg = !n.neg
	return n
}

// denormal returns DE if n is denormal.
func (n *Number) denormal() uint16 {
	if n.class == denormal {
		return DE
	}
	return 0
}

// firstNaN returns the result of an instruction with NaNs among its operands: the first of them, made quiet (SDM Vol.
// 1, "Rules for Handling NaNs"). Signaling ones are invalid.
func (f *Format) firstNaN(ns ...Number) (uint64, uint16) {
	var status uint16
	var first *Number
	for i := range ns {
		if ns[i].signaling() {
			status |= IE
		}
		if ns[i].class == nan && first == nil {
			first = &ns[i]
		}
	}
	return f.quieten(*first), status
}

// result rounds e and puts it together. status has what is known already, denormal DE if an operand was one: what is
// invalid or divides by zero does not say so.
func (f *Format) result(e exact, status, denormal uint16, mode Mode) (uint64, uint16) {
	if status == 0 {
		status = denormal
	}
	if mode.Unmasked(status) != 0 {
		return 0, status
	}
	r, post := f.finish(e, mode)
	return f.pack(r), status | post&^C1
}

// Negate returns -x, but for a NaN, which it leaves alone: so do instructions that negate an operand.
func (f *Format) Negate(x uint64) uint64 {
	if x&^f.signBit() > uint64(f.maxExp)<<f.fracBits() {
		return x
	}
	return x ^ f.signBit()
}

// signBit is the sign of a number in the format.
func (f *Format) signBit() uint64 { return 1 << (f.fracBits() + f.expBits) }

// A Relation is what comparing two numbers says.
type Relation uint8

// Relations.
const (
	Less Relation = iota
	Equal
	Greater
	Unordered
)

// compare returns how a stands to b.
func compare(a, b Number) Relation {
	switch {
	case a.class >= nan || b.class >= nan:
		return Unordered
	case a.class == zero && b.class == zero:
		return Equal
	case a.class == zero:
		return order(b.neg, true)
	case b.class == zero:
		return order(!a.neg, true)
	case a.neg != b.neg:
		return order(!a.neg, true)
	}
	switch {
	case a.class == infinite || b.class == infinite:
		if a.class == b.class {
			return Equal
		}
		return order((a.class == infinite) != a.neg, true)
	case a.exp != b.exp:
		return order((a.exp > b.exp) != a.neg, true)
	}
	return order((a.m > b.m) != a.neg, a.m != b.m)
}

// order returns Greater or Less if two numbers differ.
func order(greater, differ bool) Relation {
	switch {
	case !differ:
		return Equal
	case greater:
		return Greater
	}
	return Less
}

// Compare returns how x stands to y. Signaling NaNs are invalid, quiet ones if signaling is set.
func (f *Format) Compare(x, y uint64, signaling bool, mode Mode) (Relation, uint16) {
	a, b := f.unpackSSE(x, mode), f.unpackSSE(y, mode)
	r := compare(a, b)
	if r != Unordered {
		return r, a.denormal() | b.denormal()
	}
	if signaling || a.signaling() || b.signaling() {
		return r, IE
	}
	return r, 0
}

// Min returns x if it is less than y, else y: of zeros and of NaNs the second (SDM Vol. 2, MINPS).
func (f *Format) Min(x, y uint64, mode Mode) (uint64, uint16) { return f.choose(x, y, Less, mode) }

// Max returns x if it is greater than y, else y.
func (f *Format) Max(x, y uint64, mode Mode) (uint64, uint16) { return f.choose(x, y, Greater, mode) }

func (f *Format) choose(x, y uint64, want Relation, mode Mode) (uint64, uint16) {
	r, status := f.Compare(x, y, true, mode)
	if r != want {
		x = y
	}
	if mode&modeDAZ != 0 && f.Unpack(x).class == denormal {
		x &= f.signBit()
	}
	return x, status
}

// Round returns x rounded to an integer, as ROUNDPS does.
func (f *Format) Round(x uint64, mode Mode) (uint64, uint16) {
	a := f.unpackSSE(x, mode)
	if a.class == nan {
		return f.firstNaN(a)
	}
	e, status := integral(a, mode)
	r, _ := f.finish(e, mode)
	return f.pack(r), status &^ C1
}

// Convert returns x in another format.
func (f *Format) Convert(x uint64, to *Format, mode Mode) (uint64, uint16) {
	a := f.unpackSSE(x, mode)
	if a.class == nan {
		return to.firstNaN(a)
	}
	return to.result(a.exact(), 0, a.denormal(), mode)
}

// ToInt returns x as a signed integer of width bits, as CVTSD2SI does.
func (f *Format) ToInt(x uint64, width uint, mode Mode) (int64, uint16) {
	i, status := ToInt(f.unpackSSE(x, mode), width, mode)
	return i, status &^ C1
}

// FromInt returns an integer in the format.
func (f *Format) FromInt(i int64, mode Mode) (uint64, uint16) {
	return f.result(FromInt(i).exact(), 0, 0, mode)
}

// HalfToSingle is VCVTPH2PS on one element: denormal operands are neither zeros nor exceptions (SDM Vol. 2, VCVTPH2PS).
func HalfToSingle(x uint64, mode Mode) (uint64, uint16) {
	r, status := Float16.Convert(x, Float32, mode&^modeDAZ|Mode(DE)<<modeMasks)
	return r, status &^ DE
}

// SingleToHalf is VCVTPS2PH on one element: tiny results are never flushed to zero (SDM Vol. 2, VCVTPS2PH).
func SingleToHalf(x uint64, mode Mode) (uint64, uint16) {
	return Float32.Convert(x, Float16, mode&^modeFTZ)
}

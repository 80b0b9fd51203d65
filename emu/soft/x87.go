package soft

// x87.go has the basic arithmetic of x87. Operands are Numbers, since an instruction may have one that is no F80: FADD
// m32 and FIADD take it apart in its own format, where it may be denormal. Results are F80, rounded to what precision
// control says (SDM Vol. 1, "Precision Control Field"). A Result's fields say what becomes of it; Pushed is not used.

// Add executes FADD.
func Add(a, b Number, cw uint16) Result {
	if usual(a, b, cw) {
		if r, ok := quickSum(a, b); ok {
			return r
		}
	}
	if a.class >= nan || b.class >= nan {
		return quietenNumbers(a, b)
	}
	e, status := sum(a.exact(), b.exact(), x87Mode(cw))
	return result80(e, status, a.denormal()|b.denormal(), cw)
}

// Sub executes FSUB: a - b.
func Sub(a, b Number, cw uint16) Result {
	if usual(a, b, cw) {
		if r, ok := quickSum(a, b.negated()); ok {
			return r
		}
	}
	if a.class >= nan || b.class >= nan {
		return quietenNumbers(a, b)
	}
	e, status := sum(a.exact(), b.negated().exact(), x87Mode(cw))
	return result80(e, status, a.denormal()|b.denormal(), cw)
}

// Mul executes FMUL.
func Mul(a, b Number, cw uint16) Result {
	if usual(a, b, cw) {
		if r, ok := quickProduct(a, b); ok {
			return r
		}
	}
	if a.class >= nan || b.class >= nan {
		return quietenNumbers(a, b)
	}
	e, status := product(a, b)
	return result80(e, status, a.denormal()|b.denormal(), cw)
}

// Div executes FDIV: a / b.
func Div(a, b Number, cw uint16) Result {
	if usual(a, b, cw) {
		if r, ok := quickQuotient(a, b); ok {
			return r
		}
	}
	if a.class >= nan || b.class >= nan {
		return quietenNumbers(a, b)
	}
	e, status := quotient(a, b)
	return result80(e, status, a.denormal()|b.denormal(), cw)
}

// Sqrt executes FSQRT.
func Sqrt(a Number, cw uint16) Result {
	if a.class >= nan {
		return quietenNumbers(a)
	}
	e, status := squareRoot(a)
	return result80(e, status, a.denormal(), cw)
}

// RoundToInt executes FRNDINT.
func RoundToInt(a Number, cw uint16) Result {
	if a.class >= nan {
		return quietenNumbers(a)
	}
	if cw&DE == 0 && a.class == denormal {
		return Result{Status: DE}
	}
	e, status := integral(a, x87Mode(cw))
	r, _ := extended.finish(e, x87Mode(cw))
	return Result{Value: extended.pack80(r), Status: status | a.denormal()}
}

// Load executes FLD of a number that is no F80: FLD m32, FLD m64, FILD.
func Load(a Number, cw uint16) Result {
	if a.class >= nan {
		return quietenNumbers(a)
	}
	return Result{Value: a.f80(), Status: a.denormal()}
}

// Store executes FST m32 and FST m64: it returns a in a smaller format. The status is as that of a Result: if one of
// its exceptions is not masked, nothing is stored, but for an inexact result. Where nothing is stored for overflow or
// underflow, no rounding is told of either.
func Store(a Number, to *Format, cw uint16) (uint64, uint16) {
	switch a.class {
	case unsupported:
		r, _ := to.finish(exact{class: nan, wide: wide{neg: true}}, 0)
		return to.pack(r), IE
	case nan:
		return to.firstNaN(a)
	}
	r, status := to.finish(a.exact(), x87Mode(cw))
	if unmasked := status & (OE | UE) &^ cw; unmasked != 0 {
		return 0, unmasked
	}
	return to.pack(r), status
}

// Compare returns how a stands to b, as FCOM does; quiet NaNs are invalid if signaling is set, as FUCOM does not.
func Compare(a, b Number, signaling bool) (Relation, uint16) {
	r := compare(a, b)
	switch {
	case r != Unordered:
		return r, a.denormal() | b.denormal()
	case signaling, a.signaling(), b.signaling(), a.class == unsupported, b.class == unsupported:
		return r, IE
	}
	return r, 0
}

// f80 returns n, which is exact in double extended precision.
func (n Number) f80() F80 {
	exp := n.exp + expBias
	switch {
	case n.class == zero:
		return zero80(n.neg)
	case n.class >= infinite:
		exp = maxExp
	case exp <= 0: // a denormal F80
		return F80{n.m >> (1 - exp), 0}.withSign(n.neg)
	}
	return F80{n.m, uint16(exp)}.withSign(n.neg)
}

// quietenNumbers is quieten.
func quietenNumbers(ns ...Number) Result {
	var xs [2]F80
	for i, n := range ns {
		xs[i] = n.nan80()
	}
	return quieten(xs[:len(ns)]...)
}

// nan80 returns n as an F80 of the same class, if that is a NaN or unsupported, else zero.
func (n Number) nan80() F80 {
	switch n.class {
	case nan:
		return F80{n.m, maxExp}.withSign(n.neg)
	case unsupported:
		return F80{n.m, uint16(n.exp + expBias)}
	}
	return F80{}
}

// result80 rounds e. status has what is known already, denormal DE if an operand was one: what is invalid or divides by
// zero does not say so. What is not masked and found before the computation is all that is said.
func result80(e exact, status, denormal uint16, cw uint16) Result {
	mode := x87Mode(cw)
	if status == 0 {
		status = denormal
	}
	if mode.Unmasked(status) != 0 {
		return Result{Status: status}
	}
	f := precisions[cw>>8&3]
	r, post := f.finish(e, mode)
	return Result{Value: f.pack80(r), Status: status | post}
}

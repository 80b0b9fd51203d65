package soft

import "math/bits"

// Fscale returns x * 2^n, where n is y without its fraction.
func Fscale(y, x F80, cw uint16) Result {
	if y.class() >= nan || x.class() >= nan {
		return quieten(y, x)
	}
	switch cx, cy := x.class(), y.class(); {
	case cy == infinite && (cx == zero && !y.neg() || cx == infinite && y.neg()):
		return invalid()
	case cx == zero || cx == infinite:
		return Result{Value: x}.denormals(cw, y)
	case cy == infinite && y.neg():
		return Result{Value: zero80(x.neg())}.denormals(cw, x)
	case cy == infinite:
		return Result{Value: infinity80(x.neg())}.denormals(cw, x)
	case cy == zero:
		return x.kept(cw).denormals(cw, x)
	}
	w := x.wide()
	w.exp += y.scale()
	return w.scaled(cw).denormals(cw, x, y)
}

// scaled rounds w, whose exponent may be beyond what an unmasked overflow or underflow takes back: then the result is
// infinite or zero.
func (w wide) scaled(cw uint16) Result {
	switch exp := w.exp + expBias; {
	case exp-extended.wrapExp() >= maxExp && cw&OE == 0:
		return Result{Value: infinity80(w.neg), Status: OE | PE | C1}
	case exp+extended.wrapExp() <= 0 && cw&UE == 0:
		return Result{Value: zero80(w.neg), Status: UE | PE}
	}
	return w.rounded80(cw)
}

// kept returns x for an operation that leaves it as it is. Intel's CPUs do not tell of an underflow then if x is
// denormal; AMD's do.
func (x F80) kept(cw uint16) Result {
	if x.Mant>>63 == 0 {
		return Result{Value: x}
	}
	return x.wide().rounded80(cw)
}

// rounded80 returns w rounded to double extended precision, whatever precision control says.
func (w wide) rounded80(cw uint16) Result {
	if w.m.isZero() {
		return Result{Value: zero80(w.neg)}
	}
	r, status := extended.round(w, false, x87Mode(cw))
	return Result{Value: extended.pack80(r), Status: status}
}

// scaleLimit is beyond what brings every number out of range.
const scaleLimit = 1 << 16

// scale returns a finite y without its fraction, within ±scaleLimit.
func (y F80) scale() int {
	exp := int(y.SE&^negative) - expBias
	n := scaleLimit
	if exp < 16 {
		n = int(y.Mant >> (63 - exp))
	}
	if y.neg() {
		return -n
	}
	return n
}

// Fxtract returns the exponent of x as Value, and its significand as Pushed.
func Fxtract(x F80, cw uint16) Result {
	switch x.class() {
	case nan, unsupported:
		r := quieten(x)
		r.Pushed = r.Value
		return r
	case infinite:
		return Result{Value: infinity80(false), Pushed: x}
	case zero:
		return Result{Value: infinity80(true), Pushed: x, Status: ZE}
	}
	n := x.Number()
	return Result{Value: FromInt(int64(n.exp)).f80(), Pushed: F80{n.m, expBias}.withSign(x.neg())}.denormals(cw, x)
}

// Fprem returns the remainder of x / y with the quotient truncated, Fprem1 with the quotient rounded to nearest. Status
// has C2 if this was a step towards it, else the low bits of the quotient: C0 bit 2, C3 bit 1, C1 bit 0.
func Fprem(y, x F80, cw uint16) Result { return remainder(y, x, cw, false) }

// Fprem1 is the remainder that IEEE 754 describes; see Fprem.
func Fprem1(y, x F80, cw uint16) Result { return remainder(y, x, cw, true) }

func remainder(y, x F80, cw uint16, nearest bool) Result {
	if y.class() >= nan || x.class() >= nan {
		return quieten(y, x)
	}
	switch cx, cy := x.class(), y.class(); {
	case cx == infinite || cy == zero:
		return invalid()
	case cx == zero:
		return Result{Value: x}.denormals(cw, y)
	case cy == infinite:
		return x.kept(cw).denormals(cw, x)
	}
	xn, yn := x.Number(), y.Number()
	rem, exp, quotient, partial := partialRemainder(xn, yn)
	ym, ye := yn.m, yn.exp
	neg := x.neg()
	if nearest && !partial && exp >= ye-1 {
		rem2, over := rem, uint64(0) // twice the remainder, in units of y's last place
		if exp == ye {
			rem2, over = rem<<1, rem>>63
		}
		if over != 0 || rem2 > ym || rem2 == ym && quotient&1 != 0 {
			// The nearer multiple is the next one, beyond x. Half of the difference is lost in no case: it is even.
			if exp == ye {
				rem = ym - rem
			} else {
				rem = ym<<1 - rem
			}
			neg = !neg
			quotient++
		}
	}
	r := Result{Value: zero80(neg)}
	if rem == 0 {
		r.Value = zero80(x.neg())
	} else {
		r = makeWide(neg, exp, u128{hi: rem}).rounded80(cw)
	}
	if partial {
		r.Status |= C2
	} else {
		r.Status |= quotientBits(quotient)
	}
	return r.denormals(cw, x, y)
}

// partialRemainder divides x by y. The remainder is rem * 2^(exp-63). If the exponents are too far apart it is a
// partial one: "N := an implementation-dependent number between 32 and 63" (SDM Vol. 2, FPREM); CPUs agree on one that
// leaves a multiple of 32.
func partialRemainder(x, y Number) (rem uint64, exp int, quotient uint64, partial bool) {
	distance := x.exp - y.exp
	if distance < 0 {
		return x.m, x.exp, 0, false
	}
	n := distance
	if partial = n >= 64; partial {
		n = distance&31 | 32
	}
	quotient, rem = bits.Div64(x.m>>(64-n), x.m<<n, y.m)
	return rem, x.exp - n, quotient, partial
}

func quotientBits(q uint64) uint16 {
	var status uint16
	for bit, c := range []uint16{C1, C3, C0} {
		if q>>bit&1 != 0 {
			status |= c
		}
	}
	return status
}

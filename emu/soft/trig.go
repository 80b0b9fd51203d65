package soft

import "sync"

// trig.go: FSIN, FCOS, FSINCOS, FPTAN. SDM Vol. 2, the entry of each mnemonic;
// the reduction: Vol. 1, "Approximation of Pi".

// fsin is Fsin with all bits.
func fsin(x F80, cw uint16) Result {
	r, done := trigSpecial(x)
	switch {
	case done:
		return r
	case x.class() == zero:
		return Result{Value: x}
	}
	angle, quadrant := reduce(x.wide())
	r.Value, r.Status = sine(angle, quadrant).round(cw)
	return r.denormals(cw, x)
}

// fcos is Fcos with all bits.
func fcos(x F80, cw uint16) Result {
	r, done := trigSpecial(x)
	switch {
	case done:
		return r
	case x.class() == zero:
		return Result{Value: one80}
	}
	angle, quadrant := reduce(x.wide())
	r.Value, r.Status = sine(angle, quadrant+1).round(cw)
	return r.denormals(cw, x)
}

// fsincos is Fsincos with all bits.
func fsincos(x F80, cw uint16) Result {
	r, done := trigSpecial(x)
	switch {
	case done:
		r.Pushed = r.Value
		return r
	case x.class() == zero:
		return Result{Value: x, Pushed: one80}
	}
	angle, quadrant := reduce(x.wide())
	var status uint16
	r.Value, status = sine(angle, quadrant).round(cw)
	r.Pushed, r.Status = sine(angle, quadrant+1).round(cw)
	r.Status |= status &^ C1
	return r.denormals(cw, x)
}

// fptan is Fptan with all bits.
func fptan(x F80, cw uint16) Result {
	r, done := trigSpecial(x)
	switch {
	case done:
		r.Pushed = r.Value
		return r
	case x.class() == zero:
		return Result{Value: x, Pushed: one80}
	}
	angle, quadrant := reduce(x.wide())
	r.Value, r.Status = tangent(angle, quadrant).round(cw)
	r.Pushed = one80
	return r.denormals(cw, x)
}

// trigSpecial handles what is common to the four: NaNs, infinities and
// operands out of range.
func trigSpecial(x F80) (Result, bool) {
	switch x.class() {
	case nan, unsupported:
		return quieten(x), true
	case infinite:
		return invalid(), true
	}
	if x.SE&^negative >= expBias+63 {
		return Result{Value: x, Status: C2}, true
	}
	return Result{}, false
}

// halfPi is pi/2 as the processor has it: 66 bits of pi, with 65 bits after the
// point.
var halfPi = u128{0x3, 0x243f6a8885a308d3}

// reduce returns x - n*pi/2 for the integer n that makes it smallest, exactly,
// and n modulo 4.
func reduce(x wide) (angle wide, quadrant int) {
	// Below pi/4 there is nothing to do.
	if x.exp < -1 || x.exp == -1 && x.m.hi < 0xc90fdaa22168c235 {
		return x, 0
	}
	// With 65 bits after the point, x is an integer of up to 128 bits.
	n, rem := u128{lo: x.m.hi}.shl(uint(x.exp + 2)).byHalfPi()
	neg := false
	if twice := rem.shl(1); halfPi.less(twice) {
		rem = halfPi.sub(rem)
		neg = true
		n++
	}
	if x.neg {
		neg = !neg
		n = -n
	}
	return makeWide(neg, 127-65, rem), n & 3
}

// byHalfPi divides by halfPi. It returns the quotient modulo 4 and the remainder.
func (a u128) byHalfPi() (n int, rem u128) {
	z := halfPi.leadingZeros()
	q, rem := a.shr(64-z).digit(a.shl(z).lo, halfPi.shl(z))
	return int(q & 3), rem.shr(z)
}

// sine returns sin(angle + quadrant*pi/2) for |angle| <= pi/4.
func sine(angle wide, quadrant int) wide {
	r := exactSine(angle, quadrant&1)
	if angle.exp >= -2 {
		i := breakpoint(angle)
		e := sineErrors()[quadrant&1][i]
		e.neg = e.neg != r.neg
		r = r.add(e)
	}
	r.neg = r.neg != (quadrant&2 != 0)
	return r
}

// exactSine returns sin(angle) or, for an odd quadrant, cos(angle).
func exactSine(angle wide, quadrant int) wide {
	sum := one
	if angle.exp >= smallest {
		// Both functions are power series in the square.
		s := sineSeries
		if quadrant != 0 {
			s = cosineSeries
		}
		sum = s().sum(angle.mul(angle).fixed(127), true)
		if sum == one {
			sum = one.sub(u128{lo: 1})
		}
	}
	if quadrant != 0 {
		return makeWide(false, 0, sum)
	}
	return makeWide(angle.neg, angle.exp+1, angle.m.mul128(sum))
}

// From 1/4 on the reference adds a correction to the sine or cosine of a
// breakpoint, the middle of a quarter of the interval between powers of two.
// What it has of the breakpoints has 67 bits. sineErrors tells how much too
// large they are, for sine and cosine.
var sineErrors = sync.OnceValue(makeSineErrors)

// breakpoint returns the index of the breakpoint of an angle in [1/4, 1).
func breakpoint(angle wide) int { return (angle.exp+2)*4 + int(angle.m.hi>>61&3) }

func makeSineErrors() *[2][7]wide {
	var t [2][7]wide
	for i := range 7 {
		// 4/4, ..., 7/4 and half a quarter more
		middle := wide{exp: i/4 - 2, m: u128{hi: uint64(2*(i%4)+9) << 60}}
		for q := range 2 {
			v := exactSine(middle, q)
			t[q][i] = v.nearest().add(v.negated())
		}
	}
	return &t
}

// smallest is the exponent of the angles from which on the reference does not
// take a sine for its angle and a cosine for 1, which shows in the rounding.
const smallest = -68

// tangent returns tan(angle + quadrant*pi/2) for |angle| <= pi/4. The reference
// divides sine and cosine of 67 bits.
func tangent(angle wide, quadrant int) wide {
	return sine(angle, quadrant).internal().div(sine(angle, quadrant+1).internal())
}

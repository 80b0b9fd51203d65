package soft

import "sync"

// atan.go: FPATAN. SDM Vol. 2, FPATAN; its table has the special operands.

var (
	pi        = wide{exp: 1, m: u128{0xc90fdaa22168c234, 0xc4c6628b80dc1cd1}}
	piHalves  = wide{exp: 0, m: pi.m}
	piQuarter = wide{exp: -1, m: pi.m}
)

// fpatan is Fpatan with all bits.
func fpatan(y, x F80, cw uint16) Result {
	cx, cy := x.class(), y.class()
	if cx >= nan || cy >= nan {
		return quieten(x, y)
	}
	var w wide
	switch {
	case cy == zero && !x.neg(), cx == infinite && !x.neg() && cy != infinite:
		return Result{Value: zero80(y.neg())}.denormals(cw, x, y)
	case cy == infinite && cx == infinite:
		w = piQuarter
		if x.neg() {
			w = piHalves.add(piQuarter)
		}
	case cy == infinite, cx == zero && cy != zero:
		w = piHalves
	case cy == zero, cx == infinite:
		w = pi
	default:
		w = arctan2(y.wide(), x.wide())
	}
	w.neg = y.neg()
	var r Result
	r.Value, r.Status = w.round(cw)
	return r.denormals(cw, x, y)
}

// arctan2 returns the angle of the point (x, |y|), neither of them zero.
func arctan2(y, x wide) wide {
	obtuse := x.neg
	x.neg, y.neg = false, false
	steep := y.exp > x.exp || y.exp == x.exp && x.m.less(y.m)
	if steep {
		x, y = y, x
	}
	w := arctan(y, x)
	if !steep && !obtuse {
		return w
	}
	// The angle is a multiple of pi/2, plus or minus w.
	w = w.internal()
	w.neg = steep != obtuse
	base := pi
	if steep {
		base = piHalves
	}
	return base.nearest().add(w)
}

// arctans has atan(k/32). The reference has 67 bits of them.
var arctans = sync.OnceValue(makeArctans)

func makeArctans() *[33]wide {
	var t [33]wide
	var sum wide
	for k := range uint64(32) {
		// atan((k+1)/32) - atan(k/32) = atan(1/32 / (1 + (k+1)/32 * k/32))
		num, den := u128{lo: 32}, u128{lo: 32*32 + (k+1)*k}
		sum = sum.add(arctanSmall(makeWide(false, 0, num).div(makeWide(false, 0, den))))
		t[k+1] = sum.nearest()
	}
	return &t
}

// arctan returns atan(y/x) for 0 < y <= x.
func arctan(y, x wide) wide {
	diff := x.exp - y.exp
	if diff > 5 {
		return arctanQuotient(y, x)
	}
	// Take k/32 next to y/x: atan(y/x) = atan(k/32) + atan((32y-kx) / (32x+ky)).
	// The operands have 64 bits, so both terms are exact.
	xm, ym := u128{lo: x.m.hi}.shl(uint(diff)), u128{lo: y.m.hi}
	k := nearestFraction(ym, xm)
	if k < 2 {
		return arctanQuotient(y, x)
	}
	a, b := ym.shl(5), xm.timesSmall(k)
	neg := a.less(b)
	if neg {
		a, b = b, a
	}
	num := makeWide(neg, 0, a.sub(b))
	if num.m.isZero() {
		return arctans()[k]
	}
	den := makeWide(false, 0, xm.shl(5).add(ym.timesSmall(k)))
	return arctans()[k].add(arctanSmall(num.div(den)))
}

// arctanQuotient returns atan(y/x) for a small quotient. The reference has 67
// bits of the quotient, and below 2^-40 takes it for the result.
func arctanQuotient(y, x wide) wide {
	q := y.div(x).internal()
	if q.exp < -40 {
		return q
	}
	return arctanSmall(q)
}

// nearestFraction returns the integer nearest to 32y/x, for y <= x.
func nearestFraction(y, x u128) uint64 {
	twice := y.shl(6)
	k := uint64(0)
	for !twice.less(x.timesSmall(2*k + 1)) {
		k++
	}
	return k
}

// arctanSmall returns atan(t) for |t| < 1/16.
func arctanSmall(t wide) wide {
	sum := atanSeries().sum(t.mul(t).fixed(127), true)
	return makeWide(t.neg, t.exp+1, t.m.mul128(sum))
}

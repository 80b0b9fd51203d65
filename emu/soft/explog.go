package soft

import "sync"

// explog.go: F2XM1, FYL2X, FYL2XP1. SDM Vol. 2, the entry of each mnemonic;
// the tables there have the special operands.

var (
	ln2   = wide{exp: -1, m: u128{0xb17217f7d1cf79ab, 0xc9e3b39803f2f6af}}
	log2e = wide{m: u128{0xb8aa3b295c17f0bb, 0xbe87fed0691d3e89}} // 1 / ln2

	// What the reference has of them.
	ln2Internal      = ln2.nearest()
	log2eInternal    = log2e.nearest()
	twoLog2eInternal = wide{exp: 1, m: log2eInternal.m}
)

// f2xm1 is F2xm1 with all bits.
func f2xm1(x F80, cw uint16) Result {
	switch x.class() {
	case nan, unsupported:
		return quieten(x)
	case zero:
		return Result{Value: x}
	case infinite:
		if x.neg() {
			return Result{Value: one80.withSign(true)}
		}
		return Result{Value: x}
	}
	w := x.wide()
	if w.exp >= 0 {
		if w.exp == 0 && w.neg && w.m == one {
			return Result{Value: F80{integer, negative | expBias - 1}, Status: PE}
		}
		return Result{Value: x, Status: PE}
	}
	var r Result
	product := w.mul(ln2Internal)
	switch {
	case w.exp >= -2:
		at := &powers()[breakpoint16(w)]
		product = at.less1.add(at.power.mul(expm1(w.add(at.x.negated()).mul(ln2))))
	case w.exp >= smallest:
		// The first term has 67 bits, the sum of the others 64.
		first := product.internal()
		product = first.add(expm1(first).add(first.negated()).nearest64())
	}
	r.Value, r.Status = product.round(cw)
	return r.denormals(cw, x)
}

// A power is 2^x of a breakpoint x, the middle of a sixteenth of the interval between two powers of two. From |x| = 1/4
// on the reference adds a correction to less1, which is 2^x - 1 in its 67 bits.
type power struct{ x, power, less1 wide }

var powers = sync.OnceValue(makePowers)

// breakpoint16 returns the index of the breakpoint for 1/4 <= |x| < 1.
func breakpoint16(x wide) int {
	i := (x.exp+2)*16 + int(x.m.hi>>59&15)
	if x.neg {
		i += 32
	}
	return i
}

func makePowers() *[64]power {
	var t [64]power
	for i := range t {
		x := wide{neg: i >= 32, exp: i/16%2 - 2, m: u128{hi: uint64(2*(i%16)+33) << 58}}
		less1 := expm1(x.mul(ln2))
		t[i] = power{x, less1.add(wide{m: one}), less1.nearest()}
	}
	return &t
}

// expm1 returns e^x - 1 for |x| < ln2.
func expm1(x wide) wide {
	sum := expSeries().sum(x.fixed(127), x.neg)
	return makeWide(x.neg, x.exp+1, x.m.mul128(sum))
}

// fyl2x is Fyl2x with all bits.
func fyl2x(y, x F80, cw uint16) Result {
	cx, cy := x.class(), y.class()
	switch {
	case cx >= nan || cy >= nan:
		return quieten(x, y)
	case cx != zero && x.neg():
		return invalid()
	case cx == zero && cy == zero:
		return invalid()
	case cx == zero:
		r := Result{Value: infinity80(!y.neg())}
		if cy != infinite {
			r.Status = ZE
		}
		return r
	case x == one80 && cy == infinite, cx == infinite && cy == zero:
		return invalid()
	case x == one80:
		return Result{Value: zero80(y.neg())}.denormals(cw, y)
	}
	below := x.SE < expBias // x < 1
	switch {
	case cx == infinite || cy == infinite:
		return Result{Value: infinity80(y.neg() != below)}.denormals(cw, x, y)
	case cy == zero:
		return Result{Value: zero80(y.neg() != below)}.denormals(cw, x)
	}
	var r Result
	w := x.wide()
	r.Value, r.Status = log2(w.exp, w.m).internal().mul(y.wide()).round(cw)
	return r.denormals(cw, x, y)
}

// fyl2xp1 is Fyl2xp1 with all bits.
func fyl2xp1(y, x F80, cw uint16) Result {
	cx, cy := x.class(), y.class()
	switch {
	case cx >= nan || cy >= nan:
		return quieten(x, y)
	case cx == infinite && (x.neg() || cy == zero), cx == zero && cy == infinite:
		return invalid()
	case cx == infinite, cy == infinite:
		return Result{Value: infinity80(x.neg() != y.neg())}.denormals(cw, x, y)
	case cx == zero, cy == zero:
		return Result{Value: zero80(x.neg() != y.neg())}.denormals(cw, x, y)
	}
	if x.neg() && x.SE&^negative >= expBias { // x <= -1: the SDM says nothing
		return Result{Value: x, Status: PE}.denormals(cw, y)
	}
	var r Result
	r.Value, r.Status = log2p1(x.wide()).internal().mul(y.wide()).round(cw)
	return r.denormals(cw, x, y)
}

// log2p1 returns log2(1+x).
func log2p1(x wide) wide {
	switch {
	case x.exp < smallest:
		return x.mul(log2eInternal)
	case x.exp >= -3:
		return log2p1Large(x)
	}
	return log2NearOne(x, wide{exp: 1, m: one}.add(x))
}

// log2NearOne returns log2(1+num) for den = 2+num and num between -1/8 and
// 1/8, with the errors the reference makes: it computes the first term of
// log2(1+num) = 2/ln2 * (num/den + (num/den)^3 / 3 + ...) to 67 bits.
func log2NearOne(num, den wide) wide {
	first := num.mul(twoLog2eInternal).internal().div(den.internal()).internal()
	s := num.div(den)
	z := s.mul(s).fixed(127)
	return first.add(first.mul(makeWide(false, 0, z.mul(atanhRest().sum(z, false)))))
}

// log2p1Large returns log2(1+x) for |x| >= 1/8 and x > -1.
func log2p1Large(x wide) wide {
	switch {
	case x.exp > 126:
		return log2(x.exp, x.m)
	case x.neg:
		w := makeWide(false, 0, one.sub(x.m.shr(uint(-x.exp))))
		return log2(w.exp, w.m)
	}
	// 126-n bits after the point are enough for the sum not to overflow.
	n := max(x.exp, 0)
	sum := x.m.shr(uint(n - x.exp + 1)).add(one.shr(uint(n + 1)))
	w := makeWide(false, n+1, sum)
	return log2(w.exp, w.m)
}

// log2 returns the logarithm of m * 2^exp, which is not 1. 127 bits of m follow
// the point.
func log2(exp int, m u128) wide {
	switch {
	case exp == 0 && m.hi < 0x9<<60: // below 9/8
		num := m.sub(one)
		return log2NearOne(makeWide(false, 0, num), makeWide(false, 1, one.add(num.shr(1))))
	case exp == -1 && m.hi >= 0xe<<60: // from 7/8
		num := u128{}.sub(m)
		return log2NearOne(makeWide(true, -1, num), makeWide(false, 1, one.sub(num.shr(2))))
	}
	// The reference takes the logarithm of 1 for just above zero.
	frac := wide{exp: -200, m: one}
	if m != one {
		i := int(m.hi >> 58 & 31)
		frac = logarithms()[i].add(logarithmFrom(m, centre(i)))
	}
	if exp == 0 {
		return frac
	}
	return makeWide(exp < 0, 127, u128{lo: uint64(max(exp, -exp))}).add(frac)
}

// logarithms has log2 of the centre of each 32nd of [1, 2).
var logarithms = sync.OnceValue(makeLogarithms)

// centre is the middle of the i-th 32nd of [1, 2).
func centre(i int) u128 { return u128{hi: uint64(2*i+65) << 57} }

func makeLogarithms() *[32]wide {
	var t [32]wide
	sum, before := wide{}, one
	for i := range t {
		sum = sum.add(logarithmFrom(centre(i), before))
		t[i], before = sum, centre(i)
	}
	return &t
}

// logarithmFrom returns log2(m/c) = 2/ln2 * atanh((m-c) / (m+c)) for m and c in [1, 2) that are less than 1/31 apart.
func logarithmFrom(m, c u128) wide {
	neg := m.less(c)
	if neg {
		m, c = c, m
	}
	s := makeWide(neg, 0, m.sub(c)).div(makeWide(false, 1, m.shr(1).add(c.shr(1))))
	sum := atanSeries().sum(s.mul(s).fixed(127), false)
	r := makeWide(s.neg, s.exp+1, s.m.mul128(sum)).mul(log2e)
	r.exp++
	return r
}

package soft

import (
	"slices"
	"sync"
)

// The routines are in trig_amd64.s, exp_amd64.s, atan_amd64.s and log_amd64.s: in general registers alone, so that
// generated code can call them.

// The addresses of the routines, in each file's order.
var (
	sineEntries [4]uintptr
	expEntries  [1]uintptr
	atanEntries [1]uintptr
	logEntries  [2]uintptr

	routineEntries = slices.Concat(sineEntries[:], expEntries[:], atanEntries[:], logEntries[:]) // in the order of Routine
)

// Address returns the address of f's routine. It is called with ST(0) in R8 and R9, ST(1) in R10 and R11: the
// significand, and sign and exponent. It leaves RSP and RBP alone, and loses all other general registers and the flags.
// RAX is 0 if there is no result. Otherwise the result is the sum, rounded, of R8 and R9, an F80, and R10, a float64
// less than a unit of R8's last place; a second result, which is to be pushed, is the sum of R11 and R12, and R13.
func (f Routine) Address() uintptr {
	fillTables()
	return routineEntries[f]
}

// routineTables is what the routines read. Numbers are fractions of 2^64 or, in two words with the upper one first,
// of 2^128.
type routineTables struct {
	// sines has sine and cosine for the 64ths of 1, each with what it changes by, and the error that the reference
	// makes there.
	sines [51][2]struct{ base, slope u128 }
	// The series of 1 - sin(d)/d and of 1 - (1-cos(d))/(d^2/2), from the last coefficient on, for d^2 = z * 2^-12,
	// with 14 and 15 more bits behind the point.
	sine   [4]uint64
	cosine [4]uint64

	// powers has 2^s - 1 with 127 bits after the point, with the reference's error, and 2^s * ln2/2, for the begins s
	// of intervals: 64 from 1/4 to 1, and as many from -1/4 to -1.
	powers      [128]struct{ less1, slope u128 }
	ln2         u128
	ln2Internal u128
	// The series of (e^t-1)/t - 1, for t = z * 2^-6, with 6 bits more behind the point; and from t^2 on that of
	// 2*(e^t-1-t)/t^2, for t = z * 2^-2, with 7 bits more. Coefficients of even and of odd powers are apart.
	exp     [2][4]uint64
	expRest [2][6]uint64

	// arctans has atan(k/32), as the reference has it.
	arctans [33]u128
	pi      u128 // with 126 bits after the point
	// The series of 1 - atan(t)/t, for t^2 = z * 2^-12, with 13 bits more behind the point, and for t^2 = z * 2^-8,
	// with 9 more.
	atan      [5]uint64
	atanSmall [8]uint64

	// logs has, for each 128th of [1, 2), its inverse with 16 bits after the point, rounded up, and the logarithm that
	// is to be added, with 112.
	logs [128]struct {
		inverse uint64
		log2    u128
	}
	log2e         u128 // with 127 bits after the point
	log2eInternal u128
	// The series of 1 - ln(1+u)/u, for u = z * 2^-6, with 6 bits more behind the point; and from s^4 on that of
	// atanh(s)/s, for s^2 = z * 2^-6, with 14 bits more.
	log       [9]uint64
	atanhRest [8]uint64
}

var tables routineTables

// fillTables makes the tables.
var fillTables = sync.OnceFunc(func() {
	for i := range tables.sines {
		b := makeWide(false, 127-6, u128{lo: uint64(i)})
		for q := range 2 {
			base, e := exactSine(b, q), wide{}
			if i >= 16 { // from 1/4 on
				e = sineErrors()[q][breakpoint(b)]
			}
			tables.sines[i][q].base = base.add(e).fraction()
			tables.sines[i][q].slope = exactSine(b, q^1).fraction()
		}
	}
	fillSeries(tables.sine[:], func(k int) uint64 { return coefficient(2-12*k, inverseFactorial()[2*k+3]) })
	fillSeries(tables.cosine[:], func(k int) uint64 { return coefficient(4-12*k, inverseFactorial()[2*k+4]) })
	fillPowers()
	fillArctans()
	fillLogs()
})

// fillSeries stores coefficients from the last one on.
func fillSeries(to []uint64, coefficient func(k int) uint64) {
	for k := range to {
		to[len(to)-1-k] = coefficient(k)
	}
}

// fillPowers makes the tables of F2XM1.
func fillPowers() {
	tables.ln2, tables.ln2Internal = ln2.fraction(), ln2Internal.fraction()
	for odd := range 2 {
		fillSeries(tables.exp[odd][:], func(k int) uint64 { return coefficient(-6*(2*k+odd), inverseFactorial()[2*k+odd+2]) })
		fillSeries(tables.expRest[odd][:], func(k int) uint64 { return coefficient(4-2*(2*k+odd), inverseFactorial()[2*k+odd+4]) })
	}
	for i := range tables.powers {
		n, exp, neg := 32+i%32, i/32%2-2, i >= 64
		at := powers()[breakpoint16(wide{neg, exp, u128{hi: uint64(n) << 58}})]
		e := at.less1.add(expm1(at.x.mul(ln2)).negated())
		if neg {
			n++
		}
		less1 := expm1(makeWide(neg, 127-5+exp, u128{lo: uint64(n)}).mul(ln2))
		slope := less1.add(wide{m: one}).mul(ln2)
		slope.exp--
		tables.powers[i].slope = slope.fraction()
		tables.powers[i].less1 = less1.add(e).signed()
	}
}

// fillArctans makes the tables of FPATAN.
func fillArctans() {
	tables.pi = pi.nearest().m
	for k, a := range arctans() {
		tables.arctans[k] = a.fraction()
	}
	fillSeries(tables.atan[:], func(k int) uint64 { return coefficient(1-12*k, inverse()[2*k+3]) })
	fillSeries(tables.atanSmall[:], func(k int) uint64 { return coefficient(1-8*k, inverse()[2*k+3]) })
}

// fillLogs makes the tables of FYL2X and FYL2XP1.
func fillLogs() {
	tables.log2e, tables.log2eInternal = log2e.m, log2eInternal.m
	fillSeries(tables.log[:], func(k int) uint64 { return coefficient(-6*k, inverse()[k+2]) })
	fillSeries(tables.atanhRest[:], func(k int) uint64 { return coefficient(2-6*k, inverse()[2*k+5]) })
	for i := range uint64(len(tables.logs)) {
		t := &tables.logs[i]
		t.inverse = (1<<16*128 + 128 + i - 1) / (128 + i)
		if i > 0 {
			m := makeWide(false, 127+16, u128{lo: 1}).div(makeWide(false, 127, u128{lo: t.inverse})).m
			j := int(m.hi >> 58 & 31)
			t.log2 = logarithms()[j].add(logarithmFrom(m, centre(j))).fixed(112)
		}
	}
}

// signed returns a, of (-1, 1), with 127 bits after the point.
func (a wide) signed() u128 {
	if a.neg {
		return u128{}.sub(a.fixed(127))
	}
	return a.fixed(127)
}

// fraction returns a, of [0, 1), as a fraction of 2^128, 1 as the next smaller one.
func (a wide) fraction() u128 {
	if a.exp >= 0 && !a.m.isZero() {
		return u128{^uint64(0), ^uint64(0)}
	}
	return a.m.shr(uint(-1 - a.exp))
}

// coefficient returns c * 2^n, which is below 1, as a fraction of 2^64; c has 127 bits after the point.
func coefficient(n int, c u128) uint64 {
	if n >= 0 {
		return c.shl(uint(n + 1)).hi
	}
	return c.shr(uint(-n)).shl(1).hi
}

// routineResults is what a routine leaves in R8 to R13.
type routineResults [2]struct {
	mant, se uint64
	rest     uint64 // of a float64
}

//go:noescape
func callRoutine(entry uintptr, x, y F80, r *routineResults) (ok bool)

// fromRoutine returns the result of f's routine.
func fromRoutine(f Routine, y, x F80, cw uint16) (Result, bool) {
	var q routineResults
	if cw&^routineIgnored != routineControl || !callRoutine(f.Address(), x, y, &q) {
		return Result{}, false
	}
	r := Result{Status: PE}
	var up bool
	r.Value, up = rounded80(q[0].mant, q[0].se, q[0].rest)
	if f == RoutineSincos || f == RoutineTan {
		r.Pushed, up = rounded80(q[1].mant, q[1].se, q[1].rest)
	}
	if up {
		r.Status |= C1
	}
	return r, true
}

// rounded80 returns the sum of a number and 3/8 or 3/4 of a unit of its last place, rounded to nearest, and whether it
// became larger.
func rounded80(mant, se, rest uint64) (F80, bool) {
	up := int(rest>>52&0x7ff)-1023 == int(se&^negative)-expBias-64
	if up {
		if mant++; mant == 0 {
			mant, se = integer, se+1
		}
	}
	return F80{mant, uint16(se)}, up
}

package soft

import (
	"math/bits"
	"sync"
)

// A series is a power series with positive coefficients, none above the one before. Its sum is right to seriesBits:
// terms that are smaller do not count, and of small ones the first bits are enough.
type series struct {
	// c has the coefficients from the last one down, with 127 bits after the point.
	c []u128
	// upper has the first bits of each.
	upper []upperBits
	// parts says by the leading zeros of z behind the point which terms a sum takes: from the first bits those from
	// start on, from middle on whole ones.
	parts [65]struct{ start, middle int }
}

// upperBits are the first 63 bits of a coefficient.
type upperBits struct {
	m     uint64
	zeros uint // leading zeros of the coefficient
	less  uint // how many more of them the coefficient in front has
}

// A sum is off by less than 2^-seriesBits, a term from the first bits, which is rounded three times, by less than
// 2^-upperRight of itself.
const (
	seriesBits = 115
	upperRight = 59
)

// The series that functions are made of, made when they are used first.
var (
	sineSeries   = sync.OnceValue(func() *series { return newSeries(inverseFactorial(), 1, 2) }) // sum of z^k / (2k+1)!
	cosineSeries = sync.OnceValue(func() *series { return newSeries(inverseFactorial(), 0, 2) }) // sum of z^k / (2k)!
	expSeries    = sync.OnceValue(func() *series { return newSeries(inverseFactorial(), 1, 1) }) // sum of z^k / (k+1)!
	atanSeries   = sync.OnceValue(func() *series { return newSeries(inverse(), 1, 2) })          // sum of z^k / (2k+1), atanh's, too
	atanhRest    = sync.OnceValue(func() *series { return newSeries(inverse(), 3, 2) })          // sum of z^k / (2k+3)
)

// newSeries returns the series of the coefficients c[first], c[first+step], ...
func newSeries(c *[tableSize]u128, first, step int) *series {
	s := &series{}
	before := uint(0)
	for at := first + (len(c)-1-first)/step*step; at >= first; at -= step {
		zeros := c[at].leadingZeros()
		s.c = append(s.c, c[at])
		s.upper = append(s.upper, upperBits{c[at].shl(zeros).hi >> 1, zeros, before - zeros})
		before = zeros
	}
	for n := range s.parts {
		// from returns where terms begin that have one among so many bits, the last of all at the latest. The k-th is
		// below 2^(1-zeros-k*n).
		from := func(bits int) int {
			at := len(s.c) - 1
			for at > 0 && int(s.upper[at-1].zeros)+(len(s.c)-at)*n <= bits {
				at--
			}
			return at
		}
		s.parts[n].start = from(seriesBits + 1)
		s.parts[n].middle = from(seriesBits - upperRight)
	}
	return s
}

// sum returns the sum of c[k] * z^k over k = 0, 1, ..., with the sign of odd powers changed if alternating: numbers
// with 127 bits after the point, z below 1.
func (s *series) sum(z u128, alternating bool) u128 {
	sign := uint64(0)
	if alternating {
		sign = ^uint64(0)
	}
	z = z.shl(1)
	p := &s.parts[bits.LeadingZeros64(z.hi)]
	sum, whole := s.c[p.start], s.c[p.middle:]
	if upper := s.upper[p.start:p.middle]; len(upper) > 0 {
		part, zeros := upper[0].m, upper[0].zeros
		for _, u := range upper[1:] {
			term, _ := bits.Mul64(z.hi, part)
			part = u.m + (term>>(u.less&63) ^ sign) + sign&1
			zeros = u.zeros
		}
		sum = u128{hi: part}.shr(zeros - 1)
	} else {
		whole = whole[1:]
	}
	for _, c := range whole {
		hi, mid := bits.Mul64(z.hi, sum.hi)
		h1, _ := bits.Mul64(z.hi, sum.lo)
		h2, _ := bits.Mul64(z.lo, sum.hi)
		mid, c1 := bits.Add64(mid, h1, 0)
		mid, c2 := bits.Add64(mid, h2, 0)
		hi += c1 + c2
		// The complement plus one is the negative.
		lo, carry := bits.Add64(c.lo, mid^sign, sign&1)
		sum.lo = lo
		sum.hi, _ = bits.Add64(c.hi, hi^sign, carry)
	}
	return sum
}

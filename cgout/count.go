package cgout

import (
	"math"
	"math/big"
	"strconv"
)

// A Count is an integer without bounds. The zero value is 0. Counts are values:
// no method changes its receiver.
type Count struct {
	n   int64
	big *big.Int // nil when n holds the value; never a value that n could hold
}

// NewCount returns n as a Count.
func NewCount(n int64) Count { return Count{n: n} }

// NewCountUint64 returns n as a Count.
func NewCountUint64(n uint64) Count {
	if n <= math.MaxInt64 {
		return Count{n: int64(n)}
	}
	return Count{big: new(big.Int).SetUint64(n)}
}

// Int64 returns c, and whether it fits.
func (c Count) Int64() (int64, bool) { return c.n, c.big == nil }

// Uint64 returns c, and whether it fits.
func (c Count) Uint64() (uint64, bool) {
	if c.big == nil {
		return uint64(c.n), c.n >= 0
	}
	return c.big.Uint64(), c.big.IsUint64()
}

// Big returns c as a big.Int, which the caller must not change.
func (c Count) Big() *big.Int {
	if c.big != nil {
		return c.big
	}
	return big.NewInt(c.n)
}

// norm returns b in the form Count demands. It takes b over.
func norm(b *big.Int) Count {
	if b.IsInt64() {
		return Count{n: b.Int64()}
	}
	return Count{big: b}
}

// Add returns c + d.
func (c Count) Add(d Count) Count {
	if c.big == nil && d.big == nil {
		// Overflow iff both operands differ in sign from the sum.
		if s := c.n + d.n; (c.n^s)&(d.n^s) >= 0 {
			return Count{n: s}
		}
	}
	return norm(new(big.Int).Add(c.Big(), d.Big()))
}

// Neg returns -c.
func (c Count) Neg() Count {
	if c.big == nil && c.n != math.MinInt64 {
		return Count{n: -c.n}
	}
	return norm(new(big.Int).Neg(c.Big()))
}

// Sub returns c - d.
func (c Count) Sub(d Count) Count { return c.Add(d.Neg()) }

// Abs returns the absolute value of c.
func (c Count) Abs() Count {
	if c.Sign() < 0 {
		return c.Neg()
	}
	return c
}

// Sign returns -1, 0 or 1.
func (c Count) Sign() int {
	switch {
	case c.big != nil:
		return c.big.Sign()
	case c.n < 0:
		return -1
	case c.n > 0:
		return 1
	}
	return 0
}

// Cmp returns -1, 0 or 1 as c is less than, equal to or greater than d.
func (c Count) Cmp(d Count) int {
	if c.big != nil || d.big != nil {
		return c.Big().Cmp(d.Big())
	}
	switch {
	case c.n < d.n:
		return -1
	case c.n > d.n:
		return 1
	}
	return 0
}

// String returns c in decimal.
func (c Count) String() string {
	if c.big != nil {
		return c.big.String()
	}
	return strconv.FormatInt(c.n, 10)
}

// Append appends c in decimal to b.
func (c Count) Append(b []byte) []byte {
	if c.big != nil {
		return c.big.Append(b, 10)
	}
	return strconv.AppendInt(b, c.n, 10)
}

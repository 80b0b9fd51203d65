package soft

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// quotientByBits is quotient as at school.
func (a u128) quotientByBits(b u128) u128 {
	var q u128
	over := uint64(0) // bit 128 of the remainder a
	for range 128 {
		q = q.shl(1)
		if over != 0 || !a.less(b) {
			a = a.sub(b)
			q.lo |= 1
		}
		over = a.hi >> 63
		a = a.shl(1)
	}
	return q
}

// byHalfPiByBits is byHalfPi of m * 2^shift.
func byHalfPiByBits(m uint64, shift int) (n int, rem u128) {
	rem = u128{lo: m}
	for ; ; shift-- {
		n = n << 1 & 3
		if !rem.less(halfPi) {
			rem = rem.sub(halfPi)
			n |= 1
		}
		if shift == 0 {
			return n, rem
		}
		rem = rem.shl(1)
	}
}

// checkQuick compares what is quick with what is plain, for operands made of any a and b.
func checkQuick(t *testing.T, a, b u128, shift int) {
	b.hi |= 1 << 63
	if half := a.shr(1); half.less(b) {
		require.Equal(t, a.quotientByBits(b), a.quotient(b), "%x / %x", a, b)
	}
	n, rem := byHalfPiByBits(b.hi, shift)
	gotN, gotRem := u128{lo: b.hi}.shl(uint(shift)).byHalfPi()
	require.Equal(t, n, gotN, "%x << %d", b.hi, shift)
	require.Equal(t, rem, gotRem, "%x << %d", b.hi, shift)
}

// digits returns a digit that is often next to a carry.
func digits(r *rand.Rand) uint64 {
	switch r.IntN(4) {
	case 0:
		return uint64(r.IntN(3) - 1)
	case 1:
		return 1<<63 + uint64(r.IntN(3)-1)
	case 2:
		return r.Uint64() >> r.IntN(64)
	}
	return r.Uint64()
}

func TestQuickOperations(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 100_000 {
		a, b := u128{digits(r), digits(r)}, u128{digits(r), digits(r)}
		if r.IntN(8) == 0 {
			b.hi, a.hi = a.hi|1<<63, a.hi|1<<63
		}
		checkQuick(t, a, b, r.IntN(65))
	}
}

func FuzzQuickOperations(f *testing.F) {
	f.Add(uint64(1), uint64(0), uint64(3), uint64(1), uint8(64))
	f.Fuzz(func(t *testing.T, ah, al, bh, bl uint64, shift uint8) {
		checkQuick(t, u128{ah, al}, u128{bh, bl}, int(shift)%65)
	})
}

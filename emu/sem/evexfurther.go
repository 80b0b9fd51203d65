package sem

import (
	"math/bits"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
)

// What CPUs with AVX-512 have beyond F, CD, BW, DQ and VL since Ice Lake and Zen 4: IFMA, VBMI, VBMI2, VNNI, BITALG,
// VPOPCNTDQ, VAES, VPCLMULQDQ.

// multiplyAdd52Low is VPMADD52LUQ: the lower half of a product of numbers of 52 bits is added. multiplyAdd52High adds
// the upper half.
func multiplyAdd52Low(_ *guest.Insn, sum, a, b *wide) (v wide) {
	for i := range v {
		v[i] = sum[i] + a[i]*b[i]&(1<<52-1)
	}
	return v
}

func multiplyAdd52High(_ *guest.Insn, sum, a, b *wide) (v wide) {
	for i := range v {
		high, low := bits.Mul64(a[i]&(1<<52-1), b[i]&(1<<52-1))
		v[i] = sum[i] + (high<<12 | low>>52)
	}
	return v
}

// dotProducts returns what VPDPBUSD and its kin do: products of parts of doublewords are added to doublewords; or up to
// what they hold.
func dotProducts(products func(a, b uint32) int64, saturates bool) func(g *guest.Insn, sum, a, b *wide) wide {
	return func(_ *guest.Insn, sum, a, b *wide) (v wide) {
		for i := range 16 {
			s := int64(int32(sum.element(i, 4))) + products(uint32(a.element(i, 4)), uint32(b.element(i, 4)))
			if saturates {
				s = min(max(s, -1<<31), 1<<31-1)
			}
			v.setElement(i, 4, uint64(s))
		}
		return v
	}
}

// fourProducts adds the products of bytes without sign by bytes with one, twoProducts those of words.
func fourProducts(a, b uint32) (s int64) {
	for i := 0; i < 32; i += 8 {
		s += int64(uint8(a>>i)) * int64(int8(b>>i))
	}
	return s
}

func twoProducts(a, b uint32) int64 {
	return int64(int16(a))*int64(int16(b)) + int64(int16(a>>16))*int64(int16(b>>16))
}

// onesOf returns a function that counts the ones of each element of size bytes of a word.
func onesOf(size int) func(uint64) uint64 {
	return func(x uint64) (r uint64) {
		for i := 0; i < 64; i += 8 * size {
			r |= uint64(bits.OnesCount64(truncate(x>>i, uint8(size)))) << i
		}
		return r
	}
}

// selectBits implements VPSHUFBITQMB: each byte of the second source numbers a bit of the word of the first one that
// stands in its place.
func (m *Machine) selectBits(c *emu.CPU, g *guest.Insn) *emu.Fault {
	a, b, fault := m.wideArgs(c, g)
	if fault != nil {
		return fault
	}
	var k uint64
	for i := range g.VectorLen() {
		k |= a[i/8] >> (b.element(i, 1) & 63) & 1 << i
	}
	return concludeMask(c, g, k)
}

// multishift is VPMULTISHIFTQB: each byte of control is the place of eight bits of x, as if its ends met.
func multishift(control, x uint64) (r uint64) {
	for i := 0; i < 64; i += 8 {
		r |= bits.RotateLeft64(x, -int(control>>i&63)) & 0xff << i
	}
	return r
}

// Double shifts of elements of size bytes: bits come from b.

func doubleShiftLeft(a, b, n uint64, size int) uint64 {
	width := uint64(8 * size)
	n &= width - 1
	return a<<n | b>>1>>(width-1-n)
}

func doubleShiftRight(a, b, n uint64, size int) uint64 {
	width := uint64(8 * size)
	n &= width - 1
	return a>>n | b<<1<<(width-1-n)
}

// doubleShift returns the semantics of VPSHLDD and its kin, which shift by an immediate, and doubleShiftEach those of
// VPSHLDVD and its kin.
func doubleShift(size int, f func(a, b, n uint64, size int) uint64) semantics {
	return evexVectors(func(g *guest.Insn, a, b *wide) (v wide) {
		for i := range g.VectorLen() / size {
			v.setElement(i, size, f(a.element(i, size), b.element(i, size), uint64(uint8(g.Imm)), size))
		}
		return v
	})
}

func doubleShiftEach(size int, f func(a, b, n uint64, size int) uint64) semantics {
	return evexThree(func(g *guest.Insn, result, a, b *wide) (v wide) {
		for i := range g.VectorLen() / size {
			v.setElement(i, size, f(result.element(i, size), a.element(i, size), b.element(i, size), size))
		}
		return v
	})
}

func evexFurtherRows() rows {
	return rows{
		x86.VPMADD52LUQ: {evex: evexThree(multiplyAdd52Low)}, x86.VPMADD52HUQ: {evex: evexThree(multiplyAdd52High)},
		x86.VPDPBUSD: {evex: evexThree(dotProducts(fourProducts, false))}, x86.VPDPBUSDS: {evex: evexThree(dotProducts(fourProducts, true))},
		x86.VPDPWSSD: {evex: evexThree(dotProducts(twoProducts, false))}, x86.VPDPWSSDS: {evex: evexThree(dotProducts(twoProducts, true))},
		x86.VPOPCNTB: {evex: evexEachWord(onesOf(1))}, x86.VPOPCNTW: {evex: evexEachWord(onesOf(2))},
		x86.VPOPCNTD: {evex: evexEachWord(onesOf(4))}, x86.VPOPCNTQ: {evex: evexEachWord(onesOf(8))},
		x86.VPSHUFBITQMB: {evex: (*Machine).selectBits}, x86.VPMULTISHIFTQB: {evex: evexWords(multishift)},
		x86.VPCOMPRESSB: {evex: (*Machine).compress}, x86.VPCOMPRESSW: {evex: (*Machine).compress},
		x86.VPEXPANDB: {evex: (*Machine).expand}, x86.VPEXPANDW: {evex: (*Machine).expand},

		x86.VPSHLDW: {evex: doubleShift(2, doubleShiftLeft)}, x86.VPSHLDD: {evex: doubleShift(4, doubleShiftLeft)}, x86.VPSHLDQ: {evex: doubleShift(8, doubleShiftLeft)},
		x86.VPSHRDW: {evex: doubleShift(2, doubleShiftRight)}, x86.VPSHRDD: {evex: doubleShift(4, doubleShiftRight)}, x86.VPSHRDQ: {evex: doubleShift(8, doubleShiftRight)},
		x86.VPSHLDVW: {evex: doubleShiftEach(2, doubleShiftLeft)}, x86.VPSHLDVD: {evex: doubleShiftEach(4, doubleShiftLeft)}, x86.VPSHLDVQ: {evex: doubleShiftEach(8, doubleShiftLeft)},
		x86.VPSHRDVW: {evex: doubleShiftEach(2, doubleShiftRight)}, x86.VPSHRDVD: {evex: doubleShiftEach(4, doubleShiftRight)}, x86.VPSHRDVQ: {evex: doubleShiftEach(8, doubleShiftRight)},

		x86.VAESENC: {evex: evexTwoLanes(encryptRound)}, x86.VAESENCLAST: {evex: evexTwoLanes(encryptLast)},
		x86.VAESDEC: {evex: evexTwoLanes(decryptRound)}, x86.VAESDECLAST: {evex: evexTwoLanes(decryptLast)},
		x86.VPCLMULQDQ: {evex: evexLanes(multiplyCarryless, 0)},
	}
}

package sem

import (
	"hash/crc32"
	"math/bits"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
)

// AES works on a lane as four columns of four bytes (FIPS 197).

// substitutes and restores are the S-box of AES and its inverse.
var substitutes, restores = makeBoxes()

// mixed and unmixed have what MixColumns and InvMixColumns make of a column of which the first byte alone is not 0.
// Another byte makes the same, rotated.
var mixed, unmixed = makeColumns(2, 1, 1, 3), makeColumns(14, 9, 13, 11)

// makeBoxes computes the S-box, which takes a byte to its inverse in GF(2⁸), and that to an affine function of it (FIPS
// 197, 5.1.1).
func makeBoxes() (box, inverse [256]byte) {
	for x := range 256 {
		b := inverses[x]
		s := b ^ bits.RotateLeft8(b, 1) ^ bits.RotateLeft8(b, 2) ^ bits.RotateLeft8(b, 3) ^ bits.RotateLeft8(b, 4) ^ 0x63
		box[x], inverse[s] = s, byte(x)
	}
	return box, inverse
}

// makeColumns returns the products of all bytes and a column, the first of which is in the lowest byte.
func makeColumns(by ...byte) (columns [256]uint32) {
	for x := range columns {
		for i, k := range by {
			columns[x] |= uint32(multiplyGF(byte(x), k)) << (8 * i)
		}
	}
	return columns
}

// inverses are those of GF(2⁸), and 0 for 0.
var inverses = makeInverses()

// makeInverses computes them: the powers of 3 are all but 0.
func makeInverses() (of [256]byte) {
	x, inverse := byte(1), byte(1)
	for range 255 {
		of[x] = inverse
		x, inverse = multiplyGF(x, 3), multiplyGF(inverse, 0xf6) // 1/3
	}
	return of
}

// multiplyGF multiplies in GF(2⁸), modulo x⁸+x⁴+x³+x+1.
func multiplyGF(a, b byte) (r byte) {
	for ; b != 0; b >>= 1 {
		if b&1 != 0 {
			r ^= a
		}
		a = a<<1 ^ a>>7*0x1b
	}
	return r
}

// substituteRows moves row r by r·by columns, and each byte through box. by is 1 to encrypt, 3 to decrypt.
func substituteRows(l lane, by int, box *[256]byte) lane {
	from := l.bytes()
	var to [16]byte
	for i := range to {
		to[i] = box[from[(i+4*by*(i%4))&15]]
	}
	return laneOf(&to)
}

// mixColumns multiplies all columns.
func mixColumns(l lane, columns *[256]uint32) lane {
	return lane{mixTwoColumns(l.low, columns), mixTwoColumns(l.high, columns)}
}

func mixTwoColumns(x uint64, columns *[256]uint32) uint64 {
	return uint64(mixColumn(uint32(x), columns)) | uint64(mixColumn(uint32(x>>32), columns))<<32
}

func mixColumn(x uint32, columns *[256]uint32) uint32 {
	return columns[x&0xff] ^ bits.RotateLeft32(columns[x>>8&0xff], 8) ^
		bits.RotateLeft32(columns[x>>16&0xff], 16) ^ bits.RotateLeft32(columns[x>>24], 24)
}

func xorLanes(a, b lane) lane { return lane{a.low ^ b.low, a.high ^ b.high} }

func encryptLast(state, key lane) lane { return xorLanes(substituteRows(state, 1, &substitutes), key) }
func decryptLast(state, key lane) lane { return xorLanes(substituteRows(state, 3, &restores), key) }
func unmixColumns(l lane) lane         { return mixColumns(l, &unmixed) }

func encryptRound(state, key lane) lane {
	return xorLanes(mixColumns(substituteRows(state, 1, &substitutes), &mixed), key)
}

func decryptRound(state, key lane) lane {
	return xorLanes(mixColumns(substituteRows(state, 3, &restores), &unmixed), key)
}

// assistKey is AESKEYGENASSIST: columns 1 and 3 through the S-box, and that rotated and with imm added.
func assistKey(l lane, imm uint8) lane {
	half := func(column uint64) uint64 {
		var s uint32
		for i := 0; i < 32; i += 8 {
			s |= uint32(substitutes[column>>i&0xff]) << i
		}
		return uint64(s) | uint64(bits.RotateLeft32(s, -8)^uint32(imm))<<32
	}
	return lane{half(l.low >> 32), half(l.high >> 32)}
}

// multiplyCarryless is PCLMULQDQ: the product of a word of a by one of b, as polynomials over GF(2).
func multiplyCarryless(a, b lane, imm uint8) (r lane) {
	x, y := a.word(imm&1), b.word(imm>>4&1)
	for ; y != 0; y &= y - 1 {
		i := bits.TrailingZeros64(y)
		r.low ^= x << i
		r.high ^= x >> (64 - i)
	}
	return r
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// crc implements CRC32: a checksum that is not inverted, as it is elsewhere, takes in one to eight bytes.
func (m *Machine) crc(c *emu.CPU, g *guest.Insn) *emu.Fault {
	x, fault := m.get(c, g, 1)
	if fault != nil {
		return fault
	}
	sum := &c.Regs[g.Args[0].Reg]
	*sum &= 0xffffffff
	for range g.Args[1].Size {
		*sum = uint64(castagnoli[uint8(*sum)^uint8(x)]) ^ *sum>>8
		x >>= 8
	}
	return nil
}

func cryptoRows() parts {
	return join(
		both(x86.AESENC, x86.VAESENC, lanes(encryptRound)), both(x86.AESENCLAST, x86.VAESENCLAST, lanes(encryptLast)),
		both(x86.AESDEC, x86.VAESDEC, lanes(decryptRound)), both(x86.AESDECLAST, x86.VAESDECLAST, lanes(decryptLast)),
		both(x86.AESIMC, x86.VAESIMC, eachLane(unmixColumns)),
		both(x86.AESKEYGENASSIST, x86.VAESKEYGENASSIST, eachLaneBy(assistKey, 0)),
		rows{
			x86.PCLMULQDQ:  {plain: lanesBy(multiplyCarryless, 0), fallback: anyForm},
			x86.VPCLMULQDQ: {plain: lanesBy(multiplyCarryless, 0)},
			x86.CRC32:      {plain: (*Machine).crc},
		},
	)
}

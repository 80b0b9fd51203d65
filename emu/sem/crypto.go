package sem

import (
	"encoding/binary"
	"hash/crc32"
	"math/bits"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
)

// AES works on a lane as four columns of four bytes (FIPS 197).

// substitutes and restores are the S-box of AES and its inverse.
var substitutes, restores = makeBoxes()

// makeBoxes computes them: the S-box takes a byte to its inverse in GF(2⁸), and that to an affine function of it (FIPS 197, 5.1.1).
func makeBoxes() (box, inverse [256]byte) {
	for x := range 256 {
		b := inverseGF(byte(x))
		s := b ^ bits.RotateLeft8(b, 1) ^ bits.RotateLeft8(b, 2) ^ bits.RotateLeft8(b, 3) ^ bits.RotateLeft8(b, 4) ^ 0x63
		box[x], inverse[s] = s, byte(x)
	}
	return box, inverse
}

// inverseGF returns the inverse of x in GF(2⁸), which is x²⁵⁴, and 0 for 0.
func inverseGF(x byte) byte {
	r := byte(1)
	for range 7 {
		x = multiplyGF(x, x)
		r = multiplyGF(r, x)
	}
	return r
}

// multiplyGF multiplies in GF(2⁸), modulo x⁸+x⁴+x³+x+1.
func multiplyGF(a, b byte) (r byte) {
	for ; b != 0; b >>= 1 {
		if b&1 != 0 {
			r ^= a
		}
		a = doubleGF(a)
	}
	return r
}

// doubleGF multiplies by x.
func doubleGF(a byte) byte { return a<<1 ^ a>>7*0x1b }

// substituteRows moves row r of the columns by r·by columns, and each byte through box. by is 1 to encrypt, 3 to decrypt.
func substituteRows(l lane, by int, box *[256]byte) lane {
	from := l.bytes()
	var to [16]byte
	for i := range to {
		to[i] = box[from[(i+4*by*(i%4))&15]]
	}
	return laneOfBytes(to)
}

// mixColumns multiplies each column by the polynomial with coefficients k, the lowest first.
func mixColumns(l lane, k [4]byte) lane {
	from := l.bytes()
	var to [16]byte
	for i := range to {
		column, row := i&^3, i&3
		for j := range 4 {
			to[i] ^= multiplyGF(from[column+j], k[(row-j)&3])
		}
	}
	return laneOfBytes(to)
}

// The polynomials of MixColumns and InvMixColumns.
var (
	mixing   = [4]byte{2, 1, 1, 3}
	unmixing = [4]byte{14, 9, 13, 11}
)

func xorLanes(a, b lane) lane { return lane{a[0] ^ b[0], a[1] ^ b[1]} }

func encryptLast(state, key lane) lane { return xorLanes(substituteRows(state, 1, &substitutes), key) }
func decryptLast(state, key lane) lane { return xorLanes(substituteRows(state, 3, &restores), key) }
func unmixColumns(l lane) lane         { return mixColumns(l, unmixing) }

func encryptRound(state, key lane) lane {
	return xorLanes(mixColumns(substituteRows(state, 1, &substitutes), mixing), key)
}

func decryptRound(state, key lane) lane {
	return xorLanes(mixColumns(substituteRows(state, 3, &restores), unmixing), key)
}

// assistKey is AESKEYGENASSIST: columns 1 and 3 through the S-box, and that rotated and with imm added.
func assistKey(l lane, imm uint8) lane {
	half := func(w uint64) uint64 {
		x := uint32(w >> 32)
		s := uint32(substitutes[x&0xff]) | uint32(substitutes[x>>8&0xff])<<8 | uint32(substitutes[x>>16&0xff])<<16 | uint32(substitutes[x>>24])<<24
		return uint64(s) | uint64(bits.RotateLeft32(s, -8)^uint32(imm))<<32
	}
	return lane{half(l[0]), half(l[1])}
}

// multiplyCarryless is PCLMULQDQ: the product of a word of a by one of b, as polynomials over GF(2).
func multiplyCarryless(a, b lane, imm uint8) (r lane) {
	x, y := a[imm&1], b[imm>>4&1]
	for ; y != 0; y &= y - 1 {
		i := bits.TrailingZeros64(y)
		r[0] ^= x << i
		r[1] ^= x >> (64 - i)
	}
	return r
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// crc implements CRC32, which leaves out that the checksum is inverted before and after.
func (m *Machine) crc(c *emu.CPU, g *guest.Insn) *emu.Fault {
	x, fault := m.get(c, g, 1)
	if fault != nil {
		return fault
	}
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], x)
	to := g.Args[0].Reg
	c.Regs[to] = uint64(^crc32.Update(^uint32(c.Regs[to]), castagnoli, b[:g.Args[1].Size]))
	return nil
}

var cryptoRows = join(
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

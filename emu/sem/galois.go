package sem

import (
	"math/bits"

	"github.com/cgemu/cgemu/emu/x86"
)

// GFNI: bytes as elements of GF(2⁸), which AES has too (SDM Vol. 2, GF2P8MULB and those beside it).

// multiplyGalois is GF2P8MULB.
func multiplyGalois(a, b uint64) (r uint64) {
	for i := 0; i < 64; i += 8 {
		r |= uint64(multiplyGF(uint8(a>>i), uint8(b>>i))) << i
	}
	return r
}

// affine multiplies each byte of x by a matrix of bits, whose first row is its highest byte, and adds imm.
func affine(x, matrix uint64, imm uint8) (r uint64) {
	for i := 0; i < 64; i += 8 {
		b := imm
		for row := range 8 {
			b ^= uint8(bits.OnesCount8(uint8(matrix>>(56-8*row))&uint8(x>>i))&1) << row
		}
		r |= uint64(b) << i
	}
	return r
}

// affineLane is GF2P8AFFINEQB, affineInverse GF2P8AFFINEINVQB.
func affineLane(a, b lane, imm uint8) lane {
	return lane{affine(a.low, b.low, imm), affine(a.high, b.high, imm)}
}

func affineInverse(a, b lane, imm uint8) lane {
	return affineLane(lane{inverseBytes(a.low), inverseBytes(a.high)}, b, imm)
}

func inverseBytes(x uint64) (r uint64) {
	for i := 0; i < 64; i += 8 {
		r |= uint64(inverses[uint8(x>>i)]) << i
	}
	return r
}

func galoisRows() parts {
	return join(
		both(x86.GF2P8MULB, x86.VGF2P8MULB, words(multiplyGalois)),
		both(x86.GF2P8AFFINEQB, x86.VGF2P8AFFINEQB, lanesBy(affineLane, 0)),
		both(x86.GF2P8AFFINEINVQB, x86.VGF2P8AFFINEINVQB, lanesBy(affineInverse, 0)),
		rows{
			x86.VGF2P8MULB: {evex: evexWords(multiplyGalois)}, x86.VGF2P8AFFINEQB: {evex: evexLanes(affineLane, 0)},
			x86.VGF2P8AFFINEINVQB: {evex: evexLanes(affineInverse, 0)},
		},
	)
}

package sem

import (
	"cmp"
	"math/bits"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
)

// Instructions of AVX-512 on integers that have no counterpart in AVX.

// evexElements returns the semantics of an instruction that makes each element of its result of the same elements of
// two sources, all of them of size bytes.
func evexElements(size int, f func(a, b uint64) uint64) semantics {
	return evexVectors(func(g *guest.Insn, a, b *wide) (v wide) {
		for i := range g.VectorLen() / size {
			v.setElement(i, size, f(a.element(i, size), b.element(i, size)))
		}
		return v
	})
}

// predicateHolds reports whether VPCMP's predicate imm holds for numbers that cmp.Compare has ordered (SDM Vol. 2,
// VPCMPD).
func predicateHolds(imm uint8, order int) bool {
	holds := false
	switch imm & 3 {
	case 0:
		holds = order == 0
	case 1:
		holds = order < 0
	case 2:
		holds = order <= 0
	}
	return holds != (imm&4 != 0)
}

// compareUnsigned and compareSigned are VPCMPU's and VPCMP's comparisons of elements of size bytes.
func compareUnsigned(a, b uint64, _ int, imm uint8) bool {
	return predicateHolds(imm, cmp.Compare(a, b))
}

func compareSigned(a, b uint64, size int, imm uint8) bool {
	return predicateHolds(imm, cmp.Compare(int64(signed(a, uint8(size))), int64(signed(b, uint8(size)))))
}

// isEqual and isGreater are VPCMPEQ and VPCMPGT, hasCommon and hasNoCommon VPTESTM and VPTESTNM.
func isEqual(a, b uint64, _ int, _ uint8) bool { return a == b }
func isGreater(a, b uint64, size int, _ uint8) bool {
	return int64(signed(a, uint8(size))) > int64(signed(b, uint8(size)))
}
func hasCommon(a, b uint64, _ int, _ uint8) bool   { return a&b != 0 }
func hasNoCommon(a, b uint64, _ int, _ uint8) bool { return a&b == 0 }

// evexCompares returns the semantics of an instruction that makes a mask: a bit says whether f holds for elements of
// two sources, which have size bytes.
func evexCompares(f func(a, b uint64, size int, imm uint8) bool) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		a, b, fault := m.wideArgs(c, g)
		if fault != nil {
			return fault
		}
		size, k := g.ElementSize(lastSource(g)), uint64(0)
		for i := range g.Elements() {
			if f(a.element(i, size), b.element(i, size), size, uint8(g.Imm)) {
				k |= 1 << i
			}
		}
		return concludeMask(c, g, k)
	}
}

// signsToMask returns the semantics of VPMOVB2M and its kin: the highest bits of elements of size bytes become a mask.
func signsToMask(size int) semantics {
	return func(_ *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		v, k := wideReg(c.FP, g.Args[1].Reg, g.VectorLen()), uint64(0)
		for i := range g.VectorLen() / size {
			k |= v.element(i, size) >> (8*size - 1) << i
		}
		setMaskReg(c.FP, g.Args[0].Reg, k)
		return nil
	}
}

// maskToElements returns the semantics of VPMOVM2B and its kin: elements of size bytes are ones where a mask's bits are
// set.
func maskToElements(size int) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		var v wide
		k := maskReg(c.FP, g.Args[1].Reg)
		for i := range g.VectorLen() / size {
			v.setElement(i, size, -(k >> i & 1))
		}
		return m.concludeWide(c, g, &v)
	}
}

// repeatsMask returns the semantics of VPBROADCASTMB2Q and VPBROADCASTMW2D: a mask of width bits becomes every element
// of size bytes.
func repeatsMask(width, size int) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		var v wide
		for i := range g.VectorLen() / size {
			v.setElement(i, size, maskReg(c.FP, g.Args[1].Reg)&(1<<width-1))
		}
		return m.concludeWide(c, g, &v)
	}
}

// evexShifts returns the semantics of an instruction that shifts all elements by an immediate, or by the lowest word of
// its last operand.
func evexShifts(f func(x, n uint64) uint64) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		from, n := int(g.NArgs)-2, uint64(uint8(g.Imm))
		if last := int(g.NArgs) - 1; g.Args[last].Kind != x86.ArgImm {
			count, fault := m.wideArg(c, g, last)
			if fault != nil {
				return fault
			}
			n = count[0]
		}
		v, fault := m.wideArg(c, g, from)
		if fault != nil {
			return fault
		}
		for i, w := range v {
			v[i] = f(w, n)
		}
		return m.concludeWide(c, g, &v)
	}
}

func shiftSignedQwords(x, n uint64) uint64 { return uint64(int64(x) >> min(n, 63)) }

// Shifts of words by words.

func shiftLeftWord(a, n uint64) uint64   { return a << n }
func shiftRightWord(a, n uint64) uint64  { return a >> n }
func shiftSignedWord(a, n uint64) uint64 { return uint64(int64(int16(a)) >> n) }

// Rotations to the left of all elements of a word by n, and of each by that of n. To the right it is by -n.

func rotateDwords(x, n uint64) uint64 {
	return uint64(bits.RotateLeft32(uint32(x), int(n&31))) | uint64(bits.RotateLeft32(uint32(x>>32), int(n&31)))<<32
}

func rotateEachDword(x, n uint64) uint64 {
	return uint64(bits.RotateLeft32(uint32(x), int(n&31))) | uint64(bits.RotateLeft32(uint32(x>>32), int(n>>32&31)))<<32
}

func rotateQwords(x, n uint64) uint64      { return bits.RotateLeft64(x, int(n&63)) }
func rotateDwordsRight(x, n uint64) uint64 { return rotateDwords(x, -n) }
func rotateQwordsRight(x, n uint64) uint64 { return rotateQwords(x, -n) }
func rotateEachDwordRight(x, n uint64) uint64 {
	return rotateEachDword(x, uint64(-uint32(n))|-(n>>32)<<32)
}
func mulQwords(a, b uint64) uint64         { return a * b }
func minSignedQwords(a, b uint64) uint64   { return uint64(min(int64(a), int64(b))) }
func maxSignedQwords(a, b uint64) uint64   { return uint64(max(int64(a), int64(b))) }
func minUnsignedQwords(a, b uint64) uint64 { return min(a, b) }
func maxUnsignedQwords(a, b uint64) uint64 { return max(a, b) }
func absQwords(x uint64) uint64            { return (x ^ uint64(int64(x)>>63)) - uint64(int64(x)>>63) }
func leadingZerosOfQword(x uint64) uint64  { return uint64(bits.LeadingZeros64(x)) }
func leadingZerosOfDwords(x uint64) uint64 {
	return uint64(bits.LeadingZeros32(uint32(x))) | uint64(bits.LeadingZeros32(uint32(x>>32)))<<32
}

// conflicts implements VPCONFLICT: each element gets a bit for each lower one that is equal to it.
func conflicts(g *guest.Insn, v *wide) {
	from, size := *v, g.ElementSize(0)
	for i := range g.Elements() {
		var equal uint64
		for k := range i {
			if from.element(k, size) == from.element(i, size) {
				equal |= 1 << k
			}
		}
		v.setElement(i, size, equal)
	}
}

// ternaryLogic implements VPTERNLOG: three bits of result, first and second source number a bit of the immediate.
func ternaryLogic(g *guest.Insn, result, a, b *wide) (v wide) {
	for i := range v {
		for by := range 8 {
			if g.Imm>>by&1 != 0 {
				v[i] |= sameAs(result[i], by>>2) & sameAs(a[i], by>>1) & sameAs(b[i], by)
			}
		}
	}
	return v
}

// sameAs has ones where x has the lowest bit of by.
func sameAs(x uint64, by int) uint64 { return ^(x ^ -uint64(by&1)) }

// blockSums implements VDBPSADBW: the immediate shuffles the doublewords of each of the second source's lanes. Four
// bytes from two places on, and the same of the first source, are compared.
func blockSums(a, b lane, imm uint8) lane {
	from, with := a.bytes(), shuffleDwords(b, imm).bytes()
	var r [2]uint64
	for i := range 8 {
		at, by := i/2*4, i/4*8+i%4
		var sum int
		for k := range 4 {
			d := int(from[at+k]) - int(with[by+k])
			sum += max(d, -d)
		}
		r[i/4] |= uint64(sum) << (16 * (i % 4))
	}
	return lane{r[0], r[1]}
}

// evexPackedRows are instructions on integers that stay in their places.
func evexPackedRows() parts {
	return join(evexWordRows(), evexShiftRows(), evexCompareRows())
}

func evexWordRows() rows {
	return rows{
		x86.VPADDB: {evex: evexWords(addBytes)}, x86.VPADDW: {evex: evexWords(addWords)},
		x86.VPADDD: {evex: evexWords(addDwords)}, x86.VPADDQ: {evex: evexWords(addQwords)},
		x86.VPSUBB: {evex: evexWords(subBytes)}, x86.VPSUBW: {evex: evexWords(subWords)},
		x86.VPSUBD: {evex: evexWords(subDwords)}, x86.VPSUBQ: {evex: evexWords(subQwords)},
		x86.VPADDUSB: {evex: evexWords(addUnsignedBytes)}, x86.VPADDUSW: {evex: evexWords(addUnsignedWords)},
		x86.VPSUBUSB: {evex: evexWords(subUnsignedBytes)}, x86.VPSUBUSW: {evex: evexWords(subUnsignedWords)},
		x86.VPADDSB: {evex: evexWords(addSignedBytes)}, x86.VPADDSW: {evex: evexWords(addSignedWords)},
		x86.VPSUBSB: {evex: evexWords(subSignedBytes)}, x86.VPSUBSW: {evex: evexWords(subSignedWords)},

		x86.VPMINSB: {evex: evexWords(minSignedBytes)}, x86.VPMINSW: {evex: evexWords(minSignedWords)},
		x86.VPMINSD: {evex: evexWords(minSignedDwords)}, x86.VPMINSQ: {evex: evexWords(minSignedQwords)},
		x86.VPMAXSB: {evex: evexWords(maxSignedBytes)}, x86.VPMAXSW: {evex: evexWords(maxSignedWords)},
		x86.VPMAXSD: {evex: evexWords(maxSignedDwords)}, x86.VPMAXSQ: {evex: evexWords(maxSignedQwords)},
		x86.VPMINUB: {evex: evexWords(minUnsignedBytes)}, x86.VPMINUW: {evex: evexWords(minUnsignedWords)},
		x86.VPMINUD: {evex: evexWords(minUnsignedDwords)}, x86.VPMINUQ: {evex: evexWords(minUnsignedQwords)},
		x86.VPMAXUB: {evex: evexWords(maxUnsignedBytes)}, x86.VPMAXUW: {evex: evexWords(maxUnsignedWords)},
		x86.VPMAXUD: {evex: evexWords(maxUnsignedDwords)}, x86.VPMAXUQ: {evex: evexWords(maxUnsignedQwords)},
		x86.VPAVGB: {evex: evexWords(averageBytes)}, x86.VPAVGW: {evex: evexWords(averageWords)},

		x86.VPABSB: {evex: evexEachWord(absBytes)}, x86.VPABSW: {evex: evexEachWord(absWords)},
		x86.VPABSD: {evex: evexEachWord(absDwords)}, x86.VPABSQ: {evex: evexEachWord(absQwords)},
		x86.VPLZCNTD: {evex: evexEachWord(leadingZerosOfDwords)}, x86.VPLZCNTQ: {evex: evexEachWord(leadingZerosOfQword)},
		x86.VPCONFLICTD: {evex: evexVector(conflicts)}, x86.VPCONFLICTQ: {evex: evexVector(conflicts)},

		x86.VPMULLW: {evex: evexWords(mulLowWords)}, x86.VPMULHW: {evex: evexWords(mulHighWords)},
		x86.VPMULHUW: {evex: evexWords(mulHighUnsignedWords)}, x86.VPMULHRSW: {evex: evexWords(mulRoundedWords)},
		x86.VPMULLD: {evex: evexWords(mulLowDwords)}, x86.VPMULLQ: {evex: evexWords(mulQwords)},
		x86.VPMULDQ: {evex: evexWords(mulDwords)}, x86.VPMULUDQ: {evex: evexWords(mulUnsignedDwords)},
		x86.VPMADDWD: {evex: evexWords(mulAddWords)}, x86.VPMADDUBSW: {evex: evexWords(mulAddBytes)},
		x86.VPSADBW: {evex: evexWords(sumDifferences)}, x86.VDBPSADBW: {evex: evexLanes(blockSums, 0)},

		x86.VPANDD: {evex: evexWords(wordAnd)}, x86.VPANDQ: {evex: evexWords(wordAnd)},
		x86.VPANDND: {evex: evexWords(wordAndNot)}, x86.VPANDNQ: {evex: evexWords(wordAndNot)},
		x86.VPORD: {evex: evexWords(wordOr)}, x86.VPORQ: {evex: evexWords(wordOr)},
		x86.VPXORD: {evex: evexWords(wordXor)}, x86.VPXORQ: {evex: evexWords(wordXor)},
		x86.VANDPS: {evex: evexWords(wordAnd)}, x86.VANDPD: {evex: evexWords(wordAnd)},
		x86.VANDNPS: {evex: evexWords(wordAndNot)}, x86.VANDNPD: {evex: evexWords(wordAndNot)},
		x86.VORPS: {evex: evexWords(wordOr)}, x86.VORPD: {evex: evexWords(wordOr)},
		x86.VXORPS: {evex: evexWords(wordXor)}, x86.VXORPD: {evex: evexWords(wordXor)},
		x86.VPTERNLOGD: {evex: evexThree(ternaryLogic)}, x86.VPTERNLOGQ: {evex: evexThree(ternaryLogic)},
	}
}

func evexShiftRows() rows {
	return rows{
		x86.VPSLLW: {evex: evexShifts(shiftLeftWords)}, x86.VPSLLD: {evex: evexShifts(shiftLeftDwords)}, x86.VPSLLQ: {evex: evexShifts(shiftLeftQwords)},
		x86.VPSRLW: {evex: evexShifts(shiftRightWords)}, x86.VPSRLD: {evex: evexShifts(shiftRightDwords)}, x86.VPSRLQ: {evex: evexShifts(shiftRightQwords)},
		x86.VPSRAW: {evex: evexShifts(shiftSignedWords)}, x86.VPSRAD: {evex: evexShifts(shiftSignedDwords)}, x86.VPSRAQ: {evex: evexShifts(shiftSignedQwords)},
		x86.VPROLD: {evex: evexShifts(rotateDwords)}, x86.VPROLQ: {evex: evexShifts(rotateQwords)},
		x86.VPRORD: {evex: evexShifts(rotateDwordsRight)}, x86.VPRORQ: {evex: evexShifts(rotateQwordsRight)},

		x86.VPSLLVW: {evex: evexElements(2, shiftLeftWord)}, x86.VPSRLVW: {evex: evexElements(2, shiftRightWord)},
		x86.VPSRAVW: {evex: evexElements(2, shiftSignedWord)},
		x86.VPSLLVD: {evex: evexWords(shiftLeftEachDword)}, x86.VPSLLVQ: {evex: evexWords(shiftLeftQwords)},
		x86.VPSRLVD: {evex: evexWords(shiftRightEachDword)}, x86.VPSRLVQ: {evex: evexWords(shiftRightQwords)},
		x86.VPSRAVD: {evex: evexWords(shiftSignedEachDword)}, x86.VPSRAVQ: {evex: evexWords(shiftSignedQwords)},
		x86.VPROLVD: {evex: evexWords(rotateEachDword)}, x86.VPROLVQ: {evex: evexWords(rotateQwords)},
		x86.VPRORVD: {evex: evexWords(rotateEachDwordRight)}, x86.VPRORVQ: {evex: evexWords(rotateQwordsRight)},

		x86.VPSLLDQ: {evex: evexEachLane(func(l lane, n uint8) lane { return shiftLeftBytes(l, min(n, 16)) }, 0)},
		x86.VPSRLDQ: {evex: evexEachLane(func(l lane, n uint8) lane { return shiftRightBytes(l, min(n, 16)) }, 0)},
	}
}

// evexCompareRows are those that make masks, and of masks vectors.
func evexCompareRows() rows {
	return rows{
		x86.VPCMPB: {evex: evexCompares(compareSigned)}, x86.VPCMPW: {evex: evexCompares(compareSigned)},
		x86.VPCMPD: {evex: evexCompares(compareSigned)}, x86.VPCMPQ: {evex: evexCompares(compareSigned)},
		x86.VPCMPUB: {evex: evexCompares(compareUnsigned)}, x86.VPCMPUW: {evex: evexCompares(compareUnsigned)},
		x86.VPCMPUD: {evex: evexCompares(compareUnsigned)}, x86.VPCMPUQ: {evex: evexCompares(compareUnsigned)},
		x86.VPCMPEQB: {evex: evexCompares(isEqual)}, x86.VPCMPEQW: {evex: evexCompares(isEqual)},
		x86.VPCMPEQD: {evex: evexCompares(isEqual)}, x86.VPCMPEQQ: {evex: evexCompares(isEqual)},
		x86.VPCMPGTB: {evex: evexCompares(isGreater)}, x86.VPCMPGTW: {evex: evexCompares(isGreater)},
		x86.VPCMPGTD: {evex: evexCompares(isGreater)}, x86.VPCMPGTQ: {evex: evexCompares(isGreater)},
		x86.VPTESTMB: {evex: evexCompares(hasCommon)}, x86.VPTESTMW: {evex: evexCompares(hasCommon)},
		x86.VPTESTMD: {evex: evexCompares(hasCommon)}, x86.VPTESTMQ: {evex: evexCompares(hasCommon)},
		x86.VPTESTNMB: {evex: evexCompares(hasNoCommon)}, x86.VPTESTNMW: {evex: evexCompares(hasNoCommon)},
		x86.VPTESTNMD: {evex: evexCompares(hasNoCommon)}, x86.VPTESTNMQ: {evex: evexCompares(hasNoCommon)},

		x86.VPMOVB2M: {evex: signsToMask(1)}, x86.VPMOVW2M: {evex: signsToMask(2)}, x86.VPMOVD2M: {evex: signsToMask(4)}, x86.VPMOVQ2M: {evex: signsToMask(8)},
		x86.VPMOVM2B: {evex: maskToElements(1)}, x86.VPMOVM2W: {evex: maskToElements(2)},
		x86.VPMOVM2D: {evex: maskToElements(4)}, x86.VPMOVM2Q: {evex: maskToElements(8)},
		x86.VPBROADCASTMB2Q: {evex: repeatsMask(8, 8)}, x86.VPBROADCASTMW2D: {evex: repeatsMask(16, 4)},
	}
}

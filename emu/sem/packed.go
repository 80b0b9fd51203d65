package sem

import "github.com/cgemu/cgemu/emu/x86"

// A 64-bit word holds eight bytes, four words or two doublewords; the functions here compute with all of them at once.
// Carries stay within an element since its highest bit is computed apart.

// The highest and the lowest bits of bytes, words and doublewords.
const (
	highOfBytes  = 0x8080808080808080
	highOfWords  = 0x8000800080008000
	highOfDwords = 0x8000000080000000
	lowOfBytes   = 0x0101010101010101
	lowOfWords   = 0x0001000100010001
	lowOfDwords  = 0x0000000100000001
)

// fillBytes, fillWords and fillDwords make ones of all elements whose highest bit is set in h, which has no other bits.
func fillBytes(h uint64) uint64  { return h >> 7 * 0xff }
func fillWords(h uint64) uint64  { return h >> 15 * 0xffff }
func fillDwords(h uint64) uint64 { return h >> 31 * 0xffffffff }

// addElements adds elements whose highest bits are high.
func addElements(a, b, high uint64) uint64 { return (a&^high + b&^high) ^ (a^b)&high }

// subElements subtracts them.
func subElements(a, b, high uint64) uint64 { return ((a | high) - b&^high) ^ ^(a^b)&high }

func addBytes(a, b uint64) uint64  { return addElements(a, b, highOfBytes) }
func addWords(a, b uint64) uint64  { return addElements(a, b, highOfWords) }
func addDwords(a, b uint64) uint64 { return addElements(a, b, highOfDwords) }
func addQwords(a, b uint64) uint64 { return a + b }

func subBytes(a, b uint64) uint64  { return subElements(a, b, highOfBytes) }
func subWords(a, b uint64) uint64  { return subElements(a, b, highOfWords) }
func subDwords(a, b uint64) uint64 { return subElements(a, b, highOfDwords) }
func subQwords(a, b uint64) uint64 { return a - b }

// borrows has the highest bit of each element set where a is less than b, both without sign.
func borrows(a, b, high uint64) uint64 {
	return (^a&b | ^(a^b)&subElements(a, b, high)) & high
}

// carries has the highest bit of each element set where sum, which is a + b, has lost a bit.
func carries(a, b, sum, high uint64) uint64 { return (a&b | (a|b)&^sum) & high }

// Sums and differences that saturate: what is out of the range of an element becomes the nearest number in it.

func addUnsignedBytes(a, b uint64) uint64 {
	sum := addBytes(a, b)
	return sum | fillBytes(carries(a, b, sum, highOfBytes))
}

func addUnsignedWords(a, b uint64) uint64 {
	sum := addWords(a, b)
	return sum | fillWords(carries(a, b, sum, highOfWords))
}

func subUnsignedBytes(a, b uint64) uint64 {
	return subBytes(a, b) &^ fillBytes(borrows(a, b, highOfBytes))
}

func subUnsignedWords(a, b uint64) uint64 {
	return subWords(a, b) &^ fillWords(borrows(a, b, highOfWords))
}

// limitBytes and limitWords are the numbers farthest from 0 with the signs of a's elements.
func limitBytes(a uint64) uint64 { return ^uint64(highOfBytes) + a>>7&lowOfBytes }
func limitWords(a uint64) uint64 { return ^uint64(highOfWords) + a>>15&lowOfWords }

// choose returns the bits of a where mask has ones, those of b elsewhere.
func choose(mask, a, b uint64) uint64 { return a&mask | b&^mask }

func addSignedBytes(a, b uint64) uint64 {
	sum := addBytes(a, b)
	return choose(fillBytes((a^sum)&(b^sum)&highOfBytes), limitBytes(a), sum)
}

func addSignedWords(a, b uint64) uint64 {
	sum := addWords(a, b)
	return choose(fillWords((a^sum)&(b^sum)&highOfWords), limitWords(a), sum)
}

func subSignedBytes(a, b uint64) uint64 {
	diff := subBytes(a, b)
	return choose(fillBytes((a^b)&(a^diff)&highOfBytes), limitBytes(a), diff)
}

func subSignedWords(a, b uint64) uint64 {
	diff := subWords(a, b)
	return choose(fillWords((a^b)&(a^diff)&highOfWords), limitWords(a), diff)
}

// zeros has the highest bit of each element set where x is 0.
func zeros(x, high uint64) uint64 { return ^(x&^high + ^high | x) & high }

// Comparisons make ones of the elements for which they hold, and zeros of others.

func equalBytes(a, b uint64) uint64  { return fillBytes(zeros(a^b, highOfBytes)) }
func equalWords(a, b uint64) uint64  { return fillWords(zeros(a^b, highOfWords)) }
func equalDwords(a, b uint64) uint64 { return fillDwords(zeros(a^b, highOfDwords)) }

func equalQwords(a, b uint64) uint64 {
	if a == b {
		return ^uint64(0)
	}
	return 0
}

// Numbers with a sign compare as those without do once their highest bits are inverted.

func greaterBytes(a, b uint64) uint64 {
	return fillBytes(borrows(b^highOfBytes, a^highOfBytes, highOfBytes))
}

func greaterWords(a, b uint64) uint64 {
	return fillWords(borrows(b^highOfWords, a^highOfWords, highOfWords))
}

func greaterDwords(a, b uint64) uint64 {
	return fillDwords(borrows(b^highOfDwords, a^highOfDwords, highOfDwords))
}

func greaterQwords(a, b uint64) uint64 {
	if int64(a) > int64(b) {
		return ^uint64(0)
	}
	return 0
}

func minSignedBytes(a, b uint64) uint64  { return choose(greaterBytes(a, b), b, a) }
func minSignedWords(a, b uint64) uint64  { return choose(greaterWords(a, b), b, a) }
func minSignedDwords(a, b uint64) uint64 { return choose(greaterDwords(a, b), b, a) }
func maxSignedBytes(a, b uint64) uint64  { return choose(greaterBytes(a, b), a, b) }
func maxSignedWords(a, b uint64) uint64  { return choose(greaterWords(a, b), a, b) }
func maxSignedDwords(a, b uint64) uint64 { return choose(greaterDwords(a, b), a, b) }

func minUnsignedBytes(a, b uint64) uint64 { return choose(fillBytes(borrows(a, b, highOfBytes)), a, b) }
func minUnsignedWords(a, b uint64) uint64 { return choose(fillWords(borrows(a, b, highOfWords)), a, b) }
func minUnsignedDwords(a, b uint64) uint64 {
	return choose(fillDwords(borrows(a, b, highOfDwords)), a, b)
}
func maxUnsignedBytes(a, b uint64) uint64 { return choose(fillBytes(borrows(a, b, highOfBytes)), b, a) }
func maxUnsignedWords(a, b uint64) uint64 { return choose(fillWords(borrows(a, b, highOfWords)), b, a) }
func maxUnsignedDwords(a, b uint64) uint64 {
	return choose(fillDwords(borrows(a, b, highOfDwords)), b, a)
}

// Averages are rounded up: no element of a|b is smaller than half its difference, so that none borrows.

func averageBytes(a, b uint64) uint64 { return (a | b) - (a^b)>>1&^highOfBytes }
func averageWords(a, b uint64) uint64 { return (a | b) - (a^b)>>1&^highOfWords }

func absBytes(x uint64) uint64  { return negateBytes(x, fillBytes(x&highOfBytes)) }
func absWords(x uint64) uint64  { return negateWords(x, fillWords(x&highOfWords)) }
func absDwords(x uint64) uint64 { return negateDwords(x, fillDwords(x&highOfDwords)) }

// negateBytes, negateWords and negateDwords negate the elements that are ones in mask.
func negateBytes(x, mask uint64) uint64  { return subBytes(x^mask, mask) }
func negateWords(x, mask uint64) uint64  { return subWords(x^mask, mask) }
func negateDwords(x, mask uint64) uint64 { return subDwords(x^mask, mask) }

// signBytes, signWords and signDwords are PSIGN's: elements of a are negated where those of b are negative, and 0 where
// they are 0.

func signBytes(a, b uint64) uint64 {
	return negateBytes(a, fillBytes(b&highOfBytes)) &^ fillBytes(zeros(b, highOfBytes))
}

func signWords(a, b uint64) uint64 {
	return negateWords(a, fillWords(b&highOfWords)) &^ fillWords(zeros(b, highOfWords))
}

func signDwords(a, b uint64) uint64 {
	return negateDwords(a, fillDwords(b&highOfDwords)) &^ fillDwords(zeros(b, highOfDwords))
}

func wordAnd(a, b uint64) uint64    { return a & b }
func wordAndNot(a, b uint64) uint64 { return ^a & b }
func wordOr(a, b uint64) uint64     { return a | b }
func wordXor(a, b uint64) uint64    { return a ^ b }

// packedRows are those of instructions on elements that stay in their places.
func packedRows() parts {
	return join(
		wordwise(x86.PADDB, x86.VPADDB, addBytes), wordwise(x86.PADDW, x86.VPADDW, addWords),
		wordwise(x86.PADDD, x86.VPADDD, addDwords), wordwise(x86.PADDQ, x86.VPADDQ, addQwords),
		wordwise(x86.PSUBB, x86.VPSUBB, subBytes), wordwise(x86.PSUBW, x86.VPSUBW, subWords),
		wordwise(x86.PSUBD, x86.VPSUBD, subDwords), wordwise(x86.PSUBQ, x86.VPSUBQ, subQwords),
		wordwise(x86.PADDUSB, x86.VPADDUSB, addUnsignedBytes), wordwise(x86.PADDUSW, x86.VPADDUSW, addUnsignedWords),
		wordwise(x86.PSUBUSB, x86.VPSUBUSB, subUnsignedBytes), wordwise(x86.PSUBUSW, x86.VPSUBUSW, subUnsignedWords),
		wordwise(x86.PADDSB, x86.VPADDSB, addSignedBytes), wordwise(x86.PADDSW, x86.VPADDSW, addSignedWords),
		wordwise(x86.PSUBSB, x86.VPSUBSB, subSignedBytes), wordwise(x86.PSUBSW, x86.VPSUBSW, subSignedWords),

		wordwise(x86.PCMPEQB, x86.VPCMPEQB, equalBytes), wordwise(x86.PCMPEQW, x86.VPCMPEQW, equalWords),
		wordwise(x86.PCMPEQD, x86.VPCMPEQD, equalDwords), wordwise(x86.PCMPEQQ, x86.VPCMPEQQ, equalQwords),
		wordwise(x86.PCMPGTB, x86.VPCMPGTB, greaterBytes), wordwise(x86.PCMPGTW, x86.VPCMPGTW, greaterWords),
		wordwise(x86.PCMPGTD, x86.VPCMPGTD, greaterDwords), wordwise(x86.PCMPGTQ, x86.VPCMPGTQ, greaterQwords),

		wordwise(x86.PMINSB, x86.VPMINSB, minSignedBytes), wordwise(x86.PMINSW, x86.VPMINSW, minSignedWords),
		wordwise(x86.PMINSD, x86.VPMINSD, minSignedDwords), wordwise(x86.PMAXSB, x86.VPMAXSB, maxSignedBytes),
		wordwise(x86.PMAXSW, x86.VPMAXSW, maxSignedWords), wordwise(x86.PMAXSD, x86.VPMAXSD, maxSignedDwords),
		wordwise(x86.PMINUB, x86.VPMINUB, minUnsignedBytes), wordwise(x86.PMINUW, x86.VPMINUW, minUnsignedWords),
		wordwise(x86.PMINUD, x86.VPMINUD, minUnsignedDwords), wordwise(x86.PMAXUB, x86.VPMAXUB, maxUnsignedBytes),
		wordwise(x86.PMAXUW, x86.VPMAXUW, maxUnsignedWords), wordwise(x86.PMAXUD, x86.VPMAXUD, maxUnsignedDwords),

		wordwise(x86.PAVGB, x86.VPAVGB, averageBytes), wordwise(x86.PAVGW, x86.VPAVGW, averageWords),
		both(x86.PABSB, x86.VPABSB, eachWord(absBytes)), both(x86.PABSW, x86.VPABSW, eachWord(absWords)),
		both(x86.PABSD, x86.VPABSD, eachWord(absDwords)),
		wordwise(x86.PSIGNB, x86.VPSIGNB, signBytes), wordwise(x86.PSIGNW, x86.VPSIGNW, signWords),
		wordwise(x86.PSIGND, x86.VPSIGND, signDwords),

		wordwise(x86.PAND, x86.VPAND, wordAnd), wordwise(x86.PANDN, x86.VPANDN, wordAndNot),
		wordwise(x86.POR, x86.VPOR, wordOr), wordwise(x86.PXOR, x86.VPXOR, wordXor),
		wordwise(x86.ANDPS, x86.VANDPS, wordAnd), wordwise(x86.ANDNPS, x86.VANDNPS, wordAndNot),
		wordwise(x86.ORPS, x86.VORPS, wordOr), wordwise(x86.XORPS, x86.VXORPS, wordXor),
		wordwise(x86.ANDPD, x86.VANDPD, wordAnd), wordwise(x86.ANDNPD, x86.VANDNPD, wordAndNot),
		wordwise(x86.ORPD, x86.VORPD, wordOr), wordwise(x86.XORPD, x86.VXORPD, wordXor),
	)
}

package sem

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// An element is one of a word, seen as a number with a sign and as one without.
type element struct {
	signed   int64
	unsigned uint64
}

// elements returns those of x, of bits bits.
func elements(x uint64, bits int) (list []element) {
	for i := 0; i < 64; i += bits {
		e := x >> i << (64 - bits)
		list = append(list, element{int64(e) >> (64 - bits), e >> (64 - bits)})
	}
	return list
}

// clamped brings x between the least and the greatest number of bits bits, with a sign or without.
func clamped(x int64, bits int, signed bool) int64 {
	least, greatest := int64(0), int64(1)<<bits-1
	if signed {
		least, greatest = -1<<(bits-1), 1<<(bits-1)-1
	}
	return min(max(x, least), greatest)
}

// ones returns -1 if a condition holds.
func ones(holds bool) int64 {
	if holds {
		return -1
	}
	return 0
}

// A byElement is an operation on words, and what it does to elements.
type byElement struct {
	name string
	bits int
	word func(a, b uint64) uint64
	want func(a, b element, bits int) int64
}

// onlyFirst makes an operation of one on a single word.
func onlyFirst(f func(uint64) uint64) func(a, b uint64) uint64 {
	return func(a, _ uint64) uint64 { return f(a) }
}

var byElements = func() []byElement {
	sum := func(a, b element, _ int) int64 { return a.signed + b.signed }
	difference := func(a, b element, _ int) int64 { return a.signed - b.signed }
	sumSigned := func(a, b element, bits int) int64 { return clamped(a.signed+b.signed, bits, true) }
	sumUnsigned := func(a, b element, bits int) int64 { return clamped(int64(a.unsigned+b.unsigned), bits, false) }
	differenceSigned := func(a, b element, bits int) int64 { return clamped(a.signed-b.signed, bits, true) }
	differenceUnsigned := func(a, b element, bits int) int64 { return clamped(int64(a.unsigned-b.unsigned), bits, false) }
	equal := func(a, b element, _ int) int64 { return ones(a == b) }
	greater := func(a, b element, _ int) int64 { return ones(a.signed > b.signed) }
	minSigned := func(a, b element, _ int) int64 { return min(a.signed, b.signed) }
	maxSigned := func(a, b element, _ int) int64 { return max(a.signed, b.signed) }
	minUnsigned := func(a, b element, _ int) int64 { return int64(min(a.unsigned, b.unsigned)) }
	maxUnsigned := func(a, b element, _ int) int64 { return int64(max(a.unsigned, b.unsigned)) }
	average := func(a, b element, _ int) int64 { return int64((a.unsigned + b.unsigned + 1) / 2) }
	abs := func(a, _ element, _ int) int64 { return max(a.signed, -a.signed) }
	sign := func(a, b element, _ int) int64 {
		switch {
		case b.signed < 0:
			return -a.signed
		case b.signed == 0:
			return 0
		}
		return a.signed
	}
	high := func(a, b element, _ int) int64 { return a.signed * b.signed >> 16 }
	rounded := func(a, b element, _ int) int64 { return (a.signed*b.signed>>14 + 1) >> 1 }
	return []byElement{
		{"PADDB", 8, addBytes, sum}, {"PADDW", 16, addWords, sum}, {"PADDD", 32, addDwords, sum}, {"PADDQ", 64, addQwords, sum},
		{"PSUBB", 8, subBytes, difference}, {"PSUBW", 16, subWords, difference},
		{"PSUBD", 32, subDwords, difference}, {"PSUBQ", 64, subQwords, difference},
		{"PADDSB", 8, addSignedBytes, sumSigned}, {"PADDSW", 16, addSignedWords, sumSigned},
		{"PADDUSB", 8, addUnsignedBytes, sumUnsigned}, {"PADDUSW", 16, addUnsignedWords, sumUnsigned},
		{"PSUBSB", 8, subSignedBytes, differenceSigned}, {"PSUBSW", 16, subSignedWords, differenceSigned},
		{"PSUBUSB", 8, subUnsignedBytes, differenceUnsigned}, {"PSUBUSW", 16, subUnsignedWords, differenceUnsigned},
		{"PCMPEQB", 8, equalBytes, equal}, {"PCMPEQW", 16, equalWords, equal},
		{"PCMPEQD", 32, equalDwords, equal}, {"PCMPEQQ", 64, equalQwords, equal},
		{"PCMPGTB", 8, greaterBytes, greater}, {"PCMPGTW", 16, greaterWords, greater},
		{"PCMPGTD", 32, greaterDwords, greater}, {"PCMPGTQ", 64, greaterQwords, greater},
		{"PMINSB", 8, minSignedBytes, minSigned}, {"PMINSW", 16, minSignedWords, minSigned}, {"PMINSD", 32, minSignedDwords, minSigned},
		{"PMAXSB", 8, maxSignedBytes, maxSigned}, {"PMAXSW", 16, maxSignedWords, maxSigned}, {"PMAXSD", 32, maxSignedDwords, maxSigned},
		{"PMINUB", 8, minUnsignedBytes, minUnsigned}, {"PMINUW", 16, minUnsignedWords, minUnsigned},
		{"PMINUD", 32, minUnsignedDwords, minUnsigned},
		{"PMAXUB", 8, maxUnsignedBytes, maxUnsigned}, {"PMAXUW", 16, maxUnsignedWords, maxUnsigned},
		{"PMAXUD", 32, maxUnsignedDwords, maxUnsigned},
		{"PAVGB", 8, averageBytes, average}, {"PAVGW", 16, averageWords, average},
		{"PABSB", 8, onlyFirst(absBytes), abs}, {"PABSW", 16, onlyFirst(absWords), abs}, {"PABSD", 32, onlyFirst(absDwords), abs},
		{"PSIGNB", 8, signBytes, sign}, {"PSIGNW", 16, signWords, sign}, {"PSIGND", 32, signDwords, sign},
		{"PMULLW", 16, mulLowWords, func(a, b element, _ int) int64 { return a.signed * b.signed }},
		{"PMULLD", 32, mulLowDwords, func(a, b element, _ int) int64 { return a.signed * b.signed }},
		{"PMULHW", 16, mulHighWords, high}, {"PMULHRSW", 16, mulRoundedWords, rounded},
		{"PMULHUW", 16, mulHighUnsignedWords, func(a, b element, _ int) int64 { return int64(a.unsigned * b.unsigned >> 16) }},
		{"VPSLLVD", 32, shiftLeftEachDword, func(a, b element, _ int) int64 { return int64(a.unsigned << b.unsigned) }},
		{"VPSRLVD", 32, shiftRightEachDword, func(a, b element, _ int) int64 { return int64(a.unsigned >> b.unsigned) }},
		{"VPSRAVD", 32, shiftSignedEachDword, func(a, b element, _ int) int64 { return a.signed >> b.unsigned }},
	}
}()

// shiftsOfAll are operations that shift elements by one count.
var shiftsOfAll = []struct {
	name string
	bits int
	word func(x, n uint64) uint64
	want func(a element, n uint64) int64
}{
	{"PSLLW", 16, shiftLeftWords, shiftedLeft}, {"PSLLD", 32, shiftLeftDwords, shiftedLeft}, {"PSLLQ", 64, shiftLeftQwords, shiftedLeft},
	{"PSRLW", 16, shiftRightWords, shiftedRight}, {"PSRLD", 32, shiftRightDwords, shiftedRight}, {"PSRLQ", 64, shiftRightQwords, shiftedRight},
	{"PSRAW", 16, shiftSignedWords, shiftedSigned}, {"PSRAD", 32, shiftSignedDwords, shiftedSigned},
}

func shiftedLeft(a element, n uint64) int64   { return int64(a.unsigned << n) }
func shiftedRight(a element, n uint64) int64  { return int64(a.unsigned >> n) }
func shiftedSigned(a element, n uint64) int64 { return a.signed >> n }

// eachPair calls f with random words whose bytes are at the ends of ranges often.
func eachPair(f func(a, b uint64)) {
	r := rand.New(rand.NewPCG(1, 2))
	edges := []byte{0, 1, 2, 0x7e, 0x7f, 0x80, 0x81, 0xfe, 0xff}
	word := func() (x uint64) {
		for range 8 {
			b := uint64(r.Uint32N(256))
			if r.Uint32N(3) != 0 {
				b = uint64(edges[r.IntN(len(edges))])
			}
			x = x<<8 | b
		}
		return x
	}
	n := 20_000
	if testing.Short() {
		n /= 10
	}
	for range n {
		a, b := word(), word()
		f(a, b)
		f(a, choose(word(), a, b)) // alike in some bits
		f(a, a)
	}
}

// TestByElement compares operations on words with the same on elements.
func TestByElement(t *testing.T) {
	for _, test := range byElements {
		t.Run(test.name, func(t *testing.T) {
			eachPair(func(a, b uint64) {
				var want uint64
				second := elements(b, test.bits)
				for i, e := range elements(a, test.bits) {
					want |= uint64(test.want(e, second[i], test.bits)) << (64 - test.bits) >> (64 - test.bits) << (i * test.bits)
				}
				if got := test.word(a, b); got != want {
					t.Fatalf("of %#016x and %#016x: %#016x instead of %#016x", a, b, got, want)
				}
			})
		})
	}
}

// TestShiftsOfAll shifts by all counts there are, and by some beyond.
func TestShiftsOfAll(t *testing.T) {
	for _, test := range shiftsOfAll {
		t.Run(test.name, func(t *testing.T) {
			counts := []uint64{255, 256, 1 << 32, 1<<32 + 1, 1 << 63}
			for n := range uint64(70) {
				counts = append(counts, n)
			}
			r := rand.New(rand.NewPCG(3, 4))
			for _, n := range counts {
				for range 20 {
					x := r.Uint64()
					var want uint64
					for i, e := range elements(x, test.bits) {
						want |= uint64(test.want(e, n)) << (64 - test.bits) >> (64 - test.bits) << (i * test.bits)
					}
					if got := test.word(x, n); got != want {
						require.Equal(t, want, got, "%#x by %d", x, n)
					}
				}
			}
		})
	}
}

// TestWidening compares what makes elements of another size with plain loops.
func TestWidening(t *testing.T) {
	eachPair(func(a, b uint64) {
		a8, b8, a16, b16, a32, b32 := elements(a, 8), elements(b, 8), elements(a, 16), elements(b, 16), elements(a, 32), elements(b, 32)
		var packedSigned, packedUnsigned, packedSigned16, packedUnsigned16, interleaved8, interleaved16, addedBytes, addedWords, far uint64
		for i := range 4 {
			packedSigned |= uint64(uint8(clamped(a16[i].signed, 8, true)))<<(8*i) | uint64(uint8(clamped(b16[i].signed, 8, true)))<<(32+8*i)
			packedUnsigned |= uint64(clamped(a16[i].signed, 8, false))<<(8*i) | uint64(clamped(b16[i].signed, 8, false))<<(32+8*i)
			interleaved8 |= (a8[i].unsigned | b8[i].unsigned<<8) << (16 * i)
			two := int64(a8[2*i].unsigned)*b8[2*i].signed + int64(a8[2*i+1].unsigned)*b8[2*i+1].signed
			addedBytes |= uint64(uint16(clamped(two, 16, true))) << (16 * i)
		}
		for i := range 2 {
			packedSigned16 |= uint64(uint16(clamped(a32[i].signed, 16, true)))<<(16*i) | uint64(uint16(clamped(b32[i].signed, 16, true)))<<(32+16*i)
			packedUnsigned16 |= uint64(clamped(a32[i].signed, 16, false))<<(16*i) | uint64(clamped(b32[i].signed, 16, false))<<(32+16*i)
			interleaved16 |= (a16[i].unsigned | b16[i].unsigned<<16) << (32 * i)
			addedWords |= uint64(uint32(a16[2*i].signed*b16[2*i].signed+a16[2*i+1].signed*b16[2*i+1].signed)) << (32 * i)
		}
		for i := range 8 {
			far += uint64(max(a8[i].unsigned, b8[i].unsigned) - min(a8[i].unsigned, b8[i].unsigned))
		}
		var bits uint64
		for i, e := range a8 {
			bits |= uint64(ones(e.signed < 0)&1) << i
		}
		for _, test := range []struct {
			name      string
			want, got uint64
		}{
			{"PACKSSWB", packedSigned, packSignedWords(a, b)}, {"PACKUSWB", packedUnsigned, packUnsignedWords(a, b)},
			{"PACKSSDW", packedSigned16, packSignedDwords(a, b)}, {"PACKUSDW", packedUnsigned16, packUnsignedDwords(a, b)},
			{"PUNPCKLBW", interleaved8, interleaveBytes(a, b)}, {"PUNPCKLWD", interleaved16, interleaveWords(a, b)},
			{"PMADDUBSW", addedBytes, mulAddBytes(a, b)}, {"PMADDWD", addedWords, mulAddWords(a, b)},
			{"PSADBW", far, sumDifferences(a, b)}, {"PMOVMSKB", bits, SignsOfBytes(a)},
			{"PMULDQ", uint64(a32[0].signed * b32[0].signed), mulDwords(a, b)},
			{"PMULUDQ", a32[0].unsigned * b32[0].unsigned, mulUnsignedDwords(a, b)},
		} {
			if test.want != test.got {
				t.Fatalf("%s of %#016x and %#016x: %#016x instead of %#016x", test.name, a, b, test.got, test.want)
			}
		}
	})
}

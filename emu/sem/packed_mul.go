package sem

import "github.com/cgemu/cgemu/emu/x86"

// mulLowWords, mulHighWords and mulHighUnsignedWords keep one half of the products of words.

func mulLowWords(a, b uint64) (r uint64) {
	for i := 0; i < 64; i += 16 {
		r |= uint64(uint16(a>>i)*uint16(b>>i)) << i
	}
	return r
}

func mulHighWords(a, b uint64) (r uint64) {
	for i := 0; i < 64; i += 16 {
		r |= uint64(uint16(int32(int16(a>>i))*int32(int16(b>>i))>>16)) << i
	}
	return r
}

func mulHighUnsignedWords(a, b uint64) (r uint64) {
	for i := 0; i < 64; i += 16 {
		r |= uint64(uint32(uint16(a>>i))*uint32(uint16(b>>i))>>16) << i
	}
	return r
}

// mulRoundedWords is PMULHRSW: fractions of 15 bits are multiplied and rounded.
func mulRoundedWords(a, b uint64) (r uint64) {
	for i := 0; i < 64; i += 16 {
		r |= uint64(uint16((int32(int16(a>>i))*int32(int16(b>>i))>>14+1)>>1)) << i
	}
	return r
}

func mulLowDwords(a, b uint64) uint64 { return uint64(uint32(a)*uint32(b)) | a>>32*(b>>32)<<32 }

// mulDwords and mulUnsignedDwords multiply the lower doublewords.
func mulDwords(a, b uint64) uint64         { return uint64(int64(int32(a)) * int64(int32(b))) }
func mulUnsignedDwords(a, b uint64) uint64 { return uint64(uint32(a)) * uint64(uint32(b)) }

// mulAddWords is PMADDWD: the products of words, added two by two.
func mulAddWords(a, b uint64) (r uint64) {
	for i := 0; i < 64; i += 32 {
		sum := int32(int16(a>>i))*int32(int16(b>>i)) + int32(int16(a>>(i+16)))*int32(int16(b>>(i+16)))
		r |= uint64(uint32(sum)) << i
	}
	return r
}

// mulAddBytes is PMADDUBSW: bytes without sign times bytes with one, added two by two and saturated.
func mulAddBytes(a, b uint64) (r uint64) {
	for i := 0; i < 64; i += 16 {
		sum := int32(uint8(a>>i))*int32(int8(b>>i)) + int32(uint8(a>>(i+8)))*int32(int8(b>>(i+8)))
		r |= uint64(uint16(saturateInt16(sum))) << i
	}
	return r
}

// saturateInt16 returns the number of 16 bits nearest to x.
func saturateInt16(x int32) int16 { return int16(min(max(x, -1<<15), 1<<15-1)) }

// sumDifferences is PSADBW: how far bytes are apart, altogether.
func sumDifferences(a, b uint64) (sum uint64) {
	d := maxUnsignedBytes(a, b) - minUnsignedBytes(a, b) // no byte borrows
	for i := 0; i < 64; i += 8 {
		sum += d >> i & 0xff
	}
	return sum
}

// evenWords and oddWords gather every other word of two, from bit 0 and from bit 16 on; evenDwords and oddDwords do so
// with doublewords.

func evenWords(low, high uint64) uint64 { return narrowDwords(low) | narrowDwords(high)<<32 }
func oddWords(low, high uint64) uint64  { return evenWords(low>>16, high>>16) }

// narrowDwords puts the lower words of two doublewords side by side.
func narrowDwords(x uint64) uint64 { return x&0xffff | x>>16&0xffff0000 }

func evenDwords(low, high uint64) uint64 { return low&0xffffffff | high<<32 }
func oddDwords(low, high uint64) uint64  { return low>>32 | high>>32<<32 }

// horizontal returns an operation on neighbours, given one on elements of a word: PHADDW and its kin.
func horizontal(even, odd, f func(a, b uint64) uint64) semantics {
	return pairs(func(low, high uint64) uint64 { return f(even(low, high), odd(low, high)) })
}

// smallestWord is PHMINPOSUW: the smallest word, and which it is.
func smallestWord(l lane) lane {
	least, at := uint64(1<<16), 0
	for i := range 8 {
		if w := l.element(i, 16); w < least {
			least, at = w, i
		}
	}
	return lane{least | uint64(at)<<16, 0}
}

// sumsOfDifferences is MPSADBW: four bytes of b are compared with four of a, from eight places on.
func sumsOfDifferences(a, b lane, imm uint8) lane {
	from, with := a.bytes(), b.bytes()
	at, by := int(imm>>2&1)*4, int(imm&3)*4
	var r [2]uint64
	for i := range 8 {
		var sum int
		for k := range 4 {
			d := int(from[at+i+k]) - int(with[by+k])
			sum += max(d, -d)
		}
		r[i/4] |= uint64(sum) << (16 * (i % 4))
	}
	return lane{r[0], r[1]}
}

func packedMulRows() parts {
	return join(
		wordwise(x86.PMULLW, x86.VPMULLW, mulLowWords), wordwise(x86.PMULHW, x86.VPMULHW, mulHighWords),
		wordwise(x86.PMULHUW, x86.VPMULHUW, mulHighUnsignedWords), wordwise(x86.PMULHRSW, x86.VPMULHRSW, mulRoundedWords),
		wordwise(x86.PMULLD, x86.VPMULLD, mulLowDwords),
		wordwise(x86.PMULDQ, x86.VPMULDQ, mulDwords), wordwise(x86.PMULUDQ, x86.VPMULUDQ, mulUnsignedDwords),
		wordwise(x86.PMADDWD, x86.VPMADDWD, mulAddWords), wordwise(x86.PMADDUBSW, x86.VPMADDUBSW, mulAddBytes),
		wordwise(x86.PSADBW, x86.VPSADBW, sumDifferences),
		both(x86.PHADDW, x86.VPHADDW, horizontal(evenWords, oddWords, addWords)),
		both(x86.PHADDD, x86.VPHADDD, horizontal(evenDwords, oddDwords, addDwords)),
		both(x86.PHADDSW, x86.VPHADDSW, horizontal(evenWords, oddWords, addSignedWords)),
		both(x86.PHSUBW, x86.VPHSUBW, horizontal(evenWords, oddWords, subWords)),
		both(x86.PHSUBD, x86.VPHSUBD, horizontal(evenDwords, oddDwords, subDwords)),
		both(x86.PHSUBSW, x86.VPHSUBSW, horizontal(evenWords, oddWords, subSignedWords)),
		both(x86.PHMINPOSUW, x86.VPHMINPOSUW, eachLane(smallestWord)),
		both(x86.MPSADBW, x86.VMPSADBW, lanesBy(sumsOfDifferences, 3)),
	)
}

package sem

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
)

// interleaveBytes, interleaveWords and interleaveDwords put the elements of the lower halves of a and b side by side,
// a's first.

func interleaveBytes(a, b uint64) uint64 { return spreadBytes(a) | spreadBytes(b)<<8 }
func interleaveWords(a, b uint64) uint64 { return spreadWords(a) | spreadWords(b)<<16 }
func interleaveDwords(a, b uint64) uint64 {
	return a&0xffffffff | b<<32
}

// spreadWords makes doublewords of the two lower words of x, spreadBytes words of its four lower bytes.
func spreadWords(x uint64) uint64 { return x&0xffff | x&0xffff0000<<16 }
func spreadBytes(x uint64) uint64 {
	x = spreadWords(x)
	return (x | x<<8) & (0xff * lowOfWords)
}

// unpackLow returns the semantics of PUNPCKL and its kin: the elements of the lower words of lanes, and with MMX
// registers those of the lower halves of words, are interleaved by f.
func unpackLow(f func(a, b uint64) uint64) semantics {
	onLanes := lanes(func(a, b lane) lane { return lane{f(a.low, b.low), f(a.low>>32, b.low>>32)} })
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		if g.Args[0].Kind == x86.ArgMMX {
			return m.mmxPart(c, g, 4, f)
		}
		return onLanes(m, c, g)
	}
}

// unpackHigh does so with upper words and upper halves.
func unpackHigh(f func(a, b uint64) uint64) semantics {
	onLanes := lanes(func(a, b lane) lane { return lane{f(a.high, b.high), f(a.high>>32, b.high>>32)} })
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		if g.Args[0].Kind == x86.ArgMMX {
			return m.mmxWord(c, g, func(a, b uint64) uint64 { return f(a>>32, b>>32) })
		}
		return onLanes(m, c, g)
	}
}

func lowWords(a, b lane) lane  { return lane{a.low, b.low} }
func highWords(a, b lane) lane { return lane{a.high, b.high} }

// packSignedWords and its kin narrow the elements of two words to half their size: what is out of the range of that,
// with a sign or without, becomes the nearest number in it.

func packSignedWords(low, high uint64) uint64 {
	return packWords(low, high, 0xff80*lowOfWords, 0x007f*lowOfWords)
}

func packUnsignedWords(low, high uint64) uint64 { return packWords(low, high, 0, 0x00ff*lowOfWords) }

func packSignedDwords(low, high uint64) uint64 {
	return packDwords(low, high, 0xffff8000*lowOfDwords, 0x00007fff*lowOfDwords)
}

func packUnsignedDwords(low, high uint64) uint64 { return packDwords(low, high, 0, 0xffff*lowOfDwords) }

// packWords and packDwords narrow elements that are brought between least and greatest.

func packWords(low, high, least, greatest uint64) uint64 {
	low, high = maxSignedWords(minSignedWords(low, greatest), least), maxSignedWords(minSignedWords(high, greatest), least)
	return narrowWords(low) | narrowWords(high)<<32
}

func packDwords(low, high, least, greatest uint64) uint64 {
	low, high = maxSignedDwords(minSignedDwords(low, greatest), least), maxSignedDwords(minSignedDwords(high, greatest), least)
	return evenWords(low, high)
}

// narrowWords puts the lower bytes of four words side by side.
func narrowWords(x uint64) uint64 {
	x &= 0xff * lowOfWords
	return narrowDwords(x | x>>8)
}

// shuffleBytes is PSHUFB: each byte of control selects a byte of l, or 0 by its highest bit.
func shuffleBytes(l, control lane) lane {
	from := l.bytes()
	return lane{selectBytes(&from, control.low), selectBytes(&from, control.high)}
}

// selectBytes returns eight bytes of from.
func selectBytes(from *[16]byte, control uint64) (r uint64) {
	for i := 0; i < 64; i += 8 {
		r |= uint64(from[control>>i&15]) << i
	}
	return r &^ fillBytes(control&highOfBytes)
}

// shuffleWordBytes is PSHUFB on a word: with it in both halves of a lane, control's bit 3 does not matter.
func shuffleWordBytes(x, control uint64) uint64 {
	return shuffleBytes(lane{x, x}, lane{control, 0}).low
}

// byteShuffle implements PSHUFB.
func byteShuffle() semantics {
	onLanes := lanes(shuffleBytes)
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		if g.Args[0].Kind == x86.ArgMMX {
			return m.mmxWord(c, g, shuffleWordBytes)
		}
		return onLanes(m, c, g)
	}
}

// alignLanes is PALIGNR: 16 bytes from byte n on of b, behind which a stands.
func alignLanes(a, b lane, n uint8) lane {
	if n >= 16 {
		return shiftRightBytes(a, min(n-16, 16))
	}
	low, high := shiftRightBytes(b, n), shiftLeftBytes(a, 16-n)
	return lane{low.low | high.low, low.high | high.high}
}

// alignWords does so with words: eight bytes.
func alignWords(a, b, n uint64) uint64 {
	if n >= 8 {
		return a >> (8*n - 64)
	}
	return b>>(8*n) | a<<(64-8*n)
}

// alignRight implements PALIGNR.
func alignRight() semantics {
	onLanes := lanesBy(alignLanes, 0)
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		if g.Args[0].Kind == x86.ArgMMX {
			return m.mmxWord(c, g, func(a, b uint64) uint64 { return alignWords(a, b, uint64(uint8(g.Imm))) })
		}
		return onLanes(m, c, g)
	}
}

// shuffleWords selects each word of the result by two bits of imm.
func shuffleWords(x uint64, imm uint8) (r uint64) {
	for i := range 4 {
		r |= x >> (16 * (imm >> (2 * i) & 3)) & 0xffff << (16 * i)
	}
	return r
}

func shuffleLowWords(l lane, imm uint8) lane  { return lane{shuffleWords(l.low, imm), l.high} }
func shuffleHighWords(l lane, imm uint8) lane { return lane{l.low, shuffleWords(l.high, imm)} }

// word returns word i of l, 0 or 1.
func (l lane) word(i uint8) uint64 {
	if i == 0 {
		return l.low
	}
	return l.high
}

// dword returns doubleword i of l, 0 to 3.
func (l lane) dword(i uint8) uint64 { return l.word(i>>1) >> (32 * (i & 1)) & 0xffffffff }

func shuffleDwords(l lane, imm uint8) lane { return shuffleSingles(l, l, imm) }

// shuffleSingles is SHUFPS: two doublewords of a, then two of b.
func shuffleSingles(a, b lane, imm uint8) lane {
	return lane{a.dword(imm&3) | a.dword(imm>>2&3)<<32, b.dword(imm>>4&3) | b.dword(imm>>6)<<32}
}

// shuffleDoubles is SHUFPD: a word of a, then one of b.
func shuffleDoubles(a, b lane, imm uint8) lane { return lane{a.word(imm & 1), b.word(imm >> 1 & 1)} }

// permuteDoubles is VPERMILPD.
func permuteDoubles(l lane, imm uint8) lane { return shuffleDoubles(l, l, imm) }

func permuteDoublesBy(l, control lane) lane {
	return lane{l.word(uint8(control.low >> 1 & 1)), l.word(uint8(control.high >> 1 & 1))}
}

// permuteSinglesBy is VPERMILPS with a vector of selectors.
func permuteSinglesBy(l, control lane) lane {
	selected := func(by uint64) uint64 { return l.dword(uint8(by&3)) | l.dword(uint8(by>>32&3))<<32 }
	return lane{selected(control.low), selected(control.high)}
}

// shuffleWordMMX implements PSHUFW.
func (m *Machine) shuffleWordMMX(c *emu.CPU, g *guest.Insn) *emu.Fault {
	return m.mmxWord(c, g, func(_, b uint64) uint64 { return shuffleWords(b, uint8(g.Imm)) })
}

func duplicateEven(x uint64) uint64 { return interleaveDwords(x, x) }
func duplicateOdd(x uint64) uint64  { return interleaveDwords(x>>32, x>>32) }

// duplicateLow is MOVDDUP.
func duplicateLow(l lane) lane { return lane{l.low, l.low} }

func shuffleRows() parts {
	return join(
		both(x86.PUNPCKLBW, x86.VPUNPCKLBW, unpackLow(interleaveBytes)), both(x86.PUNPCKHBW, x86.VPUNPCKHBW, unpackHigh(interleaveBytes)),
		both(x86.PUNPCKLWD, x86.VPUNPCKLWD, unpackLow(interleaveWords)), both(x86.PUNPCKHWD, x86.VPUNPCKHWD, unpackHigh(interleaveWords)),
		both(x86.PUNPCKLDQ, x86.VPUNPCKLDQ, unpackLow(interleaveDwords)), both(x86.PUNPCKHDQ, x86.VPUNPCKHDQ, unpackHigh(interleaveDwords)),
		both(x86.PUNPCKLQDQ, x86.VPUNPCKLQDQ, lanes(lowWords)), both(x86.PUNPCKHQDQ, x86.VPUNPCKHQDQ, lanes(highWords)),
		both(x86.UNPCKLPS, x86.VUNPCKLPS, unpackLow(interleaveDwords)), both(x86.UNPCKHPS, x86.VUNPCKHPS, unpackHigh(interleaveDwords)),
		both(x86.UNPCKLPD, x86.VUNPCKLPD, lanes(lowWords)), both(x86.UNPCKHPD, x86.VUNPCKHPD, lanes(highWords)),

		both(x86.PACKSSWB, x86.VPACKSSWB, pairs(packSignedWords)), both(x86.PACKUSWB, x86.VPACKUSWB, pairs(packUnsignedWords)),
		both(x86.PACKSSDW, x86.VPACKSSDW, pairs(packSignedDwords)), both(x86.PACKUSDW, x86.VPACKUSDW, pairs(packUnsignedDwords)),

		both(x86.PSHUFB, x86.VPSHUFB, byteShuffle()), both(x86.PALIGNR, x86.VPALIGNR, alignRight()),
		both(x86.PSHUFLW, x86.VPSHUFLW, eachLaneBy(shuffleLowWords, 0)), both(x86.PSHUFHW, x86.VPSHUFHW, eachLaneBy(shuffleHighWords, 0)),
		both(x86.PSHUFD, x86.VPSHUFD, eachLaneBy(shuffleDwords, 0)),
		both(x86.SHUFPS, x86.VSHUFPS, lanesBy(shuffleSingles, 0)), both(x86.SHUFPD, x86.VSHUFPD, lanesBy(shuffleDoubles, 2)),
		both(x86.MOVSLDUP, x86.VMOVSLDUP, eachWord(duplicateEven)), both(x86.MOVSHDUP, x86.VMOVSHDUP, eachWord(duplicateOdd)),
		both(x86.MOVDDUP, x86.VMOVDDUP, eachLane(duplicateLow)),
		rows{
			x86.PSHUFW:    {plain: (*Machine).shuffleWordMMX},
			x86.VPERMILPS: {plain: byImmediate(eachLaneBy(shuffleDwords, 0), lanes(permuteSinglesBy))},
			x86.VPERMILPD: {plain: byImmediate(eachLaneBy(permuteDoubles, 2), lanes(permuteDoublesBy))},
		},
	)
}

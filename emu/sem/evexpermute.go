package sem

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
)

// Instructions with an EVEX prefix that move elements to other places.

// evexUnpackLow and evexUnpackHigh are unpackLow and unpackHigh of lanes.
func evexUnpackLow(f func(a, b uint64) uint64) semantics {
	return evexLanes(func(a, b lane, _ uint8) lane { return lane{f(a.low, b.low), f(a.low>>32, b.low>>32)} }, 0)
}

func evexUnpackHigh(f func(a, b uint64) uint64) semantics {
	return evexLanes(func(a, b lane, _ uint8) lane { return lane{f(a.high, b.high), f(a.high>>32, b.high>>32)} }, 0)
}

// evexTwoLanes is evexLanes without an immediate.
func evexTwoLanes(f func(a, b lane) lane) semantics {
	return evexLanes(func(a, b lane, _ uint8) lane { return f(a, b) }, 0)
}

// evexPairs is pairs of lanes.
func evexPairs(f func(low, high uint64) uint64) semantics {
	return evexTwoLanes(func(a, b lane) lane { return lane{f(a.low, a.high), f(b.low, b.high)} })
}

// permuteElements implements VPERMD and its kin: the first source has the numbers of the second one's elements.
func permuteElements(g *guest.Insn, by, from *wide) (v wide) {
	n, size := g.Elements(), g.ElementSize(0)
	for i := range n {
		v.setElement(i, size, from.element(int(by.element(i, size))&(n-1), size))
	}
	return v
}

// permuteQuarters implements VPERMQ and VPERMPD with an immediate, which numbers a word of four for each word of four.
func permuteQuarters(g *guest.Insn, v *wide) {
	from := *v
	for i := range v {
		v[i] = from[i&^3|int(g.Imm>>(2*(i&3)))&3]
	}
}

// permuteTwo returns what VPERMI2D and VPERMT2D do: by numbers the elements of two vectors.
func permuteTwo(g *guest.Insn, by, a, b *wide) (v wide) {
	n, size := g.Elements(), g.ElementSize(0)
	for i := range n {
		from := a
		at := int(by.element(i, size))
		if at&n != 0 {
			from = b
		}
		v.setElement(i, size, from.element(at&(n-1), size))
	}
	return v
}

// permuteByResult is VPERMI2D and its kin, which replace the numbers, permuteToFirst VPERMT2D and its kin, which
// replace the first vector.
func permuteByResult(g *guest.Insn, result, a, b *wide) wide { return permuteTwo(g, result, a, b) }
func permuteToFirst(g *guest.Insn, result, a, b *wide) wide  { return permuteTwo(g, a, result, b) }

// alignElements implements VALIGND and VALIGNQ: elements from that on which the immediate numbers, of the second source
// and then the first one.
func alignElements(g *guest.Insn, a, b *wide) (v wide) {
	n, size := g.Elements(), g.ElementSize(0)
	for i := range n {
		from, at := b, i+int(g.Imm)&(n-1)
		if at >= n {
			from, at = a, at-n
		}
		v.setElement(i, size, from.element(at, size))
	}
	return v
}

// shuffleLanes implements VSHUFF32X4 and its kin: the lower half of the lanes are the first source's, the upper half
// the second one's.
func shuffleLanes(g *guest.Insn, a, b *wide) (v wide) {
	n := g.VectorLen() / 16
	width := n / 2 // bits of the immediate that number a lane
	for i := range n {
		from := a
		if i >= n/2 {
			from = b
		}
		v.setLane(i, from.lane(int(g.Imm>>(width*i))&(n-1)))
	}
	return v
}

// insertPart implements VINSERTF32X4 and its kin: a part of the first source is replaced by the second one, which has
// its size.
func insertPart(g *guest.Insn, a, b *wide) wide {
	words := g.OperandSize(2) / 8
	at := int(g.Imm) & (g.VectorLen()/8/words - 1) * words
	v := *a
	copy(v[at:at+words], b[:words])
	return v
}

// extractPart implements VEXTRACTF32X4 and its kin.
func (m *Machine) extractPart(c *emu.CPU, g *guest.Insn) *emu.Fault {
	from := wideReg(c.FP, g.Args[1].Reg, g.VectorLen())
	words := g.OperandSize(0) / 8
	at := int(g.Imm) & (g.VectorLen()/8/words - 1) * words
	var v wide
	copy(v[:words], from[at:])
	return m.concludeWide(c, g, &v)
}

// evexRepeats returns the semantics of an instruction that repeats the lowest size bytes of its source.
func evexRepeats(size int) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		var v wide
		if o := &g.Args[1]; o.Kind == x86.ArgGPR {
			v[0] = c.Regs[o.Reg]
		} else {
			var fault *emu.Fault
			if v, fault = m.wideArg(c, g, 1); fault != nil {
				return fault
			}
		}
		unit := min(size, 8)
		from := v
		for i := range 64 / unit {
			v.setElement(i, unit, from.element(i%(size/unit), unit))
		}
		return m.concludeWide(c, g, &v)
	}
}

// evexBlend implements VPBLENDMD and its kin: what the mask selects is the second source's, the rest is the first
// one's, or zero.
func (m *Machine) evexBlend(c *emu.CPU, g *guest.Insn) *emu.Fault {
	a, b, fault := m.wideArgs(c, g)
	if fault != nil {
		return fault
	}
	size, selected := g.ElementSize(0), guest.Opmask(c, g)
	for i := range g.Elements() {
		switch {
		case selected>>i&1 != 0:
			a.setElement(i, size, b.element(i, size))
		case g.Zeroing:
			a.setElement(i, size, 0)
		}
	}
	setWideReg(c.FP, g.Args[0].Reg, &a)
	return nil
}

// evexExtends returns the semantics of VPMOVSX and VPMOVZX, whose elements of from bytes become such of to bytes.
func evexExtends(from, to int, isSigned bool) semantics {
	return evexVector(func(g *guest.Insn, v *wide) {
		source := *v
		for i := range g.Elements() {
			x := source.element(i, from)
			if isSigned {
				x = signed(x, uint8(from))
			}
			v.setElement(i, to, x)
		}
	})
}

// evexNarrows returns the semantics of VPMOVDB and its kin: f makes an element of to bytes of one of from bytes.
func evexNarrows(from, to int, f func(x uint64, from, to int) uint64) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		source := wideReg(c.FP, g.Args[1].Reg, g.VectorLen())
		var v wide
		for i := range g.Elements() {
			v.setElement(i, to, f(source.element(i, from), from, to))
		}
		return m.concludeWide(c, g, &v)
	}
}

// cutOff, saturated and saturatedUnsigned are what becomes of a number that has no room.
func cutOff(x uint64, _, _ int) uint64 { return x }

func saturated(x uint64, from, to int) uint64 {
	limit := int64(1)<<(8*to-1) - 1
	return uint64(min(max(int64(signed(x, uint8(from))), -limit-1), limit))
}

func saturatedUnsigned(x uint64, _, to int) uint64 { return min(x, 1<<(8*to)-1) }

func evexPermuteRows() parts {
	return join(evexShuffleRows(), evexPartRows(), evexWidthRows())
}

func evexShuffleRows() rows {
	return rows{
		x86.VPUNPCKLBW: {evex: evexUnpackLow(interleaveBytes)}, x86.VPUNPCKHBW: {evex: evexUnpackHigh(interleaveBytes)},
		x86.VPUNPCKLWD: {evex: evexUnpackLow(interleaveWords)}, x86.VPUNPCKHWD: {evex: evexUnpackHigh(interleaveWords)},
		x86.VPUNPCKLDQ: {evex: evexUnpackLow(interleaveDwords)}, x86.VPUNPCKHDQ: {evex: evexUnpackHigh(interleaveDwords)},
		x86.VPUNPCKLQDQ: {evex: evexTwoLanes(lowWords)}, x86.VPUNPCKHQDQ: {evex: evexTwoLanes(highWords)},
		x86.VUNPCKLPS: {evex: evexUnpackLow(interleaveDwords)}, x86.VUNPCKHPS: {evex: evexUnpackHigh(interleaveDwords)},
		x86.VUNPCKLPD: {evex: evexTwoLanes(lowWords)}, x86.VUNPCKHPD: {evex: evexTwoLanes(highWords)},
		x86.VPACKSSWB: {evex: evexPairs(packSignedWords)}, x86.VPACKUSWB: {evex: evexPairs(packUnsignedWords)},
		x86.VPACKSSDW: {evex: evexPairs(packSignedDwords)}, x86.VPACKUSDW: {evex: evexPairs(packUnsignedDwords)},

		x86.VPSHUFB: {evex: evexTwoLanes(shuffleBytes)}, x86.VPALIGNR: {evex: evexLanes(alignLanes, 0)},
		x86.VPSHUFLW: {evex: evexEachLane(shuffleLowWords, 0)}, x86.VPSHUFHW: {evex: evexEachLane(shuffleHighWords, 0)},
		x86.VPSHUFD: {evex: evexEachLane(shuffleDwords, 0)},
		x86.VSHUFPS: {evex: evexLanes(shuffleSingles, 0)}, x86.VSHUFPD: {evex: evexLanes(shuffleDoubles, 2)},
		x86.VMOVSLDUP: {evex: evexEachWord(duplicateEven)}, x86.VMOVSHDUP: {evex: evexEachWord(duplicateOdd)},
		x86.VMOVDDUP:  {evex: evexEachLane(func(l lane, _ uint8) lane { return duplicateLow(l) }, 0)},
		x86.VPERMILPS: {evex: byImmediate(evexEachLane(shuffleDwords, 0), evexTwoLanes(permuteSinglesBy))},
		x86.VPERMILPD: {evex: byImmediate(evexEachLane(permuteDoubles, 2), evexTwoLanes(permuteDoublesBy))},

		x86.VPERMB: {evex: evexVectors(permuteElements)}, x86.VPERMW: {evex: evexVectors(permuteElements)},
		x86.VPERMD: {evex: evexVectors(permuteElements)}, x86.VPERMPS: {evex: evexVectors(permuteElements)},
		x86.VPERMQ:   {evex: byImmediate(evexVector(permuteQuarters), evexVectors(permuteElements))},
		x86.VPERMPD:  {evex: byImmediate(evexVector(permuteQuarters), evexVectors(permuteElements))},
		x86.VPERMI2B: {evex: evexThree(permuteByResult)}, x86.VPERMI2W: {evex: evexThree(permuteByResult)},
		x86.VPERMI2D: {evex: evexThree(permuteByResult)}, x86.VPERMI2Q: {evex: evexThree(permuteByResult)},
		x86.VPERMI2PS: {evex: evexThree(permuteByResult)}, x86.VPERMI2PD: {evex: evexThree(permuteByResult)},
		x86.VPERMT2B: {evex: evexThree(permuteToFirst)}, x86.VPERMT2W: {evex: evexThree(permuteToFirst)},
		x86.VPERMT2D: {evex: evexThree(permuteToFirst)}, x86.VPERMT2Q: {evex: evexThree(permuteToFirst)},
		x86.VPERMT2PS: {evex: evexThree(permuteToFirst)}, x86.VPERMT2PD: {evex: evexThree(permuteToFirst)},
		x86.VALIGND: {evex: evexVectors(alignElements)}, x86.VALIGNQ: {evex: evexVectors(alignElements)},
	}
}

// evexPartRows are those on parts of vectors of 8, 16 and 32 bytes, and on elements that a mask chooses.
func evexPartRows() rows {
	return rows{
		x86.VSHUFF32X4: {evex: evexVectors(shuffleLanes)}, x86.VSHUFF64X2: {evex: evexVectors(shuffleLanes)},
		x86.VSHUFI32X4: {evex: evexVectors(shuffleLanes)}, x86.VSHUFI64X2: {evex: evexVectors(shuffleLanes)},
		x86.VINSERTF32X4: {evex: evexVectors(insertPart)}, x86.VINSERTF64X2: {evex: evexVectors(insertPart)},
		x86.VINSERTF32X8: {evex: evexVectors(insertPart)}, x86.VINSERTF64X4: {evex: evexVectors(insertPart)},
		x86.VINSERTI32X4: {evex: evexVectors(insertPart)}, x86.VINSERTI64X2: {evex: evexVectors(insertPart)},
		x86.VINSERTI32X8: {evex: evexVectors(insertPart)}, x86.VINSERTI64X4: {evex: evexVectors(insertPart)},
		x86.VEXTRACTF32X4: {evex: (*Machine).extractPart}, x86.VEXTRACTF64X2: {evex: (*Machine).extractPart},
		x86.VEXTRACTF32X8: {evex: (*Machine).extractPart}, x86.VEXTRACTF64X4: {evex: (*Machine).extractPart},
		x86.VEXTRACTI32X4: {evex: (*Machine).extractPart}, x86.VEXTRACTI64X2: {evex: (*Machine).extractPart},
		x86.VEXTRACTI32X8: {evex: (*Machine).extractPart}, x86.VEXTRACTI64X4: {evex: (*Machine).extractPart},

		x86.VPBROADCASTB: {evex: evexRepeats(1)}, x86.VPBROADCASTW: {evex: evexRepeats(2)},
		x86.VPBROADCASTD: {evex: evexRepeats(4)}, x86.VPBROADCASTQ: {evex: evexRepeats(8)},
		x86.VBROADCASTSS: {evex: evexRepeats(4)}, x86.VBROADCASTSD: {evex: evexRepeats(8)},
		x86.VBROADCASTF32X2: {evex: evexRepeats(8)}, x86.VBROADCASTI32X2: {evex: evexRepeats(8)},
		x86.VBROADCASTF32X4: {evex: evexRepeats(16)}, x86.VBROADCASTI32X4: {evex: evexRepeats(16)},
		x86.VBROADCASTF64X2: {evex: evexRepeats(16)}, x86.VBROADCASTI64X2: {evex: evexRepeats(16)},
		x86.VBROADCASTF32X8: {evex: evexRepeats(32)}, x86.VBROADCASTI32X8: {evex: evexRepeats(32)},
		x86.VBROADCASTF64X4: {evex: evexRepeats(32)}, x86.VBROADCASTI64X4: {evex: evexRepeats(32)},

		x86.VPBLENDMB: {evex: (*Machine).evexBlend}, x86.VPBLENDMW: {evex: (*Machine).evexBlend},
		x86.VPBLENDMD: {evex: (*Machine).evexBlend}, x86.VPBLENDMQ: {evex: (*Machine).evexBlend},
		x86.VBLENDMPS: {evex: (*Machine).evexBlend}, x86.VBLENDMPD: {evex: (*Machine).evexBlend},
	}
}

// evexWidthRows are those that make elements wider or narrower.
func evexWidthRows() rows {
	return rows{
		x86.VPMOVSXBW: {evex: evexExtends(1, 2, true)}, x86.VPMOVSXBD: {evex: evexExtends(1, 4, true)}, x86.VPMOVSXBQ: {evex: evexExtends(1, 8, true)},
		x86.VPMOVSXWD: {evex: evexExtends(2, 4, true)}, x86.VPMOVSXWQ: {evex: evexExtends(2, 8, true)}, x86.VPMOVSXDQ: {evex: evexExtends(4, 8, true)},
		x86.VPMOVZXBW: {evex: evexExtends(1, 2, false)}, x86.VPMOVZXBD: {evex: evexExtends(1, 4, false)}, x86.VPMOVZXBQ: {evex: evexExtends(1, 8, false)},
		x86.VPMOVZXWD: {evex: evexExtends(2, 4, false)}, x86.VPMOVZXWQ: {evex: evexExtends(2, 8, false)}, x86.VPMOVZXDQ: {evex: evexExtends(4, 8, false)},

		x86.VPMOVWB: {evex: evexNarrows(2, 1, cutOff)}, x86.VPMOVDB: {evex: evexNarrows(4, 1, cutOff)}, x86.VPMOVQB: {evex: evexNarrows(8, 1, cutOff)},
		x86.VPMOVDW: {evex: evexNarrows(4, 2, cutOff)}, x86.VPMOVQW: {evex: evexNarrows(8, 2, cutOff)}, x86.VPMOVQD: {evex: evexNarrows(8, 4, cutOff)},
		x86.VPMOVSWB: {evex: evexNarrows(2, 1, saturated)}, x86.VPMOVSDB: {evex: evexNarrows(4, 1, saturated)}, x86.VPMOVSQB: {evex: evexNarrows(8, 1, saturated)},
		x86.VPMOVSDW: {evex: evexNarrows(4, 2, saturated)}, x86.VPMOVSQW: {evex: evexNarrows(8, 2, saturated)}, x86.VPMOVSQD: {evex: evexNarrows(8, 4, saturated)},
		x86.VPMOVUSWB: {evex: evexNarrows(2, 1, saturatedUnsigned)}, x86.VPMOVUSDB: {evex: evexNarrows(4, 1, saturatedUnsigned)},
		x86.VPMOVUSQB: {evex: evexNarrows(8, 1, saturatedUnsigned)}, x86.VPMOVUSDW: {evex: evexNarrows(4, 2, saturatedUnsigned)},
		x86.VPMOVUSQW: {evex: evexNarrows(8, 2, saturatedUnsigned)}, x86.VPMOVUSQD: {evex: evexNarrows(8, 4, saturatedUnsigned)},
	}
}

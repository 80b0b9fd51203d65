package sem

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
)

// broadcast returns the semantics of an instruction that repeats the lowest element of its source, of which repeat
// makes a word.
func broadcast(repeat func(uint64) uint64) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		l, _, fault := m.laneArg(c, g, 1)
		if fault != nil {
			return fault
		}
		x := repeat(l.low)
		setLanes(c, g, lane{x, x}, lane{x, x})
		return nil
	}
}

func repeatByte(x uint64) uint64  { return x & 0xff * lowOfBytes }
func repeatWord(x uint64) uint64  { return x & 0xffff * lowOfWords }
func repeatDword(x uint64) uint64 { return x & 0xffffffff * lowOfDwords }
func repeatQword(x uint64) uint64 { return x }

// broadcastLane implements VBROADCASTF128 and VBROADCASTI128.
func (m *Machine) broadcastLane(c *emu.CPU, g *guest.Insn) *emu.Fault {
	l, _, fault := m.laneArg(c, g, 1)
	if fault == nil {
		setLanes(c, g, l, l)
	}
	return fault
}

// insertLane implements VINSERTF128 and VINSERTI128.
func (m *Machine) insertLane(c *emu.CPU, g *guest.Insn) *emu.Fault {
	a, b, fault := m.vecArgs(c, g)
	if fault != nil {
		return fault
	}
	a.setLane(int(g.Imm&1), b.lane(0))
	setVec(c, g, a)
	return nil
}

// extractLane implements VEXTRACTF128 and VEXTRACTI128.
func (m *Machine) extractLane(c *emu.CPU, g *guest.Insn) *emu.Fault {
	from := lowLane(c.FP, g.Args[1].Reg)
	if g.Imm&1 != 0 {
		from = highLane(c.FP, g.Args[1].Reg)
	}
	if g.Args[0].Kind == x86.ArgMem {
		return m.storeVec(c, g, laneOf(from), lane{})
	}
	setLanes(c, g, laneOf(from), lane{})
	return nil
}

// permuteLanes implements VPERM2F128 and VPERM2I128: each half of the immediate selects one of four lanes, or zeros.
func (m *Machine) permuteLanes(c *emu.CPU, g *guest.Insn) *emu.Fault {
	a, b, fault := m.vecArgs(c, g)
	if fault != nil {
		return fault
	}
	all := [4]lane{a.lane(0), a.lane(1), b.lane(0), b.lane(1)}
	var v vec
	for i := range 2 {
		if by := g.Imm >> (4 * i); by&8 == 0 {
			v.setLane(i, all[by&3])
		}
	}
	setVec(c, g, v)
	return nil
}

// permuteDwords implements VPERMD and VPERMPS: the first source has the numbers of the second one's doublewords.
func (m *Machine) permuteDwords(c *emu.CPU, g *guest.Insn) *emu.Fault {
	by, from, fault := m.vecArgs(c, g)
	if fault != nil {
		return fault
	}
	var v vec
	for i := range v {
		v[i] = from.dword(by[i]) | from.dword(by[i]>>32)<<32
	}
	setVec(c, g, v)
	return nil
}

// dword returns the doubleword of v that the lowest three bits of i number.
func (v *vec) dword(i uint64) uint64 { return v[i>>1&3] >> (32 * (i & 1)) & 0xffffffff }

// permuteQwords implements VPERMQ and VPERMPD.
func (m *Machine) permuteQwords(c *emu.CPU, g *guest.Insn) *emu.Fault {
	from, fault := m.vecArg(c, g, 1)
	if fault != nil {
		return fault
	}
	var v vec
	for i := range v {
		v[i] = from[g.Imm>>(2*i)&3]
	}
	setVec(c, g, v)
	return nil
}

// extends returns the semantics of PMOVSX and PMOVZX: elements of from bits are extended to to bits, with their sign or
// with zeros.
func extends(from, to int, signed bool) semantics {
	step := 64 / to * from // bits of the source that make a word of the result
	word := func(l lane, i int) uint64 {
		return extend(l.word(uint8(i*step/64))>>(i*step%64), from, to, signed)
	}
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		l, _, fault := m.laneArg(c, g, 1)
		if fault != nil {
			return fault
		}
		low, high := lane{word(l, 0), word(l, 1)}, lane{}
		if g.Args[0].Size == 32 {
			high = lane{word(l, 2), word(l, 3)}
		}
		setLanes(c, g, low, high)
		return nil
	}
}

// extend makes a word of the lowest elements of x.
func extend(x uint64, from, to int, signed bool) (r uint64) {
	for i := 0; i < 64; i += to {
		e := x << (64 - from)
		if signed {
			e = uint64(int64(e)>>(to-from)) >> (64 - to)
		} else {
			e >>= 64 - from
		}
		r |= e << i
		x >>= from
	}
	return r
}

// element returns element i of l, of bits bits.
func (l lane) element(i, bits int) uint64 {
	at := i * bits & 127
	return l.word(uint8(at/64)) >> (at % 64) & (^uint64(0) >> (64 - bits))
}

// insert returns the semantics of PINSRB and its kin, which replace one element of bits bits by the lowest bits of a
// general register, or of memory.
func insert(bits int) semantics {
	mask := ^uint64(0) >> (64 - bits)
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		mmx := g.Args[0].Kind == x86.ArgMMX
		if mmx && pendingX87(c.FP) {
			return pendingMMX(c)
		}
		x, fault := m.wordArg(c, g, int(g.NArgs)-2)
		if fault != nil {
			return fault
		}
		at := int(g.Imm) * bits & 127
		if mmx {
			at &= 63
			setMMX(c, g, choose(mask<<at, x<<at, mmxReg(c.FP, g.Args[0].Reg)))
			return nil
		}
		v := vecReg(c.FP, g.Args[g.NArgs-3].Reg)
		w := &v[at/64]
		at %= 64
		*w = choose(mask<<at, x<<at, *w)
		setVec(c, g, v)
		return nil
	}
}

// extract returns the semantics of PEXTRB and its kin, which copy one element of bits bits to a general register or to
// memory.
func extract(bits int) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		from, to := &g.Args[1], &g.Args[0]
		var l lane
		mmx := from.Kind == x86.ArgMMX
		switch {
		case mmx && pendingX87(c.FP):
			return pendingMMX(c)
		case mmx:
			x := mmxReg(c.FP, from.Reg)
			l = lane{x, x} // the immediate's highest bits do not matter
		default:
			v := vecReg(c.FP, from.Reg)
			l = v.lane(0)
		}
		x := l.element(int(g.Imm), bits)
		if to.Kind == x86.ArgMem {
			return m.put(c, g, 0, x)
		}
		c.Regs[to.Reg] = x
		if mmx {
			enterMMX(c.FP)
		}
		return nil
	}
}

// insertSingle implements INSERTPS: the immediate has the source's element, the destination's, and which ones are
// cleared then.
func (m *Machine) insertSingle(c *emu.CPU, g *guest.Insn) *emu.Fault {
	a, b, fault := m.vecArgs(c, g)
	if fault != nil {
		return fault
	}
	from, imm := b.lane(0), uint8(g.Imm)
	x := from.dword(0)
	if g.Args[g.NArgs-2].Kind != x86.ArgMem {
		x = from.dword(imm >> 6)
	}
	a.setElement(int(imm>>4&3), 4, x)
	for i := range 4 {
		if imm>>i&1 != 0 {
			a.setElement(i, 4, 0)
		}
	}
	setVec(c, g, a)
	return nil
}

// blendBy returns BLENDPS, PBLENDW and their kin: elements of bits bits are b's where imm has ones.
func blendBy(bits int) func(a, b lane, imm uint8) lane {
	ones := ^uint64(0) >> (64 - bits)
	return func(a, b lane, imm uint8) lane {
		var mask [2]uint64
		for i := range 128 / bits {
			if imm>>i&1 != 0 {
				mask[i*bits/64] |= ones << (i * bits % 64)
			}
		}
		return lane{choose(mask[0], b.low, a.low), choose(mask[1], b.high, a.high)}
	}
}

// blend returns the semantics of BLENDVPS and its kin: elements are the second source's where the last operand's
// highest bits are set, of which fill makes ones.
func blend(fill func(uint64) uint64) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		first := firstSource(g)
		low, high, fault := m.laneArg(c, g, first+1)
		if fault != nil {
			return fault
		}
		by, a := g.Args[g.NArgs-1].Reg, g.Args[first].Reg
		low = blendLane(laneOf(lowLane(c.FP, a)), low, laneOf(lowLane(c.FP, by)), fill)
		high = blendLane(laneOf(highLane(c.FP, a)), high, laneOf(highLane(c.FP, by)), fill)
		setLanes(c, g, low, high)
		return nil
	}
}

func blendLane(a, b, by lane, fill func(uint64) uint64) lane {
	return lane{choose(fill(by.low), b.low, a.low), choose(fill(by.high), b.high, a.high)}
}

func signBytesFilled(x uint64) uint64  { return fillBytes(x & highOfBytes) }
func signDwordsFilled(x uint64) uint64 { return fillDwords(x & highOfDwords) }
func signQwordFilled(x uint64) uint64  { return uint64(int64(x) >> 63) }

// tests returns the semantics of PTEST and VTESTPS: ZF says that no bit of kept is set in both operands, CF that none
// is in the second one alone.
func tests(kept uint64) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		low, high, fault := m.laneArg(c, g, 1)
		if fault != nil {
			return fault
		}
		a := laneOf(lowLane(c.FP, g.Args[0].Reg))
		common, alone := a.low&low.low|a.high&low.high, ^a.low&low.low|^a.high&low.high
		if g.Args[0].Size == 32 {
			a = laneOf(highLane(c.FP, g.Args[0].Reg))
			common |= a.low&high.low | a.high&high.high
			alone |= ^a.low&high.low | ^a.high&high.high
		}
		setFlags(c, x86.StatusFlags, when(common&kept == 0, emu.FlagZF)|when(alone&kept == 0, emu.FlagCF))
		return nil
	}
}

func permuteRows() parts {
	return join(
		both(x86.VBROADCASTSS, x86.VPBROADCASTD, broadcast(repeatDword)), both(x86.VBROADCASTSD, x86.VPBROADCASTQ, broadcast(repeatQword)),
		both(x86.VBROADCASTF128, x86.VBROADCASTI128, (*Machine).broadcastLane),
		both(x86.VINSERTF128, x86.VINSERTI128, (*Machine).insertLane), both(x86.VEXTRACTF128, x86.VEXTRACTI128, (*Machine).extractLane),
		both(x86.VPERM2F128, x86.VPERM2I128, (*Machine).permuteLanes), both(x86.VPERMD, x86.VPERMPS, (*Machine).permuteDwords),
		both(x86.VPERMQ, x86.VPERMPD, (*Machine).permuteQwords),
		rows{x86.VPBROADCASTB: {plain: broadcast(repeatByte)}, x86.VPBROADCASTW: {plain: broadcast(repeatWord)}},

		both(x86.PMOVSXBW, x86.VPMOVSXBW, extends(8, 16, true)), both(x86.PMOVSXBD, x86.VPMOVSXBD, extends(8, 32, true)),
		both(x86.PMOVSXBQ, x86.VPMOVSXBQ, extends(8, 64, true)), both(x86.PMOVSXWD, x86.VPMOVSXWD, extends(16, 32, true)),
		both(x86.PMOVSXWQ, x86.VPMOVSXWQ, extends(16, 64, true)), both(x86.PMOVSXDQ, x86.VPMOVSXDQ, extends(32, 64, true)),
		both(x86.PMOVZXBW, x86.VPMOVZXBW, extends(8, 16, false)), both(x86.PMOVZXBD, x86.VPMOVZXBD, extends(8, 32, false)),
		both(x86.PMOVZXBQ, x86.VPMOVZXBQ, extends(8, 64, false)), both(x86.PMOVZXWD, x86.VPMOVZXWD, extends(16, 32, false)),
		both(x86.PMOVZXWQ, x86.VPMOVZXWQ, extends(16, 64, false)), both(x86.PMOVZXDQ, x86.VPMOVZXDQ, extends(32, 64, false)),

		both(x86.PINSRB, x86.VPINSRB, insert(8)), both(x86.PINSRW, x86.VPINSRW, insert(16)),
		both(x86.PINSRD, x86.VPINSRD, insert(32)), both(x86.PINSRQ, x86.VPINSRQ, insert(64)),
		both(x86.PEXTRB, x86.VPEXTRB, extract(8)), both(x86.PEXTRW, x86.VPEXTRW, extract(16)),
		both(x86.PEXTRD, x86.VPEXTRD, extract(32)), both(x86.PEXTRQ, x86.VPEXTRQ, extract(64)),
		both(x86.EXTRACTPS, x86.VEXTRACTPS, extract(32)), both(x86.INSERTPS, x86.VINSERTPS, (*Machine).insertSingle),

		both(x86.BLENDPS, x86.VBLENDPS, lanesBy(blendBy(32), 4)), both(x86.BLENDPD, x86.VBLENDPD, lanesBy(blendBy(64), 2)),
		both(x86.PBLENDW, x86.VPBLENDW, lanesBy(blendBy(16), 0)), rows{x86.VPBLENDD: {plain: lanesBy(blendBy(32), 4)}},
		both(x86.PBLENDVB, x86.VPBLENDVB, blend(signBytesFilled)), both(x86.BLENDVPS, x86.VBLENDVPS, blend(signDwordsFilled)),
		both(x86.BLENDVPD, x86.VBLENDVPD, blend(signQwordFilled)),

		both(x86.PTEST, x86.VPTEST, tests(^uint64(0))),
		rows{x86.VTESTPS: {plain: tests(highOfDwords)}, x86.VTESTPD: {plain: tests(1 << 63)}},
	)
}

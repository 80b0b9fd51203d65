package sem

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
)

// broadcast returns the semantics of an instruction that repeats the lowest elements of its source, of bits bits.
func broadcast(bits int) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		v, fault := m.vecArg(c, g, 1)
		if fault != nil {
			return fault
		}
		setVec(c, g, repeat(v, bits))
		return nil
	}
}

// repeat fills v with its lowest bits.
func repeat(v vec, bits int) vec {
	x := v[0]
	switch bits {
	case 8:
		x = x & 0xff * lowOfBytes
	case 16:
		x = x & 0xffff * lowOfWords
	case 32:
		x = x & 0xffffffff * lowOfDwords
	case 128:
		return vec{x, v[1], x, v[1]}
	}
	return vec{x, x, x, x}
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
	var v vec
	from := vecReg(c.FP, g.Args[1].Reg)
	v.setLane(0, from.lane(int(g.Imm&1)))
	if g.Args[0].Kind == x86.ArgMem {
		return m.storeVec(c, g, v)
	}
	setVec(c, g, v)
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

// extends returns the semantics of PMOVSX and PMOVZX: elements of from bits are extended to to bits, with their sign or with zeros.
func extends(from, to int, signed bool) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		v, fault := m.vecArg(c, g, 1)
		if fault != nil {
			return fault
		}
		setVec(c, g, extend(v, from, to, signed))
		return nil
	}
}

func extend(v vec, from, to int, signed bool) (r vec) {
	for i := range 256 / to {
		x := v[i*from/64] >> (i * from % 64) << (64 - from)
		if signed {
			x = uint64(int64(x)>>(64-from)) << (64 - to) >> (64 - to)
		} else {
			x >>= 64 - from
		}
		r[i*to/64] |= x << (i * to % 64)
	}
	return r
}

// element returns element i of l, of bits bits.
func (l lane) element(i int64, bits int) uint64 {
	at := int(i) * bits & 127
	return l[at/64] >> (at % 64) & (^uint64(0) >> (64 - bits))
}

// insert returns the semantics of PINSRB and its kin, which replace one element of bits bits by the lowest bits of a general register, or
// of memory.
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

// extract returns the semantics of PEXTRB and its kin, which copy one element of bits bits to a general register or to memory.
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
		x := l.element(g.Imm, bits)
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

// insertSingle implements INSERTPS: the immediate has the source's element, the destination's, and which ones are cleared then.
func (m *Machine) insertSingle(c *emu.CPU, g *guest.Insn) *emu.Fault {
	a, b, fault := m.vecArgs(c, g)
	if fault != nil {
		return fault
	}
	from, to, imm := b.lane(0), a.lane(0), uint8(g.Imm)
	x := from.dword(0)
	if g.Args[g.NArgs-2].Kind != x86.ArgMem {
		x = from.dword(imm >> 6)
	}
	to.setDword(imm>>4&3, x)
	for i := range uint8(4) {
		if imm>>i&1 != 0 {
			to.setDword(i, 0)
		}
	}
	a.setLane(0, to)
	setVec(c, g, a)
	return nil
}

// blendBy returns BLENDPS, PBLENDW and their kin: elements of bits bits are b's where imm has ones.
func blendBy(bits int) func(a, b lane, imm uint8) lane {
	ones := ^uint64(0) >> (64 - bits)
	return func(a, b lane, imm uint8) lane {
		var mask lane
		for i := range 128 / bits {
			if imm>>i&1 != 0 {
				mask[i*bits/64] |= ones << (i * bits % 64)
			}
		}
		return lane{choose(mask[0], b[0], a[0]), choose(mask[1], b[1], a[1])}
	}
}

// blend returns the semantics of BLENDVPS and its kin: elements are the second source's where the last operand's highest bits are set, of
// which fill makes ones.
func blend(fill func(uint64) uint64) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		a, b, fault := m.vecArgs(c, g)
		if fault != nil {
			return fault
		}
		by := vecReg(c.FP, g.Args[g.NArgs-1].Reg)
		for i := range a {
			a[i] = choose(fill(by[i]), b[i], a[i])
		}
		setVec(c, g, a)
		return nil
	}
}

func signBytesFilled(x uint64) uint64  { return fillBytes(x & highOfBytes) }
func signDwordsFilled(x uint64) uint64 { return fillDwords(x & highOfDwords) }
func signQwordFilled(x uint64) uint64  { return uint64(int64(x) >> 63) }

// tests returns the semantics of PTEST and VTESTPS: ZF says that no bit of kept is set in both operands, CF that none is in the second one
// alone.
func tests(kept uint64) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		b, fault := m.vecArg(c, g, 1)
		if fault != nil {
			return fault
		}
		a := vecReg(c.FP, g.Args[0].Reg)
		var common, alone uint64
		for i := range int(g.Args[0].Size) / 8 {
			common |= a[i] & b[i] & kept
			alone |= ^a[i] & b[i] & kept
		}
		setFlags(c, x86.StatusFlags, when(common == 0, emu.FlagZF)|when(alone == 0, emu.FlagCF))
		return nil
	}
}

var permuteRows = join(
	both(x86.VBROADCASTSS, x86.VPBROADCASTD, broadcast(32)), both(x86.VBROADCASTSD, x86.VPBROADCASTQ, broadcast(64)),
	both(x86.VBROADCASTF128, x86.VBROADCASTI128, broadcast(128)),
	both(x86.VINSERTF128, x86.VINSERTI128, (*Machine).insertLane), both(x86.VEXTRACTF128, x86.VEXTRACTI128, (*Machine).extractLane),
	both(x86.VPERM2F128, x86.VPERM2I128, (*Machine).permuteLanes), both(x86.VPERMD, x86.VPERMPS, (*Machine).permuteDwords),
	both(x86.VPERMQ, x86.VPERMPD, (*Machine).permuteQwords),
	rows{x86.VPBROADCASTB: {plain: broadcast(8)}, x86.VPBROADCASTW: {plain: broadcast(16)}},

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

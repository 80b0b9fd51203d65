package sem

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
)

// moveVector implements MOVAPS, MOVDQU and all others that copy a whole register or its like in memory.
func (m *Machine) moveVector(c *emu.CPU, g *guest.Insn) *emu.Fault {
	if g.Args[0].Kind == x86.ArgMem {
		return m.storeVec(c, g, laneOf(lowLane(c.FP, g.Args[1].Reg)), laneOf(highLane(c.FP, g.Args[1].Reg)))
	}
	low, high, fault := m.laneArg(c, g, 1)
	if fault == nil {
		setLanes(c, g, low, high)
	}
	return fault
}

// moveScalar returns the semantics of MOVSS and MOVSD, of size bytes. A load clears the other elements, a move between
// registers keeps the destination's, or with VEX takes the first source's.
func moveScalar(size uint8) semantics {
	mask := ^uint64(0) >> (64 - 8*size)
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		last := int(g.NArgs) - 1
		l, _, fault := m.laneArg(c, g, last)
		switch {
		case fault != nil:
			return fault
		case g.Args[0].Kind == x86.ArgMem:
			return m.Store(guest.EffectiveAddr(c, g), size, l.low)
		case g.Args[last].Kind != x86.ArgMem:
			rest := laneOf(lowLane(c.FP, g.Args[last-1].Reg))
			l = lane{choose(mask, l.low, rest.low), rest.high}
		}
		setLanes(c, g, l, lane{})
		return nil
	}
}

// moveHalf returns the semantics of MOVLPS, MOVHPS and their kin, which load or store one word of a lane, the other one
// staying or being the first source's.
func moveHalf(high bool) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		last := int(g.NArgs) - 1
		l, _, fault := m.laneArg(c, g, last)
		switch {
		case fault != nil:
			return fault
		case g.Args[0].Kind != x86.ArgMem:
			rest := laneOf(lowLane(c.FP, g.Args[last-1].Reg))
			if high {
				rest.high = l.low
			} else {
				rest.low = l.low
			}
			setLanes(c, g, rest, lane{})
			return nil
		case high:
			l.low = l.high
		}
		return m.Store(guest.EffectiveAddr(c, g), 8, l.low)
	}
}

// highToLow is MOVHLPS, lowToHigh MOVLHPS.
func highToLow(a, b lane) lane { return lane{b.high, a.high} }
func lowToHigh(a, b lane) lane { return lane{a.low, b.low} }

// moveWord implements MOVD and MOVQ: the lowest bits of a vector or MMX register, a general register or memory become
// the lowest bits of another one, which has no others.
func (m *Machine) moveWord(c *emu.CPU, g *guest.Insn) *emu.Fault {
	mmx := g.Args[0].Kind == x86.ArgMMX || g.Args[1].Kind == x86.ArgMMX
	if mmx && pendingX87(c.FP) {
		return pendingMMX(c)
	}
	x, fault := m.wordArg(c, g, 1)
	if fault != nil {
		return fault
	}
	if g.Args[0].Kind == x86.ArgMMX {
		setMMX(c, g, x)
		return nil
	}
	if mmx {
		beginMMX(c.FP)
	}
	if g.Args[0].Kind == x86.ArgXMM {
		setLanes(c, g, lane{x, 0}, lane{})
	} else if fault := m.put(c, g, 0, x); fault != nil {
		return fault
	}
	if mmx {
		enterMMX(c.FP)
	}
	return nil
}

// wordArg returns the lowest 64 bits of operand arg of g, or as many as it has.
func (m *Machine) wordArg(c *emu.CPU, g *guest.Insn, arg int) (uint64, *emu.Fault) {
	o := &g.Args[arg]
	switch o.Kind {
	case x86.ArgXMM:
		return laneOf(lowLane(c.FP, o.Reg)).low, nil
	case x86.ArgMMX:
		return mmxReg(c.FP, o.Reg), nil
	}
	return m.get(c, g, arg)
}

// signs returns the semantics of MOVMSKPS and its kin: f gathers the highest bits of the elements of a word, of which
// there are n.
func signs(f func(uint64) uint64, n int) semantics {
	return func(_ *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		o := &g.Args[1]
		if o.Kind == x86.ArgMMX {
			if fault := pendingMMX(c); fault != nil {
				return fault
			}
			c.Regs[g.Args[0].Reg] = f(mmxReg(c.FP, o.Reg))
			enterMMX(c.FP)
			return nil
		}
		low := laneOf(lowLane(c.FP, o.Reg))
		r := f(low.low) | f(low.high)<<n
		if o.Size == 32 {
			high := laneOf(highLane(c.FP, o.Reg))
			r |= f(high.low)<<(2*n) | f(high.high)<<(3*n)
		}
		c.Regs[g.Args[0].Reg] = r
		return nil
	}
}

// SignsOfBytes gathers the highest bits of bytes: a factor moves that of byte i to bit 56+i, where no two sums of
// others meet.
func SignsOfBytes(x uint64) uint64 { return x & highOfBytes >> 7 * 0x0102040810204080 >> 56 }

func signsOfDwords(x uint64) uint64 { return x>>31&1 | x>>63<<1 }
func signOfQword(x uint64) uint64   { return x >> 63 }

// clearUpper implements VZEROUPPER.
func (m *Machine) clearUpper(c *emu.CPU, _ *guest.Insn) *emu.Fault {
	clear(c.FP[emu.XOffYMMH : emu.XOffYMMH+256])
	return nil
}

// clearAll implements VZEROALL.
func (m *Machine) clearAll(c *emu.CPU, g *guest.Insn) *emu.Fault {
	clear(c.FP[emu.XOffXMM : emu.XOffXMM+256])
	return m.clearUpper(c, g)
}

func vectorMoveRows() parts {
	return join(
		both(x86.MOVAPS, x86.VMOVAPS, (*Machine).moveVector), both(x86.MOVAPD, x86.VMOVAPD, (*Machine).moveVector),
		both(x86.MOVUPS, x86.VMOVUPS, (*Machine).moveVector), both(x86.MOVUPD, x86.VMOVUPD, (*Machine).moveVector),
		both(x86.MOVDQA, x86.VMOVDQA, (*Machine).moveVector), both(x86.MOVDQU, x86.VMOVDQU, (*Machine).moveVector),
		both(x86.MOVNTPS, x86.VMOVNTPS, (*Machine).moveVector), both(x86.MOVNTPD, x86.VMOVNTPD, (*Machine).moveVector),
		both(x86.MOVNTDQ, x86.VMOVNTDQ, (*Machine).moveVector), both(x86.MOVNTDQA, x86.VMOVNTDQA, (*Machine).moveVector),
		both(x86.LDDQU, x86.VLDDQU, (*Machine).moveVector),
		both(x86.MOVSS, x86.VMOVSS, moveScalar(4)), both(x86.MOVSD, x86.VMOVSD, moveScalar(8)),
		both(x86.MOVLPS, x86.VMOVLPS, moveHalf(false)), both(x86.MOVLPD, x86.VMOVLPD, moveHalf(false)),
		both(x86.MOVHPS, x86.VMOVHPS, moveHalf(true)), both(x86.MOVHPD, x86.VMOVHPD, moveHalf(true)),
		both(x86.MOVHLPS, x86.VMOVHLPS, lanes(highToLow)), both(x86.MOVLHPS, x86.VMOVLHPS, lanes(lowToHigh)),
		both(x86.MOVD, x86.VMOVD, (*Machine).moveWord), both(x86.MOVQ, x86.VMOVQ, (*Machine).moveWord),
		both(x86.PMOVMSKB, x86.VPMOVMSKB, signs(SignsOfBytes, 8)),
		both(x86.MOVMSKPS, x86.VMOVMSKPS, signs(signsOfDwords, 2)), both(x86.MOVMSKPD, x86.VMOVMSKPD, signs(signOfQword, 1)),
		rows{
			x86.MOVQ2DQ: {plain: (*Machine).moveWord}, x86.MOVDQ2Q: {plain: (*Machine).moveWord}, x86.MOVNTQ: {plain: (*Machine).moveWord},
			x86.MOVNTI:     {plain: move},
			x86.VZEROUPPER: {plain: (*Machine).clearUpper}, x86.VZEROALL: {plain: (*Machine).clearAll},
		},
	)
}

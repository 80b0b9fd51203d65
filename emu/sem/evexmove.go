package sem

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
)

// Instructions with an EVEX prefix that move one element, or half of a lane.

// evexMoveScalar returns the semantics of VMOVSS and VMOVSD, of size bytes: a load clears the other elements, a move
// between registers takes the first source's.
func evexMoveScalar(size int) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		last, selected := int(g.NArgs)-1, guest.Opmask(c, g) != 0
		var x uint64
		if selected {
			var fault *emu.Fault
			if x, fault = m.evexScalarArg(c, g, last, size); fault != nil {
				return fault
			}
		}
		switch {
		case g.Args[0].Kind == x86.ArgMem && selected:
			return m.Store(guest.EffectiveAddr(c, g), uint8(size), x)
		case g.Args[0].Kind == x86.ArgMem:
			return nil
		case g.Args[last].Kind != x86.ArgMem:
			return concludeEVEXScalar(c, g, 1, x, size)
		}
		var v wide
		if old := wideReg(c.FP, g.Args[0].Reg, 16); !selected && !g.Zeroing {
			x = old.element(0, size)
		}
		v.setElement(0, size, x)
		setWideReg(c.FP, g.Args[0].Reg, &v)
		return nil
	}
}

// evexMoveHalf returns the semantics of VMOVLPS, VMOVHPS and their kin.
func evexMoveHalf(half int) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		if g.Args[0].Kind == x86.ArgMem {
			v := wideReg(c.FP, g.Args[1].Reg, 16)
			return m.Store(guest.EffectiveAddr(c, g), 8, v[half])
		}
		x, fault := m.Load(guest.EffectiveAddr(c, g), 8)
		if fault != nil {
			return fault
		}
		v := wideReg(c.FP, g.Args[1].Reg, 16)
		v[half] = x
		setWideReg(c.FP, g.Args[0].Reg, &v)
		return nil
	}
}

// evexWord returns the lowest 64 bits of operand arg of g, or as many as it has.
func (m *Machine) evexWord(c *emu.CPU, g *guest.Insn, arg int) (uint64, *emu.Fault) {
	if o := &g.Args[arg]; o.Kind == x86.ArgXMM {
		v := wideReg(c.FP, o.Reg, 16)
		return v[0], nil
	}
	return m.get(c, g, arg)
}

// evexMoveWord implements VMOVD and VMOVQ.
func (m *Machine) evexMoveWord(c *emu.CPU, g *guest.Insn) *emu.Fault {
	x, fault := m.evexWord(c, g, 1)
	switch {
	case fault != nil:
		return fault
	case g.Args[0].Kind == x86.ArgXMM:
		setWideReg(c.FP, g.Args[0].Reg, &wide{x})
		return nil
	}
	return m.put(c, g, 0, x)
}

// evexInsert returns the semantics of VPINSRB and its kin, evexExtract of VPEXTRB and its kin, with elements of size
// bytes.
func evexInsert(size int) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		x, fault := m.evexWord(c, g, 2)
		if fault != nil {
			return fault
		}
		v := wideReg(c.FP, g.Args[1].Reg, 16)
		v.setElement(int(g.Imm)&(16/size-1), size, x)
		setWideReg(c.FP, g.Args[0].Reg, &v)
		return nil
	}
}

func evexExtract(size int) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		v := wideReg(c.FP, g.Args[1].Reg, 16)
		x := v.element(int(g.Imm)&(16/size-1), size)
		if g.Args[0].Kind == x86.ArgMem {
			return m.put(c, g, 0, x)
		}
		c.Regs[g.Args[0].Reg] = x
		return nil
	}
}

// evexInsertSingle implements VINSERTPS, as insertSingle does.
func (m *Machine) evexInsertSingle(c *emu.CPU, g *guest.Insn) *emu.Fault {
	v, imm := wideReg(c.FP, g.Args[1].Reg, 16), uint8(g.Imm)
	var x uint64
	if g.Args[2].Kind == x86.ArgMem {
		var fault *emu.Fault
		if x, fault = m.Load(guest.EffectiveAddr(c, g), 4); fault != nil {
			return fault
		}
	} else {
		from := wideReg(c.FP, g.Args[2].Reg, 16)
		x = from.element(int(imm>>6), 4)
	}
	v.setElement(int(imm>>4&3), 4, x)
	for i := range 4 {
		if imm>>i&1 != 0 {
			v.setElement(i, 4, 0)
		}
	}
	setWideReg(c.FP, g.Args[0].Reg, &v)
	return nil
}

func evexScalarMoveRows() rows {
	return rows{
		x86.VMOVSS: {evex: evexMoveScalar(4)}, x86.VMOVSD: {evex: evexMoveScalar(8)},
		x86.VMOVLPS: {evex: evexMoveHalf(0)}, x86.VMOVLPD: {evex: evexMoveHalf(0)},
		x86.VMOVHPS: {evex: evexMoveHalf(1)}, x86.VMOVHPD: {evex: evexMoveHalf(1)},
		x86.VMOVHLPS: {evex: evexTwoLanes(highToLow)}, x86.VMOVLHPS: {evex: evexTwoLanes(lowToHigh)},
		x86.VMOVD: {evex: (*Machine).evexMoveWord}, x86.VMOVQ: {evex: (*Machine).evexMoveWord},
		x86.VPINSRB: {evex: evexInsert(1)}, x86.VPINSRW: {evex: evexInsert(2)}, x86.VPINSRD: {evex: evexInsert(4)}, x86.VPINSRQ: {evex: evexInsert(8)},
		x86.VPEXTRB: {evex: evexExtract(1)}, x86.VPEXTRW: {evex: evexExtract(2)}, x86.VPEXTRD: {evex: evexExtract(4)}, x86.VPEXTRQ: {evex: evexExtract(8)},
		x86.VEXTRACTPS: {evex: evexExtract(4)}, x86.VINSERTPS: {evex: (*Machine).evexInsertSingle},
	}
}

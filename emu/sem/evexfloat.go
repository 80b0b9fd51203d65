package sem

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/soft"
	"github.com/cgemu/cgemu/emu/x86"
)

// The floating-point instructions with an EVEX prefix: elements that are not selected are not computed, and raise
// nothing.

// An immediateOp is a floatOp that an immediate says more about.
type immediateOp = func(x, y uint64, imm uint8, mode soft.Mode) (uint64, uint16)

// evexPackedBy and evexScalarBy are evexPacked and evexScalar of an operation with an immediate.
func (p precision) evexPackedBy(f immediateOp) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		op := func(x, y uint64, mode soft.Mode) (uint64, uint16) { return f(x, y, uint8(g.Imm), mode) }
		return p.evexPacked(op, op)(m, c, g)
	}
}

func (p precision) evexScalarBy(f immediateOp) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		return p.evexScalar(func(x, y uint64, mode soft.Mode) (uint64, uint16) { return f(x, y, uint8(g.Imm), mode) })(m, c, g)
	}
}

// ofSecondBy returns the operation on the second source alone.
func ofSecondBy(f func(x uint64, imm uint8, mode soft.Mode) (uint64, uint16)) immediateOp {
	return func(_, y uint64, imm uint8, mode soft.Mode) (uint64, uint16) { return f(y, imm, mode) }
}

// evexFused returns the semantics of an FMA instruction, as fused does.
func (p precision) evexFused(f fusedOp, order [3]int, sign fusedSign) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		var args [3]wide
		for i := range args {
			var fault *emu.Fault
			if args[i], fault = m.wideArg(c, g, i); fault != nil {
				return fault
			}
		}
		mode, status, selected := evexMode(c, g), uint16(0), guest.Opmask(c, g)
		first, second, addend := &args[order[0]], &args[order[1]], &args[order[2]]
		for i := range g.Elements() {
			if selected>>i&1 == 0 {
				continue
			}
			x, z := sign.negated(p, i, first.element(i, p.size), addend.element(i, p.size))
			r, s := f(x, second.element(i, p.size), z, mode)
			args[0].setElement(i, p.size, r)
			status |= s
		}
		if fault := evexRaise(c, g, status); fault != nil {
			return fault
		}
		return m.concludeWide(c, g, &args[0])
	}
}

// evexFusedScalar is evexFused of the lowest elements alone.
func (p precision) evexFusedScalar(f fusedOp, order [3]int, sign fusedSign) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		if guest.Opmask(c, g) == 0 {
			return concludeEVEXScalar(c, g, 0, 0, p.size)
		}
		var args [3]uint64
		for i := range args {
			x, fault := m.evexScalarArg(c, g, i, p.size)
			if fault != nil {
				return fault
			}
			args[i] = x
		}
		x, z := sign.negated(p, 0, args[order[0]], args[order[2]])
		r, status := f(x, args[order[1]], z, evexMode(c, g))
		if fault := evexRaise(c, g, status); fault != nil {
			return fault
		}
		return concludeEVEXScalar(c, g, 0, r, p.size)
	}
}

// evexCompare implements VCMPPS and its kin, those on the lowest elements too: a mask says where the predicate holds.
func (p precision) evexCompare(f comparer) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		want, mode, status, k := predicateOf(g), evexMode(c, g), uint16(0), uint64(0)
		selected := guest.Opmask(c, g)
		b, fault := m.elementsArg(c, g, 2, p.size)
		if fault != nil {
			return fault
		}
		a := wideReg(c.FP, g.Args[1].Reg, 64)
		for i := range g.Elements() {
			if selected>>i&1 == 0 {
				continue
			}
			r, s := f(a.element(i, p.size), b.element(i, p.size), want.signaling, mode)
			k |= uint64(want.holds>>r&1) << i
			status |= s
		}
		if fault := evexRaise(c, g, status); fault != nil {
			return fault
		}
		return concludeMask(c, g, k)
	}
}

// elementsArg reads vector operand arg, or its lowest element of size bytes if g works on that alone.
func (m *Machine) elementsArg(c *emu.CPU, g *guest.Insn, arg, size int) (v wide, f *emu.Fault) {
	if g.Elements() > 1 {
		return m.wideArg(c, g, arg)
	}
	if guest.Opmask(c, g) != 0 {
		v[0], f = m.evexScalarArg(c, g, arg, size)
	}
	return v, f
}

// evexClass implements VFPCLASS.
func (p precision) evexClass(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
	v, fault := m.elementsArg(c, g, 1, p.size)
	if fault != nil {
		return fault
	}
	var k uint64
	for i := range g.Elements() {
		if p.Class(v.element(i, p.size), uint8(g.Imm), mxcsr(c.FP)) {
			k |= 1 << i
		}
	}
	return concludeMask(c, g, k)
}

// evexCompareFlags implements VCOMISS and VUCOMISS, as compareFlags does.
func (p precision) evexCompareFlags(f comparer, signaling bool) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		y, fault := m.evexScalarArg(c, g, 1, p.size)
		if fault != nil {
			return fault
		}
		x, _ := m.evexScalarArg(c, g, 0, p.size) // a register
		r, status := f(x, y, signaling, evexMode(c, g))
		if fault := evexRaise(c, g, status); fault != nil {
			return fault
		}
		setFlags(c, x86.StatusFlags, orderFlags[r])
		return nil
	}
}

// evexConverts returns the semantics of an instruction that converts elements of size from to others of size to.
func evexConverts(from, to int, f conversion) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		source, fault := m.wideArg(c, g, 1)
		if fault != nil {
			return fault
		}
		v, status := evexConverted(c, g, &source, from, to, f, evexMode(c, g))
		if fault := evexRaise(c, g, status); fault != nil {
			return fault
		}
		return m.concludeWide(c, g, &v)
	}
}

// evexConverted converts the elements that are selected.
func evexConverted(c *emu.CPU, g *guest.Insn, source *wide, from, to int, f conversion, mode soft.Mode) (v wide, status uint16) {
	selected := guest.Opmask(c, g)
	for i := range g.Elements() {
		if selected>>i&1 == 0 {
			continue
		}
		x, s := f(source.element(i, from), mode)
		v.setElement(i, to, x)
		status |= s
	}
	return v, status
}

// evexToHalf implements VCVTPS2PH, whose immediate has a rounding control, or says that MXCSR's counts.
func (m *Machine) evexToHalf(c *emu.CPU, g *guest.Insn) *emu.Fault {
	mode := evexMode(c, g)
	if g.Imm&4 == 0 {
		mode = mode.WithRounding(uint8(g.Imm))
	}
	source := wideReg(c.FP, g.Args[1].Reg, g.VectorLen())
	v, status := evexConverted(c, g, &source, 4, 2, soft.SingleToHalf, mode)
	if fault := evexRaise(c, g, status); fault != nil {
		return fault
	}
	return m.concludeWide(c, g, &v)
}

// evexScalarConverts returns the semantics of an instruction that replaces the lowest element of its first source by
// another of size to, made of the lowest element of its last source.
func evexScalarConverts(from, to int, f conversion) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		var x uint64
		if guest.Opmask(c, g) != 0 {
			y, fault := m.evexScalarArg(c, g, 2, from)
			if fault != nil {
				return fault
			}
			r, status := f(y, evexMode(c, g))
			if fault := evexRaise(c, g, status); fault != nil {
				return fault
			}
			x = r
		}
		return concludeEVEXScalar(c, g, 1, x, to)
	}
}

// evexFromInteger returns the semantics of VCVTSI2SS and VCVTUSI2SS and their kin: f is told an integer of 64 bits.
func (p precision) evexFromInteger(f conversion, isSigned bool) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		x, fault := m.get(c, g, 2)
		if fault != nil {
			return fault
		}
		if isSigned && g.Args[2].Size == 4 {
			x = uint64(int64(int32(x)))
		}
		r, status := f(x, evexMode(c, g))
		if fault := evexRaise(c, g, status); fault != nil {
			return fault
		}
		v := wideReg(c.FP, g.Args[1].Reg, 16)
		v.setElement(0, p.size, r)
		setWideReg(c.FP, g.Args[0].Reg, &v)
		return nil
	}
}

// A toIntegerOp makes of a number an integer of width bits, in the lowest ones of its result.
type toIntegerOp = func(x uint64, width uint, mode soft.Mode) (uint64, uint16)

// evexToInteger returns the semantics of VCVTSS2SI and VCVTSS2USI and their kin, or of those that truncate.
func (p precision) evexToInteger(f toIntegerOp, truncate bool) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		x, fault := m.evexScalarArg(c, g, 1, p.size)
		if fault != nil {
			return fault
		}
		mode := evexMode(c, g)
		if truncate {
			mode = mode.WithRounding(3)
		}
		size := uint8(g.Args[0].Size)
		i, status := f(x, 8*uint(size), mode)
		if fault := evexRaise(c, g, status); fault != nil {
			return fault
		}
		setReg(c, g.Args[0].Reg, size, i)
		return nil
	}
}

// withSign is a toIntegerOp of a conversion to integers with a sign.
func withSign(f toInt) toIntegerOp {
	return func(x uint64, width uint, mode soft.Mode) (uint64, uint16) {
		i, status := f(x, width, mode)
		return uint64(i), status
	}
}

// ofWidth is the conversion to integers of width bits.
func ofWidth(f toIntegerOp, width uint) conversion {
	return func(x uint64, mode soft.Mode) (uint64, uint16) { return f(x, width, mode) }
}

// evexFixUp implements VFIXUPIMMPS and its kin.
func (p precision) evexFixUp(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
	table, fault := m.elementsArg(c, g, 2, p.size)
	if fault != nil {
		return fault
	}
	x, old := wideReg(c.FP, g.Args[1].Reg, 64), wideReg(c.FP, g.Args[0].Reg, 64)
	mode, status, selected := evexMode(c, g), uint16(0), guest.Opmask(c, g)
	v := x
	for i := range g.Elements() {
		if selected>>i&1 == 0 {
			continue
		}
		r, s := p.FixUp(old.element(i, p.size), x.element(i, p.size), table.element(i, p.size), uint8(g.Imm), mode)
		v.setElement(i, p.size, r)
		status |= s
	}
	if fault := evexRaise(c, g, status); fault != nil {
		return fault
	}
	if g.Elements() == 1 {
		return concludeEVEXScalar(c, g, 1, v.element(0, p.size), p.size)
	}
	return m.concludeWide(c, g, &v)
}

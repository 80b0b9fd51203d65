package sem

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/soft"
	"github.com/cgemu/cgemu/emu/x86"
)

// A conversion makes an element of another. Integers are signed; results have zeros above their size.
type conversion = func(x uint64, mode soft.Mode) (uint64, uint16)

// A toInt converts to an integer of width bits, a fromInt from one.
type (
	toInt   = func(x uint64, width uint, mode soft.Mode) (int64, uint16)
	fromInt = func(i int64, mode soft.Mode) (uint64, uint16)
)

// Conversions between integers and numbers. Those whose names begin with truncate round to zero whatever MXCSR says.
var (
	singleToInt32, truncateSingle = toInt32(soft.SingleToInt), truncating(toInt32(soft.SingleToInt))
	doubleToInt32, truncateDouble = toInt32(soft.DoubleToInt), truncating(toInt32(soft.DoubleToInt))
	singleFromInt32               = fromInt32(soft.IntToSingle)
	doubleFromInt32               = fromInt32(soft.IntToDouble)
)

func toInt32(f toInt) conversion {
	return func(x uint64, mode soft.Mode) (uint64, uint16) {
		i, status := f(x, 32, mode)
		return uint64(uint32(i)), status
	}
}

func truncating(f conversion) conversion {
	return func(x uint64, mode soft.Mode) (uint64, uint16) { return f(x, mode.WithRounding(3)) }
}

func fromInt32(f fromInt) conversion {
	return func(x uint64, mode soft.Mode) (uint64, uint16) { return f(int64(int32(x)), mode) }
}

// convertElements makes the lowest elements of v, of size from, n elements of size to.
func convertElements(v *vec, n, from, to int, f conversion, mode soft.Mode) (r vec, status uint16) {
	for i := range n {
		x, s := f(v.element(i, from), mode)
		r.setElement(i, to, x)
		status |= s
	}
	return r, status
}

// converts returns the semantics of an instruction that converts elements of size from to others of size to. It has as
// many as its larger operand holds; what the result has less becomes zero.
func converts(from, to int, f conversion) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		var v vec
		if fault := m.floatArg(c, g, 1, &v); fault != nil {
			return fault
		}
		width := max(g.Args[0].Size, g.Args[1].Size)
		r, status := convertElements(&v, int(width)/max(from, to), from, to, f, mxcsr(c.FP))
		return conclude(c, g, &r, status)
	}
}

// convertsScalar returns the semantics of an instruction that replaces the lowest element of its first source by
// another of size to, made of the lowest element of its last source.
func convertsScalar(from, to uint8, f conversion) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		last := lastSource(g)
		x, fault := m.scalarArg(c, g, last, from)
		if fault != nil {
			return fault
		}
		x, status := f(x, mxcsr(c.FP))
		return concludeScalar(c, g, last-1, x, to, status)
	}
}

// fromInteger returns the semantics of CVTSI2SS and its kin.
func (p precision) fromInteger(f fromInt) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		last := int(g.NArgs) - 1
		x, fault := m.get(c, g, last)
		if fault != nil {
			return fault
		}
		i := int64(x)
		if g.Args[last].Size == 4 {
			i = int64(int32(x))
		}
		r, status := f(i, mxcsr(c.FP))
		return concludeScalar(c, g, last-1, r, uint8(p.size), status)
	}
}

// toInteger returns the semantics of CVTSS2SI and its kin, or of those that truncate.
func (p precision) toInteger(f toInt, truncate bool) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		x, fault := m.scalarArg(c, g, 1, uint8(p.size))
		if fault != nil {
			return fault
		}
		mode := mxcsr(c.FP)
		if truncate {
			mode = mode.WithRounding(3)
		}
		size := uint8(g.Args[0].Size)
		i, status := f(x, 8*uint(size), mode)
		if fault := raise(c, status); fault != nil {
			return fault
		}
		setReg(c, g.Args[0].Reg, size, uint64(i))
		return nil
	}
}

// toHalf implements VCVTPS2PH, whose immediate has a rounding control, or says that MXCSR's counts.
func (m *Machine) toHalf(c *emu.CPU, g *guest.Insn) *emu.Fault {
	mode := mxcsr(c.FP)
	if g.Imm&4 == 0 {
		mode = mode.WithRounding(uint8(g.Imm))
	}
	source := vecReg(c.FP, g.Args[1].Reg)
	v, status := convertElements(&source, int(g.Args[1].Size)/4, 4, 2, soft.SingleToHalf, mode)
	if g.Args[0].Kind != x86.ArgMem {
		return conclude(c, g, &v, status)
	}
	if fault := raise(c, status); fault != nil {
		return fault
	}
	return m.storeVec(c, g, v.lane(0), v.lane(1))
}

// fromMMX returns the semantics of CVTPI2PS and CVTPI2PD: two integers of an MMX register, or of memory, become
// numbers. With memory they are no MMX instructions.
func (p precision) fromMMX(f conversion) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		mmx := g.Args[1].Kind != x86.ArgMem
		if fault := pendingMMX(c); mmx && fault != nil {
			return fault
		}
		x, fault := m.mmxArg(c, g, 1, 8)
		if fault != nil {
			return fault
		}
		v := vecReg(c.FP, g.Args[0].Reg)
		r, status := convertElements(&vec{x}, 2, 4, p.size, f, mxcsr(c.FP))
		v[0] = r[0]
		if p.size == 8 {
			v[1] = r[1]
		}
		if mmx {
			enterMMX(c.FP)
		}
		return conclude(c, g, &v, status)
	}
}

// toMMX returns the semantics of CVTPS2PI and its kin: two numbers become integers in an MMX register. The x87 state
// becomes MMX's even if an exception is not masked.
func (p precision) toMMX(f conversion) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		if fault := pendingMMX(c); fault != nil {
			return fault
		}
		v, fault := m.vecArg(c, g, 1)
		if fault != nil {
			return fault
		}
		enterMMX(c.FP)
		r, status := convertElements(&v, 2, p.size, 4, f, mxcsr(c.FP))
		if fault := raise(c, status); fault != nil {
			return fault
		}
		setMMX(c, g, r[0])
		return nil
	}
}

func floatConvertRows() rows {
	return rows{
		x86.CVTPS2PD: {plain: converts(4, 8, soft.SingleToDouble)}, x86.VCVTPS2PD: {plain: converts(4, 8, soft.SingleToDouble)},
		x86.CVTPD2PS: {plain: converts(8, 4, soft.DoubleToSingle)}, x86.VCVTPD2PS: {plain: converts(8, 4, soft.DoubleToSingle)},
		x86.CVTSS2SD: {plain: convertsScalar(4, 8, soft.SingleToDouble)}, x86.VCVTSS2SD: {plain: convertsScalar(4, 8, soft.SingleToDouble)},
		x86.CVTSD2SS: {plain: convertsScalar(8, 4, soft.DoubleToSingle)}, x86.VCVTSD2SS: {plain: convertsScalar(8, 4, soft.DoubleToSingle)},
		x86.VCVTPH2PS: {plain: converts(2, 4, soft.HalfToSingle)}, x86.VCVTPS2PH: {plain: (*Machine).toHalf},

		x86.CVTDQ2PS: {plain: converts(4, 4, singleFromInt32)}, x86.VCVTDQ2PS: {plain: converts(4, 4, singleFromInt32)},
		x86.CVTDQ2PD: {plain: converts(4, 8, doubleFromInt32)}, x86.VCVTDQ2PD: {plain: converts(4, 8, doubleFromInt32)},
		x86.CVTPS2DQ: {plain: converts(4, 4, singleToInt32)}, x86.VCVTPS2DQ: {plain: converts(4, 4, singleToInt32)},
		x86.CVTTPS2DQ: {plain: converts(4, 4, truncateSingle)}, x86.VCVTTPS2DQ: {plain: converts(4, 4, truncateSingle)},
		x86.CVTPD2DQ: {plain: converts(8, 4, doubleToInt32)}, x86.VCVTPD2DQ: {plain: converts(8, 4, doubleToInt32)},
		x86.CVTTPD2DQ: {plain: converts(8, 4, truncateDouble)}, x86.VCVTTPD2DQ: {plain: converts(8, 4, truncateDouble)},

		x86.CVTSI2SS: {plain: single.fromInteger(soft.IntToSingle)}, x86.VCVTSI2SS: {plain: single.fromInteger(soft.IntToSingle)},
		x86.CVTSI2SD: {plain: double.fromInteger(soft.IntToDouble)}, x86.VCVTSI2SD: {plain: double.fromInteger(soft.IntToDouble)},
		x86.CVTSS2SI: {plain: single.toInteger(soft.SingleToInt, false)}, x86.VCVTSS2SI: {plain: single.toInteger(soft.SingleToInt, false)},
		x86.CVTTSS2SI: {plain: single.toInteger(soft.SingleToInt, true)}, x86.VCVTTSS2SI: {plain: single.toInteger(soft.SingleToInt, true)},
		x86.CVTSD2SI: {plain: double.toInteger(soft.DoubleToInt, false)}, x86.VCVTSD2SI: {plain: double.toInteger(soft.DoubleToInt, false)},
		x86.CVTTSD2SI: {plain: double.toInteger(soft.DoubleToInt, true)}, x86.VCVTTSD2SI: {plain: double.toInteger(soft.DoubleToInt, true)},

		x86.CVTPI2PS: {plain: single.fromMMX(singleFromInt32)}, x86.CVTPI2PD: {plain: double.fromMMX(doubleFromInt32)},
		x86.CVTPS2PI: {plain: single.toMMX(singleToInt32)}, x86.CVTTPS2PI: {plain: single.toMMX(truncateSingle)},
		x86.CVTPD2PI: {plain: double.toMMX(doubleToInt32)}, x86.CVTTPD2PI: {plain: double.toMMX(truncateDouble)},
	}
}

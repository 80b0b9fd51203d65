package sem

import (
	"encoding/binary"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/soft"
	"github.com/cgemu/cgemu/emu/x86"
)

// pushResult pushes r. Denormal operands are pushed even if their exception is not masked.
func (x x87) pushResult(r soft.Result) {
	if !x.empty(7) && r.Status&x87SF == 0 {
		r = soft.Result{Value: defaultNaN, Status: stackOverflow}
	}
	x.raise(r.Status, 0)
	if !x.unmasked(r.Status, soft.IE) {
		x.push(r.Value)
	}
}

// fload returns the execution of an instruction that pushes its memory operand, of up to 8 bytes.
func fload(of x87Format) x87Execution {
	return func(m *Machine, c *emu.CPU, g *guest.Insn, x x87) *emu.Fault {
		size := g.Args[0].Size
		b, f := m.Load(guest.EffectiveAddr(c, g), uint8(size))
		if f == nil {
			x.pushResult(soft.Load(of(b, size), x.fcw()))
		}
		return f
	}
}

// fload80 returns the execution of an instruction that pushes a memory operand of 10 bytes.
func fload80(convert func(b [10]byte) soft.F80) x87Execution {
	return func(m *Machine, c *emu.CPU, g *guest.Insn, x x87) *emu.Fault {
		var b [10]byte
		f := m.read(guest.EffectiveAddr(c, g), b[:])
		if f == nil {
			x.pushResult(soft.Result{Value: convert(b)})
		}
		return f
	}
}

// extendedOf returns the number that memory has as b.
func extendedOf(b [10]byte) soft.F80 {
	return soft.F80{Mant: binary.LittleEndian.Uint64(b[:]), SE: binary.LittleEndian.Uint16(b[8:])}
}

// The executions of FLD.
var (
	fldFloat    = fload(x87Float)
	fldExtended = fload80(extendedOf)
)

// fld implements FLD.
func fld(m *Machine, c *emu.CPU, g *guest.Insn, x x87) *emu.Fault {
	switch o := &g.Args[0]; {
	case o.Kind == x86.ArgST:
		x.duplicate(int(o.Reg))
		return nil
	case o.Size == 10:
		return fldExtended(m, c, g, x)
	}
	return fldFloat(m, c, g, x)
}

// duplicate pushes ST(i).
func (x x87) duplicate(i int) {
	r := soft.Result{Value: x.st(i)}
	if x.empty(i) {
		r = soft.Result{Value: defaultNaN, Status: stackUnderflow}
	}
	x.pushResult(r)
}

// fconst returns the semantics of an instruction that pushes v.
func fconst(v func(cw uint16) soft.F80) semantics {
	return inRegisters(func(x x87, _ *guest.Insn) { x.pushResult(soft.Result{Value: v(x.fcw())}) })
}

func exactly(v soft.F80) func(uint16) soft.F80 { return func(uint16) soft.F80 { return v } }

// An x87Conversion makes of a number what is stored in size bytes.
type x87Conversion func(v soft.F80, size, cw uint16) (b [10]byte, status uint16)

// fstore returns the execution of an instruction that stores ST(0) in memory. As on Intel's CPUs, memory is not looked
// at if an exception that is not masked keeps the value from being stored, and the first 8 of 10 bytes are stored if
// the others cannot be.
func fstore(convert x87Conversion, pop bool) x87Execution {
	return func(m *Machine, c *emu.CPU, g *guest.Insn, x x87) *emu.Fault {
		size := g.Args[0].Size
		v, fault := x.st(0), uint16(0)
		if x.empty(0) {
			v, fault = defaultNaN, stackUnderflow
		}
		b, status := convert(v, size, x.fcw())
		status |= fault
		a := guest.EffectiveAddr(c, g)
		if x.unmasked(status, soft.IE|soft.OE|soft.UE) {
			x.raise(status, 0)
			return nil
		}
		if f := m.write(a, b[:min(size, 8)]); f != nil {
			return f
		}
		if size > 8 {
			if f := m.write(a+8, b[8:size]); f != nil {
				return f
			}
		}
		x.raise(status, 0)
		if pop {
			x.pop()
		}
		return nil
	}
}

// The formats that are stored.
func fstFloat(v soft.F80, size, cw uint16) (b [10]byte, status uint16) {
	var bits uint64
	switch size {
	case 4:
		bits, status = soft.Store(v.Number(), soft.Float32, cw)
	case 8:
		bits, status = soft.Store(v.Number(), soft.Float64, cw)
	default:
		bits = v.Mant
		binary.LittleEndian.PutUint16(b[8:], v.SE)
	}
	binary.LittleEndian.PutUint64(b[:], bits)
	return b, status
}

func fstInteger(v soft.F80, size, cw uint16) (b [10]byte, status uint16) {
	n, status := soft.ToInteger(v, uint(8*size), cw)
	binary.LittleEndian.PutUint64(b[:], uint64(n))
	return b, status
}

// fstTruncated is fstInteger for FISTTP, which rounds to zero whatever rounding control says.
func fstTruncated(v soft.F80, size, cw uint16) ([10]byte, uint16) {
	const towardsZero = 3 << 10
	return fstInteger(v, size, cw|towardsZero)
}

func fstDecimal(v soft.F80, _, cw uint16) ([10]byte, uint16) { return soft.ToBCD(v, cw) }

// formOfFSTP1 returns the form of D9 D8+i, which pops an empty register without a stack fault, and stores nothing then.
func formOfFSTP1() int {
	var i x86.Inst
	if err := x86.Decode([]byte{0xd9, 0xd8}, &i); err != nil {
		panic("BUG: " + err.Error())
	}
	return i.Form()
}

// fst returns the semantics of FST and FSTP.
func fst(pop bool) semantics {
	toMemory, unchecked := fstore(fstFloat, pop), formOfFSTP1()
	return waiting(func(m *Machine, c *emu.CPU, g *guest.Insn, x x87) *emu.Fault {
		if g.Args[0].Kind == x86.ArgMem {
			return toMemory(m, c, g, x)
		}
		v, status := x.st(0), uint16(0)
		switch {
		case x.empty(0) && g.Form() == unchecked:
			x.raise(0, 0)
			x.rotate(1)
			return nil
		case x.empty(0):
			v, status = defaultNaN, stackUnderflow
		}
		x.raise(status, 0)
		if x.unmasked(status, soft.IE) {
			return nil
		}
		x.setST(int(g.Args[0].Reg), v)
		if pop {
			x.pop()
		}
		return nil
	})
}

// fxch implements FXCH. What is empty takes part as the default NaN.
func fxch(x x87, g *guest.Insn) {
	i, status := int(g.Args[1].Reg), uint16(0)
	a, b := x.st(0), x.st(i)
	if x.empty(0) {
		a, status = defaultNaN, stackUnderflow
	}
	if x.empty(i) {
		b, status = defaultNaN, stackUnderflow
	}
	x.raise(status, 0)
	if !x.unmasked(status, soft.IE) {
		x.setST(0, b)
		x.setST(i, a)
	}
}

// fcmov returns the semantics of the FCMOV that moves if one of some flags is set, or if none is.
func fcmov(flags uint64, set bool) semantics {
	return waiting(func(_ *Machine, c *emu.CPU, g *guest.Insn, x x87) *emu.Fault {
		i := int(g.Args[1].Reg)
		if x.empty(0) || x.empty(i) {
			x.raise(stackUnderflow, 0)
			if !x.unmasked(stackUnderflow, soft.IE) {
				x.setST(0, defaultNaN)
			}
			return nil
		}
		if c.Flags&flags != 0 == set {
			x.setST(0, x.st(i))
		}
		return nil
	})
}

// changeSign returns the semantics of an instruction that changes the sign of ST(0), whatever it is.
func changeSign(change func(se uint16) uint16) semantics {
	return unary(func(v soft.F80, _ uint16) soft.Result {
		v.SE = change(v.SE)
		return soft.Result{Value: v}
	}, false, 0)
}

// x87MoveRows are the instructions that move numbers.
func x87MoveRows() rows {
	return rows{
		x86.FLD: {plain: waiting(fld)}, x86.FILD: {plain: waiting(fload(x87Integer))}, x86.FBLD: {plain: waiting(fload80(soft.FromBCD))},
		x86.FST: {plain: fst(false)}, x86.FSTP: {plain: fst(true)},
		x86.FIST: {plain: waiting(fstore(fstInteger, false))}, x86.FISTP: {plain: waiting(fstore(fstInteger, true))},
		x86.FISTTP: {plain: waiting(fstore(fstTruncated, true))}, x86.FBSTP: {plain: waiting(fstore(fstDecimal, true))},
		x86.FXCH: {plain: inRegisters(fxch)},

		x86.FLDZ: {plain: fconst(exactly(soft.F80{}))}, x86.FLD1: {plain: fconst(exactly(soft.F80{Mant: 1 << 63, SE: 0x3fff}))},
		x86.FLDPI: {plain: fconst(soft.Fldpi)}, x86.FLDL2E: {plain: fconst(soft.Fldl2e)}, x86.FLDL2T: {plain: fconst(soft.Fldl2t)},
		x86.FLDLG2: {plain: fconst(soft.Fldlg2)}, x86.FLDLN2: {plain: fconst(soft.Fldln2)},

		x86.FCMOVB: {plain: fcmov(emu.FlagCF, true)}, x86.FCMOVNB: {plain: fcmov(emu.FlagCF, false)},
		x86.FCMOVE: {plain: fcmov(emu.FlagZF, true)}, x86.FCMOVNE: {plain: fcmov(emu.FlagZF, false)},
		x86.FCMOVBE: {plain: fcmov(emu.FlagCF|emu.FlagZF, true)}, x86.FCMOVNBE: {plain: fcmov(emu.FlagCF|emu.FlagZF, false)},
		x86.FCMOVU: {plain: fcmov(emu.FlagPF, true)}, x86.FCMOVNU: {plain: fcmov(emu.FlagPF, false)},

		x86.FCHS: {plain: changeSign(func(se uint16) uint16 { return se ^ 0x8000 })},
		x86.FABS: {plain: changeSign(func(se uint16) uint16 { return se &^ 0x8000 })},
	}
}

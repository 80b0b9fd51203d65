package sem

import (
	"encoding/binary"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/soft"
	"github.com/cgemu/cgemu/emu/x86"
)

// Bits of the x87 status word besides those of package soft.
const (
	x87SF = 0x40   // stack fault
	x87ES = 0x80   // an unmasked exception is pending
	x87B  = 0x8000 // the same

	x87Exceptions = 0x3f // IE to PE
	x87Conditions = soft.C0 | soft.C1 | soft.C2 | soft.C3
)

// preComputation are the exceptions that are found before anything is computed. If one of them is not masked, fnop is,
// and operands stay as they are (SDM Vol. 1, "x87 FPU Floating-Point Exception Handling").
const preComputation = soft.IE | soft.DE | soft.ZE

// Stack faults, as status (SDM Vol. 1, "Stack Overflow or Underflow Exception (#IS)").
const (
	stackUnderflow = soft.IE | x87SF
	stackOverflow  = soft.IE | x87SF | soft.C1
)

// defaultNaN is the result of a masked invalid operation.
var defaultNaN = soft.F80{Mant: 0xc000000000000000, SE: 0xffff}

// An x87 is the x87 state in an XState.
type x87 struct{ *emu.XState }

func (x x87) fcw() uint16 { return binary.LittleEndian.Uint16(x.XState[emu.XOffFCW:]) }

func (x x87) fsw() uint16 { return binary.LittleEndian.Uint16(x.XState[emu.XOffFSW:]) }

func (x x87) setFSW(v uint16) { binary.LittleEndian.PutUint16(x.XState[emu.XOffFSW:], v) }

// st returns ST(i).
func (x x87) st(i int) soft.F80 {
	b := (*[10]byte)(x.XState[emu.XOffST+16*(i&7):])
	return soft.F80{Mant: binary.LittleEndian.Uint64(b[:]), SE: binary.LittleEndian.Uint16(b[8:])}
}

// setST writes ST(i), and marks it as not empty.
func (x x87) setST(i int, v soft.F80) {
	b := (*[10]byte)(x.XState[emu.XOffST+16*(i&7):])
	binary.LittleEndian.PutUint64(b[:], v.Mant)
	binary.LittleEndian.PutUint16(b[8:], v.SE)
	x.XState[emu.XOffFTW] |= 1 << x.physical(i)
}

func (x x87) physical(i int) uint { return (x87Top(x.fsw()) + uint(i)) & 7 }

func (x x87) empty(i int) bool { return x.XState[emu.XOffFTW]>>x.physical(i)&1 == 0 }

// setEmpty marks ST(i) as empty.
func (x x87) setEmpty(i int) { x.XState[emu.XOffFTW] &^= 1 << x.physical(i) }

// rotate moves the stack top by n; registers are stored from the top on.
func (x x87) rotate(n int) {
	top := x.physical(n & 7)
	x.setFSW(x.fsw()&^0x3800 | uint16(top)<<11)
	regs := (*[128]byte)(x.XState[emu.XOffST:])
	switch n & 7 {
	case 1:
		first := [16]byte(regs[:])
		copy(regs[:], regs[16:])
		*(*[16]byte)(regs[112:]) = first
	case 7:
		last := [16]byte(regs[112:])
		copy(regs[16:], regs[:])
		*(*[16]byte)(regs[:]) = last
	default:
		old, at := *regs, 16*(n&7)
		copy(regs[copy(regs[:], old[at:]):], old[:at])
	}
}

// push makes v the new ST(0).
func (x x87) push(v soft.F80) {
	x.rotate(-1)
	x.setST(0, v)
}

// pop removes ST(0).
func (x x87) pop() {
	x.setEmpty(0)
	x.rotate(1)
}

// raise adds the exceptions of status to the status word. C1, and the condition bits in replaced, become what they are
// in status.
func (x x87) raise(status, replaced uint16) {
	fsw := x.fsw()&^(soft.C1|replaced) | status
	if fsw&^x.fcw()&x87Exceptions != 0 {
		fsw |= x87ES | x87B
	}
	x.setFSW(fsw)
}

// unmasked reports whether status has one of some exceptions that is not masked.
func (x x87) unmasked(status, exceptions uint16) bool { return status&exceptions&^x.fcw() != 0 }

// An x87Execution executes an x87 instruction.
type x87Execution = func(m *Machine, c *emu.CPU, g *guest.Insn, x x87) *emu.Fault

// waiting returns the semantics of an instruction that begins with raising #MF if there is an unmasked exception of an
// earlier one.
func waiting(execute x87Execution) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		x := x87{c.FP}
		if x.fsw()&x87ES != 0 {
			return &emu.Fault{Vector: emu.VecMF}
		}
		return execute(m, c, g, x)
	}
}

// inRegisters is waiting for an instruction without a memory operand.
func inRegisters(execute func(x x87, g *guest.Insn)) semantics {
	return waiting(func(_ *Machine, _ *emu.CPU, g *guest.Insn, x x87) *emu.Fault {
		execute(x, g)
		return nil
	})
}

// unary returns the semantics of an instruction that replaces ST(0), and pushes a second result if push is set. If it
// leaves behind C2, its operand is out of range and stays. replaced has the condition bits it defines besides C1.
func unary(f func(soft.F80, uint16) soft.Result, push bool, replaced uint16) semantics {
	return inRegisters(func(x x87, _ *guest.Insn) {
		var r soft.Result
		switch {
		case x.empty(0):
			r = soft.Result{Value: defaultNaN, Pushed: defaultNaN, Status: stackUnderflow}
		case push && !x.empty(7):
			r = soft.Result{Value: defaultNaN, Pushed: defaultNaN, Status: stackOverflow}
		default:
			r = f(x.st(0), x.fcw())
		}
		x.raise(r.Status, replaced)
		if r.Status&soft.C2 != 0 || x.unmasked(r.Status, preComputation) {
			return
		}
		x.setST(0, r.Value)
		if push {
			x.push(r.Pushed)
		}
	})
}

// onNumber makes f, which is one of an operand taken apart, fit unary.
func onNumber(f func(soft.Number, uint16) soft.Result) func(soft.F80, uint16) soft.Result {
	return func(a soft.F80, cw uint16) soft.Result { return f(a.Number(), cw) }
}

// binary returns the result of f for ST(1) and ST(0), or that of a stack underflow.
func (x x87) binary(f func(y, x soft.F80, cw uint16) soft.Result) soft.Result {
	if x.empty(0) || x.empty(1) {
		return soft.Result{Value: defaultNaN, Status: stackUnderflow}
	}
	return f(x.st(1), x.st(0), x.fcw())
}

// binaryPop returns the semantics of an instruction on ST(1) and ST(0) that leaves its result in
// ST(1) and pops.
func binaryPop(f func(y, x soft.F80, cw uint16) soft.Result) semantics {
	return inRegisters(func(x x87, _ *guest.Insn) {
		r := x.binary(f)
		x.raise(r.Status, 0)
		if !x.unmasked(r.Status, preComputation) {
			x.setST(1, r.Value)
			x.pop()
		}
	})
}

// fscale implements FSCALE.
func fscale(x x87, _ *guest.Insn) {
	r := x.binary(soft.Fscale)
	x.raise(r.Status, 0)
	if !x.unmasked(r.Status, preComputation) {
		x.setST(0, r.Value)
	}
}

// fprem returns the semantics of FPREM and FPREM1. C0 and C3 stay as they are if there is no quotient.
func fprem(f func(y, x soft.F80, cw uint16) soft.Result) semantics {
	return inRegisters(func(x x87, _ *guest.Insn) {
		r := x.binary(f)
		stopped := x.unmasked(r.Status, preComputation)
		replaced := soft.C2
		if !stopped && !r.Value.Number().IsNaN() {
			replaced |= soft.C0 | soft.C3
		}
		x.raise(r.Status, replaced)
		if !stopped {
			x.setST(0, r.Value)
		}
	})
}

// An x87Arithmetic takes its operands apart: one in memory may have another format than ST(0).
type x87Arithmetic = func(a, b soft.Number, cw uint16) soft.Result

// reversedX87 is f with its operands exchanged.
func reversedX87(f x87Arithmetic) x87Arithmetic {
	return func(a, b soft.Number, cw uint16) soft.Result { return f(b, a, cw) }
}

// An x87Format takes a memory operand of up to 8 bytes apart.
type x87Format func(b uint64, size uint16) soft.Number

// x87Float and x87Integer are the formats of operands.
func x87Float(b uint64, size uint16) soft.Number {
	if size == 4 {
		return soft.Float32.Unpack(b)
	}
	return soft.Float64.Unpack(b)
}

func x87Integer(b uint64, size uint16) soft.Number {
	shift := 64 - 8*size
	return soft.FromInt(int64(b<<shift) >> shift)
}

// x87Source returns g's second operand: a register, of which present says that it is not empty, or memory.
func (m *Machine) x87Source(c *emu.CPU, g *guest.Insn, x x87, of x87Format) (n soft.Number, present bool, f *emu.Fault) {
	o := &g.Args[1]
	if o.Kind == x86.ArgST {
		return x.st(int(o.Reg)).Number(), !x.empty(int(o.Reg)), nil
	}
	b, f := m.Load(guest.EffectiveAddr(c, g), uint8(o.Size))
	if f != nil {
		return n, false, f
	}
	return of(b, o.Size), true, nil
}

// x87Insn returns the semantics of an instruction that replaces its first operand, a register, by the result of both.
func x87Insn(compute x87Arithmetic, of x87Format, pop bool) semantics {
	return waiting(func(m *Machine, c *emu.CPU, g *guest.Insn, x x87) *emu.Fault {
		b, present, f := m.x87Source(c, g, x, of)
		if f != nil {
			return f
		}
		to := int(g.Args[0].Reg)
		r := soft.Result{Value: defaultNaN, Status: stackUnderflow}
		if present && !x.empty(to) {
			r = compute(x.st(to).Number(), b, x.fcw())
		}
		x.raise(r.Status, 0)
		if x.unmasked(r.Status, preComputation) {
			return nil
		}
		x.setST(to, r.Value)
		if pop {
			x.pop()
		}
		return nil
	})
}

// x87Row returns the row of FADD and the like, or with x87Integer of FIADD and the like.
func x87Row(compute x87Arithmetic, of x87Format) row { return row{plain: x87Insn(compute, of, false)} }

// x87PopRow returns the row of FADDP and the like.
func x87PopRow(compute x87Arithmetic) row { return row{plain: x87Insn(compute, x87Float, true)} }

// x87Rows are x87's part of the table.
func x87Rows() parts {
	return join(x87ComputeRows(), x87MoveRows(), x87CompareRows(), x87ControlRows())
}

// x87ComputeRows are the instructions that compute.
func x87ComputeRows() rows {
	return rows{
		// CPUs differ in the last bit of these.
		x86.FSIN: {emulated: unary(soft.Fsin, false, soft.C2)}, x86.FCOS: {emulated: unary(soft.Fcos, false, soft.C2)},
		x86.FSINCOS: {emulated: unary(soft.Fsincos, true, soft.C2)}, x86.FPTAN: {emulated: unary(soft.Fptan, true, soft.C2)},
		x86.F2XM1: {emulated: unary(soft.F2xm1, false, 0)}, x86.FPATAN: {emulated: binaryPop(soft.Fpatan)},
		x86.FYL2X: {emulated: binaryPop(soft.Fyl2x)}, x86.FYL2XP1: {emulated: binaryPop(soft.Fyl2xp1)},

		x86.FADD: x87Row(soft.Add, x87Float), x86.FIADD: x87Row(soft.Add, x87Integer), x86.FADDP: x87PopRow(soft.Add),
		x86.FSUB: x87Row(soft.Sub, x87Float), x86.FISUB: x87Row(soft.Sub, x87Integer), x86.FSUBP: x87PopRow(soft.Sub),
		x86.FSUBR:  x87Row(reversedX87(soft.Sub), x87Float),
		x86.FISUBR: x87Row(reversedX87(soft.Sub), x87Integer),
		x86.FSUBRP: x87PopRow(reversedX87(soft.Sub)),
		x86.FMUL:   x87Row(soft.Mul, x87Float), x86.FIMUL: x87Row(soft.Mul, x87Integer), x86.FMULP: x87PopRow(soft.Mul),
		x86.FDIV: x87Row(soft.Div, x87Float), x86.FIDIV: x87Row(soft.Div, x87Integer), x86.FDIVP: x87PopRow(soft.Div),
		x86.FDIVR:  x87Row(reversedX87(soft.Div), x87Float),
		x86.FIDIVR: x87Row(reversedX87(soft.Div), x87Integer),
		x86.FDIVRP: x87PopRow(reversedX87(soft.Div)),

		x86.FSQRT: {plain: unary(onNumber(soft.Sqrt), false, 0)}, x86.FRNDINT: {plain: unary(onNumber(soft.RoundToInt), false, 0)},
		x86.FSCALE: {plain: inRegisters(fscale)}, x86.FXTRACT: {plain: unary(soft.Fxtract, true, 0)},
		x86.FPREM:  {plain: fprem(soft.Fprem)},
		x86.FPREM1: {plain: fprem(soft.Fprem1)},
	}
}

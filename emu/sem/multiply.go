package sem

import (
	"math/bits"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
)

func multiplyRows() rows {
	return rows{
		x86.MUL: {plain: multiply(unsignedProduct)}, x86.IMUL: {plain: signedMultiply}, x86.MULX: {plain: multiplyWithoutFlags},
		x86.DIV: {plain: divide(unsignedQuotient)}, x86.IDIV: {plain: divide(signedQuotient)},
		x86.CBW: {plain: widen(1)}, x86.CWDE: {plain: widen(2)}, x86.CDQE: {plain: widen(4)},
		x86.CWD: {plain: spreadSign(2)}, x86.CDQ: {plain: spreadSign(4)}, x86.CQO: {plain: spreadSign(8)},
	}
}

// unsignedProduct and signedProduct return the halves of a product of two numbers of size bytes, and whether the upper
// half tells something.
func unsignedProduct(a, b uint64, size uint8) (hi, lo uint64, long bool) {
	hi, lo = bits.Mul64(a, b)
	if size < 8 {
		hi, lo = truncate(lo>>(8*size), size), truncate(lo, size)
	}
	return hi, lo, hi != 0
}

func signedProduct(a, b uint64, size uint8) (hi, lo uint64, long bool) {
	a, b = signed(a, size), signed(b, size)
	hi, lo = highHalf(a, b), a*b
	if size < 8 {
		hi, lo = truncate(lo>>(8*size), size), truncate(lo, size)
	}
	return hi, lo, hi != truncate(-topBit(lo, size), size)
}

// setProductFlags sets CF and OF; of the flags that are undefined Intel's CPUs take SF and PF from the lower half and
// clear the others.
func setProductFlags(c *emu.CPU, lo uint64, size uint8, long bool) {
	setFlags(c, x86.StatusFlags, when(long, emu.FlagCF|emu.FlagOF)|ResultFlags(lo, size)&^emu.FlagZF)
}

// multiply multiplies rAX with the operand. The product of bytes goes to AX, others to rDX:rAX.
func multiply(product func(a, b uint64, size uint8) (hi, lo uint64, long bool)) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		b, fault := m.get(c, g, 0)
		if fault != nil {
			return fault
		}
		size := uint8(g.Args[0].Size)
		hi, lo, long := product(truncate(c.Regs[emu.RAX], size), b, size)
		if size == 1 {
			setReg(c, x86.RAX, 2, hi<<8|lo)
		} else {
			setReg(c, x86.RAX, size, lo)
			setReg(c, x86.RDX, size, hi)
		}
		setProductFlags(c, lo, size, long)
		return nil
	}
}

// signedMultiply implements IMUL with one, two and three operands.
func signedMultiply(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
	if g.NArgs == 1 {
		return multiply(signedProduct)(m, c, g)
	}
	first, second := 0, 1
	if g.NArgs == 3 {
		first, second = 1, 2
	}
	a, fault := m.get(c, g, first)
	if fault != nil {
		return fault
	}
	b, fault := m.get(c, g, second)
	if fault != nil {
		return fault
	}
	size := uint8(g.Args[0].Size)
	_, lo, long := signedProduct(a, b, size)
	putReg(c, &g.Args[0], lo)
	setProductFlags(c, lo, size, long)
	return nil
}

// multiplyWithoutFlags implements MULX: the upper half is left if both destinations are one register.
func multiplyWithoutFlags(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
	b, fault := m.get(c, g, 2)
	if fault != nil {
		return fault
	}
	size := uint8(g.Args[0].Size)
	hi, lo, _ := unsignedProduct(truncate(c.Regs[emu.RDX], size), b, size)
	putReg(c, &g.Args[1], lo)
	putReg(c, &g.Args[0], hi)
	return nil
}

// unsignedQuotient and signedQuotient divide hi:lo by d; ok is false if the quotient does not fit.
func unsignedQuotient(hi, lo, d uint64, size uint8) (q, r uint64, ok bool) {
	if hi >= d {
		return 0, 0, false
	}
	if size == 8 {
		q, r = bits.Div64(hi, lo, d)
		return q, r, true
	}
	n := hi<<(8*size) | lo
	return n / d, n % d, true
}

func signedQuotient(hi, lo, d uint64, size uint8) (q, r uint64, ok bool) {
	negative, divisor := topBit(hi, size) == 1, signed(d, size)
	if negative { // the dividend without its sign
		if lo = truncate(-lo, size); lo == 0 {
			hi = truncate(-hi, size)
		} else {
			hi = truncate(^hi, size)
		}
	}
	d = divisor
	if int64(d) < 0 {
		d = -d
	}
	if q, r, ok = unsignedQuotient(hi, lo, d, size); !ok {
		return 0, 0, false
	}
	limit := uint64(1) << (8*size - 1)
	if opposite := negative != (int64(divisor) < 0); opposite {
		ok, q = q <= limit, -q
	} else {
		ok = q < limit
	}
	if negative {
		r = -r
	}
	return truncate(q, size), truncate(r, size), ok
}

// divide divides rDX:rAX, or AX, by the operand. Its flags are undefined: they stay.
func divide(quotient func(hi, lo, d uint64, size uint8) (q, r uint64, ok bool)) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		d, fault := m.get(c, g, 0)
		if fault != nil {
			return fault
		}
		size := uint8(g.Args[0].Size)
		hi, lo := truncate(c.Regs[emu.RDX], size), truncate(c.Regs[emu.RAX], size)
		if size == 1 {
			hi = c.Regs[emu.RAX] >> 8 & 0xff
		}
		q, r, ok := quotient(hi, lo, d, size)
		switch {
		case !ok:
			return &emu.Fault{Vector: emu.VecDE}
		case size == 1:
			setReg(c, x86.RAX, 2, r<<8|q)
		default:
			setReg(c, x86.RAX, size, q)
			setReg(c, x86.RDX, size, r)
		}
		return nil
	}
}

// widen extends the sign of rAX's lower size bytes to twice as many.
func widen(size uint8) semantics {
	return func(_ *Machine, c *emu.CPU, _ *guest.Insn) *emu.Fault {
		setReg(c, x86.RAX, 2*size, signed(c.Regs[emu.RAX], size))
		return nil
	}
}

// spreadSign fills rDX with the sign of rAX.
func spreadSign(size uint8) semantics {
	return func(_ *Machine, c *emu.CPU, _ *guest.Insn) *emu.Fault {
		setReg(c, x86.RDX, size, -topBit(c.Regs[emu.RAX], size))
		return nil
	}
}

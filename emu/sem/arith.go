package sem

import (
	"math/bits"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
)

// An Arithmetic function returns what an operation makes of two operands of size bytes, and the status flags after it;
// flags are those in front of it. Operands and result have zeros above their size.
type Arithmetic func(a, b uint64, size uint8, flags uint64) (r, after uint64)

const allButCarry = x86.StatusFlags &^ x86.CF

func arithRows() rows {
	return rows{
		x86.ADD: {plain: updates(Add, x86.StatusFlags)}, x86.ADC: {plain: updates(Adc, x86.StatusFlags)},
		x86.SUB: {plain: updates(Sub, x86.StatusFlags)}, x86.SBB: {plain: updates(Sbb, x86.StatusFlags)},
		x86.AND: {plain: updates(And, x86.StatusFlags)}, x86.OR: {plain: updates(Or, x86.StatusFlags)}, x86.XOR: {plain: updates(Xor, x86.StatusFlags)},
		x86.CMP: {plain: compares(Sub)}, x86.TEST: {plain: compares(And)},
		x86.INC: {plain: updatesByOne(Add, allButCarry)}, x86.DEC: {plain: updatesByOne(Sub, allButCarry)},
		x86.NEG: {plain: negate, fallback: locked}, x86.NOT: {plain: complement},
		x86.ADCX: {plain: addWithFlag(emu.FlagCF)}, x86.ADOX: {plain: addWithFlag(emu.FlagOF)},
		x86.XADD: {plain: exchangeAdd}, x86.XCHG: {plain: exchange},
		x86.CMPXCHG: {plain: compareExchange}, x86.CMPXCHG8B: {plain: compareExchangePair(4)}, x86.CMPXCHG16B: {plain: compareExchangePair(8)},
		x86.ANDN: {plain: andNot},
	}
}

// sum returns a + b + carry.
func sum(a, b, carry uint64, size uint8) (r, flags uint64) {
	r = truncate(a+b+carry, size)
	sign := 8*size - 1
	carries := a&b | (a|b)&^r
	return r, carries>>sign&1 | (a^b^r)&emu.FlagAF | (a^r)&(b^r)>>sign&1*emu.FlagOF | ResultFlags(r, size)
}

// difference returns a - b - borrow.
func difference(a, b, borrow uint64, size uint8) (r, flags uint64) {
	r = truncate(a-b-borrow, size)
	sign := 8*size - 1
	borrows := ^a&b | (^a|b)&r
	return r, borrows>>sign&1 | (a^b^r)&emu.FlagAF | (a^b)&(a^r)>>sign&1*emu.FlagOF | ResultFlags(r, size)
}

// ResultFlags returns SF, ZF and PF of a result.
func ResultFlags(r uint64, size uint8) uint64 {
	return when(r == 0, emu.FlagZF) | r>>(8*size-1)&1*emu.FlagSF | when(bits.OnesCount8(uint8(r))&1 == 0, emu.FlagPF)
}

// Add and its kin are what the instructions of these names do.
func Add(a, b uint64, size uint8, _ uint64) (r, after uint64) { return sum(a, b, 0, size) }
func Adc(a, b uint64, size uint8, flags uint64) (r, after uint64) {
	return sum(a, b, flags&emu.FlagCF, size)
}
func Sub(a, b uint64, size uint8, _ uint64) (r, after uint64) { return difference(a, b, 0, size) }
func Sbb(a, b uint64, size uint8, flags uint64) (r, after uint64) {
	return difference(a, b, flags&emu.FlagCF, size)
}
func And(a, b uint64, size uint8, _ uint64) (r, after uint64) { return a & b, ResultFlags(a&b, size) }
func Or(a, b uint64, size uint8, _ uint64) (r, after uint64)  { return a | b, ResultFlags(a|b, size) }
func Xor(a, b uint64, size uint8, _ uint64) (r, after uint64) { return a ^ b, ResultFlags(a^b, size) }

// updates replaces the first operand by f of both.
func updates(f Arithmetic, writes x86.Flags) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		b, fault := m.get(c, g, 1)
		if fault != nil {
			return fault
		}
		return m.arithmetic(c, g, f, b, writes)
	}
}

// updatesByOne replaces the operand by f of it and 1.
func updatesByOne(f Arithmetic, writes x86.Flags) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault { return m.arithmetic(c, g, f, 1, writes) }
}

// arithmetic replaces the first operand by f of it and b.
func (m *Machine) arithmetic(c *emu.CPU, g *guest.Insn, f Arithmetic, b uint64, writes x86.Flags) *emu.Fault {
	var flags uint64
	fault := m.modify(c, g, func(a uint64) (r uint64) {
		r, flags = f(a, b, uint8(g.Args[0].Size), c.Flags)
		return r
	})
	if fault == nil {
		setFlags(c, writes, flags)
	}
	return fault
}

// compares sets the flags as f of both operands does.
func compares(f Arithmetic) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		a, fault := m.get(c, g, 0)
		if fault != nil {
			return fault
		}
		b, fault := m.get(c, g, 1)
		if fault == nil {
			_, flags := f(a, b, uint8(g.Args[0].Size), c.Flags)
			setFlags(c, x86.StatusFlags, flags)
		}
		return fault
	}
}

func negate(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
	fromZero := func(a, _ uint64, size uint8, _ uint64) (r, after uint64) { return difference(0, a, 0, size) }
	return m.arithmetic(c, g, fromZero, 0, x86.StatusFlags)
}

func complement(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
	return m.modify(c, g, func(x uint64) uint64 { return ^x })
}

// addWithFlag adds the second operand and one flag, which alone changes: ADCX and ADOX.
func addWithFlag(flag uint64) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		b, fault := m.get(c, g, 1)
		if fault != nil {
			return fault
		}
		r, flags := sum(getReg(c, &g.Args[0]), b, when(c.Flags&flag != 0, 1), uint8(g.Args[0].Size))
		putReg(c, &g.Args[0], r)
		setFlags(c, x86.Flags(flag), when(flags&emu.FlagCF != 0, flag))
		return nil
	}
}

func andNot(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
	b, fault := m.get(c, g, 2)
	if fault != nil {
		return fault
	}
	size := uint8(g.Args[0].Size)
	r := ^getReg(c, &g.Args[1]) & b
	putReg(c, &g.Args[0], r)
	setFlags(c, x86.StatusFlags, ResultFlags(r, size))
	return nil
}

// exchangeAdd implements XADD: the destination gets the sum, also where both operands are one register.
func exchangeAdd(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
	var old uint64
	b := getReg(c, &g.Args[1])
	sums := func(a, _ uint64, size uint8, _ uint64) (r, after uint64) {
		if old = a; g.Args[0].Kind != x86.ArgMem {
			putReg(c, &g.Args[1], a)
		}
		return sum(a, b, 0, size)
	}
	fault := m.arithmetic(c, g, sums, b, x86.StatusFlags)
	if fault == nil && g.Args[0].Kind == x86.ArgMem {
		putReg(c, &g.Args[1], old)
	}
	return fault
}

func exchange(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
	var old uint64
	b := getReg(c, &g.Args[1])
	fault := m.modify(c, g, func(a uint64) uint64 {
		old = a
		return b
	})
	if fault == nil {
		putReg(c, &g.Args[1], old)
	}
	return fault
}

// compareExchange implements CMPXCHG: a destination in memory is written in any case.
func compareExchange(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
	size := uint8(g.Args[0].Size)
	acc := truncate(c.Regs[emu.RAX], size)
	var flags, old uint64
	equal := false
	src := getReg(c, &g.Args[1])
	f := func(x uint64) uint64 {
		_, flags = difference(acc, x, 0, size)
		if equal, old = acc == x, x; equal {
			return src
		}
		return x
	}
	if g.Args[0].Kind == x86.ArgMem {
		if fault := m.modify(c, g, f); fault != nil {
			return fault
		}
	} else if r := f(getReg(c, &g.Args[0])); equal {
		putReg(c, &g.Args[0], r)
	}
	setFlags(c, x86.StatusFlags, flags)
	if !equal {
		setReg(c, x86.RAX, size, old)
	}
	return nil
}

// compareExchangePair implements CMPXCHG8B and CMPXCHG16B, of two halves of size bytes: with rDX:rAX is compared,
// rCX:rBX stored.
func compareExchangePair(size uint8) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		a := guest.EffectiveAddr(c, g)
		if size == 8 && a%16 != 0 {
			return generalProtection()
		}
		half := emu.Addr(size)
		lo, fault := m.LoadToModify(a, size)
		if fault != nil {
			return fault
		}
		hi, fault := m.LoadToModify(a+half, size)
		if fault != nil {
			return fault
		}
		equal := lo == truncate(c.Regs[emu.RAX], size) && hi == truncate(c.Regs[emu.RDX], size)
		setFlags(c, x86.ZF, when(equal, emu.FlagZF))
		if !equal {
			setReg(c, x86.RAX, size, lo)
			setReg(c, x86.RDX, size, hi)
		} else {
			lo, hi = c.Regs[emu.RBX], c.Regs[emu.RCX]
		}
		if fault := m.Store(a, size, lo); fault != nil {
			return fault
		}
		return m.Store(a+half, size, hi)
	}
}

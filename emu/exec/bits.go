package exec

import (
	"encoding/binary"
	"math/bits"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/x86"
)

// Simple reports whether g is an instruction that Execute has though its kind is Plain: for engines
// whose CPU has it not, or executes it wrongly.
func Simple(g *Insn) bool {
	if g.Kind != Plain {
		return false
	}
	switch g.Op {
	case x86.POPCNT, x86.PCLMULQDQ, x86.BSF, x86.BSR, x86.CLFLUSH:
		return true
	case x86.NEG:
		return g.Lock
	}
	return false
}

// emulateBits executes instructions of which Simple tells.
func (m *Machine) emulateBits(c *emu.CPU, g *Insn) *emu.Fault {
	switch g.Op {
	case x86.PCLMULQDQ:
		return m.multiplyCarryless(c, g)
	case x86.CLFLUSH:
		return m.read(effective(c, g), make([]byte, 1))
	case x86.NEG:
		return m.negate(c, g)
	}
	src, f := m.source(c, g, 1)
	if f != nil {
		return f
	}
	c.Flags &^= uint64(x86.StatusFlags)
	if src == 0 {
		c.Flags |= emu.FlagZF
	}
	switch {
	case g.Op == x86.POPCNT:
		setReg(c, g.Args[0].Reg, g.OpSize, uint64(bits.OnesCount64(src)))
	case src == 0:
		// "The content of the destination operand is undefined": CPUs leave it alone.
	case g.Op == x86.BSF:
		setReg(c, g.Args[0].Reg, g.OpSize, uint64(bits.TrailingZeros64(src)))
	default:
		setReg(c, g.Args[0].Reg, g.OpSize, uint64(63-bits.LeadingZeros64(src)))
	}
	return nil
}

// negate implements LOCK NEG.
func (m *Machine) negate(c *emu.CPU, g *Insn) *emu.Fault {
	x, f := m.source(c, g, 0)
	if f != nil {
		f.Write = f.Vector == emu.VecPF
		return f
	}
	s := stringOp{c: c, g: g, size: uint64(g.OpSize)}
	if f := m.write(effective(c, g), binary.LittleEndian.AppendUint64(nil, -x)[:g.OpSize]); f != nil {
		return f
	}
	s.compare(0, x)
	return nil
}

// source returns the value of an integer operand.
func (m *Machine) source(c *emu.CPU, g *Insn, arg int) (uint64, *emu.Fault) {
	if a := g.Args[arg]; a.Kind != x86.ArgMem {
		return truncate(c.Regs[a.Reg], g.OpSize), nil
	}
	var b [8]byte
	f := m.read(effective(c, g), b[:g.OpSize])
	return binary.LittleEndian.Uint64(b[:]), f
}

// multiplyCarryless implements PCLMULQDQ.
func (m *Machine) multiplyCarryless(c *emu.CPU, g *Insn) *emu.Fault {
	var src [16]byte
	if g.Args[1].Kind == x86.ArgMem {
		a := effective(c, g)
		if a%16 != 0 {
			return &emu.Fault{Vector: emu.VecGP}
		}
		if f := m.read(a, src[:]); f != nil {
			return f
		}
	} else {
		v := vector(c.FP, g.Args[1].Reg)
		copy(src[:], v[:])
	}
	dst := vector(c.FP, g.Args[0].Reg)
	half := func(b []byte, high int64) uint64 { return binary.LittleEndian.Uint64(b[8*(high&1):]) }
	x, y := half(dst[:], g.Imm), half(src[:], g.Imm>>4)
	var lo, hi uint64
	for i := range 64 {
		if y>>i&1 != 0 {
			lo ^= x << i
			hi ^= x >> (64 - i)
		}
	}
	binary.LittleEndian.PutUint64(dst[:], lo)
	binary.LittleEndian.PutUint64(dst[8:], hi)
	setVector(c.FP, g.Args[0].Reg, dst)
	return nil
}

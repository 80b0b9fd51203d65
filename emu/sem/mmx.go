package sem

import (
	"encoding/binary"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
)

// The MMX registers are the significands of the x87 registers, by physical number: MM0 is R0 wherever the stack top is
// (SDM Vol. 1, "The MMX State and MMX Register Set"). XState has the x87 registers from the stack top on.

// mmxReg returns MMX register r.
func mmxReg(x *emu.XState, r x86.Reg) uint64 {
	return binary.LittleEndian.Uint64(x[mmxOffset(x, r):])
}

// mmxOffset returns where MMX register r is.
func mmxOffset(x *emu.XState, r x86.Reg) int {
	top := x87Top(uint16(x[emu.XOffFSW+1]) << 8)
	return emu.XOffST + 16*int((uint(r)-top)&7)
}

// setMMXReg writes MMX register r. Sign and exponent of the x87 register become all ones.
func setMMXReg(x *emu.XState, r x86.Reg, v uint64) {
	at := mmxOffset(x, r)
	binary.LittleEndian.PutUint64(x[at:], v)
	binary.LittleEndian.PutUint16(x[at+8:], 0xffff)
}

// enterMMX does to the x87 state what every MMX instruction does, EMMS aside: the stack top becomes 0, and no register
// is empty (SDM Vol. 1, "Transitions Between x87 FPU and MMX Instructions").
func enterMMX(x *emu.XState) {
	beginMMX(x)
	x[emu.XOffFTW] = 0xff
}

// beginMMX does what a store that faults has done: the stack top becomes 0.
func beginMMX(x *emu.XState) {
	if x[emu.XOffFSW+1]&0x38 != 0 {
		turnTo(x, 0)
	}
}

// pendingMMX returns the fault that an MMX instruction raises in front of all others, of an x87 exception that was not
// masked.
func pendingMMX(c *emu.CPU) *emu.Fault {
	if pendingX87(c.FP) {
		return &emu.Fault{Vector: emu.VecMF}
	}
	return nil
}

// mmxArg returns operand arg of g: an MMX register, or size bytes of memory.
func (m *Machine) mmxArg(c *emu.CPU, g *guest.Insn, arg int, size uint8) (uint64, *emu.Fault) {
	o := &g.Args[arg]
	if o.Kind != x86.ArgMem {
		return mmxReg(c.FP, o.Reg), nil
	}
	return m.Load(guest.EffectiveAddr(c, g), size)
}

// setMMX ends an MMX instruction whose result v goes to its first operand, a register.
func setMMX(c *emu.CPU, g *guest.Insn, v uint64) {
	enterMMX(c.FP)
	setMMXReg(c.FP, g.Args[0].Reg, v)
}

// mmxWord executes an MMX instruction that makes its result of its first operand, which it replaces, and its second
// one.
func (m *Machine) mmxWord(c *emu.CPU, g *guest.Insn, f func(a, b uint64) uint64) *emu.Fault {
	return m.mmxPart(c, g, 8, f)
}

// mmxPart is mmxWord for an instruction that needs size bytes of its second operand.
func (m *Machine) mmxPart(c *emu.CPU, g *guest.Insn, size uint8, f func(a, b uint64) uint64) *emu.Fault {
	if fault := pendingMMX(c); fault != nil {
		return fault
	}
	b, fault := m.mmxArg(c, g, 1, size)
	if fault != nil {
		return fault
	}
	setMMX(c, g, f(mmxReg(c.FP, g.Args[0].Reg), b))
	return nil
}

// emptyMMX implements EMMS.
func (m *Machine) emptyMMX(c *emu.CPU, _ *guest.Insn) *emu.Fault {
	if fault := pendingMMX(c); fault != nil {
		return fault
	}
	turnTo(c.FP, 0)
	c.FP[emu.XOffFTW] = 0
	return nil
}

func mmxRows() rows {
	return rows{
		x86.EMMS: {plain: (*Machine).emptyMMX},
	}
}

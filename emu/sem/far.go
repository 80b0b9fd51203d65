package sem

import (
	"encoding/binary"
	"fmt"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
)

// Far transfers (SDM Vol. 2, IRET, RET, JMP) stay in the segment of 64-bit code: there is nowhere else to go but to
// 32-bit code. IRET gives a thread registers that it lacks another way for, all of them together: Wine does so.

// code32 is Linux's selector of 32-bit code.
const code32 = 0x23

// farWords reads words of g's operand size at a.
func (m *Machine) farWords(a emu.Addr, g *guest.Insn, words []uint64) *emu.Fault {
	if g.OpSize == 2 {
		return &emu.Fault{Vector: emu.VecUD, Unsupported: fmt.Sprintf("%v of 16 bits: % x", g.Op, g.Bytes)}
	}
	var b [6 * 8]byte
	size := int(g.OpSize)
	if f := m.read(a, b[:len(words)*size]); f != nil {
		return f
	}
	for i := range words {
		words[i] = truncate(binary.LittleEndian.Uint64(b[i*size:]), g.OpSize)
	}
	return nil
}

// checkFar says what a transfer to an address in the segment of a selector raises.
func checkFar(selector uint16, rip uint64, g *guest.Insn) *emu.Fault {
	switch {
	case selector == code32:
		return &emu.Fault{Vector: emu.VecUD, Unsupported: fmt.Sprintf("%v to 32-bit code: % x", g.Op, g.Bytes)}
	case selector != selectors[1] || !guest.Canonical(emu.Addr(rip)):
		return generalProtection()
	}
	return nil
}

// farFromStack reads where g goes, and what else lies behind it on the stack, and says what going there raises.
func (m *Machine) farFromStack(c *emu.CPU, g *guest.Insn, words []uint64) *emu.Fault {
	if f := m.farWords(emu.Addr(c.Regs[emu.RSP]), g, words); f != nil {
		return f
	}
	return checkFar(uint16(words[1]), words[0], g)
}

// iret implements IRET: RIP, CS, flags, RSP and SS lie on the stack.
func (m *Machine) iret(c *emu.CPU, g *guest.Insn) *emu.Fault {
	var w [5]uint64
	switch f := m.farFromStack(c, g, w[:]); {
	case f != nil:
		return f
	case uint16(w[4]) != selectors[2]:
		return generalProtection()
	}
	c.RIP, c.Regs[emu.RSP] = emu.Addr(w[0]), w[3]
	c.Flags = c.Flags&^emu.UserFlags | w[2]&emu.UserFlags
	return nil
}

// farReturn implements RETF.
func (m *Machine) farReturn(c *emu.CPU, g *guest.Insn) *emu.Fault {
	var w [2]uint64
	if f := m.farFromStack(c, g, w[:]); f != nil {
		return f
	}
	c.RIP = emu.Addr(w[0])
	c.Regs[emu.RSP] += 2*uint64(g.OpSize) + uint64(uint16(g.Imm))
	return nil
}

// farJump implements JMP to what a far pointer in memory says: an address, and a selector behind it.
func (m *Machine) farJump(c *emu.CPU, g *guest.Insn) *emu.Fault {
	var w [1]uint64
	var selector [2]byte
	at := guest.EffectiveAddr(c, g)
	if f := m.farWords(at, g, w[:]); f != nil {
		return f
	}
	if f := m.read(at+emu.Addr(g.OpSize), selector[:]); f != nil {
		return f
	}
	if f := checkFar(binary.LittleEndian.Uint16(selector[:]), w[0], g); f != nil {
		return f
	}
	c.RIP = emu.Addr(w[0])
	return nil
}

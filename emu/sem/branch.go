package sem

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
)

// Branch executes g, of kind Branch, on c, whose RIP is behind it. taken says that c went elsewhere.
func (m *Machine) Branch(c *emu.CPU, g *guest.Insn) (taken bool, fault *emu.Fault) {
	switch g.Flow {
	case x86.FlowJcc:
		taken = Holds(g.Cond, c.Flags)
	case x86.FlowLoop:
		taken = loops(c, g)
	case x86.FlowJmp:
		taken = true
	case x86.FlowCall:
		taken, fault = true, m.Push(c, uint64(c.RIP))
	case x86.FlowRet:
		return true, m.ret(c, g)
	default:
		return true, m.jumpThrough(c, g)
	}
	if taken && fault == nil {
		c.RIP = g.Dest()
	}
	return taken, fault
}

// jumpThrough jumps to where the operand says, or calls it.
func (m *Machine) jumpThrough(c *emu.CPU, g *guest.Insn) *emu.Fault {
	to, fault := m.get(c, g, 0)
	if fault == nil && g.Flow == x86.FlowCallInd {
		fault = m.Push(c, uint64(c.RIP))
	}
	if fault == nil {
		c.RIP = emu.Addr(to)
	}
	return fault
}

// ret implements RET, which frees as many bytes of the stack as its operand says.
func (m *Machine) ret(c *emu.CPU, g *guest.Insn) *emu.Fault {
	to, fault := m.Load(emu.Addr(c.Regs[emu.RSP]), 8)
	if fault == nil {
		c.RIP = emu.Addr(to)
		c.Regs[emu.RSP] += 8 + uint64(uint16(g.Imm))
	}
	return fault
}

// loops counts RCX down, JRCXZ aside, and reports whether g jumps.
func loops(c *emu.CPU, g *guest.Insn) bool {
	mask := ^uint64(0)
	if g.Mem.AddrSize == 4 {
		mask = 1<<32 - 1
	}
	if g.Op == x86.JRCXZ {
		return c.Regs[emu.RCX]&mask == 0
	}
	c.Regs[emu.RCX] = (c.Regs[emu.RCX] - 1) & mask
	zf := c.Flags&emu.FlagZF != 0
	return c.Regs[emu.RCX] != 0 && (g.Op == x86.LOOP || zf == (g.Op == x86.LOOPE))
}

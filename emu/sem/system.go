package sem

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
)

// cpuid implements CPUID.
func (m *Machine) cpuid(c *emu.CPU, _ *guest.Insn) *emu.Fault {
	a, b, cx, d := m.Model.CPUID(uint32(c.Regs[emu.RAX]), uint32(c.Regs[emu.RCX]))
	c.Regs[emu.RAX], c.Regs[emu.RBX], c.Regs[emu.RCX], c.Regs[emu.RDX] = uint64(a), uint64(b), uint64(cx), uint64(d)
	return nil
}

// xgetbv implements XGETBV.
func (m *Machine) xgetbv(c *emu.CPU, _ *guest.Insn) *emu.Fault {
	if uint32(c.Regs[emu.RCX]) != 0 {
		return generalProtection()
	}
	c.Regs[emu.RAX], c.Regs[emu.RDX] = m.Model.XCR0, 0
	return nil
}

// rdtsc implements RDTSC and RDTSCP.
func (m *Machine) rdtsc(c *emu.CPU, g *guest.Insn) *emu.Fault {
	t := m.Env.TSC()
	c.Regs[emu.RAX], c.Regs[emu.RDX] = t&0xffffffff, t>>32
	if g.Op == x86.RDTSCP {
		c.Regs[emu.RCX] = 0
	}
	return nil
}

// random implements RDRAND and RDSEED.
func (m *Machine) random(c *emu.CPU, g *guest.Insn) *emu.Fault {
	setReg(c, g.Args[0].Reg, g.OpSize, m.Env.Random())
	c.Flags = c.Flags&^uint64(x86.StatusFlags) | emu.FlagCF
	return nil
}

// rdpid implements RDPID: there is one CPU, the first.
func (m *Machine) rdpid(c *emu.CPU, g *guest.Insn) *emu.Fault {
	c.Regs[g.Args[0].Reg] = 0
	return nil
}

// rdbase and wrbase return the semantics of RDFSBASE and WRFSBASE, and of those for GS.
func rdbase(base func(*emu.CPU) *uint64) semantics {
	return func(_ *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		setReg(c, g.Args[0].Reg, g.OpSize, *base(c))
		return nil
	}
}

func wrbase(base func(*emu.CPU) *uint64) semantics {
	return func(_ *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
		x := truncate(c.Regs[g.Args[0].Reg], g.OpSize)
		if !guest.Canonical(emu.Addr(x)) {
			return generalProtection()
		}
		*base(c) = x
		return nil
	}
}

func fsBase(c *emu.CPU) *uint64 { return &c.FSBase }
func gsBase(c *emu.CPU) *uint64 { return &c.GSBase }

// interrupt implements INT1, INT3 and INT n: a debug exception, a breakpoint, an overflow, or a gate that user code may
// not call.
func (m *Machine) interrupt(_ *emu.CPU, g *guest.Insn) *emu.Fault {
	switch n := uint8(g.Imm); {
	case g.Op == x86.INT1:
		return &emu.Fault{Vector: emu.VecDB, Int1: true}
	case g.Op == x86.INT3:
		return &emu.Fault{Vector: emu.VecBP}
	case n == emu.VecBP || n == emu.VecOF:
		return &emu.Fault{Vector: n}
	}
	return generalProtection()
}

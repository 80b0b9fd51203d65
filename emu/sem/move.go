package sem

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
)

func moveRows() rows {
	return rows{
		x86.MOV: {plain: move}, x86.MOVZX: {plain: move}, x86.MOVSX: {plain: moveSigned}, x86.MOVSXD: {plain: moveSigned},
		x86.CMOVCC: {plain: moveIf}, x86.SETCC: {plain: setIf}, x86.LEA: {plain: loadAddress},
		x86.PUSH: {plain: push}, x86.POP: {plain: pop}, x86.LEAVE: {plain: leave},
		x86.CLC: {plain: setFlag(emu.FlagCF, false)}, x86.STC: {plain: setFlag(emu.FlagCF, true)}, x86.CMC: {plain: complementCarry},
		x86.CLD: {plain: setFlag(emu.FlagDF, false)}, x86.STD: {plain: setFlag(emu.FlagDF, true)},
		x86.LAHF: {plain: loadFlags}, x86.SAHF: {plain: storeFlags},
		x86.SFENCE: {plain: nothing}, x86.LFENCE: {plain: nothing}, x86.MFENCE: {plain: nothing}, x86.PREFETCH: {plain: nothing},
		x86.CLDEMOTE: {plain: nothing},
	}
}

// nothing is what fences and hints do: threads of a guest take turns, and there is no cache.
func nothing(*Machine, *emu.CPU, *guest.Insn) *emu.Fault { return nil }

func move(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
	x, fault := m.get(c, g, 1)
	if fault != nil {
		return fault
	}
	return m.put(c, g, 0, x)
}

func moveSigned(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
	x, fault := m.get(c, g, 1)
	if fault == nil {
		putReg(c, &g.Args[0], signed(x, uint8(g.Args[1].Size)))
	}
	return fault
}

// moveIf implements CMOVcc: the source is read in any case, and the upper half of a 32-bit destination cleared.
func moveIf(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
	x, fault := m.get(c, g, 1)
	if fault != nil {
		return fault
	}
	if !Holds(g.Cond, c.Flags) {
		x = getReg(c, &g.Args[0])
	}
	putReg(c, &g.Args[0], x)
	return nil
}

func setIf(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
	return m.put(c, g, 0, when(Holds(g.Cond, c.Flags), 1))
}

// Holds reports whether a condition (SDM Vol. 1, "Conditional Codes") holds with some flags.
func Holds(cond uint8, flags uint64) bool {
	less := flags>>7&1 != flags>>11&1 // SF and OF
	var yes bool
	switch cond >> 1 {
	case 0:
		yes = flags&emu.FlagOF != 0
	case 1:
		yes = flags&emu.FlagCF != 0
	case 2:
		yes = flags&emu.FlagZF != 0
	case 3:
		yes = flags&(emu.FlagCF|emu.FlagZF) != 0
	case 4:
		yes = flags&emu.FlagSF != 0
	case 5:
		yes = flags&emu.FlagPF != 0
	case 6:
		yes = less
	case 7:
		yes = less || flags&emu.FlagZF != 0
	}
	return yes != (cond&1 != 0)
}

// loadAddress implements LEA: no segment takes part.
func loadAddress(_ *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
	putReg(c, &g.Args[0], uint64(guest.EffectiveAddr(c, g))-guest.SegmentBase(c, g))
	return nil
}

// push implements PUSH: of RSP what it was before.
func push(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
	o := &g.Args[0]
	x := uint64(o.Imm)
	if o.Kind != x86.ArgImm {
		var fault *emu.Fault
		if x, fault = m.get(c, g, 0); fault != nil {
			return fault
		}
	}
	sp := c.Regs[emu.RSP] - uint64(g.OpSize)
	fault := m.Store(emu.Addr(sp), g.OpSize, x)
	if fault == nil {
		c.Regs[emu.RSP] = sp
	}
	return fault
}

// pop implements POP: with RSP in the operand's address it is that behind the pop (SDM Vol. 2, POP).
func pop(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault {
	sp := c.Regs[emu.RSP]
	x, fault := m.Load(emu.Addr(sp), g.OpSize)
	if fault != nil {
		return fault
	}
	c.Regs[emu.RSP] += uint64(g.OpSize)
	if fault = m.put(c, g, 0, x); fault != nil {
		c.Regs[emu.RSP] = sp
	}
	return fault
}

func leave(m *Machine, c *emu.CPU, _ *guest.Insn) *emu.Fault {
	sp := c.Regs[emu.RBP]
	x, fault := m.Load(emu.Addr(sp), 8)
	if fault == nil {
		c.Regs[emu.RBP], c.Regs[emu.RSP] = x, sp+8
	}
	return fault
}

func setFlag(flag uint64, on bool) semantics {
	return func(_ *Machine, c *emu.CPU, _ *guest.Insn) *emu.Fault {
		c.Flags = c.Flags&^flag | when(on, flag)
		return nil
	}
}

func complementCarry(_ *Machine, c *emu.CPU, _ *guest.Insn) *emu.Fault {
	c.Flags ^= emu.FlagCF
	return nil
}

// ahFlags are the flags that LAHF and SAHF move.
const ahFlags = x86.StatusFlags &^ x86.OF

func loadFlags(_ *Machine, c *emu.CPU, _ *guest.Insn) *emu.Fault {
	c.Regs[emu.RAX] = c.Regs[emu.RAX]&^0xff00 | (c.Flags&uint64(ahFlags)|emu.FlagR1)<<8
	return nil
}

func storeFlags(_ *Machine, c *emu.CPU, _ *guest.Insn) *emu.Fault {
	setFlags(c, ahFlags, c.Regs[emu.RAX]>>8)
	return nil
}

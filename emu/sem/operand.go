package sem

import (
	"encoding/binary"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/emu/x86"
)

// get returns integer operand arg of g, with zeros above its size; an immediate has that of the first operand.
func (m *Machine) get(c *emu.CPU, g *guest.Insn, arg int) (uint64, *emu.Fault) {
	o := &g.Args[arg]
	switch o.Kind {
	case x86.ArgMem:
		return m.Load(guest.EffectiveAddr(c, g), uint8(o.Size))
	case x86.ArgImm:
		return truncate(uint64(o.Imm), uint8(g.Args[0].Size)), nil
	}
	return getReg(c, o), nil
}

// getReg returns register operand o.
func getReg(c *emu.CPU, o *x86.Arg) uint64 {
	x := c.Regs[o.Reg]
	if o.High8 {
		x >>= 8
	}
	return truncate(x, uint8(o.Size))
}

// putReg writes register operand o.
func putReg(c *emu.CPU, o *x86.Arg, x uint64) {
	if o.High8 {
		c.Regs[o.Reg] = c.Regs[o.Reg]&^0xff00 | x&0xff<<8
		return
	}
	setReg(c, o.Reg, uint8(o.Size), x)
}

// put writes integer operand arg of g.
func (m *Machine) put(c *emu.CPU, g *guest.Insn, arg int, x uint64) *emu.Fault {
	o := &g.Args[arg]
	if o.Kind == x86.ArgMem {
		return m.Store(guest.EffectiveAddr(c, g), uint8(o.Size), x)
	}
	putReg(c, o, x)
	return nil
}

// modify replaces g's first operand x by f(x). Memory that cannot be written faults as a write does, and f is not
// called.
func (m *Machine) modify(c *emu.CPU, g *guest.Insn, f func(x uint64) uint64) *emu.Fault {
	o := &g.Args[0]
	if o.Kind != x86.ArgMem {
		putReg(c, o, f(getReg(c, o)))
		return nil
	}
	a, size := guest.EffectiveAddr(c, g), uint8(o.Size)
	x, fault := m.LoadToModify(a, size)
	if fault != nil {
		return fault
	}
	return m.Store(a, size, truncate(f(x), size))
}

// LoadToModify reads an integer of size bytes that is going to be written.
func (m *Machine) LoadToModify(a emu.Addr, size uint8) (uint64, *emu.Fault) {
	if v := m.Mem.Direct(a, uint64(size), mem.Write); v != nil {
		return m.Load(a, size)
	}
	if n := m.Mem.Reachable(a, uint64(size), mem.Write); n < uint64(size) {
		return 0, accessFault(a, int(n), true)
	}
	x, fault := m.Load(a, size)
	if fault != nil {
		fault.Write = fault.Vector == emu.VecPF
	}
	return x, fault
}

// Load reads an integer of size bytes.
func (m *Machine) Load(a emu.Addr, size uint8) (uint64, *emu.Fault) {
	var b [8]byte
	f := m.read(a, b[:size])
	return binary.LittleEndian.Uint64(b[:]), f
}

// Store writes one.
func (m *Machine) Store(a emu.Addr, size uint8, x uint64) *emu.Fault {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], x)
	return m.write(a, b[:size])
}

// setFlags sets those of the status flags that are in mask.
func setFlags(c *emu.CPU, mask x86.Flags, flags uint64) {
	c.Flags = c.Flags&^uint64(mask) | flags&uint64(mask)
}

// when returns flag if it holds.
func when(holds bool, flag uint64) uint64 {
	if holds {
		return flag
	}
	return 0
}

// Push pushes 8 bytes.
func (m *Machine) Push(c *emu.CPU, x uint64) *emu.Fault {
	sp := c.Regs[emu.RSP] - 8
	if f := m.Store(emu.Addr(sp), 8, x); f != nil {
		return f
	}
	c.Regs[emu.RSP] = sp
	return nil
}

package sem

import (
	"encoding/binary"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/emu/x86"
)

// touch implements CLFLUSH, which needs memory that can be read.
func (m *Machine) touch(c *emu.CPU, g *guest.Insn) *emu.Fault {
	return m.read(guest.EffectiveAddr(c, g), make([]byte, 1))
}

// pushf implements PUSHF.
func (m *Machine) pushf(c *emu.CPU, g *guest.Insn) *emu.Fault {
	return m.push(c, binary.LittleEndian.AppendUint64(nil, c.Flags)[:g.OpSize])
}

// popf changes the flags user code may change.
func (m *Machine) popf(c *emu.CPU, g *guest.Insn) *emu.Fault {
	var b [8]byte
	if f := m.read(emu.Addr(c.Regs[emu.RSP]), b[:g.OpSize]); f != nil {
		return f
	}
	may := truncate(emu.UserFlags, g.OpSize)
	c.Flags = c.Flags&^may | binary.LittleEndian.Uint64(b[:])&may
	c.Regs[emu.RSP] += uint64(g.OpSize)
	return nil
}

// translateByte implements XLAT.
func (m *Machine) translateByte(c *emu.CPU, g *guest.Insn) *emu.Fault {
	a := c.Regs[emu.RBX] + c.Regs[emu.RAX]&0xff
	if g.Mem.AddrSize == 4 {
		a &= 0xffffffff
	}
	var b [1]byte
	if f := m.read(emu.Addr(a+guest.SegmentBase(c, g)), b[:]); f != nil {
		return f
	}
	setReg(c, x86.RAX, 1, uint64(b[0]))
	return nil
}

// enterFrame implements ENTER (SDM Vol. 2).
func (m *Machine) enterFrame(c *emu.CPU, g *guest.Insn) *emu.Fault {
	size, level := uint64(g.OpSize), uint64(g.Args[1].Imm)&31
	sp, bp := c.Regs[emu.RSP], c.Regs[emu.RBP]
	var b [8]byte
	push := func(x uint64) *emu.Fault {
		binary.LittleEndian.PutUint64(b[:], x)
		f := m.write(emu.Addr(sp-size), b[:size])
		if f == nil {
			sp -= size
		}
		return f
	}
	if f := push(bp); f != nil {
		return f
	}
	frame := sp
	for range max(level, 1) - 1 {
		bp -= size
		clear(b[:])
		if f := m.read(emu.Addr(bp), b[:size]); f != nil {
			return f
		}
		if f := push(binary.LittleEndian.Uint64(b[:])); f != nil {
			return f
		}
	}
	if level > 0 {
		if f := push(frame); f != nil {
			return f
		}
	}
	sp -= uint64(uint16(g.Imm))
	// "A page fault occurs if a write using the final value of the stack pointer would fault."
	if m.Mem.Reachable(emu.Addr(sp), size, mem.Write) < size {
		return accessFault(emu.Addr(sp), 0, true)
	}
	c.Regs[emu.RSP] = sp
	setReg(c, x86.RBP, g.OpSize, frame)
	return nil
}

// leave16 implements LEAVE with a 66 prefix: BP alone is popped.
func (m *Machine) leave16(c *emu.CPU, _ *guest.Insn) *emu.Fault {
	var b [2]byte
	sp := c.Regs[emu.RBP]
	if f := m.read(emu.Addr(sp), b[:]); f != nil {
		return f
	}
	setReg(c, x86.RBP, 2, uint64(binary.LittleEndian.Uint16(b[:])))
	c.Regs[emu.RSP] = sp + 2
	return nil
}

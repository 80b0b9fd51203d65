package exec

import (
	"encoding/binary"
	"fmt"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/mem"
	"github.com/cgemu/cgemu/emu/x86"
)

// emulateRare executes integer instructions that would need a translation of their own
// and hardly ever occur.
func (m *Machine) emulateRare(c *emu.CPU, g *Insn) *emu.Fault {
	switch g.Op {
	case x86.MOVS, x86.STOS, x86.LODS, x86.SCAS, x86.CMPS:
		return m.stringInsn(c, g)
	case x86.ENTER:
		return m.enterFrame(c, g)
	case x86.LEAVE:
		return m.leave16(c)
	case x86.MOV, x86.PUSH, x86.POP:
		return m.segment(c, g)
	case x86.XLAT:
		return m.translateByte(c, g)
	case x86.POPCNT, x86.PCLMULQDQ, x86.BSF, x86.BSR, x86.CLFLUSH, x86.NEG:
		return m.emulateBits(c, g)
	}
	return m.emulateFP(c, g)
}

// translateByte implements XLAT.
func (m *Machine) translateByte(c *emu.CPU, g *Insn) *emu.Fault {
	a := c.Regs[emu.RBX] + c.Regs[emu.RAX]&0xff
	if g.Mem.AddrSize == 4 {
		a &= 0xffffffff
	}
	var b [1]byte
	if f := m.read(emu.Addr(a+segmentBase(c, g)), b[:]); f != nil {
		return f
	}
	setReg(c, x86.RAX, 1, uint64(b[0]))
	return nil
}

// segmentBase returns the base of g's segment.
func segmentBase(c *emu.CPU, g *Insn) uint64 {
	switch g.Mem.Seg {
	case x86.SegFS:
		return c.FSBase
	case x86.SegGS:
		return c.GSBase
	}
	return 0
}

// Selectors as Linux gives them to a program; those not listed are 0.
var selectors = [6]uint16{1: 0x33, 2: 0x2b}

// controlRegs are the control registers there are.
var controlRegs = [16]bool{0: true, 2: true, 3: true, 4: true, 8: true}

// segment implements PUSH, POP and MOV with segment and control registers. A program may only load what is
// there already: nothing else has an effect in 64-bit mode that a program could want.
func (m *Machine) segment(c *emu.CPU, g *Insn) *emu.Fault {
	dst, src := g.Args[0], g.Args[1]
	switch {
	case dst.Kind == x86.ArgCR && !controlRegs[dst.Reg], src.Kind == x86.ArgCR && !controlRegs[src.Reg],
		dst.Kind == x86.ArgDR && dst.Reg > 7, src.Kind == x86.ArgDR && src.Reg > 7:
		return &emu.Fault{Vector: emu.VecUD}
	case dst.Kind == x86.ArgCR || dst.Kind == x86.ArgDR || src.Kind == x86.ArgCR || src.Kind == x86.ArgDR:
		return &emu.Fault{Vector: emu.VecGP}
	case g.Op == x86.PUSH:
		return m.push(c, make([]byte, g.OpSize))
	case src.Kind == x86.ArgSeg && dst.Kind == x86.ArgGPR:
		setReg(c, dst.Reg, g.OpSize, uint64(selectors[src.Reg]))
		return nil
	case src.Kind == x86.ArgSeg:
		return m.write(effective(c, g), binary.LittleEndian.AppendUint16(nil, selectors[src.Reg]))
	}
	var b [8]byte
	sp := c.Regs[emu.RSP]
	switch {
	case g.Op == x86.POP:
		// CPUs read the selector alone.
		if f := m.read(emu.Addr(sp), b[:2]); f != nil {
			return f
		}
		sp += uint64(g.OpSize)
	case src.Kind == x86.ArgMem:
		if f := m.read(effective(c, g), b[:2]); f != nil {
			return f
		}
	default:
		binary.LittleEndian.PutUint16(b[:], uint16(c.Regs[src.Reg]))
	}
	if f := checkSelector(dst.Reg, binary.LittleEndian.Uint16(b[:]), g); f != nil {
		return f
	}
	c.Regs[emu.RSP] = sp
	switch dst.Reg {
	case 4:
		c.FSBase = 0
	case 5:
		c.GSBase = 0
	}
	return nil
}

// userDescriptors are the entries of Linux's descriptor table a program may load: 32-bit code, data, code,
// and the one that holds the CPU's number.
const userDescriptors = 1<<4 | 1<<5 | 1<<6 | 1<<15

// checkSelector says what loading a segment register with selector raises.
func checkSelector(seg x86.Reg, selector uint16, g *Insn) *emu.Fault {
	index := selector >> 3
	valid := selector < 4 || selector&4 == 0 && index < 16 && userDescriptors>>index&1 != 0
	switch {
	case selector == selectors[seg]:
		return nil
	case !valid || seg == 2:
		return &emu.Fault{Vector: emu.VecGP}
	}
	return &emu.Fault{Vector: emu.VecUD, Unsupported: fmt.Sprintf("loading a segment register with %#x: % x", selector, g.Bytes)}
}

// enterFrame implements ENTER (SDM Vol. 2).
func (m *Machine) enterFrame(c *emu.CPU, g *Insn) *emu.Fault {
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
	if m.Mem.Accessible(emu.Addr(sp), size, mem.Write) < size {
		return accessFault(emu.Addr(sp), 0, true)
	}
	c.Regs[emu.RSP] = sp
	setReg(c, x86.RBP, g.OpSize, frame)
	return nil
}

// leave16 implements LEAVE with a 66 prefix: BP alone is popped.
func (m *Machine) leave16(c *emu.CPU) *emu.Fault {
	var b [2]byte
	sp := c.Regs[emu.RBP]
	if f := m.read(emu.Addr(sp), b[:]); f != nil {
		return f
	}
	setReg(c, x86.RBP, 2, uint64(binary.LittleEndian.Uint16(b[:])))
	c.Regs[emu.RSP] = sp + 2
	return nil
}

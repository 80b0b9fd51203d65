package sem

import (
	"encoding/binary"
	"fmt"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
)

// selectors as Linux gives them to a program; those not listed are 0.
var selectors = [6]uint16{1: 0x33, 2: 0x2b}

// controlRegs are the control registers there are.
var controlRegs = [16]bool{0: true, 2: true, 3: true, 4: true, 8: true}

// segment implements PUSH, POP and MOV with segment and control registers. A program may only load what is
// there already: nothing else has an effect in 64-bit mode that a program could want.
func (m *Machine) segment(c *emu.CPU, g *guest.Insn) *emu.Fault {
	dst, src := g.Args[0], g.Args[1]
	switch {
	case dst.Kind == x86.ArgCR && !controlRegs[dst.Reg], src.Kind == x86.ArgCR && !controlRegs[src.Reg],
		dst.Kind == x86.ArgDR && dst.Reg > 7, src.Kind == x86.ArgDR && src.Reg > 7:
		return &emu.Fault{Vector: emu.VecUD}
	case dst.Kind == x86.ArgCR || dst.Kind == x86.ArgDR || src.Kind == x86.ArgCR || src.Kind == x86.ArgDR:
		return generalProtection()
	case g.Op == x86.PUSH:
		return m.push(c, make([]byte, g.OpSize))
	case src.Kind == x86.ArgSeg && dst.Kind == x86.ArgGPR:
		setReg(c, dst.Reg, g.OpSize, uint64(selectors[src.Reg]))
		return nil
	case src.Kind == x86.ArgSeg:
		return m.write(guest.EffectiveAddr(c, g), binary.LittleEndian.AppendUint16(nil, selectors[src.Reg]))
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
		if f := m.read(guest.EffectiveAddr(c, g), b[:2]); f != nil {
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
func checkSelector(seg x86.Reg, selector uint16, g *guest.Insn) *emu.Fault {
	index := selector >> 3
	valid := selector < 4 || selector&4 == 0 && index < 16 && userDescriptors>>index&1 != 0
	switch {
	case selector == selectors[seg]:
		return nil
	case !valid || seg == 2:
		return generalProtection()
	}
	return &emu.Fault{Vector: emu.VecUD, Unsupported: fmt.Sprintf("loading a segment register with %#x: % x", selector, g.Bytes)}
}

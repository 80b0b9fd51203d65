package sem

import (
	"encoding/binary"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
)

// A vec is what a vector register holds, or a part of it: its 64-bit words, the lowest first.
type vec [4]uint64

// bytes returns v as memory has it.
func (v vec) bytes() (b [32]byte) {
	for i, w := range v {
		binary.LittleEndian.PutUint64(b[8*i:], w)
	}
	return b
}

// vecOf returns the vec that memory has as b.
func vecOf(b [32]byte) (v vec) {
	for i := range v {
		v[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return v
}

// vecReg returns vector register r.
func vecReg(x *emu.XState, r x86.Reg) (v vec) {
	low, high := x[emu.XOffXMM+16*int(r):], x[emu.XOffYMMH+16*int(r):]
	return vec{
		binary.LittleEndian.Uint64(low), binary.LittleEndian.Uint64(low[8:]),
		binary.LittleEndian.Uint64(high), binary.LittleEndian.Uint64(high[8:]),
	}
}

// setVecReg writes vector register r.
func setVecReg(x *emu.XState, r x86.Reg, v vec) {
	low, high := x[emu.XOffXMM+16*int(r):], x[emu.XOffYMMH+16*int(r):]
	binary.LittleEndian.PutUint64(low, v[0])
	binary.LittleEndian.PutUint64(low[8:], v[1])
	binary.LittleEndian.PutUint64(high, v[2])
	binary.LittleEndian.PutUint64(high[8:], v[3])
}

// vecArg returns vector operand arg of g: a register, or as many bytes of memory as the operand has.
func (m *Machine) vecArg(c *emu.CPU, g *guest.Insn, arg int) (vec, *emu.Fault) {
	o := &g.Args[arg]
	if o.Kind != x86.ArgMem {
		return vecReg(c.FP, o.Reg), nil
	}
	a := guest.EffectiveAddr(c, g)
	if misplaced(g, a, o.Size) {
		return vec{}, generalProtection()
	}
	var b [32]byte
	f := m.read(a, b[:o.Size])
	return vecOf(b), f
}

// misplaced reports whether g may not have an operand of size bytes at a. "Legacy SSE instructions … of 128 bits must
// be aligned", those encoded with VEX need not be, moves that say so aside (SDM Vol. 1, "Memory Alignment").
func misplaced(g *guest.Insn, a emu.Addr, size uint16) bool {
	if a%emu.Addr(max(size, 1)) == 0 || size < 16 {
		return false
	}
	switch g.Op {
	case x86.VMOVAPS, x86.VMOVAPD, x86.VMOVDQA, x86.VMOVDQA32, x86.VMOVDQA64, x86.VMOVNTPS, x86.VMOVNTPD, x86.VMOVNTDQ, x86.VMOVNTDQA:
		return true
	case x86.MOVUPS, x86.MOVUPD, x86.MOVDQU, x86.LDDQU, x86.PCMPESTRI, x86.PCMPESTRM, x86.PCMPISTRI, x86.PCMPISTRM:
		return false
	}
	return g.Enc == x86.Legacy
}

// FaultsByAlignment reports whether g raises #GP, whatever memory is there, as its operand of 16 bytes or more has to
// be aligned and is not.
func FaultsByAlignment(c *emu.CPU, g *guest.Insn) bool {
	for i := range g.NArgs {
		if o := &g.Args[i]; o.Kind == x86.ArgMem && o.Size <= 64 && !g.Mem.VSIB {
			return misplaced(g, guest.EffectiveAddr(c, g), o.Size)
		}
	}
	return false
}

// setVec writes v to g's first operand, a vector register. What is not g's to change stays with a legacy encoding, and
// becomes zero with VEX.
func setVec(c *emu.CPU, g *guest.Insn, v vec) {
	o := &g.Args[0]
	if g.Enc == x86.Legacy {
		old := vecReg(c.FP, o.Reg)
		v[2], v[3] = old[2], old[3]
	} else if o.Size < 32 {
		v[2], v[3] = 0, 0
	}
	setVecReg(c.FP, o.Reg, v)
}

// storeVec writes lanes to g's first operand, which is in memory, as far as it has them.
func (m *Machine) storeVec(c *emu.CPU, g *guest.Insn, low, high lane) *emu.Fault {
	a := guest.EffectiveAddr(c, g)
	size := g.Args[0].Size
	if misplaced(g, a, size) {
		return generalProtection()
	}
	var b [32]byte
	putLane((*[16]byte)(b[:]), low)
	putLane((*[16]byte)(b[16:]), high)
	return m.write(a, b[:size])
}

// LoadVector reads n bytes at a.
func (m *Machine) LoadVector(a emu.Addr, n uint8) ([4]uint64, *emu.Fault) {
	var b [32]byte
	f := m.read(a, b[:n])
	return vecOf(b), f
}

// StoreVector writes the first n bytes of v there.
func (m *Machine) StoreVector(a emu.Addr, n uint8, v [4]uint64) *emu.Fault {
	b := vec(v).bytes()
	return m.write(a, b[:n])
}

package sem

import (
	"encoding/binary"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
)

// vector returns the 32 bytes of a vector register.
func vector(x *emu.XState, r x86.Reg) (v [32]byte) {
	copy(v[:16], x[emu.XOffXMM+16*int(r):])
	copy(v[16:], x[emu.XOffYMMH+16*int(r):emu.XOffYMMH+16*int(r)+16])
	return v
}

// setVector writes the 32 bytes of a vector register.
func setVector(x *emu.XState, r x86.Reg, v [32]byte) {
	copy(x[emu.XOffXMM+16*int(r):], v[:16])
	copy(x[emu.XOffYMMH+16*int(r):emu.XOffYMMH+16*int(r)+16], v[16:])
}

// elementwise returns the semantics of an instruction that applies f to the elements of its last operand.
func elementwise(f func(uint32) uint32) semantics {
	return func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault { return m.applyToElements(c, g, f) }
}

func (m *Machine) applyToElements(c *emu.CPU, g *guest.Insn, f func(uint32) uint32) *emu.Fault {
	var src [32]byte
	last := g.Args[g.NArgs-1]
	size := int(last.Size)
	if last.Kind == x86.ArgMem {
		a := guest.EffectiveAddr(c, g)
		if g.Enc == x86.Legacy && size == 16 && a%16 != 0 {
			return generalProtection()
		}
		if fault := m.read(a, src[:size]); fault != nil {
			return fault
		}
	} else {
		src = vector(c.FP, last.Reg)
	}
	scalar := g.Op == x86.RCPSS || g.Op == x86.RSQRTSS || g.Op == x86.VRCPSS || g.Op == x86.VRSQRTSS
	var dst [32]byte
	switch {
	case g.Enc == x86.Legacy:
		dst = vector(c.FP, g.Args[0].Reg)
	case scalar:
		// The upper elements are the first source's; bits 128 and up become zero.
		first := vector(c.FP, g.Args[1].Reg)
		copy(dst[:16], first[:16])
	}
	n := size
	if scalar {
		n = 4
	}
	for i := 0; i < n; i += 4 {
		binary.LittleEndian.PutUint32(dst[i:], f(binary.LittleEndian.Uint32(src[i:])))
	}
	setVector(c.FP, g.Args[0].Reg, dst)
	return nil
}

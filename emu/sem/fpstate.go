package sem

import (
	"encoding/binary"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
)

// fnstenv implements FNSTENV.
func (m *Machine) fnstenv(c *emu.CPU, g *guest.Insn) *emu.Fault {
	if f := m.write(guest.EffectiveAddr(c, g), x87Env(c.FP, g.OpSize16)); f != nil {
		return f
	}
	maskX87(c.FP)
	return nil
}

// fldenv implements FLDENV.
func (m *Machine) fldenv(c *emu.CPU, g *guest.Insn) *emu.Fault {
	env := make([]byte, envSize(g.OpSize16))
	if pendingX87(c.FP) {
		return &emu.Fault{Vector: emu.VecMF}
	}
	if f := m.read(guest.EffectiveAddr(c, g), env); f != nil {
		return f
	}
	setX87Env(c.FP, env, g.OpSize16)
	return nil
}

// envSize is the size of FNSTENV's image.
func envSize(short bool) int {
	if short {
		return 14
	}
	return 28
}

// x87Top returns the stack top of a status word.
func x87Top(fsw uint16) uint { return uint(fsw>>11) & 7 }

// fullTag expands the abridged tag word of FXSAVE (SDM Vol. 2, FXSAVE, "Recreating FSAVE Format").
func fullTag(x *emu.XState) uint16 {
	fsw := binary.LittleEndian.Uint16(x[emu.XOffFSW:])
	var tag uint16
	for phys := range uint(8) {
		t := uint16(3) // empty
		if x[emu.XOffFTW]>>phys&1 != 0 {
			st := (phys - x87Top(fsw)) & 7
			t = classifyST(x[emu.XOffST+16*st:])
		}
		tag |= t << (2 * phys)
	}
	return tag
}

// classifyST returns the tag of an 80-bit value: 0 valid, 1 zero, 2 special.
func classifyST(b []byte) uint16 {
	mant := binary.LittleEndian.Uint64(b)
	exp := binary.LittleEndian.Uint16(b[8:]) & 0x7fff
	switch {
	case exp == 0 && mant == 0:
		return 1
	case exp == 0 || exp == 0x7fff || mant>>63 == 0:
		return 2
	}
	return 0
}

// x87Env builds the image of FNSTENV. Instruction and data pointers are zero:
// they would be host addresses (emu.XState).
func x87Env(x *emu.XState, short bool) []byte {
	words := [3]uint16{
		binary.LittleEndian.Uint16(x[emu.XOffFCW:]),
		binary.LittleEndian.Uint16(x[emu.XOffFSW:]),
		fullTag(x),
	}
	env := make([]byte, envSize(short))
	for i, w := range words {
		if short {
			binary.LittleEndian.PutUint16(env[2*i:], w)
		} else {
			binary.LittleEndian.PutUint32(env[4*i:], uint32(w)|0xffff0000)
		}
	}
	if !short {
		copy(env[24:], []byte{0, 0, 0xff, 0xff})
	}
	return env
}

// setX87Env loads an image of FLDENV.
func setX87Env(x *emu.XState, env []byte, short bool) {
	step := 4
	if short {
		step = 2
	}
	x.SetFCW(binary.LittleEndian.Uint16(env))
	turnTo(x, x87Top(binary.LittleEndian.Uint16(env[step:])))
	copy(x[emu.XOffFSW:], env[step:step+2])
	tag := binary.LittleEndian.Uint16(env[2*step:])
	x[emu.XOffFTW] = 0
	for phys := range 8 {
		if tag>>(2*phys)&3 != 3 {
			x[emu.XOffFTW] |= 1 << phys
		}
	}
	x.SettleX87()
}

// turnTo makes top the stack top. Registers keep their places, so they are others from the top on.
func turnTo(x *emu.XState, top uint) {
	v := x87{x}
	v.rotate(int(top) - int(x87Top(v.fsw())))
}

// pendingX87 reports whether an unmasked exception waits for the next x87 instruction.
func pendingX87(x *emu.XState) bool { return x[emu.XOffFSW]&x87ES != 0 }

// maskX87 masks all x87 exceptions, as FNSTENV does behind the store.
func maskX87(x *emu.XState) {
	x[emu.XOffFCW] |= 0x3f
	x.SettleX87()
}

// fnsave implements FNSAVE: the environment, eight registers of ten bytes, then FNINIT.
func (m *Machine) fnsave(c *emu.CPU, g *guest.Insn) *emu.Fault {
	img := x87Env(c.FP, g.OpSize16)
	for i := range 8 {
		img = append(img, c.FP[emu.XOffST+16*i:emu.XOffST+16*i+10]...)
	}
	if f := m.write(guest.EffectiveAddr(c, g), img); f != nil {
		return f
	}
	x87{c.FP}.initialize()
	return nil
}

// frstor implements FRSTOR.
func (m *Machine) frstor(c *emu.CPU, g *guest.Insn) *emu.Fault {
	n := envSize(g.OpSize16)
	img := make([]byte, n+80)
	if pendingX87(c.FP) {
		return &emu.Fault{Vector: emu.VecMF}
	}
	if f := m.read(guest.EffectiveAddr(c, g), img); f != nil {
		return f
	}
	setX87Env(c.FP, img[:n], g.OpSize16)
	for i := range 8 {
		copy(c.FP[emu.XOffST+16*i:], img[n+10*i:n+10*i+10])
		clear(c.FP[emu.XOffST+16*i+10 : emu.XOffST+16*i+16])
	}
	return nil
}

// fxsave implements FXSAVE: bytes 416 to 511 are left alone.
func (m *Machine) fxsave(c *emu.CPU, g *guest.Insn) *emu.Fault {
	a := guest.EffectiveAddr(c, g)
	if a%16 != 0 {
		return generalProtection()
	}
	return m.write(a, c.FP[:416])
}

// fxrstor implements FXRSTOR.
func (m *Machine) fxrstor(c *emu.CPU, g *guest.Insn) *emu.Fault {
	a := guest.EffectiveAddr(c, g)
	var img [416]byte
	if a%16 != 0 {
		return generalProtection()
	}
	if f := m.read(a, img[:]); f != nil {
		return f
	}
	if !validMXCSR(img[:]) {
		return generalProtection()
	}
	c.FP.LoadX87(img[:])
	copy(c.FP[emu.XOffMXCSR:], img[emu.XOffMXCSR:emu.XOffMXCSR+4])
	copy(c.FP[emu.XOffXMM:emu.XOffXMM+256], img[emu.XOffXMM:])
	return nil
}

// validMXCSR reports whether an image's MXCSR has no reserved bit.
func validMXCSR(img []byte) bool {
	return binary.LittleEndian.Uint32(img[emu.XOffMXCSR:])&^emu.MXCSRMask == 0
}

package sem

import (
	"encoding/binary"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/mem"
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
	setFCW(x, binary.LittleEndian.Uint16(env))
	turnTo(x, x87Top(binary.LittleEndian.Uint16(env[step:])))
	copy(x[emu.XOffFSW:], env[step:step+2])
	tag := binary.LittleEndian.Uint16(env[2*step:])
	x[emu.XOffFTW] = 0
	for phys := range 8 {
		if tag>>(2*phys)&3 != 3 {
			x[emu.XOffFTW] |= 1 << phys
		}
	}
	settleX87(x)
}

// setFCW writes the control word, whose reserved bits are fixed.
func setFCW(x *emu.XState, fcw uint16) {
	binary.LittleEndian.PutUint16(x[emu.XOffFCW:], fcw&0x1f7f|0x40)
}

// turnTo makes top the stack top. Registers keep their places, so they are others from the top on.
func turnTo(x *emu.XState, top uint) {
	v := x87{x}
	v.rotate(int(top) - int(x87Top(v.fsw())))
}

// pendingX87 reports whether an unmasked exception waits for the next x87 instruction.
func pendingX87(x *emu.XState) bool { return x[emu.XOffFSW]&x87ES != 0 }

// settleX87 makes the error summary and busy bits follow from the exceptions and their masks.
func settleX87(x *emu.XState) {
	fsw := binary.LittleEndian.Uint16(x[emu.XOffFSW:]) &^ 0x8080
	fcw := binary.LittleEndian.Uint16(x[emu.XOffFCW:])
	if fsw&^fcw&0x3f != 0 {
		fsw |= 0x8080
	}
	binary.LittleEndian.PutUint16(x[emu.XOffFSW:], fsw)
}

// maskX87 masks all x87 exceptions, as FNSTENV does behind the store.
func maskX87(x *emu.XState) {
	x[emu.XOffFCW] |= 0x3f
	settleX87(x)
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
	loadX87(c.FP, img[:])
	copy(c.FP[emu.XOffMXCSR:], img[emu.XOffMXCSR:emu.XOffMXCSR+4])
	copy(c.FP[emu.XOffXMM:emu.XOffXMM+256], img[emu.XOffXMM:])
	return nil
}

// validMXCSR reports whether an image's MXCSR has no reserved bit.
func validMXCSR(img []byte) bool {
	return binary.LittleEndian.Uint32(img[emu.XOffMXCSR:])&^emu.MXCSRMask == 0
}

// loadX87 takes the x87 part of an FXSAVE image.
func loadX87(x *emu.XState, img []byte) {
	copy(x[:emu.XOffFTW+1], img)
	setFCW(x, binary.LittleEndian.Uint16(img))
	settleX87(x)
	for i := range 8 {
		copy(x[emu.XOffST+16*i:], img[emu.XOffST+16*i:emu.XOffST+16*i+10])
	}
}

// Components of XSAVE.
const (
	XX87 = 1 << 0
	XSSE = 1 << 1
	XAVX = 1 << 2

	// XFeatures are the components that XSAVE and XRSTOR move.
	XFeatures = XX87 | XSSE | XAVX
)

// inUse returns the components that are not in their initial state: what XSAVE
// reports in XSTATE_BV, computed from the values so that it is the same on every host.
func inUse(x *emu.XState) uint64 {
	var fresh emu.XState
	fresh.Reset()
	var bv uint64
	if string(x[:24]) != string(fresh[:24]) || string(x[emu.XOffST:emu.XOffXMM]) != string(fresh[emu.XOffST:emu.XOffXMM]) {
		bv |= XX87
	}
	if string(x[emu.XOffXMM:emu.XOffXMM+256]) != string(fresh[emu.XOffXMM:emu.XOffXMM+256]) {
		bv |= XSSE
	}
	if string(x[emu.XOffYMMH:]) != string(fresh[emu.XOffYMMH:]) {
		bv |= XAVX
	}
	return bv
}

// xsave implements XSAVE (SDM Vol. 1, "Operation of XSAVE").
func (m *Machine) xsave(c *emu.CPU, g *guest.Insn) *emu.Fault {
	a := guest.EffectiveAddr(c, g)
	if a%64 != 0 {
		return generalProtection()
	}
	rfbm := c.Regs[emu.RAX] & XFeatures
	var bv [8]byte
	if n := m.Mem.Reachable(a, emu.XOffYMMH, mem.Write); n < emu.XOffYMMH {
		return accessFault(a, int(n), true)
	}
	if f := m.read(a+emu.XOffHeader, bv[:]); f != nil {
		return f
	}
	put := func(lo, hi int) *emu.Fault { return m.write(a+emu.Addr(lo), c.FP[lo:hi]) }
	if rfbm&XX87 != 0 {
		if f := put(0, emu.XOffMXCSR); f != nil {
			return f
		}
		if f := put(emu.XOffST, emu.XOffXMM); f != nil {
			return f
		}
	}
	if rfbm&(XSSE|XAVX) != 0 {
		if f := put(emu.XOffMXCSR, emu.XOffST); f != nil {
			return f
		}
	}
	if rfbm&XSSE != 0 {
		if f := put(emu.XOffXMM, emu.XOffXMM+256); f != nil {
			return f
		}
	}
	if rfbm&XAVX != 0 {
		if f := put(emu.XOffYMMH, emu.XStateSize); f != nil {
			return f
		}
	}
	binary.LittleEndian.PutUint64(bv[:], binary.LittleEndian.Uint64(bv[:])&^rfbm|inUse(c.FP)&rfbm)
	return m.write(a+emu.XOffHeader, bv[:])
}

// xrstor implements XRSTOR's standard form.
func (m *Machine) xrstor(c *emu.CPU, g *guest.Insn) *emu.Fault {
	a := guest.EffectiveAddr(c, g)
	if a%64 != 0 {
		return generalProtection()
	}
	img, fresh := new(emu.XState), new(emu.XState)
	fresh.Reset()
	if f := m.read(a, img[:]); f != nil {
		return f
	}
	rfbm := c.Regs[emu.RAX] & XFeatures
	bv := binary.LittleEndian.Uint64(img[emu.XOffHeader:])
	xcomp := binary.LittleEndian.Uint64(img[emu.XOffHeader+8:])
	if bv&^XFeatures != 0 || xcomp != 0 || rfbm&(XSSE|XAVX) != 0 && !validMXCSR(img[:]) {
		return generalProtection()
	}
	from := func(bit uint64) *emu.XState {
		if bv&bit != 0 {
			return img
		}
		return fresh
	}
	if rfbm&XX87 != 0 {
		loadX87(c.FP, from(XX87)[:])
	}
	if rfbm&(XSSE|XAVX) != 0 {
		copy(c.FP[emu.XOffMXCSR:], img[emu.XOffMXCSR:emu.XOffMXCSR+4])
	}
	if rfbm&XSSE != 0 {
		copy(c.FP[emu.XOffXMM:emu.XOffXMM+256], from(XSSE)[emu.XOffXMM:])
	}
	if rfbm&XAVX != 0 {
		copy(c.FP[emu.XOffYMMH:], from(XAVX)[emu.XOffYMMH:])
	}
	return nil
}

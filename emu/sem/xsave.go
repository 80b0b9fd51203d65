package sem

import (
	"encoding/binary"
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/mem"
)

// inUse returns the components that are not in their initial state: what XSAVE
// reports in XSTATE_BV, computed from the values so that it is the same on every host.
func inUse(x *emu.XState) uint64 {
	var fresh emu.XState
	fresh.Reset()
	var bv uint64
	if string(x[:24]) != string(fresh[:24]) || string(x[emu.XOffST:emu.XOffXMM]) != string(fresh[emu.XOffST:emu.XOffXMM]) {
		bv |= emu.XX87
	}
	if string(x[emu.XOffXMM:emu.XOffXMM+256]) != string(fresh[emu.XOffXMM:emu.XOffXMM+256]) {
		bv |= emu.XSSE
	}
	for _, c := range emu.XComponents {
		if string(c.In(x)) != string(c.In(&fresh)) {
			bv |= 1 << c.Number
		}
	}
	return bv
}

// requested returns the components that XSAVE and XRSTOR are to move. The area that they access ends with the last of
// these.
func (m *Machine) requested(c *emu.CPU) uint64 {
	return (c.Regs[emu.RDX]<<32 | c.Regs[emu.RAX]&0xffffffff) & m.Model.XCR0
}

// xsave implements XSAVE (SDM Vol. 1, "Operation of XSAVE").
func (m *Machine) xsave(c *emu.CPU, g *guest.Insn) *emu.Fault {
	a := guest.EffectiveAddr(c, g)
	if a%64 != 0 {
		return generalProtection()
	}
	rfbm := m.requested(c)
	var bv [8]byte
	size := uint64(emu.XAreaSize(rfbm))
	if n := m.Mem.Reachable(a, size, mem.Write); n < size {
		return accessFault(a, int(n), true)
	}
	if f := m.read(a+emu.XOffHeader, bv[:]); f != nil {
		return f
	}
	put := func(lo, hi int) *emu.Fault { return m.writeReachable(a+emu.Addr(lo), c.FP[lo:hi]) }
	if rfbm&emu.XX87 != 0 {
		if f := put(0, emu.XOffMXCSR); f != nil {
			return f
		}
		if f := put(emu.XOffST, emu.XOffXMM); f != nil {
			return f
		}
	}
	if rfbm&(emu.XSSE|emu.XAVX) != 0 {
		if f := put(emu.XOffMXCSR, emu.XOffST); f != nil {
			return f
		}
	}
	if rfbm&emu.XSSE != 0 {
		if f := put(emu.XOffXMM, emu.XOffXMM+256); f != nil {
			return f
		}
	}
	for _, part := range emu.XComponents {
		if rfbm>>part.Number&1 != 0 {
			if f := m.writeReachable(a+emu.Addr(part.Area), part.In(c.FP)); f != nil {
				return f
			}
		}
	}
	binary.LittleEndian.PutUint64(bv[:], binary.LittleEndian.Uint64(bv[:])&^rfbm|inUse(c.FP)&rfbm)
	return m.writeReachable(a+emu.XOffHeader, bv[:])
}

// xrstor implements XRSTOR's standard form.
func (m *Machine) xrstor(c *emu.CPU, g *guest.Insn) *emu.Fault {
	a := guest.EffectiveAddr(c, g)
	if a%64 != 0 {
		return generalProtection()
	}
	rfbm := m.requested(c)
	m.area = slices.Grow(m.area[:0], emu.XAreaSize(rfbm))[:emu.XAreaSize(rfbm)]
	img, fresh := m.area, new(emu.XState)
	fresh.Reset()
	if f := m.read(a, img); f != nil {
		return f
	}
	bv := binary.LittleEndian.Uint64(img[emu.XOffHeader:])
	if bv&^m.Model.XCR0 != 0 || [16]byte(img[emu.XOffHeader+8:]) != [16]byte{} || rfbm&(emu.XSSE|emu.XAVX) != 0 && !validMXCSR(img) {
		return generalProtection()
	}
	from := func(bit uint64) []byte {
		if bv&bit != 0 {
			return img
		}
		return fresh[:]
	}
	if rfbm&emu.XX87 != 0 {
		c.FP.LoadX87(from(emu.XX87))
	}
	if rfbm&(emu.XSSE|emu.XAVX) != 0 {
		copy(c.FP[emu.XOffMXCSR:], img[emu.XOffMXCSR:emu.XOffMXCSR+4])
	}
	if rfbm&emu.XSSE != 0 {
		copy(c.FP[emu.XOffXMM:emu.XOffXMM+256], from(emu.XSSE)[emu.XOffXMM:])
	}
	for _, part := range emu.XComponents {
		switch bit := uint64(1) << part.Number; {
		case rfbm&bit == 0:
		case bv&bit != 0:
			copy(part.In(c.FP), img[part.Area:])
		default:
			clear(part.In(c.FP))
		}
	}
	return nil
}

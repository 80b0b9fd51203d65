package sem

import (
	"github.com/cgemu/cgemu/emu"
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

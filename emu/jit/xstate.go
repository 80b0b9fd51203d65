//go:build linux && amd64

package jit

import (
	"encoding/binary"

	"github.com/cgemu/cgemu/emu"
)

// The state of x87 and vectors goes to the host's CPU by XRSTOR and comes back by XSAVE: in the standard format, or in the compacted one if
// there are registers of AVX-512, whose places in the standard format are others from host to host. XSAVEC makes that.

// compacted says in XCOMP_BV that a state has the compacted format.
const compacted = 1 << 63

// settle makes of the state XSAVE wrote what the next XRSTOR is to load.
func settle(x *emu.XState) {
	x[emu.XOffHeader] = x[emu.XOffHeader]&emu.XAVX | emu.XX87 | emu.XSSE
	clearPointers(x)
}

// clearPointers clears what a host says of x87's last instruction.
func clearPointers(x *emu.XState) {
	clear(x[emu.XOffFOP : emu.XOffFDP+8])
	// AMD's CPUs have one bit more, and FXSAVE shows the mask.
	binary.LittleEndian.PutUint32(x[emu.XOffMXCSRMsk:], emu.MXCSRMask)
}

// markUpper says in the header whether the upper halves of the ymm registers are in
// use. XRSTOR would load zeros just as well, but then the host's CPU takes each of the
// guest's changes between SSE and AVX code for one that must keep upper halves, which costs
// some 70 ns.
func markUpper(x *emu.XState) {
	x[emu.XOffHeader] = emu.XX87 | emu.XSSE
	if !isZero(x[emu.XOffYMMH:emu.XAVXSize]) {
		x[emu.XOffHeader] |= emu.XAVX
	}
}

// packWide is markUpper for a CPU with AVX-512. A host without it loads the part of x that has the standard format.
func (e *Engine) packWide(x *emu.XState) {
	bv, parts := uint64(emu.XX87|emu.XSSE), emu.XComponents[:]
	if e.emulatesWide {
		parts = parts[:1]
	}
	for _, c := range parts {
		if !isZero(c.In(x)) {
			bv |= 1 << c.Number
		}
	}
	x.SetComponents(bv)
	if !e.emulatesWide {
		binary.LittleEndian.PutUint64(x[emu.XOffHeader+8:], compacted|e.Model.XCR0)
	}
}

// isZero reports whether b, of whole words, has no bit set.
func isZero(b []byte) bool {
	for ; len(b) > 0; b = b[8:] {
		if binary.LittleEndian.Uint64(b) != 0 {
			return false
		}
	}
	return true
}

// settleWide undoes packWide. What XSAVEC found in its initial state it did not write; MXCSR was stored apart.
func (e *Engine) settleWide(x *emu.XState) {
	saved := x.Components()
	x.SetComponents(e.Model.XCR0)
	clear(x[emu.XOffHeader+8:][:8])
	clearPointers(x)
	if e.emulatesWide {
		return
	}
	if saved&emu.XX87 == 0 {
		mxcsr := binary.LittleEndian.Uint32(x[emu.XOffMXCSR:])
		clear(x[:emu.XOffXMM])
		x[emu.XOffFCW], x[emu.XOffFCW+1] = 0x7f, 0x03
		binary.LittleEndian.PutUint32(x[emu.XOffMXCSR:], mxcsr)
		binary.LittleEndian.PutUint32(x[emu.XOffMXCSRMsk:], emu.MXCSRMask)
	}
	if saved&emu.XSSE == 0 {
		clear(x[emu.XOffXMM:][:256])
	}
	for _, c := range emu.XComponents {
		if saved>>c.Number&1 == 0 {
			clear(c.In(x))
		}
	}
}

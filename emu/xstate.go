package emu

import "encoding/binary"

// XStateSize is the size of XState.
const XStateSize = 2432

// An XState is x87, SSE, AVX and AVX-512 state in XSAVE's compacted format (SDM Vol. 1, "XSAVE-Managed Features"): the
// 512-byte FXSAVE image, the 64-byte header, and a part for each further component. A CPU without AVX-512 has the first
// XAVXSize bytes of it, which are the standard format too. XSTATE_BV has all components that the CPU has: each is
// valid. The x87 instruction and data pointers and the last opcode are zero at every stop, whatever the host left
// there.
type XState [XStateSize]byte

// Offsets in XState.
const (
	XOffFCW      = 0
	XOffFSW      = 2
	XOffFTW      = 4 // abridged tag word, one bit a register
	XOffFOP      = 6
	XOffFIP      = 8
	XOffFDP      = 16
	XOffMXCSR    = 24
	XOffMXCSRMsk = 28
	XOffST       = 32   // 8 × 16 bytes
	XOffXMM      = 160  // 16 × 16 bytes
	XOffHeader   = 512  // XSTATE_BV first, then XCOMP_BV
	XOffYMMH     = 576  // 16 × 16 bytes: the upper halves of ymm0 to ymm15
	XOffOpmask   = 832  // 8 × 8 bytes
	XOffZMMH     = 896  // 16 × 32 bytes: the upper halves of zmm0 to zmm15
	XOffHiZMM    = 1408 // 16 × 64 bytes: zmm16 to zmm31
)

// XAVXSize is the size of an area with x87, SSE and AVX.
const XAVXSize = XOffOpmask

// Components of XSAVE, as XCR0 has them.
const (
	XX87    = 1 << 0
	XSSE    = 1 << 1
	XAVX    = 1 << 2
	XOpmask = 1 << 5
	XZMMH   = 1 << 6
	XHiZMM  = 1 << 7

	// XFeatures are the components of a CPU with AVX, XAVX512 what one with AVX-512 has besides.
	XFeatures = XX87 | XSSE | XAVX
	XAVX512   = XOpmask | XZMMH | XHiZMM
)

// An XComponent is where a component of state lies: at Off in an XState, at Area in XSAVE's standard format, as Intel's
// CPUs have it.
type XComponent struct{ Number, Off, Area, Size int }

// XComponents are the components behind the FXSAVE image.
var XComponents = [...]XComponent{
	{2, XOffYMMH, 576, 256}, {5, XOffOpmask, 1088, 64}, {6, XOffZMMH, 1152, 512}, {7, XOffHiZMM, 1664, 1024},
}

// In returns the component in x.
func (c XComponent) In(x *XState) []byte { return x[c.Off:][:c.Size] }

// XAreaSize returns the size of an area in standard format that has the components of CPUs with xcr0.
func XAreaSize(xcr0 uint64) int {
	size := XOffYMMH
	for _, c := range XComponents {
		if xcr0>>c.Number&1 != 0 {
			size = c.Area + c.Size
		}
	}
	return size
}

// Area returns x in standard format.
func (x *XState) Area() []byte {
	has := x.Components()
	b := make([]byte, XAreaSize(has))
	copy(b, x[:XOffYMMH])
	for _, c := range XComponents {
		if has>>c.Number&1 != 0 {
			copy(b[c.Area:], c.In(x))
		}
	}
	return b
}

// MXCSRMask has the MXCSR bits that software may set.
const MXCSRMask = 0xffff

// Components returns the components that x's CPU has.
func (x *XState) Components() uint64 { return binary.LittleEndian.Uint64(x[XOffHeader:]) }

// SetComponents says which ones it has.
func (x *XState) SetComponents(xcr0 uint64) { binary.LittleEndian.PutUint64(x[XOffHeader:], xcr0) }

// Reset puts x into the state Linux gives to a new program: FCW 37FH, MXCSR 1F80H. Its components stay; at first they
// are those of AVX.
func (x *XState) Reset() {
	has := x.Components() | XFeatures
	*x = XState{}
	x[XOffFCW], x[XOffFCW+1] = 0x7f, 0x03
	x[XOffMXCSR], x[XOffMXCSR+1] = 0x80, 0x1f
	x[XOffMXCSRMsk], x[XOffMXCSRMsk+1] = 0xff, 0xff
	x.SetComponents(has)
}

// LoadX87 takes x87's part of img, an image of FXSAVE, as FXRSTOR and XRSTOR do, but for the addresses of the last
// instruction and operand.
func (x *XState) LoadX87(img []byte) {
	copy(x[:XOffFTW+1], img)
	x.SetFCW(binary.LittleEndian.Uint16(img))
	x.SettleX87()
	for i := range 8 {
		copy(x[XOffST+16*i:], img[XOffST+16*i:XOffST+16*i+10])
	}
}

// SetFCW writes the control word, whose reserved bits are fixed.
func (x *XState) SetFCW(fcw uint16) { binary.LittleEndian.PutUint16(x[XOffFCW:], fcw&0x1f7f|0x40) }

// SettleX87 makes the error summary and busy bits follow from the exceptions and their masks.
func (x *XState) SettleX87() {
	fsw := binary.LittleEndian.Uint16(x[XOffFSW:]) &^ 0x8080
	fcw := binary.LittleEndian.Uint16(x[XOffFCW:])
	if fsw&^fcw&0x3f != 0 {
		fsw |= 0x8080
	}
	binary.LittleEndian.PutUint16(x[XOffFSW:], fsw)
}

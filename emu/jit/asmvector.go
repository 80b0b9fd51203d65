//go:build linux && amd64

package jit

import "github.com/cgemu/cgemu/emu/x86"

// A vec is one of the registers XMM16 to XMM31, less 16, which AVX-512 has.
type vec byte

// What the engine has there, if the guest has no AVX-512, to record calls: the numbers from 1 on and the size of a frame, scratch space, the innermost frame's
// address, the total.
const (
	vecOne       vec = 0
	vecNumbers       = 11
	vecFrameSize vec = 11
	vecPair      vec = 12
	vecScratch   vec = 13
	vecFrame     vec = 14
	vecTotal     vec = 15
)

// The prefix and the opcode of an instruction: PP, MMM and L'L of SDM Vol. 2, "EVEX", with W set.
type evexOp struct{ pp, mmm, length, opcode byte }

var (
	opVPADDQ    = evexOp{1, 1, length128, 0xd4}
	opVPSUBQ    = evexOp{1, 1, length128, 0xfb}
	opVMOVDQULd = evexOp{2, 1, length128, 0x6f}
	opVMOVDQUSt = evexOp{2, 1, length128, 0x7f}
	opVMOVQSt   = evexOp{1, 1, length128, 0xd6}
	opVMOVQTo   = evexOp{1, 1, length128, 0x6e}
	opVMOVQFrom = evexOp{1, 1, length128, 0x7e}
	opVPMOVSXWQ = evexOp{1, 2, length512, 0x24}
)

// Lengths of vectors.
const (
	length128 = 0
	length512 = 2
)

// wide is the instruction with vectors of 512 bits.
func (op evexOp) wide() evexOp {
	op.length = length512
	return op
}

// evex emits the prefix and the opcode of an instruction. v is the register in ModRM.reg, src the other source, 0 and false for none;
// xb are the inverted bits X and B that extend ModRM.rm.
func (e *assembler) evex(op evexOp, v, src vec, hasSrc bool, xb byte) {
	vvvv, vPrime := byte(0x78), byte(8)
	if hasSrc {
		vvvv, vPrime = (byte(src)^15)<<3, 0
	}
	// R and R' extend ModRM.reg: both are inverted, so R' is 0 from 16 on.
	e.byte(0x62, byte(v^8)<<4&evexR|xb|op.mmm, 0x84|vvvv|op.pp, op.length<<5|vPrime, op.opcode)
}

const (
	evexR = 0x80
	evexX = 0x40
	evexB = 0x20
)

// extend returns X and B for a register in ModRM.rm, or a base.
func extend(r x86.Reg) byte {
	if r >= x86.R8 {
		return evexX
	}
	return evexX | evexB
}

// extend returns X and B for b in ModRM.rm.
func (b vec) extend() byte { return byte(b^8) << 2 & evexB }

// vpaddq emits vpaddq dst, src, [off].
func (e *assembler) vpaddq(dst, src vec, off int) {
	e.evex(opVPADDQ, dst, src, true, evexX|evexB)
	e.rip(x86.Reg(dst), off, 0)
}

// vpaddqAt emits vpaddq dst, src, [base+disp].
func (e *assembler) vpaddqAt(dst, src vec, base x86.Reg, disp int32) {
	e.evex(opVPADDQ, dst, src, true, extend(base))
	e.memScaled(dst, base, disp, 16)
}

// vpaddqVector emits vpaddq dst, a, b.
func (e *assembler) vpaddqVector(dst, a, b vec) {
	e.evex(opVPADDQ, dst, a, true, b.extend())
	e.byte(0xc0 | byte(dst&7)<<3 | byte(b&7))
}

// vpsubqVector emits vpsubq dst, a, b.
func (e *assembler) vpsubqVector(dst, a, b vec) {
	e.evex(opVPSUBQ, dst, a, true, b.extend())
	e.byte(0xc0 | byte(dst&7)<<3 | byte(b&7))
}

// vpaddqWide, vpaddqWideAt and vpaddqWideVector are those with 512 bits.
func (e *assembler) vpaddqWide(dst, src vec, off int) {
	e.evex(opVPADDQ.wide(), dst, src, true, evexX|evexB)
	e.rip(x86.Reg(dst), off, 0)
}

func (e *assembler) vpaddqWideAt(dst, src vec, base x86.Reg, disp int32) {
	e.evex(opVPADDQ.wide(), dst, src, true, extend(base))
	e.memScaled(dst, base, disp, 64)
}

func (e *assembler) vpaddqWideVector(dst, a, b vec) {
	e.evex(opVPADDQ.wide(), dst, a, true, b.extend())
	e.byte(0xc0 | byte(dst&7)<<3 | byte(b&7))
}

// vloadWide, vstoreWide and vstoreWideAt are vload, vstore and vstoreAt with 512 bits.
func (e *assembler) vloadWide(v vec, off int) {
	e.evex(opVMOVDQULd.wide(), v, 0, false, evexX|evexB)
	e.rip(x86.Reg(v), off, 0)
}

func (e *assembler) vstoreWide(off int, v vec) {
	e.evex(opVMOVDQUSt.wide(), v, 0, false, evexX|evexB)
	e.rip(x86.Reg(v), off, 0)
}

func (e *assembler) vstoreWideAt(base x86.Reg, disp int32, v vec) {
	e.evex(opVMOVDQUSt.wide(), v, 0, false, extend(base))
	e.memScaled(v, base, disp, 64)
}

// vpmovsxwq emits vpmovsxwq v, [off]: eight numbers of 16 bits.
func (e *assembler) vpmovsxwq(v vec, off int) {
	e.evex(opVPMOVSXWQ, v, 0, false, evexX|evexB)
	e.rip(x86.Reg(v), off, 0)
}

// vload emits vmovdqu64 v, [off].
func (e *assembler) vload(v vec, off int) {
	e.evex(opVMOVDQULd, v, 0, false, evexX|evexB)
	e.rip(x86.Reg(v), off, 0)
}

// vstore emits vmovdqu64 [off], v; vstoreAt vmovdqu64 [base+disp], v; vstoreLow vmovq [off], v.
func (e *assembler) vstore(off int, v vec) {
	e.evex(opVMOVDQUSt, v, 0, false, evexX|evexB)
	e.rip(x86.Reg(v), off, 0)
}

func (e *assembler) vstoreAt(base x86.Reg, disp int32, v vec) {
	e.evex(opVMOVDQUSt, v, 0, false, extend(base))
	e.memScaled(v, base, disp, 16)
}

func (e *assembler) vstoreLow(off int, v vec) {
	e.evex(opVMOVQSt, v, 0, false, evexX|evexB)
	e.rip(x86.Reg(v), off, 0)
}

// vmovqTo emits vmovq v, r; vmovqFrom vmovq r, v.
func (e *assembler) vmovqTo(v vec, r x86.Reg) {
	e.evex(opVMOVQTo, v, 0, false, extend(r))
	e.byte(0xc0 | byte(v&7)<<3 | byte(r&7))
}

func (e *assembler) vmovqFrom(r x86.Reg, v vec) {
	e.evex(opVMOVQFrom, v, 0, false, extend(r))
	e.byte(0xc0 | byte(v&7)<<3 | byte(r&7))
}

// memScaled emits ModRM and what follows for a vector and [base+disp]: displacements of 8 bits are scaled behind an EVEX prefix.
func (e *assembler) memScaled(v vec, base x86.Reg, disp, scale int32) {
	mod := byte(0x80)
	switch short := disp/scale == int32(int8(disp/scale)) && disp%scale == 0; {
	case disp == 0 && base&7 != 5:
		mod = 0
	case short:
		mod = 0x40
	}
	e.byte(mod | byte(v&7)<<3 | byte(base&7))
	if base&7 == 4 {
		e.byte(0x24)
	}
	switch mod {
	case 0x40:
		e.byte(byte(disp / scale))
	case 0x80:
		e.u32(uint32(disp))
	}
}

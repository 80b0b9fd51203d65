//go:build linux && amd64

package jit

import "github.com/cgemu/cgemu/emu/x86"

// A vec is one of the registers XMM16 to XMM31, less 16, which AVX-512 has.
type vec byte

// The prefix and the opcode of an instruction: PP, MMM and L'L of SDM Vol. 2, "EVEX", with W set unless PP has evexW0.
// The mask is aaa, the number of the register that says which elements are stored.
type evexOp struct{ pp, mmm, length, opcode, mask byte }

// evexW0 in PP says that elements have 32 bits.
const evexW0 = 0x80

var (
	opVPADDQ    = evexOp{1, 1, length128, 0xd4, 0}
	opVPSUBQ    = evexOp{1, 1, length128, 0xfb, 0}
	opVMOVDQULd = evexOp{2, 1, length128, 0x6f, 0}
	opVMOVDQUSt = evexOp{2, 1, length128, 0x7f, 0}
	opVMOVQLd   = evexOp{2, 1, length128, 0x7e, 0}
	opVMOVQSt   = evexOp{1, 1, length128, 0xd6, 0}
	opVMOVQTo   = evexOp{1, 1, length128, 0x6e, 0}
	opVMOVQFrom = evexOp{1, 1, length128, 0x7e, 0}
	opVPMOVSXWQ = evexOp{1, 2, length512, 0x24, 0}

	opVPBROADCASTQ = evexOp{1, 2, length512, 0x7c, 0}
	opVPMOVQ2M     = evexOp{2, 2, length128, 0x39, 0}
	opVPBLENDMQ    = evexOp{1, 2, length512, 0x64, 0}
	opVPSLLQ       = evexOp{1, 1, length512, 0x73, 0}
)

// Lengths of vectors.
const (
	length128 = 0
	length256 = 1
	length512 = 2
)

// wide is the instruction with vectors of 512 bits.
func (op evexOp) wide() evexOp {
	op.length = length512
	return op
}

// masked is the instruction for the elements in mask register k alone.
func (op evexOp) masked(k opmask) evexOp {
	op.mask = byte(k)
	return op
}

// broadcast is the instruction with one word of memory for all elements.
func (op evexOp) broadcast() evexOp {
	op.mask |= evexBroadcast
	return op
}

// rounded is the instruction with registers of 512 bits, rounded that way, which raises no exceptions.
func (op evexOp) rounded(way byte) evexOp {
	op.length = way
	op.mask |= evexBroadcast
	return op
}

// Ways of rounding.
const (
	roundNearest = 0
	roundToZero  = 3
)

// An opmask is one of the registers k1 to k7.
type opmask byte

// evex emits the prefix and the opcode of an instruction. v is the register in ModRM.reg, src the other source, 0 and
// false for none; xb are the inverted bits X and B that extend ModRM.rm.
func (e *assembler) evex(op evexOp, v, src vec, hasSrc bool, xb byte) {
	vvvv, vPrime := byte(0x78), byte(8)
	if hasSrc {
		vvvv, vPrime = (byte(src)^15)<<3, 0
	}
	// R and R' extend ModRM.reg: both are inverted, so R' is 0 from 16 on.
	e.byte(0x62, byte(v^8)<<4&evexR|xb|op.mmm, (0x84|vvvv)^op.pp, op.length<<5|vPrime|op.mask, op.opcode)
}

const (
	evexR  = 0x80
	evexX  = 0x40
	evexR2 = 0x10 // R'
	evexB  = 0x20
	// evexBroadcast is b, in the same byte as the mask.
	evexBroadcast = 0x10
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

// vpaddqBroadcast emits vpaddq dst, src, [off] with the word there for all elements: no more is read.
func (e *assembler) vpaddqBroadcast(dst, src vec, off int) {
	e.evex(opVPADDQ.broadcast(), dst, src, true, evexX|evexB)
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

// vpbroadcastq emits vpbroadcastq v, r.
func (e *assembler) vpbroadcastq(v vec, r x86.Reg) {
	e.evex(opVPBROADCASTQ, v, 0, false, extend(r))
	e.byte(0xc0 | byte(v&7)<<3 | byte(r&7))
}

// vpmovsxdq emits vpmovsxdq v, ymm of the guest, vmovdqu64 vmovdqu64 of that register to v's lower half; the upper one
// becomes 0.
func (e *assembler) vpmovsxdq(v vec, guest x86.Reg) {
	// W is clear, other than in all that evex emits.
	e.byte(0x62, byte(v^8)<<4&evexR|extend(guest)|2, 0x7d, length512<<5|8, 0x25, 0xc0|byte(v&7)<<3|byte(guest&7))
}

func (e *assembler) vmovdqu64(v vec, guest x86.Reg) {
	op := opVMOVDQULd
	op.length = length256
	e.evex(op, v, 0, false, extend(guest))
	e.byte(0xc0 | byte(v&7)<<3 | byte(guest&7))
}

// vpsllq emits vpsllq v, v, n.
func (e *assembler) vpsllq(v vec, n byte) {
	e.byte(0x62, evexR|evexR2|v.extend()|opVPSLLQ.mmm, 0x84|(byte(v)^15)<<3&0x78|opVPSLLQ.pp, opVPSLLQ.length<<5, opVPSLLQ.opcode, 0xf0|byte(v&7), n)
}

// vpmovq2m emits vpmovq2m k, v: the signs of v's elements; vpmovq2mLow those of the lowest two.
func (e *assembler) vpmovq2m(k opmask, v vec)    { e.signs(opVPMOVQ2M.wide(), k, v) }
func (e *assembler) vpmovq2mLow(k opmask, v vec) { e.signs(opVPMOVQ2M, k, v) }

func (e *assembler) signs(op evexOp, k opmask, v vec) {
	e.byte(0x62, evexR|evexR2|v.extend()|op.mmm, 0xfc|op.pp, op.length<<5|8, op.opcode, 0xc0|byte(k)<<3|byte(v&7))
}

// vpblendmq emits vpblendmq dst{k}, a, b: b's elements where k has a bit, a's elsewhere.
func (e *assembler) vpblendmq(dst vec, k opmask, a, b vec) {
	e.evex(opVPBLENDMQ.masked(k), dst, a, true, b.extend())
	e.byte(0xc0 | byte(dst&7)<<3 | byte(b&7))
}

// kmovFrom emits kmovb r, k, kmovWordFrom kmovw r, k; kload kmovb k, [off]; kstore kmovb [off], k.
func (e *assembler) kmovFrom(r x86.Reg, k opmask) {
	e.byte(0xc5, 0x79|byte(^r>>3)<<7, 0x93, 0xc0|byte(r&7)<<3|byte(k))
}

func (e *assembler) kload(k opmask, off int) {
	e.byte(0xc5, 0xf9, 0x90)
	e.rip(x86.Reg(k), off, 0)
}

func (e *assembler) kstore(off int, k opmask) {
	e.byte(0xc5, 0xf9, 0x91)
	e.rip(x86.Reg(k), off, 0)
}

// kadd emits kaddb dst, a, b; kor korb dst, a, b.
func (e *assembler) kadd(dst, a, b opmask) {
	e.byte(0xc5, 0x85|(byte(a)^15)<<3&0x78, 0x4a, 0xc0|byte(dst)<<3|byte(b))
}

func (e *assembler) kor(dst, a, b opmask) {
	e.byte(0xc5, 0x85|(byte(a)^15)<<3&0x78, 0x45, 0xc0|byte(dst)<<3|byte(b))
}

// vload emits vmovdqu64 v, [off].
func (e *assembler) vload(v vec, off int) {
	e.evex(opVMOVDQULd, v, 0, false, evexX|evexB)
	e.rip(x86.Reg(v), off, 0)
}

// vstore emits vmovdqu64 [off], v; vstoreAt vmovdqu64 [base+disp], v.
func (e *assembler) vstore(off int, v vec) {
	e.evex(opVMOVDQUSt, v, 0, false, evexX|evexB)
	e.rip(x86.Reg(v), off, 0)
}

func (e *assembler) vstoreAt(base x86.Reg, disp int32, v vec) {
	e.evex(opVMOVDQUSt, v, 0, false, extend(base))
	e.memScaled(v, base, disp, 16)
}

// vloadLow emits vmovq v, [off], vloadLowAt vmovq v, [base+disp]; vstoreLow vmovq [off], v,
// vstoreLowAt vmovq [base+index*8+disp], v.
func (e *assembler) vloadLow(v vec, off int) {
	e.evex(opVMOVQLd, v, 0, false, evexX|evexB)
	e.rip(x86.Reg(v), off, 0)
}

func (e *assembler) vloadLowAt(v vec, base x86.Reg, disp int32) {
	e.evex(opVMOVQLd, v, 0, false, extend(base))
	e.memScaled(v, base, disp, 8)
}

func (e *assembler) vstoreLow(off int, v vec) {
	e.evex(opVMOVQSt, v, 0, false, evexX|evexB)
	e.rip(x86.Reg(v), off, 0)
}

func (e *assembler) vstoreLowAt(base, index x86.Reg, disp int32, v vec) {
	xb := extend(base)
	if index >= x86.R8 && index != x86.NoReg {
		xb &^= evexX
	}
	e.evex(opVMOVQSt, v, 0, false, xb)
	e.memIndex(x86.Reg(v), base, index, disp, 8)
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

// memScaled emits ModRM and what follows for a vector and [base+disp]: displacements of 8 bits are scaled behind an
// EVEX prefix.
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

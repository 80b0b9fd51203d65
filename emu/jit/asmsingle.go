//go:build linux && amd64

package jit

import "github.com/cgemu/cgemu/emu/x86"

// Instructions on vectors of 16 elements of 32 bits each (refine.go).
var (
	opVPANDD       = evexOp{1 | evexW0, 1, length512, 0xdb, 0}
	opVPORD        = evexOp{1 | evexW0, 1, length512, 0xeb, 0}
	opVPADDD       = evexOp{1 | evexW0, 1, length512, 0xfe, 0}
	opVMULPS       = evexOp{0 | evexW0, 1, length512, 0x59, 0}
	opVFMSUB213PS  = evexOp{1 | evexW0, 2, length512, 0xaa, 0}
	opVFMADD231PS  = evexOp{1 | evexW0, 2, length512, 0xb8, 0}
	opVFNMADD231PS = evexOp{1 | evexW0, 2, length512, 0xbc, 0}
	opVRCP14PS     = evexOp{1 | evexW0, 2, length512, 0x4c, 0}
	opVRSQRT14PS   = evexOp{1 | evexW0, 2, length512, 0x4e, 0}
	opVBROADCASTSS = evexOp{1 | evexW0, 2, length512, 0x18, 0}
	opVSHUFF32X4   = evexOp{1 | evexW0, 3, length512, 0x23, 0}
	opVMOVDQU32    = evexOp{2 | evexW0, 1, length512, 0x7f, 0} // a store
)

// single emits op dst, a, b; singleOf op dst, a, [off] with the word there for all elements.
func (e *assembler) single(op evexOp, dst, a, b vec) {
	e.evex(op, dst, a, true, b.extend())
	e.byte(0xc0 | byte(dst&7)<<3 | byte(b&7))
}

func (e *assembler) singleOf(op evexOp, dst, a vec, off int) {
	e.evex(op.broadcast(), dst, a, true, evexX|evexB)
	e.rip(x86.Reg(dst), off, 0)
}

// singleFrom emits op dst, b, an instruction that has no other source; vbroadcastss vbroadcastss dst, [off] for the
// elements that k selects, for all if it is 0.
func (e *assembler) singleFrom(op evexOp, dst, b vec) {
	e.evex(op, dst, 0, false, b.extend())
	e.byte(0xc0 | byte(dst&7)<<3 | byte(b&7))
}

func (e *assembler) vbroadcastss(dst vec, k opmask, off int) {
	e.evex(opVBROADCASTSS.masked(k), dst, 0, false, evexX|evexB)
	e.rip(x86.Reg(dst), off, 0)
}

// vmovdqu32 emits vmovdqu32 of v to as many of the guest's elements, or to those that k selects if it is not 0.
func (e *assembler) vmovdqu32(guest x86.Reg, k opmask, v vec, length byte) {
	op := opVMOVDQU32.masked(k)
	op.length = length
	e.evex(op, v, 0, false, extend(guest))
	e.byte(0xc0 | byte(v&7)<<3 | byte(guest&7))
}

// repeat emits vshuff32x4 v, v, v, n: each of the four parts of v becomes one that two bits of n choose.
func (e *assembler) repeat(v vec, n byte) {
	e.single(opVSHUFF32X4, v, v, v)
	e.byte(n)
}

// vpsrad emits vpsrad dst, a, n.
func (e *assembler) vpsrad(dst, a vec, n byte) {
	e.byte(0x62, evexR|evexR2|a.extend()|1, 0x05|(byte(dst)^15)<<3&0x78, length512<<5, 0x72, 0xe0|byte(a&7), n)
}

// How vpcmpud compares.
const (
	compareBelow   = 1
	compareAtLeast = 5
	compareAbove   = 6
)

// vpcmpud emits vpcmpud k, a, [off], how, with the word there for all elements.
func (e *assembler) vpcmpud(k opmask, a vec, off int, how byte) {
	e.byte(0x62, evexR|evexR2|evexX|evexB|3, 0x05|(byte(a)^15)<<3&0x78, length512<<5|evexBroadcast, 0x1e)
	e.rip(x86.Reg(k), off, 1)
	e.byte(how)
}

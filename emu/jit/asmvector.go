//go:build linux && amd64

package jit

import "github.com/cgemu/cgemu/emu/x86"

// A vec is one of the registers XMM24 to XMM31, less 24, which AVX-512 has.
type vec byte

// What the engine has there, if the guest has no AVX-512, to record calls: scratch space, the innermost frame's address, the total.
const (
	vecPair    vec = 4
	vecScratch vec = 5
	vecFrame   vec = 6
	vecTotal   vec = 7
)

// The prefix and the opcode of an instruction: PP of SDM Vol. 2, "EVEX", with W set.
type evexOp struct{ pp, opcode byte }

var (
	opVPADDQ    = evexOp{1, 0xd4}
	opVMOVDQULd = evexOp{2, 0x6f}
	opVMOVDQUSt = evexOp{2, 0x7f}
	opVMOVQSt   = evexOp{1, 0xd6}
	opVMOVQTo   = evexOp{1, 0x6e}
	opVMOVQFrom = evexOp{1, 0x7e}
)

// evex emits the prefix and the opcode of an instruction of 128 bits. v is the register in ModRM.reg, src the other source, 0 and false for none;
// xb are the inverted bits X and B that extend ModRM.rm.
func (e *assembler) evex(op evexOp, v, src vec, hasSrc bool, xb byte) {
	vvvv, vPrime := byte(0x78), byte(8)
	if hasSrc {
		vvvv, vPrime = (byte(src)^7)<<3, 0
	}
	// R and R' extend ModRM.reg to 24 and above: both inverted, so 0.
	e.byte(0x62, xb|1, 0x84|vvvv|op.pp, vPrime, op.opcode)
}

const (
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

// vpaddq emits vpaddq dst, src, [off].
func (e *assembler) vpaddq(dst, src vec, off int) {
	e.evex(opVPADDQ, dst, src, true, evexX|evexB)
	e.rip(x86.Reg(dst), off, 0)
}

// vpaddqAt emits vpaddq dst, src, [base+disp].
func (e *assembler) vpaddqAt(dst, src vec, base x86.Reg, disp int32) {
	e.evex(opVPADDQ, dst, src, true, extend(base))
	e.memFar(x86.Reg(dst), base, disp)
}

// vpaddqVector emits vpaddq dst, a, b.
func (e *assembler) vpaddqVector(dst, a, b vec) {
	e.evex(opVPADDQ, dst, a, true, 0)
	e.byte(0xc0 | byte(dst)<<3 | byte(b))
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
	e.memFar(x86.Reg(v), base, disp)
}

func (e *assembler) vstoreLow(off int, v vec) {
	e.evex(opVMOVQSt, v, 0, false, evexX|evexB)
	e.rip(x86.Reg(v), off, 0)
}

// vmovqTo emits vmovq v, r; vmovqFrom vmovq r, v.
func (e *assembler) vmovqTo(v vec, r x86.Reg) {
	e.evex(opVMOVQTo, v, 0, false, extend(r))
	e.byte(0xc0 | byte(v)<<3 | byte(r&7))
}

func (e *assembler) vmovqFrom(r x86.Reg, v vec) {
	e.evex(opVMOVQFrom, v, 0, false, extend(r))
	e.byte(0xc0 | byte(v)<<3 | byte(r&7))
}

// memFar is memRM with a displacement of 32 bits: those of 8 bits are scaled behind an EVEX prefix.
func (e *assembler) memFar(reg, base x86.Reg, disp int32) {
	e.byte(0x80 | byte(reg&7)<<3 | byte(base&7))
	if base&7 == 4 {
		e.byte(0x24)
	}
	e.u32(uint32(disp))
}

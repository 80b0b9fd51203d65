//go:build linux && amd64

package jit

import "github.com/cgemu/cgemu/emu/x86"

// An mmx is one of the registers MM0 to MM7. Instructions are those of SDM Vol. 2 with operands of 64 bits.
type mmx byte

// Opcodes behind 0f. Moves have W set where the other operand is a general register.
const (
	opMOVQLoad  = 0x6f
	opMOVQStore = 0x7f
	opMOVQTo    = 0x6e
	opMOVQFrom  = 0x7e
	opPADDQ     = 0xd4
	opPSUBQ     = 0xfb
	opPADDB     = 0xfc
	opPSRLQ     = 0x73
)

// mm emits an instruction with m and [off], mmAt one with m and [base+disp], mmReg one with m and another register.
func (e *assembler) mm(op byte, m mmx, off int) {
	e.byte(0x0f, op)
	e.rip(x86.Reg(m), off, 0)
}

func (e *assembler) mmAt(op byte, m mmx, base x86.Reg, disp int32) {
	if base >= x86.R8 {
		e.byte(0x41)
	}
	e.byte(0x0f, op)
	e.memRM(x86.Reg(m), base, disp)
}

// mmIndex emits an instruction with m and [base+index*8+disp].
func (e *assembler) mmIndex(op byte, m mmx, base, index x86.Reg, disp int32) {
	if rex := rexIndex(0, base, index) &^ 8; rex != 0x40 {
		e.byte(rex)
	}
	e.byte(0x0f, op)
	e.memIndex(x86.Reg(m), base, index, disp, 1)
}

func (e *assembler) mmReg(op byte, m, other mmx) { e.byte(0x0f, op, 0xc0|byte(m)<<3|byte(other)) }

// movqTo emits movq m, r; movqFrom movq r, m.
func (e *assembler) movqTo(m mmx, r x86.Reg) {
	e.byte(rexW(0, r), 0x0f, opMOVQTo, 0xc0|byte(m)<<3|byte(r&7))
}

func (e *assembler) movqFrom(r x86.Reg, m mmx) {
	e.byte(rexW(0, r), 0x0f, opMOVQFrom, 0xc0|byte(m)<<3|byte(r&7))
}

// psrlq emits psrlq m, n.
func (e *assembler) psrlq(m mmx, n byte) { e.byte(0x0f, opPSRLQ, 0xd0|byte(m), n) }

// Opcodes behind 0f, of SSE.
const (
	opMOVUPSLoad  = 0x10
	opMOVUPSStore = 0x11
)

// sse emits an instruction with XMM15 and [off], sseAt one with [base+disp]. Those of SSE leave the upper halves of YMM
// registers alone.
func (e *assembler) sse(op byte, off int) {
	e.sseOpcode(op, x86.RAX)
	e.rip(7, off, 0)
}

func (e *assembler) sseAt(op byte, base x86.Reg, disp int32) {
	e.sseOpcode(op, base)
	e.memRM(7, base, disp)
}

func (e *assembler) sseOpcode(op byte, base x86.Reg) {
	if op == opPADDQ {
		e.byte(0x66)
	}
	e.byte(0x44|byte(base>>3), 0x0f, op)
}

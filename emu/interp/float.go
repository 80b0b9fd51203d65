package interp

import (
	"encoding/binary"
	"sync"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/sem"
	"github.com/cgemu/cgemu/emu/soft"
	"github.com/cgemu/cgemu/emu/x86"
)

// exactModes are the bits of MXCSR that have to be exactMode for arithmetic to be the host's: results are rounded to
// nearest, and inexact ones, which are masked, have been seen before.
const (
	exactModes = 3<<13 | uint32(soft.PE) | uint32(soft.PE)<<7
	exactMode  = uint32(soft.PE) | uint32(soft.PE)<<7
)

// softly computes f by package soft. failed says whether that raised an exception that is not masked.
func (e *Engine) softly(f func(x, y uint64, mode soft.Mode) (uint64, uint16), x, y uint64) uint64 {
	r, status := f(x, y, soft.Mode(binary.LittleEndian.Uint32(e.state.FP[emu.XOffMXCSR:])))
	if status != 0 {
		e.failed = sem.Raise(&e.state.CPU, status)
	}
	return r
}

// compareFloats leaves the flags of UCOMISS and UCOMISD, or, signaling, of COMISS and COMISD.
func (e *Engine) compareFloats(x, y uint64, size int, signaling bool) {
	s := &e.state
	e.failed = sem.CompareScalars(&s.CPU, x, y, size, signaling)
	if e.failed == nil {
		s.kind = kindNone
	}
}

// scalarOps have the codes of arithmetic on scalars by encoding: with a register and with memory.
var scalarOps = sync.OnceValue(func() map[x86.Op][2][2]uint16 {
	return map[x86.Op][2][2]uint16{
		x86.ADDSS: scalarCodes("Add4"), x86.ADDSD: scalarCodes("Add8"), x86.SUBSS: scalarCodes("Sub4"), x86.SUBSD: scalarCodes("Sub8"),
		x86.MULSS: scalarCodes("Mul4"), x86.MULSD: scalarCodes("Mul8"), x86.DIVSS: scalarCodes("Div4"), x86.DIVSD: scalarCodes("Div8"),
		x86.VADDSS: scalarCodes("Add4"), x86.VADDSD: scalarCodes("Add8"), x86.VSUBSS: scalarCodes("Sub4"), x86.VSUBSD: scalarCodes("Sub8"),
		x86.VMULSS: scalarCodes("Mul4"), x86.VMULSD: scalarCodes("Mul8"), x86.VDIVSS: scalarCodes("Div4"), x86.VDIVSD: scalarCodes("Div8"),
	}
})

func scalarCodes(name string) (c [2][2]uint16) {
	for i, enc := range []string{"Legacy", "Vex"} {
		c[i] = [2]uint16{codes()["opF"+name+"RR"+enc], codes()["opF"+name+"RM"+enc]}
	}
	return c
}

// scalar emits arithmetic on scalars, and comparisons of them.
func (t *translator) scalar() bool {
	in := t.in
	arithmetic, isArithmetic := scalarOps()[in.Op]
	comparison, isComparison := compareFloatCodes[in.Op]
	if !isArithmetic && !isComparison {
		return false
	}
	d, s := &in.Args[0], &in.Args[in.NArgs-1]
	u, memory := uop{d: vectorReg(d)}, 0
	if s.Kind == x86.ArgMem {
		memory = 1
	} else {
		u.s = vectorReg(s)
	}
	if isComparison {
		u.code = comparison[memory]
		if in.Op == x86.COMISS || in.Op == x86.COMISD || in.Op == x86.VCOMISS || in.Op == x86.VCOMISD {
			u.imm = 1
		}
		return t.emitEither(u, memory == 1)
	}
	u.code = arithmetic[t.upper()][memory]
	switch {
	case in.Enc == x86.Legacy:
	case memory == 1:
		u.s = vectorReg(&in.Args[1])
	default:
		u.x = vectorReg(&in.Args[1])
	}
	return t.emitEither(u, memory == 1)
}

// emitEither adds a micro-operation, with the memory operand if it has one.
func (t *translator) emitEither(u uop, memory bool) bool {
	if memory {
		return t.emitMem(u)
	}
	t.emit(u)
	return true
}

var compareFloatCodes = map[x86.Op][2]uint16{
	x86.UCOMISS: {opFCompare4RR, opFCompare4RM}, x86.UCOMISD: {opFCompare8RR, opFCompare8RM}, x86.COMISS: {opFCompare4RR, opFCompare4RM},
	x86.COMISD: {opFCompare8RR, opFCompare8RM}, x86.VUCOMISS: {opFCompare4RR, opFCompare4RM}, x86.VUCOMISD: {opFCompare8RR, opFCompare8RM},
	x86.VCOMISS: {opFCompare4RR, opFCompare4RM}, x86.VCOMISD: {opFCompare8RR, opFCompare8RM},
}

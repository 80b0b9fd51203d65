package interp

import (
	"math/bits"
	"sync"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/sem"
	"github.com/cgemu/cgemu/emu/x86"
)

// An encodedOp has the codes of an operation on vectors by encoding: SSE, AVX with 16 bytes, AVX with 32.
type encodedOp [3]uint16

func encoded(name string) (o encodedOp) {
	for i, enc := range []string{"Legacy", "Vex", "Vex256"} {
		o[i] = codes()[name+enc]
	}
	return o
}

// of returns the code for the instruction.
func (o encodedOp) of(in *insn) uint16 {
	switch {
	case in.Enc == x86.Legacy:
		return o[0]
	case in.Args[0].Size == 32:
		return o[2]
	}
	return o[1]
}

// A wordOp has the codes of an operation on each word of two vectors: with a register, and with memory.
type wordOp struct{ registers, memory encodedOp }

func onWords(name string) wordOp {
	return wordOp{encoded("opV" + name + "RR"), encoded("opV" + name + "RM")}
}

var (
	vectorMove = sync.OnceValue(func() encodedOp { return encoded("opVMov") })
	vectorLoad = sync.OnceValue(func() encodedOp { return encoded("opVLoad") })
	anyWords   = sync.OnceValue(func() wordOp { return onWords("Words") })

	logicOps = sync.OnceValue(func() map[x86.Op]wordOp {
		return map[x86.Op]wordOp{
			x86.PXOR: onWords("Xor"), x86.XORPS: onWords("Xor"), x86.XORPD: onWords("Xor"), x86.POR: onWords("Or"), x86.ORPS: onWords("Or"), x86.ORPD: onWords("Or"),
			x86.PAND: onWords("And"), x86.ANDPS: onWords("And"), x86.ANDPD: onWords("And"), x86.PANDN: onWords("Andn"), x86.ANDNPS: onWords("Andn"), x86.ANDNPD: onWords("Andn"),
			x86.VPXOR: onWords("Xor"), x86.VXORPS: onWords("Xor"), x86.VXORPD: onWords("Xor"), x86.VPOR: onWords("Or"), x86.VORPS: onWords("Or"), x86.VORPD: onWords("Or"),
			x86.VPAND: onWords("And"), x86.VANDPS: onWords("And"), x86.VANDPD: onWords("And"), x86.VPANDN: onWords("Andn"), x86.VANDNPS: onWords("Andn"), x86.VANDNPD: onWords("Andn"),
		}
	})

	// wholeMoves move a register's length; those that are true want memory aligned.
	wholeMoves = map[x86.Op]bool{
		x86.MOVAPS: true, x86.MOVAPD: true, x86.MOVDQA: true, x86.MOVUPS: false, x86.MOVUPD: false, x86.MOVDQU: false,
		x86.VMOVAPS: true, x86.VMOVAPD: true, x86.VMOVDQA: true, x86.VMOVUPS: false, x86.VMOVUPD: false, x86.VMOVDQU: false,
		x86.LDDQU: false, x86.VLDDQU: false, x86.MOVNTDQ: true, x86.MOVNTPS: true, x86.VMOVNTDQ: true, x86.VMOVNTPS: true,
	}
)

// vectorReg returns the offset of a vector register operand.
func vectorReg(a *x86.Arg) uint8 { return 16 * uint8(a.Reg) }

// vector emits a vector instruction.
func (t *translator) vector() bool {
	in := t.in
	if _, ok := wholeMoves[in.Op]; ok {
		return t.wholeMove()
	}
	if o, ok := logicOps()[in.Op]; ok {
		return t.onWords(o, uop{})
	}
	if f := sem.WordsOf(&in.Insn); f != nil && in.Args[0].Kind == x86.ArgXMM {
		if !t.onWords(anyWords(), uop{imm: uint64(len(t.b.words))}) {
			return false
		}
		t.b.words = append(t.b.words, f)
		return true
	}
	if t.scalar() {
		return true
	}
	switch in.Op {
	case x86.MOVD, x86.MOVQ, x86.VMOVD, x86.VMOVQ:
		return t.partMove(in.Args[0].Kind == x86.ArgXMM, in.Args[1].Kind == x86.ArgXMM)
	case x86.MOVSS, x86.MOVSD, x86.VMOVSS, x86.VMOVSD, x86.MOVLPS, x86.MOVLPD, x86.MOVHPS, x86.MOVHPD, x86.VMOVLPS, x86.VMOVLPD, x86.VMOVHPS, x86.VMOVHPD:
		return t.scalarMove()
	case x86.PMOVMSKB, x86.VPMOVMSKB:
		u := uop{code: opVSigns16, d: gpr(&in.Args[0]), s: vectorReg(&in.Args[1])}
		if in.Args[1].Kind != x86.ArgXMM {
			return false
		}
		if in.Args[1].Size == 32 {
			u.code = opVSigns32
		}
		t.emit(u)
		return true
	case x86.VZEROUPPER:
		t.emit(uop{code: opVZeroUpper})
		return true
	}
	return false
}

// zeroBeyond emits what an instruction with a VEX prefix does to registers of more than 256 bits, behind what else it
// does.
func (t *translator) zeroBeyond() {
	switch {
	case !t.beyond(&t.in.Insn):
	case t.in.Op == x86.VZEROUPPER:
		t.emit(uop{code: opVZeroBeyondAll})
	default:
		for regs := t.in.VecWrite; regs != 0; regs &= regs - 1 {
			t.emit(uop{code: opVZeroBeyond, imm: uint64(emu.XOffZMMH + 32*bits.TrailingZeros32(regs))})
		}
	}
}

// wholeMove emits a move of a whole register.
func (t *translator) wholeMove() bool {
	in := t.in
	d, s := &in.Args[0], &in.Args[1]
	align := uint64(0)
	if wholeMoves[in.Op] {
		align = uint64(max(d.Size, s.Size)) - 1
	}
	switch {
	case d.Kind == x86.ArgXMM && s.Kind == x86.ArgXMM:
		t.emit(uop{code: vectorMove().of(in), d: vectorReg(d), s: vectorReg(s)})
		return true
	case d.Kind == x86.ArgXMM:
		return t.emitMem(uop{code: vectorLoad().of(in), d: vectorReg(d), imm: align})
	case d.Size == 32:
		return t.emitMem(uop{code: opVStore32, s: vectorReg(s), imm: align})
	}
	return t.emitMem(uop{code: opVStore16, s: vectorReg(s), imm: align})
}

// onWords emits an operation on each word.
func (t *translator) onWords(o wordOp, u uop) bool {
	in := t.in
	u.d = vectorReg(&in.Args[0])
	second := &in.Args[in.NArgs-1]
	if second.Kind != x86.ArgMem {
		u.code, u.s = o.registers.of(in), vectorReg(second)
		if in.Enc != x86.Legacy {
			u.x = vectorReg(&in.Args[1])
		}
		t.emit(u)
		return true
	}
	u.code = o.memory.of(in)
	if in.Enc != x86.Legacy {
		u.s = vectorReg(&in.Args[1])
	}
	u, ok := t.address(u)
	if ok && in.Enc == x86.Legacy {
		u.shift |= 0x80 // aligned
	}
	if ok {
		t.emit(u)
	}
	return ok
}

// upper is 1 for an instruction that clears the upper half of its register.
func (t *translator) upper() uint64 {
	if t.in.Enc == x86.Legacy {
		return 0
	}
	return 1
}

// partMove emits MOVD and MOVQ.
func (t *translator) partMove(to, from bool) bool {
	d, s := &t.in.Args[0], &t.in.Args[1]
	size := uint16(4)
	if t.in.Op == x86.MOVQ || t.in.Op == x86.VMOVQ {
		size = 8
	}
	if d.Kind == x86.ArgMMX || s.Kind == x86.ArgMMX {
		return false
	}
	pick := func(four, eight uint16) uint16 {
		if size == 4 {
			return four
		}
		return eight
	}
	switch {
	case to && from:
		t.emit(uop{code: opVMoveLow8, d: vectorReg(d), s: vectorReg(s), imm: t.upper()})
	case to && s.Kind == x86.ArgMem:
		return t.emitMem(uop{code: pick(opVLoadLow4, opVLoadLow8), d: vectorReg(d), imm: t.upper()})
	case to:
		t.emit(uop{code: pick(opVFromReg4, opVFromReg8), d: vectorReg(d), s: gpr(s), imm: t.upper()})
	case d.Kind == x86.ArgMem:
		return t.emitMem(uop{code: pick(opVStoreLow4, opVStoreLow8), s: vectorReg(s)})
	default:
		t.emit(uop{code: pick(opVToReg4, opVToReg8), d: gpr(d), s: vectorReg(s)})
	}
	return true
}

// scalarMove emits moves of a scalar or half of a register from memory and to it.
func (t *translator) scalarMove() bool {
	d, s := &t.in.Args[0], &t.in.Args[1]
	switch t.in.Op {
	case x86.MOVSS, x86.VMOVSS:
		if s.Kind == x86.ArgMem {
			return t.emitMem(uop{code: opVLoadLow4, d: vectorReg(d), imm: t.upper()})
		}
		if d.Kind == x86.ArgMem {
			return t.emitMem(uop{code: opVStoreLow4, s: vectorReg(s)})
		}
	case x86.MOVSD, x86.VMOVSD:
		if s.Kind == x86.ArgMem {
			return t.emitMem(uop{code: opVLoadLow8, d: vectorReg(d), imm: t.upper()})
		}
		if d.Kind == x86.ArgMem {
			return t.emitMem(uop{code: opVStoreLow8, s: vectorReg(s)})
		}
	case x86.MOVLPS, x86.MOVLPD, x86.VMOVLPS, x86.VMOVLPD:
		if d.Kind == x86.ArgMem {
			return t.emitMem(uop{code: opVStoreLow8, s: vectorReg(s)})
		}
	default:
		if d.Kind == x86.ArgMem {
			return t.emitMem(uop{code: opVStoreHigh8, s: vectorReg(s)})
		}
	}
	return false
}

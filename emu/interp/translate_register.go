package interp

import (
	"sync"

	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
)

// A registerOp is an operation on registers of 4 or 8 bytes, of which the source may be loaded from memory first.
type registerOp struct {
	codes [2]family
	// d, s and x are the numbers of the operands that are destination, source and second source; -1 for none.
	d, s, x int
}

var registerOps = sync.OnceValue(func() map[x86.Op]registerOp {
	return map[x86.Op]registerOp{
		x86.NOT: {keepsFlags("opNot%d"), 0, -1, -1}, x86.NEG: {flagged("opNeg%d"), 0, -1, -1},
		x86.INC: {[2]family{named("opAddOne%d"), named("opInc%dF")}, 0, -1, -1}, x86.DEC: {[2]family{named("opSubOne%d"), named("opDec%dF")}, 0, -1, -1},
		x86.XCHG: {keepsFlags("opXchg%d"), 0, 1, -1}, x86.ANDN: {withoutFlags("opAndn%d"), 0, 1, 2},
		x86.SHLX: {keepsFlags("opShlX%d"), 0, 1, 2}, x86.SHRX: {keepsFlags("opShrX%d"), 0, 1, 2}, x86.SARX: {keepsFlags("opSarX%d"), 0, 1, 2},
		x86.TZCNT: {withoutFlags("opTzcnt%d"), 0, 1, -1}, x86.BSWAP: {keepsFlags("opBswap%d"), 0, -1, -1},
	}
})

// keepsFlags returns the families of an instruction that does not change flags: one of them twice.
func keepsFlags(format string) [2]family { return [2]family{named(format), named(format)} }

// register emits an instruction that works on registers.
func (t *translator) register() bool {
	in := t.in
	switch in.Op {
	case x86.IMUL:
		return t.multiply()
	case x86.CMOVCC:
		return t.conditional(cmovCodes().of(in.Args[0].Size))
	case x86.SETCC:
		if in.Args[0].Kind != x86.ArgGPR {
			return false
		}
		t.emit(uop{code: opSetcc, d: gpr(&in.Args[0]), imm: uint64(in.Cond)})
		return true
	case x86.CDQE:
		t.emit(uop{code: opSign4To8})
		return true
	case x86.CDQ:
		t.emit(uop{code: opCdq, d: 8 * uint8(x86.RDX)})
		return true
	case x86.CQO:
		t.emit(uop{code: opCqo, d: 8 * uint8(x86.RDX)})
		return true
	}
	o, ok := registerOps()[in.Op]
	if !ok {
		return false
	}
	code := o.codes[t.byFlags()].of(in.Args[0].Size)
	if code == opNone {
		return false
	}
	return t.withOperands(uop{code: code}, o)
}

// withOperands adds the operands that o names. Memory is loaded first; in Args[0] it is not possible.
func (t *translator) withOperands(u uop, o registerOp) bool {
	args := &t.in.Args
	if args[0].Kind != x86.ArgGPR {
		return false
	}
	u.d = gpr(&args[0])
	for _, k := range []int{o.s, o.x} {
		if k < 0 {
			continue
		}
		r := uint8(offTemp)
		if args[k].Kind == x86.ArgGPR {
			r = gpr(&args[k])
		} else if t.in.Op == x86.XCHG || args[k].Kind != x86.ArgMem || !t.emitMem(uop{code: loadCodes().of(args[k].Size), d: offTemp}) {
			return false
		}
		if k == o.s {
			u.s = r
		} else {
			u.x = r
		}
	}
	t.emit(u)
	return true
}

var cmovCodes, mulCodes, mulImmCodes = familyOf("opCmov%d"), familyOf("opMul%d"), familyOf("opMulI%d")

// conditional emits CMOVcc: the source is loaded in any case.
func (t *translator) conditional(code uint16) bool {
	return code != opNone && t.withOperands(uop{code: code, imm: uint64(t.in.Cond)}, registerOp{s: 1, x: -1})
}

// multiply emits IMUL with two or three operands if nobody sees its flags.
func (t *translator) multiply() bool {
	in := t.in
	if in.NArgs == 1 || in.Args[0].Size < 4 || t.flags {
		return false
	}
	if in.NArgs == 2 {
		return t.withOperands(uop{code: mulCodes().of(in.Args[0].Size), s: gpr(&in.Args[0])}, registerOp{s: -1, x: 1})
	}
	return t.withOperands(uop{code: mulImmCodes().of(in.Args[0].Size), imm: uint64(in.Args[2].Imm)}, registerOp{s: 1, x: -1})
}

// branch emits what ends the block.
func (t *translator) branch() bool {
	in := t.in
	b := t.b
	b.through = uint64(in.Next())
	switch in.Flow {
	case x86.FlowJcc:
		t.direct()
		t.emit(uop{code: opJcc, d: in.Cond})
	case x86.FlowJmp:
		t.direct()
		t.emit(uop{code: opJmp})
	case x86.FlowCall:
		t.direct()
		t.emit(uop{code: opCall, b: offRSP, imm: uint64(in.Next())})
	case x86.FlowRet:
		t.emit(uop{code: opRet, b: offRSP, imm: uint64(uint16(in.Imm))})
	case x86.FlowCallInd:
		return t.through(uop{code: opCallR, b: offRSP, imm: uint64(in.Next())})
	case x86.FlowJmpInd:
		return t.through(uop{code: opJmpR})
	default:
		return false
	}
	return true
}

// direct notes where the direct branch goes.
func (t *translator) direct() {
	t.b.target, t.b.back = uint64(t.in.Dest()), t.in.Target < 0
}

// through emits a jump or call through a register or memory.
func (t *translator) through(u uop) bool {
	a := &t.in.Args[0]
	u.d = offTemp
	load, ok := uop{code: opLoad8, d: offTemp}, true
	if a.Kind == x86.ArgMem {
		if load, ok = t.address(load); !ok {
			return false
		}
	}
	if a.Kind == x86.ArgMem {
		t.emit(load)
	} else {
		u.d = gpr(a)
	}
	t.emit(u)
	return true
}

// A comparison is what compares, what its operands are, and for which condition there is a jump behind it.
type comparison struct {
	op   x86.Op
	form string
	cond uint8
}

// compareJumps have the codes that compare and jump at once.
var compareJumps = sync.OnceValue(func() map[comparison]family {
	m := map[comparison]family{}
	for op, name := range map[x86.Op]string{x86.CMP: "Cmp", x86.TEST: "Test"} {
		for _, form := range []string{"RR", "RI"} {
			for cond, condition := range conditionNames {
				m[comparison{op, form, cond}] = named("op" + name + form + "%d" + condition)
			}
		}
	}
	return m
})

// conditionNames are the names that gen gives to conditions.
var conditionNames = map[uint8]string{
	2: "B", 3: "AE", 4: "E", 5: "NE", 6: "BE", 7: "A", 8: "S", 9: "NS", 12: "L", 13: "GE", 14: "LE", 15: "G",
}

// compareAndJump emits a comparison and the conditional jump behind it, with which the block ends, as one.
func (t *translator) compareAndJump() bool {
	insns := t.b.insns
	if t.i != len(insns)-2 || t.in.Kind != guest.Plain || insns[t.i+1].Flow != x86.FlowJcc {
		return false
	}
	if t.in.Op != x86.CMP && t.in.Op != x86.TEST {
		return false
	}
	d, s := &t.in.Args[0], &t.in.Args[1]
	form := t.operands()
	u, loads := uop{}, false
	switch form {
	case "RR", "RI":
		u.d = gpr(d)
	case "MR", "MI":
		form, loads, u.d = "R"+form[1:], true, offTemp
	default:
		return false
	}
	u.imm = uint64(s.Imm)
	if s.Kind == x86.ArgGPR {
		u.s = gpr(s)
	}
	f, ok := compareJumps()[comparison{t.in.Op, form, insns[t.i+1].Cond}]
	if !ok || f.of(d.Size) == opNone {
		return false
	}
	first := len(t.b.uops)
	if loads && !t.emitMem(uop{code: loadCodes().of(d.Size), d: offTemp}) {
		return false
	}
	if t.simulating && !t.refersAlike(t.b.uops[first:]) {
		t.b.uops = t.b.uops[:first]
		return false
	}
	u.code = f.of(d.Size)
	t.i++
	t.in = &insns[t.i]
	t.fetch()
	t.b.through = uint64(t.in.Next())
	t.direct()
	t.emit(u)
	return true
}

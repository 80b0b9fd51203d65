package interp

import (
	"fmt"
	"math/bits"
	"sync"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
	"github.com/cgemu/cgemu/hooks"
)

// A translator makes micro-operations of a block's instructions.
type translator struct {
	b *block
	// i is the number of the instruction, in itself, flags says that somebody may see the status flags that it leaves.
	i     int
	in    *insn
	flags bool
	// simulating says that what instructions refer to is simulated. The last fetch was of line fetched, whose number is
	// its address without lineShift bits; ahead says that there was one.
	simulating, ahead  bool
	fetched, lineShift uint64
	// beyond reports whether an instruction zeroes what its registers have beyond 256 bits.
	beyond func(*guest.Insn) bool
}

// translate gives b its micro-operations.
func (e *Engine) translate(b *block) {
	t := translator{b: b, beyond: e.machine.ZeroesBeyond, simulating: e.sim.details && b.counting != emu.CountOff, lineShift: e.sim.fetches.shift & 63}
	b.n = uint64(len(b.insns))
	seen := visibleFlags(b.insns)
	for t.i = 0; t.i < len(b.insns); t.i++ {
		t.in, t.flags = &b.insns[t.i], seen[t.i]
		if t.in.checksBudget() {
			t.emit(uop{code: opCheck})
		}
		t.fetch()
		if t.compareAndJump() {
			break
		}
		if first := len(b.uops); !t.insn() || t.simulating && !t.refersAlike(b.uops[first:]) {
			b.uops = b.uops[:first]
			t.other()
		}
	}
	last := &b.insns[len(b.insns)-1]
	switch {
	case last.Kind == guest.Branch:
	case (len(b.insns) == maxInsns || last.endsRun) && !last.Kind.Ends():
		b.through = uint64(last.Next())
		t.emit(uop{code: opThrough})
	default:
		t.i--
		t.emit(uop{code: opEnd, disp: int64(last.Next()), imm: uint64(t.i)})
	}
}

// fetch emits the fetch of the instruction, unless it is of the line that was fetched last.
func (t *translator) fetch() {
	first, last := uint64(t.in.PC)>>t.lineShift, (uint64(t.in.PC)+uint64(t.in.Len)-1)>>t.lineShift
	if !t.simulating || t.ahead && first == t.fetched && last == t.fetched {
		return
	}
	u := uop{code: opFetch, disp: int64(t.in.PC)}
	if first != last {
		u.d = 1
	}
	t.emit(u)
	t.fetched, t.ahead = last, true
}

// refersAlike reports whether micro-operations make the references of their instruction, and nothing else of it is
// simulated.
func (t *translator) refersAlike(uops []uop) bool {
	refs := t.in.effects.Refs
	if hooks.LockedBranch(&t.in.Inst) {
		return false
	}
	for _, u := range uops {
		for _, r := range uopRefs[u.code] {
			if len(refs) == 0 || refs[0].Kind != r.kind || refs[0].Size != r.size || refs[0].Guard != x86.Always {
				return false
			}
			refs = refs[1:]
		}
	}
	return len(refs) == 0
}

// visibleFlags says of each instruction whether the status flags that it leaves can be seen behind it: whether they are
// read before they are written, or the block ends. What a fault in between shows is not looked at.
func visibleFlags(insns []insn) []bool {
	seen := make([]bool, len(insns))
	live := x86.StatusFlags
	for i := len(insns) - 1; i >= 0; i-- {
		in := &insns[i]
		seen[i] = in.FlagsWrite&live != 0
		if in.Kind != guest.Plain && in.Kind != guest.Nop && in.Kind != guest.Push && in.Kind != guest.Pop && in.Kind != guest.Lea && in.Kind != guest.Leave &&
			in.Kind != guest.Branch && in.Kind != guest.String {
			live = x86.StatusFlags
			continue
		}
		live = live&^(in.FlagsWrite&^in.FlagsRead) | in.FlagsRead&x86.StatusFlags
	}
	return seen
}

// emit adds a micro-operation.
func (t *translator) emit(u uop) {
	u.insn = uint8(t.i)
	t.b.uops = append(t.b.uops, u)
}

// other leaves the instruction to package sem, or to special.
func (t *translator) other() {
	u := uop{code: opSem, disp: int64(t.in.Next()), imm: uint64(t.i)}
	switch {
	case t.in.execute == nil:
		u.code = opSpecial
	case t.in.Kind == guest.Nop:
		return
	case (t.in.FlagsRead|t.in.FlagsWrite)&x86.StatusFlags != 0 || t.in.Kind != guest.Plain:
		u.d = 1
	}
	t.emit(u)
}

// gpr returns the offset of a register operand.
func gpr(a *x86.Arg) uint8 {
	r := 8 * uint8(a.Reg)
	if a.High8 {
		r++
	}
	return r
}

// address adds the memory operand to u; ok is false if it has an address that micro-operations cannot compute.
func (t *translator) address(u uop) (_ uop, ok bool) {
	m := &t.in.Mem
	u.b, u.x, u.disp = offZero, offZero, m.Disp
	if m.Base != x86.NoReg {
		u.b = 8 * uint8(m.Base)
	}
	if m.Index != x86.NoReg {
		u.x, u.shift = 8*uint8(m.Index), uint8(bits.TrailingZeros8(m.Scale))
	}
	if m.RIPRel {
		u.disp += int64(t.in.Next())
	}
	if m.Seg == x86.SegFS || m.Seg == x86.SegGS {
		if u.b != offZero || t.in.Op == x86.LEA {
			return u, false
		}
		if u.b = offFS; m.Seg == x86.SegGS {
			u.b = offGS
		}
	}
	return u, m.AddrSize == 8 && !m.VSIB
}

// emitMem adds a micro-operation with the memory operand.
func (t *translator) emitMem(u uop) bool {
	u, ok := t.address(u)
	if ok {
		t.emit(u)
	}
	return ok
}

// A family has the codes of an operation on 1, 2, 4 and 8 bytes; opNone where there is none.
type family [4]uint16

const opNone = ^uint16(0)

// codes has the code of each name. It and all tables of codes are made when they are looked at, since most runs have no
// engine of this kind.
var codes = sync.OnceValue(func() map[string]uint16 {
	m := map[string]uint16{}
	for code, name := range codeNames {
		m[name] = uint16(code)
	}
	return m
})

// named returns the family whose names follow from format and a size.
func named(format string) (f family) {
	for k := range f {
		code, ok := codes()[fmt.Sprintf(format, 1<<k)]
		if f[k] = code; !ok {
			f[k] = opNone
		}
	}
	return f
}

// familyOf returns a function that returns what named does, which is worked out once.
func familyOf(format string) func() family {
	return sync.OnceValue(func() family { return named(format) })
}

// of returns the code for size bytes.
func (f family) of(size uint16) uint16 { return f[bits.TrailingZeros16(size)] }

// flagged returns two families: one without flags, and one with them.
func flagged(format string) [2]family { return [2]family{named(format), named(format + "F")} }

// byFlags is the index of flagged's families.
func (t *translator) byFlags() int {
	if t.flags {
		return 1
	}
	return 0
}

// operands are what an instruction's first two operands are: register, memory, immediate.
func (t *translator) operands() string {
	kind := func(a *x86.Arg) string {
		switch a.Kind {
		case x86.ArgGPR:
			return "R"
		case x86.ArgMem:
			return "M"
		case x86.ArgImm:
			return "I"
		}
		return "?"
	}
	return kind(&t.in.Args[0]) + kind(&t.in.Args[1])
}

// insn emits the instruction; false if there is no micro-operation for it.
func (t *translator) insn() bool {
	in := t.in
	switch in.Kind {
	case guest.Nop:
		return true
	case guest.Lea:
		return in.Args[0].Size >= 2 && t.emitMem(uop{code: leaCodes().of(in.Args[0].Size), d: gpr(&in.Args[0])})
	case guest.Push:
		return t.push()
	case guest.Pop:
		if in.Args[0].Kind != x86.ArgGPR || in.OpSize != 8 {
			return false
		}
		t.emit(uop{code: opPop, b: offRSP, d: gpr(&in.Args[0])})
		return true
	case guest.Leave:
		t.emit(uop{code: opLeave, b: offRSP, s: 8 * uint8(x86.RBP)})
		return true
	case guest.Branch:
		return t.branch()
	case guest.Plain:
		return t.plain()
	}
	return false
}

func (t *translator) push() bool {
	a := &t.in.Args[0]
	switch {
	case t.in.OpSize != 8:
		return false
	case a.Kind == x86.ArgImm:
		t.emit(uop{code: opPushI, b: offRSP, imm: uint64(a.Imm)})
	case a.Kind == x86.ArgGPR:
		t.emit(uop{code: opPush, b: offRSP, s: gpr(a)})
	default:
		if !t.emitMem(uop{code: opLoad8, d: offTemp}) {
			return false
		}
		t.emit(uop{code: opPush, b: offRSP, s: offTemp})
	}
	return true
}

// plain emits an instruction of kind Plain.
func (t *translator) plain() bool {
	in := t.in
	switch in.Op {
	case x86.MOV:
		return t.move()
	case x86.MOVZX, x86.MOVSX, x86.MOVSXD:
		return t.extend()
	case x86.ADD, x86.SUB, x86.AND, x86.OR, x86.XOR:
		return t.arithmetic()
	case x86.CMP, x86.TEST:
		return t.compare()
	case x86.SHL, x86.SHR, x86.SAR, x86.ROL, x86.ROR:
		return t.shift()
	}
	if in.VecRead|in.VecWrite != 0 || in.Op == x86.VZEROUPPER {
		if in.Enc == x86.EVEX || !t.vector() {
			return false
		}
		t.zeroBeyond()
		return true
	}
	return t.register()
}

var (
	leaCodes, moveCodes, moveImmCodes    = familyOf("opLea%d"), familyOf("opMov%d"), familyOf("opMovI%d")
	loadCodes, storeCodes, storeImmCodes = familyOf("opLoad%d"), familyOf("opStore%d"), familyOf("opStoreI%d")
)

func (t *translator) move() bool {
	d, s := &t.in.Args[0], &t.in.Args[1]
	switch t.operands() {
	case "RR":
		t.emit(uop{code: moveCodes().of(d.Size), d: gpr(d), s: gpr(s)})
	case "RI":
		if d.Size == 4 {
			t.emit(uop{code: opMovI8, d: gpr(d), imm: uint64(uint32(s.Imm))})
		} else {
			t.emit(uop{code: moveImmCodes().of(d.Size), d: gpr(d), imm: uint64(s.Imm)})
		}
	case "RM":
		return t.emitMem(uop{code: loadCodes().of(d.Size), d: gpr(d)})
	case "MR":
		return t.emitMem(uop{code: storeCodes().of(d.Size), s: gpr(s)})
	case "MI":
		return t.emitMem(uop{code: storeImmCodes().of(d.Size), imm: uint64(s.Imm)})
	default:
		return false
	}
	return true
}

// extensions have the codes of MOVZX, MOVSX and MOVSXD, from registers and from memory.
var extensions = map[[3]uint16][2]uint16{
	{0, 1, 4}: {opZero1, opLoadZero1}, {0, 2, 4}: {opZero2, opLoadZero2}, {0, 1, 8}: {opZero1, opLoadZero1}, {0, 2, 8}: {opZero2, opLoadZero2},
	{1, 1, 4}: {opSign1To4, opLoadSign1To4}, {1, 1, 8}: {opSign1To8, opLoadSign1To8}, {1, 2, 4}: {opSign2To4, opLoadSign2To4},
	{1, 2, 8}: {opSign2To8, opLoadSign2To8}, {1, 4, 8}: {opSign4To8, opLoadSign4To8}, {1, 4, 4}: {opMov4, opLoad4},
}

func (t *translator) extend() bool {
	d, s := &t.in.Args[0], &t.in.Args[1]
	key := [3]uint16{1, s.Size, d.Size}
	if t.in.Op == x86.MOVZX {
		key[0] = 0
	}
	codes, ok := extensions[key]
	switch {
	case !ok:
		return false
	case s.Kind == x86.ArgMem:
		return t.emitMem(uop{code: codes[1], d: gpr(d)})
	}
	t.emit(uop{code: codes[0], d: gpr(d), s: gpr(s)})
	return true
}

// arithmeticCodes have the codes by what the operands are.
var arithmeticCodes = sync.OnceValue(func() map[x86.Op]map[string][2]family {
	return map[x86.Op]map[string][2]family{
		x86.ADD: inForms("Add"), x86.SUB: inForms("Sub"), x86.AND: inForms("And"), x86.OR: inForms("Or"), x86.XOR: inForms("Xor"),
	}
})

func inForms(name string) map[string][2]family {
	m := map[string][2]family{}
	for _, form := range []string{"RR", "RI", "RM", "MR", "MI"} {
		m[form] = flagged("op" + name + form + "%d")
	}
	return m
}

func (t *translator) arithmetic() bool {
	d, s := &t.in.Args[0], &t.in.Args[1]
	f, ok := arithmeticCodes()[t.in.Op][t.operands()]
	return ok && t.twoOperands(f[t.byFlags()].of(d.Size), d, s)
}

// twoOperands emits an operation whose operands are d and s.
func (t *translator) twoOperands(code uint16, d, s *x86.Arg) bool {
	u := uop{code: code}
	if d.Kind == x86.ArgGPR {
		u.d = gpr(d)
	}
	switch s.Kind {
	case x86.ArgGPR:
		u.s = gpr(s)
	case x86.ArgImm:
		u.imm = uint64(s.Imm)
	}
	if d.Kind == x86.ArgMem || s.Kind == x86.ArgMem {
		return t.emitMem(u)
	}
	t.emit(u)
	return true
}

var compareCodes = sync.OnceValue(func() map[x86.Op]map[string]family {
	return map[x86.Op]map[string]family{
		x86.CMP:  {"RR": named("opCmpRR%d"), "RI": named("opCmpRI%d"), "RM": named("opCmpRM%d"), "MR": named("opCmpMR%d"), "MI": named("opCmpMI%d")},
		x86.TEST: {"RR": named("opTestRR%d"), "RI": named("opTestRI%d"), "MR": named("opTestMR%d"), "MI": named("opTestMI%d")},
	}
})

func (t *translator) compare() bool {
	d, s := &t.in.Args[0], &t.in.Args[1]
	f, ok := compareCodes()[t.in.Op][t.operands()]
	return ok && t.twoOperands(f.of(d.Size), d, s)
}

// shiftCodes have the codes of shifts by a constant, and by CL.
var shiftCodes = sync.OnceValue(func() map[x86.Op][2][2]family {
	return map[x86.Op][2][2]family{
		x86.SHL: {flagged("opShlI%d"), flagged("opShlC%d")}, x86.SHR: {flagged("opShrI%d"), flagged("opShrC%d")},
		x86.SAR: {flagged("opSarI%d"), flagged("opSarC%d")}, x86.ROL: {withoutFlags("opRol%d")}, x86.ROR: {withoutFlags("opRol%d")},
	}
})

// withoutFlags returns families of which there is only that which leaves no flags.
func withoutFlags(format string) [2]family {
	return [2]family{named(format), {opNone, opNone, opNone, opNone}}
}

func (t *translator) shift() bool {
	d, by := &t.in.Args[0], &t.in.Args[1]
	c := shiftCodes()[t.in.Op]
	if d.Kind != x86.ArgGPR {
		return false
	}
	if by.Kind == x86.ArgGPR {
		code := c[1][t.byFlags()].of(d.Size)
		if t.in.Op == x86.ROL || t.in.Op == x86.ROR || code == opNone {
			return false
		}
		t.emit(uop{code: code, d: gpr(d), s: gpr(by)})
		return true
	}
	n := by.Imm & 31
	if d.Size == 8 {
		n = by.Imm & 63
	}
	code := c[0][t.byFlags()].of(d.Size)
	if n == 0 || n >= int64(8*d.Size) || code == opNone {
		return false
	}
	if t.in.Op == x86.ROR {
		n = -n
	}
	t.emit(uop{code: code, d: gpr(d), imm: uint64(n)})
	return true
}

package interp

//go:generate go run ./gen

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/sem"
	"github.com/cgemu/cgemu/emu/x86"
)

// A uop is a micro-operation: an instruction, a part of one, or two in one, with its operands where the dispatch needs
// them.
type uop struct {
	code uint16
	// d, s, b and x are registers, as offsets of their lowest byte in a state: destination, source, base and index.
	d, s, b, x uint8
	// shift is log2 of what the index is multiplied by.
	shift uint8
	// insn is the number of the instruction in its block.
	insn uint8
	disp int64
	imm  uint64
}

// A uopRef is a reference to memory that a micro-operation makes.
type uopRef struct {
	kind x86.RefKind
	size uint16
}

// A state is the CPU that is executed, and what its flags follow from.
type state struct {
	emu.CPU
	// zero stands for the base or the index that an address does not have, temp holds what two micro-operations have in
	// common.
	zero, temp uint64
	// kind says how the status flags follow from left and right: kindNone if they are in Flags.
	kind        flagKind
	left, right uint64
}

// A flagKind is an operation that left the status flags, and the size of its operands.
type flagKind uint8

// Kinds of operations.
const (
	kindNone flagKind = 4*iota + 0
	kindAdd1
	kindSub1
	kindLogic1
	kindInc1
	kindDec1
	kindShl1
	kindShr1
	kindSar1
)

// The same for operands of 2, 4 and 8 bytes.
const (
	kindAdd2, kindAdd4, kindAdd8       = kindAdd1 + 1, kindAdd1 + 2, kindAdd1 + 3
	kindSub2, kindSub4, kindSub8       = kindSub1 + 1, kindSub1 + 2, kindSub1 + 3
	kindLogic2, kindLogic4, kindLogic8 = kindLogic1 + 1, kindLogic1 + 2, kindLogic1 + 3
	kindInc4, kindInc8                 = kindInc1 + 2, kindInc1 + 3
	kindDec4, kindDec8                 = kindDec1 + 2, kindDec1 + 3
	kindShl2, kindShl4, kindShl8       = kindShl1 + 1, kindShl1 + 2, kindShl1 + 3
	kindShr2, kindShr4, kindShr8       = kindShr1 + 1, kindShr1 + 2, kindShr1 + 3
	kindSar2, kindSar4, kindSar8       = kindSar1 + 1, kindSar1 + 2, kindSar1 + 3
)

// operations have what each kind does and which flags it writes.
var operations = [...]struct {
	f      sem.Arithmetic
	writes x86.Flags
}{
	kindAdd1 / 4: {sem.Add, x86.StatusFlags}, kindSub1 / 4: {sem.Sub, x86.StatusFlags},
	kindLogic1 / 4: {logic, x86.StatusFlags},
	kindInc1 / 4:   {sem.Add, x86.StatusFlags &^ x86.CF}, kindDec1 / 4: {sem.Sub, x86.StatusFlags &^ x86.CF},
	kindShl1 / 4: {sem.Shl, x86.StatusFlags}, kindShr1 / 4: {sem.Shr, x86.StatusFlags}, kindSar1 / 4: {sem.Sar, x86.StatusFlags},
}

// logic leaves the flags of a result.
func logic(r, _ uint64, size uint8, _ uint64) (same, after uint64) {
	return r, sem.ResultFlags(r, size)
}

// settle puts the status flags into Flags.
func (s *state) settle() {
	if s.kind == kindNone {
		return
	}
	o := &operations[s.kind/4]
	_, flags := o.f(s.left, s.right, 1<<(s.kind%4), s.Flags)
	s.Flags = s.Flags&^uint64(o.writes) | flags&uint64(o.writes)
	s.kind = kindNone
}

// holds reports whether a condition holds.
func (s *state) holds(cond uint8) bool {
	shift := 64 - uint(8)<<(s.kind%4)
	switch s.kind &^ 3 {
	case kindSub1 &^ 3:
		x, y := s.left<<shift, s.right<<shift
		switch cond {
		case 2:
			return x < y
		case 3:
			return x >= y
		case 4:
			return x == y
		case 5:
			return x != y
		case 6:
			return x <= y
		case 7:
			return x > y
		case 8:
			return int64(x-y) < 0
		case 9:
			return int64(x-y) >= 0
		case 12:
			return int64(x) < int64(y)
		case 13:
			return int64(x) >= int64(y)
		case 14:
			return int64(x) <= int64(y)
		case 15:
			return int64(x) > int64(y)
		}
	case kindLogic1 &^ 3:
		switch r := s.left << shift; cond {
		case 4:
			return r == 0
		case 5:
			return r != 0
		case 8:
			return int64(r) < 0
		case 9:
			return int64(r) >= 0
		}
	}
	s.settle()
	return sem.Holds(cond, s.Flags)
}

// slowLoad reads n bytes at a where the page's permissions are not known, or do not suffice, or it is not one page.
// failed says whether it faulted.
func (e *Engine) slowLoad(a, n uint64) uint64 {
	x, f := e.machine.Load(emu.Addr(a), uint8(n))
	e.failed = f
	return x
}

// slowStore writes n bytes there.
func (e *Engine) slowStore(a, n, x uint64) {
	e.failed = e.machine.Store(emu.Addr(a), uint8(n), x)
}

// slowLoad16 and slowLoad32 read vectors.
func (e *Engine) slowLoad16(a uint64) (v0, v1 uint64) {
	v := e.slowVector(a, 16)
	return v[0], v[1]
}

func (e *Engine) slowLoad32(a uint64) (v0, v1, v2, v3 uint64) {
	v := e.slowVector(a, 32)
	return v[0], v[1], v[2], v[3]
}

func (e *Engine) slowVector(a, n uint64) [4]uint64 {
	v, f := e.machine.LoadVector(emu.Addr(a), uint8(n))
	e.failed = f
	return v
}

// slowStoreVector writes n bytes of v.
func (e *Engine) slowStoreVector(a, n uint64, v [4]uint64) {
	e.failed = e.machine.StoreVector(emu.Addr(a), uint8(n), v)
}

// misplaced is the fault of a vector operand that is not aligned.
var misplaced = &emu.Fault{Vector: emu.VecGP}

// slowModify reads n bytes at a that are going to be written.
func (e *Engine) slowModify(a, n uint64) uint64 {
	x, f := e.machine.LoadToModify(emu.Addr(a), uint8(n))
	e.failed = f
	return x
}

// linkable returns the block at RIP if it may be entered without further ado, nil if not.
func (e *Engine) linkable() *block {
	if e.calls != nil {
		return nil
	}
	b, f := e.lookup(e.state.RIP)
	if f != nil || b.alone {
		return nil
	}
	return b
}

// settled ends exec where the next block has to be found by others.
func (e *Engine) settled() *emu.Stop {
	e.state.settle()
	return nil
}

// execFault ends exec with the fault of u's instruction.
func (e *Engine) execFault(b *block, u *uop) *emu.Stop {
	e.state.settle()
	raised := *e.failed
	e.failed = nil
	e.sim.done = 0
	for k := range b.uops {
		v := &b.uops[k]
		if v == u {
			break
		}
		if v.insn == u.insn {
			e.sim.done += len(uopRefs[v.code])
		}
	}
	return e.fault(&e.state.CPU, b, int(u.insn), &raised)
}

// execStale ends exec behind b's instruction i, which overwrote b's code, or with which b ends.
func (e *Engine) execStale(b *block, i int) *emu.Stop {
	e.state.settle()
	e.state.RIP = b.insns[i].Next()
	return e.leave(b, i)
}

// overdrawnBefore ends exec in front of b's last instruction: the budget is used up.
func (e *Engine) overdrawnBefore(b *block) *emu.Stop {
	e.state.settle()
	last := len(b.insns) - 1
	e.uncount(b, last)
	e.state.RIP = b.insns[last].PC
	return &emu.Stop{Reason: emu.StopBudget}
}

// overdrawnBehind ends exec behind a jump.
func (e *Engine) overdrawnBehind() *emu.Stop {
	e.state.settle()
	return &emu.Stop{Reason: emu.StopBudget}
}

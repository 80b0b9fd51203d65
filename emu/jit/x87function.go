//go:build linux && amd64

package jit

import (
	"slices"

	"github.com/cgemu/cgemu/emu/sem"
	"github.com/cgemu/cgemu/emu/x86"
)

// FSIN and its like are executed in Go, since makers of CPUs have their own. For normal operands and the usual control
// word emu/soft has routines besides, in general registers: generated code calls them on the host's stack, with x87 and
// the vectors loaded as they are (x87_amd64.s). What they do not know is left to Go.

// x87Ways returns the addresses of the code between generated code and a routine, by what an instruction does to the
// stack.
func x87Ways() [3]uintptr

// What it does: it replaces ST(0), and may push another result, or pops ST(0) and replaces what was ST(1).
const (
	x87Replaces = iota
	x87Pushes
	x87Pops
)

// An x87Function is an instruction that has a routine.
type x87Function struct {
	op  x86.Op
	way int // of x87Ways
	// status has the bits of the status word that are to be 0: a stack fault and an exception that waits, and C2, if
	// the instruction clears that, since the routine does not.
	status uint64
}

const (
	usualStatus   = 0x40 | 0x80
	usualStatusC2 = usualStatus | 0x400
)

var x87Functions = [...]x87Function{
	{x86.FSIN, x87Replaces, usualStatusC2}, {x86.FCOS, x87Replaces, usualStatusC2},
	{x86.FSINCOS, x87Pushes, usualStatusC2}, {x86.FPTAN, x87Pushes, usualStatusC2},
	{x86.F2XM1, x87Replaces, usualStatus}, {x86.FPATAN, x87Pops, usualStatus},
	{x86.FYL2X, x87Pops, usualStatus}, {x86.FYL2XP1, x87Pops, usualStatus},
}

// x87FunctionOf returns the number of op among them, -1 if it is none.
func x87FunctionOf(op x86.Op) int {
	return slices.IndexFunc(x87Functions[:], func(f x87Function) bool { return f.op == op })
}

// x87Function returns the routine for g, which is executed with x87 loaded, 0 if there is none.
func (e *Engine) x87Function(g *ginsn) int {
	if i := x87FunctionOf(g.Op); i >= 0 && !e.mmx {
		return e.stubs.x87[i]
	}
	return 0
}

// knowX87 lets generated code know the routine for op.
func (e *Engine) knowX87(op x86.Op) {
	if i := x87FunctionOf(op); i >= 0 {
		e.set(stX87Routines+8*i, uint64(sem.X87Routine(op)))
	}
}

// emitX87Functions emits the routines of generated code, which are entered as those of emitAnswerRoutines are.
func (e *Engine) emitX87Functions() {
	var common []int
	ways := x87Ways()
	for i, f := range x87Functions {
		e.stubs.x87[i] = e.pos
		e.store(slotTmp, x86.RDX)
		e.saveFlags()
		e.store(slotTmp2, x86.RAX)
		e.store(slotC, x86.RCX)
		e.load(x86.RCX, stX87Routines+8*i)
		e.movImm(x86.RDX, f.status)
		e.movImm(x86.RAX, uint64(ways[f.way]))
		common = append(common, e.jmp(0))
	}
	for _, site := range common {
		e.link(site, e.pos)
	}
	e.byte(0x48, 0x85, 0xc9) // test rcx, rcx
	unknown := e.jcc(condE, 0)
	for r := x86.RBX; r <= x86.R15; r++ {
		e.store(x87Reg(r), r)
	}
	e.leaRIP(x86.RBP, 0)
	e.load(x86.RSP, stHostSP)
	const lea, store, jmp = 7, 7, 2
	e.leaRIP(x86.RBX, e.pos+lea+store+jmp)
	e.store(stX87Back, x86.RBX)
	e.byte(0xff, 0xe0) // jmp rax

	for r := x86.RBX; r <= x86.R15; r++ {
		e.load(r, x87Reg(r))
	}
	e.byte(0x85, 0xc0) // test eax, eax
	known := e.jcc(condNE, 0)
	e.link(unknown, e.pos)
	e.load(x86.RAX, slotTmp)
	e.lea(x86.RAX, x86.RAX, -answerSkip)
	e.store(slotTmp, x86.RAX)
	e.link(known, e.pos)
	e.load(x86.RCX, slotC)
	e.load(x86.RAX, slotTmp2)
	e.restoreFlags()
	e.load(x86.RAX, slotA)
	e.load(x86.RDX, slotB)
	e.jmpTo(slotTmp)
	e.stubs.end = e.pos
}

// x87Reg is where the guest's r is while a routine has it. No exit writes there: interrupted goes on in the midst.
func x87Reg(r x86.Reg) int { return stX87Regs + 8*int(r-x86.RBX) }

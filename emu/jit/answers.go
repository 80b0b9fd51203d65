//go:build linux && amd64

package jit

import (
	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/x86"
)

// What CPUID and RDTSC say is up to Go's code, and to leave generated code for it takes ten times as long as the
// instructions should. So generated code answers as far as it can: CPUID if the question is the last one again, RDTSC
// if executing is metered, by adding the meters to what it knows, since while generated code runs time passes by them
// alone (emu.Env). Blocks share a routine for each.

// answerSkip is the size of the jump by which a block leaves generated code: behind it the block goes on where a
// routine knew the answer.
const answerSkip = 5

// answerRoutine returns the routine that may be able to answer g, 0 if there is none.
func (e *Engine) answerRoutine(g *ginsn) (routine int) {
	switch {
	case e.singleStep || e.crosses(g.Next()):
		return 0
	case g.Op == x86.CPUID:
		return e.stubs.cpuid
	case g.Op == x86.RDTSC || g.Op == x86.RDTSCP:
		return e.stubs.rdtsc
	case g.X87:
		return e.x87Function(g)
	}
	return 0
}

// emitEmulated emits g, an instruction that Go's code executes: it leaves generated code by x, unless a routine
// answers.
func (e *Engine) emitEmulated(g *ginsn, x exit) {
	routine := e.answerRoutine(g)
	if routine == 0 {
		e.settleRegs()
		e.emitExit(e.jmp(0), x)
		return
	}
	if g.X87 {
		e.emitNeedX87()
	}
	e.settleRegs()
	e.emitAsk(routine, x)
	if g.Op == x86.RDTSCP {
		e.movImm(x86.RCX, 0) // there is one CPU, the first
	}
	e.emitJump(g.Next())
}

// emitAsk enters a routine, and leaves generated code by x if that does not know the answer.
func (e *Engine) emitAsk(routine int, x exit) {
	const lea, jmp = 7, 5
	e.store(slotA, x86.RAX)
	e.store(slotB, x86.RDX)
	e.leaRIP(x86.RDX, e.pos+lea+jmp+answerSkip)
	e.jmp(routine)
	e.emitExit(e.jmp(0), x)
}

// emitAnswerRoutines emits both, those that approximate, and those for x87's functions. They are entered with the
// guest's RAX and RDX in slotA and slotB, and in RDX where the block goes on; without an answer they go back to the
// jump in front of that.
func (e *Engine) emitAnswerRoutines() {
	e.stubs.cpuid = e.pos
	e.store(slotTmp, x86.RDX)
	e.saveFlags()
	e.op32(opMovLoad, x86.RDX, slotA)
	e.op32(opCmp, x86.RDX, stAsked)
	other := e.jcc(condNE, 0)
	e.op32(opCmp, x86.RCX, stAsked+4)
	unknown := []int{other, e.jcc(condNE, 0)}
	e.restoreFlags()
	for i, r := range [4]x86.Reg{x86.RAX, x86.RBX, x86.RCX, x86.RDX} {
		e.op32(opMovLoad, r, stAnswer+4*i)
	}
	e.jmpTo(slotTmp)

	e.stubs.rdtsc = e.pos
	e.store(slotTmp, x86.RDX)
	e.saveFlags()
	e.load(x86.RDX, stTimeBefore)
	e.byte(0x48, 0x85, 0xd2) // test rdx, rdx
	unknown = append(unknown, e.jcc(condE, 0))
	e.store(slotTmp2, x86.RAX)
	e.load(x86.RAX, stMeters)
	for i := 1; i < meters; i++ { // two sums, so that one need not wait for the other
		e.addSlot([2]x86.Reg{x86.RAX, x86.RDX}[i%2], stMeters+8*i)
	}
	e.aluRR(aluADD, x86.RDX, x86.RAX)
	e.store(slotC, x86.RDX)
	e.load(x86.RAX, slotTmp2)
	e.restoreFlags()
	e.op32(opMovLoad, x86.RAX, slotC)
	e.op32(opMovLoad, x86.RDX, slotC+4)
	e.jmpTo(slotTmp)

	for _, site := range unknown {
		e.link(site, e.pos)
	}
	e.restoreFlags()
	e.load(x86.RAX, slotTmp)
	e.lea(x86.RAX, x86.RAX, -answerSkip)
	e.store(slotTmp, x86.RAX)
	e.load(x86.RAX, slotA)
	e.load(x86.RDX, slotB)
	e.jmpTo(slotTmp)
	e.emitApproximationRoutines()
	e.emitX87Functions()
}

const opCmp = 0x3b

// op32 emits an instruction on 32 bits of r and of the state block.
func (e *Engine) op32(op byte, r x86.Reg, off int) {
	e.byte(op)
	e.rip(r, off, 0)
}

// jmpTo emits jmp [off].
func (e *Engine) jmpTo(off int) {
	e.byte(0xff)
	e.rip(4, off, 0)
}

// noteAnswer lets the routines know the answer to g, which Go's code has executed: c is as that left it, asked has EAX
// and ECX from before.
func (e *Engine) noteAnswer(g *ginsn, c *emu.CPU, asked [2]uint32) {
	switch g.Op {
	case x86.CPUID:
		e.knowCPUID(asked[0], asked[1])
	case x86.RDTSC, x86.RDTSCP:
		if e.metered && e.Env.TSCCounts() {
			e.timeBefore = c.Regs[emu.RDX]<<32 + c.Regs[emu.RAX] - uint64(e.pending())
		}
	default:
		e.knowX87(g.Op)
	}
}

// knowCPUID lets the routine know the answer for EAX and ECX.
func (e *Engine) knowCPUID(eax, ecx uint32) {
	a, b, c, d := e.Model.CPUID(eax, ecx)
	e.set(stAsked, uint64(eax)|uint64(ecx)<<32)
	e.set(stAnswer, uint64(a)|uint64(b)<<32)
	e.set(stAnswer+8, uint64(c)|uint64(d)<<32)
}

//go:build linux && amd64

package jit

import (
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/x86"
	"github.com/cgemu/cgemu/hooks"
)

// emitInsn translates instruction i of the block.
func (e *Engine) emitInsn(i int) {
	g := &e.block[i]
	switch g.Kind {
	case guest.Plain:
		if usesX87(g) {
			e.emitNeedX87()
		}
		switch {
		case g.Op == x86.FNSTENV:
			e.emitStoreEnvironment(g)
		case !e.approximates(&g.Insn):
			e.emitPlain(g)
		case e.spare:
			e.emitRefined(g)
		default:
			e.emitByTable(g, i)
		}
	case guest.Nop:
	case guest.Lea:
		e.emitLea(g)
	case guest.Push:
		e.emitPush(g)
	case guest.Pop:
		e.emitPop(g)
	case guest.Leave:
		e.emitLeave()
	case guest.String:
		e.emitString(g)
	case guest.Rep:
		e.emitRep(g, i)
	case guest.Branch:
		e.emitBranch(g, i)
	case guest.Syscall:
		e.emitExit(e.jmp(0), exit{kind: exitSyscall, rip: g.Next()})
	case guest.Client:
		e.emitExit(e.jmp(0), exit{kind: exitClient, rip: g.Next()})
	case guest.NRAddr:
		e.movImm(x86.RAX, 0)
	case guest.CallNoRedir:
		e.emitCallInd(g, i)
	case guest.Emulated:
		e.emitEmulated(g, exit{kind: exitTrap, rip: g.PC, t: e.t, insn: int16(i)})
	case guest.Undefined, guest.Unknown, guest.Unsupported, guest.TooLong:
		e.emitExit(e.jmp(0), exit{kind: exitTrap, rip: g.PC, t: e.t, insn: int16(i)})
	default:
		panic("BUG: no translation of instruction kind")
	}
}

// emitLea copies LEA; the RIP-relative form loads a constant.
func (e *Engine) emitLea(g *ginsn) {
	if !g.Mem.RIPRel {
		e.byte(g.Bytes...)
		return
	}
	abs := uint64(g.Next()) + uint64(g.Mem.Disp)
	if g.Mem.AddrSize == 4 {
		abs = uint64(uint32(abs))
	}
	reg := g.Args[0].Reg
	switch g.OpSize {
	case 8:
		e.movImm(reg, abs)
	case 4:
		e.movImm(reg, uint64(uint32(abs)))
	default:
		e.byte(0x66, 0x40|byte(reg>>3), 0xb8|byte(reg&7), byte(abs), byte(abs>>8))
	}
}

// stackSlot is the operand at RSP+disp.
func stackSlot(disp int32) operand {
	return operand{base: x86.RSP, index: x86.NoReg, disp: disp}
}

// Opcodes of MOV between a register and memory, of MOVSXD from there.
const (
	opMovStore = 0x89
	opMovLoad  = 0x8b
	opMOVSXD   = 0x63
)

// emitPush translates PUSH: the host's would write to the host address in RSP. The
// store comes first, so a fault finds RSP unchanged.
func (e *Engine) emitPush(g *ginsn) {
	size := int32(g.OpSize)
	wide := size == 8
	switch a := &g.Args[0]; a.Kind {
	case x86.ArgGPR:
		e.opGuest(opMovStore, a.Reg, stackSlot(e.pendingRSP-size), wide)
	case x86.ArgImm:
		if wide {
			e.storeGuestImm(x86.RSP, e.pendingRSP-8, int32(a.Imm))
		} else {
			e.opGuest(0xc7, 0, stackSlot(e.pendingRSP-2), false)
			e.byte(byte(a.Imm), byte(a.Imm>>8))
		}
	case x86.ArgMem:
		s := pickScratch(g)
		e.store(slotA, s)
		from := e.pos
		e.opGuest(opMovLoad, s, e.resolve(g, s), wide)
		e.opGuest(opMovStore, s, stackSlot(e.pendingRSP-size), wide)
		e.load(s, slotA)
		e.saved(from, s, slotA, 0)
	default:
		panic("BUG: PUSH operand")
	}
	e.pendingRSP -= size
}

// emitPop translates POP. The address of a memory operand is computed after RSP was incremented.
func (e *Engine) emitPop(g *ginsn) {
	size := int32(g.OpSize)
	wide := size == 8
	switch a := &g.Args[0]; a.Kind {
	case x86.ArgGPR:
		e.opGuest(opMovLoad, a.Reg, stackSlot(e.pendingRSP), wide)
		if a.Reg == x86.RSP {
			return
		}
	case x86.ArgMem:
		s := pickScratch(g)
		e.store(slotA, s)
		from := e.pos
		e.opGuest(opMovLoad, s, stackSlot(e.pendingRSP), wide)
		o := operand{}
		if needsScratch(g) {
			// The value waits in a slot while s holds the address.
			e.store(slotTmp2, s)
			o = e.resolve(g, s)
			if g.Mem.Base == x86.RSP {
				o.disp += size
			}
			e.lea(s, s, o.disp)
			o.disp = 0
			e.popThroughMemory(g, s, o, wide)
		} else {
			o = e.resolve(g, s)
			if g.Mem.Base == x86.RSP {
				o.disp += size
			}
			e.opGuest(opMovStore, s, o, wide)
		}
		e.load(s, slotA)
		e.saved(from, s, slotA, 0)
	default:
		panic("BUG: POP operand")
	}
	e.pendingRSP += size
}

// popThroughMemory stores the value in slotTmp2 to o, whose base is s.
func (e *Engine) popThroughMemory(g *ginsn, s x86.Reg, o operand, wide bool) {
	v := x86.RDX
	if s == v {
		v = x86.RBX
	}
	e.store(slotB, v)
	from := e.pos
	e.load(v, slotTmp2)
	e.opGuest(opMovStore, v, o, wide)
	e.load(v, slotB)
	e.saved(from, v, slotB, 0)
}

// emitLeave translates LEAVE; RSP is kept for a fault.
func (e *Engine) emitLeave() {
	e.store(slotA, x86.RSP)
	e.lea(x86.RSP, x86.RBP, 8)
	from := e.pos
	e.loadGuest(x86.RBP, x86.RBP, 0)
	e.saved(from, x86.RSP, slotA, e.pendingRSP)
	e.pendingRSP = 0
}

// emitString translates a string instruction. Its destination, ES:RDI, cannot be overridden, so RDI becomes a host
// address meanwhile. Its source takes the GS prefix; but where it is repeated RSI becomes a host address, too: AMD's
// CPUs copy and compare byte by byte if a segment has a base.
func (e *Engine) emitString(g *ginsn) {
	if g.Op == x86.LODS {
		e.copyWithGS(g)
		return
	}
	e.store(slotA, x86.RDX)
	from := e.pos
	e.load(x86.RDX, stBase)
	e.leaIndex(x86.RDI, x86.RDI, x86.RDX, 1, 0)
	biased := e.pos
	source := (g.Rep || g.Repne) && (g.Op == x86.MOVS || g.Op == x86.CMPS)
	if source {
		e.leaIndex(x86.RSI, x86.RSI, x86.RDX, 1, 0)
		biasedSource := e.pos
		e.byte(g.prefixes()...)
		e.byte(g.Bytes[g.NPrefix:]...)
		e.load(x86.RDX, stNegBase)
		e.saves(biasedSource, saved{reg: x86.RSI, kind: hostAddr})
		e.leaIndex(x86.RSI, x86.RSI, x86.RDX, 1, 0)
	} else {
		e.copyWithGS(g)
		e.load(x86.RDX, stNegBase)
	}
	e.saves(biased, saved{reg: x86.RDI, kind: hostAddr})
	e.leaIndex(x86.RDI, x86.RDI, x86.RDX, 1, 0)
	e.load(x86.RDX, slotA)
	e.saved(from, x86.RDX, slotA, 0)
}

// emitIterations adds to a counter what a REP instruction counts beyond 1, given RCX
// before it in slotC.
func (e *Engine) emitIterations(r hooks.Repeat, counter int) {
	conditional := r != hooks.RepeatCount
	if conditional {
		cond := byte(condNE) // REPE ends at the first difference
		if r == hooks.RepeatUnequal {
			cond = condE
		}
		e.byte(0x0f, 0x90|cond) // setcc [slotTmp]
		e.rip(0, slotTmp, 0)
	}
	e.store(slotA, x86.RDX)
	e.store(slotB, x86.RCX)
	e.load(x86.RDX, slotC)
	e.subtract(x86.RDX, x86.RCX)
	if conditional {
		e.byte(0x0f, 0xb6) // movzx ecx, byte [slotTmp]
		e.rip(x86.RCX, slotTmp, 0)
		e.subtract(x86.RDX, x86.RCX)
	}
	e.addFrom(counterOff+8*counter, x86.RDX)
	if e.metered {
		e.addFrom(meterOf(counter), x86.RDX)
	}
	e.emitAddIterations()
	e.load(x86.RCX, slotB)
	e.load(x86.RDX, slotA)
}

// addFrom emits add qword [off], src without changing the flags; it loses RCX.
func (e *Engine) addFrom(off int, src x86.Reg) {
	e.load(x86.RCX, off)
	e.leaIndex(x86.RCX, x86.RCX, src, 1, 0)
	e.store(off, x86.RCX)
}

// subtract emits dst -= src without changing the flags; it loses src.
func (e *Engine) subtract(dst, src x86.Reg) {
	e.not(src)
	e.leaIndex(dst, dst, src, 1, 1)
}

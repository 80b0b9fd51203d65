package sem

import (
	"math/bits"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/emu/guest"
	"github.com/cgemu/cgemu/emu/soft"
	"github.com/cgemu/cgemu/emu/x86"
)

// semantics executes one instruction on c, whose RIP is behind it. If it returns a fault, nothing has changed.
type semantics func(m *Machine, c *emu.CPU, g *guest.Insn) *emu.Fault

// A row is the semantics of an operation.
type row struct {
	execute semantics
	// fallback says for which instructions of kind Plain, which engines leave to their CPU, the row stands in where that CPU
	// lacks them or does them wrongly; nil for none.
	fallback func(g *guest.Insn) bool
}

// anyForm and locked are conditions of fallback.
func anyForm(*guest.Insn) bool  { return true }
func locked(g *guest.Insn) bool { return g.Lock }

// table has what is executed in Go, by family. Instructions that all engines emulate, and those of which they emulate some forms,
// have kind guest.Emulated: a row here stands for each of them, which TestTable checks.
var table = map[x86.Op]row{
	// What a program may ask of its CPU.
	x86.CPUID: {execute: (*Machine).cpuid}, x86.XGETBV: {execute: (*Machine).xgetbv}, x86.RDPID: {execute: (*Machine).rdpid},
	x86.RDTSC: {execute: (*Machine).rdtsc}, x86.RDTSCP: {execute: (*Machine).rdtsc},
	x86.RDRAND: {execute: (*Machine).random}, x86.RDSEED: {execute: (*Machine).random},
	x86.RDFSBASE: {execute: rdbase(fsBase)}, x86.RDGSBASE: {execute: rdbase(gsBase)},
	x86.WRFSBASE: {execute: wrbase(fsBase)}, x86.WRGSBASE: {execute: wrbase(gsBase)},
	x86.INT3: {execute: (*Machine).interrupt}, x86.INT: {execute: (*Machine).interrupt},

	// Integers. MOV, PUSH and POP are those of segment, control and debug registers, LEAVE that of 16 bits, XLAT that with a segment.
	x86.MOV: {execute: (*Machine).segment}, x86.PUSH: {execute: (*Machine).segment}, x86.POP: {execute: (*Machine).segment},
	x86.PUSHF: {execute: (*Machine).pushf}, x86.POPF: {execute: (*Machine).popf},
	x86.ENTER: {execute: (*Machine).enterFrame}, x86.LEAVE: {execute: (*Machine).leave16}, x86.XLAT: {execute: (*Machine).translateByte},
	x86.POPCNT:  {execute: count(bits.OnesCount64), fallback: anyForm},
	x86.BSF:     {execute: count(bits.TrailingZeros64), fallback: anyForm},
	x86.BSR:     {execute: count(highestBit), fallback: anyForm},
	x86.NEG:     {execute: (*Machine).negate, fallback: locked},
	x86.CLFLUSH: {execute: (*Machine).touch, fallback: anyForm},

	// Strings with 32-bit addresses or a segment.
	x86.MOVS: {execute: (*Machine).stringInsn}, x86.STOS: {execute: (*Machine).stringInsn}, x86.LODS: {execute: (*Machine).stringInsn},
	x86.SCAS: {execute: (*Machine).stringInsn}, x86.CMPS: {execute: (*Machine).stringInsn},

	// The state of x87, SSE and AVX.
	x86.FXSAVE: {execute: (*Machine).fxsave}, x86.FXSAVE64: {execute: (*Machine).fxsave},
	x86.FXRSTOR: {execute: (*Machine).fxrstor}, x86.FXRSTOR64: {execute: (*Machine).fxrstor},
	x86.XSAVE: {execute: (*Machine).xsave}, x86.XSAVE64: {execute: (*Machine).xsave},
	x86.XRSTOR: {execute: (*Machine).xrstor}, x86.XRSTOR64: {execute: (*Machine).xrstor},
	x86.FNSTENV: {execute: (*Machine).fnstenv}, x86.FLDENV: {execute: (*Machine).fldenv},
	x86.FNSAVE: {execute: (*Machine).fnsave}, x86.FRSTOR: {execute: (*Machine).frstor},

	// x87: CPUs differ in the last bit.
	x86.FSIN: {execute: unary(soft.Fsin, false, soft.C2)}, x86.FCOS: {execute: unary(soft.Fcos, false, soft.C2)},
	x86.FSINCOS: {execute: unary(soft.Fsincos, true, soft.C2)}, x86.FPTAN: {execute: unary(soft.Fptan, true, soft.C2)},
	x86.F2XM1: {execute: unary(soft.F2xm1, false, 0)}, x86.FPATAN: {execute: binaryPop(soft.Fpatan)},
	x86.FYL2X: {execute: binaryPop(soft.Fyl2x)}, x86.FYL2XP1: {execute: binaryPop(soft.Fyl2xp1)},

	// Approximations: CPUs differ in all but the first twelve bits.
	x86.RCPPS: {execute: elementwise(soft.Rcp)}, x86.RCPSS: {execute: elementwise(soft.Rcp)},
	x86.VRCPPS: {execute: elementwise(soft.Rcp)}, x86.VRCPSS: {execute: elementwise(soft.Rcp)},
	x86.RSQRTPS: {execute: elementwise(soft.Rsqrt)}, x86.RSQRTSS: {execute: elementwise(soft.Rsqrt)},
	x86.VRSQRTPS: {execute: elementwise(soft.Rsqrt)}, x86.VRSQRTSS: {execute: elementwise(soft.Rsqrt)},

	x86.PCLMULQDQ: {execute: (*Machine).multiplyCarryless, fallback: anyForm},
}

// Has reports whether Execute has g though its kind is Plain: for engines whose CPU lacks it, or does it wrongly.
func Has(g *guest.Insn) bool {
	fallback := table[g.Op].fallback
	return g.Kind == guest.Plain && fallback != nil && fallback(g)
}

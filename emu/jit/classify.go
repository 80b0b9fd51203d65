//go:build linux && amd64

package jit

import "github.com/cgemu/cgemu/emu/x86"

// An insnKind says how an instruction is translated.
type insnKind uint8

const (
	kindPlain       insnKind = iota // copied; memory operands go to the guest's memory
	kindNop                         // nothing is emitted
	kindPush                        // PUSH, CALL's push aside
	kindPop                         // POP
	kindLeave                       // LEAVE
	kindLea                         // LEA: an address, not an access
	kindString                      // string instruction without prefix
	kindRep                         // the same with REP, REPE or REPNE
	kindBranch                      // by Inst.Flow
	kindSyscall                     // stops with StopSyscall
	kindTrap                        // emulated in Go
	kindClient                      // client request
	kindNRAddr                      // client request that sets RAX to 0
	kindCallNoRedir                 // client request that calls *RAX
	kindUndefined                   // UD0, UD1, UD2: raises #UD
	kindUnknown                     // no instruction we know: raises #UD, showing the bytes
	kindUnsupported                 // raises #UD, naming the instruction
	kindFetchFault                  // its last bytes cannot be fetched
)

// ends reports whether a block ends behind an instruction of this kind.
func (k insnKind) ends() bool {
	switch k {
	case kindSyscall, kindTrap, kindClient, kindCallNoRedir, kindUndefined, kindUnknown, kindUnsupported, kindFetchFault:
		return true
	}
	return false
}

// traps are the instructions whose result must not depend on the host, or that
// would reach host state: emulated in Go (design: section 3.1).
var traps = map[x86.Op]bool{
	x86.CPUID: true, x86.XGETBV: true, x86.RDTSC: true, x86.RDTSCP: true,
	x86.RDRAND: true, x86.RDSEED: true, x86.RDPID: true,
	x86.RCPPS: true, x86.RCPSS: true, x86.RSQRTPS: true, x86.RSQRTSS: true,
	x86.VRCPPS: true, x86.VRCPSS: true, x86.VRSQRTPS: true, x86.VRSQRTSS: true,
	x86.FSIN: true, x86.FCOS: true, x86.FSINCOS: true, x86.FPTAN: true, x86.FPATAN: true,
	x86.F2XM1: true, x86.FYL2X: true, x86.FYL2XP1: true,
	x86.FXSAVE: true, x86.FXSAVE64: true, x86.FXRSTOR: true, x86.FXRSTOR64: true,
	x86.XSAVE: true, x86.XSAVE64: true, x86.XRSTOR: true, x86.XRSTOR64: true,
	x86.FNSTENV: true, x86.FLDENV: true, x86.FNSAVE: true, x86.FRSTOR: true,
	x86.PUSHF: true, x86.POPF: true,
	x86.RDFSBASE: true, x86.RDGSBASE: true, x86.WRFSBASE: true, x86.WRGSBASE: true,
	x86.INT3: true,
}

// privileged are the instructions that raise #GP in user code, MOV to and from control and debug
// registers aside. Others the table calls privileged are #UD where the feature is missing.
var privileged = map[x86.Op]bool{
	x86.HLT: true, x86.IN: true, x86.OUT: true, x86.INS: true, x86.OUTS: true, x86.CLI: true, x86.STI: true,
	x86.LLDT: true, x86.LTR: true, x86.LGDT: true, x86.LIDT: true, x86.LMSW: true, x86.INVLPG: true, x86.SWAPGS: true,
	x86.CLTS: true, x86.SYSRET: true, x86.SYSEXIT: true, x86.INVD: true, x86.WBINVD: true,
	x86.WRMSR: true, x86.RDMSR: true, x86.RDPMC: true,
}

// gates are the interrupts user code may raise with INT n; other numbers are #GP. They are refused: INT
// 80H is the system call of 32-bit programs, no compiler emits the others.
var gates = [256]bool{3: true, 4: true, 0x80: true}

// refused are instructions that show the host's descriptor tables, or what Linux puts in the place of that.
// No user program needs them.
var refused = map[x86.Op]bool{
	x86.SLDT: true, x86.STR: true, x86.SMSW: true, x86.SGDT: true, x86.SIDT: true, x86.LAR: true, x86.LSL: true,
	x86.VERR: true, x86.VERW: true, x86.LSS: true, x86.LFS: true, x86.LGS: true,
}

// addressesBeyond reports whether i adds more to its operand's address than base, index and displacement: with
// 32-bit addresses the sum is cut before the segment's base is added, for which we have no register left.
func addressesBeyond(i *x86.Inst) bool {
	return i.Mem.VSIB || i.NRefs > 0 && i.Refs[0].At == x86.AtBitString
}

// classify says how to translate an instruction for a guest whose CPU has the
// given features.
func classify(i *x86.Inst, features *[256]bool) insnKind {
	if i.Op == x86.UD0 || i.Op == x86.UD1 || i.Op == x86.UD2 {
		return kindUndefined
	}
	for k := range i.NArgs {
		switch i.Args[k].Kind {
		case x86.ArgSeg, x86.ArgCR, x86.ArgDR:
			return kindTrap
		}
	}
	if !features[i.Feature] && !privileged[i.Op] {
		return kindUnsupported
	}
	switch i.Flow {
	case x86.FlowSyscall:
		return kindSyscall
	case x86.FlowTrap:
		if i.Op == x86.INT3 || i.Op == x86.INT && !gates[uint8(i.Imm)] || privileged[i.Op] {
			return kindTrap
		}
		return kindUnsupported
	case x86.FlowNext:
	case x86.FlowXbegin:
		return kindUnsupported
	default:
		return kindBranch
	}
	if traps[i.Op] || privileged[i.Op] {
		return kindTrap
	}
	if refused[i.Op] || i.Mem.AddrSize == 4 && i.Mem.Seg != x86.SegNone && addressesBeyond(i) {
		return kindUnsupported
	}
	switch i.Op {
	case x86.NOP, x86.RDSSP, x86.ENDBR64, x86.ENDBR32, x86.PAUSE,
		x86.PREFETCHT0, x86.PREFETCHT1, x86.PREFETCHT2, x86.PREFETCHNTA, x86.PREFETCHW, x86.PREFETCHWT1:
		return kindNop
	case x86.LEA:
		return kindLea
	case x86.PUSH:
		return kindPush
	case x86.POP:
		return kindPop
	case x86.LEAVE:
		if i.OpSize != 8 {
			return kindTrap
		}
		return kindLeave
	case x86.ENTER:
		return kindTrap
	case x86.XLAT:
		if i.Mem.Seg != x86.SegNone {
			return kindTrap
		}
	case x86.MOVS, x86.STOS, x86.LODS, x86.SCAS, x86.CMPS:
		if i.Mem.AddrSize == 4 || i.Mem.Seg != x86.SegNone {
			return kindTrap
		}
		if i.Rep || i.Repne {
			return kindRep
		}
		return kindString
	}
	return kindPlain
}

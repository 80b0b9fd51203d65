package guest

import "github.com/cgemu/cgemu/emu/x86"

// A Kind says how an engine treats an instruction.
type Kind uint8

// Kinds of instructions.
const (
	Plain       Kind = iota // nothing special: an engine executes it itself
	Nop                     // does nothing
	Push                    // PUSH, CALL's push aside
	Pop                     // POP
	Leave                   // LEAVE
	Lea                     // LEA: an address, not an access
	String                  // string instruction without prefix
	Rep                     // the same with REP, REPE or REPNE
	Branch                  // by Inst.Flow
	Syscall                 // stops with StopSyscall
	Emulated                // emulated in Go
	Client                  // client request
	NRAddr                  // client request that sets RAX to 0
	CallNoRedir             // client request that calls *RAX
	Undefined               // UD0, UD1, UD2: raises #UD
	Unknown                 // no instruction we know: raises #UD, showing the bytes
	Unsupported             // raises #UD, naming the instruction
	TooLong                 // longer than 15 bytes: raises #GP
	FetchFault              // its last bytes cannot be fetched
)

// Ends reports whether a block ends behind an instruction of this kind.
func (k Kind) Ends() bool {
	switch k {
	case Syscall, Emulated, Client, CallNoRedir, Undefined, Unknown, Unsupported, TooLong, FetchFault:
		return true
	}
	return false
}

// An opSet is a set of operations.
type opSet []bool

func (s opSet) has(op x86.Op) bool { return int(op) < len(s) && s[op] }

// emulated are the instructions whose result must not depend on the host or the engine, or that
// would reach host state: emulated in Go (RATIONALE.md, "Code and semantics apart: emu/guest, emu/sem").
var emulated = opSet{
	x86.CPUID: true, x86.XGETBV: true, x86.RDTSC: true, x86.RDTSCP: true,
	x86.RDRAND: true, x86.RDSEED: true, x86.RDPID: true,
	x86.RCPPS: true, x86.RCPSS: true, x86.RSQRTPS: true, x86.RSQRTSS: true,
	x86.VRCPPS: true, x86.VRCPSS: true, x86.VRSQRTPS: true, x86.VRSQRTSS: true,
	x86.VRCP14PS: true, x86.VRCP14PD: true, x86.VRCP14SS: true, x86.VRCP14SD: true,
	x86.VRSQRT14PS: true, x86.VRSQRT14PD: true, x86.VRSQRT14SS: true, x86.VRSQRT14SD: true,
	x86.VREDUCEPS: true, x86.VREDUCEPD: true, x86.VREDUCESS: true, x86.VREDUCESD: true, // when PE is raised
	x86.FSIN: true, x86.FCOS: true, x86.FSINCOS: true, x86.FPTAN: true, x86.FPATAN: true,
	x86.F2XM1: true, x86.FYL2X: true, x86.FYL2XP1: true,
	x86.FXSAVE: true, x86.FXSAVE64: true, x86.FXRSTOR: true, x86.FXRSTOR64: true,
	x86.XSAVE: true, x86.XSAVE64: true, x86.XRSTOR: true, x86.XRSTOR64: true,
	x86.FNSAVE: true, x86.FRSTOR: true,
	x86.PUSHF: true, x86.POPF: true,
	x86.RDFSBASE: true, x86.RDGSBASE: true, x86.WRFSBASE: true, x86.WRGSBASE: true,
	x86.INT1: true, x86.INT3: true, x86.IRET: true, x86.RETF: true, x86.JMPF: true,
}

// privileged are the instructions that raise #GP in user code, MOV to and from control and debug
// registers aside. Others the table calls privileged are #UD where the feature is missing.
var privileged = opSet{
	x86.HLT: true, x86.IN: true, x86.OUT: true, x86.INS: true, x86.OUTS: true, x86.CLI: true, x86.STI: true,
	x86.LLDT: true, x86.LTR: true, x86.LGDT: true, x86.LIDT: true, x86.LMSW: true, x86.INVLPG: true, x86.SWAPGS: true,
	x86.CLTS: true, x86.SYSRET: true, x86.SYSEXIT: true, x86.INVD: true, x86.WBINVD: true,
	x86.WRMSR: true, x86.RDMSR: true, x86.RDPMC: true,
}

// gates are the interrupts that user code may raise with INT n and that are refused: INT 80H is the system call of
// 32-bit programs. INT 3 and INT 4 are a breakpoint and an overflow, other numbers are #GP.
var gates = [256]bool{0x80: true}

// refused are instructions that show the host's descriptor tables, or what Linux puts in the place of that. They get
// SIGILL and a message: no user program needs them.
var refused = opSet{
	x86.SLDT: true, x86.STR: true, x86.SMSW: true, x86.SGDT: true, x86.SIDT: true, x86.LAR: true, x86.LSL: true,
	x86.VERR: true, x86.VERW: true, x86.LSS: true, x86.LFS: true, x86.LGS: true,
}

// addressesBeyond reports whether the address of i's operand has more parts than base, index and displacement: that of
// a gather, or of a bit string. With 32-bit addresses the sum has to be cut before a segment's base is added, for which
// emu/jit has no register left. So all engines refuse such code alike; no compiler makes it.
func addressesBeyond(i *x86.Inst) bool {
	return i.Mem.VSIB || i.NRefs > 0 && i.Refs[0].At == x86.AtBitString
}

// classify says how to treat an instruction for a guest whose CPU has the
// given features.
func classify(i *x86.Inst, features *[256]bool) Kind {
	if i.Op == x86.UD0 || i.Op == x86.UD1 || i.Op == x86.UD2 {
		return Undefined
	}
	for k := range i.NArgs {
		switch i.Args[k].Kind {
		case x86.ArgSeg, x86.ArgCR, x86.ArgDR:
			return Emulated
		}
	}
	if !features[i.Feature] && !Privileged(i.Op) || i.Enc == x86.VEX && i.VecRead|i.VecWrite != 0 && !features[x86.FeatAVX] ||
		i.Enc == x86.EVEX && !features[x86.FeatAVX512F] {
		return Unsupported
	}
	switch i.Flow {
	case x86.FlowSyscall:
		return Syscall
	case x86.FlowTrap:
		if emulated.has(i.Op) || i.Op == x86.INT && !gates[uint8(i.Imm)] || Privileged(i.Op) {
			return Emulated
		}
		return Unsupported
	case x86.FlowNext:
	case x86.FlowXbegin:
		return Unsupported
	default:
		return Branch
	}
	if emulated.has(i.Op) || Privileged(i.Op) {
		return Emulated
	}
	if refused.has(i.Op) || i.Mem.AddrSize == 4 && i.Mem.Seg != x86.SegNone && addressesBeyond(i) {
		return Unsupported
	}
	switch i.Op {
	case x86.NOP, x86.RDSSP, x86.ENDBR64, x86.ENDBR32, x86.PAUSE,
		x86.PREFETCHT0, x86.PREFETCHT1, x86.PREFETCHT2, x86.PREFETCHNTA, x86.PREFETCHW, x86.PREFETCHWT1:
		return Nop
	case x86.LEA:
		return Lea
	case x86.PUSH:
		return Push
	case x86.POP:
		return Pop
	case x86.LEAVE:
		if i.OpSize != 8 {
			return Emulated
		}
		return Leave
	case x86.ENTER:
		return Emulated
	case x86.XLAT:
		if i.Mem.Seg != x86.SegNone {
			return Emulated
		}
	case x86.MOVS, x86.STOS, x86.LODS, x86.SCAS, x86.CMPS:
		if i.Mem.AddrSize == 4 || i.Mem.Seg != x86.SegNone {
			return Emulated
		}
		if i.Rep || i.Repne {
			return Rep
		}
		return String
	}
	return Plain
}

// Privileged reports whether an operation raises #GP in user code.
func Privileged(op x86.Op) bool { return privileged.has(op) }

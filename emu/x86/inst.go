// Package x86 decodes x86-64 instructions: bytes in, Inst out.
//
// An Inst says how long the instruction is, where its parts lie (a translator
// rewrites encodings in place), what it reads and writes (registers, flags,
// memory in program order) and how control leaves it. Encodings are data:
// insns.txt holds one line for each form, tables.go is generated from it.
//
// The package is pure: no state, no dependency. Sizes are in bytes. Memory
// references follow Cachegrind's view of an instruction rather than the SDM's
// (a read-modify-write is one reference, a locked one is two); where the two
// differ the row in insns.txt says so.
//
// Only 64-bit mode is decoded. Source: Intel SDM Vol. 2, AMD APM Vol. 3 to 5.
//
// The package is cgemu's own: what it promises may change.
package x86

import "errors"

// MaxLen is the longest encoding the architecture allows.
const MaxLen = 15

var (
	// ErrTruncated reports that code ended before the instruction did.
	ErrTruncated = errors.New("x86: truncated instruction")
	// ErrUndefined reports an encoding that raises #UD on every CPU we know.
	ErrUndefined = errors.New("x86: undefined instruction")
	// ErrTooLong reports an encoding of more than MaxLen bytes (#GP).
	ErrTooLong = errors.New("x86: instruction longer than 15 bytes")
)

// A Reg is a general-purpose register number, 0 to 15 in encoding order.
type Reg uint8

// General-purpose registers, and what can stand in a register's place inside a
// memory operand.
const (
	RAX Reg = iota
	RCX
	RDX
	RBX
	RSP
	RBP
	RSI
	RDI
	R8
	R9
	R10
	R11
	R12
	R13
	R14
	R15
	// NoReg says that a memory operand has no base or no index.
	NoReg Reg = 0xff
)

// A Seg is a segment override that matters in 64-bit mode.
type Seg uint8

// Overrides by CS, DS, ES and SS are ignored by the architecture and decode as SegNone.
const (
	SegNone Seg = iota
	SegFS
	SegGS
)

// An Encoding is the family of prefixes in front of the opcode.
type Encoding uint8

// Encodings.
const (
	Legacy Encoding = iota
	VEX             // C4 or C5
	EVEX            // 62
)

// Flags is a set of RFLAGS bits, at their architectural positions.
type Flags uint16

// Status flags, and the direction flag.
const (
	CF Flags = 1 << 0
	PF Flags = 1 << 2
	AF Flags = 1 << 4
	ZF Flags = 1 << 6
	SF Flags = 1 << 7
	DF Flags = 1 << 10
	OF Flags = 1 << 11

	// StatusFlags are the six flags arithmetic sets.
	StatusFlags = CF | PF | AF | ZF | SF | OF
)

// A Flow says how control leaves an instruction.
type Flow uint8

// Control-flow classes.
const (
	FlowNext    Flow = iota // to the next instruction
	FlowJcc                 // Jcc rel: Target or next, by Cond
	FlowLoop                // LOOP, LOOPE, LOOPNE, JCXZ, JECXZ, JRCXZ: Target or next
	FlowJmp                 // JMP rel
	FlowJmpInd              // JMP r/m64
	FlowCall                // CALL rel
	FlowCallInd             // CALL r/m64
	FlowRet                 // RET, RET imm16
	FlowSyscall             // SYSCALL
	FlowTrap                // INT3, INT imm8, INT1, UD0, UD1, UD2, HLT, IRET, SYSRET, far transfers
	FlowXbegin              // XBEGIN rel: next, or abort to Target
)

// A Mem is a memory operand given by ModRM, or by a moffs. Seg and AddrSize hold
// without one too: string instructions, XLAT and MASKMOVQ use them.
type Mem struct {
	Base  Reg   // NoReg if none
	Index Reg   // NoReg if none; a vector register number if VSIB
	Scale uint8 // 1, 2, 4 or 8
	// RIPRel says that the address is Disp behind the end of the instruction.
	RIPRel bool
	// VSIB says that Index is a vector register (gathers).
	VSIB bool
	Seg  Seg
	// AddrSize is 8, or 4 with the 67 prefix: the effective address is cut to 32 bits.
	AddrSize uint8
	// Disp is sign-extended; EVEX compressed displacements are scaled already.
	Disp int64
}

// A RefKind is what a memory reference does.
type RefKind uint8

// Kinds of reference. Modify counts as one read (docs/counting.md, "Data references").
const (
	Read RefKind = iota
	Write
	Modify
)

// A RefAt says where a reference's address comes from.
type RefAt uint8

// Places. Off in Ref is added to each.
const (
	AtMem       RefAt = iota // the ModRM or moffs operand
	AtRSI                    // string source, DS:rSI (or the override)
	AtRDI                    // string destination, ES:rDI; also MASKMOVQ and MASKMOVDQU
	AtRSP                    // the stack pointer before the instruction: pushes have Off = -Size
	AtRBP                    // LEAVE
	AtXlat                   // RBX + zero-extended AL
	AtBitString              // bt, bts, btr, btc with a register index: byte at Mem + (index >> 3)
	AtVSIB                   // lane Lane of a gather or scatter
)

// A Guard says on what a reference depends.
type Guard uint8

// Guards.
const (
	Always      Guard = iota
	MaskLane          // only if the mask's lane Lane is set (VMASKMOV, VPMASKMOV)
	XSaveBit          // only if bit Lane of EDX:EAX is set, and the CPU has that component (XSAVE, XRSTOR)
	OpmaskBit         // only if bit Lane of mask register Mask is set
	OpmaskAny         // only if any of its first Elements bits is whose number has Lane as remainder by Repeated
	OpmaskCount       // only if more than Lane of its first Elements bits are
)

// A Ref is one data reference. References are listed in program order.
type Ref struct {
	Kind  RefKind
	At    RefAt
	Guard Guard
	Lane  uint8
	Size  uint16
	Off   int16
}

// An ArgKind says what an operand is.
type ArgKind uint8

// Operand kinds.
const (
	ArgNone ArgKind = iota
	ArgGPR          // general register Reg of Size bytes; High8 for AH, CH, DH, BH
	ArgMem          // Inst.Mem, Size bytes
	ArgImm          // immediate Imm
	ArgRel          // branch target: Inst.Target
	ArgXMM          // vector register Reg; Size 16, 32 or 64
	ArgMMX          // MMX register Reg
	ArgST           // x87 stack register ST(Reg)
	ArgSeg          // segment register: 0 ES, 1 CS, 2 SS, 3 DS, 4 FS, 5 GS
	ArgCR           // control register
	ArgDR           // debug register
	ArgMask         // AVX-512 mask register
)

// A Rounding is what an instruction says about rounding and exceptions instead of MXCSR.
type Rounding uint8

// Roundings. All but RoundMXCSR suppress exceptions; RoundNearest to RoundZero, in the order of MXCSR's field, give a
// mode too.
const (
	RoundMXCSR Rounding = iota
	RoundSAE
	RoundNearest
	RoundDown
	RoundUp
	RoundZero
)

// An Arg is one operand, in Intel order: destination first.
type Arg struct {
	Kind  ArgKind
	Reg   Reg
	High8 bool
	Size  uint16
	Imm   int64
}

// A Feature is the CPUID feature an instruction needs.
type Feature uint8

// An Inst is a decoded instruction. It holds no pointer, and Decode overwrites
// all of it.
type Inst struct {
	Op      Op    // mnemonic, Intel's, operand size not part of it
	Len     uint8 // of the whole instruction
	Enc     Encoding
	Feature Feature
	Flow    Flow
	Cond    uint8 // condition code, low 4 bits of Jcc, SETcc and CMOVcc opcodes
	OpSize  uint8 // effective operand size of integer instructions: 1, 2, 4 or 8; of string instructions: the element

	// Where the parts lie, as offsets from the first byte; 0 says that the part is missing.
	// Legacy prefixes lie in [0, NPrefix); a REX, VEX or EVEX prefix begins at NPrefix.
	NPrefix   uint8
	OpcodeOff uint8 // first opcode byte, behind REX, VEX or EVEX; the 0F of a two-byte opcode
	ModRMOff  uint8
	DispOff   uint8
	DispLen   uint8 // 0, 1, 4; 8 for moffs, 4 with 67
	ImmOff    uint8
	ImmLen    uint8 // of all immediates together; branch displacements included
	REX       uint8 // the REX byte, 0 if none
	ModRM     uint8
	Lock      bool
	Rep       bool // F3 that acts as REP or REPE; F2 too, where MOVS and the like take it for REP
	Repne     bool // F2 that acts as REPNE
	OpSize16  bool // 66 prefix present

	// What an EVEX prefix adds. Mask is the mask register that selects elements of the result, 0 for all of them;
	// Zeroing has the others become zero instead of staying. Broadcast says that the memory operand is one element, for
	// all places.
	Mask               Reg
	Zeroing, Broadcast bool
	Rounding           Rounding

	HasMem bool // Mem is valid
	NArgs  uint8
	NRefs  uint8 // of all references, not of Refs alone
	Mem    Mem
	Args   [5]Arg
	Refs   [4]Ref // the first; References gives all of them (XSAVE, gathers have more)

	// Imm is the (first) immediate, sign-extended as the instruction does.
	Imm int64
	// Target is the displacement of a direct branch, relative to the next instruction.
	Target int64

	// General registers read and written, a bit each. A partial write (8 or 16
	// bits) and a conditional one are reads too, so Write&^Read is what the
	// instruction overwrites whatever it held.
	GPRRead, GPRWrite uint16
	// Flags read and written, by the same rule: FlagsWrite&^FlagsRead are lost.
	// A flag left undefined counts as written if CPUs overwrite it whatever it held;
	// if some leave it alone it counts as written and read.
	FlagsRead, FlagsWrite Flags
	// Vector registers read and written, a bit each (xmm, ymm, zmm alike). They
	// tell about the bits an encoding works on: Legacy ones leave bits 128 and up
	// alone without counting that as a read.
	VecRead, VecWrite uint32
	// X87 says that the instruction touches x87 or MMX state.
	X87 bool

	form uint16 // index into forms
	vlen uint8  // vector length in bytes
}

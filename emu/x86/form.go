package x86

//go:generate go run ./gen

// A form is one line of insns.txt, compiled. See there for what each part means.
type form struct {
	op             Op
	feature        Feature
	feature256     Feature // of the 256-bit form, where it differs
	flow           Flow
	nargs          uint8
	opSize         opSizeRule
	attr           attr
	args           [5]operand
	flagsR, flagsW Flags
	gprR, gprW     uint16
	refs           uint8 // index into refLists; 0: what the memory operand says
	bcast          uint8 // EVEX: size of a broadcast element, 0 if none
	disp8          uint8 // EVEX: factor of a one-byte displacement, 0: size of the memory operand
	elem           uint8 // EVEX: bytes of the vector length for each bit of the mask; 0: it cannot be masked
}

// An attr is a set of properties of a form.
type attr uint32

const (
	attrModRM    attr = 1 << iota // a ModRM byte follows the opcode
	attrNoMem                     // ModRM.mod is ignored: always a register (MOV CR)
	attrLock                      // LOCK is legal with a memory destination; one more read
	attrLock1                     // LOCK is legal with a memory destination; same references
	attrRep                       // REP and REPNE repeat
	attrRepCC                     // REPE and REPNE repeat and test ZF
	attrMust66                    // 66 selects the form and is no operand size
	attrCC                        // low opcode bits are a condition, and are read
	attrCount                     // flags depend on the count, the last operand
	attrZero                      // clears its destination if both operands are one register
	attrVSIB                      // the index is a vector register
	attrVVVV                      // VEX.vvvv is an operand
	attrX87                       // touches x87 or MMX state
	attrEnter                     // ENTER: references depend on the level
	attrLIG                       // the vector length is ignored: 16
	attrNoRIP                     // RIP-relative addressing is undefined
	attrSIB                       // needs a SIB byte (AMX)
	attrWriteX0                   // writes XMM0
	attrAllVec                    // reads or writes all vector registers
	attrDistinct                  // gathers: destination, index and mask differ
	attrER                        // EVEX: with registers, EVEX.b gives a rounding mode
	attrSAE                       // EVEX: with registers, EVEX.b suppresses exceptions
	attrNF                        // EVEX: all of a memory operand is accessed whatever the mask
	attrRepeats                   // EVEX: the memory operand is repeated in all of the result (VBROADCAST)
	attrPacks                     // EVEX: memory has the selected elements side by side (VPCOMPRESS, VPEXPAND)
)

// An opSizeRule says how a form's operand size follows from 66 and REX.W.
type opSizeRule uint8

const (
	opSizeV   opSizeRule = iota // 4, 2 with 66, 8 with W
	opSizeZ                     // 4, 2 with 66
	opSizeY                     // 4, 8 with W
	opSize64                    // 8, 2 with 66 and no W
	opSizeF64                   // 8
	opSize1
	opSize2
	opSize4
	opSize8
)

// An operand is how a form names one argument.
type operand struct {
	loc    loc
	access access
	size   size
}

// An access says what happens to an operand.
type access uint8

const (
	accessR access = 1 << iota
	accessW
	accessRW = accessR | accessW
)

// A loc says where an operand is found.
type loc uint8

const (
	locNone loc = iota
	locE        // ModRM.rm: general register or memory
	locR        // ModRM.rm: general register
	locM        // ModRM.rm: memory
	locG        // ModRM.reg: general register
	locB        // VEX.vvvv: general register
	locZ        // low bits of the opcode: general register
	locV        // ModRM.reg: vector register
	locH        // VEX.vvvv: vector register
	locW        // ModRM.rm: vector register or memory
	locU        // ModRM.rm: vector register
	locL        // imm8[7:4]: vector register
	locP        // ModRM.reg: MMX register
	locQ        // ModRM.rm: MMX register or memory
	locN        // ModRM.rm: MMX register
	locS        // ModRM.reg: segment register
	locC        // ModRM.reg: control register
	locD        // ModRM.reg: debug register
	locKr       // ModRM.reg: mask register
	locKh       // VEX.vvvv: mask register
	locKm       // ModRM.rm: mask register
	locKw       // ModRM.rm: mask register or memory
	locTr       // ModRM.reg: tile register
	locTh       // VEX.vvvv: tile register
	locTm       // ModRM.rm: tile register
	locI        // immediate, sign-extended
	locu        // immediate, zero-extended
	locJ        // branch displacement
	locO        // moffs
	locA        // AL, AX, EAX, RAX
	locCL       // CL
	locDX       // DX
	loc1        // the constant 1
	locX0       // XMM0
	locST0      // ST(0)
	locSTi      // ST(ModRM.rm)
	locFS
	locGS
)

// A size is an operand size in bytes, or a rule to find it.
type size uint16

const (
	sizeV size = 0x8000 + iota // operand size
	sizeZ                      // operand size, at most 4
	sizeY                      // 4, 8 with W
	sizeP                      // far pointer: operand size and 2
	sizeX                      // vector length
	sizeH                      // half of it
	sizeF                      // a fourth
	sizeE                      // an eighth
)

// A refItem describes one or several references of a form.
type refItem struct {
	kind  RefKind
	at    refPlace
	guard Guard
	bit   uint8  // XSaveBit: the bit
	size  uint16 // 0: of the memory operand, or the operand size elsewhere
	off   int16
	count uint8 // consecutive ones; 0: vector length divided by div
	div   uint8
}

// A refPlace is a RefAt, or a stack place that depends on the operand size.
type refPlace uint8

const (
	placeMem  refPlace = refPlace(AtMem)
	placeRSI           = refPlace(AtRSI)
	placeRDI           = refPlace(AtRDI)
	placeRSP           = refPlace(AtRSP)
	placeRBP           = refPlace(AtRBP)
	placeXlat          = refPlace(AtXlat)
	placeBits          = refPlace(AtBitString)
	placeVSIB          = refPlace(AtVSIB)
	placePush          = placeVSIB + 1 // below RSP, by the operand size
	placePop           = placeVSIB + 2 // memory operand of POP: RSP has moved already
)

// Opcode maps. The order is that of roots.
const (
	mapLegacy = iota
	map0F
	map0F38
	map0F3A
	mapVEX0F
	mapVEX0F38
	mapVEX0F3A
	mapEVEX0F
	mapEVEX0F38
	mapEVEX0F3A
	mapEVEX5
	mapEVEX6
	mapXOP8
	mapXOP9
	mapXOPA
	numMaps
)

// A node of the decision tree is a run of nodes: what decides, then one entry
// for each outcome. An entry is 0 (undefined), a node's index, or leaf plus a
// form's index.
const leaf = 0x8000

const (
	byPrefix = iota // none, 66, F3, F2
	byReg           // ModRM.reg
	byMod           // memory, register
	byRM            // ModRM.rm
	byW             // REX.W, VEX.W
	byL             // vector length 16, 32, 64
	byOpSize        // 2, 4, 8
	byB             // REX.B
)

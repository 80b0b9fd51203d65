//go:build linux

#include "go_asm.h"
#include "textflag.h"

// What x87 is asked here: whether exceptions are masked, precision is 64 bits and rounding to nearest; and whether an
// exception waits (ES) or the stack was at fault already (SF).
#define CW_MASK  0x0f3f
#define CW_USUAL 0x033f
#define SW_FAULT 0x0040

#define FNSTCW(off) BYTE $0xd9; BYTE $0xbd; LONG $off      // fnstcw [rbp+off]
#define FNSTSW      BYTE $0xdf; BYTE $0xe0                 // fnstsw ax
#define FLD80(off)  BYTE $0xdb; BYTE $0xad; LONG $off      // fld tword [rbp+off]
#define FSTP80(off) BYTE $0xdb; BYTE $0xbd; LONG $off      // fstp tword [rbp+off]
#define FADD64(off) BYTE $0xdc; BYTE $0x85; LONG $off      // fadd qword [rbp+off]
#define FPOP        BYTE $0xdd; BYTE $0xd8                 // fstp st(0)
#define FXCH        BYTE $0xd9; BYTE $0xc9
#define FDECSTP     BYTE $0xd9; BYTE $0xf6
#define FINCSTP     BYTE $0xd9; BYTE $0xf7

// USUAL jumps if the state of x87 is another than usual. DX has the bits of the status word that are to be 0.
#define USUAL(there) \
	FNSTCW(const_stX87Control); \
	MOVWLZX const_stX87Control(BP), AX; \
	ANDL $CW_MASK, AX; \
	CMPL AX, $CW_USUAL; \
	JNE  there; \
	FNSTSW; \
	TESTL DX, AX; \
	JNZ  there

// FAULT jumps if the stack has been at fault since.
#define FAULT(there) \
	FNSTSW; \
	TESTL $SW_FAULT, AX; \
	JNZ  there

// These three execute an instruction of x87 that Go's code executes otherwise, with the guest's x87 and general
// registers loaded but RSP, which is the host's, and RBP, which is the address of the state block. RCX is the address of
// a routine of emu/soft, DX is as USUAL has it. They go on where the state block says, with 1 in RAX, or with 0 if Go's
// code has to do it: x87 is as it was then, but for exceptions that the instruction has, too. The host's x87 adds what a
// routine returns: so it is rounded, and the status word and C1 are as they should be. All exceptions are masked, so a
// register that is empty gives a stack fault, and is made empty again.

// x87Unary replaces ST(0).
TEXT x87Unary<>(SB), NOSPLIT|NOFRAME, $0-0
	USUAL(no)
	FSTP80(const_stX87Operands)
	FAULT(empty)
	MOVQ const_stX87Operands(BP), R8
	MOVWLZX (const_stX87Operands+8)(BP), R9
	CALL CX
	TESTL AX, AX
	JZ   unknown
	MOVQ R8, const_stX87Operands(BP)
	MOVW R9, (const_stX87Operands+8)(BP)
	MOVQ R10, const_stX87Rests(BP)
	FLD80(const_stX87Operands)
	FADD64(const_stX87Rests)
	JMP  const_stX87Back(BP)
empty:
	FDECSTP
	JMP  no
unknown:
	FLD80(const_stX87Operands)
no:
	XORL AX, AX
	JMP  const_stX87Back(BP)

// x87Push replaces ST(0) and pushes another result.
TEXT x87Push<>(SB), NOSPLIT|NOFRAME, $0-0
	USUAL(no)
	FSTP80(const_stX87Operands)
	FAULT(empty)
	MOVQ const_stX87Operands(BP), R8
	MOVWLZX (const_stX87Operands+8)(BP), R9
	CALL CX
	TESTL AX, AX
	JZ   unknown
	MOVQ const_stX87Operands(BP), R14
	MOVWLZX (const_stX87Operands+8)(BP), R15
	MOVQ R8, const_stX87Operands(BP)
	MOVW R9, (const_stX87Operands+8)(BP)
	MOVQ R10, const_stX87Rests(BP)
	MOVQ R11, (const_stX87Operands+16)(BP)
	MOVW R12, (const_stX87Operands+24)(BP)
	MOVQ R13, (const_stX87Rests+8)(BP)
	FLD80(const_stX87Operands)
	FLD80((const_stX87Operands+16))
	FAULT(full)
	FXCH
	FADD64(const_stX87Rests)
	FXCH
	FADD64((const_stX87Rests+8))
	MOVL $1, AX
	JMP  const_stX87Back(BP)
empty:
	FDECSTP
	JMP  no
full:
	// What ST(7) held is gone, which the instruction overwrites, too.
	FINCSTP
	FPOP
	MOVQ R14, const_stX87Operands(BP)
	MOVW R15, (const_stX87Operands+8)(BP)
unknown:
	FLD80(const_stX87Operands)
no:
	XORL AX, AX
	JMP  const_stX87Back(BP)

// x87Binary pops ST(0) and replaces what was ST(1).
TEXT x87Binary<>(SB), NOSPLIT|NOFRAME, $0-0
	USUAL(no)
	FSTP80(const_stX87Operands)
	FAULT(first)
	FSTP80((const_stX87Operands+16))
	FAULT(second)
	MOVQ const_stX87Operands(BP), R8
	MOVWLZX (const_stX87Operands+8)(BP), R9
	MOVQ (const_stX87Operands+16)(BP), R10
	MOVWLZX (const_stX87Operands+24)(BP), R11
	CALL CX
	TESTL AX, AX
	JZ   unknown
	MOVQ R8, const_stX87Operands(BP)
	MOVW R9, (const_stX87Operands+8)(BP)
	MOVQ R10, const_stX87Rests(BP)
	FLD80(const_stX87Operands)
	FADD64(const_stX87Rests)
	JMP  const_stX87Back(BP)
first:
	FDECSTP
	JMP  no
second:
	FDECSTP
	FLD80(const_stX87Operands)
	JMP  no
unknown:
	FLD80((const_stX87Operands+16))
	FLD80(const_stX87Operands)
no:
	XORL AX, AX
	JMP  const_stX87Back(BP)

// func x87Ways() [3]uintptr
TEXT ·x87Ways(SB), NOSPLIT, $0-24
	LEAQ x87Unary<>(SB), AX
	MOVQ AX, ret_0+0(FP)
	LEAQ x87Push<>(SB), AX
	MOVQ AX, ret_1+8(FP)
	LEAQ x87Binary<>(SB), AX
	MOVQ AX, ret_2+16(FP)
	RET

#include "go_asm.h"
#include "textflag.h"
#include "routines_amd64.h"

// The routine of FPATAN.
DATA ·atanEntries+0(SB)/8, $fastPatan<>(SB)
GLOBL ·atanEntries(SB), NOPTR, $8

// atanError is what is doubtful of an arctangent from a table, quotientError of one that is a quotient and little more.
#define atanError (1<<52)
#define quotientError (1<<57)

// fastPatan returns the angle of the point (x, y). It has the smaller one of |x| and |y| by the other in R10 and R8, with
// exponents in R13 and R12. BX is 1 if |y| is the larger one, and has 2 more if x is negative.
TEXT fastPatan<>(SB), NOSPLIT|NOFRAME, $0-0
	MOVL R11, DI
	SHRL $15, DI
	MOVL R9, BX
	SHRL $15, BX
	ADDL BX, BX
	ORDINARY(R10, R11, -16382, 16384, none)
	MOVLQSX CX, R13
	ORDINARY(R8, R9, -16382, 16384, none)
	MOVLQSX CX, R12
	CMPQ R13, R12
	JLT  flat
	JGT  steep
	CMPQ R8, R10
	JAE  flat
steep:
	XCHGQ R8, R10
	XCHGQ R12, R13
	INCL BX
flat:
	SUBQ R12, R13 // -64 to 0
	CMPQ R13, $-5
	JLT  quotient
	// 64 times the quotient, and what is left.
	MOVL $6, CX
	ADDL R13, CX
	XORL DX, DX
	SHLQ CX, R10, DX
	MOVQ R10, R9
	SHLQ CX, R9
	MOVQ DX, R11
	MOVQ R9, AX
	DIVQ R8
	MOVQ AX, R14
	INCQ AX
	SHRQ $1, AX
	MOVQ AX, SI
	CMPQ SI, $2
	JB   quotient
	// With y/x next to k/32, k in SI: atan(y/x) = atan(k/32) + atan((32y-kx) / (32x+ky)), whose sign is R14.
	ANDL $1, R14
	JZ   above
	SUBQ R8, DX
	NEGQ DX
above:
	MOVQ DX, R15
	TESTQ DX, DX
	JZ   none
	MOVQ R9, AX
	MULQ SI
	IMULQ SI, R11
	ADDQ DX, R11
	MOVQ AX, R9
	MOVQ R8, AX
	SHRQ $53, AX
	SHLQ $11, R8
	ADDQ R8, R9
	ADCQ AX, R11
	BSRQ R11, CX
	XORL $63, CX
	MOVQ R11, R10
	MOVQ R9, R11
	SHLQ CX, R11, R10
	SHLQ CX, R11
	MOVQ R15, R8
	MOVQ R15, R9
	SHRQ $53, R8
	SHLQ $11, R9
	SHLQ CX, R9, R8
	SHLQ CX, R9
	CALL divide<>(SB) // 2^6 as much
	TESTL AX, AX
	JZ   none
	MOVQ R8, AX
	MULQ R8
	MOVQ DX, CX
	MOVQ ·tables+routineTables_atan(SB), AX
	HORNER(·tables+(routineTables_atan+8)(SB))
	HORNER(·tables+(routineTables_atan+16)(SB))
	HORNER(·tables+(routineTables_atan+24)(SB))
	HORNER(·tables+(routineTables_atan+32)(SB))
	MULQ CX
	MOVQ DX, AX
	MULQ R8
	SHRQ $13, DX, AX
	SHRQ $13, DX
	SUBQ AX, R9
	SBBQ DX, R8
	SHRQ $6, R8, R9
	SHRQ $6, R8
	NEGQ R14
	XORQ R14, R8
	XORQ R14, R9
	SUBQ R14, R9
	SBBQ R14, R8
	SHLQ $4, SI
	LEAQ ·tables+routineTables_arctans(SB), AX
	ADDQ AX, SI
	ADDQ 8(SI), R9
	ADCQ 0(SI), R8
	CALL normalize<>(SB)
	MOVQ $atanError, CX
	JMP  arctan<>(SB)
none:
	XORL AX, AX
	RET
quotient:
	CMPQ R13, $-30
	JLT  none
	MOVQ R8, AX
	MOVQ R10, R8
	MOVQ AX, R10
	XORL R9, R9
	XORL R11, R11
	CMPQ R8, R10
	JB   below
	SHRQ $1, R8, R9
	SHRQ $1, R8
	INCQ R13
below:
	DECQ R13
	CALL divide<>(SB)
	TESTL AX, AX
	JZ   none
	MOVQ $~below67, AX
	ANDQ AX, R9
	MOVQ R13, R10
	// q * 2^4, and its square
	MOVL $-5, CX
	SUBL R10, CX
	MOVQ R8, AX
	SHRQ CX, AX
	MULQ AX
	MOVQ DX, CX
	MOVQ ·tables+routineTables_atanSmall(SB), AX
	HORNER(·tables+(routineTables_atanSmall+8)(SB))
	HORNER(·tables+(routineTables_atanSmall+16)(SB))
	HORNER(·tables+(routineTables_atanSmall+24)(SB))
	HORNER(·tables+(routineTables_atanSmall+32)(SB))
	HORNER(·tables+(routineTables_atanSmall+40)(SB))
	HORNER(·tables+(routineTables_atanSmall+48)(SB))
	HORNER(·tables+(routineTables_atanSmall+56)(SB))
	MULQ CX
	MOVQ DX, AX
	MULQ R8
	SHRQ $9, DX, AX
	SHRQ $9, DX
	SUBQ AX, R9
	SBBQ DX, R8
	JMI  normal
	ADDQ R9, R9
	ADCQ R8, R8
	DECQ R10
normal:
	MOVQ $quotientError, CX
	JMP  arctan<>(SB)

// arctan makes the result of fastPatan of the arctangent of the quotient, of which CX is doubtful.
TEXT arctan<>(SB), NOSPLIT|NOFRAME, $0-0
	MOVL DI, R11
	TESTL BX, BX
	JNZ  turned
	JMP  round<>(SB)
turned:
	// The sum of pi/2 or pi, and the first 67 bits of it or of its negative.
	LEAQ (R9)(CX*1), AX
	SHLQ $3, AX
	SHLQ $4, CX
	CMPQ AX, CX
	JB   doubtful
	MOVQ $~below67, AX
	ANDQ AX, R9
	MOVL $1, CX
	SUBL R10, CX
	SHRQ CX, R8, R9
	SHRQ CX, R8
	MOVQ ·tables+routineTables_pi(SB), DX
	MOVQ ·tables+(routineTables_pi+8)(SB), AX
	MOVL BX, CX
	ANDL $1, CX
	JZ   straight
	SHRQ $1, DX, AX
	SHRQ $1, DX
	CMPL BX, $3
	JEQ  sum
straight:
	SUBQ R9, AX
	SBBQ R8, DX
	JMP  known
sum:
	ADDQ R9, AX
	ADCQ R8, DX
known:
	MOVQ AX, R9
	MOVQ DX, R8
	CALL normalize<>(SB)
	ADDQ $2, R10
	JMP  exactly<>(SB)
doubtful:
	XORL AX, AX
	RET

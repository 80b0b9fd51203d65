#include "go_asm.h"
#include "textflag.h"
#include "routines_amd64.h"

// The routine of F2XM1.
DATA ·expEntries+0(SB)/8, $fast2xm1<>(SB)
GLOBL ·expEntries(SB), NOPTR, $8

// expError is what the number of fast2xm1 from 1/4 on may be off by.
#define expError (1<<56)

// fast2xm1 has 2^s - 1 for the begin s of an interval from 1/4 on. It adds 2^s * (2^d - 1), which is
// k*d * (1 + (d*ln2)/2 + (d*ln2)^2/6 + ...).
TEXT fast2xm1<>(SB), NOSPLIT|NOFRAME, $0-0
	ORDINARY(R8, R9, -32, 0, none)
	MOVL R9, DI
	SHRL $15, DI
	CMPL CX, $-2
	JGE  large
	JMP  smallExp<>(SB)
none:
	XORL AX, AX
	RET
large:
	// SI is the interval, R8 is d * 2^6. Below 0 an interval ends where s is.
	MOVQ R8, SI
	SHRQ $58, SI
	ANDL $31, SI
	SHLQ $6, R8
	XORL AX, AX
	CMPL CX, $-1
	JEQ  half
	SHRQ $1, R8
	MOVQ $(1<<63), AX
	JMP  begin
half:
	ADDL $32, SI
begin:
	TESTL DI, DI
	JZ   positive
	ADDL $64, SI
	SUBQ R8, AX
	JZ   none
	MOVQ AX, R8
positive:
	SHLQ $5, SI
	LEAQ ·tables+routineTables_powers(SB), AX
	ADDQ AX, SI
	MOVQ R8, AX
	MULQ ·tables+routineTables_ln2(SB)
	MOVQ DX, R10
	MOVQ DX, AX
	MULQ DX
	MOVQ DX, CX
	MOVQ ·tables+routineTables_exp(SB), AX
	SUMMED(·tables+(routineTables_exp+8)(SB))
	SUMMED(·tables+(routineTables_exp+16)(SB))
	SUMMED(·tables+(routineTables_exp+24)(SB))
	MOVQ AX, R11
	MOVQ ·tables+(routineTables_exp+32)(SB), AX
	SUMMED(·tables+(routineTables_exp+40)(SB))
	SUMMED(·tables+(routineTables_exp+48)(SB))
	SUMMED(·tables+(routineTables_exp+56)(SB))
	MULQ R10
	LEAQ (R11)(DX*1), AX
	MULQ R10
	MOVQ DX, CX
	// R8:R9 = k*d
	MOVQ 24(SI), AX
	MULQ R8
	MOVQ DX, R9
	MOVQ 16(SI), AX
	MULQ R8
	MOVQ DX, R8
	ADDQ AX, R9
	ADCQ $0, R8
	MOVQ R8, AX
	MULQ CX
	SHRQ $6, DX, AX
	SHRQ $6, DX
	ADDQ AX, R9
	ADCQ DX, R8
	SHRQ $6, R8, R9
	SHRQ $6, R8
	ADDQ 8(SI), R9
	ADCQ 0(SI), R8
	// The absolute value, of which 127 bits follow the point.
	MOVQ DI, AX
	NEGQ AX
	XORQ AX, R8
	XORQ AX, R9
	ADDQ DI, R9
	ADCQ $0, R8
	SHLQ $1, R9, R8
	SHLQ $1, R9
	CALL normalize<>(SB)
	MOVL DI, R11
	MOVQ $expError, CX
	JMP  round<>(SB)

// smallExp returns t + t^2/2 * (1 + t/3 + t^2/12 + ...) for t = x*ln2, below 1/4. The reference has 67 bits of t, and
// 64 of the rest.
TEXT smallExp<>(SB), NOSPLIT|NOFRAME, $0-0
	MOVQ ·tables+(routineTables_ln2Internal+8)(SB), AX
	MULQ R8
	MOVQ DX, R9
	MOVQ ·tables+routineTables_ln2Internal(SB), AX
	MULQ R8
	MOVQ DX, R8
	ADDQ AX, R9
	ADCQ $0, R8
	MOVLQSX CX, R10
	TESTQ R8, R8
	JMI  normal
	ADDQ R9, R9
	ADCQ R8, R8
	DECQ R10
normal:
	MOVQ $~below67, AX
	ANDQ AX, R9
	// R14:R15 = |t| * 2^2
	MOVL $-3, CX
	SUBL R10, CX
	MOVQ R8, R14
	MOVQ R9, R15
	SHRQ CX, R14, R15
	SHRQ CX, R14
	// R13 = t^2/12 + t^3/60 + ..., with 7 bits more behind the point; odd powers have x's sign.
	MOVQ DI, BX
	NEGQ BX
	MOVQ R14, AX
	MULQ R14
	MOVQ DX, CX
	MOVQ ·tables+routineTables_expRest(SB), AX
	SUMMED(·tables+(routineTables_expRest+8)(SB))
	SUMMED(·tables+(routineTables_expRest+16)(SB))
	SUMMED(·tables+(routineTables_expRest+24)(SB))
	SUMMED(·tables+(routineTables_expRest+32)(SB))
	SUMMED(·tables+(routineTables_expRest+40)(SB))
	MOVQ AX, R13
	MOVQ ·tables+(routineTables_expRest+48)(SB), AX
	SUMMED(·tables+(routineTables_expRest+56)(SB))
	SUMMED(·tables+(routineTables_expRest+64)(SB))
	SUMMED(·tables+(routineTables_expRest+72)(SB))
	SUMMED(·tables+(routineTables_expRest+80)(SB))
	SUMMED(·tables+(routineTables_expRest+88)(SB))
	MULQ R14
	XORQ BX, DX
	SUBQ BX, DX
	LEAQ (R13)(DX*1), AX
	MULQ CX
	MOVQ DX, R13
	// R11:R12 = t/3
	MOVQ $0x5555555555555555, SI
	MOVQ R15, AX
	MULQ SI
	MOVQ DX, R12
	MOVQ R14, AX
	MULQ SI
	MOVQ DX, R11
	ADDQ DX, R12
	ADCQ $0, R11
	ADDQ AX, R12
	ADCQ $0, R11
	// R11:R12 is the sum of 1, t/3 and the others, with 127 bits behind the point.
	SHRQ $3, R11, R12
	SHRQ $3, R11
	XORQ BX, R11
	XORQ BX, R12
	SUBQ BX, R12
	SBBQ BX, R11
	MOVQ R13, AX
	SHLQ $56, AX
	SHRQ $8, R13
	ADDQ AX, R12
	ADCQ R13, R11
	BTCQ $63, R11
	MOVQ R14, SI
	// R13:R15 = t^2
	MOVQ R8, AX
	MULQ R9
	MOVQ DX, R14
	MOVQ R8, AX
	MULQ R8
	MOVQ DX, R13
	MOVQ AX, R15
	ADDQ R14, R15
	ADCQ $0, R13
	ADDQ R14, R15
	ADCQ $0, R13
	// DX:AX is the product of both, what is doubtful of it SI.
	SHRQ $4, SI
	MOVQ $(7<<55), AX
	ADDQ AX, SI
	MOVQ R13, AX
	MULQ R12
	MOVQ DX, R14
	MOVQ R15, AX
	MULQ R11
	MOVQ DX, R15
	MOVQ R13, AX
	MULQ R11
	ADDQ R14, AX
	ADCQ $0, DX
	ADDQ R15, AX
	ADCQ $0, DX
	// Its first 64 bits, rounded, are DX.
	BSRQ DX, CX
	XORL $63, CX
	SHLQ CX, AX, DX
	SHLQ CX, AX
	MOVQ AX, R11
	SUBQ SI, R11
	XORQ AX, R11
	JMI  doubtful
	ADDQ AX, SI
	XORQ AX, SI
	JMI  doubtful
	SHLQ $1, AX
	ADCQ $0, DX
	JNZ  rounded
	MOVQ $(1<<63), DX
	DECL CX
rounded:
	// The sum, or the difference.
	SUBL R10, CX
	DECL CX
	XORL AX, AX
	SHRQ CX, DX, AX
	SHRQ CX, DX
	MOVL DI, R11
	TESTL DI, DI
	JNZ  minus
	ADDQ AX, R9
	ADCQ DX, R8
	JCC  sum
	RCRQ $1, R8
	RCRQ $1, R9
	INCQ R10
	JMP  exactly<>(SB)
minus:
	SUBQ AX, R9
	SBBQ DX, R8
	JMI  sum
	ADDQ R9, R9
	ADCQ R8, R8
	DECQ R10
sum:
	JMP  exactly<>(SB)
doubtful:
	XORL AX, AX
	RET

#include "go_asm.h"
#include "textflag.h"
#include "routines_amd64.h"

// The routines of FYL2X and FYL2XP1.
DATA ·logEntries+0(SB)/8, $fastYl2x<>(SB)
DATA ·logEntries+8(SB)/8, $fastYl2xp1<>(SB)
GLOBL ·logEntries(SB), NOPTR, $16

// fastYl2x returns y * log2(x), with y's significand in R14, its exponent in R15 and the result's sign in DI.
TEXT fastYl2x<>(SB), NOSPLIT|NOFRAME, $0-0
	MOVL R11, DI
	SHRL $15, DI
	ORDINARY(R10, R11, -16382, 16384, none)
	MOVQ R10, R14
	MOVLQSX CX, R15
	TESTL $0x8000, R9
	JNZ  none
	ORDINARY(R8, R9, -16382, 16384, none)
	MOVQ R8, AX
	SHRQ $60, AX
	CMPL CX, $-1
	JLT  far
	JEQ  belowOne
	CMPL CX, $0
	JGT  far
	// Near 1 it is the logarithm of the distance and 1.
	CMPL AX, $9
	JAE  far
	ADDQ R8, R8
	XORL R13, R13
	JMP  near
belowOne:
	CMPL AX, $14
	JB   far
	NEGQ R8
	MOVL $1, R13
near:
	TESTQ R8, R8
	JZ   none
	XORL R9, R9
	CALL normalize<>(SB)
	CMPQ R10, $-40
	JLT  none
	JMP  logNearOne<>(SB)
none:
	XORL AX, AX
	RET
far:
	MOVLQSX CX, R10
	XORL R9, R9
	JMP  logFar<>(SB)

// logFar returns y * log2(R8:R9 * 2^R10) for what is not near 1; R14, R15 and DI have y. With a table of r and its
// logarithms, log2(m * 2^n) = n - log2(r) + log2(1+u), where m*r = 1+u.
TEXT logFar<>(SB), NOSPLIT|NOFRAME, $0-0
	MOVQ R8, SI
	SHRQ $56, SI
	ANDL $127, SI
	LEAQ (SI)(SI*2), SI
	SHLQ $3, SI
	LEAQ ·tables+routineTables_logs(SB), AX
	ADDQ AX, SI
	// R8:R9 = u * 2^6
	MOVQ R9, AX
	MULQ 0(SI)
	MOVQ AX, R9
	MOVQ DX, CX
	MOVQ R8, AX
	MULQ 0(SI)
	ADDQ CX, AX
	ADCQ $0, DX
	SUBQ $(1<<15), DX
	SHLQ $55, AX, DX
	SHLQ $55, R9, AX
	MOVQ DX, R8
	MOVQ AX, R9
	MOVQ R8, CX
	MOVQ ·tables+routineTables_log(SB), AX
	HORNER(·tables+(routineTables_log+8)(SB))
	HORNER(·tables+(routineTables_log+16)(SB))
	HORNER(·tables+(routineTables_log+24)(SB))
	HORNER(·tables+(routineTables_log+32)(SB))
	HORNER(·tables+(routineTables_log+40)(SB))
	HORNER(·tables+(routineTables_log+48)(SB))
	HORNER(·tables+(routineTables_log+56)(SB))
	HORNER(·tables+(routineTables_log+64)(SB))
	MULQ CX
	MOVQ DX, R11
	// R8:R9 = u/ln2 * (1 - R11), of which 112 bits follow the point then
	MOVQ ·tables+(routineTables_log2e+8)(SB), AX
	MULQ R8
	MOVQ DX, R12
	MOVQ ·tables+routineTables_log2e(SB), AX
	MULQ R9
	MOVQ DX, CX
	MOVQ ·tables+routineTables_log2e(SB), AX
	MULQ R8
	ADDQ R12, AX
	ADCQ $0, DX
	ADDQ CX, AX
	ADCQ $0, DX
	MOVQ DX, R8
	MOVQ AX, R9
	MOVQ R8, AX
	MULQ R11
	SHRQ $6, DX, AX
	SHRQ $6, DX
	SUBQ AX, R9
	SBBQ DX, R8
	SHRQ $21, R8, R9
	SHRQ $21, R8
	ADDQ 16(SI), R9
	ADCQ 8(SI), R8
	SHLQ $48, R10
	ADDQ R10, R8
	JPL  positive
	NOTQ R8
	NEGQ R9
	SBBQ $-1, R8
	XORL $1, DI
positive:
	CALL normalize<>(SB)
	MOVL $38, CX
	SUBL R10, CX
	DECL CX
	MOVL $1, SI
	SHLQ CX, SI
	ADDQ $16, R10
	MOVQ SI, CX
	JMP  times<>(SB)

// times multiplies the first 67 bits of a number, of which CX is doubtful, with y.
TEXT times<>(SB), NOSPLIT|NOFRAME, $0-0
	LEAQ (R9)(CX*1), AX
	SHLQ $3, AX
	SHLQ $4, CX
	CMPQ AX, CX
	JB   doubtful
	MOVQ $~below67, AX
	ANDQ R9, AX
	MULQ R14
	MOVQ DX, R9
	MOVQ R8, AX
	MULQ R14
	ADDQ AX, R9
	ADCQ $0, DX
	MOVQ DX, R8
	LEAQ 1(R10)(R15*1), R10
	TESTQ R8, R8
	JMI  normal
	ADDQ R9, R9
	ADCQ R8, R8
	DECQ R10
normal:
	MOVL DI, R11
	JMP  exactly<>(SB)
doubtful:
	XORL AX, AX
	RET

// nearError is what is doubtful of logNearOne's number, but for what comes of s.
#define nearError (1<<52)

// logNearOne returns y * log2(1+num) for num between -1/8 and 1/8 in R8 and R10, with its sign in R13; R14, R15 and DI
// have y. The reference has 67 bits of num*2/ln2, of den = 2+num, and of their quotient, and then of
// log2(1+num) = 2/ln2 * (s + s^3/3 + ...), where s = num/den.
TEXT logNearOne<>(SB), NOSPLIT|NOFRAME, $0-0
	XORL R13, DI
	MOVQ R10, SI
	MOVQ R8, R10
	// R10:R11 = den/2 or, below 1, den, with 127 bits after the point
	MOVL $1, CX
	SUBL SI, CX
	XORL R11, R11
	SHRQ CX, R10, R11
	SHRQ CX, R10
	NEGQ R13
	XORQ R13, R10
	XORQ R13, R11
	SUBQ R13, R11
	SBBQ R13, R10
	BTCQ $63, R10
	TESTQ R13, R13
	JZ   den
	ADDQ R11, R11
	ADCQ R10, R10
	INCQ SI // the quotient's exponent is one more
den:
	MOVQ $~below67, CX
	ANDQ CX, R11
	// num * 2/ln2
	MOVQ R8, R9
	MOVQ ·tables+(routineTables_log2eInternal+8)(SB), AX
	MULQ R9
	MOVQ DX, R12
	MOVQ ·tables+routineTables_log2eInternal(SB), AX
	MULQ R9
	ADDQ R12, AX
	ADCQ $0, DX
	MOVQ DX, R8
	MOVQ AX, R9
	INCQ SI
	TESTQ R8, R8
	JMI  normal
	ADDQ R9, R9
	ADCQ R8, R8
	DECQ SI
normal:
	ANDQ CX, R9
	// The quotient
	CMPQ R9, R11
	MOVQ R8, AX
	SBBQ R10, AX
	JCS  below
	SHRQ $1, R8, R9
	SHRQ $1, R8
	INCQ SI
below:
	DECQ SI
	CALL divide<>(SB)
	TESTL AX, AX
	JZ   doubtful
	DOUBTFUL(R9, 4, doubtful)
	MOVQ $~below67, AX
	ANDQ AX, R9
	// R11:R12 = s * 2^3
	MOVQ ·tables+(routineTables_ln2+8)(SB), AX
	MULQ R8
	MOVQ DX, R12
	MOVQ ·tables+routineTables_ln2(SB), AX
	MULQ R9
	MOVQ DX, CX
	MOVQ ·tables+routineTables_ln2(SB), AX
	MULQ R8
	ADDQ R12, AX
	ADCQ $0, DX
	ADDQ CX, AX
	ADCQ $0, DX
	MOVQ DX, R11
	MOVQ AX, R12
	MOVL $-3, CX
	SUBL SI, CX
	SHRQ CX, R11, R12
	SHRQ CX, R11
	// R10:R11 = s^2 * 2^6
	MOVQ R11, AX
	MULQ R12
	MOVQ DX, R12
	MOVQ R11, AX
	MULQ R11
	MOVQ DX, R10
	MOVQ AX, R11
	ADDQ R12, R11
	ADCQ $0, R10
	ADDQ R12, R11
	ADCQ $0, R10
	// R12 = s^4/5 + s^6/7 + ..., with 14 bits more behind the point
	MOVQ R10, CX
	MOVQ ·tables+routineTables_atanhRest(SB), AX
	SUMMED(·tables+(routineTables_atanhRest+8)(SB))
	SUMMED(·tables+(routineTables_atanhRest+16)(SB))
	SUMMED(·tables+(routineTables_atanhRest+24)(SB))
	SUMMED(·tables+(routineTables_atanhRest+32)(SB))
	SUMMED(·tables+(routineTables_atanhRest+40)(SB))
	SUMMED(·tables+(routineTables_atanhRest+48)(SB))
	SUMMED(·tables+(routineTables_atanhRest+56)(SB))
	MULQ CX
	MOVQ DX, AX
	MULQ CX
	MOVQ DX, R12
	// R10:R11 = s^2/3 and these, with 6 bits more
	MOVQ $0x5555555555555555, R13
	MOVQ R11, AX
	MULQ R13
	MOVQ DX, CX
	MOVQ R10, AX
	MULQ R13
	MOVQ DX, R10
	MOVQ AX, R11
	ADDQ R10, R11
	ADCQ $0, R10
	ADDQ CX, R11
	ADCQ $0, R10
	MOVQ R12, AX
	SHLQ $56, AX
	SHRQ $8, R12
	ADDQ AX, R11
	ADCQ R12, R10
	MOVQ R10, R13
	// The first term and these times it
	MOVQ R11, AX
	MULQ R8
	MOVQ DX, CX
	MOVQ R10, AX
	MULQ R9
	MOVQ DX, R12
	MOVQ R10, AX
	MULQ R8
	ADDQ CX, AX
	ADCQ $0, DX
	ADDQ R12, AX
	ADCQ $0, DX
	SHRQ $6, DX, AX
	SHRQ $6, DX
	MOVQ SI, R10
	ADDQ AX, R9
	ADCQ DX, R8
	JCC  sum
	RCRQ $1, R8
	RCRQ $1, R9
	INCQ R10
sum:
	// s is off by less than 2.5 * 2^-66 of itself.
	MOVQ $nearError, CX
	SHRQ $5, R13
	ADDQ R13, CX
	JMP  times<>(SB)
doubtful:
	XORL AX, AX
	RET

// fastYl2xp1 returns y * log2(1+x).
TEXT fastYl2xp1<>(SB), NOSPLIT|NOFRAME, $0-0
	MOVL R11, DI
	SHRL $15, DI
	ORDINARY(R10, R11, -16382, 16384, none)
	MOVQ R10, R14
	MOVLQSX CX, R15
	MOVL R9, R13
	SHRL $15, R13
	ORDINARY(R8, R9, -40, 1, none)
	MOVLQSX CX, R10
	CMPL CX, $-3
	JGE  large
	JMP  logNearOne<>(SB)
large:
	// 1+x with 126 bits after the point, or 128
	NEGL CX
	XORL R9, R9
	TESTL R13, R13
	JNZ  negative
	INCL CX
	SHRQ CX, R8, R9
	SHRQ CX, R8
	MOVQ $(1<<62), AX
	ADDQ AX, R8
	CALL normalize<>(SB)
	ADDQ $2, R10
	JMP  logFar<>(SB)
negative:
	DECL CX
	JMI  none
	SHRQ CX, R8, R9
	SHRQ CX, R8
	NOTQ R8
	NEGQ R9
	SBBQ $-1, R8
	MOVQ R8, AX
	SHRQ $60, AX
	CMPL AX, $14 // as near 1 as 7/8
	JAE  none
	TESTQ R8, R8
	JZ   none
	CALL normalize<>(SB)
	JMP  logFar<>(SB)
none:
	XORL AX, AX
	RET

#include "go_asm.h"
#include "textflag.h"
#include "routines_amd64.h"

// The routines of FSIN, FCOS, FSINCOS and FPTAN.
DATA ·sineEntries+0(SB)/8, $fastSin<>(SB)
DATA ·sineEntries+8(SB)/8, $fastCos<>(SB)
DATA ·sineEntries+16(SB)/8, $fastSincos<>(SB)
DATA ·sineEntries+24(SB)/8, $fastTan<>(SB)
GLOBL ·sineEntries(SB), NOPTR, $32

// angle takes n*pi/2 from R8 and R9 for the integer n that leaves least. What is left is R8:R9, a fraction of 2^128,
// and DI, 1 if it is negative. n is added to BX.
TEXT angle<>(SB), NOSPLIT|NOFRAME, $0-0
	MOVL R9, CX
	ANDL $0x7fff, CX
	SUBL $16383, CX
	MOVL R9, DI
	SHRL $15, DI
	LEAL 32(CX), AX
	CMPL AX, $(32+50)
	JAE  unusual
	TESTQ R8, R8
	JPL  unusual
	CMPL CX, $-1
	JL   below
	JG   above
	MOVQ $0xc90fdaa22168c235, DX
	CMPQ R8, DX
	JAE  above
below:
	// Less than pi/4.
	NOTL CX
	XORL R9, R9
	SHRQ CX, R8, R9
	SHRQ CX, R8
	MOVL $1, AX
	RET
unusual:
	XORL AX, AX
	RET
above:
	// n is off by at most 1.
	MOVL CX, R11
	MOVQ $0xa2f9836e4e44152a, AX // 2/pi
	MULQ R8
	MOVL $62, CX
	SUBL R11, CX
	SHRQ CX, DX
	INCQ DX
	SHRQ $1, DX
	MOVQ DX, SI
	// With 65 bits after the point, as halfPi has them.
	LEAL 2(R11), CX
	XORL R9, R9
	SHLQ CX, R8, R9
	SHLQ CX, R8
	MOVQ $0x243f6a8885a308d3, AX
	MULQ SI
	LEAQ (SI)(SI*2), R11
	ADDQ R11, DX
	SUBQ AX, R8
	SBBQ DX, R9
	// The absolute value, and its sign in DX.
	MOVQ R9, DX
	SARQ $63, DX
	XORQ DX, R8
	XORQ DX, R9
	SUBQ DX, R8
	SBBQ DX, R9
	// What the next multiple leaves, if that is less.
	MOVQ $0x243f6a8885a308d3, AX
	MOVL $3, R11
	SUBQ R8, AX
	SBBQ R9, R11
	MOVQ R11, R12
	CMPQ AX, R8
	SBBQ R9, R12
	JCC  nearest
	MOVQ AX, R8
	MOVQ R11, R9
	LEAQ 1(SI)(DX*2), SI
	NOTQ DX
nearest:
	MOVQ DI, CX
	NEGQ CX
	XORQ CX, SI
	SUBQ CX, SI
	ADDL SI, BX
	ANDL $1, DX
	XORL DX, DI
	MOVQ R8, AX
	SHRQ $1, R9, R8
	SHLQ $63, AX
	MOVQ AX, R9
	MOVL $1, AX
	RET

// series prepares value for the angle: SI is its 64ths, R14:R15 what is left of it, d * 2^6, R12 is 1 - sin(d)/d,
// with 14 bits more behind the point, R13:R11 is 1 - cos(d), with 13 more. It loses R8, R9 and CX.
TEXT series<>(SB), NOSPLIT|NOFRAME, $0-0
	MOVQ R8, SI
	SHRQ $58, SI
	MOVQ R8, R14
	SHLQ $6, R9, R14
	MOVQ R9, R15
	SHLQ $6, R15
	// z = d^2
	MOVQ R14, AX
	MULQ R15
	MOVQ DX, R9
	MOVQ R14, AX
	MULQ R14
	MOVQ AX, R11
	MOVQ DX, CX
	ADDQ R9, R11
	ADCQ $0, CX
	ADDQ R9, R11
	ADCQ $0, CX
	MOVQ ·tables+routineTables_sine(SB), AX
	HORNER(·tables+(routineTables_sine+8)(SB))
	HORNER(·tables+(routineTables_sine+16)(SB))
	HORNER(·tables+(routineTables_sine+24)(SB))
	MULQ CX
	MOVQ DX, R12
	MOVQ ·tables+routineTables_cosine(SB), AX
	HORNER(·tables+(routineTables_cosine+8)(SB))
	HORNER(·tables+(routineTables_cosine+16)(SB))
	HORNER(·tables+(routineTables_cosine+24)(SB))
	MULQ CX
	MOVQ DX, AX
	// z - z * the sum, which has 15 bits more
	MULQ CX
	SHRQ $15, DX, AX
	SHRQ $15, DX
	MOVQ CX, R13
	SUBQ AX, R11
	SBBQ DX, R13
	RET

// sineError is what value's numbers may be off by.
#define sineError (1<<53)

// value returns the sine of the angle of series, or the cosine if BX is odd, as a positive number. It loses CX.
TEXT value<>(SB), NOSPLIT|NOFRAME, $0-0
	MOVL BX, R10
	ANDL $1, R10
	TESTL SI, SI
	JZ   small
	LEAQ (R10)(SI*2), R10
	SHLQ $5, R10
	LEAQ ·tables+routineTables_sines(SB), AX
	ADDQ AX, R10
	// R8:R9 = slope * sin(d)
	MOVQ 16(R10), AX
	MULQ R15
	MOVQ DX, CX
	MOVQ 24(R10), AX
	MULQ R14
	MOVQ DX, R9
	MOVQ 16(R10), AX
	MULQ R14
	MOVQ DX, R8
	ADDQ CX, R9
	ADCQ $0, R8
	ADDQ AX, R9
	ADCQ $0, R8
	MOVQ R8, AX
	MULQ R12
	SHRQ $14, DX, AX
	SHRQ $14, DX
	SUBQ AX, R9
	SBBQ DX, R8
	SHRQ $6, R8, R9
	SHRQ $6, R8
	// For a cosine it is to be subtracted.
	MOVL BX, AX
	ANDL $1, AX
	NEGQ AX
	XORQ AX, R8
	XORQ AX, R9
	ADDQ 8(R10), R9
	ADCQ 0(R10), R8
	// less base * (1 - cos(d))
	MOVQ 0(R10), AX
	MULQ R11
	SHRQ $13, DX
	MOVQ DX, CX
	MOVQ 8(R10), AX
	MULQ R13
	SHRQ $13, DX
	ADDQ DX, CX
	MOVQ 0(R10), AX
	MULQ R13
	SHRQ $13, DX, AX
	SHRQ $13, DX
	ADDQ CX, AX
	ADCQ $0, DX
	SUBQ AX, R9
	SBBQ DX, R8
	CALL normalize<>(SB)
	MOVL $1, AX
	RET
small:
	TESTL R10, R10
	JNZ  cosine
	TESTQ R14, R14
	JZ   none
	MOVQ R14, R8
	MOVQ R15, R9
	CALL normalize<>(SB)
	SUBQ $6, R10
	MOVQ R8, AX
	MULQ R12
	SHRQ $14, DX, AX
	SHRQ $14, DX
	SUBQ AX, R9
	SBBQ DX, R8
	JMI  normal
	ADDQ R9, R9
	ADCQ R8, R8
	DECQ R10
normal:
	MOVL $1, AX
	RET
cosine:
	MOVQ R13, DX
	MOVQ R11, AX
	SHRQ $13, DX, AX
	SHRQ $13, DX
	JZ   none
	XORL R8, R8
	XORL R9, R9
	SUBQ AX, R9
	SBBQ DX, R8
	MOVQ $-1, R10
	MOVL $1, AX
	RET
none:
	XORL AX, AX
	RET

TEXT fastCos<>(SB), NOSPLIT|NOFRAME, $0-0
	MOVL $1, BX
	JMP  oneSine<>(SB)

TEXT fastSin<>(SB), NOSPLIT|NOFRAME, $0-0
	XORL BX, BX
	JMP  oneSine<>(SB)

TEXT oneSine<>(SB), NOSPLIT|NOFRAME, $0-0
	CALL angle<>(SB)
	TESTL AX, AX
	JZ   none
	CALL series<>(SB)
	JMP  signed<>(SB)
none:
	RET

// signed returns the value of BX's quadrant, with its sign, rounded.
TEXT signed<>(SB), NOSPLIT|NOFRAME, $0-0
	CALL value<>(SB)
	TESTL AX, AX
	JZ   none
	// An even quadrant has the angle's sign; 2 and 3 change it.
	MOVL BX, AX
	NOTL AX
	ANDL DI, AX
	MOVL BX, R11
	SHRL $1, R11
	XORL AX, R11
	ANDL $1, R11
	MOVQ $sineError, CX
	JMP  round<>(SB)
none:
	RET

TEXT fastSincos<>(SB), NOSPLIT|NOFRAME, $0-0
	XORL BX, BX
	CALL angle<>(SB)
	TESTL AX, AX
	JZ   none
	CALL series<>(SB)
	PUSHQ R11
	CALL signed<>(SB)
	POPQ R11
	TESTL AX, AX
	JZ   none
	PUSHQ R8
	PUSHQ R9
	PUSHQ R10
	INCL BX
	CALL signed<>(SB)
	MOVQ R8, R11
	MOVQ R9, R12
	MOVQ R10, R13
	POPQ R10
	POPQ R9
	POPQ R8
none:
	RET

// fastTan's second result is 1, rounded as the tangent is.
TEXT fastTan<>(SB), NOSPLIT|NOFRAME, $0-0
	XORL BX, BX
	CALL angle<>(SB)
	TESTL AX, AX
	JZ   none
	CALL series<>(SB)
	CALL value<>(SB)
	TESTL AX, AX
	JZ   none
	DOUBTFUL(R9, sineError, none)
	PUSHQ R8
	PUSHQ R9
	PUSHQ R10
	INCL BX
	CALL value<>(SB)
	MOVQ R10, R13
	MOVQ R8, R10
	MOVQ R9, R11
	POPQ R14
	POPQ R9
	POPQ R8
	TESTL AX, AX
	JZ   none
	DOUBTFUL(R11, sineError, none)
	MOVQ $~below67, AX
	ANDQ AX, R9
	ANDQ AX, R11
	SUBQ R13, R14
	DECQ R14
	CMPQ R9, R11
	MOVQ R8, AX
	SBBQ R10, AX
	JCS  less
	SHRQ $1, R8, R9
	SHRQ $1, R8
	INCQ R14
less:
	CALL divide<>(SB)
	TESTL AX, AX
	JZ   none
	MOVQ R14, R10
	LEAL -1(BX), R11
	XORL DI, R11
	ANDL $1, R11
	MOVL $8, CX
	CALL round<>(SB)
	MOVQ DX, R11
	NEGQ R11
	BTSQ $63, R11
	MOVL $16383, R12
	SUBL DX, R12
	MOVQ $((1023-65)<<52 | 1<<51), R13
	RET
none:
	XORL AX, AX
	RET

// What the routines of routines_amd64.go share; each file has its own copy. A number with a floating point is R8:R9,
// whose first bit is set, and R10, its exponent. What may fail says so by 0 in RAX.

// HORNER makes AX the next coefficient less AX * CX.
#define HORNER(coefficient) \
	MULQ CX; \
	MOVQ coefficient, AX; \
	SUBQ DX, AX

// SUMMED makes AX the next coefficient plus AX * CX.
#define SUMMED(coefficient) \
	MULQ CX; \
	MOVQ coefficient, AX; \
	ADDQ DX, AX

// DOUBTFUL jumps if the lower half of a number, which is off by less than e, may lie on the other side of what its first
// three bits say.
#define DOUBTFUL(word, e, there) \
	MOVQ $(e), AX; \
	ADDQ word, AX; \
	SHLQ $3, AX; \
	MOVQ $(2*(e)<<3), DX; \
	CMPQ AX, DX; \
	JB   there

// below67 is the bits of a number's lower half that are not among its first 67.
#define below67 (1<<61 - 1)

// ORDINARY jumps if a number is not normal, or its exponent, which it puts into CX, is not of [low, high).
#define ORDINARY(mant, se, low, high, there) \
	MOVL se, CX; \
	ANDL $0x7fff, CX; \
	SUBL $16383, CX; \
	LEAL -(low)(CX), AX; \
	CMPL AX, $((high)-(low)); \
	JAE  there; \
	TESTQ mant, mant; \
	JPL  there

// round makes R8, R9 and R10, as Address says, of the number, whose sign is R11, and which is off by less than CX in
// R9. It loses R11 and DX.
TEXT round<>(SB), NOSPLIT|NOFRAME, $0-0
	LEAQ (R9)(CX*1), AX
	ADDQ AX, AX
	SHLQ $2, CX
	CMPQ AX, CX
	JB   doubtful // near 0 or 1/2
	XORL DX, DX
	SHLQ $1, R9
	ADCL $0, DX
	JMP  rounded<>(SB)
doubtful:
	XORL AX, AX
	RET

// rounded does the same for what is known: DX is 1 if the number is to be rounded up, else 0.
TEXT rounded<>(SB), NOSPLIT|NOFRAME, $0-0
	LEAQ 900(R10), AX
	CMPQ AX, $1800
	JAE  out
	LEAQ 16383(R10), R9
	// 3/4 of the last place, or half of that
	LEAQ (1023-65)(R10)(DX*1), R10
	SHLQ $52, R10
	MOVQ $(1<<51), AX
	ORQ  AX, R10
	MOVQ R11, AX
	SHLQ $63, AX
	ORQ  AX, R10
	SHLL $15, R11
	ORL  R11, R9
	MOVL $1, AX
	RET
out:
	XORL AX, AX
	RET

// exactly does the same for a number that is known to the last bit.
TEXT exactly<>(SB), NOSPLIT|NOFRAME, $0-0
	// More than a half, or half and the last bit is odd.
	MOVQ R8, AX
	ANDQ $1, AX
	XORL DX, DX
	ADDQ AX, R9
	ADCL $0, DX
	MOVQ $(1<<63), AX
	CMPQ AX, R9
	ADCL $0, DX
	JMP  rounded<>(SB)

// normalize makes a number of R8:R9, a fraction of 2^128 whose upper half is not 0. It loses CX.
TEXT normalize<>(SB), NOSPLIT|NOFRAME, $0-0
	BSRQ R8, CX
	XORL $63, CX
	SHLQ CX, R9, R8
	SHLQ CX, R9
	NOTL CX
	MOVLQSX CX, R10
	RET

// divide returns in R8:R9 the quotient R8:R9 / R10:R11, which is below 1, as a fraction of 2^128; R11 has its first bit
// set. The quotient may be too large by 2. It loses R12.
TEXT divide<>(SB), NOSPLIT|NOFRAME, $0-0
	CMPQ R8, R10
	JAE  large
	MOVQ R8, DX
	MOVQ R9, AX
	DIVQ R10
	MOVQ AX, R8
	MOVQ DX, R9
	MULQ R11
	XORL R12, R12
	SUBQ AX, R12
	SBBQ DX, R9
	JCC  positive
negative:
	DECQ R8
	ADDQ R11, R12
	ADCQ R10, R9
	JCC  negative
positive:
	CMPQ R9, R10
	JAE  large
	MOVQ R9, DX
	MOVQ R12, AX
	DIVQ R10
	MOVQ AX, R9
	MOVL $1, AX
	RET
large:
	XORL AX, AX
	RET

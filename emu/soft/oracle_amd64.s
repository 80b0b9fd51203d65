//go:build hostcpu

#include "textflag.h"

// Each function executes one instruction on an x87 just initialised:
// func(in *oracleIn, out *[512]byte). Go's assembler does not know all of the
// instructions, so they are bytes.

#define SETUP \
	MOVQ in+0(FP), AX     \
	MOVQ out+8(FP), DI    \
	BYTE $0xdb; BYTE $0xe3 \ // fninit
	BYTE $0xd9; BYTE $0x68; BYTE $32 \ // fldcw 32(rax)
	BYTE $0xdb; BYTE $0x28 \ // fld tbyte (rax)
	BYTE $0xdb; BYTE $0x68; BYTE $16 // fld tbyte 16(rax)

#define FINISH \
	BYTE $0x48; BYTE $0x0f; BYTE $0xae; BYTE $0x07 \ // fxsave64 (rdi)
	BYTE $0xdb; BYTE $0xe3 \ // fninit
	RET

TEXT ·hostFsin(SB), NOSPLIT, $0-16
	SETUP
	BYTE $0xd9; BYTE $0xfe
	FINISH

TEXT ·hostFcos(SB), NOSPLIT, $0-16
	SETUP
	BYTE $0xd9; BYTE $0xff
	FINISH

TEXT ·hostFsincos(SB), NOSPLIT, $0-16
	SETUP
	BYTE $0xd9; BYTE $0xfb
	FINISH

TEXT ·hostFptan(SB), NOSPLIT, $0-16
	SETUP
	BYTE $0xd9; BYTE $0xf2
	FINISH

TEXT ·hostFpatan(SB), NOSPLIT, $0-16
	SETUP
	BYTE $0xd9; BYTE $0xf3
	FINISH

TEXT ·hostF2xm1(SB), NOSPLIT, $0-16
	SETUP
	BYTE $0xd9; BYTE $0xf0
	FINISH

TEXT ·hostFyl2x(SB), NOSPLIT, $0-16
	SETUP
	BYTE $0xd9; BYTE $0xf1
	FINISH

TEXT ·hostFyl2xp1(SB), NOSPLIT, $0-16
	SETUP
	BYTE $0xd9; BYTE $0xf9
	FINISH

// func hostRcp(x uint32) uint32
TEXT ·hostRcp(SB), NOSPLIT, $0-12
	MOVSS x+0(FP), X0
	RCPSS X0, X0
	MOVSS X0, ret+8(FP)
	RET

// func hostRsqrt(x uint32) uint32
TEXT ·hostRsqrt(SB), NOSPLIT, $0-12
	MOVSS x+0(FP), X0
	RSQRTSS X0, X0
	MOVSS X0, ret+8(FP)
	RET

// func hostCode(in *oracleIn, out *[512]byte, code uintptr)
TEXT ·hostCode(SB), NOSPLIT, $0-24
	SETUP
	MOVQ code+16(FP), CX
	CALL CX // one instruction and RET
	FINISH

#include "textflag.h"

// func request(code uint64, text string) uint64
TEXT ·request(SB), NOSPLIT, $48-32
	MOVQ code+0(FP), AX
	MOVQ AX, words-48(SP)
	MOVQ text_base+8(FP), AX
	MOVQ AX, words-40(SP)
	MOVQ text_len+16(FP), AX
	MOVQ AX, words-32(SP)
	XORL DX, DX
	MOVQ DX, words-24(SP)
	MOVQ DX, words-16(SP)
	MOVQ DX, words-8(SP)
	LEAQ words-48(SP), AX
	// rol $3, $13, $61, $51 on RDI, and xchg on RBX (valgrind.h), in these encodings.
	BYTE $0x48; BYTE $0xc1; BYTE $0xc7; BYTE $0x03
	BYTE $0x48; BYTE $0xc1; BYTE $0xc7; BYTE $0x0d
	BYTE $0x48; BYTE $0xc1; BYTE $0xc7; BYTE $0x3d
	BYTE $0x48; BYTE $0xc1; BYTE $0xc7; BYTE $0x33
	BYTE $0x48; BYTE $0x87; BYTE $0xdb
	MOVQ DX, ret+24(FP)
	RET

//go:build linux

#include "textflag.h"

// Offsets in nativeState.
#define S_XSTATE_BV 512
#define S_REGS   2432
#define S_RIP    2560
#define S_FLAGS  2568
#define S_FSBASE 2576
#define S_GSBASE 2584
#define S_SIG    2592
#define S_TRAP   2600
#define S_ERR    2608
#define S_CR2    2616

// arch_prctl(2), which sets segment bases where user code may not: they stay as they were set, no instruction changes
// them.
#define ARCH_PRCTL  158
#define ARCH_SET_GS 0x1001
#define ARCH_SET_FS 0x1002
#define ARCH_GET_FS 0x1003

// Offsets in struct ucontext: uc_mcontext.gregs begins at 40.
#define UC_R8     40
#define UC_R9     48
#define UC_R10    56
#define UC_R11    64
#define UC_R12    72
#define UC_R13    80
#define UC_R14    88
#define UC_R15    96
#define UC_RDI    104
#define UC_RSI    112
#define UC_RBP    120
#define UC_RBX    128
#define UC_RDX    136
#define UC_RAX    144
#define UC_RCX    152
#define UC_RSP    160
#define UC_RIP    168
#define UC_EFL    176
#define UC_ERR    192
#define UC_TRAPNO 200
#define UC_CR2    216
#define UC_FPREGS 224

// func enterNative(s *nativeState)
//
// Loads s and goes to its RIP. The signal handler brings it back.
TEXT ·enterNative(SB), NOSPLIT|NOFRAME, $0-8
	MOVQ s+0(FP), DI
	MOVQ SP, ·nativeSP(SB)
	MOVQ BP, ·nativeBP(SB)
	CMPB ·userSetsBases(SB), $0
	JE   askFS
	// RDFSBASE R8
	BYTE $0xF3; BYTE $0x49; BYTE $0x0F; BYTE $0xAE; BYTE $0xC0
	MOVQ R8, ·nativeFS(SB)
	JMP  haveFS
askFS:
	MOVQ DI, R12
	MOVQ $ARCH_GET_FS, DI
	LEAQ ·nativeFS(SB), SI
	MOVQ $ARCH_PRCTL, AX
	SYSCALL
	MOVQ R12, DI
haveFS:
	MOVQ DI, ·nativeCurrent(SB)
	MOVQ S_XSTATE_BV(DI), AX
	XORL DX, DX
	// XRSTOR64 (DI)
	BYTE $0x48; BYTE $0x0F; BYTE $0xAE; BYTE $0x2F
	// What IRETQ pops: RIP, CS, RFLAGS, RSP, SS.
	MOVQ S_RIP(DI), AX
	MOVQ AX, -40(SP)
	MOVQ $0x33, -32(SP)
	MOVQ S_FLAGS(DI), AX
	MOVQ AX, -24(SP)
	MOVQ (S_REGS+8*4)(DI), AX
	MOVQ AX, -16(SP)
	MOVQ $0x2b, -8(SP)
	SUBQ $40, SP
	CMPB ·userSetsBases(SB), $0
	JE   askBases
	MOVQ S_GSBASE(DI), AX
	// WRGSBASE RAX
	BYTE $0xF3; BYTE $0x48; BYTE $0x0F; BYTE $0xAE; BYTE $0xD8
	MOVQ S_FSBASE(DI), AX
	// WRFSBASE RAX
	BYTE $0xF3; BYTE $0x48; BYTE $0x0F; BYTE $0xAE; BYTE $0xD0
	JMP  haveBases
askBases:
	MOVQ DI, R12
	MOVQ S_GSBASE(R12), SI
	MOVQ $ARCH_SET_GS, DI
	MOVQ $ARCH_PRCTL, AX
	SYSCALL
	MOVQ S_FSBASE(R12), SI
	MOVQ $ARCH_SET_FS, DI
	MOVQ $ARCH_PRCTL, AX
	SYSCALL
	MOVQ R12, DI
haveBases:
	MOVQ (S_REGS+8*0)(DI), AX
	MOVQ (S_REGS+8*1)(DI), CX
	MOVQ (S_REGS+8*2)(DI), DX
	MOVQ (S_REGS+8*3)(DI), BX
	MOVQ (S_REGS+8*5)(DI), BP
	MOVQ (S_REGS+8*6)(DI), SI
	MOVQ (S_REGS+8*8)(DI), R8
	MOVQ (S_REGS+8*9)(DI), R9
	MOVQ (S_REGS+8*10)(DI), R10
	MOVQ (S_REGS+8*11)(DI), R11
	MOVQ (S_REGS+8*12)(DI), R12
	MOVQ (S_REGS+8*13)(DI), R13
	MOVQ (S_REGS+8*14)(DI), R14
	MOVQ (S_REGS+8*15)(DI), R15
	MOVQ (S_REGS+8*7)(DI), DI
	// IRETQ
	BYTE $0x48; BYTE $0xCF

// nativeExit is where the handler goes on, on the stack of enterNative.
TEXT nativeExit<>(SB), NOSPLIT|NOFRAME, $0
	// FNINIT
	BYTE $0xDB; BYTE $0xE3
	MOVL $0x1f80, -8(SP)
	LDMXCSR -8(SP)
	// VZEROUPPER
	BYTE $0xC5; BYTE $0xF8; BYTE $0x77
	RET

// func nativeHandlerPC() uintptr
TEXT ·nativeHandlerPC(SB), NOSPLIT, $0-8
	LEAQ nativeHandler<>(SB), AX
	MOVQ AX, ret+0(FP)
	RET

// func nativeRestorerPC() uintptr
TEXT ·nativeRestorerPC(SB), NOSPLIT, $0-8
	LEAQ nativeRestorer<>(SB), AX
	MOVQ AX, ret+0(FP)
	RET

// nativeHandler takes the state out of the signal's frame.
TEXT nativeHandler<>(SB), NOSPLIT|NOFRAME|TOPFRAME, $0
	MOVQ ·nativeCurrent(SB), AX
	TESTQ AX, AX
	JZ   notOurs
	MOVQ $0, ·nativeCurrent(SB)
	MOVLQSX DI, R8
	MOVQ R8, S_SIG(AX)
	MOVQ UC_TRAPNO(DX), R8
	MOVQ R8, S_TRAP(AX)
	MOVQ UC_ERR(DX), R8
	MOVQ R8, S_ERR(AX)
	MOVQ UC_CR2(DX), R8
	MOVQ R8, S_CR2(AX)
	MOVQ UC_RAX(DX), R8
	MOVQ R8, (S_REGS+8*0)(AX)
	MOVQ UC_RCX(DX), R8
	MOVQ R8, (S_REGS+8*1)(AX)
	MOVQ UC_RDX(DX), R8
	MOVQ R8, (S_REGS+8*2)(AX)
	MOVQ UC_RBX(DX), R8
	MOVQ R8, (S_REGS+8*3)(AX)
	MOVQ UC_RSP(DX), R8
	MOVQ R8, (S_REGS+8*4)(AX)
	MOVQ UC_RBP(DX), R8
	MOVQ R8, (S_REGS+8*5)(AX)
	MOVQ UC_RSI(DX), R8
	MOVQ R8, (S_REGS+8*6)(AX)
	MOVQ UC_RDI(DX), R8
	MOVQ R8, (S_REGS+8*7)(AX)
	MOVQ UC_R8(DX), R8
	MOVQ R8, (S_REGS+8*8)(AX)
	MOVQ UC_R9(DX), R8
	MOVQ R8, (S_REGS+8*9)(AX)
	MOVQ UC_R10(DX), R8
	MOVQ R8, (S_REGS+8*10)(AX)
	MOVQ UC_R11(DX), R8
	MOVQ R8, (S_REGS+8*11)(AX)
	MOVQ UC_R12(DX), R8
	MOVQ R8, (S_REGS+8*12)(AX)
	MOVQ UC_R13(DX), R8
	MOVQ R8, (S_REGS+8*13)(AX)
	MOVQ UC_R14(DX), R8
	MOVQ R8, (S_REGS+8*14)(AX)
	MOVQ UC_R15(DX), R8
	MOVQ R8, (S_REGS+8*15)(AX)
	MOVQ UC_RIP(DX), R8
	MOVQ R8, S_RIP(AX)
	MOVQ UC_EFL(DX), R8
	MOVQ R8, S_FLAGS(AX)
	CMPB ·userSetsBases(SB), $0
	JE   askNative
	// RDFSBASE R8; RDGSBASE R9
	BYTE $0xF3; BYTE $0x49; BYTE $0x0F; BYTE $0xAE; BYTE $0xC0
	BYTE $0xF3; BYTE $0x49; BYTE $0x0F; BYTE $0xAE; BYTE $0xC9
	MOVQ R8, S_FSBASE(AX)
	MOVQ R9, S_GSBASE(AX)
	MOVQ ·nativeFS(SB), R8
	// WRFSBASE R8
	BYTE $0xF3; BYTE $0x49; BYTE $0x0F; BYTE $0xAE; BYTE $0xD0
	JMP  haveNative
askNative:
	MOVQ AX, R8
	MOVQ ·nativeFS(SB), SI
	MOVQ $ARCH_SET_FS, DI
	MOVQ $ARCH_PRCTL, AX
	SYSCALL
	MOVQ R8, AX
haveNative:
	MOVQ UC_FPREGS(DX), SI
	MOVQ AX, DI
	MOVQ $104, CX
	REP; MOVSQ
	// The components of AVX-512 lie where this host's CPU has them.
	CMPQ ·nativeAreas(SB), $0
	JE   taken
	MOVQ UC_FPREGS(DX), R9
	MOVQ R9, SI
	ADDQ ·nativeAreas(SB), SI
	MOVQ $8, CX
	REP; MOVSQ
	MOVQ R9, SI
	ADDQ ·nativeAreas+8(SB), SI
	MOVQ $64, CX
	REP; MOVSQ
	MOVQ R9, SI
	ADDQ ·nativeAreas+16(SB), SI
	MOVQ $128, CX
	REP; MOVSQ
taken:
	MOVQ ·nativeSP(SB), R8
	MOVQ R8, UC_RSP(DX)
	MOVQ ·nativeBP(SB), R8
	MOVQ R8, UC_RBP(DX)
	MOVQ $0x202, UC_EFL(DX)
	LEAQ nativeExit<>(SB), R8
	MOVQ R8, UC_RIP(DX)
	RET
notOurs:
	MOVLQZX DI, R9
	LEAQ ·goHandlers(SB), AX
	MOVQ (AX)(R9*8), AX
	JMP  AX

// func hostArea(component uint32) uintptr
TEXT ·hostArea(SB), NOSPLIT, $0-16
	MOVL $0xd, AX
	MOVL component+0(FP), CX
	CPUID
	MOVQ BX, ret+8(FP)
	RET

TEXT nativeRestorer<>(SB), NOSPLIT|NOFRAME|TOPFRAME, $0
	MOVQ $15, AX // rt_sigreturn
	SYSCALL
	INT $3

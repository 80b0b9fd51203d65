//go:build linux

#include "textflag.h"

// func enterCode(stub uintptr)
//
// Jumps into the generated entry stub, which saves SP and BP, switches to the
// guest's registers, and comes back through the generated exit stub with RET.
// Everything else is the caller's to save under ABI0.
TEXT ·enterCode(SB), NOSPLIT|NOFRAME, $0-8
	MOVQ stub+0(FP), AX
	JMP  AX

// func setGSBase(base uintptr)
TEXT ·setGSBase(SB), NOSPLIT, $0-8
	MOVQ base+0(FP), AX
	// WRGSBASE RAX
	BYTE $0xF3; BYTE $0x48; BYTE $0x0F; BYTE $0xAE; BYTE $0xD8
	RET

// func serialize()
//
// CPUID makes the processor forget what it fetched ahead.
TEXT ·serialize(SB), NOSPLIT, $0-0
	MOVQ $0, AX
	MOVQ $0, CX
	CPUID
	RET

// func sigHandlerPC() uintptr
TEXT ·sigHandlerPC(SB), NOSPLIT, $0-8
	LEAQ sigHandler<>(SB), AX
	MOVQ AX, ret+0(FP)
	RET

// func sigRestorerPC() uintptr
TEXT ·sigRestorerPC(SB), NOSPLIT, $0-8
	LEAQ sigRestorer<>(SB), AX
	MOVQ AX, ret+0(FP)
	RET

// Offsets in struct ucontext: uc_stack begins at 16, uc_mcontext.gregs at 40.
#define UC_STACK  16
#define UC_RSP    160
#define UC_RIP    168
#define UC_ERR    192
#define UC_TRAPNO 200

// Offsets in the state block; state.go has the same.
#define ST_RSP       0x020
#define ST_NOWHERE   0x0c8
#define ST_EXIT      0x0e8
#define ST_SIGEXIT   0x0f8
#define ST_INGUEST   0x130
#define ST_SIGNO     0x138
#define ST_SIGCODE   0x140
#define ST_SIGADDR   0x148
#define ST_SIGRIP    0x150
#define ST_SIGERR    0x158
#define ST_SIGTRAP   0x160
#define ST_CODELO    0x168
#define ST_CODEHI    0x170
#define ST_FAULTEXIT 0x178
#define ST_TONOWHERE 0x248

#define SIGPROF 27

// sigHandler is the host's handler of SIGSEGV, SIGBUS, SIGFPE, SIGILL,
// SIGTRAP and SIGPROF. What happens in generated code, or while this thread is in guest
// mode (a jump out of generated code), is noted in the state block and execution goes on in the
// fault exit stub, with the guest's registers as they were, but RSP, which is noted. All else is Go's.
//
// SIGPROF is always Go's. Its handler takes a thread whose RIP is 0 for one that has called a nil function, and reads
// the caller from where RSP points, which is the guest's. A lookup that finds nothing has jumped to 0, or to another
// address of the first page, where it will fault: if SIGPROF comes before that, the thread goes on at a stub that jumps
// there again.
TEXT sigHandler<>(SB), NOSPLIT|NOFRAME|TOPFRAME, $0
	MOVQ ·handlerState(SB), AX
	TESTQ AX, AX
	JZ   notOurs
	MOVQ UC_RIP(DX), CX
	CMPQ CX, ST_CODELO(AX)
	JB   outside
	CMPQ CX, ST_CODEHI(AX)
	JAE  outside
	CMPL DI, $SIGPROF
	JE   notOurs
	JMP  ours
outside:
	CMPQ ST_INGUEST(AX), $0
	JE   notOurs
	// Other threads have another signal stack.
	MOVQ UC_STACK(DX), R8
	CMPQ R8, ·handlerStack(SB)
	JNE  notOurs
	CMPL DI, $SIGPROF
	JNE  ours
	CMPQ CX, $4096
	JAE  notOurs
	MOVQ CX, ST_NOWHERE(AX)
	MOVQ ST_TONOWHERE(AX), R8
	MOVQ R8, UC_RIP(DX)
	JMP  notOurs
ours:
	MOVQ CX, ST_SIGRIP(AX)
	MOVLQSX DI, R8
	MOVQ R8, ST_SIGNO(AX)
	MOVLQSX 8(SI), R8
	MOVQ R8, ST_SIGCODE(AX)
	MOVQ 16(SI), R8
	MOVQ R8, ST_SIGADDR(AX)
	MOVQ UC_ERR(DX), R8
	MOVQ R8, ST_SIGERR(AX)
	MOVQ UC_TRAPNO(DX), R8
	MOVQ R8, ST_SIGTRAP(AX)
	MOVQ ST_EXIT(AX), R8
	MOVQ R8, ST_SIGEXIT(AX)
	// Not every kernel can go on with an RSP that is not canonical (interrupted).
	MOVQ UC_RSP(DX), R8
	MOVQ R8, ST_RSP(AX)
	MOVQ $0, UC_RSP(DX)
	MOVQ ST_FAULTEXIT(AX), R8
	MOVQ R8, UC_RIP(DX)
	RET
notOurs:
	MOVQ $0, R9
	MOVLQZX DI, R9
	LEAQ ·goHandlers(SB), AX
	MOVQ (AX)(R9*8), AX
	JMP  AX

TEXT sigRestorer<>(SB), NOSPLIT|NOFRAME|TOPFRAME, $0
	MOVQ $15, AX // rt_sigreturn
	SYSCALL
	INT $3

// func cpuVendor() uint32
//
// The first four letters of the maker's name: CPUID leaf 0, EBX.
TEXT ·cpuVendor(SB), NOSPLIT, $0-4
	MOVQ $0, AX
	MOVQ $0, CX
	CPUID
	MOVL BX, ret+0(FP)
	RET

// func hostRcp(x uint32) uint32
//
// This and the next ones are approximations of single precision: RCPSS, RSQRTSS, VRCP14SS, VRSQRT14SS.
TEXT ·hostRcp(SB), NOSPLIT, $0-12
	RCPSS x+0(FP), X0
	MOVSS X0, ret+8(FP)
	RET

// func hostRsqrt(x uint32) uint32
TEXT ·hostRsqrt(SB), NOSPLIT, $0-12
	RSQRTSS x+0(FP), X0
	MOVSS X0, ret+8(FP)
	RET

// func hostRcp14(x uint32) uint32
TEXT ·hostRcp14(SB), NOSPLIT, $0-12
	VRCP14SS x+0(FP), X0, X0
	MOVSS X0, ret+8(FP)
	RET

// func hostRsqrt14(x uint32) uint32
TEXT ·hostRsqrt14(SB), NOSPLIT, $0-12
	VRSQRT14SS x+0(FP), X0, X0
	MOVSS X0, ret+8(FP)
	RET

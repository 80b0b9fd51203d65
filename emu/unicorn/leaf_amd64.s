//go:build unicorn && linux

#include "go_asm.h"
#include "textflag.h"

// The System V convention: arguments in DI, SI, DX, CX, R8, R9; AX, CX, DX, SI, DI and R8 to R11 are
// free.

// void codeHook(uc_engine *uc, uint64_t address, uint32_t size, state *user)
TEXT ·codeHook(SB), NOSPLIT|NOFRAME, $0-0
	MOVQ SI, state_last(CX)
	CMPQ SI, state_pass(CX)
	JEQ  pass
	MOVQ SI, AX
	SHRQ $const_pageBits, AX
	CMPQ AX, state_page(CX)
	JNE  find

have:
	MOVQ  state_base(CX), R8
	MOVQ  SI, R9
	ANDQ  $4095, R9
	LEAQ  (R8)(R9*8), R8
	MOVQ  (R8), R9
	TESTQ R9, R9
	JLT   stop
	MOVQ  state_executed(CX), R10
	CMPQ  R10, state_limit(CX)
	JCC   stop
	MOVQ  state_ring(CX), R11
	CMPQ  R11, state_ringEnd(CX)
	JHI   stop
	CMPQ  state_budgeted(CX), $0
	JNE   budget

count:
	INCQ  (R8)
	INCQ  R10
	MOVQ  R10, state_executed(CX)
	TESTQ R11, R11
	JEQ   done
	MOVQ  SI, AX
	BTSQ  $63, AX
	MOVQ  AX, (R11)
	ADDQ  $8, R11
	MOVQ  R11, state_ring(CX)

done:
	RET

pass:
	MOVQ state_thenPass(CX), AX
	MOVQ AX, state_pass(CX)
	RET

find:
	MOVQ  AX, R9
	SHRQ  $const_radixBits, R9
	CMPQ  R9, $const_radixSize
	JCC   stop
	MOVQ  state_root(CX), R8
	MOVQ  (R8)(R9*8), R8
	TESTQ R8, R8
	JEQ   stop
	MOVQ  AX, R9
	ANDQ  $(const_radixSize-1), R9
	MOVQ  (R8)(R9*8), R8
	TESTQ R8, R8
	JEQ   stop
	MOVQ  AX, state_page(CX)
	MOVQ  R8, state_base(CX)
	JMP   have

budget:
	MOVQ  state_jump(CX), AX
	TESTQ AX, AX
	JEQ   straight
	MOVQ  $0, state_jump(CX)
	CMPQ  SI, state_next(CX)
	JEQ   straight
	SUBQ  AX, state_budget(CX)
	JLT   over

straight:
	INCQ state_run(CX)
	SHRQ $61, R9
	JNE  ends
	CMPQ state_run(CX), $const_maxRun
	JCS  count
	MOVQ $0, state_run(CX)
	JMP  count

ends:
	MOVQ state_run(CX), AX
	MOVQ $0, state_run(CX)
	CMPQ R9, $2
	JCS  count
	JEQ  check
	MOVQ AX, state_jump(CX)
	MOVL DX, DX
	ADDQ SI, DX
	MOVQ DX, state_next(CX)
	JMP  count

check:
	SUBQ AX, state_budget(CX)
	JGE  count

over:
	MOVQ $1, state_over(CX)

stop:
	MOVQ SI, state_at(CX)
	MOVQ state_stop(CX), AX
	JMP  AX

// void memHook(uc_engine *uc, uc_mem_type type, uint64_t address, int size, int64_t value, state *user)
TEXT ·memHook(SB), NOSPLIT|NOFRAME, $0-0
	MOVQ  state_ring(R9), AX
	TESTQ AX, AX
	JEQ   done
	SHLQ  $16, DX
	SHRQ  $16, DX
	CMPL  SI, $const_memWrite
	JNE   put
	BTSQ  $62, DX

put:
	MOVQ DX, (AX)
	ADDQ $8, AX
	MOVQ AX, state_ring(R9)

done:
	RET

// bool invalidHook(uc_engine *uc, uc_mem_type type, uint64_t address, int size, int64_t value, state *user)
TEXT ·invalidHook(SB), NOSPLIT|NOFRAME, $0-0
	MOVQ DX, state_faultAddr(R9)
	MOVL CX, CX
	MOVQ CX, state_faultSize(R9)
	XORL AX, AX
	RET

// void intrHook(uc_engine *uc, uint32_t intno, state *user)
TEXT ·intrHook(SB), NOSPLIT|NOFRAME, $0-0
	MOVL SI, SI
	INCQ SI
	MOVQ SI, state_vector(DX)
	MOVQ state_stop(DX), AX
	JMP  AX

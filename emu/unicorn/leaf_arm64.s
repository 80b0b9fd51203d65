//go:build unicorn && linux

#include "go_asm.h"
#include "textflag.h"

// The procedure call standard: arguments in R0 to R7; R0 to R17 are free.

// void codeHook(uc_engine *uc, uint64_t address, uint32_t size, state *user)
TEXT ·codeHook(SB), NOSPLIT|NOFRAME, $0-0
	MOVD R1, state_last(R3)
	MOVD state_pass(R3), R4
	CMP  R4, R1
	BEQ  pass
	LSR  $const_pageBits, R1, R4
	MOVD state_page(R3), R5
	CMP  R5, R4
	BNE  find

have:
	MOVD state_base(R3), R6
	AND  $4095, R1, R7
	ADD  R7<<3, R6, R6
	MOVD (R6), R7
	TBNZ $63, R7, stop
	MOVD state_executed(R3), R8
	MOVD state_limit(R3), R9
	CMP  R9, R8
	BHS  stop
	MOVD state_ring(R3), R10
	MOVD state_ringEnd(R3), R11
	CMP  R11, R10
	BHI  stop
	MOVD state_budgeted(R3), R11
	CBNZ R11, budget

count:
	MOVD (R6), R7
	ADD  $1, R7
	MOVD R7, (R6)
	ADD  $1, R8
	MOVD R8, state_executed(R3)
	CBZ  R10, done
	ORR  $(1<<63), R1, R11
	MOVD R11, (R10)
	ADD  $8, R10
	MOVD R10, state_ring(R3)

done:
	RET

pass:
	MOVD state_thenPass(R3), R4
	MOVD R4, state_pass(R3)
	RET

find:
	LSR  $const_radixBits, R4, R5
	LSR  $const_radixBits, R5, R6
	CBNZ R6, stop
	MOVD state_root(R3), R6
	ADD  R5<<3, R6, R6
	MOVD (R6), R6
	CBZ  R6, stop
	AND  $(const_radixSize-1), R4, R5
	ADD  R5<<3, R6, R6
	MOVD (R6), R6
	CBZ  R6, stop
	MOVD R4, state_page(R3)
	MOVD R6, state_base(R3)
	B    have

budget:
	MOVD state_jump(R3), R11
	CBZ  R11, straight
	MOVD ZR, state_jump(R3)
	MOVD state_next(R3), R12
	CMP  R12, R1
	BEQ  straight
	MOVD state_budget(R3), R12
	SUB  R11, R12
	MOVD R12, state_budget(R3)
	TBNZ $63, R12, over

straight:
	MOVD state_run(R3), R11
	ADD  $1, R11
	MOVD R11, state_run(R3)
	LSR  $61, R7, R7
	CBNZ R7, ends
	CMP  $const_maxRun, R11
	BLO  count
	MOVD ZR, state_run(R3)
	B    count

ends:
	MOVD ZR, state_run(R3)
	CMP  $2, R7
	BLO  count
	BEQ  check
	MOVD R11, state_jump(R3)
	MOVWU R2, R2
	ADD  R1, R2, R2
	MOVD R2, state_next(R3)
	B    count

check:
	MOVD state_budget(R3), R12
	SUB  R11, R12
	MOVD R12, state_budget(R3)
	TBZ  $63, R12, count

over:
	MOVD $1, R11
	MOVD R11, state_over(R3)

stop:
	MOVD R1, state_at(R3)
	MOVD state_stop(R3), R16
	B    (R16)

// void memHook(uc_engine *uc, uc_mem_type type, uint64_t address, int size, int64_t value, state *user)
TEXT ·memHook(SB), NOSPLIT|NOFRAME, $0-0
	MOVD state_ring(R5), R6
	CBZ  R6, done
	LSL  $16, R2, R2
	LSR  $16, R2, R2
	CMPW $const_memWrite, R1
	BNE  put
	ORR  $(1<<62), R2, R2

put:
	MOVD R2, (R6)
	ADD  $8, R6
	MOVD R6, state_ring(R5)

done:
	RET

// bool invalidHook(uc_engine *uc, uc_mem_type type, uint64_t address, int size, int64_t value, state *user)
TEXT ·invalidHook(SB), NOSPLIT|NOFRAME, $0-0
	MOVD  R2, state_faultAddr(R5)
	MOVWU R3, R3
	MOVD  R3, state_faultSize(R5)
	MOVD  ZR, R0
	RET

// void intrHook(uc_engine *uc, uint32_t intno, state *user)
TEXT ·intrHook(SB), NOSPLIT|NOFRAME, $0-0
	MOVWU R1, R1
	ADD   $1, R1, R1
	MOVD  R1, state_vector(R2)
	MOVD  state_stop(R2), R16
	B     (R16)

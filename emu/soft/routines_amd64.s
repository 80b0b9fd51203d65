#include "textflag.h"

// func callRoutine(entry uintptr, x, y F80, r *routineResults) (ok bool)
TEXT ·callRoutine(SB), NOSPLIT, $0-49
	MOVQ x_Mant+8(FP), R8
	MOVWLZX x_SE+16(FP), R9
	MOVQ y_Mant+24(FP), R10
	MOVWLZX y_SE+32(FP), R11
	MOVQ entry+0(FP), AX
	CALL AX
	MOVQ r+40(FP), CX
	MOVQ R8, 0(CX)
	MOVQ R9, 8(CX)
	MOVQ R10, 16(CX)
	MOVQ R11, 24(CX)
	MOVQ R12, 32(CX)
	MOVQ R13, 40(CX)
	MOVB AX, ok+48(FP)
	RET

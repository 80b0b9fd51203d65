//go:build unicorn && linux && (amd64 || arm64)

#include "textflag.h"

// The addresses of the hooks, which Go cannot take: it would get those of wrappers.
DATA ·codeHookAddr(SB)/8, $·codeHook(SB)
GLOBL ·codeHookAddr(SB), NOPTR|RODATA, $8
DATA ·memHookAddr(SB)/8, $·memHook(SB)
GLOBL ·memHookAddr(SB), NOPTR|RODATA, $8
DATA ·invalidHookAddr(SB)/8, $·invalidHook(SB)
GLOBL ·invalidHookAddr(SB), NOPTR|RODATA, $8
DATA ·intrHookAddr(SB)/8, $·intrHook(SB)
GLOBL ·intrHookAddr(SB), NOPTR|RODATA, $8

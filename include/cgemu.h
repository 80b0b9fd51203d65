/*
 * cgemu.h: what a program says to cgemu, so that only a part of it is counted.
 *
 * MIT License
 *
 * Copyright (c) 2026 The cgemu authors
 *
 * Permission is hereby granted, free of charge, to any person obtaining a copy
 * of this software and associated documentation files (the "Software"), to deal
 * in the Software without restriction, including without limitation the rights
 * to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
 * copies of the Software, and to permit persons to whom the Software is
 * furnished to do so, subject to the following conditions:
 *
 * The above copyright notice and this permission notice shall be included in all
 * copies or substantial portions of the Software.
 *
 * THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
 * IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
 * FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
 * AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
 * LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
 * OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
 * SOFTWARE.
 *
 * For C and C++, by gcc, clang and what understands their inline assembly, for
 * x86-64 Linux. Elsewhere the macros are nothing. This file needs no other.
 *
 *     cgemu --instr-at-start=no ./program
 *
 *     CGEMU_START;
 *     work();
 *     CGEMU_STOP;
 *
 * Without cgemu each macro executes some ten instructions without effect. Under
 * cgemu a request is one of these, of 19 bytes, and counts as one: CGEMU_START is
 * not counted itself, CGEMU_STOP is, and so are the instructions in front of it
 * that write its code and arguments to the stack.
 */
#ifndef CGEMU_H
#define CGEMU_H

/*
 * Requests, made as Valgrind's (valgrind.h): RAX holds the address of six words, a
 * code and five arguments; RDX receives the result and holds, before, what it is to
 * be when nobody answers. The codes are ('C'<<24) + ('E'<<16) + 0 ... 6.
 */
#define CGEMU_REQUEST_START   0x43450000ul
#define CGEMU_REQUEST_STOP    0x43450001ul
#define CGEMU_REQUEST_ZERO    0x43450002ul
#define CGEMU_REQUEST_DUMP    0x43450003ul
#define CGEMU_REQUEST_DUMP_AT 0x43450004ul /* string, length or 0 if a NUL ends it */
#define CGEMU_REQUEST_TOGGLE  0x43450005ul
#define CGEMU_REQUEST_RUNNING 0x43450006ul /* 1 under cgemu */

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__ILP32__)

static __inline__ __attribute__((__always_inline__, __unused__)) unsigned long
cgemu_request(unsigned long code, unsigned long arg)
{
    volatile unsigned long words[6];
    unsigned long result = 0;
    words[0] = code;
    words[1] = arg;
    words[2] = words[3] = words[4] = words[5] = 0;
    __asm__ __volatile__(
        "rolq $3, %%rdi\n\trolq $13, %%rdi\n\trolq $61, %%rdi\n\trolq $51, %%rdi\n\t"
        "xchgq %%rbx, %%rbx"
        : "+d"(result)
        : "a"(&words[0])
        : "cc", "memory");
    return result;
}

#else

#define cgemu_request(code, arg) (0ul)

#endif

/* Count from here on, and simulate caches and branches if asked to. */
#define CGEMU_START ((void)cgemu_request(CGEMU_REQUEST_START, 0))
/* Neither count nor simulate from here on. */
#define CGEMU_STOP ((void)cgemu_request(CGEMU_REQUEST_STOP, 0))
/* Forget what was counted so far. */
#define CGEMU_ZERO ((void)cgemu_request(CGEMU_REQUEST_ZERO, 0))
/* Write what was counted so far to a file of its own, and forget it. */
#define CGEMU_DUMP ((void)cgemu_request(CGEMU_REQUEST_DUMP, 0))
/* The same; the file says why, in a line. The name is a C string. */
#define CGEMU_DUMP_AT(name) ((void)cgemu_request(CGEMU_REQUEST_DUMP_AT, (unsigned long)(name)))
/* Stop counting, or count again; caches and branches are simulated all the time. */
#define CGEMU_TOGGLE ((void)cgemu_request(CGEMU_REQUEST_TOGGLE, 0))
/* 1 under cgemu, 0 elsewhere. */
#define CGEMU_RUNNING (cgemu_request(CGEMU_REQUEST_RUNNING, 0))

#endif /* CGEMU_H */

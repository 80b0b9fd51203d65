/* A small machine, interpreted by a switch and by computed gotos: indirect branches of many targets. */
#include <stdarg.h>
#include <stdio.h>
enum { PUSH, ADD, SUB, MUL, LOAD, STORE, JNZ, JLT, JMP, CALL, RET, AGET, ASET, MOD, HALT };

/* The program: primes below 400 by a sieve, then a Fibonacci number by recursion. */
static short code[128];
static int at;

static void emit(int n, ...)
{
    va_list l;
    va_start(l, n);
    while (n--)
        code[at++] = va_arg(l, int);
    va_end(l);
}

static int assemble(void)
{
    int outer, inner, patch1, patch2, patch3, fib, start;
    emit(4, PUSH, 2, STORE, 0);
    outer = at;
    emit(5, LOAD, 0, AGET, JNZ, 0), patch1 = at - 1;
    emit(7, LOAD, 1, PUSH, 1, ADD, STORE, 1);
    emit(7, LOAD, 0, LOAD, 0, ADD, STORE, 2);
    inner = at;
    emit(6, LOAD, 2, PUSH, 400, JLT, 0), patch2 = at - 1;
    emit(2, JMP, 0), patch3 = at - 1;
    code[patch2] = at;
    emit(5, PUSH, 1, LOAD, 2, ASET);
    emit(9, LOAD, 2, LOAD, 0, ADD, STORE, 2, JMP, inner);
    code[patch1] = code[patch3] = at;
    emit(7, LOAD, 0, PUSH, 1, ADD, STORE, 0);
    emit(6, LOAD, 0, PUSH, 400, JLT, outer);
    emit(3, PUSH, 15, CALL), emit(1, 0), start = at - 1;
    emit(4, LOAD, 1, ADD, HALT);
    fib = code[start] = at; /* n on the stack; result too */
    emit(2, STORE, 3);
    emit(6, LOAD, 3, PUSH, 2, JLT, 0), patch1 = at - 1;
    emit(2, LOAD, 3);                            /* kept below the call */
    emit(7, LOAD, 3, PUSH, 1, SUB, CALL, fib);   /* n f(n-1) */
    emit(4, STORE, 4, STORE, 3);                 /* swap them */
    emit(2, LOAD, 4);
    emit(7, LOAD, 3, PUSH, 2, SUB, CALL, fib);
    emit(2, ADD, RET);
    code[patch1] = at;
    emit(3, LOAD, 3, RET);
    return at;
}

static int by_switch(void)
{
    static int stack[1000], array[400], vars[8], calls[100];
    int *sp = stack, *cp = calls, pc = 0;
    for (int i = 0; i < 8; i++)
        vars[i] = 0;
    for (int i = 0; i < 400; i++)
        array[i] = 0;
    for (;;)
        switch (code[pc++]) {
        case PUSH: *sp++ = code[pc++]; break;
        case ADD: sp--; sp[-1] += *sp; break;
        case SUB: sp--; sp[-1] -= *sp; break;
        case MUL: sp--; sp[-1] *= *sp; break;
        case MOD: sp--; sp[-1] %= *sp; break;
        case LOAD: *sp++ = vars[code[pc++]]; break;
        case STORE: vars[code[pc++]] = *--sp; break;
        case JNZ: pc = *--sp ? code[pc] : pc + 1; break;
        case JLT: sp -= 2; pc = sp[0] < sp[1] ? code[pc] : pc + 1; break;
        case JMP: pc = code[pc]; break;
        case CALL: *cp++ = pc + 1; pc = code[pc]; break;
        case RET: pc = *--cp; break;
        case AGET: sp[-1] = array[sp[-1]]; break;
        case ASET: sp -= 2; array[sp[1]] = sp[0]; break;
        case HALT: return sp[-1];
        }
}

static int by_goto(void)
{
    static void *const labels[] = {&&push, &&add, &&sub, &&mul, &&load, &&store, &&jnz, &&jlt, &&jmp, &&call, &&ret, &&aget, &&aset, &&mod, &&halt};
    static int stack[1000], array[400], vars[8], calls[100];
    int *sp = stack, *cp = calls;
    const short *pc = code;
#define NEXT goto *labels[*pc++]
    NEXT;
push: *sp++ = *pc++; NEXT;
add: sp--; sp[-1] += *sp; NEXT;
sub: sp--; sp[-1] -= *sp; NEXT;
mul: sp--; sp[-1] *= *sp; NEXT;
mod: sp--; sp[-1] %= *sp; NEXT;
load: *sp++ = vars[*pc++]; NEXT;
store: vars[*pc++] = *--sp; NEXT;
jnz: pc = *--sp ? code + *pc : pc + 1; NEXT;
jlt: sp -= 2; pc = sp[0] < sp[1] ? code + *pc : pc + 1; NEXT;
jmp: pc = code + *pc; NEXT;
call: *cp++ = pc + 1 - code; pc = code + *pc; NEXT;
ret: pc = code + *--cp; NEXT;
aget: sp[-1] = array[sp[-1]]; NEXT;
aset: sp -= 2; array[sp[1]] = sp[0]; NEXT;
halt: return sp[-1];
}

int main(void)
{
    int length = assemble();
    for (int i = 0; i < 3; i++)
        printf("%d %d %d\n", length, by_switch(), i ? 0 : by_goto());
    return 0;
}

// Makes all requests of HEADER: 1 cgemu.h, 3 callgrind.h. Prints what CGEMU_RUNNING says.
#include <stdio.h>
#include <valgrind/callgrind.h>
#include "../../include/cgemu.h"
#if HEADER == 1
#define ZERO CGEMU_ZERO
#define DUMP CGEMU_DUMP
#define DUMP_AT(name) CGEMU_DUMP_AT(name)
#define TOGGLE CGEMU_TOGGLE
#else
#define ZERO CALLGRIND_ZERO_STATS
#define DUMP CALLGRIND_DUMP_STATS
#define DUMP_AT(name) CALLGRIND_DUMP_STATS_AT(name)
#define TOGGLE CALLGRIND_TOGGLE_COLLECT
#endif
#define NOPS(n) __asm__ volatile(".rept " #n "\n\tnop\n\t.endr")

__attribute__((noinline)) void forgotten(void) { NOPS(100); }
__attribute__((noinline)) void first(void) { NOPS(200); }
__attribute__((noinline)) void second(void) { NOPS(300); }
__attribute__((noinline)) void skipped(void) { NOPS(400); }
__attribute__((noinline)) void last(void) { NOPS(500); }

int main(void)
{
    printf("%lu %u\n", CGEMU_RUNNING, (unsigned)RUNNING_ON_VALGRIND);
    fflush(stdout);
    forgotten();
    ZERO;
    first();
    DUMP;
    second();
    TOGGLE;
    skipped();
    TOGGLE;
    DUMP_AT("the second");
    last();
    return 0;
}

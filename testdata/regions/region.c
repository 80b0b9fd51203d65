// Says by HEADER's requests what to count: 1 cgemu.h, 2 cachegrind.h, 3 callgrind.h. C and C++.
#if HEADER == 1
#include "../../include/cgemu.h"
#define START CGEMU_START
#define STOP CGEMU_STOP
#elif HEADER == 2
#include <valgrind/valgrind.h>
// cachegrind.h of Valgrind 3.22 and later; 3.19 has none.
#define START VALGRIND_DO_CLIENT_REQUEST_STMT(VG_USERREQ_TOOL_BASE('C', 'G'), 0, 0, 0, 0, 0)
#define STOP VALGRIND_DO_CLIENT_REQUEST_STMT(VG_USERREQ_TOOL_BASE('C', 'G') + 1, 0, 0, 0, 0, 0)
#elif HEADER == 3
#include <valgrind/callgrind.h>
#define START CALLGRIND_START_INSTRUMENTATION
#define STOP CALLGRIND_STOP_INSTRUMENTATION
#endif

#ifdef __cplusplus
extern "C" {
#endif
__attribute__((noinline)) void outside(void)
{
    __asm__ volatile(".rept 500\n\tnop\n\t.endr");
}

__attribute__((noinline)) void inside(void)
{
    __asm__ volatile(".rept 1000\n\tnop\n\t.endr");
}

#ifdef __cplusplus
}
#endif

int main(void)
{
    outside();
    START;
    inside();
    STOP;
    outside();
    return 0;
}

// Leaves recursion by longjmp. For musl, whose setjmp is a symbol without a size.
#include <setjmp.h>

static jmp_buf here;

__attribute__((noipa)) void deep(int n)
{
    __asm__ volatile("nop; nop; nop");
    if (!n)
        longjmp(here, 1);
    deep(n - 1);
    __asm__ volatile("nop");
}

__attribute__((noipa)) void outer(void)
{
    __asm__ volatile(".rept 50; nop; .endr");
}

int main(void)
{
    for (int i = 0; i < 4; i++) {
        if (!setjmp(here))
            deep(i);
        outer();
    }
    return 0;
}

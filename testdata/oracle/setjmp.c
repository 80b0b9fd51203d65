#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
static jmp_buf out;
static sigjmp_buf sig;
static void deep(int n)
{
    volatile int here = n;
    if (n == 0)
        longjmp(out, 7);
    deep(n - 1);
    here++;
}
static void on(int s) { siglongjmp(sig, s); }
int main(void)
{
    volatile int sum = 0;
    for (volatile int i = 0; i < 50; i++) {
        int v = setjmp(out);
        if (v == 0)
            deep(i);
        sum += v;
    }
    signal(SIGUSR1, on);
    for (volatile int i = 0; i < 10; i++) {
        if (sigsetjmp(sig, 1) == 0)
            raise(SIGUSR1);
        sum++;
    }
    printf("%d\n", sum);
    return 0;
}

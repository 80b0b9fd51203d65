// Leaves functions in every way.
#include <csetjmp>
#include <cstdlib>
#include <csignal>
#include <cstring>

static jmp_buf where;
static sigjmp_buf sigwhere;
volatile int sink;

#define NOPS(n) __asm__ volatile(".rept " #n "\n\tnop\n\t.endr")
#define NOINLINE __attribute__((noinline, noclone, noipa))

NOINLINE void outer(int n);

NOINLINE void leaf(int n)
{
    NOPS(7);
    sink += n;
}

// Returns.
NOINLINE void plain(int n)
{
    NOPS(11);
    leaf(n);
}

// Calls itself, and leaf.
NOINLINE int recursive(int n)
{
    NOPS(3);
    leaf(n);
    if (n == 0)
        return 0;
    return recursive(n - 1) + n;
}

// Leaves by longjmp from three levels below.
NOINLINE void jumper(int n)
{
    NOPS(13);
    if (n == 0)
        longjmp(where, 1);
    jumper(n - 1);
    NOPS(1);
}

// Leaves by an exception, after one that it catches itself.
NOINLINE void thrower(int n)
{
    NOPS(17);
    if (n == 1)
        throw n;
    try {
        thrower(1);
    } catch (int) {
        NOPS(19);
    }
    throw 2.0;
}

// Is left by a signal handler.
NOINLINE void faulter()
{
    NOPS(23);
    *(volatile int *)16 = 1;
}

static void handler(int)
{
    leaf(1);
    siglongjmp(sigwhere, 1);
}

// Calls functions that may be toggled too.
NOINLINE void outer(int n)
{
    NOPS(29);
    plain(n);
    NOPS(31);
}

NOINLINE void between(int n)
{
    NOPS(5);
    leaf(n);
}

int main()
{
    static char stack[65536];
    stack_t alt;
    memset(&alt, 0, sizeof alt);
    alt.ss_sp = stack;
    alt.ss_size = sizeof stack;
    sigaltstack(&alt, 0);
    for (int i = 0; i < 3; i++) {
        plain(i);
        between(i);
        recursive(5);
        between(i);
        if (setjmp(where) == 0)
            jumper(3);
        between(i);
        try {
            thrower(0);
        } catch (double) {
            between(i);
        }
        between(i);
        struct sigaction sa;
        memset(&sa, 0, sizeof sa);
        sa.sa_handler = handler;
        sa.sa_flags = i == 1 ? SA_ONSTACK : 0;
        sigaction(SIGSEGV, &sa, 0);
        if (sigsetjmp(sigwhere, 1) == 0)
            faulter();
        between(i);
        outer(i);
        between(i);
    }
    return 0;
}

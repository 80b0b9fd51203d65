/* Locked instructions, bits of arrays, exchanges and loops by loop and jrcxz. */
#include <stdatomic.h>
#include <stdio.h>
static atomic_ullong counters[128];
static atomic_uchar flags[300];
static unsigned long bits[64];
static __int128 wide __attribute__((aligned(16)));

static int test_and_set(long n)
{
    int was;
    __asm__ volatile("lock btsq %2,%1; sbb %0,%0" : "=r"(was), "+m"(bits) : "r"(n) : "cc");
    return was;
}

static int test(long n)
{
    int is;
    __asm__ volatile("btq %2,%1; sbb %0,%0" : "=r"(is) : "m"(bits), "r"(n) : "cc");
    return is;
}

static int complement(long n)
{
    int was;
    __asm__ volatile("btcl %2,%1; sbb %0,%0" : "=r"(was), "+m"(bits) : "r"((int)n) : "cc");
    return was;
}

static long loops(long n)
{
    long sum = 0;
    __asm__ volatile("jrcxz 2f\n1: add %1,%0\n test $3,%b1\n loopne 1b\n inc %0\n jrcxz 2f\n dec %1\n loop 1b\n2:" : "+r"(sum), "+c"(n)::"cc");
    return sum;
}

int main(void)
{
    unsigned long sum = 0, seed = 5;
    for (int i = 0; i < 6000; i++) {
        seed = seed * 6364136223846793005 + 1442695040888963407;
        unsigned n = seed >> 40;
        atomic_fetch_add(&counters[n % 128], i);
        atomic_fetch_or(&counters[n / 3 % 128], 1);
        atomic_fetch_xor(&counters[n / 5 % 128], n);
        sum += atomic_exchange(&counters[n / 7 % 128], i);
        unsigned long long want = n % 2 ? i : counters[n % 64];
        sum += atomic_compare_exchange_strong(&counters[n % 64], &want, n);
        sum += atomic_fetch_sub(&flags[n % 300], 3) + atomic_fetch_and(&flags[n / 11 % 300], 0x7e);
        sum += test_and_set(n % 4096) + 2 * test(n / 2 % 4096) + complement(n / 4 % 4096);
        if (i % 64 == 0)
            sum = sum * 31 + loops(n % 20);
        __int128 old = wide, new = old + n;
        unsigned long lo = old, hi = old >> 64;
        __asm__ volatile("lock cmpxchg16b %0" : "+m"(wide), "+a"(lo), "+d"(hi) : "b"((unsigned long)new), "c"((unsigned long)(new >> 64)) : "cc");
    }
    for (int i = 0; i < 64; i++)
        sum = sum * 31 + bits[i] + counters[i];
    printf("%lu %lu\n", sum, (unsigned long)wide);
    return 0;
}

#include <stdio.h>
typedef unsigned __int128 u128;
static unsigned long powmod(unsigned long b, unsigned long e, unsigned long m)
{
    unsigned long r = 1;
    for (; e; e >>= 1, b = (u128)b * b % m)
        if (e & 1)
            r = (u128)r * b % m;
    return r;
}
int main(void)
{
    u128 f = 1;
    __int128 s = 0;
    for (int i = 1; i <= 33; i++) {
        f *= i;
        s += (__int128)f / (i * 1000003L) - ((__int128)1 << i * 3) % (i + 7);
        s = i & 1 ? -s : s >> 1;
    }
    double d = (double)f;
    printf("%016lx%016lx %016lx %lu %.10g %d\n", (unsigned long)(f >> 64), (unsigned long)f, (unsigned long)s,
           powmod(3, 1000000006, 1000000007), d, s < 0);
    return 0;
}

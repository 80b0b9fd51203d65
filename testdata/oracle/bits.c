#include <stdint.h>
#include <stdio.h>
static uint64_t reverse(uint64_t x)
{
    x = x >> 1 & 0x5555555555555555 | (x & 0x5555555555555555) << 1;
    x = x >> 2 & 0x3333333333333333 | (x & 0x3333333333333333) << 2;
    x = x >> 4 & 0x0f0f0f0f0f0f0f0f | (x & 0x0f0f0f0f0f0f0f0f) << 4;
    return __builtin_bswap64(x);
}
int main(void)
{
    uint64_t x = 0x123456789abcdef, s = 0;
    for (int i = 1; i < 500; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        s += __builtin_popcountll(x) + __builtin_clzll(x) * 3 + __builtin_ctzll(x) * 5 + __builtin_parityll(x);
        s ^= reverse(x) + (x << i % 64 | x >> (64 - i % 64) % 64);
        s += (int64_t)x >> 7 ^ (int8_t)x * (int16_t)(x >> 8) + (uint32_t)x % (i | 1) + (int64_t)s / i;
        if (x >> 17 & 1)
            s = s * 3 + (x & -x);
    }
    printf("%016llx\n", (unsigned long long)s);
    return 0;
}

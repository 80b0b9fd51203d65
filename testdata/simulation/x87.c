/* long double: references of ten bytes, which straddle lines, integer conversions and the state's 28 and
   108 bytes. All numbers are integers that fit a double: Valgrind computes with doubles. */
#include <stdio.h>
#include <string.h>
#pragma pack(push, 1)
static struct {
    char shift;
    struct { long double x; short pad; } v[300];
} packed;
#pragma pack(pop)
static long double polynomial[12], results[200];
static double bound = 500;
static char environment[28], state[108];

static long double horner(long double x)
{
    long double y = 0;
    for (int i = 0; i < 12; i++)
        y = y * x + polynomial[i];
    return y;
}

int main(void)
{
    unsigned long sum = 0;
    for (int i = 0; i < 12; i++)
        polynomial[i] = i % 3 - 1;
    for (int i = 0; i < 300; i++)
        packed.v[i].x = i * 3, packed.v[i].pad = i;
    for (int k = 0; k < 20; k++)
        for (int i = 1; i < 300; i++) {
            packed.v[i].x += packed.v[i - 1].pad;
            if (packed.v[i].x > 1000)
                packed.v[i].x -= 900;
            packed.v[i].pad = packed.v[i].x;
        }
    for (int i = 0; i < 200; i++)
        results[i] = horner(i % 8) + packed.v[i].x;
    for (int i = 0; i < 200; i++) {
        long double x = results[i] < 0 ? -results[i] : results[i];
        float f = (int)x % 1000;
        double d = x;
        long long n = x;
        short s = f;
        unsigned short word;
        __asm__ volatile("flds %1; fadds %1; fmull %2; fisubl %3; fistpll %0" : "=m"(n) : "m"(f), "m"(d), "m"(i));
        sum = sum * 31 + n;
        __asm__ volatile("fildll %1; fildq %1; faddp; filds %2; fsubrp; fistpl %0" : "=m"(i) : "m"((long long){i}), "m"((short){i}));
        __asm__ volatile("fldl %1; fsqrt; fistps %0" : "=m"(s) : "m"((double){i * i}));
        sum += s;
        __asm__ volatile("fldl %1; fcompl %2; fnstsw %0" : "=m"(word) : "m"(d), "m"(bound));
        sum += word >> 8 & 0x47;
        if (i % 16 == 0) {
            __asm__ volatile("fnstenv %0; fldenv %0" : "+m"(environment));
            __asm__ volatile("fnsave %0; frstor %0" : "+m"(state));
            __asm__ volatile("fnstcw %0; fldcw %0" : "+m"(word));
        }
    }
    for (int i = 0; i < 300; i++)
        sum = sum * 31 + (long)packed.v[i].x + packed.v[i].pad;
    printf("%lu\n", sum);
    return 0;
}

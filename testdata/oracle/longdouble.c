/* Values that 53 bits hold: Valgrind's x87 has no more. */
#include <math.h>
#include <stdio.h>
static long double half(long double x) { return x * 0.5L; }
int main(void)
{
    long double s = 0, x = 1;
    long sum = 0;
    for (int i = 1; i < 200; i++) {
        x = half(x + i) + 0.25L * i;
        if (x > 1000 || (x != x) || i % 20 == 0)
            x = floorl(x / 8);
        s += sqrtl((long double)i * i) - fabsl(8 - (long double)i) + (long double)(int)x + ceill(x * 4);
        if (s > 500)
            s /= 4, s = rintl(s);
        sum += (long)(float)s + (long)(double)x + (long long)(x * 4) % 7 + (short)x;
    }
    int exp;
    frexpl(s, &exp);
    printf("%ld %d %ld\n", sum, exp, (long)ldexpl(s, 3));
    return 0;
}

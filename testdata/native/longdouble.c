#include <math.h>
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    long double s = 0, x = 1;
    for (int i = 1; i < 200; i++) {
        x = x * 1.0001L + 1.0L / i;
        s += sqrtl(x) - fabsl(1 - x) / i + (long double)(int)x + floorl(x * 10);
        if (s > 500)
            s /= 3.5L;
        s += (float)x + (double)x + (long long)(x * 1000) % 7 + (short)x;
    }
    int exp;
    long double m = frexpl(s, &exp);
    printf("%.15Lf %.15Lf %d %.12Lf\n", s, m, exp, ldexpl(x, 3));
    printf("%.10Lf %.20Lg\n", 1.0L / 3, strtold("2.71828182845904523536", 0));
    return 0;
}

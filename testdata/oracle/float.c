#include <math.h>
#include <stdio.h>
int main(void)
{
    double s = 0, p = 1;
    float f = 0;
    for (int i = 1; i < 300; i++) {
        s += sin(i) * cos(i) + atan2(i, 3) + pow(i, 0.3) - fmod(i, 0.7);
        p *= 1 + exp(-i) + log(i) / 1e6 + cbrt(i) / 1e5;
        f += sqrtf(i) + floorf(i / 3.f) + (float)rint(i * 0.37) + (int)(i / 0.9);
        if (s > 1000 || p != p)
            s -= hypot(i, s);
    }
    printf("%.15g %.15g %.9g %d\n", s, p, f, (int)lround(s));
    return 0;
}

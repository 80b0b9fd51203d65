#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    double v[] = {0, 1, -1.5, 3.141592653589793, 1e-300, 1.7976931348623157e308, 5e-324, 123456789.125, 1.0 / 3, 1.0 / 0.0};
    for (int i = 0; i < 10; i++)
        printf("%g %e %.3f|%10.2f|%-12.4g|%a\n", v[i], v[i], v[i] > 1e20 ? 1 : v[i], v[i] > 1e20 ? 1 : v[i], v[i], v[i]);
    printf("%d %5d %-5d| %05d %x %#o %lld %zu %c %s %.2s %p\n", 1, 2, 3, 4, 255, 8, -1LL << 40, sizeof v, 'c', "s", "string", (void *)0x1234);
    char text[64];
    double back;
    int n;
    snprintf(text, sizeof text, "%.17g 42", v[3]);
    printf("%d %d %d\n", sscanf(text, "%lf %d", &back, &n), back == v[3], n);
    return 0;
}

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void)
{
    char *p[64] = {0};
    unsigned x = 1;
    unsigned long sum = 0;
    for (int i = 0; i < 2000; i++) {
        x = x * 1664525 + 1013904223;
        int k = x >> 26;
        if (p[k] && x & 0x1000) {
            sum += p[k][0];
            free(p[k]);
            p[k] = 0;
        } else {
            size_t n = (x >> 8 & 0xfff) + (i % 500 == 0 ? 300000 : 1);
            p[k] = p[k] ? realloc(p[k], n) : x & 1 ? malloc(n) : calloc(n, 1);
            p[k][0] = i;
            p[k][n - 1] = i;
        }
    }
    for (int i = 0; i < 64; i++)
        free(p[i]);
    printf("%lu\n", sum);
    return 0;
}

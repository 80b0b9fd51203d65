#include <stdio.h>
#include <string.h>
static char a[70000], b[70000];
int main(void)
{
    unsigned long sum = 0;
    for (int i = 0; i < 70000; i++)
        a[i] = i * 7 % 251 + 1;
    for (int n = 0; n < 69000; n += n < 140 ? 1 : n / 3) {
        for (int off = 0; off < 65; off += 13) {
            memcpy(b + off, a + (64 - off), n);
            memmove(b + off + 1, b + off, n);
            memset(b + n, 0, 5);
            b[off + n + 5] = 0;
            sum = sum * 31 + strlen(b + off) + (memcmp(a, b, n) > 0) + (memchr(b, 77, n + 1) != 0);
            sum += strcmp(a + off, b + off) > 0;
        }
    }
    char s[300], d[300];
    for (int n = 0; n < 280; n += 7) {
        memset(s, 'x', n);
        s[n] = 0;
        strcpy(d, s);
        sum += strlen(d) + strnlen(s, n / 2) + (strchr(d, 0) - d);
        sum += strncmp(s, d, n) + strrchr(s, 'x') - s;
    }
    printf("%lu\n", sum);
    return 0;
}

/* Copies of every size and alignment, by the library and by string instructions in both directions. */
#include <stdio.h>
#include <string.h>
static unsigned char a[70000] __attribute__((aligned(64))), b[70000] __attribute__((aligned(64)));
static unsigned long sum;

static void mix(const void *p, int n)
{
    const unsigned char *c = p;
    for (int i = 0; i < n; i += n / 5 + 1)
        sum = sum * 31 + c[i];
}

static void rep_movs(void *to, const void *from, long n, int width)
{
    switch (width) {
    case 1: __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n)::"memory"); break;
    case 2: __asm__ volatile("rep movsw" : "+D"(to), "+S"(from), "+c"(n)::"memory"); break;
    case 4: __asm__ volatile("rep movsl" : "+D"(to), "+S"(from), "+c"(n)::"memory"); break;
    default: __asm__ volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(n)::"memory");
    }
}

static void backwards(void *to, const void *from, long n)
{
    __asm__ volatile("std; rep movsb; cld" : "+D"(to), "+S"(from), "+c"(n)::"memory");
}

static void fill(void *to, unsigned long value, long n, int width)
{
    switch (width) {
    case 1: __asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(value) : "memory"); break;
    case 2: __asm__ volatile("rep stosw" : "+D"(to), "+c"(n) : "a"(value) : "memory"); break;
    case 4: __asm__ volatile("rep stosl" : "+D"(to), "+c"(n) : "a"(value) : "memory"); break;
    default: __asm__ volatile("rep stosq" : "+D"(to), "+c"(n) : "a"(value) : "memory");
    }
}

/* Where two stretches differ, by repe cmpsb. */
static long differ(const void *p, const void *q, long n)
{
    long left = n;
    __asm__ volatile("xor %%eax,%%eax; repe cmpsb" : "+D"(q), "+S"(p), "+c"(left)::"rax", "memory", "cc");
    return n - left;
}

/* Where a byte is, by repne scasb. */
static long find(const void *p, int c, long n)
{
    long left = n;
    __asm__ volatile("test %%edi,%%edi; repne scasb" : "+D"(p), "+c"(left) : "a"(c) : "memory", "cc");
    return n - left;
}

int main(void)
{
    for (int i = 0; i < 70000; i++)
        a[i] = i * 7 % 251 + 1;
    for (int n = 0; n < 300; n++) {
        memcpy(b + n % 67, a + n * 5 % 71, n);
        memmove(b + 3, b + n % 7, n);
        memset(b + n % 33, n, n / 2);
        mix(b, n + 70);
    }
    for (int n = 300; n < 69000; n = n * 3 / 2) {
        memcpy(b + n % 64, a, n);
        memmove(b + 1, b, n);
        memset(b + n / 2, n, n / 3);
        mix(b, n);
    }
    for (int to = 0; to < 33; to += 3)
        for (int from = 0; from < 33; from += 5)
            for (int width = 1; width <= 8; width *= 2) {
                rep_movs(b + to, a + from, to % 11 * from % 40, width);
                fill(b + from + to, to * 0x0123456789abcdefUL, from % 13, width);
                mix(b, 100);
            }
    rep_movs(b, a, 8000, 8);
    rep_movs(b + 30, a + 1, 3000, 1);
    rep_movs(b + 1, b, 2000, 1);
    fill(b + 63, 0x1122334455667788, 1000, 8);
    for (int n = 0; n < 200; n += 7)
        backwards(b + 300 + n, b + 250, n);
    mix(b, 64000);
    for (int n = 1; n < 400; n += 13) {
        memcpy(b + n % 9, a, n);
        b[n % 9 + n / 2]++;
        sum = sum * 31 + differ(a, b + n % 9, n) + find(a + n, n, 300) + differ(a, a, n) + find(b, 0, 0);
    }
    printf("%lu\n", sum);
    return 0;
}

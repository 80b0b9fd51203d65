#include <stdint.h>
#include <stdio.h>
#include <string.h>
static uint32_t crc(const unsigned char *p, int n)
{
    uint32_t c = ~0u;
    while (n--) {
        c ^= *p++;
        for (int k = 0; k < 8; k++)
            c = c & 1 ? c >> 1 ^ 0xedb88320 : c >> 1;
    }
    return ~c;
}
static uint64_t fnv(const unsigned char *p, int n)
{
    uint64_t h = 14695981039346656037u;
    for (int i = 0; i < n; i++)
        h = (h ^ p[i]) * 1099511628211u;
    return h;
}
static void rounds(uint32_t s[16])
{
#define Q(a, b, c, d) \
    s[a] += s[b], s[d] = (s[d] ^ s[a]) << 16 | (s[d] ^ s[a]) >> 16, s[c] += s[d], s[b] = (s[b] ^ s[c]) << 12 | (s[b] ^ s[c]) >> 20
    for (int i = 0; i < 10; i++) {
        Q(0, 4, 8, 12); Q(1, 5, 9, 13); Q(2, 6, 10, 14); Q(3, 7, 11, 15);
        Q(0, 5, 10, 15); Q(1, 6, 11, 12); Q(2, 7, 8, 13); Q(3, 4, 9, 14);
    }
}
int main(void)
{
    unsigned char data[777];
    uint32_t s[16] = {1, 2, 3};
    for (int i = 0; i < 777; i++)
        data[i] = i * i;
    for (int i = 0; i < 50; i++)
        rounds(s);
    printf("%08x %016llx %08x\n", crc(data, 777), (unsigned long long)fnv(data, 777), s[5]);
    return 0;
}

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct item { double key; char name[12]; };
static int byKey(const void *a, const void *b)
{
    double x = ((const struct item *)a)->key, y = ((const struct item *)b)->key;
    return (x > y) - (x < y);
}
static int byName(const void *a, const void *b) { return strcmp(((const struct item *)a)->name, ((const struct item *)b)->name); }
int main(void)
{
    struct item v[100];
    unsigned x = 7;
    for (int i = 0; i < 100; i++) {
        x = x * 69069 + 1;
        v[i].key = (x >> 16) / 7.0;
        snprintf(v[i].name, sizeof v[i].name, "n%u", x >> 20);
    }
    qsort(v, 100, sizeof *v, byKey);
    double median = v[50].key;
    qsort(v, 100, sizeof *v, byName);
    struct item want = v[42], *got = bsearch(&want, v, 100, sizeof *v, byName);
    printf("%.4f %s %d\n", median, v[0].name, got && got->key == want.key);
    return 0;
}

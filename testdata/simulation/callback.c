/* Sorting with functions that are passed, and tables of functions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
typedef int order(const void *, const void *);
struct record {
    int key;
    short group;
    char name[13];
};
static struct record all[600], sorted[600];

static int by_key(const void *a, const void *b) { return ((struct record *)a)->key - ((struct record *)b)->key; }
static int by_group(const void *a, const void *b)
{
    const struct record *x = a, *y = b;
    return x->group != y->group ? x->group - y->group : x->key - y->key;
}
static int by_name(const void *a, const void *b) { return strcmp(((struct record *)a)->name, ((struct record *)b)->name); }
static int downwards(const void *a, const void *b) { return -by_key(a, b); }

static void quick(struct record *r, int n, order *less)
{
    while (n > 12) {
        struct record pivot = r[n / 2], x;
        int i = 0, j = n - 1;
        for (;;) {
            while (less(&r[i], &pivot) < 0)
                i++;
            while (less(&r[j], &pivot) > 0)
                j--;
            if (i >= j)
                break;
            x = r[i], r[i++] = r[j], r[j--] = x;
        }
        if (i < n - i) {
            quick(r, i, less);
            r += i, n -= i;
        } else {
            quick(r + i, n - i, less);
            n = i;
        }
    }
    for (int i = 1; i < n; i++)
        for (int j = i; j > 0 && less(&r[j], &r[j - 1]) < 0; j--) {
            struct record x = r[j];
            r[j] = r[j - 1], r[j - 1] = x;
        }
}

static void heap(struct record *r, int n, order *less)
{
    for (int k = n / 2 + n; k-- > 0;) {
        int i = k >= n ? k - n : 0, end = n;
        if (k < n) {
            struct record x = r[0];
            r[0] = r[k], r[k] = x;
            end = k;
        }
        for (int child; (child = 2 * i + 1) < end; i = child) {
            if (child + 1 < end && less(&r[child], &r[child + 1]) < 0)
                child++;
            if (less(&r[i], &r[child]) >= 0)
                break;
            struct record x = r[i];
            r[i] = r[child], r[child] = x;
        }
    }
}

static void library(struct record *r, int n, order *less) { qsort(r, n, sizeof *r, less); }

int main(void)
{
    static order *const orders[] = {by_key, by_group, by_name, downwards};
    static void (*const sorts[])(struct record *, int, order *) = {quick, heap, library};
    unsigned seed = 3, sum = 0;
    for (int i = 0; i < 600; i++) {
        seed = seed * 1103515245 + 12345;
        all[i].key = seed >> 9;
        all[i].group = seed >> 16 & 7;
        for (int k = 0; k < 12; k++)
            all[i].name[k] = 'a' + (seed >> k & 3);
    }
    for (int s = 0; s < 3; s++)
        for (int o = 0; o < 4; o++) {
            memcpy(sorted, all, sizeof all);
            sorts[s](sorted, 600, orders[o]);
            for (int i = 1; i < 600; i++)
                sum += i * (orders[o](&sorted[i - 1], &sorted[i]) > 0);
            for (int i = 0; i < 600; i += 17)
                sum = sum * 31 + sorted[i].group + (o == 2 ? sorted[i].name[3] : sorted[i].key);
        }
    printf("%u\n", sum);
    return 0;
}

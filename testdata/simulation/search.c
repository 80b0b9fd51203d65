/* Binary searches: with branches, without, in the order of a heap, and of bits. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int sorted[20000], heap[20001];

static int branching(int n, int key)
{
    int lo = 0, hi = n;
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        if (sorted[mid] == key)
            return mid;
        if (sorted[mid] < key)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static int branchless(int n, int key)
{
    const int *p = sorted;
    while (n > 1) {
        int half = n / 2;
        p += (p[half - 1] < key) * half;
        n -= half;
    }
    return p - sorted + (n && *p < key);
}

static int fill(int i, int k, int n)
{
    if (k <= n) {
        i = fill(i, 2 * k, n);
        heap[k] = sorted[i++];
        i = fill(i, 2 * k + 1, n);
    }
    return i;
}

static int in_heap(int n, int key)
{
    int k = 1;
    while (k <= n)
        k = 2 * k + (heap[k] < key);
    return k >> __builtin_ffs(~k);
}

static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

int main(void)
{
    static const int sizes[] = {1, 2, 3, 100, 1023, 1024, 4096, 20000};
    unsigned sum = 0, key = 12345;
    for (int i = 0; i < 20000; i++)
        sorted[i] = 5 * i + i % 3;
    for (int s = 0; s < 8; s++) {
        int n = sizes[s];
        fill(0, 1, n);
        for (int k = 0; k < 2000; k++) {
            key = key * 1103515245 + 12345;
            int want = (key >> 8) % (5 * n + 5);
            int *found = bsearch(&want, sorted, n, sizeof *sorted, compare);
            sum = sum * 31 + branching(n, want) + branchless(n, want) + in_heap(n, want) + (found ? found - sorted : -1);
        }
    }
    printf("%u\n", sum);
    return 0;
}

#include <stdio.h>
enum { N = 500 };
static int a[N], b[N];
static void insertion(int *v, int n)
{
    for (int i = 1; i < n; i++) {
        int x = v[i], j = i;
        for (; j > 0 && v[j - 1] > x; j--)
            v[j] = v[j - 1];
        v[j] = x;
    }
}
static void heap(int *v, int n)
{
    for (int i = n / 2 - 1, end = n; end > 1;) {
        int root;
        if (i >= 0)
            root = i--;
        else {
            int t = v[0];
            v[0] = v[--end], v[end] = t, root = 0;
        }
        for (int child; (child = 2 * root + 1) < end; root = child) {
            if (child + 1 < end && v[child] < v[child + 1])
                child++;
            if (v[root] >= v[child])
                break;
            int t = v[root];
            v[root] = v[child], v[child] = t;
        }
    }
}
int main(void)
{
    unsigned x = 1;
    for (int i = 0; i < N; i++)
        a[i] = b[i] = (x = x * 1103515245 + 12345) >> 8 & 0xffff;
    insertion(a, N);
    heap(b, N);
    int same = 1;
    for (int i = 0; i < N; i++)
        same &= a[i] == b[i];
    printf("%d %d %d\n", same, a[0], a[N - 1]);
    return 0;
}

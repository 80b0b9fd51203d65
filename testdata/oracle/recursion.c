#include <stdio.h>
static long ackermann(long m, long n) { return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1)); }
static long fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
static int queens(int n, unsigned cols, unsigned left, unsigned right)
{
    unsigned all = (1u << n) - 1;
    if (cols == all)
        return 1;
    int count = 0;
    for (unsigned free = all & ~(cols | left | right); free;) {
        unsigned bit = free & -free;
        free ^= bit;
        count += queens(n, cols | bit, (left | bit) << 1, (right | bit) >> 1);
    }
    return count;
}
static void hanoi(int n, int from, int to, long *moves)
{
    if (n == 0)
        return;
    hanoi(n - 1, from, 6 - from - to, moves);
    *moves = *moves * 3 + from;
    hanoi(n - 1, 6 - from - to, to, moves);
}
int main(void)
{
    long moves = 0;
    hanoi(9, 1, 3, &moves);
    printf("%ld %ld %d %ld\n", ackermann(2, 9), fib(16), queens(6, 0, 0, 0), moves);
    return 0;
}

/* Matrices: transposition by rows, by blocks and in place; products in two loop orders. Rows of 128
   doubles fall into few sets. */
#include <stdio.h>
#include <string.h>
#define N 128
#define ODD 117
static double a[N][N], b[N][N], c[N][N];
static short s[ODD][ODD], t[ODD][ODD];
static unsigned char bytes[64][1024];

static void rows(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            b[j][i] = a[i][j];
}

static void blocks(int size)
{
    for (int i = 0; i < N; i += size)
        for (int j = 0; j < N; j += size)
            for (int k = i; k < i + size; k++)
                for (int l = j; l < j + size; l++)
                    c[l][k] = b[k][l];
}

static void in_place(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < i; j++) {
            double x = a[i][j];
            a[i][j] = a[j][i];
            a[j][i] = x;
        }
}

int main(void)
{
    unsigned long sum = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            a[i][j] = i * N + j;
    for (int n = 0; n < 3; n++) {
        rows();
        blocks(4 << n);
        in_place();
        sum = sum * 31 + (unsigned long)(b[3][5 + n] + c[7][n] + a[n][90]);
    }
    for (int i = 0; i < ODD; i++)
        for (int j = 0; j < ODD; j++)
            s[i][j] = i * j;
    for (int i = 0; i < ODD; i++)
        for (int j = 0; j < ODD; j++)
            t[j][i] = s[i][j] - j;
    memset(c, 0, sizeof c);
    for (int i = 0; i < 32; i++)
        for (int j = 0; j < 32; j++)
            for (int k = 0; k < 32; k++)
                c[i][j] += a[i][k] * b[k][j];
    for (int i = 0; i < 32; i++)
        for (int k = 0; k < 32; k++)
            for (int j = 0; j < 32; j++)
                c[i][j] += a[i][k] * b[k][j];
    for (int j = 0; j < 1024; j += 3)
        for (int i = 0; i < 64; i++)
            bytes[i][j] += bytes[63 - i][1023 - j] + i;
    for (int i = 0; i < 64; i++)
        sum = sum * 31 + t[i][2 * i % ODD] + (unsigned long)c[i % 32][31 - i % 32] + bytes[i][i * 15];
    printf("%lu\n", sum);
    return 0;
}

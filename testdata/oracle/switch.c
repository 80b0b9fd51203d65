#include <stdio.h>
static long run(const char *code)
{
    long stack[64], *sp = stack, acc = 0;
    for (const char *p = code; ; p++)
        switch (*p) {
        case '0': case '1': case '2': case '3': case '4':
        case '5': case '6': case '7': case '8': case '9':
            acc = acc * 10 + *p - '0';
            break;
        case ' ': *sp++ = acc; acc = 0; break;
        case '+': sp--; sp[-1] += sp[0]; break;
        case '-': sp--; sp[-1] -= sp[0]; break;
        case '*': sp--; sp[-1] *= sp[0]; break;
        case '/': sp--; sp[-1] /= sp[0] ? sp[0] : 1; break;
        case '%': sp--; sp[-1] %= sp[0] ? sp[0] : 1; break;
        case 'd': sp[0] = sp[-1]; sp++; break;
        case '<': sp--; sp[-1] <<= sp[0] & 63; break;
        case '&': sp--; sp[-1] &= sp[0]; break;
        case '^': sp--; sp[-1] ^= sp[0]; break;
        case 'n': sp[-1] = ~sp[-1]; break;
        case 0: return sp[-1];
        }
}
static const char *name(int n)
{
    static void *const to[] = {&&a, &&b, &&c, &&d};
    goto *to[n & 3];
a: return "a";
b: return "b";
c: return "c";
d: return "d";
}
int main(void)
{
    long sum = 0;
    for (int i = 0; i < 100; i++)
        sum += run("12 34 +d*7 %3 <99 ^n5 -") + name(i)[0] + run("1 2 3 4 5 6 7 8 9 ++*/-&d^");
    printf("%ld\n", sum);
    return 0;
}

/* The library's string functions, which read ahead of what they need, at many alignments. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
static char text[20000], copy[20000];
static wchar_t wide[600];

int main(void)
{
    unsigned long sum = 0;
    static const char *const words[] = {"cache", "line", "a", "set", "way", "predictor", "tag", "straddle", "miss", "of", "the"};
    char *p = text;
    for (unsigned i = 0, x = 1; p - text < 15000; i++, x = x * 1103515245 + 12345)
        p = stpcpy(stpcpy(p, words[(x >> 16) % 11]), i % 9 == 8 ? "\n" : i % 31 == 30 ? ", " : " ");
    int length = strlen(text);
    for (int i = 0; i < 200; i++) {
        const char *s = text + i * 61;
        sum = sum * 31 + strlen(s + i % 64) + (strchr(s, 'p') - s) + (strstr(s, "miss of") ? 1 : 0);
        sum += strcspn(s, "\n,") + strspn(s, "abcdefghij ") + (strpbrk(s, "vwxyz") != 0);
        sum += (memchr(s, '\n', 50) != 0) + (memrchr(text, 'g', i + 1) != 0);
        sum += strncmp(s, s + 5, i) > 0;
        sum += strcasecmp(s, text + i) > 0;
        sum += memcmp(text, text + i % 3, 500) > 0;
        strncpy(copy + i % 17, s, i * 3);
        copy[i % 17 + i * 3] = 0;
        strcat(copy, "end");
        sum += strlen(copy) + (strcmp(copy, s) > 0) + (strrchr(copy, 'e') - copy);
        sum += memmem(text, length, copy, 7) != 0;
    }
    strcpy(copy, text);
    int n = 0;
    for (char *save, *t = strtok_r(copy, " ,\n", &save); t; t = strtok_r(0, " ,\n", &save)) {
        n++;
        for (int i = 0; i < 11; i++)
            if (!strcmp(t, words[i]))
                sum += i * n;
    }
    for (int i = 0; i < 500; i++)
        wide[i] = text[i];
    for (int i = 0; i < 50; i++)
        sum = sum * 31 + wcslen(wide + i) + (wcschr(wide + i, 'g') - wide) + (wmemchr(wide, 'z', 400 + i) == 0);
    char number[32];
    for (int i = 1; i < 300; i++) {
        sprintf(number, "%d,%x,%s", i * i * i, i, words[i % 11]);
        char *end;
        sum = sum * 31 + strtol(number, &end, 10);
        sum = sum * 31 + strtoul(end + 1, &end, 16);
        sum += strlen(end);
    }
    printf("%d %d %lu\n", length, n, sum);
    return 0;
}

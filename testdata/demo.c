/* demo: finds the words that the source of this text repeats most.
   The program of `make demo`: which lines cost most, and why is it not the sort? */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char text[] =
    "a rose is a rose is a rose is a rose said gertrude stein and the rose "
    "that is a rose by any other name would be a rose and smell as sweet";

struct word {
    const char *start;
    int length, count;
    struct word *next;
};

enum { buckets = 16 };
static struct word *table[buckets];
static struct word *words[64];
static int n;

static unsigned hash(const char *s, int length)
{
    unsigned h = 2166136261u;
    for (int i = 0; i < length; i++)
        h = (h ^ (unsigned char)s[i]) * 16777619u;
    return h;
}

static void count(const char *s, int length)
{
    struct word **list = &table[hash(s, length) % buckets];
    for (struct word *w = *list; w; w = w->next)
        if (w->length == length && memcmp(w->start, s, length) == 0) {
            w->count++;
            return;
        }
    struct word *w = malloc(sizeof *w);
    *w = (struct word){s, length, 1, *list};
    *list = words[n++] = w;
}

static int more(const void *a, const void *b)
{
    const struct word *x = *(struct word *const *)a, *y = *(struct word *const *)b;
    if (x->count != y->count)
        return y->count - x->count;
    return x->start < y->start ? -1 : 1;
}

int main(void)
{
    for (int round = 0; round < 200; round++)
        for (const char *s = text; *s;) {
            int length = strcspn(s, " ");
            count(s, length);
            s += length;
            s += strspn(s, " ");
        }
    qsort(words, n, sizeof *words, more);
    for (int i = 0; i < 3; i++)
        printf("%5d %.*s\n", words[i]->count, words[i]->length, words[i]->start);
    return 0;
}

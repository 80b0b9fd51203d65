#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Counts words in a text, with a small hash table. */
enum { SIZE = 64 };

struct entry { char word[16]; int count; struct entry *next; };
static struct entry *table[SIZE];

static unsigned hash(const char *s)
{
    unsigned h = 0;
    while (*s)
        h += (unsigned char)*s++;
    return h % SIZE;
}

static struct entry *lookup(const char *word)
{
    unsigned h = hash(word);
    for (struct entry *e = table[h]; e; e = e->next)
        if (strcmp(e->word, word) == 0)
            return e;
    struct entry *e = calloc(1, sizeof *e);
    strcpy(e->word, word);
    e->next = table[h];
    return table[h] = e;
}

static int compare(const void *a, const void *b)
{
    const struct entry *x = *(struct entry *const *)a, *y = *(struct entry *const *)b;
    return y->count - x->count;
}

int main(void)
{
    char word[16];
    unsigned seed = 1;
    for (int i = 0; i < 20000; i++) {
        seed = seed * 1103515245 + 12345;
        snprintf(word, sizeof word, "w%u", seed >> 24);
        lookup(word)->count++;
    }
    static struct entry *list[1024];
    int n = 0;
    for (int i = 0; i < SIZE; i++)
        for (struct entry *e = table[i]; e; e = e->next)
            list[n++] = e;
    qsort(list, n, sizeof *list, compare);
    for (int i = 0; i < 3; i++)
        printf("%5d %s\n", list[i]->count, list[i]->word);
}

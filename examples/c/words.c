// Counts words with a hash table, and prints those that occur most.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct word {
	struct word *next;
	int count;
	char text[];
};

enum { BUCKETS = 1024, SHOWN = 5 };

static struct word *table[BUCKETS];
static int distinct;

__attribute__((noinline)) static unsigned hash(const char *s)
{
	unsigned h = 2166136261u;
	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 16777619u;
	return h % BUCKETS;
}

__attribute__((noinline)) static void add(const char *s)
{
	struct word **at = &table[hash(s)];
	for (struct word *w = *at; w; w = w->next)
		if (!strcmp(w->text, s)) {
			w->count++;
			return;
		}
	struct word *w = malloc(sizeof *w + strlen(s) + 1);
	strcpy(w->text, s);
	w->count = 1, w->next = *at, *at = w, distinct++;
}

static int more(const void *a, const void *b)
{
	const struct word *x = *(struct word **)a, *y = *(struct word **)b;
	return x->count != y->count ? y->count - x->count : strcmp(x->text, y->text);
}

int main(void)
{
	char word[64];
	int length = 0;
	for (int c; (c = getchar()) != EOF;) {
		if (isalpha(c) && length < (int)sizeof word - 1) {
			word[length++] = tolower(c);
		} else if (length) {
			word[length] = 0, length = 0;
			add(word);
		}
	}
	struct word **all = malloc(distinct * sizeof *all);
	int n = 0;
	for (int i = 0; i < BUCKETS; i++)
		for (struct word *w = table[i]; w; w = w->next)
			all[n++] = w;
	qsort(all, n, sizeof *all, more);
	for (int i = 0; i < n && i < SHOWN; i++)
		printf("%6d %s\n", all[i]->count, all[i]->text);
	return 0;
}

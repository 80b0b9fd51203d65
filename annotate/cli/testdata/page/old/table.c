#include "table.h"

#include <stdlib.h>
#include <string.h>

/* The sum of the letters: anagrams collide, and so do most short words. */
static unsigned hash(const char *s)
{
	unsigned h = 0;
	while (*s)
		h += (unsigned char)*s++;
	return h % 64;
}

struct entry *table_add(struct table *t, const char *key)
{
	unsigned h = hash(key);
	struct entry *e = t->buckets[h];
	while (e && strcmp(e->key, key))
		e = e->next;
	if (!e) {
		e = calloc(1, sizeof *e);
		e->key = strdup(key);
		e->next = t->buckets[h];
		t->buckets[h] = e;
		t->entries++;
	}
	e->count++;
	return e;
}

size_t table_list(const struct table *t, struct entry **list)
{
	size_t n = 0;
	for (size_t i = 0; i < 64; i++)
		for (struct entry *e = t->buckets[i]; e; e = e->next)
			list[n++] = e;
	return n;
}

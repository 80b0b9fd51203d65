/* A hash table that counts words. */
#include <stddef.h>

struct entry {
	struct entry *next;
	char *key;
	long count;
};

struct table {
	struct entry *buckets[64];
	size_t entries;
};

struct entry *table_add(struct table *t, const char *key);
size_t table_list(const struct table *t, struct entry **list);

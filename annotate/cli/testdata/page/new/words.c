/* words N: makes N words, counts them, and shows the ten most frequent. */
#include <stdio.h>
#include <stdlib.h>

#include "table.h"

static unsigned state = 1;

static unsigned next_random(void)
{
	state = state * 1103515245 + 12345;
	return state >> 16;
}

/* Syllables make words as a language has them: a few are frequent, most are not. */
static void make_word(char *word, size_t size)
{
	static const char *const syllables[] = {"ta", "ri", "no", "el", "um", "sha", "bek", "or", "li", "an", "mo", "ke"};
	unsigned n = 1 + next_random() % 3;
	const char *s[3];
	for (unsigned i = 0; i < 3; i++)
		s[i] = i < n ? syllables[next_random() % 12] : "";
	snprintf(word, size, "%s%s%s", s[0], s[1], s[2]);
}

static void sort(struct entry **list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j + 1 < n - i; j++)
			if (list[j]->count < list[j + 1]->count) {
				struct entry *e = list[j];
				list[j] = list[j + 1];
				list[j + 1] = e;
			}
}

int main(int argc, char **argv)
{
	static struct table t;
	int words = argc > 1 ? atoi(argv[1]) : 60000;
	char word[32];
	for (int i = 0; i < words; i++) {
		make_word(word, sizeof word);
		table_add(&t, word);
	}
	struct entry **list = malloc(t.entries * sizeof *list);
	size_t n = table_list(&t, list);
	sort(list, n);
	for (size_t i = 0; i < n && i < 10; i++)
		printf("%6ld %s\n", list[i]->count, list[i]->key);
	return 0;
}

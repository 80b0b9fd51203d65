#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void)
{
    char text[] = "The quick brown fox jumps over the lazy dog, again and again";
    char copy[200], joined[4000] = "";
    for (int round = 0; round < 30; round++) {
        strcpy(copy, text);
        for (char *word = strtok(copy, " ,"); word; word = strtok(0, " ,")) {
            word[0] = toupper((unsigned char)word[0]);
            strncat(joined, word, 20);
            if (strstr(text, word) || strchr(word, 'o') || strrchr(text, word[1]))
                strcat(joined, "-");
        }
        joined[round] ^= strcasecmp(joined, text) > 0;
        if (strlen(joined) > 3500)
            memmove(joined, joined + 100, strlen(joined) - 99);
    }
    char *end;
    long n = strtol("-12345xyz", &end, 10);
    printf("%zu %ld %s %d %zu\n", strlen(joined), n, end, memcmp(joined, text, 10) > 0, strspn(text, "Theq u"));
    return 0;
}

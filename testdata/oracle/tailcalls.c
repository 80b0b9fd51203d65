// Calls in place of a return: direct ones, by pointers that change, and several in a row. None goes back to a function that is active, which is another call to Callgrind.
#include <stdio.h>

typedef long (*step)(const unsigned char *, long);
static const step steps[];

// An interpreter of which each part goes on with the next one.
#define STEP(name, result) \
	static __attribute__((noinline)) long name(const unsigned char *p, long x) { return steps[*p](p + 1, result); }
STEP(add, x + 3)
STEP(multiply, x * 5)
STEP(flip, x ^ 0x55)
STEP(halve, x < 0 ? x : x / 2)
static __attribute__((noinline)) long end(const unsigned char *p, long x) { return x + *p; }
static const step steps[] = {end, add, multiply, flip, halve};

// One after the other, the last of which is called from two places, and calls.
static __attribute__((noinline)) long last(step f, long x) { return f((const unsigned char *)"\2\0", x) + 1; }
static __attribute__((noinline)) long third(step f, long x) { return last(f, x + 1); }
static __attribute__((noinline)) long second(step f, long x) { return x & 1 ? third(f, x * 3) : last(f, x); }
static __attribute__((noinline)) long first(step f, long x) { return second(f, x + 7); }

int main(void) {
	static const unsigned char programs[][8] = {{1, 2, 3, 4}, {2, 4}, {4}, {1, 4, 3, 2}, {3}};
	long x = 1;
	for (int i = 0; i < 4000; i++) {
		const unsigned char *p = programs[i % 5];
		x = steps[*p](p + 1, x) % 1000003;
		x = (i % 3 ? first : third)(i & 8 ? end : add, x) % 1000003;
	}
	printf("%ld\n", x);
	return 0;
}

/* Functions inlined into each other, in several ranges: gcc -static -nostdlib -O2 -g -gdwarf-N inline.c */
static volatile int sink;

static inline __attribute__((always_inline)) int twice(int n) { return 2 * n; }

static inline __attribute__((always_inline)) int four(int n)
{
	if (__builtin_expect(n > 1000, 0)) {
		sink = n;
		__builtin_trap();
	}
	return twice(twice(n));
}

static inline __attribute__((always_inline)) void count(int n)
{
	for (int i = 0; i < n; i++)
		sink = four(i + (sink & 15));
}

__attribute__((noinline)) void plain(int n)
{
	count(n);
	sink = twice(sink);
}

void _start(void)
{
	count(3);
	plain(5);
	__asm__ volatile("syscall" : : "a"(60), "D"(0));
	__builtin_unreachable();
}

// Mappings far larger than memory, and at addresses far up: they take nothing until they are used.
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define TiB (1ul << 40)

static sigjmp_buf env;
static void fault(int sig) { siglongjmp(env, sig); }

// touch writes to p and reads it back.
static const char *touch(char *p) {
	int sig = sigsetjmp(env, 1);
	if (sig)
		return sig == SIGSEGV ? "SIGSEGV" : "SIGBUS";
	*p = 'x';
	return *p == 'x' ? "written" : "?";
}

static int deep(int n) { return n == 0 ? 0 : 1 + deep(n - 1); }

static char *map(char *at, unsigned long size, int flags) {
	return mmap(at, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
}

int main(void) {
	setvbuf(stdout, 0, _IONBF, 0);
	signal(SIGSEGV, fault);
	signal(SIGBUS, fault);
	char *before = malloc(100000);
	strcpy(before, "before");
	char *shared = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	char *p = map(0, 8 * TiB, 0);
	printf("8 TiB: %s\n", p == MAP_FAILED ? strerror(errno) : "there");
	printf("none: %s\n", touch(p + 5 * TiB));
	printf("mprotect: %d\n", mprotect(p + 5 * TiB, 1 << 20, PROT_READ | PROT_WRITE));
	printf("%s, %s, %s\n", touch(p + 5 * TiB), touch(p + 5 * TiB + (1 << 20) - 1), touch(p + 5 * TiB + (1 << 20)));
	printf("%s, %d\n", before, deep(1000));

	if (fork() == 0) {
		*shared = 'c';
		printf("child: %s %c %s\n", before, p[5 * TiB], touch(p + 5 * TiB + 4096));
		_exit(0);
	}
	wait(0);
	printf("%c\n", *shared);

	char *high = map((char *)(16 * TiB), 1 << 20, MAP_FIXED_NOREPLACE);
	printf("16 TiB: %s\n", high == (char *)(16 * TiB) ? "there" : strerror(errno));
	printf("again: %s\n", map(high, 4096, MAP_FIXED_NOREPLACE) == MAP_FAILED ? strerror(errno) : "there");
	mprotect(high, 1 << 20, PROT_READ | PROT_WRITE);
	printf("%s, %s\n", touch(high), touch(high + (1 << 20) - 1));
	high = mremap(high, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, 20 * TiB);
	printf("moved: %d %c\n", high == (char *)(20 * TiB), *high);

	// A stack up there.
	char *stack = mmap((char *)(18 * TiB), 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	long sum;
	__asm__ volatile("mov %%rsp, %%rbx; mov %1, %%rsp; mov $500, %%edi; call *%2; mov %%rbx, %%rsp"
		: "=a"(sum) : "r"(stack + (1 << 20)), "r"(deep) : "rbx", "rdi", "rsi", "rcx", "rdx", "r8", "r9", "r10", "r11", "memory");
	printf("deep: %d\n", (int)sum);

	printf("munmap: %d\n", munmap(p, 8 * TiB));
	printf("gone: %s\n", touch(p + 5 * TiB));
	printf("1 EiB: %s\n", map(0, 1ul << 60, 0) == MAP_FAILED ? strerror(errno) : "there");
	printf("beyond: %s\n", map((char *)(1ul << 50), 4096, MAP_FIXED) == MAP_FAILED ? strerror(errno) : "there");
	return 0;
}

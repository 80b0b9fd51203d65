// More mappings than a process may have: mmap, mprotect, munmap and madvise fail, each by an error of its own, and what
// is there stays. When some are gone there is room again.
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, MAX = 1 << 21 };

static void try(const char *name, int r) { printf("%s: %d %s\n", name, r, r < 0 ? strerror(errno) : ""); }

int main(void) {
	setvbuf(stdout, 0, _IONBF, 0);
	char *big = mmap(0, 100 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *all = mmap(0, (long)MAX * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int n = 0;
	while (n < MAX && mprotect(all + n * (long)PAGE, PAGE, n & 1 ? PROT_READ : PROT_READ | PROT_WRITE) == 0) n++;
	int e = errno;
	printf("%d %s\n", n > 20000, strerror(e));
	for (int i = 0; i < 20; i++) // to the last one
		mmap(0, PAGE, i & 1 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	try("mmap", -(mmap(0, PAGE, PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED));
	try("mprotect", mprotect(big + PAGE, PAGE, PROT_WRITE | PROT_READ));
	try("munmap", munmap(big + PAGE, PAGE));
	printf("%d %d\n", big[PAGE], all[0]);
	try("munmap of all", munmap(all, (long)MAX * PAGE));
	try("mprotect", mprotect(big + PAGE, PAGE, PROT_WRITE | PROT_READ));
	try("madvise", madvise(big + 10 * PAGE, PAGE, MADV_DONTFORK));
	try("munmap", munmap(big + 5 * PAGE, PAGE));
	return 0;
}

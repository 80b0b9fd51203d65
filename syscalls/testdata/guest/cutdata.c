// Data in a file that is cut and grows again while it is mapped: what lies behind the end raises SIGBUS, in every mapping and process.
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { page = 4096, size = 3 * page }; // the mappings have a page more

static char *shared, *private, *readonly;
static int file;
static sigjmp_buf env;

static void bus(int sig, siginfo_t *si, void *p) {
	siglongjmp(env, si->si_code == BUS_ADRERR ? 1 + ((long)si->si_addr & 4095) : 10000);
}

// load reads a byte, or says that it cannot.
static int load(volatile char *p) {
	int at = sigsetjmp(env, 1);
	return at ? -at : *p;
}

// look accesses the pages of all mappings.
static void look(const char *when) {
	printf("%s:", when);
	for (int i = 0; i < size; i += page) {
		printf(" %d %d %d", load(shared + i + 7), load(private + i + 9), load(readonly + i + 11));
		if (sigsetjmp(env, 1) == 0) *(volatile int *)(shared + i + 16) += 1, printf(" stored");
		if (sigsetjmp(env, 1) == 0) *(volatile int *)(private + i + page - 2) += 1, printf(" across");
	}
	printf("\n");
	fflush(stdout);
}

static void fill(void) {
	char data[size];
	for (int i = 0; i < size; i++) data[i] = 1 + i / page;
	if (pwrite(file, data, size, 0) != size) perror("pwrite");
}

static void *map(int prot, int flags) {
	void *p = mmap(0, size + page, prot, flags, file, 0);
	if (p == MAP_FAILED) perror("mmap"), exit(1);
	return p;
}

int main(void) {
	char path[] = "/tmp/cutdata.XXXXXX";
	file = mkstemp(path);
	struct sigaction sa = {.sa_sigaction = bus, .sa_flags = SA_SIGINFO};
	sigaction(SIGBUS, &sa, 0);
	fill();
	shared = map(PROT_READ | PROT_WRITE, MAP_SHARED);
	private = map(PROT_READ | PROT_WRITE, MAP_PRIVATE);
	readonly = map(PROT_READ, MAP_SHARED);
	look("whole");
	ftruncate(file, page + 100);
	look("ftruncate");
	ftruncate(file, size);
	look("grown");
	truncate(path, page);
	look("truncate");
	fill();
	look("filled");
	close(open(path, O_RDWR | O_TRUNC));
	look("O_TRUNC");
	fill();
	look("filled");
	pid_t child = fork();
	if (child == 0) {
		ftruncate(file, 2 * page);
		look("child");
		_exit(0);
	}
	waitpid(child, 0, 0);
	look("parent");
	fill();
	look("filled");
	if (fallocate(file, 8 /* FALLOC_FL_COLLAPSE_RANGE */, 0, page)) { // not every file system can
		char rest[2 * page];
		pread(file, rest, sizeof rest, page), ftruncate(file, 0), pwrite(file, rest, sizeof rest, 0);
	}
	look("collapsed");
	unlink(path);
	return 0;
}

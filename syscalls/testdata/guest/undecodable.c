// Code that is no instruction, or only a part of one, until what stands behind its first bytes changes.
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static unsigned char *page;
static sigjmp_buf jump;
static int faults;

static void leave(int sig) { siglongjmp(jump, sig); }

static void allow(int sig, siginfo_t *info, void *context) {
	(void)sig, (void)context;
	printf("fault %d at %ld\n", ++faults, (long)((unsigned char *)info->si_addr - page));
	if (faults > 3) leave(sig);
	mprotect(page + 4096, 4096, PROT_READ | PROT_EXEC);
}

static int run(int at) { return ((int (*)(void))(page + at))(); }

static void try(const char *what, int at) {
	int sig = sigsetjmp(jump, 1);
	if (sig == 0) printf("%s: %d\n", what, run(at));
	else printf("%s: signal %d\n", what, sig);
}

// change runs code that is no instruction, changes it from its byte number from on, and runs it again.
static void change(const char *what, int at, const char *bad, int n, const char *good, int from, int m) {
	memcpy(page + at, bad, n);
	try(what, at);
	memcpy(page + at + from, good, m);
	try(what, at);
}

static void all(int at) {
	change("C5 F8 FF", at, "\xc5\xf8\xff\xc0", 4, "\x77\xb8\x01\x00\x00\x00\xc3", 2, 7);
	change("0F 0A", at, "\x0f\x0a\xc3", 3, "\x1f\xc0\xb8\x02\x00\x00\x00\xc3", 1, 8);
	change("prefixes", at - 5, "ffffffffffffffff\x90\xc3", 18, "\x90\xb8\x03\x00\x00\x00\xc3", 6, 7);
	change("UD2", at, "\x0f\x0b", 2, "\x1f\x00\xb8\x04\x00\x00\x00\xc3", 1, 8);
	change("LOCK", at, "\xf0\x90", 2, "\xb8\x05\x00\x00\x00\xc3", 0, 6);
}

int main(void) {
	setvbuf(stdout, 0, _IOLBF, 0);
	page = mmap(0, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	signal(SIGILL, leave);
	signal(SIGSEGV, leave);
	all(4096); // both pages' first code
	for (int off = 1; off < 6; off++) all(4096 - off);
	for (int i = 0; i < 40; i++) { // code that is written again and again, as by compilers
		char code[] = {0xb8, (char)i, 0, 0, 0, 0xc3};
		memcpy(page, code, sizeof code);
		if (run(0) != i) puts("another number");
	}
	all(256);

	struct sigaction act = {.sa_sigaction = allow, .sa_flags = SA_SIGINFO};
	sigaction(SIGSEGV, &act, 0);
	for (int off = 1; off < 5; off++) {
		faults = 0;
		mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC);
		memcpy(page + 4096 - off, "\xb8\x07\x00\x00\x00\xc3", 6);
		mprotect(page, 4096, PROT_READ | PROT_EXEC);
		mprotect(page + 4096, 4096, PROT_NONE);
		try("cut", 4096 - off);
	}
}

// Mappings of one file in two processes, changed at random in single pages of 4 KiB: shared, private and anonymous ones, at any address and offset,
// protected, moved, cut and removed, while the file is written to, cut and grows. Whenever something happened each process says what it sees.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { P = 4096, pages = 40, filePages = 12, steps = 900 };

static char *const window = (char *)0x5000001000; // no multiple of a larger page
static int file, readOnly;
static unsigned long state = 88172645463325252;
static sigjmp_buf env;
static const char *who = "parent";

static unsigned pick(unsigned n) {
	state ^= state << 13, state ^= state >> 7, state ^= state << 17;
	return state % n;
}

static void fault(int sig, siginfo_t *si, void *p) { siglongjmp(env, sig == SIGBUS ? 2 : 1); }

// load returns a byte, or what becomes of reading it.
static int load(volatile unsigned char *p) {
	int sig = sigsetjmp(env, 1);
	return sig ? -sig : *p;
}

// show prints the first, a middle and the last byte of each page.
static void show(void) {
	printf("  %s:", who);
	for (int i = 0; i < pages; i++) {
		unsigned char *p = (unsigned char *)window + i * P;
		int b = load(p);
		if (b < 0)
			printf(b == -2 ? " bus" : " segv");
		else
			printf(" %d.%d.%d", b, load(p + 2048), load(p + P - 1));
	}
	printf("\n");
}

static long result(void *p) { return p == MAP_FAILED ? -errno : (char *)p - window; }

// store stores in one way or another.
static void store(char *a) {
	int sig = sigsetjmp(env, 1), how = pick(4), b = 1 + pick(250);
	if (sig) {
		printf("store: %s\n", sig == 2 ? "bus" : "segv");
		return;
	}
	if (how == 0) *(volatile char *)a = b;
	if (how == 1) *(volatile char *)(a + P - 1) = b;
	if (how == 2) *(volatile long *)(a + P - 4) = b * 0x0101010101010101; // in two pages
	if (how == 3) __atomic_fetch_add(a + 2048, b, __ATOMIC_SEQ_CST);
	printf("store: done\n");
}

// map maps what is in the window at page i anew.
static long map(int i, int n) {
	static const int prots[] = {PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE, PROT_READ | PROT_WRITE};
	int kind = pick(8), prot = prots[pick(4)], off = pick(filePages + 1) * P;
	if (kind == 0) return result(mmap(window + i * P, n * P, prot, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	return result(mmap(window + i * P, n * P, prot, MAP_FIXED | (kind & 1 ? MAP_SHARED : MAP_PRIVATE), kind < 3 ? readOnly : file, off));
}

static long move(int i, int n) {
	int to = pick(pages - 6), size = 1 + pick(6);
	if (size == n) size = n = 1; // several mappings at once are moved since Linux 6.17,
	if (to < i + n && i < to + size) to = i < pages / 2 ? pages - 6 : 0; // which also looks earlier whether the ranges overlap
	switch (pick(4)) {
	case 0: return result(mremap(window + i * P, n * P, size * P, 0));
	case 1: return result(mremap(window + i * P, 0, size * P, MREMAP_MAYMOVE | MREMAP_FIXED, window + to * P));
	default: return result(mremap(window + i * P, n * P, size * P, MREMAP_MAYMOVE | MREMAP_FIXED, window + to * P));
	}
}

// step does something, the same in each run.
static void step(void) {
	static char data[P];
	int i = pick(pages - 6), n = 1 + pick(5), at = pick(filePages) * P, what = pick(16);
	char *a = window + i * P;
	long r = 0;
	memset(data, 1 + pick(250), P);
	errno = 0;
	switch (what) {
	case 0: case 1: case 2: r = map(i, n); break;
	case 3: r = munmap(a, n * P); break;
	case 4: r = mprotect(a, n * P, pick(4)); break;
	case 5: r = move(i, n); break;
	case 6: r = msync(a, n * P, pick(2) ? MS_SYNC : MS_ASYNC); break;
	case 7: r = madvise(a, n * P, MADV_DONTNEED); break;
	case 8: r = pwrite(file, data, P, at); break;
	case 9: r = pread(file, a + 100, P, at); break;
	case 10: r = pwrite(file, a + 100, P / 2, at); break;
	case 11: r = pick(3) ? 0 : ftruncate(file, pick(filePages + 1) * P); break;
	default: printf("%s %d %d: ", who, what, i), store(a); return;
	}
	printf("%s %d %d %d %d: %ld %s\n", who, what, i, n, at, r, r < 0 ? strerror(errno) : "");
}

// ends looks at a file that ends in a page: the rest of that page is zero, what is stored there does not get into the file.
static void ends(void) {
	char path[] = "/tmp/filemaps.XXXXXX", text[16];
	int f = mkstemp(path);
	unlink(path);
	pwrite(f, "0123456789", 10, P);
	char *m = mmap(window + 3 * P, 3 * P, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_SHARED, f, 0);
	char *one = mmap(window + 9 * P, P, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_SHARED, f, P);
	printf("end: %d %d %d %d\n", load((void *)m), load((void *)(m + P + 9)), load((void *)(m + P + 10)), load((void *)(m + 2 * P)));
	one[10] = 'x', one[9] = 'y', m[P] = 'z';
	printf("%ld ", (long)lseek(f, 0, SEEK_END));
	printf("%ld %.10s %c%c\n", (long)pread(f, text, 16, P), text, m[P + 9], one[0]);
	if (fork() == 0) {
		m[P + 1] = 'c', munmap(m, 2 * P), one[2] = 'd';
		_exit(load((void *)m) == -1 ? 7 : 8);
	}
	int st;
	wait(&st);
	printf("%d %.10s\n", WEXITSTATUS(st), one);
	ftruncate(f, P + 4);
	printf("cut: %d %d %d\n", one[3], one[4], load((void *)(m + P + 9)));
	ftruncate(f, 0);
	printf("empty: %d %d\n", load((void *)m), load((void *)one));
	munmap(window, pages * P);
	close(f);
}

// ring has a page twice, side by side, and stores and reads across the seam.
static void ring(void) {
	char path[] = "/tmp/filemaps.XXXXXX", text[9] = "";
	int f = mkstemp(path), p[2];
	unlink(path);
	ftruncate(f, P);
	char *m = mmap(window, P, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_SHARED, f, 0);
	mmap(window + P, P, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_SHARED, f, 0);
	*(volatile long *)(m + P - 4) = 0x6867666564636261;
	printf("ring: %.4s %.4s", m, m + P - 4);
	pipe(p);
	write(p[1], "ABCDEFGH", 8);
	for (int n = 0, r; n < 8; n += r) r = read(p[0], m + P - 4 + n, 8 - n);
	pread(f, text, 4, 0), pread(f, text + 4, 4, P - 4);
	printf(" %s %.8s\n", text, m + P - 4);
	munmap(window, 2 * P);
	close(f), close(p[0]), close(p[1]);
}

int main(void) {
	char path[] = "/tmp/filemaps.XXXXXX", name[64];
	struct sigaction sa = {.sa_sigaction = fault, .sa_flags = SA_SIGINFO};
	sigaction(SIGBUS, &sa, 0);
	sigaction(SIGSEGV, &sa, 0);
	setvbuf(stdout, malloc(1 << 16), _IOFBF, 1 << 16);
	ends();
	ring();
	file = mkstemp(path);
	ftruncate(file, filePages * P);
	readOnly = open(path, O_RDONLY);
	unlink(path);
	for (int i = 0; i < 40; i++) step();
	int toChild[2], back[2];
	char c;
	pipe(toChild), pipe(back);
	fflush(stdout);
	if (fork() == 0) {
		who = "child", state ^= 12345;
		while (read(toChild[0], &c, 1) == 1 && c) {
			if (c == 's') show(); else step();
			fflush(stdout);
			write(back[1], "", 1);
		}
		_exit(0);
	}
	for (int i = 0; i < steps; i++) {
		if (pick(2)) {
			write(toChild[1], "x", 1), read(back[0], &c, 1);
		} else {
			step();
		}
		if (i % 3 == 0) show(), fflush(stdout), write(toChild[1], "s", 1), read(back[0], &c, 1);
		fflush(stdout);
	}
	write(toChild[1], "", 1);
	wait(0);
	return 0;
}

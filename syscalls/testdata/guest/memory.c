// Address space: mmap and its kin. Addresses are printed as differences only.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define R(x) do { errno = 0; long r_ = (long)(x); int e_ = errno; printf("%-70s %ld %s\n", #x, r_, r_ == -1 ? strerror(e_) : ""); } while (0)
#define OK(x) printf("%-70s %d\n", #x, !!(x))

int main(void) {
	setvbuf(stdout, 0, _IONBF, 0);
	long P = 4096;
	char *a = mmap(0, 8 * P, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	a[0] = 1, a[P] = 2, a[7 * P] = 3;
	R(mprotect(a + P, P, PROT_READ));
	R(mprotect(a + 1, P, PROT_READ));
	R(munmap(a + 2 * P, P));
	R(munmap(a + 2 * P, P));
	R(munmap(a + 2, P));
	R(munmap(a, 0));
	R(mprotect(a, 8 * P, PROT_READ | PROT_WRITE));
	OK(mmap(a + 2 * P, P, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == a + 2 * P);
	OK(mmap(a + 2 * P, P, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED && errno == EEXIST);
	R(mmap(0, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	R(mmap(0, P, PROT_READ, MAP_ANONYMOUS, -1, 0));
	R(mmap(0, P, PROT_READ, MAP_PRIVATE, -1, 0));
	R(mmap(0, P, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 1));
	R(mmap((void *)1, P, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	R(mmap(0, (size_t)1 << 60, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	R(madvise(a, P, MADV_DONTNEED));
	OK(a[0] == 0);
	R(madvise(a, P, 77));
	R(madvise(a + 1, P, MADV_DONTNEED));
	R(msync(a, P, MS_SYNC));
	R(msync(a, P, MS_SYNC | MS_ASYNC));
	unsigned char vec[8];
	R(mincore(a, 8 * P, vec));
	R(mlock(a, P));
	R(munlock(a, P));

	char name[] = "/tmp/cgemu-memXXXXXX";
	int fd = mkstemp(name);
	unlink(name);
	char page[4096];
	for (int i = 0; i < 3; i++) memset(page, 'a' + i, P), write(fd, page, P);
	char *p = mmap(0, 3 * P, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	char *s = mmap(0, 2 * P, PROT_READ | PROT_WRITE, MAP_SHARED, fd, P);
	OK(p[0] == 'a' && p[2 * P] == 'c' && s[0] == 'b');
	p[0] = 'X';
	s[0] = 'Y';
	pread(fd, page, 1, 0);
	OK(page[0] == 'a');
	pread(fd, page, 1, P);
	OK(page[0] == 'Y');
	OK(p[P] == 'Y');
	pwrite(fd, "Z", 1, P + 1);
	OK(s[1] == 'Z');
	R(madvise(p, P, MADV_DONTNEED));
	OK(p[0] == 'a');
	R(mmap(0, P, PROT_READ, MAP_PRIVATE, fd, 100));
	int ro = open("/etc/passwd", O_RDONLY);
	R(mmap(0, P, PROT_WRITE, MAP_SHARED, ro, 0));
	OK(mmap(0, P, PROT_WRITE, MAP_PRIVATE, ro, 0) != MAP_FAILED);
	int dir = open("/", O_RDONLY);
	R(mmap(0, P, PROT_READ, MAP_PRIVATE, dir, 0));

	char *m = mmap(0, 2 * P, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(m, 7, 2 * P);
	char *g = mremap(m, 2 * P, 300 * P, MREMAP_MAYMOVE);
	OK(g != MAP_FAILED && g[0] == 7 && g[2 * P - 1] == 7 && g[2 * P] == 0 && g[299 * P] == 0);
	OK(mremap(g, 300 * P, P, 0) == g && g[0] == 7);
	R(mremap(g + 1, P, P, 0));
	char *to = mmap(0, 10 * P, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	OK(mremap(g, P, 2 * P, MREMAP_MAYMOVE | MREMAP_FIXED, to + 4 * P) == to + 4 * P);
	OK(to[4 * P] == 7 && to[5 * P] == 0);
	R(mremap(g, P, 2 * P, MREMAP_MAYMOVE));
	char *sm = mremap(s, 2 * P, P, 0);
	OK(sm == s && s[0] == 'Y');

	char *b = sbrk(0);
	OK(sbrk(100000) == b);
	memset(b, 5, 100000);
	OK((char *)sbrk(0) - b == 100000);
	OK(sbrk(-100000) == b + 100000 && sbrk(0) == b);
	OK(sbrk(P) == b && b[0] == 0);
	OK(brk((void *)1) == -1 && errno == ENOMEM);

	// Code that is written, run, rewritten and run again.
	unsigned char *c = mmap(0, P, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char code[] = {0xb8, 1, 0, 0, 0, 0xc3};
	int sum = 0;
	for (int i = 0; i < 100; i++) {
		code[1] = i;
		memcpy(c, code, sizeof code);
		sum += ((int (*)(void))c)();
	}
	R(sum);
	pwrite(fd, code, sizeof code, 0);
	int (*f)(void) = mmap(0, P, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	R(f());
	// Shared memory from two mappings of one memfd: code seen through the other.
	int mfd = memfd_create("code", 0);
	ftruncate(mfd, P);
	unsigned char *w = mmap(0, P, PROT_READ | PROT_WRITE, MAP_SHARED, mfd, 0);
	memcpy(w, code, sizeof code);
	int (*x)(void) = mmap(0, P, PROT_READ | PROT_EXEC, MAP_SHARED, mfd, 0);
	R(x());
	sum = 0;
	for (int i = 0; i < 100; i++) {
		w[1] = i;
		sum += x();
	}
	R(sum);
	// A third, mapped when there is code already.
	unsigned char *w3 = mmap(0, P, PROT_READ | PROT_WRITE, MAP_SHARED, mfd, 0);
	w3[1] = 7;
	R(x());
	w[1] = 8;
	R(x());
	munmap(w, P);
	w3[1] = 9;
	R(x());
	mprotect(w3, P, PROT_READ);
	mprotect(w3, P, PROT_READ | PROT_WRITE);
	w3[1] = 10;
	R(x());
	for (size_t n = 1; n < 1 << 26; n *= 3) {
		char *q = malloc(n);
		memset(q, 1, n);
		q = realloc(q, n * 2);
		if (q[n - 1] != 1) puts("bad");
		free(q);
	}
	return 0;
}

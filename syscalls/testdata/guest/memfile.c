// /proc/PID/mem and pagemap: memory read and written whatever its permissions, and what says so.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *error(long r) { return r >= 0 ? "ok" : strerror(errno); }

static void transfer(const char *what, long r) { printf("%s: %ld %s\n", what, r, error(r)); }

static char *page(int prot, int flags) { return mmap(NULL, 4096, prot, flags | MAP_ANONYMOUS, -1, 0); }

static int answer = 41;

static void ownMemory(int fd) {
	int got = 0, put = 42;
	transfer("read a variable", pread(fd, &got, sizeof got, (off_t)&answer));
	transfer("write it", pwrite(fd, &put, sizeof put, (off_t)&answer));
	printf("%d, then %d\n", got, answer);

	char *constant = page(PROT_READ, MAP_PRIVATE), *none = page(PROT_READ | PROT_WRITE, MAP_PRIVATE), b[8] = {0};
	strcpy(none, "secret");
	mprotect(none, 4096, PROT_NONE);
	transfer("write a constant", pwrite(fd, "changed", 8, (off_t)constant));
	transfer("read what nobody may", pread(fd, b, 7, (off_t)none));
	printf("%s, %s\n", constant, b);
	transfer("write there", pwrite(fd, "known!", 7, (off_t)none));
	mprotect(none, 4096, PROT_READ);
	printf("%s\n", none);
	transfer("write what is shared and constant", pwrite(fd, "x", 1, (off_t)page(PROT_READ, MAP_SHARED)));
	transfer("write what is shared", pwrite(fd, "x", 1, (off_t)page(PROT_READ | PROT_WRITE, MAP_SHARED)));
}

static void edges(int fd) {
	char *two = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), b[8192];
	munmap(two + 2 * 4096, 4096);
	transfer("read to an end", pread(fd, b, 8192, (off_t)two + 4096));
	transfer("write to an end", pwrite(fd, b, 8192, (off_t)two + 8000));
	transfer("read nothing", pread(fd, b, 8, (off_t)two + 8192));
	transfer("write nothing", pwrite(fd, b, 8, (off_t)two + 8192));
	transfer("read 0", pread(fd, b, 8, 0));
	transfer("read to nowhere", pread(fd, NULL, 8, (off_t)two));
	transfer("read no bytes", pread(fd, b, 0, 0));
	strcpy(two, "here and there");
	transfer("seek", lseek(fd, (off_t)two, SEEK_SET) == (off_t)two ? 0 : -1);
	transfer("read", read(fd, b, 5));
	transfer("move", lseek(fd, 4, SEEK_CUR) == (off_t)two + 9 ? 0 : -1);
	transfer("read", read(fd, b + 5, 6));
	printf("%s\n", b);
	transfer("seek from the end", lseek(fd, 0, SEEK_END));
	transfer("map", mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED ? -1 : 0);
	transfer("truncate", ftruncate(fd, 0));
}

// code is changed where it may not be written to, before and after it has been executed.
static void code(int fd) {
	unsigned char move[] = {0xb8, 1, 0, 0, 0, 0xc3}; // mov eax, 1; ret
	unsigned char *at = (unsigned char *)page(PROT_READ | PROT_EXEC, MAP_PRIVATE);
	int (*f)(void) = (int (*)(void))at, sum = 0;
	for (int i = 0; i < 300; i++) {
		move[1] = i;
		if (pwrite(fd, move, sizeof move, (off_t)at) != sizeof move)
			printf("not written\n");
		sum += f() + f();
	}
	printf("code: %d\n", sum);
}

static void ofAnother(void) {
	int ready[2], go[2];
	pipe(ready);
	pipe(go);
	pid_t child = fork();
	if (child == 0) {
		char c = 'r';
		write(ready[1], &c, 1);
		read(go[0], &c, 1);
		printf("child: %d\n", answer);
		fflush(stdout);
		_exit(0);
	}
	char name[64], c;
	sprintf(name, "/proc/%d/mem", child);
	read(ready[0], &c, 1);
	int fd = open(name, O_RDWR), put = 99, got = 0;
	transfer("write the child's", pwrite(fd, &put, sizeof put, (off_t)&answer));
	transfer("read the child's", pread(fd, &got, sizeof got, (off_t)&answer));
	printf("parent: %d, child's %d\n", answer, got);
	fflush(stdout);
	write(go[1], "g", 1);
	waitpid(child, NULL, 0);
	transfer("read when it is gone", pread(fd, &got, sizeof got, (off_t)&answer));
	transfer("open when it is gone", open(name, O_RDONLY));
	close(fd);
}

static void pagemap(void) {
	int fd = open("/proc/self/pagemap", O_RDONLY);
	char *pages = mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(pages, 1, 2 * 4096);
	uint64_t entries[3] = {0};
	munmap(pages + 4096, 4096);
	off_t at = (uintptr_t)pages / 4096 * 8;
	transfer("entries", pread(fd, entries, 16, at));
	printf("present %d %d, of a file %d\n", (int)(entries[0] >> 63), (int)(entries[1] >> 63), (int)(entries[0] >> 61 & 1));
	int own = open("/proc/self/exe", O_RDONLY);
	char *private = mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, own, 0);
	private[4096 + 100] += *(volatile char *)private; // ELF's first byte is not 0
	transfer("entries of a file", pread(fd, entries, 16, (uintptr_t)private / 4096 * 8));
	printf("as in the file: %d, changed: %d\n", (int)(entries[0] >> 61 & 1), (int)(entries[1] >> 61 & 1));
	transfer("part of one", pread(fd, entries, 4, at));
	transfer("from within one", pread(fd, entries, 8, at + 4));
	transfer("behind all", pread(fd, entries, 8, (off_t)1 << 60));
}

int main(void) {
	setvbuf(stdout, NULL, _IOLBF, 0);
	int fd = open("/proc/self/mem", O_RDWR);
	ownMemory(fd);
	edges(fd);
	code(fd);
	ofAnother();
	pagemap();
	return 0;
}

// Memory of processes that fork: what one writes, unmaps or moves the others do not see, whoever of them does what first.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 256, SIZE = PAGES * PAGE };
static unsigned char *mem;

// fresh makes memory of which no two words are equal, and behind it a page that is not to be touched.
static unsigned char *fresh(void) {
	unsigned long *p = mmap(0, SIZE + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mprotect(p + SIZE / sizeof *p, PAGE, PROT_NONE);
	for (unsigned long i = 0; i < SIZE / sizeof *p; i++) p[i] = (i + 1) * 0x9e3779b97f4a7c15;
	return (unsigned char *)p;
}

// sum looks at all of the n bytes, eight at a time: it is most of what this program does.
static unsigned sum(const unsigned char *p, long n) {
	unsigned long s = 1;
	for (long i = 0; i < n; i += 8) s = s * 31 + *(const unsigned long *)(p + i);
	return s ^ s >> 32;
}

// child runs f in a child and says how it ended.
static void child(const char *what, void (*f)(void)) {
	fflush(stdout);
	int st, pid = fork();
	if (!pid) {
		f();
		fflush(stdout);
		_exit(0);
	}
	waitpid(pid, &st, 0);
	printf("%s: %x, parent %x\n", what, st, sum(mem, SIZE));
}

static void nothing(void) {}
static void reads(void) { printf("  %x\n", sum(mem, SIZE)); }
static void writes(void) {
	for (int i = 0; i < PAGES; i += 3) mem[i * PAGE + 5]++;
	reads();
}
static void backwards(void) {
	for (int i = PAGES - 1; i >= 0; i--) mem[i * PAGE + PAGE - 1] = i;
	reads();
}
static void unmaps(void) {
	munmap(mem + 25 * PAGE, 12 * PAGE);
	printf("  %d %x\n", write(1, mem + 25 * PAGE, 1) < 0 ? errno : 0, sum(mem + 37 * PAGE, SIZE - 37 * PAGE));
}
static void protects(void) {
	mprotect(mem + 25 * PAGE, 12 * PAGE, PROT_READ);
	reads();
	mem[24 * PAGE] = 1;
	mem[25 * PAGE] = 1; // SIGSEGV
}
static void hides(void) {
	mprotect(mem, SIZE, PROT_NONE);
	mprotect(mem, SIZE, PROT_READ | PROT_WRITE);
	writes();
}
static void discards(void) {
	madvise(mem + 3 * PAGE, 175 * PAGE, MADV_DONTNEED);
	writes();
}
static void moves(void) {
	unsigned char *p = mremap(mem, SIZE, 2 * SIZE, MREMAP_MAYMOVE);
	for (int i = 0; i < SIZE; i += 5 * PAGE) p[i + SIZE] = p[i]++;
	printf("  %x\n", sum(p, 2 * SIZE));
}
static void replaces(void) {
	mmap(mem + 50 * PAGE, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	writes();
}
static void nests(void) {
	for (int i = 0; i < 5; i++) {
		mem[i * 16 * PAGE]++;
		int st, pid = fork();
		if (pid) {
			mem[i * 16 * PAGE + PAGE]++;
			waitpid(pid, &st, 0);
			printf("  %d %x\n", i, sum(mem, SIZE));
			fflush(stdout);
			_exit(0);
		}
		mem[(i * 16 + 8) * PAGE]++;
	}
	reads();
}
static void orphans(void) { // the middle one ends before the last one has looked at anything
	int fds[2], again[2];
	pipe(fds);
	pipe(again);
	writes();
	fflush(stdout);
	if (!fork()) {
		char c;
		close(again[1]);
		read(again[0], &c, 1); // ends when the parent does
		mem[77 * PAGE] = 77;
		unsigned s = sum(mem, SIZE);
		printf("  orphan %x\n", s);
		fflush(stdout);
		_exit(0);
	}
	close(fds[1]);
	close(again[0]);
}
static void strings(void) { // REP, over all of it
	unsigned char *to = mem + SIZE / 2;
	long n = SIZE / 2;
	const unsigned char *from = mem;
	asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
	to = mem + 3 * PAGE + 7;
	n = 75 * PAGE;
	asm volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(9) : "memory");
	n = SIZE;
	to = mem;
	asm volatile("repne scasb" : "+D"(to), "+c"(n) : "a"(255) : "memory");
	printf("  %ld\n", n);
	reads();
}
static void straddles(void) { // vectors and x87 across pages, read-modify-write
	for (int i = 1; i < PAGES; i += 2) {
		unsigned char *p = mem + i * PAGE - 7;
		asm volatile("vmovdqu (%0), %%ymm5\n vpaddb %%ymm5, %%ymm5, %%ymm5\n vmovdqu %%ymm5, 3(%0)\n vzeroupper" : : "r"(p) : "memory", "xmm5");
		asm volatile("fldt 2(%0)\n fld1\n faddp\n fstpt 1(%0)" : : "r"(p) : "memory");
		asm volatile("lock addq $3, 4(%0)\n addl $1, 5(%0)\n lock cmpxchg %%rcx, 2(%0)" : : "r"(p), "a"(1L), "c"(2L) : "memory", "cc");
	}
	reads();
}
static void calls(void) { // the kernel reads and writes it
	int fds[2], f = memfd_create("f", 0);
	pipe(fds);
	struct iovec v[3] = {{mem + 30 * PAGE - 3, 6}, {mem + 125 * PAGE, PAGE}, {mem + PAGE, 10}};
	printf("  %ld %ld", (long)write(f, mem, SIZE), (long)writev(fds[1], v, 3));
	v[0].iov_base = mem + 60 * PAGE - 3;
	v[1].iov_base = mem + 225 * PAGE + 1;
	printf(" %ld %ld %ld\n", (long)readv(fds[0], v, 3), (long)pread(f, mem + 75 * PAGE + 100, 25 * PAGE, 5), (long)pread(f, mem + (PAGES - 2) * PAGE, 3 * PAGE, 0) > 0);
	reads();
}

static void *thread(void *arg) {
	for (int i = (long)arg; i < PAGES; i += 4) {
		mem[i * PAGE]++;
		if (i % 25 == 0 && fork() == 0) {
			mem[i * PAGE + 1]++;
			_exit(mem[i * PAGE + 1] & 15);
		}
	}
	return 0;
}
static void threads(void) {
	pthread_t t[4];
	int st, ends = 0;
	for (long i = 0; i < 4; i++) pthread_create(&t[i], 0, thread, (void *)i);
	for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
	while (wait(&st) > 0) ends += WEXITSTATUS(st);
	printf("  %d\n", ends);
	reads();
}
static void vforks(void) {
	writes();
	int st, pid = fork();
	if (!pid) {
		if (!vfork()) {
			mem[8 * PAGE] = 9;
			_exit(0);
		}
		reads();
		fflush(stdout);
		_exit(0);
	}
	waitpid(pid, &st, 0);
	reads();
}

// Parent and child write to the same pages, one after the other.
static void alternately(void) {
	int down[2], up[2];
	char c = 0;
	pipe(down);
	pipe(up);
	fflush(stdout);
	int pid = fork();
	for (int i = 0; i < PAGES; i += 7) {
		if (pid) {
			mem[i * PAGE + 1] += 3;
			write(down[1], &c, 1);
			read(up[0], &c, 1);
			mem[i * PAGE + 2]++;
		} else {
			read(down[0], &c, 1);
			mem[i * PAGE + 1] ^= 0x55;
			write(up[1], &c, 1);
		}
	}
	if (!pid) {
		reads();
		fflush(stdout);
		_exit(0);
	}
	waitpid(pid, 0, 0);
	reads();
}

// Many children that are there at once.
static void many(void) {
	int fds[2], total = 0, pids[50];
	char c;
	pipe(fds);
	for (int i = 0; i < 50; i++) {
		if (!(pids[i] = fork())) {
			close(fds[1]);
			read(fds[0], &c, 1);
			_exit(sum(mem + i * 4 * PAGE, 3 * PAGE) & 63);
		}
		mem[i * 4 * PAGE + PAGE]++;
	}
	munmap(mem, SIZE / 2);
	close(fds[1]);
	for (int i = 0; i < 50; i++) {
		int st;
		waitpid(pids[i], &st, 0);
		total = total * 3 + WEXITSTATUS(st);
	}
	printf("many %d %x\n", total, sum(mem + SIZE / 2, SIZE / 2));
}

// sealed forks when the file of a mapping has been sealed against new ones, where that can be done.
static void sealed(void) {
	int fd = memfd_create("sealed", MFD_ALLOW_SEALING), st;
	ftruncate(fd, 3 * PAGE);
	char *p = mmap(0, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	fcntl(fd, F_ADD_SEALS, 0x10); // F_SEAL_FUTURE_WRITE
	pid_t pid = fork();
	if (!pid) {
		strcpy(p + PAGE, "from the child");
		_exit(0);
	}
	printf("sealed: %d", pid > 0 && waitpid(pid, &st, 0) == pid && st == 0);
	printf(" %s\n", p + PAGE);
	munmap(p, 3 * PAGE);
	close(fd);
}

int main(void) {
	mem = fresh();
	struct { const char *name; void (*f)(void); } all[] = {
		{"nothing", nothing}, {"reads", reads}, {"writes", writes}, {"backwards", backwards}, {"unmaps", unmaps}, {"protects", protects},
		{"hides", hides}, {"discards", discards}, {"moves", moves}, {"replaces", replaces}, {"nests", nests}, {"strings", strings},
		{"straddles", straddles}, {"calls", calls}, {"threads", threads}, {"vforks", vforks}, {"alternately", alternately},
	};
	for (int round = 0; round < 2; round++) {
		for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
			child(all[i].name, all[i].f);
			mem[i * 15 * PAGE + round]++;
		}
		// The same by the parent, while a child waits.
		for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
			if (all[i].f == protects || all[i].f == nests || all[i].f == threads) continue; // they end, or wait for all
			int fds[2], st, pid;
			char c;
			pipe(fds);
			fflush(stdout);
			if (!(pid = fork())) {
				close(fds[1]);
				read(fds[0], &c, 1);
				printf("%s by the parent: child %x\n", all[i].name, sum(mem, SIZE));
				fflush(stdout);
				_exit(0);
			}
			all[i].f();
			fflush(stdout);
			close(fds[0]);
			close(fds[1]);
			waitpid(pid, &st, 0);
			if (all[i].f == moves) mem = fresh(); // the old place is free
			if (all[i].f == unmaps) {
				munmap(mem, SIZE);
				mem = fresh();
			}
		}
	}
	for (int i = 0; i < 100; i++) {
		if (!fork()) _exit(mem[i] & 1);
		mem[(i % PAGES) * PAGE]++;
		wait(0);
	}
	printf("%x\n", sum(mem, SIZE));
	many();
	sealed();
	mem = fresh();
	fflush(stdout);
	int fds[2];
	char c;
	pipe(fds);
	if (!fork()) {
		orphans();
		_exit(0);
	}
	wait(0);
	close(fds[1]);
	read(fds[0], &c, 1); // ends when the orphan does
	printf("end %x\n", sum(mem, SIZE));
	return 0;
}

// Memory that is advised, locked, moved over several mappings, or grows by itself.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#define MADV_KEEPONFORK 19
#endif
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif
#define P 4096

static void show(const char *what, long r) { printf("%-34s %ld %s\n", what, r, r < 0 ? strerror(errno) : ""); }
static long ptr(void *p) { return p == MAP_FAILED ? -1 : 0; }
static char *map(int pages, int flags) { return mmap(0, pages * P, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0); }

static void died(const char *what) {
	int st;
	wait(&st);
	printf("%s: exit %d signal %d\n", what, WEXITSTATUS(st), WTERMSIG(st));
}

static void forks(void) {
	char *m = map(3, MAP_PRIVATE), *s = map(1, MAP_SHARED);
	int fd = open("/proc/self/exe", O_RDONLY);
	char *f = mmap(0, P, PROT_READ, MAP_PRIVATE, fd, 0);
	memset(m, 7, 3 * P);
	show("wipe", madvise(m + P, P, MADV_WIPEONFORK));
	show("wipe shared", madvise(s, P, MADV_WIPEONFORK));
	show("wipe a file", madvise(f, P, MADV_WIPEONFORK));
	if (fork() == 0) {
		printf("child sees %d %d %d\n", m[0], m[P], m[2 * P]);
		m[P] = 9;
		fflush(stdout);
		if (fork() == 0)
			_exit(m[P]);
		died("grandchild");
		_exit(0);
	}
	died("wiped");
	printf("parent sees %d\n", m[P]);
	show("keep", madvise(m, 3 * P, MADV_KEEPONFORK));
	if (fork() == 0)
		_exit(m[P]);
	died("kept");
	show("dontfork", madvise(m + P, P, MADV_DONTFORK));
	if (fork() == 0) {
		unsigned char v[3];
		show("in the child", mincore(m, 3 * P, v));
		show("in front", mincore(m, P, v));
		show("behind", mincore(m + 2 * P, P, v));
		fflush(stdout);
		_exit(m[P]);
	}
	died("dontfork");
	printf("parent sees %d\n", m[P]);
	show("dofork", madvise(m, 3 * P, MADV_DOFORK));
	show("dontfork of what is not there", madvise((void *)(P * 0x7000000ul), P, MADV_DONTFORK));
	if (fork() == 0)
		_exit(m[P]);
	died("dofork");
}

static void removes(void) {
	char *s = map(2, MAP_SHARED), *m = map(1, MAP_PRIVATE);
	int fd = memfd_create("x", 0);
	ftruncate(fd, 2 * P);
	char *f = mmap(0, 2 * P, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	memset(s, 5, 2 * P);
	memset(f, 5, 2 * P);
	show("remove", madvise(s, P, MADV_REMOVE));
	printf("%d %d\n", s[0], s[P]);
	show("remove of a file", madvise(f + P, P, MADV_REMOVE));
	printf("%d %d\n", f[0], f[P]);
	show("remove private", madvise(m, P, MADV_REMOVE));
	show("free shared", madvise(s, P, MADV_FREE));
	show("dontneed shared", madvise(s + P, P, MADV_DONTNEED));
	printf("%d\n", s[P]);
}

static void grows(void) {
	for (int kind = 0; kind < 4; kind++) {
		fflush(stdout);
		if (fork() == 0) {
			signal(SIGSEGV, SIG_DFL);
			char *g = mmap(0, 64 * P * 16, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			char *m = g + 60 * P * 16;
			munmap(g, 64 * P * 16);
			m = mmap(m, 2 * P, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN, -1, 0);
			m[0] = 1;
			if (kind == 0)
				for (int i = 1; i < 30; i++)
					m[-i * P] = i;
			if (kind == 1)
				m[-10 * P] = 3;
			if (kind == 2)
				m[2 * P] = 1; // it does not grow up
			if (kind == 3) { // what the kernel copies makes it grow, too
				show("read", read(open("/dev/zero", O_RDONLY), m - 4 * P, 10));
				show("name", access(m - 6 * P, 0));
				show("read above", read(open("/dev/zero", O_RDONLY), m + 2 * P, 10));
				fflush(stdout);
			}
			_exit(m[-10 * P]);
		}
		died("grows");
	}
}

static void moves(void) {
	char *m = map(8, MAP_PRIVATE), *s = map(2, MAP_SHARED);
	m[0] = 1;
	munmap(m + P, P);
	show("shrink over a hole", mremap(m, 2 * P, P, 0) == m ? 0 : -1);
	mprotect(m + 2 * P, P, PROT_READ);
	show("shrink over two", mremap(m + 2 * P, 4 * P, 3 * P, 0) == m + 2 * P ? 0 : -1);
	show("grow over two", ptr(mremap(m + 2 * P, 3 * P, 9 * P, MREMAP_MAYMOVE)));
	show("same size over two", mremap(m + 2 * P, 3 * P, 3 * P, 0) == m + 2 * P ? 0 : -1);
	show("unmapped", ptr(mremap(m + P, P, 2 * P, MREMAP_MAYMOVE)));
	s[0] = 4;
	s[P] = 6;
	char *again = mremap(s, 0, P, MREMAP_MAYMOVE);
	show("second mapping", ptr(again));
	if (again != MAP_FAILED) {
		again[0] = 5;
		printf("%d\n", s[0]);
	}
	again = mremap(s + P, 0, P, MREMAP_MAYMOVE);
	if (again != MAP_FAILED)
		printf("%d\n", again[0]);
	show("of private memory", ptr(mremap(m, 0, P, MREMAP_MAYMOVE)));
	show("in its place", ptr(mremap(s, 0, P, 0)));
	char *d = map(2, MAP_PRIVATE);
	d[0] = 8;
	char *e = (char *)syscall(SYS_mremap, d, 2 * P, 2 * P, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, 0);
	show("dontunmap", ptr(e));
	if (e != MAP_FAILED)
		printf("%d %d\n", d[0], e[0]);
	show("dontunmap, other size", ptr((char *)syscall(SYS_mremap, d, 2 * P, 3 * P, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, 0)));
	show("dontunmap, bad hint", ptr((char *)syscall(SYS_mremap, d, 2 * P, 2 * P, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, 5)));
	show("dontunmap, may not move", ptr(mremap(d, 2 * P, 2 * P, MREMAP_DONTUNMAP)));
	show("onto itself", ptr(mremap(d, 2 * P, 2 * P, MREMAP_MAYMOVE | MREMAP_FIXED, d + P)));
}

static long locked(void) {
	char line[200];
	long n = -1;
	FILE *f = fopen("/proc/self/status", "r");
	while (fgets(line, sizeof line, f))
		sscanf(line, "VmLck: %ld", &n);
	fclose(f);
	return n;
}

static void locks(void) {
	char *m = map(4, MAP_PRIVATE);
	unsigned char v[4];
	show("before", locked());
	show("lock", mlock(m + 100, P));
	show("two pages", locked());
	show("again", mlock(m, P));
	show("still two", locked());
	show("part of it not there", (munmap(m + 3 * P, P), mlock(m, 4 * P)));
	show("lock what is", locked());
	if (fork() == 0) {
		show("child", locked());
		fflush(stdout);
		_exit(0);
	}
	wait(0);
	show("unlock", munlock(m, P));
	show("less", locked());
	show("dontneed locked", madvise(m + P, P, MADV_DONTNEED));
	show("dontneed unlocked", madvise(m, P, MADV_DONTNEED));
	munmap(m + P, P);
	show("unmapped", locked());
	char *l = mmap(0, 2 * P, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED, -1, 0);
	show("mapped locked", locked());
	l = mremap(l, 2 * P, 5 * P, MREMAP_MAYMOVE);
	show("grown", locked());
	show("mlock2", syscall(SYS_mlock2, l, P, 1));
	show("mlock2 flags", syscall(SYS_mlock2, l, P, 2));
	show("mlockall flags", mlockall(0));
	show("mlockall onfault alone", mlockall(4));
	show("unlock all", munlockall());
	show("none", locked());
	show("mincore of all", mincore(0, -1, v));
	show("mincore of nothing", mincore(m, 0, v));
}

// limited is about RLIMIT_MEMLOCK, which the superuser does not have.
static void limited(void) {
	struct rlimit r = {8 << 20, 8 << 20};
	setrlimit(RLIMIT_MEMLOCK, &r);
	setuid(1000);
	char *m = map(4096, MAP_PRIVATE);
	show("mlock past the limit", mlock(m, (8 << 20) + 1));
	show("mlock up to it", mlock(m, 8 << 20));
	show("locked", locked());
	show("mremap past it", (long)mremap(m, 8 << 20, 9 << 20, MREMAP_MAYMOVE) == -1);
	show("MAP_LOCKED past it", mmap(0, P, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED, -1, 0) == MAP_FAILED);
	munmap(m, 4096 * P);
	show("mlockall", mlockall(MCL_FUTURE));
	show("sbrk", sbrk(1 << 20) == (void *)-1);
	show("locked more than 1 MiB", locked() > 1024);
	show("sbrk past it", sbrk(16 << 20) == (void *)-1);
	_exit(0);
}

static void registered(void) {
	show("private", syscall(SYS_membarrier, 8, 0, 0));
	show("register", syscall(SYS_membarrier, 16, 0, 0));
	show("private", syscall(SYS_membarrier, 8, 0, 0));
	show("core", syscall(SYS_membarrier, 32, 0, 0));
	show("register core", syscall(SYS_membarrier, 64, 0, 0));
	show("core", syscall(SYS_membarrier, 32, 0, 0));
	show("global", syscall(SYS_membarrier, 1, 0, 0));
	show("global expedited", syscall(SYS_membarrier, 2, 0, 0));
	show("flags", syscall(SYS_membarrier, 8, 5, 0));
	show("unknown", syscall(SYS_membarrier, 1 << 20, 0, 0));
	if (fork() == 0) {
		show("in the child", syscall(SYS_membarrier, 8, 0, 0));
		fflush(stdout);
		_exit(0);
	}
	wait(0);
}

int main(void) {
	setvbuf(stdout, 0, _IOLBF, 0);
	forks();
	removes();
	grows();
	moves();
	locks();
	registered();
	if (fork() == 0)
		limited();
	wait(0);
	return 0;
}

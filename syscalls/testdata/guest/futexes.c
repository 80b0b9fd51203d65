// futex(2): how many a wake wakes, which words are one futex, what the calls look at, and futex_waitv(2).
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// The headers of the kernel are not there with every C library.
enum {
	FUTEX_WAIT, FUTEX_WAKE, FUTEX_REQUEUE = 3, FUTEX_WAKE_OP = 5, FUTEX_LOCK_PI, FUTEX_UNLOCK_PI, FUTEX_WAIT_BITSET = 9, FUTEX_WAKE_BITSET,
	FUTEX_PRIVATE_FLAG = 128, FUTEX_CLOCK_REALTIME = 256, FUTEX_WAIT_PRIVATE = FUTEX_WAIT | FUTEX_PRIVATE_FLAG,
	FUTEX_WAKE_PRIVATE = FUTEX_WAKE | FUTEX_PRIVATE_FLAG, FUTEX_REQUEUE_PRIVATE = FUTEX_REQUEUE | FUTEX_PRIVATE_FLAG,
	FUTEX_LOCK_PI_PRIVATE = FUTEX_LOCK_PI | FUTEX_PRIVATE_FLAG, FUTEX_UNLOCK_PI_PRIVATE = FUTEX_UNLOCK_PI | FUTEX_PRIVATE_FLAG,
	FUTEX_32 = 2, FUTEX_OWNER_DIED = 0x40000000, FUTEX_TID_MASK = 0x3fffffff, FUTEX_OP_SET = 0, FUTEX_OP_CMP_EQ = 0,
};
#define FUTEX_OP(op, arg, cmp, cmparg) ((op) << 28 | (cmp) << 24 | ((arg) & 0xfff) << 12 | (cmparg) & 0xfff)
#define SYS_waitv 449

struct waiter {
	uint64_t val, uaddr;
	uint32_t flags, reserved;
};

static unsigned word, other, lock;
static volatile int op, out, woken, entered;
static struct waiter vec[130];

static void show(const char *what, long r) {
	printf("%-36s %ld %s\n", what, r, r < 0 ? strerror(errno) : "");
	fflush(stdout);
}

static long futex(void *at, int op, unsigned val, const void *timeout, void *at2, unsigned val3) {
	return syscall(SYS_futex, at, op, val, timeout, at2, val3);
}

static volatile int tids[4], locking;

// asleep waits until a thread does.
static void asleep(int tid) {
	char path[64], text[200], *end;
	for (;; usleep(1000)) {
		snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
		FILE *f = fopen(path, "r");
		end = f && fgets(text, sizeof text, f) ? strrchr(text, ')') : 0;
		if (f)
			fclose(f);
		if (end && end[2] == 'S')
			return;
	}
}

// started waits until a thread that was just started sleeps.
static void started(int i) {
	while (!tids[i])
		usleep(1000);
	asleep(tids[i]);
}

static void *waits(void *a) {
	struct timespec limit = {20, 0};
	tids[(long)a] = syscall(SYS_gettid);
	if (futex(&word, op, 0, &limit, 0, ~0) == 0)
		__atomic_fetch_add(&woken, 1, __ATOMIC_SEQ_CST);
	return 0;
}

// with starts n threads that wait by an operation, and tells how many another wakes.
static void with(const char *what, int n, int wait, int wake, int val) {
	pthread_t t[4];
	op = wait;
	woken = 0;
	for (long i = 0; i < n; i++) {
		tids[i] = 0;
		pthread_create(&t[i], 0, waits, (void *)i);
		started(i);
	}
	int r = futex(&word, wake, val, 0, &other, FUTEX_OP(FUTEX_OP_SET, 0, FUTEX_OP_CMP_EQ, 99));
	show(what, r);
	while (woken < r)
		usleep(1000);
	printf("woken: %d\n", woken);
	futex(&word, FUTEX_WAKE, 100, 0, 0, 0);
	futex(&word, FUTEX_WAKE_PRIVATE, 100, 0, 0, 0);
	for (int i = 0; i < n; i++)
		pthread_join(t[i], 0);
}

static void counts(void) {
	with("wake -1", 3, FUTEX_WAIT, FUTEX_WAKE, -1);
	with("wake 0", 3, FUTEX_WAIT, FUTEX_WAKE, 0);
	with("wake 2", 3, FUTEX_WAIT, FUTEX_WAKE, 2);
	with("wake INT_MAX", 3, FUTEX_WAIT, FUTEX_WAKE, 0x7fffffff);
	with("wake op 0", 3, FUTEX_WAIT, FUTEX_WAKE_OP, 0);
	with("wake op -1", 3, FUTEX_WAIT, FUTEX_WAKE_OP, -1);
	with("wait private, wake shared", 2, FUTEX_WAIT_PRIVATE, FUTEX_WAKE, 9);
	with("wait shared, wake private", 2, FUTEX_WAIT, FUTEX_WAKE_PRIVATE, 9);
	with("both private", 2, FUTEX_WAIT_PRIVATE, FUTEX_WAKE_PRIVATE, 9);
}

static void checks(void) {
	char *m = mmap(0, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *ro = mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned a = 1;
	struct timespec soon = {0, 1000}, bad = {0, 1000000000};
	munmap(m + 4096, 4096);
	show("wake PROT_NONE", futex(m, FUTEX_WAKE, 1, 0, 0, 0));
	show("wake PROT_NONE, private", futex(m, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0));
	show("wake unmapped", futex(m + 4096, FUTEX_WAKE, 1, 0, 0, 0));
	show("wake unmapped, private", futex(m + 4096, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0));
	show("wake of the kernel's", futex((void *)-4096, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0));
	show("wake unaligned", futex(m + 1, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0));
	show("wake read-only", futex(ro, FUTEX_WAKE, 1, 0, 0, 0));
	show("wait unmapped", futex(m + 4096, FUTEX_WAIT_PRIVATE, 1, 0, 0, 0));
	show("wait PROT_NONE", futex(m, FUTEX_WAIT_PRIVATE, 0, &soon, 0, 0));
	show("wait read-only", futex(ro, FUTEX_WAIT, 0, &soon, 0, 0));
	show("wake op, first null", futex(0, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, 0, &a, FUTEX_OP(FUTEX_OP_SET, 2, FUTEX_OP_CMP_EQ, 0)));
	printf("word: %u\n", a);
	show("wake op, second null", futex(&a, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, 0, 0, FUTEX_OP(FUTEX_OP_SET, 2, FUTEX_OP_CMP_EQ, 0)));
	show("wake op, bad comparison", futex(&a, FUTEX_WAKE_OP, 1, 0, &a, FUTEX_OP(FUTEX_OP_SET, 5, 9, 0)));
	printf("word: %u\n", a);
	show("wait by the wall clock", futex(&a, FUTEX_WAIT | FUTEX_CLOCK_REALTIME, 5, &soon, 0, 0));
	show("wake by the wall clock", futex(&a, FUTEX_WAKE | FUTEX_CLOCK_REALTIME, 5, 0, 0, 0));
	show("bitset by the wall clock", futex(&a, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, a, &soon, 0, ~0));
	show("no bits, bad timeout", futex(&a, FUTEX_WAIT_BITSET, a, &bad, 0, 0));
	show("no bits", futex(&a, FUTEX_WAIT_BITSET, a, 0, 0, 0));
	show("wake no bits", futex(&a, FUTEX_WAKE_BITSET, a, 0, 0, 0));
	show("no such operation", futex(&a, 99, 0, 0, 0, 0));
}

// owns takes the lock and ends without giving it back, after changing the word if arg says so.
static void *owns(void *arg) {
	futex(&lock, (long)arg & 2 ? FUTEX_LOCK_PI : FUTEX_LOCK_PI_PRIVATE, 0, 0, 0, 0);
	entered = 1;
	while (!locking)
		usleep(1000);
	asleep(getpid());
	if ((long)arg & 1)
		__atomic_store_n(&lock, FUTEX_OWNER_DIED, __ATOMIC_SEQ_CST);
	syscall(SYS_exit, 0);
	return 0;
}

static void owners(void) {
	for (long kind = 0; kind < 4; kind++) {
		pthread_t t;
		lock = entered = locking = 0;
		pthread_create(&t, 0, owns, (void *)kind);
		while (!entered)
			usleep(1000);
		locking = 1;
		show("the owner ended", futex(&lock, kind & 2 ? FUTEX_LOCK_PI : FUTEX_LOCK_PI_PRIVATE, 0, 0, 0, 0));
		printf("mine %d, flags %x\n", (lock & FUTEX_TID_MASK) == syscall(SYS_gettid), lock & ~FUTEX_TID_MASK);
		show("unlock", futex(&lock, kind & 2 ? FUTEX_UNLOCK_PI : FUTEX_UNLOCK_PI_PRIVATE, 0, 0, 0, 0));
		printf("word %x\n", lock);
	}
}

static struct timespec in(long ms) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_nsec += ms * 1000000;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

static void set(int i, unsigned *at, unsigned val, unsigned flags) { vec[i] = (struct waiter){val, (uintptr_t)at, flags, 0}; }

static long waitv(int n, unsigned flags, struct timespec *t, int clock) { return syscall(SYS_waitv, vec, n, flags, t, clock); }

static void *waitsMany(void *a) {
	struct timespec t = in(20000);
	tids[0] = syscall(SYS_gettid);
	out = waitv(3, 0, &t, CLOCK_MONOTONIC);
	return 0;
}

static void many(void) {
	static unsigned words[3];
	struct timespec soon = in(20), past = {1, 0}, bad = {0, -1};
	pthread_t t;
	for (int i = 0; i < 130; i++)
		set(i, &words[i % 3], 0, FUTEX_32 | FUTEX_PRIVATE_FLAG);
	show("nothing to wait for", waitv(0, 0, 0, 0));
	show("too many", waitv(129, 0, 0, 0));
	show("flags", waitv(3, 1, 0, 0));
	show("clock", waitv(3, 0, &past, CLOCK_BOOTTIME));
	show("time", waitv(3, 0, &bad, CLOCK_MONOTONIC));
	show("timed out", waitv(3, 0, &soon, CLOCK_MONOTONIC));
	show("long over", waitv(128, 0, &past, CLOCK_REALTIME));
	words[1] = 1;
	show("another value", waitv(3, 0, 0, 0));
	words[1] = 0;
	set(1, &words[1], 1ull << 32 >> 32 << 31, FUTEX_32);
	show("another value, shared", waitv(3, 0, 0, 0));
	set(1, &words[1], 0, 1);
	show("size", waitv(3, 0, 0, 0));
	set(1, &words[1], 0, FUTEX_32 | 64);
	show("unknown flag", waitv(3, 0, 0, 0));
	set(1, (unsigned *)1, 0, FUTEX_32);
	show("unaligned", waitv(3, 0, 0, 0));
	set(1, 0, 0, FUTEX_32 | FUTEX_PRIVATE_FLAG);
	show("null", waitv(3, 0, 0, 0));
	set(1, &words[1], 0, FUTEX_32 | FUTEX_PRIVATE_FLAG);
	vec[1].reserved = 1;
	show("reserved", waitv(3, 0, 0, 0));
	vec[1].reserved = 0;
	for (int i = 0; i < 3; i++) {
		tids[0] = 0;
		pthread_create(&t, 0, waitsMany, 0);
		started(0);
		show("wake one", futex(&words[i], FUTEX_WAKE_PRIVATE, 9, 0, 0, 0));
		pthread_join(t, 0);
		printf("it was %d\n", out);
	}
	show("nobody waits", futex(&words[1], FUTEX_WAKE_PRIVATE, 9, 0, 0, 0));
	tids[0] = 0;
	pthread_create(&t, 0, waitsMany, 0);
	started(0);
	show("requeue", futex(&words[1], FUTEX_REQUEUE_PRIVATE, 0, (void *)1, &other, 0));
	show("wake where it was", futex(&words[1], FUTEX_WAKE_PRIVATE, 9, 0, 0, 0));
	show("wake where it is", futex(&other, FUTEX_WAKE_PRIVATE, 9, 0, 0, 0));
	pthread_join(t, 0);
	printf("it was %d\n", out);
}

int main(void) {
	setvbuf(stdout, 0, _IOLBF, 0);
	counts();
	checks();
	owners();
	many();
	return 0;
}

// Locks of FUTEX_LOCK_PI by their system calls: words, errors, owners that die, a circle of two.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// linux/futex.h, which musl has not
enum { FUTEX_LOCK_PI = 6, FUTEX_UNLOCK_PI = 7, FUTEX_TRYLOCK_PI = 8 };
enum { FUTEX_WAITERS = (int)0x80000000, FUTEX_OWNER_DIED = 0x40000000, FUTEX_TID_MASK = 0x3fffffff };

static int pi(int *word, int op, struct timespec *ts) {
	return syscall(SYS_futex, word, op, 0, ts, 0, 0) == 0 ? 0 : errno;
}

static int tid(void) { return syscall(SYS_gettid); }

// show prints a word, its owner as mine, none or another.
static void show(const char *what, int e, int word) {
	int owner = word & FUTEX_TID_MASK;
	printf("%s: %d, %s%s%s\n", what, e, owner == 0 ? "free" : owner == tid() ? "mine" : "another's",
		word & FUTEX_WAITERS ? ", waiters" : "", word & FUTEX_OWNER_DIED ? ", owner died" : "");
}

static int a, b;
static volatile int step;

static void await(int n) {
	while (step < n)
		sched_yield();
}

// asleep waits until the kernel knows that another waits for word.
static void asleep(int *word) {
	while (!(*(volatile int *)word & FUTEX_WAITERS))
		sched_yield();
	usleep(20000);
}

static void *dies(void *arg) {
	pi(&a, FUTEX_LOCK_PI, 0);
	step = 1;
	asleep(&a);
	return 0;
}

static void *circle(void *arg) {
	pi(&b, FUTEX_LOCK_PI, 0);
	step = 1;
	pi(&a, FUTEX_LOCK_PI, 0);
	show("in the circle", 0, a);
	pi(&a, FUTEX_UNLOCK_PI, 0);
	pi(&b, FUTEX_UNLOCK_PI, 0);
	return 0;
}

int main(void) {
	struct timespec past = {1, 0};
	pthread_t t;
	int e;
	e = pi(&a, FUTEX_LOCK_PI, 0);
	show("lock", e, a);
	e = pi(&a, FUTEX_LOCK_PI, 0);
	show("again", e, a);
	e = pi(&a, FUTEX_TRYLOCK_PI, 0);
	show("try", e, a);
	e = pi(&a, FUTEX_UNLOCK_PI, 0);
	show("unlock", e, a);
	e = pi(&a, FUTEX_UNLOCK_PI, 0);
	show("unlock", e, a);
	e = pi(&a, FUTEX_TRYLOCK_PI, 0);
	show("try", e, a);
	pi(&a, FUTEX_UNLOCK_PI, 0);
	printf("no memory: %d, no word: %d\n", pi((int *)8, FUTEX_LOCK_PI, 0), pi((int *)((char *)&a + 1), FUTEX_LOCK_PI, 0));
	a = getppid();
	e = pi(&a, FUTEX_TRYLOCK_PI, 0);
	show("the parent's", e, a);
	a = 0x3ffffff;
	printf("no owner: %d\n", pi(&a, FUTEX_LOCK_PI, 0));
	a = FUTEX_OWNER_DIED;
	e = pi(&a, FUTEX_LOCK_PI, 0);
	show("left", e, a);
	a = 0;

	pthread_create(&t, 0, dies, 0);
	await(1);
	e = pi(&a, FUTEX_LOCK_PI, &past);
	show("late", e, a);
	e = pi(&a, FUTEX_LOCK_PI, 0);
	show("its owner died", e, a);
	pthread_join(t, 0);
	e = pi(&a, FUTEX_UNLOCK_PI, 0);
	show("unlock", e, a);

	step = 0;
	pi(&a, FUTEX_LOCK_PI, 0);
	pthread_create(&t, 0, circle, 0);
	await(1);
	asleep(&a);
	e = pi(&b, FUTEX_LOCK_PI, 0);
	show("circle", e, a);
	pi(&a, FUTEX_UNLOCK_PI, 0);
	pthread_join(t, 0);
	show("end", 0, a);

	int *shared = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (fork() == 0) {
		pi(shared, FUTEX_LOCK_PI, 0);
		shared[1] = 1;
		asleep(shared);
		_exit(0);
	}
	while (!((volatile int *)shared)[1])
		sched_yield();
	e = pi(shared, FUTEX_LOCK_PI, 0);
	show("of a process", e, *shared);
	wait(0);
	return 0;
}

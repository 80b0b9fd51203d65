// An interpreter's lock, given back around each system call that may wait and taken again at once: a thread that polls
// in a loop does not keep it from another, however long the loop is and how many calls it makes.
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond;
static int locked;
static volatile int got, sum;

static void take(void) {
	pthread_mutex_lock(&mutex);
	while (locked) {
		struct timespec t;
		clock_gettime(CLOCK_MONOTONIC, &t);
		t.tv_nsec += 5000000;
		if (t.tv_nsec >= 1000000000)
			t.tv_sec++, t.tv_nsec -= 1000000000;
		pthread_cond_timedwait(&cond, &mutex, &t);
	}
	locked = 1;
	pthread_mutex_unlock(&mutex);
}

static void give(void) {
	pthread_mutex_lock(&mutex);
	locked = 0;
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(&mutex);
}

static struct { int work, calls; } *how, hows[] = {{10, 1}, {10, 30}, {3000, 3}, {30000, 0}, {30000, 24}, {100000, 24}, {300000, 50}};

static void *polls(void *p) {
	struct pollfd none = {-1, POLLIN, 0};
	take();
	while (got < 6) {
		for (int i = 0; i < how->work; i++)
			sum += i;
		for (int i = 0; i < how->calls; i++)
			syscall(SYS_getppid);
		give();
		poll(&none, 1, 0);
		take();
	}
	give();
	return p;
}

static void *other(void *p) {
	for (; got < 6; got++) {
		take();
		give();
		poll(0, 0, 0);
	}
	return p;
}

int main(void) {
	pthread_condattr_t attr;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&cond, &attr);
	for (how = hows; how < hows + sizeof hows / sizeof *hows; how++) {
		pthread_t a, b;
		got = 0;
		pthread_create(&a, 0, polls, 0);
		pthread_create(&b, 0, other, 0);
		pthread_join(a, 0);
		pthread_join(b, 0);
		printf("%d %d: %d\n", how->work, how->calls, got);
	}
	return 0;
}

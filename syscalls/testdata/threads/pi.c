// Mutexes with priority inheritance: plain, recursive, robust, with a timeout, under a condition.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static pthread_mutex_t m;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static long counter;
static int turn;

static __attribute__((noinline)) void add(long *p) {
	long x = *p;
	__asm__ volatile("" ::: "memory");
	*p = x + 1;
}

static void *work(void *arg) {
	for (int i = 0; i < 1000; i++) {
		if (i % 2)
			pthread_mutex_lock(&m);
		else
			while (pthread_mutex_trylock(&m) == EBUSY)
				sched_yield();
		add(&counter);
		pthread_mutex_unlock(&m);
	}
	return 0;
}

static void *turns(void *arg) {
	for (int i = 0; i < 100; i++) {
		pthread_mutex_lock(&m);
		while (turn % 3 != (long)arg)
			pthread_cond_wait(&c, &m);
		turn++;
		pthread_cond_broadcast(&c);
		pthread_mutex_unlock(&m);
	}
	return 0;
}

static void *late(void *arg) {
	struct timespec past = {1, 0};
	return (void *)(long)pthread_mutex_timedlock(&m, &past);
}

static void *dies(void *arg) {
	pthread_mutex_lock(&m);
	return 0;
}

static void run(void *(*f)(void *), int n) {
	pthread_t t[n];
	for (long i = 0; i < n; i++)
		pthread_create(&t[i], 0, f, (void *)i);
	for (int i = 0; i < n; i++)
		pthread_join(t[i], 0);
}

int main(void) {
	pthread_mutexattr_t a;
	pthread_t t;
	void *r;
	pthread_mutexattr_init(&a);
	pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT);
	printf("%d\n", pthread_mutex_init(&m, &a));
	run(work, 4);
	printf("%ld\n", counter);
	run(turns, 3);
	printf("%d\n", turn);
	pthread_mutex_lock(&m);
	pthread_create(&t, 0, late, 0);
	pthread_join(t, &r);
	printf("%d\n", (long)r == ETIMEDOUT);
	pthread_mutex_unlock(&m);
	pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&m, &a);
	run(dies, 1);
	printf("%d\n", pthread_mutex_lock(&m) == EOWNERDEAD);
	printf("%d\n", pthread_mutex_lock(&m) == EDEADLK);
	printf("%d\n", pthread_mutex_consistent(&m));
	printf("%d\n", pthread_mutex_unlock(&m));
	run(work, 4);
	printf("%ld\n", counter);
	return 0;
}

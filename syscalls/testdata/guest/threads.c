// Threads: creation, locks, conditions, barriers, signals to threads, robust mutexes, timeouts.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cv = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t bar;
static sem_t sem;
static long total, ready, turn;
static __thread int mine = 5;

static void *adder(void *p) {
	for (int i = 0; i < 20000; i++) {
		pthread_mutex_lock(&mu);
		total++;
		pthread_mutex_unlock(&mu);
	}
	mine += (long)p;
	return (void *)(long)mine;
}

static void *spinner(void *p) {
	while (!__atomic_load_n(&ready, __ATOMIC_SEQ_CST)) {}
	return 0;
}

static void *pinger(void *p) {
	long me = (long)p;
	for (int i = 0; i < 100; i++) {
		pthread_mutex_lock(&mu);
		while (turn % 2 != me) pthread_cond_wait(&cv, &mu);
		turn++;
		pthread_cond_broadcast(&cv);
		pthread_mutex_unlock(&mu);
	}
	return 0;
}

static void *barrier(void *p) {
	int n = 0;
	for (int i = 0; i < 10; i++) n += pthread_barrier_wait(&bar) == PTHREAD_BARRIER_SERIAL_THREAD;
	return (void *)(long)n;
}

static void *waiter(void *p) {
	sem_wait(&sem);
	return 0;
}

static volatile pthread_t handled;
static void handler(int sig) { handled = pthread_self(); }

static volatile int awake;

static void *sleeper(void *p) {
	struct timespec ts = {1000, 0};
	int r = nanosleep(&ts, 0);
	awake = 1;
	return (void *)(long)(r == -1 && errno == EINTR);
}

static void *dier(void *p) {
	pthread_mutex_lock(p);
	return 0;
}

static pthread_key_t key;
static void destroy(void *p) { printf("destructor %s\n", (char *)p); }
static void *keyed(void *p) {
	pthread_setspecific(key, "value");
	pthread_exit((void *)9);
}

static void *cancelled(void *p) {
	for (;;) pause();
}

int main(void) {
	setvbuf(stdout, 0, _IONBF, 0);
	pthread_t t[8];
	void *r;
	for (long i = 0; i < 8; i++) pthread_create(&t[i], 0, adder, (void *)i);
	long sum = 0;
	for (int i = 0; i < 8; i++) {
		pthread_join(t[i], &r);
		sum += (long)r;
	}
	printf("total %ld sum %ld\n", total, sum);

	pthread_create(&t[0], 0, spinner, 0);
	for (volatile int i = 0; i < 1000; i++) {}
	__atomic_store_n(&ready, 1, __ATOMIC_SEQ_CST);
	pthread_join(t[0], 0);
	printf("spinner done\n");

	for (long i = 0; i < 2; i++) pthread_create(&t[i], 0, pinger, (void *)i);
	for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
	printf("turn %ld\n", turn);

	pthread_barrier_init(&bar, 0, 4);
	for (long i = 0; i < 4; i++) pthread_create(&t[i], 0, barrier, 0);
	for (int i = sum = 0; i < 4; i++) {
		pthread_join(t[i], &r);
		sum += (long)r;
	}
	printf("serial %ld\n", sum);

	sem_init(&sem, 0, 0);
	for (long i = 0; i < 3; i++) pthread_create(&t[i], 0, waiter, 0);
	for (int i = 0; i < 3; i++) sem_post(&sem);
	for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
	struct timespec ts;
	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_nsec += 1000000;
	if (ts.tv_nsec >= 1000000000) ts.tv_sec++, ts.tv_nsec -= 1000000000;
	int e = sem_timedwait(&sem, &ts);
	printf("sem_timedwait %d %s\n", e, strerror(errno));
	pthread_mutex_lock(&mu);
	e = pthread_cond_timedwait(&cv, &mu, &ts);
	pthread_mutex_unlock(&mu);
	printf("cond_timedwait %s\n", strerror(e));
	clock_gettime(CLOCK_MONOTONIC, &ts);
	ts.tv_sec += 1;
	pthread_mutex_lock(&mu);
	e = pthread_cond_clockwait(&cv, &mu, CLOCK_MONOTONIC, &ts);
	pthread_mutex_unlock(&mu);
	printf("cond_clockwait %s\n", strerror(e));

	struct sigaction sa = {.sa_handler = handler};
	sigaction(SIGUSR1, &sa, 0);
	pthread_create(&t[0], 0, sleeper, 0);
	while (!awake) { // on a busy machine the first signal may come before the sleep
		usleep(1000);
		pthread_kill(t[0], SIGUSR1);
	}
	pthread_join(t[0], &r);
	printf("interrupted %ld in the right thread %d\n", (long)r, handled == t[0]);

	pthread_mutex_t rob;
	pthread_mutexattr_t attr;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&rob, &attr);
	pthread_create(&t[0], 0, dier, &rob);
	pthread_join(t[0], 0);
	printf("robust %s\n", strerror(pthread_mutex_lock(&rob)));
	pthread_mutex_consistent(&rob);
	pthread_mutex_unlock(&rob);
	printf("again %d\n", pthread_mutex_lock(&rob));

	pthread_key_create(&key, destroy);
	pthread_create(&t[0], 0, keyed, 0);
	pthread_join(t[0], &r);
	printf("exit %ld\n", (long)r);
	pthread_create(&t[0], 0, cancelled, 0);
	pthread_cancel(t[0]);
	pthread_join(t[0], &r);
	printf("cancelled %d\n", r == PTHREAD_CANCELED);
	pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
	printf("rwlock %d %d %d\n", pthread_rwlock_rdlock(&rw), pthread_rwlock_tryrdlock(&rw), pthread_rwlock_trywrlock(&rw) == EBUSY);
	pthread_setname_np(pthread_self(), "worker");
	char name[16];
	pthread_getname_np(pthread_self(), name, 16);
	printf("name %s leader %d\n", name, getpid() == syscall(SYS_gettid));
	return 0;
}

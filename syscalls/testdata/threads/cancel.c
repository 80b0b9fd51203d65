// Threads are cancelled where they wait, where they ask, and anywhere; what they hold is given back.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int cleaned, started;
static volatile long spins;

static void clean(void *arg) { __sync_fetch_and_add(&cleaned, 1); }

static void *waits(void *arg) {
	pthread_mutex_lock(&m);
	pthread_cleanup_push((void (*)(void *))pthread_mutex_unlock, &m);
	pthread_cleanup_push(clean, 0);
	__sync_fetch_and_add(&started, 1);
	for (;;)
		pthread_cond_wait(&c, &m);
	pthread_cleanup_pop(1);
	pthread_cleanup_pop(1);
}

static void *reads(void *arg) {
	int fds[2];
	char x;
	pipe(fds);
	pthread_cleanup_push(clean, 0);
	__sync_fetch_and_add(&started, 1);
	read(fds[0], &x, 1);
	pthread_cleanup_pop(1);
	return 0;
}

static void *asks(void *arg) {
	pthread_cleanup_push(clean, 0);
	__sync_fetch_and_add(&started, 1);
	for (;;)
		pthread_testcancel();
	pthread_cleanup_pop(1);
}

static void *anywhere(void *arg) {
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, 0);
	pthread_cleanup_push(clean, 0);
	__sync_fetch_and_add(&started, 1);
	for (;;)
		spins++;
	pthread_cleanup_pop(1);
}

int main(void) {
	void *(*f[])(void *) = {waits, reads, asks, anywhere};
	for (int round = 0; round < 10; round++) {
		pthread_t t[8];
		int cancelled = 0;
		started = cleaned = 0;
		for (int i = 0; i < 8; i++)
			pthread_create(&t[i], 0, f[i % 4], 0);
		while (started < 8)
			usleep(100);
		for (int i = 0; i < 8; i++)
			pthread_cancel(t[i]);
		for (int i = 0; i < 8; i++) {
			void *r;
			pthread_join(t[i], &r);
			cancelled += r == PTHREAD_CANCELED;
		}
		printf("%d cancelled, %d cleaned, lock %d\n", cancelled, cleaned, pthread_mutex_trylock(&m));
		pthread_mutex_unlock(&m);
	}
	return 0;
}

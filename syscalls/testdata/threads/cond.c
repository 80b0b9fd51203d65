// Producers and consumers share a buffer of four places; each number arrives once.
#include <pthread.h>
#include <stdio.h>

enum { places = 4, makers = 3, takers = 3, each = 1000 };
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t notFull = PTHREAD_COND_INITIALIZER, notEmpty = PTHREAD_COND_INITIALIZER;
static int buf[places], n, taken, seen[makers * each];

static void *maker(void *arg) {
	for (int i = 0; i < each; i++) {
		pthread_mutex_lock(&m);
		while (n == places)
			pthread_cond_wait(&notFull, &m);
		buf[n++] = (int)(long)arg * each + i;
		pthread_cond_signal(&notEmpty);
		pthread_mutex_unlock(&m);
	}
	return 0;
}

static void *taker(void *arg) {
	for (;;) {
		pthread_mutex_lock(&m);
		while (n == 0 && taken < makers * each)
			pthread_cond_wait(&notEmpty, &m);
		if (taken == makers * each) {
			pthread_mutex_unlock(&m);
			return 0;
		}
		seen[buf[--n]]++;
		if (++taken == makers * each)
			pthread_cond_broadcast(&notEmpty);
		pthread_cond_signal(&notFull);
		pthread_mutex_unlock(&m);
	}
}

int main(void) {
	pthread_t t[makers + takers];
	for (long i = 0; i < makers + takers; i++)
		pthread_create(&t[i], 0, i < makers ? maker : taker, (void *)i);
	for (int i = 0; i < makers + takers; i++)
		pthread_join(t[i], 0);
	int once = 0;
	for (int i = 0; i < makers * each; i++)
		once += seen[i] == 1;
	printf("%d of %d once, %d left\n", once, makers * each, n);
	return 0;
}

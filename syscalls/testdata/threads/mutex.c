// Mutexes of all kinds keep a counter right.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static pthread_mutex_t m;
static long counter;

static __attribute__((noinline)) void add(long *p) {
	long x = *p;
	__asm__ volatile("" ::: "memory");
	*p = x + 1;
}

static void *work(void *kind) {
	for (int i = 0; i < 2000; i++) {
		struct timespec far = {4102444800, 0};
		switch (i % 3) {
		case 0:
			pthread_mutex_lock(&m);
			break;
		case 1:
			while (pthread_mutex_trylock(&m) == EBUSY)
				;
			break;
		case 2:
			pthread_mutex_timedlock(&m, &far);
		}
		if ((long)kind == PTHREAD_MUTEX_RECURSIVE) {
			pthread_mutex_lock(&m);
			pthread_mutex_unlock(&m);
		}
		add(&counter);
		pthread_mutex_unlock(&m);
	}
	return 0;
}

int main(void) {
	static const int kinds[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ADAPTIVE_NP};
	for (int k = 0; k < 4; k++) {
		pthread_mutexattr_t a;
		pthread_t t[4];
		pthread_mutexattr_init(&a);
		pthread_mutexattr_settype(&a, kinds[k]);
		pthread_mutex_init(&m, &a);
		counter = 0;
		for (int i = 0; i < 4; i++)
			pthread_create(&t[i], 0, work, (void *)(long)kinds[k]);
		for (int i = 0; i < 4; i++)
			pthread_join(t[i], 0);
		printf("%d %ld\n", k, counter);
		pthread_mutex_destroy(&m);
	}
	return 0;
}

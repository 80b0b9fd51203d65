// Each thread has its variables; destructors of keys run in each, once; initialisers once in all.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static __thread long mine = 7;
static __thread char big[5000];
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int made, destroyed, wrong;

static void make(void) {
	made++;
	sched_yield();
}

static void destroy(void *p) {
	__sync_fetch_and_add(&destroyed, 1);
	free(p);
}

static void *work(void *arg) {
	long n = (long)arg;
	pthread_once(&once, make);
	mine += n;
	big[4999] = n;
	long *p = malloc(sizeof *p);
	*p = n;
	pthread_setspecific(key, p);
	for (int i = 0; i < 50; i++) {
		sched_yield();
		if (mine != 7 + n || big[4999] != n || *(long *)pthread_getspecific(key) != n || made != 1)
			__sync_fetch_and_add(&wrong, 1);
	}
	return (void *)(mine * 2);
}

int main(void) {
	pthread_t t[20];
	long sum = 0;
	pthread_key_create(&key, destroy);
	for (long i = 0; i < 20; i++)
		pthread_create(&t[i], 0, work, (void *)i);
	for (int i = 0; i < 20; i++) {
		void *r;
		pthread_join(t[i], &r);
		sum += (long)r;
	}
	printf("%ld, %d made, %d destroyed, %d wrong, main has %ld\n", sum, made, destroyed, wrong, mine);
	return 0;
}

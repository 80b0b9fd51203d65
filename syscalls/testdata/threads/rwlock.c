// Readers see two numbers that writers keep equal.
#include <pthread.h>
#include <stdio.h>

static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
static volatile long a, b;
static int torn, reads;

static __attribute__((noinline)) void gap(void) { __asm__ volatile("" ::: "memory"); }

static void *writer(void *arg) {
	for (int i = 0; i < 500; i++) {
		pthread_rwlock_wrlock(&l);
		a++;
		gap();
		b++;
		pthread_rwlock_unlock(&l);
	}
	return 0;
}

static void *reader(void *arg) {
	for (int i = 0; i < 1000; i++) {
		if (i % 2)
			while (pthread_rwlock_tryrdlock(&l) != 0)
				;
		else
			pthread_rwlock_rdlock(&l);
		long x = a;
		gap();
		if (x != b)
			__sync_fetch_and_add(&torn, 1);
		__sync_fetch_and_add(&reads, 1);
		pthread_rwlock_unlock(&l);
	}
	return 0;
}

int main(void) {
	pthread_t t[6];
	for (int i = 0; i < 6; i++)
		pthread_create(&t[i], 0, i < 2 ? writer : reader, 0);
	for (int i = 0; i < 6; i++)
		pthread_join(t[i], 0);
	printf("%ld %ld, %d reads, %d torn\n", a, b, reads, torn);
	return 0;
}

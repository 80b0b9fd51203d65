// Between two barriers nobody is a round ahead, and one thread is the serial one.
#include <pthread.h>
#include <stdio.h>

enum { threads = 5, rounds = 300 };
static pthread_barrier_t b;
static int round_of[threads], serial, wrong;

static void *work(void *arg) {
	for (int r = 0; r < rounds; r++) {
		round_of[(long)arg] = r;
		if (pthread_barrier_wait(&b) == PTHREAD_BARRIER_SERIAL_THREAD)
			__sync_fetch_and_add(&serial, 1);
		for (int i = 0; i < threads; i++)
			if (round_of[i] != r)
				__sync_fetch_and_add(&wrong, 1);
		pthread_barrier_wait(&b);
	}
	return 0;
}

int main(void) {
	pthread_t t[threads];
	pthread_barrier_init(&b, 0, threads);
	for (long i = 0; i < threads; i++)
		pthread_create(&t[i], 0, work, (void *)i);
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], 0);
	printf("%d rounds, %d wrong\n", serial, wrong);
	return 0;
}

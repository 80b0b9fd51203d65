// A robust mutex survives its owners: threads that end, and processes.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t *m;
static int died, held;

static void *dies(void *arg) {
	for (;;) {
		int e = pthread_mutex_lock(m);
		if (e == EOWNERDEAD) {
			died++;
			pthread_mutex_consistent(m);
		}
		held++;
		sched_yield();
		return 0; // locked
	}
}

int main(void) {
	pthread_mutexattr_t a;
	m = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_init(&a);
	pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(m, &a);
	pthread_t t[10];
	for (int i = 0; i < 10; i++)
		pthread_create(&t[i], 0, dies, 0);
	for (int i = 0; i < 10; i++)
		pthread_join(t[i], 0);
	printf("held %d times, owner dead %d times\n", held, died);
	int e = pthread_mutex_lock(m);
	printf("%d\n", e == EOWNERDEAD);
	pthread_mutex_consistent(m);
	pthread_mutex_unlock(m);
	for (int i = 0; i < 3; i++)
		if (fork() == 0) {
			if (pthread_mutex_lock(m) == EOWNERDEAD)
				pthread_mutex_consistent(m);
			_exit(0);
		}
	while (wait(0) > 0)
		;
	printf("%d\n", pthread_mutex_lock(m) == EOWNERDEAD);
	pthread_mutex_unlock(m); // not made consistent
	printf("%d\n", pthread_mutex_lock(m) == ENOTRECOVERABLE);
	return 0;
}

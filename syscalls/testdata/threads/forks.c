// Threads that fork, and pipes between the processes.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_spinlock_t spin;
static long sum;

static void *work(void *arg) {
	for (int i = 0; i < 3; i++) {
		int fds[2], status;
		long n = (long)arg * 10 + i, got;
		pipe(fds);
		pid_t p = fork();
		if (p == 0) {
			void *kept = malloc(1000); // the allocator's locks are free in a child
			free(kept);
			write(fds[1], &n, sizeof n);
			_exit(i);
		}
		read(fds[0], &got, sizeof got);
		waitpid(p, &status, 0);
		close(fds[0]);
		close(fds[1]);
		pthread_spin_lock(&spin);
		sum += got * (WEXITSTATUS(status) + 1);
		pthread_spin_unlock(&spin);
		for (int j = 0; j < 100; j++)
			free(malloc(j * 10));
	}
	return 0;
}

int main(void) {
	pthread_t t[4];
	pthread_spin_init(&spin, 0);
	for (long i = 0; i < 4; i++)
		pthread_create(&t[i], 0, work, (void *)i);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], 0);
	printf("%ld\n", sum);
	return 0;
}

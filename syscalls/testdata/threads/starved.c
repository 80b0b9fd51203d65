// A thread that gives a lock back and takes it again at once, with a system call in between and one while it has it: the other
// one gets the lock too, whatever the length of a turn.
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int got;

static void *greedy(void *p) {
	while (got < 20) {
		pthread_mutex_lock(&lock);
		syscall(SYS_getppid);
		pthread_mutex_unlock(&lock);
	}
	return p;
}

int main(void) {
	pthread_t t;
	pthread_create(&t, 0, greedy, 0);
	while (got < 20) {
		pthread_mutex_lock(&lock);
		got++;
		pthread_mutex_unlock(&lock);
		usleep(1000);
	}
	pthread_join(t, 0);
	printf("got it %d times\n", got);
	return 0;
}

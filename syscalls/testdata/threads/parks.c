// A thread wakes another and then waits for it, if that has not been there yet: the other one, if it finds nobody who
// waits, says so, as a collector does that cannot stop a thread which runs. Whoever always runs as soon as it is woken
// finds nobody.
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic int kicks, missed;

static long futex(_Atomic int *word, int op, int value)
{
	return syscall(SYS_futex, word, op, value, NULL, NULL, 0);
}

static void *finder(void *arg)
{
	for (int seen = 0;; seen++) {
		while (atomic_load(&kicks) == seen)
			futex(&kicks, FUTEX_WAIT_PRIVATE, seen);
		if (futex(&missed, FUTEX_WAKE_PRIVATE, 1) == 1)
			return NULL;
		atomic_fetch_add(&missed, 1);
	}
}

int main(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, finder, NULL);
	usleep(10000); // the other one waits
	for (int i = 0; i < 100; i++) // this is no thread that waits often
		syscall(SYS_getppid);
	for (long rounds = 0;; rounds++) {
		if (rounds == 100000) {
			puts("it is never found");
			return 1;
		}
		int before = atomic_load(&missed);
		atomic_fetch_add(&kicks, 1);
		futex(&kicks, FUTEX_WAKE_PRIVATE, 1);
		if (futex(&missed, FUTEX_WAIT_PRIVATE, before) == 0)
			break;
	}
	pthread_join(thread, NULL);
	puts("it was found");
	return 0;
}

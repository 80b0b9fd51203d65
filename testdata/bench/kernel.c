// What the kernel's work costs: kernel call|switch|fork N does it N times.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static sem_t here, there;
static long n;

static void *other(void *arg) {
	for (long i = 0; i < n; i += 2) {
		sem_wait(&there);
		sem_post(&here);
	}
	return 0;
}

// switches lets two threads on one CPU wait for each other.
static void switches(void) {
	cpu_set_t one;
	pthread_t t;
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	sched_setaffinity(0, sizeof one, &one);
	sem_init(&here, 0, 0);
	sem_init(&there, 0, 0);
	pthread_create(&t, 0, other, 0);
	for (long i = 0; i < n; i += 2) {
		sem_post(&there);
		sem_wait(&here);
	}
	pthread_join(t, 0);
}

static void forks(void) {
	enum { size = 100 << 20 };
	char *memory = malloc(size);
	memset(memory, 1, size);
	__asm__ volatile("" ::"r"(memory) : "memory"); // it is wanted
	for (long i = 0; i < n; i++) {
		pid_t p = fork();
		if (p == 0)
			_exit(0);
		waitpid(p, 0, 0);
	}
	free(memory);
}

int main(int argc, char **argv) {
	n = atol(argv[2]);
	if (strcmp(argv[1], "switch") == 0)
		switches();
	else if (strcmp(argv[1], "fork") == 0)
		forks();
	else
		for (long i = 0; i < n; i++)
			syscall(SYS_getppid);
	return 0;
}

// What the kernel's work costs: kernel call|switch|fork|thread|pipe|descriptor|map N does it N times.
#define _GNU_SOURCE
#include <pthread.h>
#include <fcntl.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

static void *nothing(void *arg) { return 0; }

// threads makes threads, one after the other.
static void threads(void) {
	for (long i = 0; i < n; i++) {
		pthread_t t;
		pthread_create(&t, 0, nothing, 0);
		pthread_join(t, 0);
	}
}

static void pipes(void) {
	for (long i = 0; i < n; i++) {
		int p[2];
		pipe(p);
		close(p[0]);
		close(p[1]);
	}
}

// descriptors gives one back and takes it again, while a thousand are in use.
static void descriptors(void) {
	for (int i = 0; i < 1000; i++)
		dup(0);
	for (long i = 0; i < n; i++) {
		close(900);
		dup(0);
	}
}

// maps makes mappings that have nothing to do with their neighbours, 20,000 at a time.
static void maps(void) {
	enum { most = 20000 };
	static void *at[most];
	for (long done = 0; done < n; done += most) {
		long count = n - done < most ? n - done : most;
		for (long i = 0; i < count; i++)
			at[i] = mmap(0, 4096, i % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		for (long i = 0; i < count; i++)
			munmap(at[i], 4096);
	}
}

int main(int argc, char **argv) {
	n = atol(argv[2]);
	if (strcmp(argv[1], "switch") == 0)
		switches();
	else if (strcmp(argv[1], "fork") == 0)
		forks();
	else if (strcmp(argv[1], "thread") == 0)
		threads();
	else if (strcmp(argv[1], "pipe") == 0)
		pipes();
	else if (strcmp(argv[1], "descriptor") == 0)
		descriptors();
	else if (strcmp(argv[1], "map") == 0)
		maps();
	else
		for (long i = 0; i < n; i++)
			syscall(SYS_getppid);
	return 0;
}

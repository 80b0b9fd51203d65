// Waits for ever, in the way that the argument says.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static pthread_t threads[3];
static int word;

static void *second(void *arg) {
	pthread_mutex_lock(&b);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&a); // line second
	return arg;
}

static void mutexes(void) {
	pthread_barrier_init(&both, 0, 2);
	pthread_create(threads, 0, second, 0);
	pthread_mutex_lock(&a);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&b); // line mutexes
}

static void ownpipe(void) {
	int fds[2];
	char c;
	pipe(fds);
	read(fds[0], &c, 1); // line ownpipe
}

static void *joiner(void *arg) {
	long n = (long)arg;
	pthread_barrier_wait(&both);
	pthread_join(threads[(n + 1) % 3], 0); // line joiner
	return 0;
}

// A thread that joins itself is told so; three that join each other are not.
static void join(void) {
	printf("%d\n", pthread_join(pthread_self(), 0) == EDEADLK);
	fflush(stdout);
	pthread_barrier_init(&both, 0, 3);
	threads[0] = pthread_self();
	for (long n = 1; n < 3; n++)
		pthread_create(&threads[n], 0, joiner, (void *)n);
	joiner(0);
}

static void futex(void) {
	syscall(SYS_futex, &word, FUTEX_WAIT, 0, 0, 0, 0); // line futex
}

// Each waits for the other to write first.
static void processes(void) {
	int there[2], back[2];
	char c;
	pipe(there);
	pipe(back);
	if (fork() == 0) {
		read(there[0], &c, 1); // line child
		write(back[1], "x", 1);
		_exit(0);
	}
	read(back[0], &c, 1); // line parent
	write(there[1], "x", 1);
}

static void stopped(void) {
	pid_t p = fork();
	if (p == 0) {
		raise(SIGSTOP); // line stopped
		_exit(0);
	}
	waitpid(p, 0, 0); // line waits
}

int main(int argc, char **argv) {
	struct { const char *name; void (*f)(void); } all[] = {
		{"mutexes", mutexes}, {"pipe", ownpipe}, {"join", join}, {"futex", futex}, {"processes", processes}, {"stopped", stopped},
	};
	for (int i = 0; i < sizeof all / sizeof *all; i++)
		if (strcmp(argv[1], all[i].name) == 0)
			all[i].f();
	return 0;
}

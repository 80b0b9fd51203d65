// Parents that end while their children run on, in several ways.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *leave(void *x) {
	usleep(200000);
	_exit(3);
}

static int end(int pid) {
	int st = -1;
	waitpid(pid, &st, 0);
	return WIFEXITED(st) ? WEXITSTATUS(st) : -WTERMSIG(st);
}

static volatile int keep;

// One thread waits for a child in vfork, another ends the process.
static void vforking(int fd) {
	pthread_t t;
	pthread_create(&t, 0, leave, 0);
	if (!vfork()) {
		usleep(400000);
		write(fd, "v", 1);
		_exit(0);
	}
	pause();
}

int main(void) {
	int p[2], pid;
	char c;
	pipe(p);
	if (!(pid = fork())) vforking(p[1]);
	printf("parent %d", end(pid));
	read(p[0], &c, 1);
	printf(" child %c\n", c);
	// The first thread ends, the others go on.
	if (!(pid = fork())) {
		pthread_t t;
		pthread_create(&t, 0, leave, 0);
		pthread_exit(0);
	}
	printf("first thread %d\n", end(pid));
	// A child outlives its parent and is ended by a signal.
	if (!(pid = fork())) {
		int gc = fork();
		if (!gc) pause(), _exit(0);
		write(p[1], &gc, sizeof gc);
		_exit(0);
	}
	end(pid);
	int gc;
	read(p[0], &gc, sizeof gc);
	printf("kill %d\n", kill(gc, SIGTERM));
	fflush(stdout);
	// So does this one, of the first process itself.
	pthread_t t;
	pthread_create(&t, 0, leave, 0);
	if (!vfork()) {
		usleep(400000);
		write(1, "last\n", 5);
		_exit(0);
	}
	pause();
	return 1;
}

// A thread takes the signals of all; others are interrupted by their own.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static volatile sig_atomic_t caught;
static int taken[3];
static volatile int done;

static void handler(int s) { __sync_fetch_and_add(&caught, 1); }

static void *taker(void *arg) {
	sigset_t s;
	int sig;
	sigemptyset(&s);
	sigaddset(&s, SIGUSR1);
	sigaddset(&s, SIGTERM);
	do {
		sigwait(&s, &sig);
		taken[sig == SIGTERM]++;
	} while (sig != SIGTERM);
	return 0;
}

static void *sleeper(void *arg) {
	int before = 0;
	for (int i = 0; i < 20; i++) {
		sigset_t mask;
		pthread_sigmask(SIG_BLOCK, 0, &mask);
		sigdelset(&mask, SIGUSR2);
		if (sigsuspend(&mask) == -1 && errno == EINTR)
			before++;
		__sync_fetch_and_add((int *)arg, 1);
	}
	return (void *)(long)before;
}

int main(void) {
	sigset_t s;
	pthread_t t, u;
	int awake = 0;
	void *r;
	struct sigaction a = {.sa_handler = handler};
	sigaction(SIGUSR2, &a, 0);
	sigemptyset(&s);
	sigaddset(&s, SIGUSR1);
	sigaddset(&s, SIGUSR2);
	sigaddset(&s, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &s, 0);
	pthread_create(&t, 0, taker, 0);
	pthread_create(&u, 0, sleeper, &awake);
	for (int i = 0; i < 20; i++) {
		pthread_kill(u, SIGUSR2);
		while (__sync_fetch_and_add(&awake, 0) == i)
			sched_yield();
		kill(getpid(), SIGUSR1);
		while (taken[0] == i)
			usleep(10);
	}
	kill(getpid(), SIGTERM);
	pthread_join(t, 0);
	pthread_join(u, &r);
	printf("%d caught, %ld woken, %d and %d taken\n", (int)caught, (long)r, taken[0], taken[1]);
	return 0;
}

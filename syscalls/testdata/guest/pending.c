// Signals that wait: who takes them, how many there may be, and timers meanwhile.
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile int handled;
static void handler(int sig) { handled++; }

static sigset_t setOf(int sig) {
	sigset_t s;
	sigemptyset(&s);
	sigaddset(&s, sig);
	return s;
}

static void result(const char *what, long r) { printf("%s: %ld %s\n", what, r < 0 ? -1 : r, r < 0 ? strerror(errno) : ""); }

// A signal that is waited for is not handled, blocked or not; another ends the wait.
static void waits(void) {
	int pid = getpid();
	sigset_t set = setOf(SIGUSR1);
	signal(SIGUSR1, handler);
	signal(SIGUSR2, handler);
	for (int i = 0; i < 2; i++) {
		if (fork() == 0) {
			usleep(50000);
			kill(pid, i ? SIGUSR2 : SIGUSR1);
			_exit(0);
		}
		result("rt_sigtimedwait", syscall(SYS_rt_sigtimedwait, &set, 0, 0, 8)); // musl's sigwaitinfo tries again
		printf("handled %d\n", handled);
		while (wait(0) < 0) {}
	}
}

int main(void) {
	setvbuf(stdout, 0, _IONBF, 0);
	waits();
	return 0;
}

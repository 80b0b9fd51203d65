// What epoll_ctl(2) refuses, EPOLLEXCLUSIVE, and how much time poll(2) and its kin say is left.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef EPOLLEXCLUSIVE
#define EPOLLEXCLUSIVE (1u << 28)
#endif

static int p[2];

static void show(const char *what, long r) { printf("%-34s %ld %s\n", what, r, r < 0 ? strerror(errno) : ""); }

static long ctl(int ep, int op, int fd, unsigned events) {
	struct epoll_event e = {events, {.fd = fd}};
	return epoll_ctl(ep, op, fd, &e);
}

static void checks(void) {
	struct epoll_event e[4];
	int ep = epoll_create1(0), inner = epoll_create1(0), dir = open(".", O_RDONLY), proc = open("/proc/self/status", O_RDONLY);
	show("EXCLUSIVE and ONESHOT", ctl(ep, EPOLL_CTL_ADD, p[0], EPOLLIN | EPOLLEXCLUSIVE | EPOLLONESHOT));
	show("EXCLUSIVE and PRI", ctl(ep, EPOLL_CTL_ADD, p[0], EPOLLIN | EPOLLEXCLUSIVE | EPOLLPRI));
	show("EXCLUSIVE of an epoll", ctl(ep, EPOLL_CTL_ADD, inner, EPOLLIN | EPOLLEXCLUSIVE));
	show("EXCLUSIVE", ctl(ep, EPOLL_CTL_ADD, p[0], EPOLLIN | EPOLLEXCLUSIVE | EPOLLET | EPOLLWAKEUP));
	show("changed", ctl(ep, EPOLL_CTL_MOD, p[0], EPOLLIN));
	show("to EXCLUSIVE", ctl(ep, EPOLL_CTL_MOD, p[0], EPOLLIN | EPOLLEXCLUSIVE));
	show("removed", ctl(ep, EPOLL_CTL_DEL, p[0], 0));
	show("added", ctl(ep, EPOLL_CTL_ADD, p[0], EPOLLIN));
	show("to EXCLUSIVE", ctl(ep, EPOLL_CTL_MOD, p[0], EPOLLIN | EPOLLEXCLUSIVE));
	show("twice", ctl(ep, EPOLL_CTL_ADD, p[0], EPOLLIN));
	show("what is not there", ctl(ep, EPOLL_CTL_MOD, p[1], EPOLLIN));
	show("remove what is not there", ctl(ep, EPOLL_CTL_DEL, p[1], 0));
	show("no such operation", ctl(ep, 9, p[1], 0));
	show("directory", ctl(ep, EPOLL_CTL_ADD, dir, EPOLLIN));
	show("file of /proc", ctl(ep, EPOLL_CTL_ADD, proc, EPOLLIN));
	show("itself", ctl(ep, EPOLL_CTL_ADD, ep, EPOLLIN));
	show("no epoll", ctl(p[0], EPOLL_CTL_ADD, p[1], EPOLLIN));
	show("no file", ctl(ep, EPOLL_CTL_ADD, 999, EPOLLIN));
	show("null", epoll_ctl(ep, EPOLL_CTL_ADD, p[1], 0));
	show("null to remove", epoll_ctl(ep, EPOLL_CTL_DEL, p[0], 0));
	show("no room", epoll_wait(ep, e, 0, 0));
	show("too much room", epoll_wait(ep, e, 0x7fffffff, 0));
	show("null room", epoll_wait(ep, 0, 1, 0));
}

// asleep waits until a child does.
static void asleep(int pid) {
	char path[64], text[200], *end;
	for (;; usleep(1000)) {
		snprintf(path, sizeof path, "/proc/%d/stat", pid);
		FILE *f = fopen(path, "r");
		end = f && fgets(text, sizeof text, f) ? strrchr(text, ')') : 0;
		if (f)
			fclose(f);
		if (end && end[2] == 'S')
			return;
	}
}

// exclusive lets four processes wait for one pipe, each with an epoll of its own.
static void exclusive(const char *what, unsigned events) {
	int ready[2], st, woken = 0, pids[4];
	char c;
	pipe(ready);
	for (int i = 0; i < 4; i++)
		if ((pids[i] = fork()) == 0) {
			struct epoll_event e;
			int ep = epoll_create1(0);
			ctl(ep, EPOLL_CTL_ADD, p[0], events);
			write(ready[1], "x", 1);
			_exit(epoll_wait(ep, &e, 1, 2000));
		}
	for (int i = 0; i < 4; i++)
		read(ready[0], &c, 1);
	for (int i = 0; i < 4; i++)
		asleep(pids[i]);
	write(p[1], "x", 1);
	while (wait(&st) > 0)
		woken += WEXITSTATUS(st);
	printf("%s: %d of 4 woken\n", what, woken);
	read(p[0], &c, 1);
	close(ready[0]);
	close(ready[1]);
}

static void handler(int s) {}

static void left(void) {
	struct timespec t = {0, 20000000};
	struct timeval v = {0, 20000};
	struct pollfd f = {p[0], POLLIN};
	sigset_t none;
	sigemptyset(&none);
	show("ppoll", syscall(SYS_ppoll, &f, 1, &t, 0, 8));
	printf("left %ld.%09ld\n", t.tv_sec, t.tv_nsec);
	t = (struct timespec){5, 0};
	write(p[1], "x", 1);
	show("ppoll", syscall(SYS_ppoll, &f, 1, &t, &none, 8));
	printf("left %d\n", t.tv_sec == 4 || t.tv_sec == 5);
	read(p[0], &t, 1);
	fd_set s;
	FD_ZERO(&s);
	FD_SET(p[0], &s);
	show("select", syscall(SYS_select, p[0] + 1, &s, 0, 0, &v));
	printf("left %ld.%06ld\n", v.tv_sec, v.tv_usec);
	signal(SIGALRM, handler);
	siginterrupt(SIGALRM, 1);
	struct timespec five = {5, 0};
	alarm(1);
	show("interrupted", syscall(SYS_ppoll, &f, 1, &five, 0, 8));
	printf("left %d\n", five.tv_sec == 3 || five.tv_sec == 4);
	alarm(0);
	const struct timespec *ro = (const struct timespec *)"\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0";
	show("time that cannot be written", syscall(SYS_ppoll, &f, 1, ro, 0, 8));
}

int main(void) {
	setvbuf(stdout, 0, _IOLBF, 0);
	pipe(p);
	checks();
	exclusive("shared", EPOLLIN);
	exclusive("exclusive", EPOLLIN | EPOLLEXCLUSIVE);
	exclusive("exclusive by edge", EPOLLIN | EPOLLEXCLUSIVE | EPOLLET);
	left();
	return 0;
}

// EPOLLET and its neighbours: what makes an event be reported again, by kind of file.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static int ep, edge = EPOLLET;
static char buf[200000];
static uint64_t one = 1;

// watch makes an epoll instance for fd alone.
static void watch(int fd, int events) {
	struct epoll_event x = {events | edge, {.fd = fd}};
	if (ep)
		close(ep);
	ep = epoll_create1(0);
	if (epoll_ctl(ep, EPOLL_CTL_ADD, fd, &x) < 0)
		printf("add: %s\n", strerror(errno));
}

static void again(int fd, int events) {
	struct epoll_event x = {events | edge, {.fd = fd}};
	epoll_ctl(ep, EPOLL_CTL_MOD, fd, &x);
}

static void see(const char *what) {
	struct epoll_event e[4];
	int n = epoll_wait(ep, e, 4, 0);
	printf("%-24s", what);
	for (int i = 0; i < n; i++)
		printf(" %x", e[i].events);
	printf("\n");
}

#define DO(x) do { x; see(#x); } while (0)

static void events(void) {
	int fd = eventfd(0, EFD_NONBLOCK);
	uint64_t zero = 0, n;
	watch(fd, EPOLLIN | EPOLLOUT);
	DO(0);
	DO(0);
	DO(write(fd, &one, 8));
	DO(0);
	DO(write(fd, &one, 8));
	DO(0);
	DO(read(fd, &n, 8));
	DO(read(fd, &n, 8));
	DO(write(fd, &zero, 8));
	write(fd, &one, 8);
	DO(write(fd, &one, 8));
	DO(again(fd, EPOLLIN));
	DO(0);
	DO(again(fd, EPOLLIN | EPOLLONESHOT));
	DO(write(fd, &one, 8));
	DO(again(fd, EPOLLIN | EPOLLONESHOT));
	DO(again(fd, EPOLLOUT));
	DO(write(fd, &one, 8));
	DO(read(fd, &n, 8));
	close(fd);
}

static void pipes(void) {
	int p[2];
	pipe2(p, O_NONBLOCK);
	watch(p[0], EPOLLIN);
	DO(0);
	DO(write(p[1], "a", 1));
	DO(write(p[1], "a", 1));
	DO(0);
	DO(read(p[0], buf, 1));
	DO(write(p[1], "a", 1));
	DO(read(p[0], buf, 10));
	DO(write(p[1], "a", 1));
	DO(close(p[1]));
	DO(0);
	close(p[0]);
	pipe2(p, O_NONBLOCK);
	watch(p[1], EPOLLOUT);
	DO(0);
	DO(0);
	DO(write(p[1], "a", 1));
	while (write(p[1], buf, 4096) > 0)
		;
	DO(0);
	DO(read(p[0], buf, 100));
	DO(read(p[0], buf, 5000));
	DO(0);
	DO(read(p[0], buf, 100000));
	DO(read(p[0], buf, 100));
	DO(close(p[0]));
	DO(0);
	close(p[1]);
}

static void sockets(void) {
	int s[2];
	socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, s);
	watch(s[0], EPOLLIN | EPOLLRDHUP);
	DO(0);
	DO(write(s[1], "a", 1));
	DO(write(s[1], "a", 1));
	DO(read(s[0], buf, 1));
	DO(shutdown(s[1], SHUT_WR));
	DO(read(s[0], buf, 10));
	DO(close(s[1]));
	close(s[0]);
}

static void signals(void) {
	sigset_t s;
	sigemptyset(&s);
	sigaddset(&s, SIGUSR1);
	sigaddset(&s, SIGUSR2);
	sigaddset(&s, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &s, 0);
	int fd = signalfd(-1, &s, SFD_NONBLOCK);
	watch(fd, EPOLLIN);
	DO(0);
	DO(kill(getpid(), SIGUSR1));
	DO(kill(getpid(), SIGUSR1));
	DO(kill(getpid(), SIGUSR2));
	DO(raise(SIGRTMIN));
	DO(raise(SIGRTMIN));
	DO(read(fd, buf, 128));
	DO(read(fd, buf, 1000));
	DO(read(fd, buf, 1000));
	DO(kill(getpid(), SIGUSR1));
	read(fd, buf, 1000);
	close(fd);
}

static void nested(void) {
	int in = epoll_create1(0), fd = eventfd(0, 0), fd2 = eventfd(0, 0);
	struct epoll_event x = {EPOLLIN, {0}};
	epoll_ctl(in, EPOLL_CTL_ADD, fd, &x);
	epoll_ctl(in, EPOLL_CTL_ADD, fd2, &x);
	watch(in, EPOLLIN);
	DO(0);
	DO(write(fd, &one, 8));
	DO(0);
	DO(write(fd, &one, 8));
	DO(write(fd2, &one, 8));
	DO(read(fd, buf, 8));
	DO(close(fd2));
	DO(write(fd, &one, 8));
	DO(epoll_ctl(in, EPOLL_CTL_DEL, fd, &x));
	DO(epoll_ctl(in, EPOLL_CTL_ADD, fd, &x));
	close(fd);
	close(in);
}

static void timers(void) {
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	struct itimerspec fast = {{0, 1000}, {0, 1}}, once = {{0, 0}, {0, 1}};
	struct timespec ms = {0, 2000000};
	watch(fd, EPOLLIN);
	DO(0);
	timerfd_settime(fd, 0, &fast, 0);
	DO(nanosleep(&ms, 0));
	DO(nanosleep(&ms, 0));
	read(fd, buf, 8);
	DO(nanosleep(&ms, 0));
	DO(nanosleep(&ms, 0));
	timerfd_settime(fd, 0, &once, 0);
	DO(nanosleep(&ms, 0));
	DO(nanosleep(&ms, 0));
	DO(read(fd, buf, 8));
	close(fd);
}

static void directory(void) {
	char dir[] = "/tmp/edgesXXXXXX", name[100];
	mkdtemp(dir);
	sprintf(name, "%s/f", dir);
	int fd = inotify_init1(IN_NONBLOCK);
	inotify_add_watch(fd, dir, IN_CREATE | IN_DELETE | IN_MODIFY);
	watch(fd, EPOLLIN);
	DO(0);
	int f;
	DO(f = open(name, O_CREAT | O_WRONLY, 0600));
	DO(write(f, "a", 1));
	DO(write(f, "a", 1));
	DO(unlink(name));
	DO(read(fd, buf, 1000));
	close(f);
	close(fd);
	rmdir(dir);
}

static void queue(void) {
	struct mq_attr attr = {.mq_maxmsg = 2, .mq_msgsize = 10};
	mqd_t q = mq_open("/edges", O_CREAT | O_RDWR | O_NONBLOCK, 0600, &attr);
	mq_unlink("/edges");
	watch(q, EPOLLIN | EPOLLOUT);
	DO(0);
	DO(mq_send(q, "a", 1, 0));
	DO(mq_send(q, "a", 1, 0));
	DO(mq_send(q, "a", 1, 0));
	DO(mq_receive(q, buf, 10, 0));
	DO(mq_receive(q, buf, 10, 0));
	DO(mq_receive(q, buf, 10, 0));
	mq_close(q);
}

// What goes through a terminal takes a moment: until a worker of the kernel gets to it, which a busy machine has wait.
#define SLOW(x) do { x; nanosleep(&(struct timespec){0, 150000000}, 0); see(#x); } while (0)

static void terminal(void) {
	int m = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
	grantpt(m);
	unlockpt(m);
	int s = open(ptsname(m), O_RDWR | O_NOCTTY | O_NONBLOCK);
	watch(s, EPOLLIN);
	DO(0);
	SLOW(write(m, "a", 1));
	SLOW(write(m, "b\n", 2));
	SLOW(write(m, "c", 1));
	SLOW(write(m, "d\n", 2));
	DO(read(s, buf, 100));
	DO(read(s, buf, 100));
	DO(read(s, buf, 100));
	struct termios t;
	tcgetattr(s, &t);
	cfmakeraw(&t);
	tcsetattr(s, TCSANOW, &t);
	SLOW(write(m, "a", 1));
	SLOW(write(m, "b", 1));
	DO(read(s, buf, 1));
	SLOW(write(m, "c", 1));
	DO(read(s, buf, 100));
	read(m, buf, 1000);
	watch(m, EPOLLIN);
	DO(0);
	SLOW(write(s, "a", 1));
	SLOW(write(s, "a", 1));
	DO(read(m, buf, 1));
	SLOW(write(s, "a", 1));
	SLOW(close(s));
	DO(read(m, buf, 100));
	close(m);
}

int main(void) {
	setvbuf(stdout, 0, _IONBF, 0);
	for (int i = 0; i < 2; i++) {
		printf("%s\n", edge ? "edge" : "level");
		events();
		pipes();
		sockets();
		signals();
		nested();
		timers();
		directory();
		queue();
		terminal();
		edge = 0;
	}
	return 0;
}

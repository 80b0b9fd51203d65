// Urgent data of TCP: MSG_OOB, SO_OOBINLINE, the mark, SIGURG and who gets it.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#define R(x) do { errno = 0; long r_ = (long)(x); int e_ = errno; printf("%-60s %ld %s\n", #x, r_, r_ == -1 ? strerror(e_) : ""); } while (0)

static volatile int urged;
static void on(int sig) { urged++; }

static int a, b; // a sends, b receives

static void state(const char *what) {
	struct pollfd p = {b, POLLIN | POLLPRI};
	int mark = -1, pending = -1;
	usleep(1000);
	poll(&p, 1, 0);
	ioctl(b, SIOCATMARK, &mark);
	ioctl(b, FIONREAD, &pending);
	printf("%s: poll %x, mark %d, pending %d, signals %d\n", what, p.revents, mark, pending, urged);
}

static void get(int size, int flags) {
	char buf[32] = {0};
	errno = 0;
	int n = recv(b, buf, size, flags | MSG_DONTWAIT);
	int e = errno;
	printf("recv %d, %x: %d '%.*s' %s\n", size, flags, n, n > 0 ? n : 0, buf, n < 0 ? strerror(e) : "");
}

static void pair(void) {
	int l = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in s = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof s;
	bind(l, (void *)&s, n);
	listen(l, 1);
	getsockname(l, (void *)&s, &n);
	a = socket(AF_INET, SOCK_STREAM, 0);
	connect(a, (void *)&s, n);
	b = accept(l, 0, 0);
	close(l);
}

int main(void) {
	setvbuf(stdout, 0, _IONBF, 0);
	signal(SIGURG, on);
	pair();
	R(fcntl(b, F_GETOWN));
	R(fcntl(b, F_SETOWN, 4000000));
	R(fcntl(b, F_SETOWN, getpid()));
	R(fcntl(b, F_GETOWN) == getpid());
	struct f_owner_ex ex = {7, 8};
	R(fcntl(b, F_SETOWN_EX, &ex));
	R(fcntl(b, F_GETOWN_EX, &ex));
	printf("%d %d\n", ex.type, ex.pid == getpid());
	ex.type = F_OWNER_TID;
	R(fcntl(b, F_SETOWN_EX, &ex));
	R(fcntl(b, F_GETOWN_EX, &ex));
	printf("%d %d\n", ex.type, ex.pid == getpid());
	get(8, MSG_OOB);
	state("nothing");
	R(send(a, "abc", 3, MSG_OOB));
	state("abc");
	get(8, MSG_OOB | MSG_PEEK);
	get(8, 0);
	state("at the mark");
	get(8, MSG_OOB);
	state("read");
	get(8, MSG_OOB);
	get(8, 0);
	R(send(a, "def", 3, 0));
	state("def behind the mark");
	get(8, 0);
	state("past it");
	R(send(a, "g", 1, MSG_OOB));
	state("urgent alone");
	R(send(a, "h", 1, MSG_OOB));
	state("and another");
	get(8, 0);
	get(8, MSG_OOB);
	R(send(a, "ij", 2, 0));
	R(send(a, "kl", 2, MSG_OOB));
	R(send(a, "mn", 2, 0));
	state("in the middle");
	get(2, 0);
	get(8, 0);
	state("at it");
	get(8, 0);
	get(8, MSG_OOB);
	int on = 1;
	R(setsockopt(b, SOL_SOCKET, SO_OOBINLINE, &on, sizeof on));
	R(send(a, "op", 2, MSG_OOB));
	R(send(a, "q", 1, 0));
	state("inline");
	get(8, MSG_OOB);
	get(8, 0);
	state("at it");
	get(8, 0);
	state("past it");
	R(fcntl(b, F_SETOWN, -getpgrp()));
	R(send(a, "r", 1, MSG_OOB));
	state("for the group");
	fd_set r, x;
	FD_ZERO(&r);
	FD_ZERO(&x);
	FD_SET(b, &r);
	FD_SET(b, &x);
	struct timeval now = {0};
	R(select(b + 1, &r, 0, &x, &now));
	printf("%d %d\n", FD_ISSET(b, &r), FD_ISSET(b, &x));
	R(fcntl(b, F_SETOWN, 0));
	R(send(a, "s", 1, MSG_OOB));
	state("for nobody");
	close(a);
	get(8, 0);
	get(8, 0);
	get(8, 0);
	return 0;
}

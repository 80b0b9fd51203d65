// Packet mode of a pseudoterminal's master: what it reads in front of output, and what it is told of the terminal.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <termios.h>
#include <unistd.h>

#ifndef EXTPROC
#define EXTPROC 0200000
#endif

#define R(x) do { errno = 0; long r_ = (long)(x); int e_ = errno; printf("%-60s %ld %s\n", #x, r_, r_ == -1 ? strerror(e_) : ""); } while (0)

static int m, s;
static struct termios tio;

// settle has what was written come to the other end, which natively takes a little: who polls an end without input has the kernel
// bring what is on its way there.
static void settle(void) {
	for (int i = 0; i < 3; i++) {
		struct pollfd ends[] = {{s, POLLIN, 0}, {m, POLLIN, 0}};
		poll(ends, 2, 0);
		usleep(15000);
	}
}

static void get(const char *what, int size) {
	char b[300];
	struct pollfd p = {m, POLLIN | POLLPRI | POLLOUT | POLLRDNORM, 0};
	struct timeval none = {0, 0};
	fd_set exceptional;
	int ahead = -1;
	settle();
	poll(&p, 1, 0);
	FD_ZERO(&exceptional);
	FD_SET(m, &exceptional);
	int n = select(m + 1, 0, 0, &exceptional, &none);
	ioctl(m, FIONREAD, &ahead);
	int r = read(m, b, size);
	printf("%s: poll %x, exceptional %d, ahead %d, read %d%s", what, p.revents, n, ahead, r, r < 0 ? strerror(errno) : "");
	for (int i = 0; i < r; i++) printf(" %02x", b[i]);
	puts("");
}

static void all(const char *what) {
	get(what, 300);
	get("  then", 300);
}

static void type(const char *keys) {
	write(m, keys, strlen(keys));
	all("typed");
}

static void set(int fd, int how, const char *what) {
	tcsetattr(fd, how, &tio);
	all(what);
}

static void switching(void) {
	int on = 5, off = 0, now = 7;
	R(ioctl(m, TIOCGPKT, &now));
	R(now);
	R(ioctl(s, TIOCPKT, &on));
	R(ioctl(s, TIOCGPKT, &now));
	R(ioctl(m, TIOCPKT, 8));
	R(ioctl(m, TIOCGPKT, 8));
	tcflush(s, TCIFLUSH);
	R(ioctl(m, TIOCPKT, &on));
	R(ioctl(m, TIOCGPKT, &now));
	R(now);
	all("what was before is not told");
	tcflush(s, TCIFLUSH);
	R(ioctl(m, TIOCPKT, &off));
	all("off");
	R(ioctl(m, TIOCPKT, &on));
	all("on");
	tcflush(s, TCIFLUSH);
	R(ioctl(m, TIOCPKT, &on));
	all("on again");
}

static void data(void) {
	write(s, "hello", 5);
	get("none", 0);
	get("one", 1);
	get("two", 2);
	all("rest");
	write(s, "out", 3);
	settle();
	tcflush(s, TCIOFLUSH);
	all("status first");
	write(s, "out", 3);
	settle();
	tcflush(m, TCIFLUSH);
	all("flushed by the master");
}

static void flow(void) {
	tcflush(s, TCIFLUSH), all("TCIFLUSH");
	tcflush(s, TCOFLUSH), all("TCOFLUSH");
	tcflush(s, TCIOFLUSH), all("TCIOFLUSH");
	tcflush(m, TCIOFLUSH), all("TCIOFLUSH of the master");
	R(tcflush(m, 3));
	R(tcflush(s, 3));
	tcflow(s, TCOOFF), all("TCOOFF");
	tcflow(s, TCOOFF), all("TCOOFF again");
	tcflow(s, TCOON), all("TCOON");
	tcflow(s, TCOON), all("TCOON again");
	tcflow(s, TCOOFF), tcflow(s, TCOON), all("both");
	type("\023");
	type("\021");
	write(m, "\023", 1);
	type("\003");
	type("\003");
}

static void settings(void) {
	tio.c_iflag &= ~IXON;
	set(s, TCSANOW, "-ixon");
	set(s, TCSANOW, "-ixon again");
	tio.c_iflag |= IXON;
	set(s, TCSANOW, "ixon");
	tio.c_cc[VSTOP] = 1;
	set(s, TCSANOW, "stop ^A");
	tio.c_cc[VSTOP] = 023;
	set(m, TCSADRAIN, "stop ^S");
	set(s, TCSAFLUSH, "flush");
	type("\023");
	tio.c_iflag &= ~IXON;
	set(s, TCSANOW, "-ixon lets output go on");
	tio.c_iflag |= IXON | IXANY;
	set(s, TCSANOW, "ixany");
	type("\023");
	type("a");
	tio.c_lflag |= NOFLSH;
	set(s, TCSANOW, "noflsh");
	type("\003");
	tio.c_lflag |= EXTPROC;
	set(s, TCSANOW, "extproc");
	tio.c_lflag &= ~EXTPROC;
	set(s, TCSANOW, "-extproc");
	set(s, TCSANOW, "-extproc again");
}

static void edges(void) {
	int ep = epoll_create1(0);
	struct epoll_event e = {EPOLLIN | EPOLLPRI | EPOLLET};
	epoll_ctl(ep, EPOLL_CTL_ADD, m, &e);
	R(epoll_wait(ep, &e, 1, 0));
	tcflush(s, TCIFLUSH);
	R(epoll_wait(ep, &e, 1, 0));
	R(e.events);
	R(epoll_wait(ep, &e, 1, 0));
	tcflow(s, TCOOFF);
	R(epoll_wait(ep, &e, 1, 0));
	all("both");
	tcflow(s, TCOON);
	all("on");
	close(ep);
}

int main(void) {
	setvbuf(stdout, 0, _IOLBF, 0);
	alarm(30);
	signal(SIGINT, SIG_IGN);
	m = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
	grantpt(m);
	unlockpt(m);
	s = open(ptsname(m), O_RDWR | O_NOCTTY | O_NONBLOCK);
	tcgetattr(s, &tio);
	switching();
	data();
	flow();
	settings();
	edges();
	// A master that waits is told, and what waits is told although the last slave is closed.
	fcntl(m, F_SETFL, O_RDWR);
	if (!fork()) {
		settle();
		tcflush(s, TCIFLUSH);
		_exit(0);
	}
	char c = 7;
	R(read(m, &c, 1));
	R(c);
	tcflush(s, TCOFLUSH);
	write(s, "last", 4);
	close(s);
	get("closed", 300);
	all("closed");
	return 0;
}

// FIFOs, which are the host's, both of whose ends the program has: read, write, poll, epoll with timeouts.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define R(x) do { errno = 0; long r_ = (long)(x); int e_ = errno; printf("%-70s %ld %s\n", #x, r_, r_ == -1 ? strerror(e_) : ""); } while (0)

static char name[] = "/tmp/cgemu-fifo-XXXXXX";
static int r, w;

static void show(int ep, int ms) {
	struct epoll_event ev[4];
	errno = 0;
	int n = epoll_wait(ep, ev, 4, ms);
	printf("epoll_wait %d %s", n, n < 0 ? strerror(errno) : "");
	for (int i = 0; i < n; i++) printf(" %x:%x", ev[i].data.u32, ev[i].events);
	printf("\n");
}

static int add(int ep, int fd, unsigned events, unsigned data) {
	struct epoll_event ev = {events, {.u32 = data}};
	return epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev);
}

static void ends(void) {
	char b[10];
	R(open(name, O_WRONLY | O_NONBLOCK));
	r = open(name, O_RDONLY | O_NONBLOCK);
	R(read(r, b, 10));
	struct pollfd p = {r, POLLIN, 0};
	R(poll(&p, 1, 0));
	w = open(name, O_WRONLY);
	R(read(r, b, 10));
	R(write(w, "hello", 5));
	R(poll(&p, 1, -1));
	R(read(r, b, 3));
	R(read(r, b, 10));
	R(read(r, b, 10));
}

// Time passes though one end can always be written.
static void edges(void) {
	char b[10];
	int ep = epoll_create1(0), up = epoll_create1(0), top = epoll_create1(0);
	R(add(ep, r, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, 1));
	R(add(ep, w, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, 2));
	show(ep, -1);
	show(ep, 20);
	write(w, "hello", 5);
	show(ep, 0);
	show(ep, 20);
	read(r, b, 10);
	R(add(up, ep, EPOLLIN | EPOLLET, 3));
	R(add(top, w, EPOLLOUT | EPOLLONESHOT, 4));
	show(top, 20);
	show(top, 20);
	R(add(top, up, EPOLLIN, 5));
	if (!fork()) {
		usleep(20000);
		write(w, "x", 1);
		_exit(0);
	}
	show(up, -1);
	wait(0);
	read(r, b, 10);
	show(up, 20);
	struct pollfd p = {up, POLLIN, 0};
	if (!fork()) {
		usleep(20000);
		write(w, "y", 1);
		_exit(0);
	}
	R(poll(&p, 1, -1));
	wait(0);
	read(r, b, 10);
	close(w);
	show(ep, -1);
	show(ep, 20);
	if (!fork()) {
		usleep(20000);
		w = open(name, O_WRONLY);
		write(w, "z", 1);
		usleep(20000);
		_exit(0);
	}
	for (;;) {
		struct epoll_event ev = {0};
		epoll_wait(ep, &ev, 1, -1);
		if (ev.events & EPOLLIN) break;
	}
	wait(0);
	R(read(r, b, 10));
	R(read(r, b, 10));
	close(ep), close(up), close(top);
}

// What is open by its name only can not be waited for.
static void paths(void) {
	int fd = open(name, O_PATH), ep = epoll_create1(0);
	struct pollfd p = {fd, POLLIN};
	struct epoll_event ev = {EPOLLIN};
	struct timeval second = {1};
	fd_set r, w, x;
	FD_ZERO(&r);
	FD_ZERO(&w);
	FD_ZERO(&x);
	FD_SET(fd, &r);
	FD_SET(fd, &w);
	FD_SET(fd, &x);
	R(poll(&p, 1, 1000));
	R(p.revents);
	R(select(fd + 1, &r, &w, &x, &second));
	R(!!FD_ISSET(fd, &r) + !!FD_ISSET(fd, &w) + !!FD_ISSET(fd, &x));
	R(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev));
	close(fd);
	close(ep);
}

int main(void) {
	setvbuf(stdout, 0, _IONBF, 0);
	close(mkstemp(name));
	unlink(name);
	R(mkfifo(name, 0600));
	paths();
	ends();
	edges();
	close(r);
	unlink(name);
	return 0;
}

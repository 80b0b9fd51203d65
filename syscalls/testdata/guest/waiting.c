// Pipes, poll, select, epoll, eventfd, timerfd, clocks: things that wait.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

#define R(x) do { errno = 0; long r_ = (long)(x); int e_ = errno; printf("%-70s %ld %s\n", #x, r_, r_ == -1 ? strerror(e_) : ""); } while (0)

static int64_t now(int id) {
	struct timespec t;
	clock_gettime(id, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static int pfd[2];
static void *writer(void *p) {
	char *b = calloc(1, 200000);
	long n = write(pfd[1], b, 200000);
	close(pfd[1]);
	return (void *)n;
}

static void *late(void *p) {
	usleep(2000);
	eventfd_write((long)p, 3);
	return 0;
}

int main(void) {
	setvbuf(stdout, 0, _IONBF, 0);
	char buf[100];
	int n;
	pipe(pfd);
	struct pollfd pf[3] = {{pfd[0], POLLIN, 0}, {pfd[1], POLLOUT, 0}, {77, POLLIN, 0}};
	R(poll(pf, 3, 0));
	printf("%x %x %x\n", pf[0].revents, pf[1].revents, pf[2].revents);
	R(write(pfd[1], "hello", 5));
	R(poll(pf, 2, -1));
	printf("%x %x\n", pf[0].revents, pf[1].revents);
	R(ioctl(pfd[0], FIONREAD, &n));
	printf("%d\n", n);
	R(read(pfd[0], buf, 3));
	R(read(pfd[0], buf, 100));
	fcntl(pfd[0], F_SETFL, O_NONBLOCK);
	R(read(pfd[0], buf, 1));
	fcntl(pfd[0], F_SETFL, 0);
	fcntl(pfd[1], F_SETFL, O_NONBLOCK);
	char *big = calloc(1, 100000);
	R(write(pfd[1], big, 100000));
	R(write(pfd[1], big, 1));
	R(fcntl(pfd[0], F_GETPIPE_SZ));
	fcntl(pfd[1], F_SETFL, 0);
	for (long got, sum = 0; sum < 65536; sum += got) got = read(pfd[0], big, 10000);
	R(lseek(pfd[0], 0, SEEK_CUR));
	R(pread(pfd[0], buf, 1, 0));
	pthread_t t;
	pthread_create(&t, 0, writer, 0);
	long sum = 0, got;
	while ((got = read(pfd[0], big, 7777)) > 0) sum += got;
	void *wrote;
	pthread_join(t, &wrote);
	printf("read %ld wrote %ld\n", sum, (long)wrote);
	R(poll(pf, 1, -1));
	printf("%x\n", pf[0].revents);
	R(read(pfd[0], buf, 1));

	int64_t t0 = now(CLOCK_MONOTONIC);
	R(poll(0, 0, 20));
	printf("20ms passed %d\n", now(CLOCK_MONOTONIC) - t0 >= 20000000);
	struct timeval tv = {0, 5000};
	fd_set rs;
	FD_ZERO(&rs);
	int ev = eventfd(0, 0);
	FD_SET(ev, &rs);
	R(select(ev + 1, &rs, 0, 0, &tv));
	printf("tv %ld %ld set %d\n", (long)tv.tv_sec, (long)tv.tv_usec, FD_ISSET(ev, &rs));
	pthread_create(&t, 0, late, (void *)(long)ev);
	FD_SET(ev, &rs);
	R(select(ev + 1, &rs, 0, 0, 0));
	printf("set %d\n", FD_ISSET(ev, &rs));
	pthread_join(t, 0);
	uint64_t x;
	R(read(ev, &x, 8));
	printf("%d\n", (int)x);
	FD_SET(40, &rs);
	R(select(41, &rs, 0, 0, 0));
	/* What is beyond the kernel's table of descriptors is not looked at, nor written. */
	FD_ZERO(&rs);
	FD_SET(1000, &rs);
	tv.tv_usec = 5000;
	R(select(1001, &rs, 0, 0, &tv));
	printf("set %d\n", FD_ISSET(1000, &rs) != 0);
	int sem = eventfd(2, EFD_SEMAPHORE | EFD_NONBLOCK);
	R(read(sem, &x, 8));
	R(read(sem, &x, 8));
	R(read(sem, &x, 8));
	R(read(sem, &x, 4));
	x = -1;
	R(write(sem, &x, 8));

	int ep = epoll_create1(0);
	struct epoll_event e = {.events = EPOLLIN, .data.u32 = 1}, out[4];
	R(epoll_ctl(ep, EPOLL_CTL_ADD, ev, &e));
	R(epoll_ctl(ep, EPOLL_CTL_ADD, ev, &e));
	R(epoll_ctl(ep, EPOLL_CTL_MOD, sem, &e));
	R(epoll_ctl(ep, EPOLL_CTL_ADD, ep, &e));
	R(epoll_wait(ep, out, 4, 0));
	eventfd_write(ev, 1);
	R(epoll_wait(ep, out, 4, -1));
	printf("%x %d\n", out[0].events, out[0].data.u32);
	R(epoll_wait(ep, out, 4, -1));
	e.events = EPOLLIN | EPOLLET;
	R(epoll_ctl(ep, EPOLL_CTL_MOD, ev, &e));
	R(epoll_wait(ep, out, 4, 0));
	R(epoll_wait(ep, out, 4, 0));
	e.events = EPOLLIN | EPOLLONESHOT;
	R(epoll_ctl(ep, EPOLL_CTL_MOD, ev, &e));
	R(epoll_wait(ep, out, 4, 0));
	R(epoll_wait(ep, out, 4, 5));
	R(epoll_ctl(ep, EPOLL_CTL_DEL, ev, 0));
	R(epoll_ctl(ep, EPOLL_CTL_DEL, ev, 0));
	int reg = open("/etc/passwd", O_RDONLY);
	R(epoll_ctl(ep, EPOLL_CTL_ADD, reg, &e));

	int tf = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	struct itimerspec its = {{0, 1000000}, {0, 100000000}};
	R(timerfd_settime(tf, 0, &its, 0));
	R(read(tf, &x, 8));
	usleep(105500);
	R(read(tf, &x, 8));
	printf("ticks at least 5: %d\n", x >= 5);
	pf[0].fd = tf;
	R(poll(pf, 1, -1));
	R(timerfd_gettime(tf, &its));
	printf("%d\n", its.it_interval.tv_nsec == 1000000);

	t0 = now(CLOCK_REALTIME);
	struct timespec ts = {t0 / 1000000000, t0 % 1000000000};
	ts.tv_sec += 1;
	R(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &ts, 0));
	printf("1s passed %d\n", now(CLOCK_REALTIME) - t0 >= 1000000000);
	ts.tv_nsec = -1;
	R(nanosleep(&ts, 0));
	R(clock_gettime(99, &ts));
	R(clock_getres(CLOCK_MONOTONIC, &ts));
	printf("res %ld\n", (long)ts.tv_nsec);
	t0 = now(CLOCK_PROCESS_CPUTIME_ID);
	for (volatile int i = 0; i < 100000; i++) {}
	printf("cpu %d thread %d\n", now(CLOCK_PROCESS_CPUTIME_ID) > t0, now(CLOCK_THREAD_CPUTIME_ID) > 0);
	struct timeval g;
	gettimeofday(&g, 0);
	printf("time %d\n", time(0) + 1 >= g.tv_sec); // its clock is a tick behind
	struct rusage ru;
	R(getrusage(RUSAGE_SELF, &ru));
	struct tms tms;
	printf("times %d\n", times(&tms) > 0);
	R(getrandom(buf, 10, 0));
	R(getrandom(buf, 10, 99));
	struct rlimit rl;
	R(getrlimit(RLIMIT_STACK, &rl));
	rl.rlim_cur = 100;
	R(setrlimit(RLIMIT_NOFILE, &rl));
	R(dup2(0, 100));
	// Epolls that watch epolls: no circles, and no more than five in a row.
	int row[8];
	e.events = EPOLLIN;
	for (int i = 0; i < 8; i++) row[i] = epoll_create1(0);
	for (int i = 0; i < 7; i++) R(epoll_ctl(row[i], EPOLL_CTL_ADD, row[i + 1], &e));
	R(epoll_ctl(row[2], EPOLL_CTL_ADD, row[0], &e));
	R(epoll_ctl(row[3], EPOLL_CTL_ADD, row[5], &e));
	R(epoll_ctl(row[1], EPOLL_CTL_ADD, row[5], &e));
	R(getrlimit(99, &rl));
	return 0;
}

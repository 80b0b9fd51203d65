// FIFOs: open(2) waits for the other end.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define R(x) do { errno = 0; long r_ = (long)(x); int e_ = errno; printf("%-70s %ld %s\n", #x, r_, r_ == -1 ? strerror(e_) : ""); } while (0)

static char b[16];

static void nap(int ms) { usleep(ms * 1000); }

static void nothing(int sig) {}

static long ms(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

// writer starts a process that opens p, writes text and closes p, with pauses between.
static pid_t writer(int before, int open_for, const char *text) {
	pid_t p = fork();
	if (p == 0) {
		nap(before);
		int fd = open("p", O_WRONLY);
		nap(open_for);
		write(fd, text, strlen(text));
		_exit(fd < 0);
	}
	return p;
}

static int status(pid_t p) {
	int st = -1;
	waitpid(p, &st, 0);
	return st;
}

static void waiting(void) {
	long t0 = ms();
	pid_t p = writer(100, 0, "");
	int fd = open("p", O_RDONLY);
	printf("the reader waited: %d, the writer: %d\n", ms() - t0 >= 90, status(p));
	close(fd);
	p = writer(0, 50, "hello"); // the writer waits, and finds a reader that reads at once
	nap(30);
	fd = open("p", O_RDONLY);
	R(read(fd, b, 16));
	R(read(fd, b, 16));
	status(p);
	close(fd);
	p = writer(50, 0, "abc"); // it has come and gone when the reader reads
	fd = open("p", O_RDONLY);
	status(p);
	R(read(fd, b, 16));
	R(read(fd, b, 16));
	close(fd);
	p = writer(50, 50, ""); // nothing is written
	fd = open("p", O_RDONLY);
	R(read(fd, b, 16));
	status(p);
	close(fd);
	if (fork() == 0) { // the name goes while open waits
		nap(200);
		rename("p", "q");
		int w = open("q", O_WRONLY);
		rename("q", "p");
		write(w, "gone", 4);
		_exit(0);
	}
	fd = open("p", O_RDONLY);
	R(read(fd, b, 16));
	close(fd);
	while (wait(0) > 0);
}

static void ending(void) {
	struct sigaction sa = {.sa_handler = nothing};
	sigaction(SIGALRM, &sa, 0);
	ualarm(50000, 50000); // again, if the first one is too early
	R(open("p", O_RDONLY));
	R(open("p", O_WRONLY));
	ualarm(0, 0);
	alarm(30);
	pid_t p = writer(0, 0, "");
	nap(20);
	kill(p, SIGKILL);
	printf("%d\n", status(p));
	R(open("p", O_WRONLY | O_NONBLOCK));
	if ((p = fork()) == 0)
		_exit(open("p", O_RDONLY) < 0);
	nap(20);
	kill(p, SIGKILL);
	printf("%d\n", status(p));
	R(open("p", O_WRONLY | O_NONBLOCK));
}

// gone has writers that come, write and end at once, of which a signal tells that interrupts system calls: what is waited for goes first.
static void gone(void) {
	struct sigaction sa = {.sa_handler = nothing};
	sigaction(SIGCHLD, &sa, 0);
	for (int i = 0; i < 5; i++) {
		pid_t p = writer(i == 0 ? 0 : 10, 0, "hi");
		int r = open("p", O_RDONLY);
		R(r < 0);
		R(read(r, b, 2));
		while (waitpid(p, 0, 0) < 0 && errno == EINTR) {}
		R(read(r, b, 2));
		close(r);
		int ends[2];
		pipe(ends);
		if ((p = fork()) == 0) {
			nap(10);
			write(ends[1], "hi", 2);
			_exit(0);
		}
		R(read(ends[0], b, 16));
		while (waitpid(p, 0, 0) < 0 && errno == EINTR) {}
		close(ends[0]), close(ends[1]);
	}
	signal(SIGCHLD, SIG_DFL);
}

int main(void) {
	setvbuf(stdout, 0, _IONBF, 0);
	alarm(30);
	char dir[] = "/tmp/fifoXXXXXX";
	chdir(mkdtemp(dir));
	mkfifo("p", 0600);
	waiting();
	ending();
	gone();
	int rw, r, w;
	R((rw = open("p", O_RDWR)) < 0);
	R((r = open("p", O_RDONLY)) < 0);
	R((w = open("p", O_WRONLY)) < 0);
	R(read(r, b, 0));
	close(rw), close(r), close(w);
	R((r = open("p", O_RDONLY | O_NONBLOCK)) < 0);
	R(read(r, b, 1)); // no writer: the end
	struct pollfd pf = {r, POLLIN};
	R(poll(&pf, 1, 0)); // but not for poll
	w = open("p", O_WRONLY);
	R(read(r, b, 1));
	close(w);
	R(poll(&pf, 1, 0));
	printf("%x\n", pf.revents);
	R(fcntl(r, F_SETFL, 0));
	R(read(r, b, 1));
	R(unlink("p"));
	R(rmdir(dir));
	return 0;
}

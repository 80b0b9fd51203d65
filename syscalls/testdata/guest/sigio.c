// Signals about what becomes possible with a file: O_ASYNC, FIOASYNC, F_SETOWN, F_SETSIG, what siginfo says, and for which files.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define R(x) do { errno = 0; long r_ = (long)(x); int e_ = errno; printf("%-60s %ld %s\n", #x, r_, r_ == -1 ? strerror(e_) : ""); told(); } while (0)

static sigset_t all;
static int quiet;
static long patience = 2; // in milliseconds, how long a signal may take: networks and terminals have threads of their own in Linux

// told prints the signals that have come.
static void told(void) {
	struct timespec soon = {patience / 1000, patience % 1000 * 1000000};
	siginfo_t s;
	int sig;
	if (quiet)
		return;
	while ((sig = sigtimedwait(&all, &s, &soon)) > 0) {
		printf("   %s code %d", sig == SIGIO ? "SIGIO" : sig == SIGURG ? "SIGURG" : sig == SIGPIPE ? "SIGPIPE" : sig == SIGCHLD ? "SIGCHLD" : "SIGRTMIN+n", s.si_code);
		if (s.si_code > 0 && s.si_code < 10 && sig != SIGCHLD || s.si_code == SI_SIGIO)
			printf(" band %lx fd %d", s.si_band, s.si_fd);
		printf("\n");
		soon = (struct timespec){0};
	}
}

// W is R for what a signal certainly tells of, in however long.
#define W(x) do { long p_ = patience; patience = 10000; R(x); patience = p_; } while (0)

static int async(int fd, int sig) {
	int r = fcntl(fd, F_SETOWN, getpid());
	r |= fcntl(fd, F_SETSIG, sig);
	return r | fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC);
}

static int async_flag(int fd) { return (fcntl(fd, F_GETFL) & O_ASYNC) != 0; }

static char big[400000];
static int rt;

static void pipes(void) {
	int p[2], i, one = 1, zero = 0;
	char c;
	printf("-- pipes\n");
	R(pipe2(p, O_NONBLOCK));
	R(async(p[0], 0));
	R(async_flag(p[0]));
	R(write(p[1], "abc", 3));
	R(write(p[1], "abc", 3));
	R(read(p[0], &c, 1));
	R(fcntl(p[0], F_SETSIG, rt));
	R(write(p[1], "abc", 3));
	quiet = 1;
	R(write(p[1], "abc", 3));
	R(write(p[1], "abc", 3));
	quiet = 0;
	told();
	R(fcntl(p[0], F_SETSIG, SIGCHLD));
	R(write(p[1], "abc", 3));
	R(fcntl(p[0], F_SETSIG, rt));
	int d = dup(p[0]);
	R(fcntl(d, F_SETFL, O_ASYNC | O_NONBLOCK));
	R(write(p[1], "x", 1));
	R(ioctl(p[0], FIOASYNC, &zero));
	R(async_flag(p[0]));
	R(write(p[1], "x", 1));
	R(ioctl(d, FIOASYNC, &one));
	R(async_flag(p[0]));
	R(write(p[1], "x", 1));
	R(close(d));
	R(write(p[1], "x", 1));
	R(async(p[1], rt));
	R(read(p[0], big, 5));
	R(write(p[1], big, sizeof big));
	R(read(p[0], big, 5));
	R(read(p[0], big, 100000));
	R(fcntl(p[1], F_SETOWN, 0));
	R(read(p[0], big, 100000));
	R(close(p[1]));
	R(close(p[0]));
	R(pipe(p));
	R(async(p[1], rt));
	R(close(p[0]));
	R(write(p[1], "x", 1));
	close(p[1]);
}

static void unix_sockets(int type, const char *name) {
	int s[2];
	char c;
	printf("-- AF_UNIX, %s\n", name);
	R(socketpair(AF_UNIX, type | SOCK_NONBLOCK, 0, s));
	R(async(s[0], rt));
	R(write(s[1], "abc", 3));
	R(write(s[1], "def", 3));
	R(read(s[0], &c, 1));
	R(write(s[0], "abc", 3));
	R(read(s[1], big, 3));
	quiet = 1;
	while (write(s[0], big, 10000) > 0)
		;
	quiet = 0;
	told();
	quiet = 1;
	while (read(s[1], big, 10000) > 0)
		;
	quiet = 0;
	told();
	R(write(s[0], "abc", 3));
	R(read(s[1], big, 3));
	R(shutdown(s[1], SHUT_WR));
	R(shutdown(s[1], SHUT_RD));
	R(close(s[1]));
	R(close(s[0]));
	R(socketpair(AF_UNIX, type | SOCK_NONBLOCK, 0, s));
	R(async(s[0], rt));
	R(close(s[1]));
	R(close(s[0]));
}

static void unix_names(void) {
	struct sockaddr_un a = {AF_UNIX, "\0cgemu-sigio"};
	int l = socket(AF_UNIX, SOCK_STREAM, 0), c = socket(AF_UNIX, SOCK_STREAM, 0);
	printf("-- AF_UNIX, listening\n");
	R(bind(l, (void *)&a, sizeof a));
	R(listen(l, 5));
	R(async(l, rt));
	R(async(c, rt));
	R(connect(c, (void *)&a, sizeof a));
	int s = accept(l, 0, 0);
	told();
	R(async_flag(s));
	R(write(s, "x", 1));
	R(close(s));
	R(close(c));
	R(close(l));
}

static void tcp(void) {
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof a;
	int l = socket(AF_INET, SOCK_STREAM, 0), c = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	pid_t me = getpid(), got = 0;
	printf("-- TCP\n");
	bind(l, (void *)&a, n);
	listen(l, 5);
	getsockname(l, (void *)&a, &n);
	R(async(l, rt));
	R(ioctl(c, FIOASYNC, &on));
	R(ioctl(c, SIOCSPGRP, &me));
	R(ioctl(c, SIOCGPGRP, &got));
	printf("%d\n", got == me);
	R(fcntl(c, F_SETSIG, rt + 1));
	R(connect(c, (void *)&a, n));
	int s = accept(l, 0, 0);
	told();
	R(write(s, "x", 1));
	R(read(c, big, 10));
	R(write(c, "x", 1));
	R(read(s, big, 10));
	R(shutdown(s, SHUT_WR));
	R(shutdown(c, SHUT_WR));
	R(close(s));
	R(close(c));
	c = socket(AF_INET, SOCK_STREAM, 0);
	R(async(c, rt));
	R(connect(c, (void *)&a, n));
	s = accept(l, 0, 0);
	told();
	R(shutdown(c, SHUT_WR));
	R(close(s));
	R(close(c));
	c = socket(AF_INET, SOCK_STREAM, 0);
	R(async(c, rt));
	R(connect(c, (void *)&a, n));
	s = accept(l, 0, 0);
	told();
	struct linger reset = {1, 0};
	R(setsockopt(s, SOL_SOCKET, SO_LINGER, &reset, sizeof reset));
	R(close(s));
	R(close(c));
	R(close(l));
	c = socket(AF_INET, SOCK_STREAM, 0);
	R(async(c, rt));
	R(connect(c, (void *)&a, n));
	R(close(c));
}

static void udp(void) {
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof a;
	int r = socket(AF_INET, SOCK_DGRAM, 0), s = socket(AF_INET, SOCK_DGRAM, 0);
	printf("-- UDP\n");
	bind(r, (void *)&a, n);
	getsockname(r, (void *)&a, &n);
	R(async(r, rt));
	R(async(s, rt));
	R(connect(s, (void *)&a, n));
	R(write(s, "x", 1));
	R(write(s, "y", 1));
	R(read(r, big, 10));
	R(close(r));
	R(write(s, "x", 1));
	R(close(s));
}

static void terminals(void) {
	int m = posix_openpt(O_RDWR | O_NOCTTY);
	grantpt(m);
	unlockpt(m);
	int s = open(ptsname(m), O_RDWR | O_NOCTTY);
	printf("-- terminals\n");
	R(fcntl(s, F_SETSIG, rt));
	R(fcntl(s, F_SETFL, O_RDWR | O_ASYNC));
	R(fcntl(s, F_GETOWN) == getpid());
	R(write(m, "abc", 3));
	W(write(m, "\n", 1));
	R(read(s, big, 10));
	struct termios t;
	tcgetattr(s, &t);
	t.c_lflag &= ~(ICANON | ECHO);
	tcsetattr(s, TCSANOW, &t);
	W(write(m, "a", 1));
	W(write(m, "b", 1));
	R(async(m, rt));
	W(write(s, "out", 3));
	R(fcntl(m, F_SETFL, O_RDWR));
	R(close(m));
	R(close(s));
}

static void others(void) {
	int e = eventfd(0, EFD_NONBLOCK), i = inotify_init1(IN_NONBLOCK), f = open("/dev/null", O_RDWR), on = 1, off = 0;
	long one = 1;
	char name[] = "/tmp/sigioXXXXXX";
	int d = mkstemp(name);
	printf("-- others\n");
	R(async(e, rt));
	R(async_flag(e));
	R(ioctl(e, FIOASYNC, &on));
	R(ioctl(e, FIOASYNC, &off));
	R(ioctl(e, FIOASYNC, 0));
	R(write(e, &one, 8));
	R(async(d, rt));
	R(async_flag(d));
	R(ioctl(d, FIOASYNC, &on));
	R(async_flag(f));
	R(async(f, rt));
	R(async_flag(f));
	R(async(i, rt));
	R(async_flag(i));
	R(inotify_add_watch(i, name, IN_ATTRIB) > 0); // nobody else touches it
	R(unlink(name));
	close(e), close(i), close(f), close(d);
}

static void fifos(void) {
	char name[] = "/tmp/sigioXXXXXX";
	mkdtemp(name);
	chdir(name);
	mkfifo("f", 0600);
	printf("-- FIFOs\n");
	int r = open("f", O_RDONLY | O_NONBLOCK), w = open("f", O_WRONLY | O_NONBLOCK);
	R(async(r, rt));
	R(async_flag(r));
	R(write(w, "abc", 3));
	R(read(r, big, 10));
	R(write(w, "abc", 3));
	R(write(w, "abc", 3));
	R(read(r, big, 10));
	pid_t p = fork();
	if (!p) {
		write(w, "child", 5);
		_exit(0);
	}
	waitpid(p, 0, 0);
	told();
	R(read(r, big, 10));
	R(async(w, rt));
	R(write(w, "abc", 3));
	R(read(r, big, 10));
	close(r), close(w);
	unlink("f");
	chdir("/");
	rmdir(name);
}

static int in_thread;

static void *waiter(void *p) {
	struct f_owner_ex ex = {F_OWNER_TID, gettid()};
	int *fd = p;
	siginfo_t s;
	fcntl(fd[0], F_SETOWN_EX, &ex);
	fcntl(fd[0], F_SETSIG, rt);
	fcntl(fd[0], F_SETFL, O_ASYNC);
	write(fd[1], "x", 1);
	in_thread = sigwaitinfo(&all, &s) == rt;
	return 0;
}

static void handler(int sig) { write(1, "handled\n", 8); }

static void owners(void) {
	int p[2];
	pthread_t t;
	printf("-- owners\n");
	pipe(p);
	pthread_create(&t, 0, waiter, p);
	pthread_join(t, 0);
	printf("the thread got it: %d\n", in_thread);
	told();
	R(async(p[0], rt));
	pid_t c = fork();
	if (!c) {
		write(p[1], "x", 1); // for the parent
		_exit(0);
	}
	waitpid(c, 0, 0);
	told();
	// A blocking read of another file is interrupted.
	int q[2];
	pipe(q);
	struct sigaction act = {.sa_handler = handler};
	sigaction(SIGIO, &act, 0);
	sigset_t io;
	sigemptyset(&io);
	sigaddset(&io, SIGIO);
	sigprocmask(SIG_UNBLOCK, &io, 0);
	fcntl(p[0], F_SETSIG, 0);
	if (!(c = fork())) {
		usleep(20000);
		write(p[1], "x", 1);
		_exit(0);
	}
	quiet = 1;
	R(read(q[0], big, 1));
	waitpid(c, 0, 0);
	write(p[1], "x", 1);
	signal(SIGIO, SIG_DFL);
	if (!(c = fork())) {
		fcntl(p[0], F_SETOWN, getpid());
		write(p[1], "x", 1);
		_exit(0);
	}
	int status;
	waitpid(c, &status, 0);
	printf("%d %d\n", WIFSIGNALED(status), WTERMSIG(status));
}

int main(void) {
	setvbuf(stdout, 0, _IONBF, 0);
	rt = SIGRTMIN + 3;
	sigemptyset(&all);
	sigaddset(&all, SIGIO);
	sigaddset(&all, SIGURG);
	sigaddset(&all, SIGCHLD);
	sigaddset(&all, SIGPIPE);
	sigaddset(&all, rt);
	sigaddset(&all, rt + 1);
	sigprocmask(SIG_BLOCK, &all, 0);
	pipes();
	unix_sockets(SOCK_STREAM, "stream");
	unix_sockets(SOCK_DGRAM, "datagrams");
	unix_sockets(SOCK_SEQPACKET, "packets");
	unix_names();
	patience = 50;
	tcp();
	udp();
	terminals();
	patience = 2;
	others();
	fifos();
	owners();
	return 0;
}

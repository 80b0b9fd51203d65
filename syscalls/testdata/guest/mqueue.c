// POSIX message queues.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define R(x) do { errno = 0; long r_ = (long)(x); int e_ = errno; printf("%-70s %ld %s\n", #x, r_, r_ == -1 ? strerror(e_) : ""); } while (0)

static volatile int got, code, value, from;
static void handler(int sig, siginfo_t *i, void *c) {
	got++;
	code = i->si_code;
	value = i->si_value.sival_int;
	from = i->si_pid;
}

static char b[100];
static int get(mqd_t q) {
	unsigned p = 99;
	memset(b, 0, sizeof b);
	int n = mq_receive(q, b, sizeof b, &p);
	if (n >= 0) printf("%s %u: ", b, p);
	return n;
}

int main(void) {
	char name[50], other[300];
	struct mq_attr a = {0, 3, 16}, now;
	struct timespec past = {1, 0}, bad = {0, -1}, soon;
	struct pollfd p;
	mqd_t q, r, w;
	int st, pid;
	setvbuf(stdout, 0, _IONBF, 0);
	snprintf(name, sizeof name, "/cgemu-%d", getpid());
	R(mq_open(name, O_RDWR));
	R(mq_open("/", O_RDWR | O_CREAT, 0600, 0));
	R(mq_open("/a/b", O_RDWR | O_CREAT, 0600, 0));
	memset(other, 'x', 299), other[0] = '/', other[299] = 0;
	R(mq_open(other, O_RDWR | O_CREAT, 0600, 0));
	a.mq_maxmsg = 0;
	R(mq_open(name, O_RDWR | O_CREAT, 0600, &a));
	a.mq_maxmsg = 3, a.mq_msgsize = 0;
	R(mq_open(name, O_RDWR | O_CREAT, 0600, &a));
	a.mq_msgsize = -1;
	R(mq_open(name, O_RDWR | O_CREAT, 0600, &a));
	a.mq_msgsize = 16;
	R((q = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &a)) >= 0);
	R(mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &a));
	R((r = mq_open(name, O_RDONLY | O_NONBLOCK)) >= 0);
	R((w = mq_open(name, O_WRONLY | O_NONBLOCK | O_CREAT, 0600, 0)) >= 0);
	R(fcntl(q, F_GETFD));
	R(mq_getattr(q, &now));
	printf("%ld %ld %ld %ld\n", now.mq_flags, now.mq_maxmsg, now.mq_msgsize, now.mq_curmsgs);
	R(mq_getattr(r, &now));
	R(now.mq_flags == O_NONBLOCK);
	R(mq_getattr(1, &now));
	R(mq_getattr(99, &now));
	R(get(r));
	R(mq_receive(w, b, 100, 0));
	R(mq_send(r, "x", 1, 0));
	R(mq_receive(q, b, 15, 0));
	R(mq_send(q, b, 17, 0));
	R(mq_send(q, b, 1, 32768));
	R(mq_send(1, b, 1, 0));
	R(mq_send(q, (void *)8, 1, 0));
	p = (struct pollfd){q, POLLIN | POLLOUT};
	R(poll(&p, 1, 0)); printf("%x\n", p.revents);
	R(mq_send(q, "low", 3, 1));
	R(mq_send(q, "high", 4, 7));
	R(poll(&p, 1, 0)); printf("%x\n", p.revents);
	R(mq_send(q, "low2", 4, 1));
	R(poll(&p, 1, 0)); printf("%x\n", p.revents);
	R(mq_send(w, "x", 1, 0));
	R(mq_timedsend(q, "x", 1, 0, &past));
	R(mq_timedsend(q, "x", 1, 0, &bad));
	clock_gettime(CLOCK_REALTIME, &soon);
	soon.tv_nsec = (soon.tv_nsec + 20000000) % 1000000000, soon.tv_sec += soon.tv_nsec < 20000000;
	R(mq_timedsend(q, "x", 1, 0, &soon));
	R(mq_getattr(q, &now));
	R(now.mq_curmsgs);
	R(get(q)); R(get(q)); R(get(q));
	R(get(r));
	R(mq_timedreceive(q, b, 100, 0, &past));
	R(mq_timedreceive(q, b, 100, 0, &bad));
	R(mq_send(q, "", 0, 0));
	R(mq_timedreceive(q, b, 100, 0, &past));
	a.mq_flags = O_NONBLOCK;
	R(mq_setattr(q, &a, &now));
	R(now.mq_flags);
	R(get(q));
	a.mq_flags = 0;
	R(mq_setattr(q, &a, &now));
	R(now.mq_flags == O_NONBLOCK);
	a.mq_flags = 1;
	R(mq_setattr(q, &a, 0));
	struct stat s;
	R(fstat(q, &s));
	R(s.st_mode);
	R(lseek(q, 0, SEEK_SET));
	R(read(q, b, 50));
	printf("%.30s\n", b);
	R(write(q, b, 1));

	// Notification.
	struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	sigaction(SIGUSR1, &sa, 0);
	struct sigevent ev = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1, .sigev_value.sival_int = 42}, none = {.sigev_notify = SIGEV_NONE};
	R(mq_notify(q, 0));
	R(mq_notify(q, &ev));
	R(mq_notify(q, &ev));
	R(mq_notify(1, &ev));
	R(mq_notify(99, &ev));
	R(pread(q, b, 40, 0));
	printf("%.40s\n", b);
	R(mq_send(q, "told", 4, 0));
	printf("%d %d %d %d\n", got, code, value, from == getpid());
	R(mq_notify(q, &ev));
	R(mq_send(q, "more", 4, 0));
	R(got);
	R(get(q)); R(get(q));
	R(mq_send(q, "again", 5, 0));
	R(got);
	R(get(q));
	R(mq_notify(q, &none));
	R(mq_send(q, "none", 4, 0));
	R(mq_notify(q, &none));
	R(mq_notify(q, 0));
	R(get(q));
	ev.sigev_signo = 99;
	R(mq_notify(q, &ev));

	// Others wait.
	if (!(pid = fork())) _exit(mq_receive(q, b, sizeof b, 0) == 5 && !memcmp(b, "hello", 5) ? 3 : 4);
	R(mq_send(q, "hello", 5, 2));
	waitpid(pid, &st, 0);
	R(WEXITSTATUS(st));
	for (int i = 0; i < 3; i++) mq_send(q, "full", 4, i);
	if (!(pid = fork())) _exit(mq_send(q, "late", 4, 31) ? errno : 0);
	R(get(q));
	waitpid(pid, &st, 0);
	R(WEXITSTATUS(st));
	R(get(q)); R(get(q)); R(get(q));
	sa.sa_flags = 0;
	sigaction(SIGALRM, &sa, 0);
	alarm(1);
	R(get(q));
	R(mq_unlink(name));
	R(mq_unlink(name));
	R(mq_open(name, O_RDWR));
	R(mq_send(q, "gone", 4, 0));
	R(get(r));
	R(mq_close(q)); R(mq_close(r)); R(mq_close(w));
	R(mq_close(q));

	// What all queues together may take.
	struct rlimit few = {200000, 200000};
	R(setrlimit(RLIMIT_MSGQUEUE, &few));
	mqd_t some[3];
	for (int i = 0; i < 3; i++) {
		sprintf(name, "/cgemu-%d-%d", getpid(), i);
		R((some[i] = mq_open(name, O_RDWR | O_CREAT, 0600, 0)) >= 0);
	}
	R(mq_open(name, O_RDWR | O_CREAT, 0600, 0));
	sprintf(name, "/cgemu-%d-0", getpid());
	R(mq_unlink(name));
	sprintf(name, "/cgemu-%d-2", getpid());
	R(mq_open(name, O_RDWR | O_CREAT, 0600, 0));
	R(mq_close(some[0]));
	R((some[2] = mq_open(name, O_RDWR | O_CREAT, 0600, 0)) >= 0);
	R(mq_unlink(name));
	sprintf(name, "/cgemu-%d-1", getpid());
	R(mq_unlink(name));
	return 0;
}

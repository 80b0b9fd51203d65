// Timers whose expirations nobody takes: signals that are blocked or ignored, a timerfd that is not read. As in Linux since 6.13.
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define R(x) do { errno = 0; long r_ = (long)(x); int e_ = errno; printf("%-60s %ld %s\n", #x, r_, r_ == -1 ? strerror(e_) : ""); } while (0)

static volatile int calls, overrun, code;

static void count(int sig, siginfo_t *si, void *u) {
	calls++;
	code = si->si_code;
	overrun = si->si_code == SI_TIMER ? si->si_overrun : 0;
}

static void handle(int sig, void (*h)(int)) {
	struct sigaction sa = {0};
	if (h)
		sa.sa_handler = h;
	else
		sa.sa_sigaction = count, sa.sa_flags = SA_SIGINFO | SA_RESTART;
	sigaction(sig, &sa, 0);
}

static void rest(int ms) {
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};
	while (nanosleep(&t, &t) < 0)
		;
}

static timer_t make(int sig) {
	timer_t id;
	struct sigevent sev = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = sig, .sigev_value.sival_int = 7};
	timer_create(CLOCK_MONOTONIC, &sev, &id);
	return id;
}

static int set(timer_t id, long ns, long every) {
	struct itimerspec its = {{every / 1000000000, every % 1000000000}, {ns / 1000000000, ns % 1000000000}};
	return timer_settime(id, 0, &its, 0);
}

static void block(int how, int sig) {
	sigset_t s;
	sigemptyset(&s);
	sigaddset(&s, sig);
	sigprocmask(how, &s, 0);
}

static void report(const char *what) {
	printf("%-40s %s, code %d, %s\n", what, calls == 0 ? "none" : calls == 1 ? "once" : "often", code,
		overrun == 0 ? "no overrun" : overrun < 0 ? "negative" : overrun < 100 ? "some overruns" : "many overruns");
	calls = overrun = code = 0;
}

static void blocked(void) {
	handle(SIGUSR1, 0);
	timer_t id = make(SIGUSR1);
	struct itimerspec its;
	block(SIG_BLOCK, SIGUSR1);
	R(set(id, 1, 1000000000));
	rest(5);
	R(timer_gettime(id, &its));
	printf("left %d\n", its.it_value.tv_nsec > 0 && its.it_value.tv_sec == 0);
	R(timer_getoverrun(id));
	block(SIG_UNBLOCK, SIGUSR1);
	report("one while blocked");
	block(SIG_BLOCK, SIGUSR1);
	R(set(id, 1, 10000));
	rest(20);
	R(timer_gettime(id, &its));
	printf("left %d %ld\n", its.it_value.tv_nsec > 0 && its.it_value.tv_nsec <= 10000, its.it_interval.tv_nsec);
	R(set(id, 0, 0));
	block(SIG_UNBLOCK, SIGUSR1);
	report("disarmed while blocked");
	block(SIG_BLOCK, SIGUSR1);
	R(set(id, 1, 10000));
	rest(20);
	R(set(id, 3600000000000, 0));
	block(SIG_UNBLOCK, SIGUSR1);
	report("set anew while blocked");
	block(SIG_BLOCK, SIGUSR1);
	R(set(id, 1, 0));
	rest(2);
	R(timer_delete(id));
	block(SIG_UNBLOCK, SIGUSR1);
	report("deleted while blocked");
	R(timer_gettime(id, &its));
}

static void overruns(void) {
	timer_t id = make(SIGUSR1);
	struct itimerspec its;
	block(SIG_BLOCK, SIGUSR1);
	R(set(id, 1, 50000000));
	rest(220);
	siginfo_t si;
	sigset_t s;
	sigemptyset(&s);
	sigaddset(&s, SIGUSR1);
	R(sigwaitinfo(&s, &si) == SIGUSR1);
	printf("code %d overrun %d value %d\n", si.si_code, si.si_overrun >= 4 && si.si_overrun < 40, si.si_value.sival_int);
	R(timer_getoverrun(id) == si.si_overrun);
	struct timespec none = {0, 0};
	R(sigtimedwait(&s, &si, &none));
	R(timer_gettime(id, &its));
	printf("left %d\n", its.it_value.tv_nsec > 0 && its.it_value.tv_nsec <= 50000000);
	int fd = signalfd(-1, &s, 0);
	rest(120);
	struct signalfd_siginfo fsi;
	R(read(fd, &fsi, sizeof fsi));
	printf("code %d overrun %s int %d\n", fsi.ssi_code, fsi.ssi_overrun >= 1 && fsi.ssi_overrun < 40 ? "some" : "?", fsi.ssi_int);
	R(timer_delete(id));
	close(fd);
	block(SIG_UNBLOCK, SIGUSR1);
	report("deleted");
}

static void ignored(void) {
	struct itimerspec its;
	handle(SIGUSR1, SIG_IGN);
	timer_t id = make(SIGUSR1);
	R(set(id, 1, 1000000000));
	rest(5);
	R(timer_gettime(id, &its));
	printf("left %d\n", its.it_value.tv_nsec > 0);
	handle(SIGUSR1, 0);
	report("ignored and handled then");
	R(timer_delete(id));
	handle(SIGUSR1, SIG_IGN);
	id = make(SIGUSR1);
	R(set(id, 1, 1));
	rest(700);
	R(set(id, 0, 0));
	handle(SIGUSR1, 0);
	report("ignored and disarmed");
	handle(SIGUSR1, SIG_IGN);
	R(set(id, 1, 0));
	rest(2);
	handle(SIGUSR1, 0);
	report("once, ignored");
	block(SIG_BLOCK, SIGUSR1);
	R(set(id, 1, 5000000));
	rest(2);
	handle(SIGUSR1, SIG_IGN);
	rest(20);
	handle(SIGUSR1, 0);
	rest(20);
	sigset_t s;
	sigpending(&s);
	R(sigismember(&s, SIGUSR1));
	R(set(id, 0, 0));
	block(SIG_UNBLOCK, SIGUSR1);
	report("discarded");
	R(timer_delete(id));
}

static void together(void) {
	handle(SIGUSR1, 0);
	block(SIG_BLOCK, SIGUSR1);
	timer_t a = make(SIGUSR1), b = make(SIGUSR1);
	R(set(a, 1, 0));
	R(set(b, 1, 0));
	rest(2);
	kill(getpid(), SIGUSR1);
	block(SIG_UNBLOCK, SIGUSR1);
	printf("%d calls\n", calls);
	report("two timers, and kill");
	kill(getpid(), SIGUSR1);
	report("kill");
	timer_delete(a);
	timer_delete(b);
}

static void interval(void) {
	struct itimerval it, once = {{0, 0}, {0, 1}}, fast = {{0, 1}, {0, 1}}, none = {{0, 0}, {0, 0}};
	handle(SIGALRM, 0);
	block(SIG_BLOCK, SIGALRM);
	R(setitimer(ITIMER_REAL, &fast, 0));
	rest(300);
	R(getitimer(ITIMER_REAL, &it));
	printf("%d %d\n", it.it_value.tv_usec > 1, (int)it.it_interval.tv_usec);
	sigset_t s;
	sigemptyset(&s);
	sigaddset(&s, SIGALRM);
	siginfo_t si;
	R(sigwaitinfo(&s, &si) == SIGALRM);
	printf("code %d\n", si.si_code);
	R(sigwaitinfo(&s, &si) == SIGALRM);
	R(setitimer(ITIMER_REAL, &none, 0));
	handle(SIGALRM, SIG_IGN);
	handle(SIGALRM, 0);
	block(SIG_UNBLOCK, SIGALRM);
	report("itimer");
	handle(SIGALRM, SIG_IGN);
	R(setitimer(ITIMER_REAL, &fast, 0));
	rest(200);
	handle(SIGALRM, 0);
	rest(20);
	report("itimer, ignored and then not");
	R(setitimer(ITIMER_REAL, &once, 0));
	rest(2);
	report("once");
}

static void descriptor(void) {
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	struct itimerspec its = {{0, 50000000}, {0, 1}};
	uint64_t n = 0;
	R(timerfd_settime(fd, 0, &its, 0));
	rest(220);
	struct itimerspec now;
	R(timerfd_gettime(fd, &now));
	printf("left %d\n", now.it_value.tv_nsec > 0 && now.it_value.tv_nsec <= 50000000);
	R(read(fd, &n, 8));
	printf("%d\n", n >= 5 && n < 40);
	R(read(fd, &n, 8));
	struct itimerspec fast = {{0, 1}, {0, 1}};
	R(timerfd_settime(fd, 0, &fast, 0));
	rest(300);
	struct pollfd pf = {fd, POLLIN, 0};
	R(poll(&pf, 1, 0));
	R(read(fd, &n, 8));
	printf("%d\n", n > 200000000);
	struct itimerspec none = {0};
	R(timerfd_settime(fd, 0, &none, &now));
	printf("%d %d\n", (int)now.it_interval.tv_nsec, now.it_value.tv_nsec <= 1);
	R(poll(&pf, 1, 0));
	R(read(fd, &n, 8));
	close(fd);
}

int main(void) {
	setvbuf(stdout, 0, _IONBF, 0);
	blocked();
	overruns();
	ignored();
	together();
	interval();
	descriptor();
	return 0;
}

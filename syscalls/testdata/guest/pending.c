// Signals that wait: who takes them, how many there may be, and timers meanwhile.
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile int handled;
static void handler(int sig) { handled++; }

static sigset_t setOf(int sig) {
	sigset_t s;
	sigemptyset(&s);
	sigaddset(&s, sig);
	return s;
}

static void result(const char *what, long r) { printf("%s: %ld %s\n", what, r < 0 ? -1 : r, r < 0 ? strerror(errno) : ""); }

// A signal that is waited for is not handled, blocked or not; another ends the wait.
static void waits(void) {
	int pid = getpid();
	sigset_t set = setOf(SIGUSR1);
	signal(SIGUSR1, handler);
	signal(SIGUSR2, handler);
	for (int i = 0; i < 2; i++) {
		if (fork() == 0) {
			usleep(50000);
			kill(pid, i ? SIGUSR2 : SIGUSR1);
			_exit(0);
		}
		result("rt_sigtimedwait", syscall(SYS_rt_sigtimedwait, &set, 0, 0, 8)); // musl's sigwaitinfo tries again
		printf("handled %d\n", handled);
		while (wait(0) < 0) {}
	}
}

// Expirations of a timer whose signal is blocked are counted when it is taken.
static void overruns(int signo, int how, const char *name) {
	sigset_t set = setOf(signo);
	sigprocmask(SIG_BLOCK, &set, 0);
	struct sigevent ev = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = signo};
	timer_t id;
	timer_create(CLOCK_MONOTONIC, &ev, &id);
	struct itimerspec its = {{0, 20}, {0, 20}}, none = {{0, 0}, {0, 0}};
	struct timespec tenth = {0, 100000000};
	timer_settime(id, 0, &its, 0);
	result("nanosleep", clock_nanosleep(CLOCK_MONOTONIC, 0, &tenth, 0));
	siginfo_t si;
	struct signalfd_siginfo fi;
	int n = -1;
	if (how == 0) {
		sigwaitinfo(&set, &si);
		n = si.si_overrun;
	} else {
		int fd = signalfd(-1, &set, SFD_NONBLOCK);
		read(fd, &fi, sizeof fi);
		n = fi.ssi_overrun;
		close(fd);
	}
	int m = timer_getoverrun(id);
	printf("%s: overruns %d, equal %d\n", name, n >= 4999990, n == m);
	struct itimerspec left;
	timer_gettime(id, &left);
	printf("left %d\n", left.it_value.tv_sec == 0 && left.it_value.tv_nsec > 0 && left.it_value.tv_nsec <= 20);
	timer_settime(id, 0, &none, 0);
	result("timer_delete", timer_delete(id));
	struct timespec zero = {0, 0};
	while (sigtimedwait(&set, 0, &zero) > 0) {}
}

// So are those of others that nobody has looked at.
static void unseen(void) {
	struct timespec tenth = {0, 100000000};
	struct itimerspec its = {{0, 20}, {0, 20}};
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);
	timerfd_settime(fd, 0, &its, 0);
	result("nanosleep", clock_nanosleep(CLOCK_MONOTONIC, 0, &tenth, 0));
	unsigned long n = 0;
	read(fd, &n, 8);
	printf("timerfd: %d\n", n >= 4999990);
	close(fd);
	sigset_t set = setOf(SIGALRM);
	sigprocmask(SIG_BLOCK, &set, 0);
	struct itimerval it = {{0, 1}, {0, 1}}, none = {{0, 0}, {0, 0}};
	setitimer(ITIMER_REAL, &it, 0);
	result("nanosleep", clock_nanosleep(CLOCK_MONOTONIC, 0, &tenth, 0));
	result("sigwaitinfo", sigwaitinfo(&set, 0));
	result("another", sigwaitinfo(&set, 0));
	setitimer(ITIMER_REAL, &none, 0);
	struct sigevent ev = {.sigev_notify = SIGEV_NONE};
	timer_t id;
	timer_create(CLOCK_MONOTONIC, &ev, &id);
	timer_settime(id, 0, &its, 0);
	result("nanosleep", clock_nanosleep(CLOCK_MONOTONIC, 0, &tenth, 0));
	timer_gettime(id, &its);
	printf("left %d\n", its.it_value.tv_sec == 0 && its.it_value.tv_nsec > 0 && its.it_value.tv_nsec <= 20);
	timer_delete(id);
}

static void take(int sig) {
	sigset_t set = setOf(sig);
	struct timespec zero = {0, 0};
	siginfo_t si = {0};
	int r = sigtimedwait(&set, &si, &zero);
	printf("taken %d, code %d, pid %d, value %d\n", r == sig, si.si_code, si.si_pid == getpid(), r == sig ? si.si_value.sival_int : 0);
}

// RLIMIT_SIGPENDING
static void limit(void) {
	struct rlimit rl = {0, 31000};
	setrlimit(RLIMIT_SIGPENDING, &rl);
	int rt = SIGRTMIN + 3, pid = getpid();
	sigset_t set = setOf(rt), usr = setOf(SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, 0);
	sigprocmask(SIG_BLOCK, &usr, 0);
	union sigval v = {.sival_int = 5};
	result("sigqueue", sigqueue(pid, rt, v));
	result("kill", kill(pid, rt));
	result("kill", kill(pid, rt));
	take(rt);
	take(rt);
	result("tgkill", syscall(SYS_tgkill, pid, pid, rt));
	take(rt);
	result("sigqueue", sigqueue(pid, SIGUSR1, v));
	take(SIGUSR1);
	result("kill", kill(pid, SIGUSR1));
	take(SIGUSR1);
	timer_t id;
	result("timer_create", timer_create(CLOCK_MONOTONIC, 0, &id));
	result("sigqueue 0", sigqueue(pid, 0, v));
	rl.rlim_cur = 31000;
	setrlimit(RLIMIT_SIGPENDING, &rl);
	result("sigqueue", sigqueue(pid, rt, v));
	take(rt);
}

static void refused(void) {
	int child = fork();
	if (child == 0) {
		pause();
		_exit(0);
	}
	siginfo_t si = {.si_code = SI_USER};
	result("rt_sigqueueinfo SI_USER", syscall(SYS_rt_sigqueueinfo, child, SIGUSR2, &si));
	si.si_code = SI_TKILL;
	result("rt_sigqueueinfo SI_TKILL", syscall(SYS_rt_sigqueueinfo, child, SIGUSR2, &si));
	result("rt_tgsigqueueinfo SI_TKILL", syscall(SYS_rt_tgsigqueueinfo, child, child, SIGUSR2, &si));
	si.si_code = SI_QUEUE;
	result("rt_sigqueueinfo 65", syscall(SYS_rt_sigqueueinfo, child, 65, &si));
	result("tgkill 65", syscall(SYS_tgkill, child, child, 65));
	kill(child, SIGKILL);
	waitpid(child, 0, 0);
	result("kill none", kill(child, 65));
	result("tgkill none", syscall(SYS_tgkill, child, child, 65));
	result("kill none", kill(child, 0));
	result("rt_sigqueueinfo none", syscall(SYS_rt_sigqueueinfo, child, 65, &si));
	struct timespec ts = {0, 1000000000}, bad = {-1, 0};
	result("sched_rr_get_interval", sched_rr_get_interval(child, &ts));
	result("sched_rr_get_interval", sched_rr_get_interval(-1, &ts));
	result("sched_rr_get_interval", syscall(SYS_sched_rr_get_interval, 0, 1));
	result("clock_settime", clock_settime(99, &ts));
	result("clock_settime", clock_settime(CLOCK_MONOTONIC, &ts));
	result("clock_settime", clock_settime(CLOCK_REALTIME, &bad));
	result("clock_settime", clock_settime(CLOCK_REALTIME, &ts));
	result("clock_settime", syscall(SYS_clock_settime, CLOCK_REALTIME, 1));
	struct timeval tv = {0, 1000000};
	result("settimeofday", syscall(SYS_settimeofday, &tv, 0));
	result("settimeofday", syscall(SYS_settimeofday, 1, 0));
}

int main(void) {
	setvbuf(stdout, 0, _IONBF, 0);
	waits();
	overruns(SIGCONT, 0, "siginfo");
	overruns(SIGRTMIN + 1, 1, "signalfd");
	unseen();
	limit();
	refused();
	return 0;
}

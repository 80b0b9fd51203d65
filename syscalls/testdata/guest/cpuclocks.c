// CPU clocks of threads and processes, and timers on them.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define R(x) do { errno = 0; long r_ = (long)(x); int e_ = errno; printf("%-70s %ld %s\n", #x, r_, r_ == -1 ? strerror(e_) : ""); } while (0)
#define MS 1000000ll

static int64_t now(clockid_t id) {
	struct timespec t = {0};
	clock_gettime(id, &t);
	return t.tv_sec * 1000 * MS + t.tv_nsec;
}

// The clocks <asm/posix_types.h> has no names for: CPUCLOCK_SCHED of a process, and of a thread.
#define PROCESS(pid) (clockid_t)(~(pid) << 3 | 2)
#define THREAD(tid) (clockid_t)(~(tid) << 3 | 6)

static volatile int sink;
static void burn(int64_t ns) {
	for (int64_t end = now(CLOCK_THREAD_CPUTIME_ID) + ns; now(CLOCK_THREAD_CPUTIME_ID) < end;)
		for (int i = 0; i < 20000; i++) sink += i;
}

static volatile int ticks, misses;
static int ticked;
static void tick(int n, siginfo_t *s, void *u) {
	ticks += 1 + s->si_overrun; // a busy host makes one of several
	if (syscall(SYS_gettid) != ticked) misses++;
}

static int64_t rusage(int who) {
	struct rusage u;
	getrusage(who, &u);
	return u.ru_utime.tv_sec * 1000 * MS + u.ru_utime.tv_usec * 1000 + u.ru_stime.tv_sec * 1000 * MS + u.ru_stime.tv_usec * 1000;
}

static int64_t mains, burnt;
static clockid_t mainClock;
static void *burner(void *p) {
	int64_t m = now(mainClock), t = now(CLOCK_THREAD_CPUTIME_ID), r = rusage(RUSAGE_THREAD);
	burn(100 * MS);
	mains = now(mainClock) - m;
	burnt = now(CLOCK_THREAD_CPUTIME_ID) - t;
	printf("as rusage says: %d\n", rusage(RUSAGE_THREAD) - r > burnt - 20 * MS);
	return 0;
}

static void whileOther(void) {
	pthread_t p;
	int64_t whole = now(CLOCK_PROCESS_CPUTIME_ID);
	ticks = misses = 0;
	pthread_create(&p, 0, burner, 0);
	pthread_join(p, 0);
	printf("thread %d, main stood still %d, process %d\n", burnt >= 100 * MS, mains < 50 * MS, now(CLOCK_PROCESS_CPUTIME_ID) - whole >= 100 * MS);
}

int main(void) {
	setvbuf(stdout, 0, _IONBF, 0);
	pthread_getcpuclockid(pthread_self(), &mainClock);
	printf("%d\n", mainClock == THREAD(0) || mainClock == THREAD(getpid()));
	whileOther();
	struct sigaction sa = {.sa_sigaction = tick, .sa_flags = SA_SIGINFO | SA_RESTART};
	sigaction(SIGUSR1, &sa, 0);
	struct sigevent ev = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
	((int *)&ev)[4] = ticked = getpid(); // sigev_notify_thread_id, which has no portable name
	timer_t tm;
	R(timer_create(CLOCK_THREAD_CPUTIME_ID, &ev, &tm));
	struct itimerspec it = {{0, 10 * MS}, {0, 10 * MS}};
	R(timer_settime(tm, 0, &it, 0));
	whileOther();
	printf("few ticks %d\n", ticks < 5);
	ticks = 0;
	burn(100 * MS);
	printf("many ticks %d, misses %d\n", ticks > 5, misses);
	R(timer_delete(tm));
	int gate[2];
	pipe(gate);
	pid_t c = fork();
	if (!c) {
		burn(30 * MS);
		write(gate[1], "", 1);
		pause();
	}
	char b;
	read(gate[0], &b, 1);
	int64_t used = now(PROCESS(c));
	printf("child's clock %d\n", used >= 30 * MS && used < now(PROCESS(getpid())));
	struct timespec t;
	R(clock_gettime(THREAD(c), &t) < 0 ? errno : 0);
	R(clock_gettime(PROCESS(0), &t));
	R(clock_gettime(THREAD(0), &t));
	R(clock_gettime(THREAD(getpid()), &t));
	R(clock_gettime(PROCESS(4000000) , &t) < 0 ? errno : 0);
	kill(c, SIGKILL);
	waitpid(c, 0, 0);
	R(clock_gettime(PROCESS(c), &t) < 0 ? errno : 0);
	return 0;
}

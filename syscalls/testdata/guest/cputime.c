// User and system time, and who is told of them: getrusage, times, clock, /proc, RLIMIT_CPU and SIGPROF.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(struct timeval t) { return t.tv_sec + t.tv_usec / 1e6; }

static struct rusage usage(int who) {
	struct rusage u;
	getrusage(who, &u);
	return u;
}

static void calls(int n) {
	for (int i = 0; i < n; i++)
		syscall(SYS_getppid);
}

static void work(long n) {
	for (volatile long i = 0; i < n; i++)
		;
}

// statTimes reads utime, stime, cutime or cstime of /proc/self/stat.
static long statTimes(int field) {
	char text[1024], *p;
	int fd = open("/proc/self/stat", O_RDONLY);
	text[read(fd, text, sizeof text - 1)] = 0;
	close(fd);
	p = strrchr(text, ')');
	for (int i = 2; i < field; i++)
		p = strchr(p, ' ') + 1;
	return atol(p);
}

static void split(void) {
	struct rusage a = usage(RUSAGE_SELF);
	while (seconds(usage(RUSAGE_SELF).ru_stime) - seconds(a.ru_stime) < 0.1)
		calls(10000);
	struct rusage b = usage(RUSAGE_SELF);
	printf("calls take system time\n");
	a = b;
	while (seconds(usage(RUSAGE_SELF).ru_utime) - seconds(a.ru_utime) < 0.3)
		work(1000000);
	b = usage(RUSAGE_SELF);
	printf("work takes user time: %d\n", seconds(b.ru_utime) - seconds(a.ru_utime) > seconds(b.ru_stime) - seconds(a.ru_stime));
	struct tms t;
	times(&t);
	printf("times: %d %d\n", t.tms_utime > 0, t.tms_stime > 0);
	printf("/proc: %d %d\n", statTimes(14) > 0, statTimes(15) > 0);
	struct timespec ts;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	double all = ts.tv_sec + ts.tv_nsec / 1e9, sum = seconds(b.ru_utime) + seconds(b.ru_stime);
	printf("the clock has both: %d\n", all >= sum * 0.9 && clock() / (double)CLOCKS_PER_SEC >= sum * 0.9);
	b = usage(RUSAGE_THREAD);
	printf("the thread's: %d %d\n", seconds(b.ru_utime) > 0.02, seconds(b.ru_stime) > 0.02);
	if (fork() == 0) {
		struct rusage own = usage(RUSAGE_SELF);
		while (seconds(usage(RUSAGE_SELF).ru_stime) < 0.03)
			calls(10000);
		_exit(seconds(own.ru_stime) > 0.02);
	}
	int status;
	struct rusage child;
	wait4(-1, &status, 0, &child);
	times(&t);
	printf("a child begins with none: %d, has %d, its parent %d %d\n", status == 0, seconds(child.ru_stime) >= 0.03,
		seconds(usage(RUSAGE_CHILDREN).ru_stime) >= 0.03, t.tms_cstime > 0 && statTimes(17) > 0);
}

// A loop with a deadline makes some calls, and not too many.
static void deadline(void) {
	struct timespec a, b;
	long n = 0;
	clock_gettime(CLOCK_MONOTONIC, &a);
	do {
		syscall(SYS_getppid);
		clock_gettime(CLOCK_MONOTONIC, &b);
		n++;
	} while ((b.tv_sec - a.tv_sec) * 1000000000L + b.tv_nsec - a.tv_nsec < 10000000);
	printf("calls in 10 ms: %d\n", n > 100 && n < 500000);
}

static volatile int signals;

static void count(int sig) { signals++; }

static void limit(void) {
	if (fork() == 0) {
		struct rlimit l = {1, 2};
		setrlimit(RLIMIT_CPU, &l);
		signal(SIGXCPU, count);
		while (signals < 1)
			work(100000);
		getrlimit(RLIMIT_CPU, &l);
		printf("SIGXCPU, the limit is %ld\n", (long)l.rlim_cur);
		fflush(stdout);
		for (;;)
			work(100000);
	}
	int status;
	wait(&status);
	printf("then signal %d\n", WTERMSIG(status));
	if (fork() == 0) {
		struct rlimit l = {1, 5};
		setrlimit(RLIMIT_CPU, &l);
		if (fork() == 0)
			for (;;)
				work(100000);
		wait(&status);
		_exit(WTERMSIG(status));
	}
	wait(&status);
	printf("inherited: %s\n", strsignal(WEXITSTATUS(status)));
}

static __thread int self;
static volatile int profiled[3], stop;
static void profile(int sig) { profiled[self]++; }

static void *worker(void *arg) {
	self = (long)arg;
	while (!stop)
		work(1000);
	return 0;
}

static void profiling(void) {
	struct sigaction sa = {.sa_handler = profile, .sa_flags = SA_RESTART};
	sigaction(SIGPROF, &sa, 0);
	struct itimerval it = {{0, 4000}, {0, 4000}}, none = {{0}};
	pthread_t t[2];
	setitimer(ITIMER_PROF, &it, 0);
	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], 0, worker, (void *)(i + 1));
	for (int i = 0; i < 3000 && !(profiled[1] > 2 && profiled[2] > 2); i++)
		usleep(1000);
	stop = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	setitimer(ITIMER_PROF, &none, 0);
	printf("SIGPROF goes to who works: %d %d, not to who sleeps: %d\n", profiled[1] > 2, profiled[2] > 2,
		profiled[0] < profiled[1] + profiled[2]);
}

int main(void) {
	setvbuf(stdout, 0, _IOLBF, 0);
	split();
	deadline();
	limit();
	profiling();
	return 0;
}

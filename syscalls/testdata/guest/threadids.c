// Calls that name a process by the id of one of its threads, and processes that the guest did not make: its parent and init.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <dirent.h>
#include <unistd.h>

static volatile int tid, end;

static void show(const char *what, long r) {
	printf("%-28s %ld %s\n", what, r < 0 ? r : r > 0, r < 0 ? strerror(errno) : "");
}

static void *thread(void *a) {
	sigset_t all;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, 0);
	tid = syscall(SYS_gettid);
	while (!end)
		usleep(1000);
	return 0;
}

static volatile int got;
static void handler(int s, siginfo_t *i, void *c) { got = i->si_value.sival_int + 1; }

static long text(const char *format, int id, char *out) {
	char path[64];
	snprintf(path, sizeof path, format, id);
	int fd = open(path, O_RDONLY);
	if (fd < 0)
		return fd;
	long n = read(fd, out, 999);
	close(fd);
	out[n > 0 ? n : 0] = 0;
	return n;
}

static void threads(void) {
	pthread_t t;
	struct rlimit l;
	struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	siginfo_t si = {.si_code = SI_QUEUE};
	char b[1000], path[64];
	pthread_create(&t, 0, thread, 0);
	while (!tid)
		usleep(100);
	show("kill 0", kill(tid, 0));
	sigaction(SIGUSR1, &sa, 0);
	show("kill USR1", kill(tid, SIGUSR1));
	show("handled here", got);
	got = 0;
	si.si_value.sival_int = 7;
	show("sigqueueinfo", syscall(SYS_rt_sigqueueinfo, tid, SIGUSR1, &si));
	printf("value %d\n", got - 1);
	show("sigqueueinfo 0", syscall(SYS_rt_sigqueueinfo, tid, 0, &si));
	show("kill group", kill(-tid, 0));
	show("kill 99", kill(tid, 99));
	show("getpgid", getpgid(tid) == getpgrp());
	show("getsid", getsid(tid) == getsid(0));
	show("setpgid", setpgid(tid, 0));
	show("prlimit", prlimit(tid, RLIMIT_NOFILE, 0, &l));
	show("status", text("/proc/%d/status", tid, b));
	char *pid = strstr(b, "Tgid:");
	printf("group %d thread %d\n", atoi(pid + 5) == getpid(), atoi(strstr(pid, "Pid:") + 4) == tid);
	snprintf(path, sizeof path, "/proc/%d/task", tid);
	show("task", access(path, F_OK));
	struct stat st;
	show("task", stat(path, &st));
	printf("links %d\n", (int)st.st_nlink); // two and one for each thread: how Chromium's zygote tells that it has but one
	int listed = 0;
	DIR *d = opendir("/proc");
	for (struct dirent *e; (e = readdir(d));)
		listed |= atoi(e->d_name) == tid;
	closedir(d);
	printf("listed %d\n", listed);
	show("name", pthread_setname_np(t, "worker"));
	show("its comm", text("/proc/self/task/%d/comm", tid, b));
	printf("%s", b);
	show("own comm", text("/proc/%d/comm", getpid(), b));
	printf("%s", b);
	int fd = open("/proc/self/comm", O_WRONLY);
	show("write", write(fd, "a name that is too long\n", 24));
	prctl(PR_GET_NAME, b);
	printf("[%s]\n", b);
	show("write again", write(fd, "x\ny", 3));
	prctl(PR_GET_NAME, b);
	printf("[%s]\n", b);
	show("write nothing", write(fd, "", 0));
	prctl(PR_GET_NAME, b);
	printf("[%s]\n", b);
	close(fd);
	end = 1;
	pthread_join(t, 0);
}

static void others(void) {
	char b[1000];
	int list[] = {1, getppid()};
	for (int i = 0; i < 2; i++) {
		show("signal 0 of another", kill(list[i], 0) < 0 && errno != EPERM);
		show("group", getpgid(list[i]) >= 0);
		show("session", getsid(list[i]) >= 0);
		show("stat", text("/proc/%d/stat", list[i], b) > 0);
		printf("its own %d\n", atoi(b) == list[i]);
		show("comm", text("/proc/%d/comm", list[i], b) > 1);
		show("cmdline", text("/proc/%d/cmdline", list[i], b) >= 0);
		show("status", text("/proc/%d/status", list[i], b) > 0);
		printf("its own %d\n", atoi(strstr(b, "\nPid:") + 5) == list[i]);
		show("cgroup", text("/proc/%d/cgroup", list[i], b) > 0);
	}
	show("nobody", text("/proc/%d/stat", 4000000, b));
}

static void settings(void) {
	char b[100];
	int fd = open("/proc/self/oom_score_adj", O_RDWR);
	show("oom_score_adj", write(fd, "500\n", 4));
	show("too much", write(fd, "1001", 4));
	show("no number", write(fd, "x", 1));
	close(fd);
	text("/proc/self/oom_score_adj", 0, b);
	printf("%s", b);
	if (fork() == 0) {
		text("/proc/self/oom_score_adj", 0, b);
		printf("child: %s", b);
		fflush(stdout);
		_exit(0);
	}
	wait(0);
	show("ns", readlink("/proc/self/ns/pid", b, sizeof b));
	printf("%.5s\n", b);
	show("ns of another thread", readlink("/proc/thread-self/ns/mnt", b, sizeof b));
	struct stat s;
	show("stat ns", stat("/proc/self/ns/net", &s));
	fd = open("/proc/self/ns/uts", O_RDONLY);
	show("open ns", fd);
	show("fstat", fstat(fd, &s));
	printf("%o\n", s.st_mode);
	show("read", read(fd, b, 1));
}

int main(void) {
	setvbuf(stdout, 0, _IOLBF, 0);
	threads();
	others();
	settings();
	return 0;
}

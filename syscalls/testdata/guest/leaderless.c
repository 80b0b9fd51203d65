// A process whose first thread has ended: that is a zombie as long as others live, and what is asked of the process is asked of it.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kcmpFile, kcmpVM };

static int leader;

static void show(const char *what, long r) {
	printf("%s: %ld %s\n", what, r, r < 0 ? strerror(errno) : "");
	fflush(stdout);
}

static void list(const char *path) {
	DIR *d = opendir(path);
	int n = 0;
	while (d && readdir(d))
		n++;
	printf("%s: %d\n", strrchr(path, '/'), n);
	closedir(d);
}

// contents says whether there is something in files of dir.
static void contents(const char *dir) {
	static const char *const names[] = {"maps", "cmdline", "smaps", "numa_maps", "status", "comm", "limits", "exe", "cwd", "root"};
	char path[100], b[300];
	for (int i = 0; i < sizeof names / sizeof *names; i++) {
		sprintf(path, "%s/%s", dir, names[i]);
		int link = readlink(path, b, sizeof b), e = errno, f = open(path, O_RDONLY);
		printf("%s: link %s", names[i], link < 0 ? strerror(e) : "is there");
		printf(", content %s\n", f < 0 ? strerror(errno) : names[i][0] == 'c' && names[i][1] == 'w' || names[i][0] == 'r' ? "dir" : read(f, b, sizeof b) > 0 ? "is there" : "is empty");
		if (f >= 0)
			close(f);
	}
}

static void *rest(void *arg) {
	char dir[64];
	usleep(100000);
	int p = syscall(SYS_pidfd_open, leader, 0), me = syscall(SYS_gettid);
	show("pidfd", p < 0);
	show("pidfd_getfd", syscall(SYS_pidfd_getfd, p, 1, 0));
	show("kcmp leader's files", syscall(SYS_kcmp, leader, leader, kcmpFile, 0, 0));
	show("kcmp leader's files and mine", syscall(SYS_kcmp, me, leader, kcmpFile, 0, 0));
	show("kcmp my files", syscall(SYS_kcmp, me, me, kcmpFile, 0, 0));
	show("kcmp memory", syscall(SYS_kcmp, leader, me, kcmpVM, 0, 0) > 0);
	show("kcmp leader's memory", syscall(SYS_kcmp, leader, leader, kcmpVM, 0, 0));
	show("tgkill", syscall(SYS_tgkill, leader, leader, 0) < 0);
	sprintf(dir, "/proc/%d/task", leader);
	list(dir);
	sprintf(dir, "/proc/%d", leader);
	contents(dir);
	sprintf(dir, "/proc/%d/task/%d", leader, leader);
	contents(dir);
	sprintf(dir, "/proc/%d/task/%d", leader, me);
	contents(dir);
	exit(0);
}

int main(void) {
	pthread_t t;
	if (fork() == 0) {
		leader = getpid();
		pthread_create(&t, 0, rest, 0);
		syscall(SYS_exit, 0);
	}
	wait(0);
	if ((leader = fork()) == 0)
		_exit(0);
	waitid(P_PID, leader, &(siginfo_t){0}, WEXITED | WNOWAIT);
	show("tgkill a zombie", syscall(SYS_tgkill, leader, leader, 0));
	show("with a signal", syscall(SYS_tgkill, leader, leader, SIGTERM));
	show("of another process", syscall(SYS_tgkill, getpid(), leader, 0));
	show("tkill", syscall(SYS_tkill, leader, 0));
	show("kcmp memory", syscall(SYS_kcmp, leader, leader, kcmpVM, 0, 0));
	show("kcmp files", syscall(SYS_kcmp, leader, getpid(), kcmpFile, 0, 0));
	wait(0);
	show("tgkill when it is gone", syscall(SYS_tgkill, leader, leader, 0));
}

// The older and the rarer forms of calls, which C libraries do not use where there are newer ones.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

#define CALL(name, ...) show(#name, syscall(SYS_##name, ##__VA_ARGS__))
#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

static long show(const char *what, long r) {
	printf("%-24s %ld %s\n", what, r, r < 0 ? strerror(errno) : "");
	return r;
}

static struct stat s;

static void files(void) {
	struct utimbuf old = {1000000000, 1000000001};
	struct timeval tv[2] = {{1100000000, 5}, {1100000001, 7}};
	char buf[400];
	int fd = CALL(open, "f.file", O_RDWR | O_CREAT | O_TRUNC, 0640);
	write(fd, "hello", 5);
	CALL(fstat, fd, &s);
	printf("%o %ld\n", s.st_mode, (long)s.st_size);
	CALL(utime, "f.file", &old);
	CALL(stat, "f.file", &s);
	printf("%ld %ld\n", (long)s.st_atime, (long)s.st_mtime);
	CALL(utimes, "f.file", tv);
	CALL(stat, "f.file", &s);
	printf("%ld.%ld\n", (long)s.st_mtime, (long)s.st_mtim.tv_nsec);
	tv[0].tv_sec = 1200000000;
	CALL(futimesat, AT_FDCWD, "f.file", tv);
	CALL(linkat, AT_FDCWD, "f.file", AT_FDCWD, "f.link", 0);
	CALL(symlinkat, "f.file", AT_FDCWD, "f.sym");
	CALL(lstat, "f.sym", &s);
	printf("%o %ld\n", s.st_mode, (long)s.st_size);
	memset(buf, 0, sizeof buf);
	CALL(readlinkat, AT_FDCWD, "f.sym", buf, sizeof buf);
	printf("%s\n", buf);
	CALL(fchmodat, AT_FDCWD, "f.file", 0600);
	CALL(fchmodat2, AT_FDCWD, "f.file", 0604, 0);
	CALL(fchmodat2, AT_FDCWD, "f.file", 0604, 0x8000);
	CALL(faccessat, AT_FDCWD, "f.file", R_OK);
	CALL(faccessat, AT_FDCWD, "f.nothing", R_OK);
	CALL(mkdirat, AT_FDCWD, "f.dir", 0700);
	CALL(renameat, AT_FDCWD, "f.link", AT_FDCWD, "f.dir/moved");
	int d = open("f.dir", O_RDONLY | O_DIRECTORY);
	long n = syscall(SYS_getdents, d, buf, sizeof buf), entries = 0;
	for (long at = 0; at < n; at += *(unsigned short *)(buf + at + 16))
		entries++;
	show("getdents", entries);
	unlink("f.dir/moved");
	rmdir("f.dir");
	unlink("f.sym");
	unlink("f.file");
}

static void waits(void) {
	struct timespec t = {0, 1000};
	struct epoll_event e = {EPOLLIN, {.fd = 7}};
	sigset_t none;
	int p[2];
	sigemptyset(&none);
	CALL(pipe, p);
	CALL(nanosleep, &t, 0);
	int ep = CALL(epoll_create, 1);
	CALL(epoll_create, 0);
	epoll_ctl(ep, EPOLL_CTL_ADD, p[0], &e);
	CALL(epoll_pwait, ep, &e, 1, 0, &none, 8L);
	write(p[1], "x", 1);
	CALL(epoll_pwait2, ep, &e, 1, &t, &none, 8L);
	CALL(eventfd, 3);
	CALL(signalfd, -1, &none, 8L);
	show("inotify_init", syscall(SYS_inotify_init) < 0 ? -1 : 0);
}

static void processes(void) {
	struct utsname u;
	struct rlimit l;
	struct sembuf op = {0, 1, 0};
	uid_t ids[3];
	void *head;
	size_t n;
	int st, child = syscall(SYS_fork);
	if (child == 0)
		_exit(3);
	waitpid(child, &st, 0);
	printf("%x\n", st);
	CALL(uname, &u);
	printf("%s %s\n", u.sysname, u.machine);
	CALL(getrlimit, RLIMIT_CORE + 99, &l);
	CALL(getrlimit, RLIMIT_NOFILE, &l);
	printf("%d\n", l.rlim_cur <= l.rlim_max);
	show("getgroups", syscall(SYS_getgroups, 0, 0) >= 0);
	CALL(getresuid, ids, ids + 1, ids + 2);
	printf("%d\n", ids[0] == getuid() && ids[1] == geteuid());
	CALL(getresgid, ids, ids + 1, ids + 2);
	CALL(sched_get_priority_max, SCHED_FIFO);
	CALL(sched_get_priority_min, SCHED_FIFO);
	CALL(sched_get_priority_max, 99);
	CALL(tkill, (int)syscall(SYS_gettid), 0);
	CALL(tkill, 0, 0);
	CALL(get_robust_list, 0, &head, &n);
	printf("%d\n", (int)n);
	int id = semget(IPC_PRIVATE, 1, 0600);
	CALL(semop, id, &op, 1);
	show("value", semctl(id, 0, GETVAL));
	semctl(id, 0, IPC_RMID);
	fflush(stdout);
	child = fork();
	if (child == 0) {
		char *argv[] = {"true", 0}, *envv[] = {0};
		syscall(SYS_execveat, AT_FDCWD, "/bin/true", argv, envv, 0);
		_exit(9);
	}
	waitpid(child, &st, 0);
	printf("%x\n", st);
	char *argv[] = {"x", 0};
	CALL(execveat, AT_FDCWD, "/nowhere", argv, argv + 1, 0);
	CALL(execveat, AT_FDCWD, "", argv, argv + 1, 0);
	symlink("/bin/true", "f.true");
	CALL(execveat, AT_FDCWD, "f.true", argv, argv + 1, AT_SYMLINK_NOFOLLOW);
	unlink("f.true");
}

int main(void) {
	setvbuf(stdout, 0, _IOLBF, 0);
	files();
	waits();
	processes();
	return 0;
}

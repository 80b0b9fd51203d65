// Corners: which lock F_GETLK tells of, buffers that end within an answer, times far off, what clone(2) and openat2(2) check,
// descriptors of a table that is shared, kcmp(2), and settings of the machine.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KCMP_FILE, KCMP_VM, KCMP_FILES, KCMP_IO = 5, KCMP_SYSVSEM };

static void show(const char *what, long r) { printf("%-34s %ld %s\n", what, r, r < 0 ? strerror(errno) : ""); }

static long lock(int fd, int cmd, int type, off_t start, off_t len) {
	struct flock l = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = len};
	long r = fcntl(fd, cmd, &l);
	if (cmd == F_GETLK)
		printf("type %d from %ld for %ld\n", l.l_type, (long)l.l_start, (long)l.l_len);
	return r;
}

static void locks(void) {
	int fd = open("k.lock", O_RDWR | O_CREAT, 0600);
	show("lock", lock(fd, F_SETLK, F_WRLCK, 20, 5));
	show("lock", lock(fd, F_SETLK, F_RDLCK, 10, 5));
	show("lock", lock(fd, F_SETLK, F_WRLCK, 1, 3));
	show("to the end", lock(fd, F_SETLK, F_WRLCK, 100, 0));
	show("overflow", lock(fd, F_SETLK, F_WRLCK, INT64_MAX, 2));
	show("to the last byte", lock(fd, F_SETLK, F_WRLCK, INT64_MAX, 1));
	show("backwards", lock(fd, F_SETLK, F_WRLCK, 50, -10));
	show("too far back", lock(fd, F_SETLK, F_WRLCK, 5, -10));
	show("negative", lock(fd, F_SETLK, F_WRLCK, -1, 1));
	fflush(stdout);
	if (fork() == 0) {
		int own = open("k.lock", O_RDWR);
		lock(own, F_GETLK, F_WRLCK, 0, 0);
		lock(own, F_GETLK, F_WRLCK, 5, 0);
		lock(own, F_GETLK, F_RDLCK, 5, 0);
		lock(own, F_GETLK, F_WRLCK, 30, 5);
		lock(own, F_GETLK, F_WRLCK, 200, 5);
		_exit(0);
	}
	wait(0);
	unlink("k.lock");
}

static void ends(void) {
	mkdir("k.dir", 0700);
	close(open("k.dir/a", O_CREAT | O_RDWR, 0600));
	close(open("k.dir/b", O_CREAT | O_RDWR, 0600));
	char *m = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(m + 4096, 4096);
	int d = open("k.dir", O_RDONLY | O_DIRECTORY);
	show("nothing fits", syscall(SYS_getdents64, d, m, 8));
	show("memory ends within the second", syscall(SYS_getdents64, d, m + 4096 - 40, 4096));
	show("the rest", syscall(SYS_getdents64, d, m, 4096) > 24);
	show("end", syscall(SYS_getdents64, d, m, 4096));
	unlink("k.dir/a");
	unlink("k.dir/b");
	rmdir("k.dir");
}

static void times(void) {
	struct timespec t[2];
	struct stat s;
	close(open("k.file", O_CREAT | O_RDWR, 0600));
	t[0] = (struct timespec){-1000000000, 1};
	t[1] = (struct timespec){-1000000001, 999999999};
	show("before 1970", utimensat(AT_FDCWD, "k.file", t, 0));
	stat("k.file", &s);
	printf("%ld.%09ld %ld.%09ld\n", s.st_atim.tv_sec, s.st_atim.tv_nsec, s.st_mtim.tv_sec, s.st_mtim.tv_nsec);
	unlink("k.file");
}

static int closes(void *fd) {
	syscall(SYS_close_range, *(int *)fd, *(int *)fd, 2);
	return fcntl(*(int *)fd, F_GETFD) < 0;
}

static void clones(void) {
	static char stack[65536];
	int st, fd = open("/dev/null", O_RDONLY);
	show("close_range", waitpid(clone(closes, stack + sizeof stack, CLONE_FILES | SIGCHLD, &fd), &st, 0) > 0 ? WEXITSTATUS(st) : -1);
	show("still open", fcntl(fd, F_GETFD));
	show("TLS of the kernel's", syscall(SYS_clone, SIGCHLD | CLONE_SETTLS, 0, 0, 0, 1ull << 63));
	show("TLS not canonical", syscall(SYS_clone, SIGCHLD | CLONE_SETTLS, 0, 0, 0, 1ull << 47));
}

static void resolves(void) {
	struct { uint64_t flags, mode, resolve; } how = {O_RDONLY, 0, 2};
	show("magic link", syscall(437, AT_FDCWD, "/proc/self/exe", &how, sizeof how));
	show("in the middle", syscall(437, AT_FDCWD, "/proc/self/cwd/.", &how, sizeof how));
	show("usual link", syscall(437, AT_FDCWD, "/proc/self/status", &how, sizeof how) < 0 ? -1 : 0);
}

static void compares(void) {
	int fd = open("/dev/null", O_RDONLY), two = dup(fd), other = open("/dev/null", O_RDONLY), self = getpid();
	show("same file", syscall(SYS_kcmp, self, self, KCMP_FILE, fd, two));
	show("other file", syscall(SYS_kcmp, self, self, KCMP_FILE, fd, other) > 0);
	show("no file", syscall(SYS_kcmp, self, self, KCMP_FILE, fd, 999));
	show("same memory", syscall(SYS_kcmp, self, self, KCMP_VM, 0, 0));
	show("no process", syscall(SYS_kcmp, self, 4000000, KCMP_VM, 0, 0));
	show("no kind", syscall(SYS_kcmp, self, self, 99, 0, 0));
	int p[2];
	char c;
	pipe(p);
	int child = fork();
	if (child == 0) {
		read(p[0], &c, 1);
		_exit(0);
	}
	show("a child's file", syscall(SYS_kcmp, self, child, KCMP_FILE, fd, fd));
	show("a child's memory", syscall(SYS_kcmp, self, child, KCMP_VM, 0, 0) > 0);
	show("a child's files", syscall(SYS_kcmp, self, child, KCMP_FILES, 0, 0) > 0);
	write(p[1], "x", 1);
	wait(0);
}

// sleeper makes a process that waits to be killed, and may share what this one has.
static int sleeper(int flags) {
	int child = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
	if (child == 0)
		for (;;)
			pause();
	return child;
}

static void kills(int child) {
	kill(child, SIGKILL);
	waitpid(child, 0, 0);
}

static int differ(int a, int b, int what) {
	return syscall(SYS_kcmp, a, b, what, 0, 0) > 0;
}

// undos compares lists of what is undone to semaphores, and sees when it is.
static void undos(void) {
	int self = getpid(), alone = sleeper(0), set = semget(IPC_PRIVATE, 1, 0600);
	struct sembuf up = {0, 3, SEM_UNDO}, none = {0, 0, SEM_UNDO}, one = {0, 1, SEM_UNDO};
	show("no lists", differ(self, alone, KCMP_SYSVSEM));
	show("no semaphores", semop(-1, &none, 1));
	show("still no list", differ(self, alone, KCMP_SYSVSEM));
	show("not there", semop(1 << 30, &none, 1));
	show("a list", differ(self, alone, KCMP_SYSVSEM));
	int shares = sleeper(CLONE_SYSVSEM), other = sleeper(0);
	show("shared", differ(self, shares, KCMP_SYSVSEM));
	show("not shared", differ(self, other, KCMP_SYSVSEM));
	show("no lists of others", differ(alone, other, KCMP_SYSVSEM));
	semop(set, &up, 1);
	show("unshare", unshare(CLONE_SYSVSEM));
	show("not undone", semctl(set, 0, GETVAL));
	show("none again", differ(self, other, KCMP_SYSVSEM));
	show("of the one who shared", differ(self, shares, KCMP_SYSVSEM));
	kills(shares);
	show("undone", semctl(set, 0, GETVAL));
	semop(set, &one, 1);
	show("unshare what is not shared", unshare(CLONE_SYSVSEM));
	show("undone at once", semctl(set, 0, GETVAL));
	kills(sleeper(CLONE_SYSVSEM));
	show("a list for a child that is gone", differ(self, other, KCMP_SYSVSEM));
	semctl(set, 0, IPC_RMID);
	kills(alone);
	kills(other);
}

// priorities compares what ioprio_set(2) makes, and who has it, too.
static void priorities(void) {
	enum { ofThread = 1, idle = 3 << 13, best = 2 << 13 };
	int self = getpid(), before = sleeper(0);
	show("ioprio_set", syscall(SYS_ioprio_set, ofThread, 0, best | 3));
	show("one who has none", differ(self, before, KCMP_IO));
	int own = sleeper(0), shares = sleeper(CLONE_IO);
	show("inherited", differ(self, own, KCMP_IO));
	show("shared", differ(self, shares, KCMP_IO));
	show("ioprio_set", syscall(SYS_ioprio_set, ofThread, shares, idle));
	show("which is that of both", syscall(SYS_ioprio_get, ofThread, self) == idle);
	show("inherited before", syscall(SYS_ioprio_get, ofThread, own) == (best | 3));
	kills(before);
	kills(own);
	kills(shares);
}

static void machine(void) {
	static const char *const files[] = {
		"kernel/tainted", "kernel/shmmax", "kernel/shmall", "kernel/shmmni", "kernel/sem", "kernel/msgmax", "kernel/msgmnb", "kernel/msgmni",
		"kernel/pid_max", "kernel/overflowuid", "kernel/overflowgid", "fs/inotify/max_queued_events",
		"fs/inotify/max_user_instances", "fs/pipe-user-pages-soft", "fs/pipe-user-pages-hard", "fs/file-nr", "fs/aio-max-nr", "fs/epoll/max_user_watches",
		"fs/mqueue/msg_max", "fs/protected_hardlinks", "net/ipv4/ip_forward", "net/ipv4/tcp_rmem", "net/ipv4/tcp_wmem", "net/ipv4/tcp_syncookies",
		"net/ipv4/tcp_fin_timeout", "net/ipv4/tcp_keepalive_time", "net/ipv4/ip_default_ttl", "net/ipv4/tcp_max_syn_backlog", "net/core/netdev_max_backlog",
		"vm/overcommit_kbytes", "vm/max_map_count", "vm/dirty_ratio", "vm/nr_hugepages",
	};
	char path[100], b[100];
	for (int i = 0; i < sizeof files / sizeof *files; i++) {
		snprintf(path, sizeof path, "/proc/sys/%s", files[i]);
		int fd = open(path, O_RDONLY);
		printf("%s %d\n", files[i], fd >= 0 && read(fd, b, sizeof b) > 0);
		close(fd);
	}
	static const char *const net[] = {"snmp", "netstat", "sockstat", "protocols", "raw", "packet", "netlink", "tcp", "route", "dev"};
	for (int i = 0; i < sizeof net / sizeof *net; i++) {
		snprintf(path, sizeof path, "/proc/net/%s", net[i]);
		int fd = open(path, O_RDONLY);
		printf("net/%s %d\n", net[i], fd >= 0 && read(fd, b, sizeof b) > 0);
		close(fd);
	}
}

int main(void) {
	setvbuf(stdout, 0, _IOLBF, 0);
	locks();
	ends();
	times();
	clones();
	resolves();
	compares();
	undos();
	priorities();
	machine();
	return 0;
}

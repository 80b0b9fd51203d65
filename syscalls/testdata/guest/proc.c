// What /proc and /dev tell.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#define R(x) do { errno = 0; long r_ = (long)(x); int e_ = errno; printf("%-60s %ld %s\n", #x, r_, r_ == -1 ? strerror(e_) : ""); } while (0)

static char b[65536], path[200];

static char *slurp(const char *name) {
	int fd = open(name, O_RDONLY), n = 0, r;
	if (fd < 0) return sprintf(b, "%s\n", strerror(errno)), b;
	while ((r = read(fd, b + n, sizeof b - n - 1)) > 0) n += r;
	b[n] = 0;
	close(fd);
	return b;
}

static char *of(int pid, const char *name) {
	sprintf(path, "/proc/%d/%s", pid, name);
	return path;
}

// line prints the line of a file that begins with key.
static void line(int pid, const char *file, const char *key) {
	char *p = slurp(of(pid, file));
	while (p && strncmp(p, key, strlen(key))) p = (p = strchr(p, '\n')) ? p + 1 : 0;
	printf("%.*s\n", p ? (int)strcspn(p, "\n") : 4, p ? p : "none");
}

static char state(int pid) {
	char *p = strrchr(slurp(of(pid, "stat")), ')');
	return p ? p[2] : '-';
}

// field returns field n of stat, from 3 on.
static long field(int pid, int n) {
	char *p = strrchr(slurp(of(pid, "stat")), ')') + 1;
	while (--n > 2) p = strchr(p + 1, ' ');
	return atol(p);
}

static void await(int pid, char want) {
	while (state(pid) != want) usleep(1000);
	printf("state %c\n", want);
}

static void processes(void) {
	int pid, st;
	fflush(stdout);
	if (!(pid = fork())) {
		prctl(PR_SET_NAME, "a (b) c");
		for (;;) pause();
	}
	await(pid, 'S');
	while (strcmp(slurp(of(pid, "comm")), "a (b) c\n")) usleep(1000);
	line(pid, "status", "Name:");
	line(pid, "status", "State:");
	R(field(pid, 4) == getpid());
	R(field(pid, 5) == getpgrp());
	R(field(pid, 6) == getsid(0));
	R(field(pid, 20));
	R(field(pid, 38));
	kill(pid, SIGSTOP);
	await(pid, 'T');
	line(pid, "status", "State:");
	kill(pid, SIGCONT);
	await(pid, 'S');
	kill(pid, SIGKILL);
	await(pid, 'Z');
	line(pid, "status", "State:");
	line(pid, "status", "Threads:");
	line(pid, "status", "VmSize:");
	line(pid, "status", "FDSize:");
	R(strlen(slurp(of(pid, "cmdline"))));
	R(strlen(slurp(of(pid, "maps"))));
	R(readlink(of(pid, "exe"), b, 100));
	R(readlink(of(pid, "cwd"), b, 100));
	R(readlink(of(pid, "root"), b, 100));
	R(access(of(pid, "task"), F_OK));
	R(field(pid, 23));
	R(field(pid, 24));
	R(kill(pid, 0));
	R(waitpid(pid, &st, 0) == pid);
	R(access(of(pid, ""), F_OK));
	R(access(of(pid, "stat"), F_OK));
	if (!(pid = fork())) {
		int child = vfork();
		if (!child) execl("/bin/sleep", "sleep", "100", (char *)0);
		sprintf(path, "%d", child);
		write(1, "", 0);
		waitpid(child, 0, 0);
		_exit(0);
	}
	sprintf(path, "/proc/%d/task/%d/children", pid, pid);
	int child;
	while (!(child = atoi(slurp(path)))) usleep(1000), sprintf(path, "/proc/%d/task/%d/children", pid, pid);
	while (memcmp(slurp(of(child, "cmdline")), "sleep\000100\0", 10)) usleep(1000);
	R(strcmp(slurp(of(child, "comm")), "sleep\n"));
	st = readlink(of(child, "exe"), b, 100);
	R(st > 0 && strstr(b, "bin/"));
	kill(child, SIGKILL);
	waitpid(pid, &st, 0);
	R(WEXITSTATUS(st));
}

static int isNumber(const struct dirent *d) { return d->d_name[0] >= '0' && d->d_name[0] <= '9'; }

static void descriptors(void) {
	struct dirent **names;
	struct stat s, t;
	struct epoll_event ev = {EPOLLIN, {.u64 = 0x1234}};
	int p[2], e = eventfd(7, 0), ep = epoll_create1(EPOLL_CLOEXEC), f, n;
	char file[] = "/tmp/cgemu-procXXXXXX";
	pipe(p);
	epoll_ctl(ep, EPOLL_CTL_ADD, e, &ev);
	close(mkstemp(file));
	f = open(file, O_RDWR | O_APPEND | O_CLOEXEC);
	write(f, "hello", 5);
	n = scandir("/proc/self/fd", &names, isNumber, alphasort);
	R(n > 7);
	sprintf(path, "/proc/self/fd/%d", f);
	n = readlink(path, b, sizeof b), b[n] = 0;
	R(strcmp(b, file));
	R(lstat(path, &s));
	R(s.st_mode);
	R(stat(path, &s) | fstat(f, &t));
	R(s.st_ino == t.st_ino && s.st_size == 5);
	R(open(path, O_RDONLY | O_NOFOLLOW));
	int again = open(path, O_RDONLY);
	R(read(again, b, 100));
	R(chmod(path, 0640));
	R(truncate(path, 3));
	R(fstat(f, &t));
	printf("%o %ld\n", t.st_mode, (long)t.st_size);
	unlink(file);
	R(read(open(path, O_RDONLY), b, 100));
	n = readlink(path, b, sizeof b), b[n] = 0;
	R(strcmp(b + strlen(file), " (deleted)"));
	char info[50];
	sprintf(info, "fdinfo/%d", f), line(getpid(), info, "pos:"), line(getpid(), info, "flags:");
	sprintf(info, "fdinfo/%d", e), line(getpid(), info, "eventfd-count:");
	sprintf(info, "fdinfo/%d", p[1]), line(getpid(), info, "flags:");
	sigset_t usr1;
	sigemptyset(&usr1), sigaddset(&usr1, SIGUSR1);
	sprintf(info, "fdinfo/%d", signalfd(-1, &usr1, 0)), line(getpid(), info, "sigmask:");
	sprintf(path, "/proc/self/fd/%d", p[0]);
	n = readlink(path, b, sizeof b), b[n] = 0;
	printf("%.6s\n", b);
	R(stat(path, &s));
	R(s.st_mode);
	int w = open(path, O_WRONLY);
	R(write(w, "x", 1));
	R(read(p[0], b, 10));
	sprintf(path, "/proc/self/fd/%d/..", f);
	R(open(path, O_RDONLY));
	R(open("/proc/self/fd/99", O_RDONLY));
	R(readlink("/proc/self/fd/99", b, 10));
	R(readlink("/proc/self/fd", b, 10));
	R(unlink("/proc/self/fd/1"));
	R(open("/proc/self/new", O_CREAT | O_RDWR, 0600));
	R(readlink("/proc/self/root", b, 10));
	R(access("/proc/self/root/../etc/passwd", F_OK));
	R(access("/proc/self/task/../../self/stat", F_OK));
	R(access("/proc/../proc/self/stat/x", F_OK));
	R(chdir("/proc/self"));
	R(access("stat", R_OK));
	R(access("../version", R_OK));
	R(chdir("/"));
	n = readlink("/proc/thread-self", b, 100), b[n] = 0;
	sprintf(path, "%d/task/%d", getpid(), getpid());
	R(strcmp(b, path));
}

static void memory(void) {
	char *p = mmap(0, 3 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char *q;
	mprotect(p + 4096, 4096, PROT_NONE);
	for (int i = 0; i < 3; i++) {
		sprintf(path, "%08lx-%08lx ", (long)p + i * 4096, (long)p + (i + 1) * 4096);
		q = strstr(slurp("/proc/self/maps"), path);
		printf("%.4s %d\n", q ? q + strlen(path) : "none", q && memmem(q, strcspn(q, "\n"), "/dev/zero (deleted)", 19));
	}
	R(strstr(slurp("/proc/self/maps"), "[stack]") != 0);
	R(strstr(slurp("/proc/self/smaps"), "Size:                  4 kB") != 0);
	R(strstr(slurp("/proc/self/smaps"), "VmFlags:") != 0);
	R(strstr(slurp("/proc/self/limits"), "Max open files") != 0);
	line(getpid(), "status", "Threads:");
	line(getpid(), "status", "TracerPid:");
	R(strstr(slurp("/proc/filesystems"), "nodev\tproc\n") != 0);
	R(strstr(slurp("/proc/mounts"), " /proc proc ") != 0);
	R(strncmp(slurp("/proc/swaps"), "Filename", 8));
	R(strncmp(slurp("/proc/partitions"), "major minor  #blocks  name\n\n", 28));
	R(strncmp(slurp("/proc/sysvipc/shm"), "       key      shmid perms                  size  cpid  lpid nattch ", 68));
	R(strncmp(slurp("/proc/version"), "Linux version ", 14));
	R(strncmp(slurp("/sys/devices/system/cpu/online"), "0", 1));
	R(slurp("/sys/devices/system/cpu/cpu0/topology/core_id")[0]);
}

static void devices(void) {
	struct stat s;
	static const char *names[] = {"null", "zero", "full", "random", "urandom", "tty", "ptmx"};
	for (int i = 0; i < 7; i++) {
		sprintf(path, "/dev/%s", names[i]);
		R(stat(path, &s));
		printf("%s %o %lx %ld\n", names[i], s.st_mode, (long)s.st_rdev, (long)s.st_size);
	}
	int null = open("/dev/null", O_RDWR), zero = open("/dev/zero", O_RDWR), full = open("/dev/full", O_RDWR | O_TRUNC | O_CREAT, 0600);
	memset(b, 'x', 100);
	R(write(null, "hello", 5));
	R(read(null, b, 5));
	R(lseek(null, 100, SEEK_SET));
	R(write(zero, "hello", 5));
	R(read(zero, b, 50));
	printf("%d %d\n", b[49], b[50]);
	R(pread(zero, b, 5, 100));
	R(write(full, "hello", 5));
	R(write(full, "", 0));
	R(read(full, b, 60));
	R(b[59]);
	R(ftruncate(null, 0));
	R(fcntl(full, F_GETFL));
	R(ioctl(null, 0x5401, b));
	R(write(null, (void *)8, 5));
	R(read(zero, (void *)8, 5));
	char *m = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, zero, 0);
	R(m != MAP_FAILED && *m == 0);
	R((long)mmap(0, 4096, PROT_READ, MAP_PRIVATE, null, 0));
	int ep = epoll_create1(0);
	struct epoll_event ev = {EPOLLIN};
	R(epoll_ctl(ep, EPOLL_CTL_ADD, null, &ev));
	R(open("/dev/null", O_CREAT | O_EXCL | O_RDWR, 0600));
	R(open("/dev/null", O_DIRECTORY));
	R(open("/dev/null/x", O_RDONLY));
	R(open("/dev/pts/99999", O_RDONLY));
	R(readlink("/dev/fd", b, 100));
	R(readlink("/dev/stdin", b, 100));
	R(chdir("/dev"));
	R(access("null", R_OK | W_OK));
	R(access("fd/0", F_OK));
	R(access("./pts/../zero", F_OK));
}

static dev_t deviceOf(const char *path) {
	struct stat st;
	if (stat(path, &st)) return printf("%s: %s\n", path, strerror(errno));
	return st.st_dev;
}

static dev_t deviceIs(int fd) {
	struct stat st;
	fstat(fd, &st);
	return st.st_dev;
}

// fileSystems tells which files are on one device, as find -xdev and mountpoint(1) ask.
static void fileSystems(void) {
	dev_t root = deviceOf("/"), proc = deviceOf("/proc"), sys = deviceOf("/sys"), pts = deviceOf("/dev/pts");
	printf("root %d %d %d, %d %d %d\n", root == proc, root == sys, root == pts, proc == sys, proc == pts, sys == pts);
	printf("within %d %d %d %d\n", proc == deviceOf("/proc/self/status"), proc == deviceOf("/proc/sys/kernel"), sys == deviceOf("/sys/devices"),
	       proc == deviceOf("/proc/self/fd"));
	printf("out of %d %d\n", root == deviceOf("/proc/.."), root == deviceOf("/proc/self/root"));
	int p[2], q[2], s[2], e = eventfd(0, 0), f = epoll_create1(0), master = posix_openpt(O_RDWR | O_NOCTTY);
	unlockpt(master);
	pipe(p), pipe(q), socketpair(AF_UNIX, SOCK_STREAM, 0, s);
	dev_t pipes = deviceIs(p[0]), sockets = deviceIs(s[0]), anonymous = deviceIs(e);
	printf("pipe %d %d %d, socket %d %d, others %d %d\n", pipes == deviceIs(q[1]), pipes == root, pipes == sockets, sockets == deviceIs(s[1]),
	       sockets == root, anonymous == deviceIs(f), anonymous == pipes);
	printf("terminal %d\n", pts == deviceIs(open(ptsname(master), O_RDWR | O_NOCTTY)));
	char path[64];
	sprintf(path, "/proc/self/fd/%d", p[0]);
	printf("link %d\n", pipes == deviceOf(path));
	unsigned sx[64]; // struct statx, which musl has not got yet; stx_dev_major is at 136
	syscall(SYS_statx, AT_FDCWD, "/proc", 0, 0x7ff, sx);
	printf("statx %d\n", makedev(sx[34], sx[35]) == proc);
	unsigned id, up, major, minor;
	FILE *mounts = fopen("/proc/self/mountinfo", "r");
	for (char line[1024]; fgets(line, sizeof line, mounts);)
		if (sscanf(line, "%u %u %u:%u %*s %63s", &id, &up, &major, &minor, path) == 5 && !strcmp(path, "/proc"))
			printf("mountinfo %d\n", makedev(major, minor) == proc);
	fclose(mounts);
}

int main(void) {
	setvbuf(stdout, 0, _IONBF, 0);
	umask(022);
	processes();
	descriptors();
	memory();
	devices();
	fileSystems();
	return 0;
}

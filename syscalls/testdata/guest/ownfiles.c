// Threads with descriptors, a working directory and an umask of their own: clone(2) without CLONE_FILES or CLONE_FS, unshare(2) in a
// process with threads, close_range(2), and what end and execve(2) make of them.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define R(x) do { errno = 0; long r_ = (long)(x); int e_ = errno; printf("%-60s %ld %s\n", #x, r_, r_ == -1 ? strerror(e_) : ""); } while (0)
#define FUTEX_WAIT 0
#define KCMP_VM 1
#define KCMP_FILES 2
#define KCMP_FS 3
#undef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE 2
#define THREAD (CLONE_VM | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID)

static char stack[65536] __attribute__((aligned(16)));
static volatile int running;
static int fd, mine, self;

static void where(const char *who) {
	char dir[PATH_MAX];
	printf("%s: %s, umask %03o, open: %d %d\n", who, getcwd(dir, sizeof dir), umask(022), fcntl(fd, F_GETFD) >= 0, fcntl(mine, F_GETFD) >= 0);
	umask(022);
}

static int listed(const char *dir) {
	DIR *d = opendir(dir);
	int n = 0;
	if (!d)
		return -1;
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

// shown prints what /proc says of a thread and of its process.
static void shown(void) {
	char link[64], to[PATH_MAX] = "";
	snprintf(link, sizeof link, "/proc/self/task/%d/cwd", (int)syscall(SYS_gettid));
	R(readlink(link, to, sizeof to));
	printf("%s\n", to);
	memset(to, 0, sizeof to);
	R(readlink("/proc/self/cwd", to, sizeof to));
	printf("%s\n", to);
	memset(to, 0, sizeof to);
	R(readlink("/proc/thread-self/cwd", to, sizeof to));
	printf("%s\n", to);
	printf("%d more here\n", listed("/proc/thread-self/fd") - listed("/proc/self/fd"));
	printf("kcmp %d %d %d\n", syscall(SYS_kcmp, self, syscall(SYS_gettid), KCMP_FILES, 0, 0) != 0,
		syscall(SYS_kcmp, self, syscall(SYS_gettid), KCMP_FS, 0, 0) != 0, syscall(SYS_kcmp, self, syscall(SYS_gettid), KCMP_VM, 0, 0) != 0);
}

static int body(void *arg) {
	where("the thread begins");
	close(fd);
	mine = dup2(1, 30);
	chdir("/usr");
	umask(077);
	shown();
	printf("the thread: %d %d\n", fcntl(fd, F_GETFD), fcntl(mine, F_GETFD));
	syscall(SYS_exit, 0);
	return 0;
}

static void try(int flags) {
	printf("-- clone %x\n", flags);
	chdir("/");
	umask(022);
	close(30);
	fd = open("/dev/null", O_RDONLY);
	mine = 30;
	running = 1;
	if (clone(body, stack + sizeof stack, THREAD | flags, 0, 0, 0, &running) < 0) {
		printf("%s\n", strerror(errno));
		return;
	}
	int tid;
	while ((tid = running))
		syscall(SYS_futex, &running, FUTEX_WAIT, tid, 0, 0, 0);
	char dir[PATH_MAX];
	printf("afterwards: %s, umask %03o, %d %d\n", getcwd(dir, sizeof dir), umask(022), fcntl(fd, F_GETFD), fcntl(30, F_GETFD));
	close(fd);
}

static int pipes[2];

static void *unsharing(void *arg) {
	R(unshare(CLONE_FILES));
	close(pipes[1]);
	R(fcntl(pipes[1], F_GETFD));
	R(unshare(CLONE_FS));
	chdir("/usr");
	R(unshare(CLONE_SYSVSEM));
	R(unshare(CLONE_VM));
	R(unshare(CLONE_SIGHAND));
	R(unshare(CLONE_THREAD));
	// Its child has what it has.
	fflush(stdout);
	pid_t p = fork();
	if (!p) {
		where("the thread's child");
		R(fcntl(pipes[1], F_GETFD));
		fflush(stdout);
		_exit(0);
	}
	waitpid(p, 0, 0);
	return 0;
}

static void *ranges(void *arg) {
	R(syscall(SYS_close_range, pipes[0], ~0u, CLOSE_RANGE_UNSHARE));
	R(fcntl(pipes[0], F_GETFD));
	return 0;
}

// holds keeps a pipe's end open in a table of its own until it ends.
static pthread_barrier_t both;

static void *holds(void *arg) {
	unshare(CLONE_FILES);
	pthread_barrier_wait(&both);
	pthread_barrier_wait(&both);
	return 0;
}

static void *executes(void *arg) {
	unshare(CLONE_FILES | CLONE_FS);
	chdir("/usr");
	dup2(1, 40);
	pthread_barrier_wait(&both);
	pthread_barrier_wait(&both);
	execl("/proc/self/exe", "ownfiles", "again", NULL);
	return 0;
}

static void *sleeps(void *arg) {
	pause();
	return 0;
}

int main(int argc, char **argv) {
	pthread_t t;
	char c;
	setvbuf(stdout, 0, _IONBF, 0);
	self = getpid();
	if (argc > 1) {
		mine = 40;
		fd = 41;
		where("the new program");
		printf("%d\n", fcntl(50, F_GETFD));
		return 0;
	}
	try(CLONE_FILES | CLONE_FS);
	try(CLONE_FILES);
	try(CLONE_FS);
	try(0);

	printf("-- unshare\n");
	chdir("/");
	pipe(pipes);
	pthread_create(&t, 0, unsharing, 0);
	pthread_join(t, 0);
	fd = pipes[0], mine = pipes[1];
	where("the process");
	pthread_create(&t, 0, ranges, 0);
	pthread_join(t, 0);
	where("the process");

	printf("-- the end of a pipe\n");
	pthread_barrier_init(&both, 0, 2);
	pthread_create(&t, 0, holds, 0);
	pthread_barrier_wait(&both);
	close(pipes[1]);
	fcntl(pipes[0], F_SETFL, O_NONBLOCK);
	R(read(pipes[0], &c, 1));
	pthread_barrier_wait(&both);
	pthread_join(t, 0);
	usleep(20000); // it is joined before its descriptors are closed
	R(read(pipes[0], &c, 1));

	printf("-- locks\n");
	char name[] = "/tmp/ownfilesXXXXXX";
	fd = mkstemp(name);
	struct flock l = {F_WRLCK}, q = {F_WRLCK};
	R(fcntl(fd, F_SETLK, &l));
	unlink(name);

	printf("-- execve\n");
	fflush(stdout);
	pid_t p = fork();
	if (!p) {
		pthread_create(&t, 0, sleeps, 0);
		dup2(1, 50);
		pthread_create(&t, 0, executes, 0);
		pthread_barrier_wait(&both);
		close(50);
		dup2(1, 41);
		pthread_barrier_wait(&both);
		for (;;)
			pause();
	}
	waitpid(p, 0, 0);

	printf("-- a leader that ends first\n");
	p = fork();
	if (!p) {
		pthread_create(&t, 0, sleeps, 0);
		alarm(10);
		syscall(SYS_exit, 0);
	}
	usleep(50000);
	char dir[64], to[PATH_MAX];
	snprintf(dir, sizeof dir, "/proc/%d/fd", p);
	R(listed(dir));
	snprintf(dir, sizeof dir, "/proc/%d/cwd", p);
	R(readlink(dir, to, sizeof to));
	kill(p, SIGKILL);
	waitpid(p, 0, 0);
	return 0;
}

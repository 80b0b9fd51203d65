// Record locks between processes.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

static int fd;

static int lk(int cmd, int type, long start, long len) {
	struct flock l = {type, SEEK_SET, start, len, 0};
	return fcntl(fd, cmd, &l);
}

static void try(const char *what, int r) {
	printf("%s %d", what, r);
	if (r < 0) printf(" %s", errno == EAGAIN || errno == EACCES ? "busy" : strerror(errno));
	printf("\n");
	fflush(stdout);
}

static void get(const char *what, int cmd, int type, long start, long len) {
	struct flock l = {type, SEEK_SET, start, len, 0};
	int r = fcntl(fd, cmd, &l);
	printf("%s %d type %d at %ld %ld whose %d\n", what, r, l.l_type, l.l_start, l.l_len, l.l_pid == getppid() ? 1 : (int)l.l_pid);
	fflush(stdout);
}

static int child(void) {
	fflush(stdout);
	return fork();
}

// merging locks what lies beside or over what is locked, which is one lock, then, if both are of one type.
static void merging(void) {
	int st;
	try("first", lk(F_SETLK, F_WRLCK, 0, 10));
	try("beside", lk(F_SETLK, F_WRLCK, 10, 10));
	try("other type", lk(F_SETLK, F_RDLCK, 20, 5));
	try("within", lk(F_SETLK, F_WRLCK, 15, 3));
	if (!child()) {
		get("all", F_GETLK, F_WRLCK, 0, 0);
		get("part", F_GETLK, F_WRLCK, 12, 1);
		get("read", F_GETLK, F_RDLCK, 20, 0);
		_exit(0);
	}
	wait(&st);
	try("between", lk(F_SETLK, F_UNLCK, 5, 5));
	try("behind", lk(F_SETLK, F_RDLCK, 25, 0));
	if (!child()) {
		get("all", F_GETLK, F_WRLCK, 0, 0);
		get("behind", F_GETLK, F_WRLCK, 6, 0);
		get("end", F_GETLK, F_WRLCK, 1000, 1);
		_exit(0);
	}
	wait(&st);
	try("all", lk(F_SETLK, F_RDLCK, 0, 0));
	if (!child())
		get("all", F_GETLK, F_WRLCK, 50, 1), _exit(0);
	wait(&st);
	lk(F_SETLK, F_UNLCK, 0, 0);
}

// pathOnly closes a descriptor of O_PATH, with which no lock goes.
static void pathOnly(const char *path) {
	int st;
	lk(F_SETLK, F_WRLCK, 0, 10);
	close(open(path, O_PATH));
	if (!child())
		get("path only", F_GETLK, F_WRLCK, 0, 0), _exit(0);
	wait(&st);
	lk(F_SETLK, F_UNLCK, 0, 0);
}

static void *waiter(void *other) {
	struct flock l = {F_WRLCK, SEEK_SET, 0, 10, 0};
	printf("waited %d\n", fcntl(*(int *)other, F_OFD_SETLKW, &l) ? errno : 0);
	return 0;
}

// ofdWaits waits for an OFD lock while the process itself has what it meets, which is no deadlock.
static void ofdWaits(const char *path) {
	int other = open(path, O_RDWR);
	pthread_t thread;
	lk(F_SETLK, F_WRLCK, 0, 10);
	pthread_create(&thread, 0, waiter, &other);
	usleep(100000);
	printf("unlocking\n");
	lk(F_SETLK, F_UNLCK, 0, 0);
	pthread_join(thread, 0);
	try("held", lk(F_SETLK, F_WRLCK, 5, 1));
	close(other);
	try("closed", lk(F_SETLK, F_WRLCK, 5, 1));
	lk(F_SETLK, F_UNLCK, 0, 0);
}

int main(void) {
	char path[] = "/tmp/cgemu-locksXXXXXX", c;
	int st, pid, p[2], q[2];
	fd = mkstemp(path);
	write(fd, "0123456789", 10);
	pipe(p);
	pipe(q);
	try("write lock", lk(F_SETLK, F_WRLCK, 10, 10));
	try("again", lk(F_SETLK, F_WRLCK, 15, 10));
	try("read lock", lk(F_SETLK, F_RDLCK, 100, 0));
	if (!(pid = child())) {
		try("inside", lk(F_SETLK, F_WRLCK, 12, 1));
		try("read inside", lk(F_SETLK, F_RDLCK, 24, 1));
		try("beside", lk(F_SETLK, F_WRLCK, 25, 10));
		try("read read", lk(F_SETLK, F_RDLCK, 1000, 10));
		try("write read", lk(F_SETLK, F_WRLCK, 1000, 10));
		get("get", F_GETLK, F_WRLCK, 100, 1);
		get("get free", F_GETLK, F_WRLCK, 40, 1);
		write(p[1], "x", 1);
		try("wait", lk(F_SETLKW, F_WRLCK, 10, 15));
		_exit(0);
	}
	read(p[0], &c, 1);
	usleep(200000);
	printf("unlock part\n");
	lk(F_SETLK, F_UNLCK, 10, 5);
	usleep(200000);
	printf("unlock rest\n");
	fflush(stdout);
	lk(F_SETLK, F_UNLCK, 15, 10);
	waitpid(pid, &st, 0);
	// Closing any descriptor of the file drops all locks.
	try("lock", lk(F_SETLK, F_WRLCK, 0, 0));
	close(dup(fd));
	if (!(pid = child())) try("dropped", lk(F_SETLK, F_WRLCK, 0, 0)), _exit(0);
	waitpid(pid, &st, 0);
	try("died", lk(F_SETLK, F_WRLCK, 0, 0));
	// Each waits for the other.
	lk(F_SETLK, F_UNLCK, 0, 0);
	lk(F_SETLK, F_WRLCK, 0, 1);
	if (!(pid = child())) {
		lk(F_SETLK, F_WRLCK, 1, 1);
		write(p[1], "x", 1);
		int r = lk(F_SETLKW, F_WRLCK, 0, 1);
		_exit(r == 0 ? 1 : 2);
	}
	read(p[0], &c, 1);
	usleep(200000);
	try("deadlock", lk(F_SETLKW, F_WRLCK, 1, 1));
	lk(F_SETLK, F_UNLCK, 0, 1);
	waitpid(pid, &st, 0);
	printf("child %d\n", WEXITSTATUS(st));
	// Locks of open files are shared by whoever has the file.
	try("ofd", lk(F_OFD_SETLK, F_WRLCK, 0, 0));
	int other = open(path, O_RDWR), mine = fd;
	if (!(pid = child())) {
		try("same file", lk(F_OFD_SETLK, F_WRLCK, 0, 0));
		fd = other;
		try("other file", lk(F_OFD_SETLK, F_WRLCK, 0, 0));
		get("get", F_OFD_GETLK, F_RDLCK, 3, 4);
		_exit(0);
	}
	waitpid(pid, &st, 0);
	fd = other;
	try("still", lk(F_OFD_SETLK, F_RDLCK, 0, 0));
	close(mine);
	try("closed", lk(F_OFD_SETLK, F_RDLCK, 0, 0));
	// flock: of the open file, too.
	int f1 = open(path, O_RDONLY), f2 = open(path, O_RDONLY);
	printf("flock %d", flock(f1, LOCK_EX));
	printf(" %d %d\n", flock(f2, LOCK_EX | LOCK_NB), errno == EWOULDBLOCK);
	if (!(pid = child())) flock(f1, LOCK_UN), _exit(0);
	waitpid(pid, &st, 0);
	printf("flock %d\n", flock(f2, LOCK_EX | LOCK_NB));
	lk(F_OFD_SETLK, F_UNLCK, 0, 0);
	merging();
	pathOnly(path);
	ofdWaits(path);
	unlink(path);
	return 0;
}

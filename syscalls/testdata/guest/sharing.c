// What parent and child share, and what each has for itself: memory, files, pipes.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int data = 1, bss;

static int child(void) {
	fflush(stdout);
	return fork();
}

static int end(int pid) {
	int st = -1;
	waitpid(pid, &st, 0);
	return WIFEXITED(st) ? WEXITSTATUS(st) : -WTERMSIG(st);
}

static void *map(int prot, int flags, int fd) { return mmap(0, 65536, prot, flags, fd, 0); }

static void memory(void) {
	char path[] = "/tmp/cgemu-shareXXXXXX";
	int fd = mkstemp(path), pid;
	unlink(path);
	ftruncate(fd, 65536);
	pwrite(fd, "file", 4, 0);
	pwrite(fd, "more", 4, 8192);
	char *sh = map(3, MAP_SHARED | MAP_ANONYMOUS, -1), *pr = map(3, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	char *fs = map(3, MAP_SHARED, fd), *fp = map(3, MAP_PRIVATE, fd), *none = map(3, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	char *ro = map(3, MAP_PRIVATE | MAP_ANONYMOUS, -1), *heap = malloc(100), stack[100] = "stack";
	strcpy(sh, "shared");
	strcpy(pr, "private");
	strcpy(fp, "copy");
	strcpy(none, "hidden");
	strcpy(ro, "read only");
	strcpy(heap, "heap");
	mprotect(none, 65536, PROT_NONE);
	mprotect(ro, 65536, PROT_READ);
	bss = 2;
	int to[2], from[2];
	char c;
	pipe(to);
	pipe(from);
	if (!(pid = child())) {
		printf("child %s %s %s %s %s %s %s %d %d\n", sh, pr, fs, fp, ro, heap, stack, data, bss);
		printf("more %s\n", fp + 8192);
		mprotect(none, 65536, PROT_READ);
		printf("none %s\n", none);
		strcpy(sh, "SHARED");
		strcpy(sh + 40000, "far");
		strcpy(pr, "PRIVATE");
		strcpy(fs, "FILE");
		strcpy(fp, "COPY");
		strcpy(heap, "HEAP");
		strcpy(stack, "STACK");
		data = bss = 9;
		fflush(stdout);
		write(from[1], "x", 1);
		read(to[0], &c, 1);
		printf("later %s %s %s %s %d\n", sh, pr, heap, fp + 8192, data);
		fflush(stdout);
		strcpy(ro, "fault");
		_exit(0);
	}
	read(from[0], &c, 1);
	printf("parent %s %s %s %s %s %s %s %d %d\n", sh, sh + 40000, pr, fs, fp, heap, stack, data, bss);
	strcpy(sh, "again");
	strcpy(pr, "own");
	strcpy(fs + 8192, "late");
	write(to[1], "x", 1);
	printf("end %d\n", end(pid));
	// MAP_SHARED across two generations, and unmapped in one of them.
	if (!(pid = child())) {
		if (!fork()) strcpy(sh, "grandchild"), munmap(sh, 65536), _exit(0);
		wait(0);
		_exit(0);
	}
	end(pid);
	printf("%s\n", sh);
	sem_t *sem = (sem_t *)(sh + 4096);
	sem_init(sem, 1, 0);
	if (!(pid = child())) {
		for (int i = 0; i < 3; i++) sem_wait(sem);
		_exit(5);
	}
	for (int i = 0; i < 3; i++) sem_post(sem);
	printf("semaphore %d\n", end(pid));
	// A mutex whose owner dies.
	pthread_mutex_t *m = (pthread_mutex_t *)(sh + 8192);
	pthread_mutexattr_t at;
	pthread_mutexattr_init(&at);
	pthread_mutexattr_setpshared(&at, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&at, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(m, &at);
	if (!(pid = child())) pthread_mutex_lock(m), _exit(0);
	end(pid);
	printf("robust %d\n", pthread_mutex_lock(m) == EOWNERDEAD);
}

static void files(void) {
	char path[] = "/tmp/cgemu-shareXXXXXX", b[20] = "";
	int fd = mkstemp(path), pid;
	write(fd, "0123456789", 10);
	lseek(fd, 0, SEEK_SET);
	if (!(pid = child())) {
		read(fd, b, 3);
		fcntl(fd, F_SETFL, O_APPEND);
		close(0);
		_exit(0);
	}
	end(pid);
	read(fd, b, 3);
	printf("offset %s append %d stdin %d\n", b, !!(fcntl(fd, F_GETFL) & O_APPEND), fcntl(0, F_GETFD));
	if (!(pid = child())) {
		int n = open(path, O_RDONLY);
		printf("new %d\n", n > fd);
		close(n);
		close(fd);
		printf("closed %d\n", fcntl(fd, F_GETFD));
		fflush(stdout);
		_exit(0);
	}
	end(pid);
	printf("open %d\n", fcntl(fd, F_GETFD));
	unlink(path);
}

static void pipes(void) {
	int p[2], q[2], pid, n, total = 0;
	char b[4096], *big = calloc(1, 300000);
	pipe(p);
	if (!(pid = child())) {
		close(p[0]);
		for (int i = 0; i < 5; i++) dprintf(p[1], "line %d\n", i), usleep(1000);
		write(p[1], big, 300000);
		_exit(0);
	}
	close(p[1]);
	while ((n = read(p[0], b, sizeof b)) > 0) total += n;
	printf("read %d end %d\n", total, n);
	printf("status %d\n", end(pid));
	close(p[0]);
	// Nobody reads.
	pipe(p);
	if (!(pid = child())) {
		close(p[0]);
		sleep(1);
		write(p[1], "x", 1);
		_exit(0);
	}
	close(p[0]);
	close(p[1]);
	printf("sigpipe %d\n", end(pid));
	pipe(p);
	if (!(pid = child())) {
		signal(SIGPIPE, SIG_IGN);
		close(p[0]);
		sleep(1);
		n = write(p[1], "x", 1);
		_exit(n == -1 && errno == EPIPE ? 6 : 0);
	}
	close(p[0]);
	close(p[1]);
	printf("epipe %d\n", end(pid));
	// The last writer is a grandchild.
	pipe(p);
	if (!(pid = child())) {
		close(p[0]);
		if (!fork()) usleep(5000), write(p[1], "g", 1), _exit(0);
		_exit(0);
	}
	close(p[1]);
	end(pid);
	n = read(p[0], b, 10);
	printf("grandchild %d %c", n, b[0]);
	printf(" end %d\n", (int)read(p[0], b, 10));
	// There and back.
	pipe(p);
	pipe(q);
	if (!(pid = child())) {
		close(p[1]);
		close(q[0]);
		while (read(p[0], &n, 4) == 4) n *= 2, write(q[1], &n, 4);
		_exit(0);
	}
	close(p[0]);
	close(q[1]);
	for (int i = total = 0; i < 100; i++) {
		write(p[1], &i, 4);
		read(q[0], &n, 4);
		total += n;
	}
	close(p[1]);
	printf("echo %d %d\n", total, end(pid));
	int s[2];
	socketpair(AF_UNIX, SOCK_STREAM, 0, s);
	if (!(pid = child())) {
		close(s[0]);
		n = read(s[1], b, 10);
		write(s[1], b, n);
		_exit(n);
	}
	close(s[1]);
	write(s[0], "socket", 6);
	memset(b, 0, 10);
	n = read(s[0], b, 10);
	printf("socket %d %s", n, b);
	printf(" %d", end(pid));
	printf(" %d\n", (int)read(s[0], b, 10));
	pipe(p);
	if (!(pid = child())) usleep(20000), _exit(0);
	close(p[1]);
	struct pollfd f = {p[0], POLLIN, 0};
	poll(&f, 1, -1);
	printf("poll %x\n", f.revents);
	end(pid);
}

static void *lives(void *x) {
	for (;;) pause();
}

static void threads(void) {
	pthread_t t;
	int pid;
	pthread_create(&t, 0, lives, 0);
	if (!(pid = child())) {
		// Only the thread that forked is there, and it can make others.
		pthread_create(&t, 0, lives, 0);
		pthread_cancel(t);
		_exit(pthread_join(t, 0) ? 1 : 8);
	}
	printf("threads %d\n", end(pid));
	if (!(pid = child())) {
		pthread_create(&t, 0, lives, 0);
		raise(SIGTERM);
	}
	printf("all die %d\n", end(pid));
}

int main(void) {
	memory();
	files();
	pipes();
	threads();
	return 0;
}

// Limits of resources that act: RLIMIT_FSIZE, RLIMIT_AS, RLIMIT_DATA, RLIMIT_NPROC.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef FALLOC_FL_ZERO_RANGE
#define FALLOC_FL_ZERO_RANGE 0x10 // which not every C library has
#endif
#define R(x) do { errno = 0; long r_ = (long)(x); int e_ = errno; printf("%-70s %ld %s\n", #x, r_, r_ == -1 ? strerror(e_) : ""); } while (0)
#define OK(x) do { errno = 0; int r_ = (x); int e_ = errno; printf("%-70s %s\n", #x, r_ ? "yes" : strerror(e_)); } while (0)

static int caught;

static void count(int sig, siginfo_t *info, void *uc) {
	caught++;
	printf("signal %d, code %d, own %d\n", sig, info->si_code, info->si_pid == getpid());
}

static void limit(int res, rlim_t cur) {
	struct rlimit l;
	getrlimit(res, &l);
	l.rlim_cur = cur;
	setrlimit(res, &l);
}

static int status(pid_t p) {
	int st = -1;
	waitpid(p, &st, 0);
	return st;
}

static void files(void) {
	char name[] = "/tmp/limitsXXXXXX", buf[300] = "";
	struct sigaction sa = {.sa_sigaction = count, .sa_flags = SA_SIGINFO};
	struct iovec v[2] = {{buf, 60}, {buf, 60}};
	int fd = mkstemp(name), zero = open("/dev/zero", O_RDONLY), p[2];
	sigaction(SIGXFSZ, &sa, 0);
	limit(RLIMIT_FSIZE, 100);
	R(write(fd, buf, 60));
	R(write(fd, buf, 60)); // what there is room for
	R(write(fd, buf, 60));
	R(write(fd, buf, 0));
	R(pwrite(fd, buf, 60, 99));
	R(pwrite(fd, buf, 60, 100));
	R(lseek(fd, 0, SEEK_SET));
	R(writev(fd, v, 2));
	R(ftruncate(fd, 100));
	R(ftruncate(fd, 101));
	R(truncate(name, 101));
	R(truncate(name, 10));
	R(fallocate(fd, 0, 0, 101));
	R(fallocate(fd, 0x40, 0, 101)); // FALLOC_FL_UNSHARE_RANGE
	// Memory that is reserved counts, and what a tmpfs cannot do it says first.
	int memory = memfd_create("memory", 0);
	R(fallocate(memory, FALLOC_FL_KEEP_SIZE, 0, 101));
	R(fallocate(memory, FALLOC_FL_KEEP_SIZE, 0, 1l << 62));
	R(fallocate(memory, FALLOC_FL_KEEP_SIZE, 0, 100));
	R(fallocate(memory, FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE, 0, 101));
	R(fallocate(memory, FALLOC_FL_ZERO_RANGE, 0, 101));
	R(fallocate(memory, 0, 0, 101));
	close(memory);
	// FALLOC_FL_COLLAPSE_RANGE and FALLOC_FL_INSERT_RANGE: what is wrong depends on the file system, but it is not the limit.
	R(fallocate(fd, 8, 1000, 101) == -1 && errno != EFBIG);
	R(fallocate(fd, 32, 1000, 101) == -1 && errno != EFBIG);
	R(lseek(fd, 100, SEEK_SET));
	R(sendfile(fd, zero, 0, 60));
	R(fcntl(fd, F_SETFL, O_APPEND));
	R(lseek(fd, 0, SEEK_SET));
	R(write(fd, buf, 60));
	pipe(p);
	R(write(p[1], buf, 300)); // no file
	R(write(open("/dev/null", O_WRONLY), buf, 300));
	limit(RLIMIT_FSIZE, 50); // what is longer already may be changed below
	R(fcntl(fd, F_SETFL, 0));
	R(ftruncate(fd, 60));
	R(ftruncate(fd, 70));
	R(pwrite(fd, buf, 60, 0));
	if (fork() == 0) {
		signal(SIGXFSZ, SIG_DFL);
		pwrite(fd, buf, 60, 60);
		_exit(0);
	}
	printf("%d\n", WTERMSIG(status(-1)));
	printf("%d caught\n", caught);
	loff_t from = 0, behind = 100, end = 1000;
	R(syscall(SYS_copy_file_range, fd, &from, fd, &behind, 0, 0));
	R(syscall(SYS_copy_file_range, fd, &end, fd, &behind, 10, 0));
	R(syscall(SYS_copy_file_range, fd, &from, fd, &behind, 1000, 0));
	R(syscall(SYS_copy_file_range, fd, &end, fd, &from, 10, 0));
	limit(RLIMIT_FSIZE, RLIM_INFINITY);
	R(write(fd, buf, 300));
	unlink(name);
}

static void space(char *self) {
	enum { mib = 1 << 20 };
	limit(RLIMIT_AS, 200 * mib);
	char *a, *b;
	OK((a = mmap(0, 100 * mib, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) != MAP_FAILED);
	OK(mmap(0, 100 * mib, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
	OK(mmap(a, 100 * mib, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == a); // it takes no more
	OK(mremap(a, 100 * mib, 250 * mib, MREMAP_MAYMOVE) != MAP_FAILED);
	OK((b = mremap(a, 100 * mib, 120 * mib, MREMAP_MAYMOVE)) != MAP_FAILED);
	OK(syscall(SYS_brk, (char *)sbrk(0) + 100 * mib) == (long)sbrk(0));
	OK(malloc(100 * mib) != 0);
	OK(munmap(b, 120 * mib) == 0);
	OK(malloc(100 * mib) != 0);
	limit(RLIMIT_AS, 20 << 10);
	OK(mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
	if (fork() == 0) {
		execl(self, self, "x", (char *)0);
		_exit(1);
	}
	printf("exec: killed %d\n", WIFSIGNALED(status(-1)));
	limit(RLIMIT_AS, RLIM_INFINITY);
	limit(RLIMIT_DATA, 10 * mib);
	OK(mmap(0, 20 * mib, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
	OK((a = mmap(0, 20 * mib, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) != MAP_FAILED);
	OK(mprotect(a, 20 * mib, PROT_READ | PROT_WRITE) == 0);
	OK(mmap(0, 20 * mib, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
	limit(RLIMIT_DATA, RLIM_INFINITY);
}

static void *nothing(void *p) { return p; }

static void processes(void) {
	pthread_t t;
	if (geteuid() == 0) // whom it does not concern
		setresuid(54321, 54321, 54321);
	limit(RLIMIT_NPROC, 1);
	R(fork());
	R(pthread_create(&t, 0, nothing, 0));
}

int main(int argc, char **argv) {
	static char all[1 << 16]; // standard output may be a file, which has the limit too
	setvbuf(stdout, all, _IOFBF, sizeof all);
	if (argc > 1)
		return 0;
	files();
	space(argv[0]);
	processes();
	return 0;
}

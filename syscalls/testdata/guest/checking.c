// What calls check first, what they do although they fail, and arguments that are cut off: all of it was found by making random calls.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

#define R(x) do { errno = 0; long r_ = (long)(x); int e_ = errno; printf("%-70s %ld %s\n", #x, r_, r_ == -1 ? strerror(e_) : ""); } while (0)

enum { page = 4096, getBlockSize = 2 };

static char b[512];
static void *nowhere = (void *)-1L;

// kinds asks files of every kind for what some of them cannot do.
static void kinds(void) {
	int p[2], f = open("c.file", O_RDWR | O_CREAT, 0600);
	pipe2(p, O_NONBLOCK);
	const struct {
		const char *name;
		int fd;
	} files[] = {
		{"file", f}, {"directory", open(".", O_RDONLY)}, {"null", open("/dev/null", O_RDWR)}, {"proc", open("/proc/self/cmdline", O_RDONLY)},
		{"read", p[0]}, {"write", p[1]}, {"event", eventfd(0, EFD_NONBLOCK)}, {"timer", timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK)},
		{"epoll", epoll_create1(0)}, {"inotify", inotify_init1(IN_NONBLOCK)}, {"socket", socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0)},
		{"no mode", open("/dev/null", O_ACCMODE)},
	};
	for (int i = 0; i < sizeof files / sizeof *files; i++) {
		int fd = files[i].fd, size = 0;
		printf("%s\n", files[i].name);
		R(read(fd, nowhere, 8));
		R(write(fd, nowhere, 8));
		R(pread(fd, nowhere, 8, 0));
		R(pwrite(fd, nowhere, 8, 0));
		R(syscall(SYS_readv, fd, b, 1ul << 32));
		R(syscall(SYS_writev, fd, b, 1ul << 32));
		R(ioctl(fd, getBlockSize, &size));
		R(size);
		R(fcntl(fd, F_SETFL, O_ASYNC));
		R(fcntl(fd, F_GETFL) & O_ASYNC);
		R(syscall(SYS_fcntl, fd, F_SETSIG, 1ul << 32));
		R(syscall(SYS_fcntl, fd, F_SETSIG, -1));
		close(fd);
	}
}

static void opens(void) {
	mkfifo("c.fifo", 0600);
	R(open(".", O_RDONLY | O_DIRECT));
	R(open("/dev/null", O_RDONLY | O_DIRECT));
	R(open("/proc/self/maps", O_RDONLY | O_DIRECT));
	R(open("c.fifo", O_RDWR | O_DIRECT));
	R(open("c.fifo", O_ACCMODE));
	int f = open("c.file", O_RDWR | (O_SYNC & ~O_DSYNC) | O_ASYNC);
	R((fcntl(f, F_GETFL) & O_SYNC) == O_SYNC);
	R(fcntl(f, F_GETFL) & O_ASYNC);
	R(fcntl(f, F_SETFL, 0));
	R(fcntl(f, F_GETFL) & O_ASYNC);
	struct iovec v = {"0123456789", 10};
	R(pwritev(f, &v, 1, 0));
	R(syscall(SYS_pwritev2, f, &v, 1, 2, 0, 0x10)); // RWF_APPEND
	R(lseek(f, 0, SEEK_CUR));
	R(syscall(SYS_pwritev2, f, &v, 1, -1, 0, 0x10));
	R(lseek(f, 0, SEEK_CUR));
	R(lseek(f, 0, SEEK_END));
	R(fcntl(f, F_SETLEASE, F_UNLCK));
	R(fcntl(f, F_SETLEASE, F_RDLCK));
	R(fcntl(f, F_SETLEASE, 3));
	R(fcntl(0, F_SETLEASE, 3));
	R(syscall(SYS_pwritev2, f, &v, 0, 2, 0, 0x1000000));
	R(syscall(SYS_statx, 99, "", 0x1000, 1u << 31, b));
	close(f);
	unlink("c.fifo");
	unlink("c.file");
}

static void memory(void) {
	int fds[2];
	pipe(fds);
	char *m = mmap(0, 128 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(m + 4 * page, page);
	munmap(m + 64 * page, page);
	mlock(m, page);
	mlock(m + 6 * page, page);
	R(msync(m, 2 * page, MS_INVALIDATE));
	R(msync(m, 2 * page, 0));
	R(msync(m + page, page, MS_INVALIDATE));
	R(msync(m, 8 * page, MS_INVALIDATE));
	R(msync(m + page, 8 * page, MS_INVALIDATE));
	R(msync(m + page, 8 * page, MS_INVALIDATE | MS_SYNC));
	R(msync(m + page, 8 * page, MS_INVALIDATE | MS_ASYNC));
	R(msync(m, 0, MS_INVALIDATE));
	munlockall();
	// What is in the way of mremap(2) goes, even if it fails.
	R(syscall(SYS_mremap, m, -page, 2 * page, MREMAP_MAYMOVE | MREMAP_FIXED, m + 20 * page));
	R(msync(m + 19 * page, page, 0));
	R(msync(m + 20 * page, page, 0));
	R(msync(m + 22 * page, page, 0));
	R(syscall(SYS_mremap, m + 62 * page, 8 * page, 4 * page, MREMAP_MAYMOVE | MREMAP_FIXED, m + 24 * page));
	R(mlock(m, page));
	// Advice makes two mappings of one, which do not grow together, until it is taken back.
	static const int advice[][2] = {{MADV_RANDOM, MADV_NORMAL}, {MADV_SEQUENTIAL, MADV_NORMAL}, {MADV_DONTDUMP, MADV_DODUMP}};
	munmap(m + 50 * page, 14 * page);
	for (int i = 0; i < 3; i++) {
		R(madvise(m + 40 * page, 5 * page, advice[i][0]));
		R(mremap(m + 42 * page, 8 * page, 9 * page, 0) == MAP_FAILED ? errno : 0);
		R(madvise(m + 40 * page, 5 * page, advice[i][1]));
		R(mremap(m + 42 * page, 8 * page, 9 * page, 0) == m + 42 * page);
		munmap(m + 50 * page, page);
	}
	R(mprotect(0, page, PROT_GROWSDOWN));
	R(mprotect(m, page, PROT_GROWSDOWN));
	R(mprotect(0, page, PROT_GROWSUP));
	R(mprotect(m, page, PROT_GROWSUP));
	// What can be written can be read, but was not asked for.
	mprotect(m + 30 * page, page, PROT_WRITE);
	R(madvise(m + 30 * page, page, 22)); // MADV_POPULATE_READ
	R(madvise(m + 30 * page, page, 23));
	R(write(fds[1], m + 30 * page, 10));
	struct iovec to = {b, 10}, from = {m + 30 * page, 10};
	R(process_vm_readv(getpid(), &to, 1, &from, 1, 0));
	R(poll(nowhere, 0, 1));
	R(poll((void *)8, 0, 1));
	mprotect(m + 31 * page, page, PROT_READ);
	struct pollfd *none = (struct pollfd *)(m + 32 * page - sizeof *none);
	R(poll(none, 1, 1));
	R(syscall(SYS_membarrier, 1ul << 32, 0, 0) & 1);
}

static void descriptors(void) {
	int path = open(".", O_PATH), p[2], q[2], timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK), event = eventfd(3, EFD_NONBLOCK);
	long off = 0;
	pipe(p), pipe(q);
	write(p[1], "0123456789", 10);
	R(timerfd_gettime(path, (struct itimerspec *)b));
	R(epoll_ctl(path, EPOLL_CTL_DEL, 0, 0));
	R(inotify_add_watch(path, ".", IN_OPEN));
	R(inotify_rm_watch(path, 1));
	R(futimens(path, 0));
	R(futimens(p[0], 0));
	R(splice(path, 0, p[1], 0, 5, 0));
	R(splice(p[0], 0, path, 0, 5, 0));
	R(syscall(SYS_splice, timer, 8, event, 0, 5, 0));
	R(syscall(SYS_splice, timer, &off, p[1], 0, 5, 0));
	R(syscall(SYS_splice, p[0], 0, event, &off, 5, 0));
	R(sendfile(p[1], event, 0, 0));
	R(sendfile(event, timer, 0, 0));
	R(sendfile(p[1], q[0], 0, 0));
	R(sendfile(event, q[0], 0, 0));
	R(copy_file_range(0, 0, path, 0, 0, 0));
	R(copy_file_range(event, 0, open(".", O_RDONLY), 0, 0, 0));
	R(syscall(SYS_execveat, p[0], "", (char *[]){0}, 0, AT_EMPTY_PATH));
	R(syscall(SYS_execveat, p[0], "x", (char *[]){0}, 0, 0));
	R(syscall(SYS_execveat, AT_FDCWD, "", (char *[]){0}, 0, AT_EMPTY_PATH));
	R(socket(AF_INET, SOCK_STREAM, 263));
	R(socket(AF_INET, SOCK_STREAM, -1));
	int file = open("c.file", O_RDWR | O_CREAT, 0600), ro = open("c.file", O_RDONLY);
	R(fcntl(ro, F_ADD_SEALS, 1000));
	R(fcntl(file, F_SETFL, O_NOATIME));
	R(fcntl(file, F_ADD_SEALS, 1000));
	R(syscall(SYS_utimensat, file, "", 0, AT_EMPTY_PATH));
	R(syscall(SYS_utimensat, p[0], "", 0, AT_EMPTY_PATH));
	R(syscall(SYS_faccessat2, file, "", X_OK, AT_EMPTY_PATH));
	R(syscall(SYS_faccessat2, file, "", R_OK | W_OK, AT_EMPTY_PATH));
	R(syscall(SYS_faccessat2, AT_FDCWD, "", F_OK, AT_EMPTY_PATH));
	R(syscall(SYS_faccessat2, event, "", X_OK, AT_EMPTY_PATH));
	R(syscall(SYS_timerfd_settime, file, 0, 8, 0));
	R(syscall(SYS_timerfd_settime, 99, 64, b, 0));
	R(connect(file, nowhere, 8));
	R(connect(file, nowhere, -1));
	R(connect(99, nowhere, -1));
	R(writev(event, (struct iovec[]){{(long[]){1}, 8}, {(long[]){2}, 8}}, 2));
	R(writev(event, (struct iovec[]){{(long[]){1}, 4}, {(long[]){2}, 4}}, 2));
	unlink("c.file");
	char *end = mmap(0, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(end + page, page);
	R(readv(event, (struct iovec[]){{end + page - 4, 8}}, 1));
	R(read(event, b, 8));
}

// timerIDs shows that an id is used up although there is no timer.
static void timerIDs(void) {
	int id = -1, unknown[16] = {0, 0, 0, 77};
	R(syscall(SYS_timer_create, CLOCK_MONOTONIC, 0, &id));
	R(id);
	R(syscall(SYS_timer_create, 500, 0, &id));
	R(syscall(SYS_timer_create, CLOCK_MONOTONIC, unknown, &id));
	R(syscall(SYS_timer_create, -1, 0, &id));
	R(syscall(SYS_timer_create, CLOCK_MONOTONIC, 0, nowhere));
	R(syscall(SYS_timer_create, CLOCK_MONOTONIC, 0, &id));
	R(id);
}

static void pairs(void) {
	struct rlimit few = {dup(0), 100};
	close(few.rlim_cur);
	R(socketpair(AF_UNIX, SOCK_STREAM, 0, nowhere));
	R(socketpair(99, SOCK_STREAM, 0, nowhere));
	setrlimit(RLIMIT_NOFILE, &few);
	R(socketpair(AF_UNIX, SOCK_STREAM, 0, nowhere));
	R(open("", O_RDONLY));
	R(open(".", O_RDONLY));
	few.rlim_cur = 50;
	setrlimit(RLIMIT_NOFILE, &few);
	R(syscall(SYS_socketpair, AF_NETLINK, SOCK_RAW, 0, b));
	R(syscall(SYS_socketpair, AF_INET, SOCK_STREAM, 0, b));
}

int main(void) {
	setvbuf(stdout, 0, _IOLBF, 0);
	signal(SIGPIPE, SIG_IGN);
	kinds();
	opens();
	memory();
	descriptors();
	timerIDs();
	pairs();
	return 0;
}

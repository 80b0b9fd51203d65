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
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

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
		{"read", p[0]}, {"write", p[1]}, {"event", eventfd(0, EFD_NONBLOCK)}, {"semaphore", eventfd(50, EFD_NONBLOCK | EFD_SEMAPHORE)}, {"timer", timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK)},
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
		R(syscall(SYS_fcntl, fd, F_SETOWN, 1u << 31));
		struct pollfd all = {fd, -1};
		R(poll(&all, 1, 0));
		printf("%x\n", all.revents);
		close(fd);
	}
}

// others asks files of every kind for what is decided before it is looked at what they are, or otherwise than one would think.
static void others(void) {
	static char far[128];
	struct flock back = {.l_type = F_RDLCK, .l_whence = SEEK_CUR, .l_start = 10, .l_len = -5}, front = {.l_type = F_RDLCK, .l_whence = SEEK_CUR, .l_start = 10, .l_len = -20};
	struct timespec both[2] = {{100, UTIME_NOW}, {200, UTIME_NOW}}, one[2] = {{100, UTIME_NOW}, {200, UTIME_OMIT}};
	struct f_owner_ex owner;
	int f = open("c.file", O_RDWR | O_CREAT | O_TRUNC, 0600), event = eventfd(0, 0), null = open("/dev/null", O_RDWR), mode = open("/dev/null", O_ACCMODE), size = 0;
	int memory = memfd_create("memory", 0), self = syscall(SYS_pidfd_open, getpid(), 0), p[2];
	mkfifo("c.fifo", 0600);
	int fifo = open("c.fifo", O_RDWR | O_NONBLOCK);
	int all[] = {f, event, null, mode, memory, fifo};
	for (int i = 0; i < 6; i++) {
		R(flock(all[i], LOCK_SH | LOCK_NB));
		R(flock(all[i], LOCK_UN));
		R(fcntl(all[i], F_GETLK, &back));
		R(fcntl(all[i], F_GETLK, &front));
		R(linkat(all[i], "", AT_FDCWD, "c.file", AT_EMPTY_PATH));
		R(syscall(SYS_vmsplice, all[i], b, 0, 0));
		R(syscall(SYS_vmsplice, all[i], 8, 1, 0));
		R(syscall(SYS_vmsplice, all[i], b, 1025, 0));
	}
	if (!fork()) {
		struct stat st;
		if (getuid() == 0)
			setuid(65534);
		R(futimens(event, 0));
		R(futimens(event, both));
		R(futimens(null, 0));
		R(futimens(null, both));
		R(futimens(null, one));
		R(utimensat(AT_FDCWD, "/dev/null", 0, 0));
		R(utimensat(AT_FDCWD, "/dev/null", one, 0));
		R(utimensat(AT_FDCWD, "/proc/meminfo", 0, 0));
		R(utimensat(AT_FDCWD, "/proc/meminfo", one, 0));
		fstat(event, &st);
		R(st.st_uid);
		_exit(0);
	}
	wait(0);
	R(fcntl(memory, F_SETFL, O_DIRECT));
	lseek(f, 100, SEEK_SET);
	R(ioctl(f, FIONREAD, &size));
	R(size);
	// What there is to be made, before where.
	for (int i = 0; i < 16; i++)
		R(mknod((char *)8, i << 12, 0));
	R(mknod("c.file", S_IFBLK | 0600, 0));
	R(mknod("c.none/x", S_IFBLK | 0600, 0));
	R(mknod("c.file/x", S_IFBLK | 0600, 0));
	// The number of anything can be an owner.
	R(fcntl(f, F_SETOWN, getppid()));
	R(fcntl(f, F_GETOWN) == getppid());
	if (!fork()) {
		setpgid(0, 0);
		int child = fork();
		if (!child)
			for (;;)
				pause();
		R(fcntl(f, F_SETOWN, -child));
		R(fcntl(f, F_GETOWN));
		R(fcntl(f, F_GETOWN_EX, &owner));
		R(owner.pid);
		R(fcntl(f, F_SETOWN, child));
		R(fcntl(f, F_GETOWN) == child);
		R(syscall(SYS_pidfd_send_signal, syscall(SYS_pidfd_open, child, 0), 0, 0, 4));
		R(syscall(SYS_pidfd_send_signal, syscall(SYS_pidfd_open, child, 0), 99, 0, 4));
		kill(child, SIGKILL);
		waitpid(child, 0, 0);
		R(fcntl(f, F_GETOWN));
		R(fcntl(f, F_SETOWN, child));
		_exit(0);
	}
	wait(0);
	memset(far, 'z', sizeof far);
	R(syscall(SYS_pidfd_send_signal, self, 0, far, 0));
	// A datagram that finds no room is lost, but for MSG_PEEK.
	for (int i = 0; i < 3; i++) {
		int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET};
		socketpair(AF_UNIX, types[i] | SOCK_NONBLOCK, 0, p);
		write(p[1], "hello", 5);
		R(recv(p[0], (void *)8, 5, MSG_PEEK));
		R(recv(p[0], (void *)8, 5, 0));
		R(recv(p[0], b, 5, 0));
		R(sendto(p[1], "hello", 5, 0, (void *)b, 0));
		R(setsockopt(p[0], 0, 1, 0, 0));
		R(getsockopt(p[0], 0, 1, 0, 0));
		close(p[0]);
		close(p[1]);
	}
	for (int i = 0; i < 6; i++)
		close(all[i]);
	close(self);
	unlink("c.fifo");
	unlink("c.file");
}

// pages asks for memory that cannot be had, of files that end before it, and by rights that were not asked for.
static void pages(void) {
	int f = open("c.file", O_RDWR | O_CREAT | O_TRUNC, 0600), reading = open("c.file", O_RDONLY);
	char *m = mmap(0, 16 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), line[200] = "", perms[5] = "";
	unsigned long begin;
	ftruncate(f, 2 * page);
	// Behind the end of a file: it is locked, but not brought into memory.
	for (int shared = 0; shared < 2; shared++) {
		mmap(m, 4 * page, PROT_READ | PROT_WRITE, MAP_FIXED | (shared ? MAP_SHARED : MAP_PRIVATE), f, 0);
		R(mlock(m, 2 * page));
		R(mlock(m, 3 * page));
		R(msync(m + 2 * page, page, MS_INVALIDATE));
		R(syscall(SYS_mlock2, m, 4 * page, 1)); // MLOCK_ONFAULT
		R(munlock(m, 4 * page));
	}
	// A hole is punched where writing could be allowed.
	mmap(m, page, PROT_READ, MAP_FIXED | MAP_SHARED, f, 0);
	R(madvise(m, page, MADV_REMOVE));
	mmap(m, page, PROT_READ, MAP_FIXED | MAP_SHARED, reading, 0);
	R(madvise(m, page, MADV_REMOVE));
	mmap(m, page, PROT_EXEC, MAP_FIXED | MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	R(madvise(m, page, MADV_REMOVE));
	mmap(m, page, PROT_READ, MAP_FIXED | MAP_PRIVATE, f, 0);
	R(madvise(m, page, MADV_REMOVE));
	// What can be executed can be read, but was not asked for; what was changed before an error is.
	munmap(m + 14 * page, page);
	R(mprotect(m + 6 * page, page, PROT_EXEC));
	R(madvise(m + 6 * page, page, 22)); // MADV_POPULATE_READ
	R(mprotect(m + 13 * page, 3 * page, PROT_WRITE));
	R(madvise(m + 13 * page, page, 22));
	R(madvise(m + 15 * page, page, 22));
	mmap(m + 8 * page, page, PROT_READ, MAP_FIXED | MAP_SHARED, reading, 0);
	R(mprotect(m + 7 * page, 3 * page, PROT_WRITE));
	R(madvise(m + 7 * page, page, 22));
	R(madvise(m + 8 * page, page, 22));
	R(madvise(m + 9 * page, page, 22));
	FILE *maps = fopen("/proc/self/maps", "r");
	while (fgets(line, sizeof line, maps))
		if (sscanf(line, "%lx-%*x %4s", &begin, perms) == 2 && begin == (unsigned long)(m + 6 * page))
			printf("%s\n", perms);
	fclose(maps);
	munmap(m, 16 * page);
	close(f);
	close(reading);
	unlink("c.file");
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
	// What is made cannot have a slash behind it, whatever is there.
	static const char *const slashes[] = {"c.file/", "c.file//", "c.link/", "c.slash", "c.loop/", "c.fifo/", "c.new/", "/dev/null/", "/proc/self/status/", "/proc/", "/proc/.", "/proc/self/..", "/proc/self/task/..", "/proc/self/task/../", "c.file/.", "c.file/x/"};
	symlink("c.file", "c.link");
	symlink("c.file/", "c.slash");
	symlink("c.loop", "c.loop");
	for (int i = 0; i < sizeof slashes / sizeof *slashes; i++) {
		printf("%s\n", slashes[i]);
		R(open(slashes[i], O_RDONLY | O_CREAT, 0600));
		R(open(slashes[i], O_RDWR | O_CREAT | O_EXCL, 0600));
		R(open(slashes[i], O_RDONLY | O_CREAT | O_NOFOLLOW, 0600));
		R(open(slashes[i], O_PATH | O_CREAT, 0600) < 0);
	}
	R(fcntl(open("/dev/null", O_PATH), F_GETFL));
	R(fcntl(open("/proc/self/maps", O_PATH), F_GETFL));
	unlink("c.link");
	unlink("c.slash");
	unlink("c.loop");
	unlink("c.fifo");
	unlink("c.file");
}

// high unmaps addresses above those that cgemu can map, to the end of Linux's, where nothing is.
static void high(void) {
	char *end = (char *)0x7ffffffff000, *low = (char *)0x5000000000;
	R(munmap((char *)0x600000000000, page));
	R(munmap((char *)0x1ffffffff000, 2 * page));
	R(munmap(end - page, 1));
	R(munmap(end - page, page + 1));
	R(munmap(end, 1));
	R(munmap((char *)0x600000000000, -1L));
	mmap(low, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	R(mremap(low, 1L << 47, page, 0));
	R(mremap(low, page, page, MREMAP_MAYMOVE | MREMAP_FIXED, end) == MAP_FAILED ? errno : 0);
	R(syscall(SYS_mremap, low, page, page, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, end));
	R(syscall(SYS_mremap, low, page, page, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, 0x600000000000) != -1);
	R(mmap(end - page, 2 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	for (int more = 0; more < 2; more++) {
		int child = fork(), st;
		if (child == 0)
			_exit(munmap(0, (size_t)end + more * page) ? errno : 0);
		waitpid(child, &st, 0);
		R(WIFSIGNALED(st) ? WTERMSIG(st) : -WEXITSTATUS(st));
	}
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
	R(msync(m + page, 0, MS_INVALIDATE));
	R(msync(m + 2 * page, 0, MS_INVALIDATE));
	munlockall();
	// What is in the way of mremap(2) goes, even if it fails.
	R(syscall(SYS_mremap, m, -page, 2 * page, MREMAP_MAYMOVE | MREMAP_FIXED, m + 20 * page));
	R(syscall(SYS_mremap, m, 2 * page, 2 * page, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, m + page));
	R(syscall(SYS_mremap, m, page, page, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, -page));
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

// ranges asks for record locks of impossible ranges, of unknown types and with a process id where none belongs.
static void ranges(void) {
	static const int commands[] = {F_GETLK, F_SETLK, F_OFD_GETLK, F_OFD_SETLK};
	static const long most = 0x7fffffffffffffff, starts[] = {0, -1, -20, most, most - 3, -most - 1}, lengths[] = {0, 7, -1, -6, most, -most - 1};
	int f = open("c.file", O_RDWR | O_CREAT | O_TRUNC, 0600);
	write(f, "0123456789", 10);
	lseek(f, 7, SEEK_SET);
	for (int c = 0; c < 4; c++)
		for (int type = 0; type < 4; type++)
			for (int whence = 0; whence < 4; whence++)
				for (int pid = 0; pid < 2; pid++) {
					printf("%d %d %d %d:", commands[c], type, whence, pid);
					for (int i = 0; i < 36; i++) {
						struct flock l = {type, whence, starts[i % 6], lengths[i / 6], pid};
						int r = fcntl(f, commands[c], &l);
						printf(" %d", r < 0 ? errno : 0);
					}
					printf("\n");
				}
	struct flock l = {F_RDLCK, SEEK_SET, 3, 4, 1};
	int w = open("c.file", O_WRONLY);
	R(fcntl(w, F_OFD_SETLK, &l));
	l.l_pid = 0;
	R(fcntl(f, F_OFD_SETLK, &l));
	struct flock own = {F_UNLCK, SEEK_SET, 0, 100}, others = own;
	R(fcntl(f, F_OFD_GETLK, &own));
	printf("%d %ld %ld %d\n", own.l_type, (long)own.l_start, (long)own.l_len, own.l_pid);
	R(fcntl(w, F_OFD_GETLK, &others));
	R(others.l_type);
	close(f);
	close(w);
}

// halves moves bytes to and from memory of which the end is missing, and where nothing may be written.
static void halves(void) {
	static char big[3 * page];
	char *end = (char *)mmap(0, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + page;
	munmap(end, page);
	mkfifo("c.fifo", 0600);
	int f = open("c.fifo", O_RDWR | O_NONBLOCK), w;
	R(write(f, end - 33, 100));
	R(write(f, nowhere, 1));
	R(write(f, end - page, page + 1));
	R(read(f, big, sizeof big));
	R(write(f, big, 10));
	R(write(f, end - 33, 100));
	R(write(f, end - page, 2 * page + 100));
	R(write(f, end - 100, page + 100));
	R(read(f, end - 33, 200));
	R(read(f, big, sizeof big));
	R(write(f, big, 10));
	R(write(f, big, page));
	R(read(f, end - 33, 200));
	R(read(f, nowhere, 1));
	R(read(f, big, sizeof big));
	R(read(f, nowhere, 1));
	R((w = open("c.fifo", O_WRONLY)) < 0);
	close(f);
	R(write(w, nowhere, 1));
	R(write(w, end - 1, 2));
	close(w);
	f = open("c.file", O_RDWR | O_CREAT | O_TRUNC, 0600);
	struct rlimit was, low = {4, 4};
	getrlimit(RLIMIT_FSIZE, &was);
	low.rlim_max = was.rlim_max;
	signal(SIGXFSZ, SIG_IGN);
	fflush(stdout);
	setrlimit(RLIMIT_FSIZE, &low);
	long above = pwrite(f, nowhere, 1, 4), why = errno, below = pwrite(f, nowhere, 1, 3);
	setrlimit(RLIMIT_FSIZE, &was);
	printf("above the limit: %ld %s, below %ld\n", above, strerror(why), below);
	close(f);
}

// devices moves bytes to and from devices at offsets, which stay what they are.
static void devices(void) {
	static const char *const names[] = {"/dev/null", "/dev/zero", "/dev/urandom"};
	int p[2], f = open("c.file", O_RDWR | O_CREAT | O_TRUNC, 0600);
	pipe2(p, O_NONBLOCK);
	write(f, "0123456789", 10);
	for (int i = 0; i < 3; i++) {
		int d = open(names[i], O_RDWR);
		loff_t off = 3;
		printf("%s\n", names[i]);
		write(p[1], "hello", 5);
		R(splice(p[0], 0, d, &off, 5, SPLICE_F_NONBLOCK));
		R(off);
		R(splice(d, &off, p[1], 0, 5, SPLICE_F_NONBLOCK));
		R(off);
		R(sendfile(f, d, &off, 5));
		R(off);
		R(sendfile(d, f, &off, 3));
		R(off);
		read(p[0], b, sizeof b);
		close(d);
	}
	close(p[0]);
	close(p[1]);
	close(f);
}

// words asks the calls of futex(2) that have two words for words that are not aligned, the same, or not there.
static void words(void) {
	enum { waitRequeuePI = 11, cmpRequeuePI = 12, private = 128 };
	static int two[2];
	void *words[] = {two, two + 1, (char *)two + 1, 0, (void *)8, nowhere};
	for (int i = 0; i < 6; i++)
		for (int j = 0; j < 6; j++) {
			printf("%d %d:", i, j);
			for (int shared = 0; shared < 2; shared++)
				for (int val = 1; val >= 0; val--) {
					int op = shared ? 0 : private;
					if (val || i > 1) // else it may wait
						printf(" %d", syscall(SYS_futex, words[i], op | waitRequeuePI, val, 0, words[j], 0) < 0 ? errno : 0);
					printf(" %d", syscall(SYS_futex, words[i], op | cmpRequeuePI, 1, 1, words[j], val) < 0 ? errno : 0);
				}
			printf("\n");
		}
}

// lists reads a directory into sizes that are none.
static void lists(void) {
	static char big[1 << 16];
	int d = open("/dev/pts", O_RDONLY | O_DIRECTORY);
	R(syscall(SYS_getdents, d, big, -1));
	R(syscall(SYS_getdents64, d, big, 1l << 32));
	R(syscall(SYS_getdents64, d, big, 1u << 31));
	while (syscall(SYS_getdents64, d, big, sizeof big) > 0)
		;
	R(syscall(SYS_getdents, d, big, -1));
	R(syscall(SYS_getdents64, d, big, 0));
	close(d);
}

// names sets times of what is named in several ways; flags are the file's, the descriptor's, or unknown.
static void names(void) {
	int f = open("c.file", O_RDWR | O_CREAT, 0600), fds[] = {AT_FDCWD, open(".", O_RDONLY), f, open("c.file", O_PATH), -1, 99};
	static const int flags[] = {0, AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH, 0x800};
	static const struct timespec times[3][2] = {{{1, 5}, {2, 6}}, {{1, -1}, {2, 2000000000}}, {{0, UTIME_OMIT}, {0, UTIME_OMIT}}};
	const char *paths[] = {0, "", ".", "c.file", "nothing", nowhere};
	for (int i = 0; i < 6; i++)
		for (int j = 0; j < 6; j++) {
			printf("%d %d:", i, j);
			for (int k = 0; k < 15; k++)
				printf(" %d", syscall(SYS_utimensat, fds[i], paths[j], times[k % 3], flags[k / 3]) < 0 ? errno : 0);
			printf("\n");
		}
	int event = eventfd(0, 0);
	R(linkat(event, "", AT_FDCWD, "", AT_EMPTY_PATH));
	close(event);
	R(syscall(SYS_fchmodat2, fds[3], "", 0640, AT_EMPTY_PATH) < 0 && errno != ENOSYS);
	R(syscall(SYS_fchmodat2, fds[3], "", 0640, 0));
	R(fchmod(fds[3], 0600));
	struct stat st;
	R(fstat(f, &st) < 0 ? -1 : st.st_mode);
	for (int i = 1; i < 4; i++)
		close(fds[i]);
}

int main(void) {
	setvbuf(stdout, 0, _IOLBF, 0);
	signal(SIGPIPE, SIG_IGN);
	kinds();
	others();
	pages();
	opens();
	memory();
	high();
	descriptors();
	timerIDs();
	pairs();
	ranges();
	halves();
	devices();
	words();
	lists();
	names();
	unlink("c.file");
	unlink("c.fifo");
	return 0;
}

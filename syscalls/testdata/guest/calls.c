// Calls that few programs make: tee, vmsplice, other processes' memory and descriptors, seals, schedulers, keys.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef MFD_ALLOW_SEALING
#define MFD_ALLOW_SEALING 2
#endif
#define R(x) do { errno = 0; long r_ = (long)(x); int e_ = errno; printf("%-75s %ld %s\n", #x, r_, r_ == -1 ? strerror(e_) : ""); } while (0)

static char b[100];
static int null;

static void pipes(void) {
	int p[2], q[2];
	struct iovec v[2] = {{"hello ", 6}, {"world", 5}}, in[2] = {{b, 3}, {b + 10, 50}};
	pipe(p), pipe(q);
	R(vmsplice(p[1], v, 2, 0));
	R(vmsplice(p[1], v, 2, 16));
	R(vmsplice(null, v, 2, 0));
	R(vmsplice(99, v, 2, 0));
	R(vmsplice(p[1], v, 0, 0));
	R(vmsplice(p[1], v, 2000, 0));
	R(tee(p[0], q[1], 5, 0));
	R(tee(p[0], q[1], 100, 0));
	R(tee(p[0], p[1], 5, 0));
	R(tee(p[0], null, 5, 0));
	R(tee(p[1], q[1], 5, 0));
	R(tee(p[0], q[0], 5, 0));
	R(tee(p[0], q[1], 5, 16));
	R(tee(p[0], q[1], 0, 0));
	R(vmsplice(q[0], in, 2, 0));
	printf("%.3s %.13s\n", b, b + 10);
	R(read(p[0], b, 100));
	R(tee(p[0], q[1], 5, SPLICE_F_NONBLOCK));
	close(p[1]);
	R(tee(p[0], q[1], 5, 0));
}

static off_t sizeOf(int fd) {
	struct stat st;
	fstat(fd, &st);
	return st.st_size;
}

static void copying(void) {
	char name[] = "/tmp/cgemu-callsXXXXXX";
	int fd = mkstemp(name), ro = open(name, O_RDONLY), app = open(name, O_WRONLY | O_APPEND), p[2];
	off_t from = 2, to = 8, far = 100, neg = -1;
	pipe(p);
	unlink(name);
	write(fd, "0123456789", 10);
	R(copy_file_range(ro, &from, fd, &to, 4, 0));
	printf("%ld %ld\n", (long)from, (long)to);
	R(copy_file_range(ro, &far, fd, &to, 4, 0));
	R(copy_file_range(ro, &neg, fd, &to, 4, 0));
	R(copy_file_range(fd, &from, fd, &to, 4, 1));
	from = 2, to = 4;
	R(copy_file_range(fd, &from, fd, &to, 4, 0));
	R(copy_file_range(fd, &from, ro, &to, 4, 0));
	R(copy_file_range(fd, &from, app, &to, 4, 0));
	R(copy_file_range(p[0], 0, fd, &to, 4, 0));
	R(copy_file_range(open("/tmp", O_RDONLY), 0, fd, &to, 4, 0));
	R(copy_file_range(99, 0, fd, &to, 4, 0));
	from = 0, to = sizeOf(fd);
	R(copy_file_range(fd, &from, fd, &to, 1000, 0)); // not what it makes the file longer by
	R(sizeOf(fd));
	R(pread(fd, b, 100, 0));
	printf("%.12s\n", b);
	fd = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	R(write(fd, "x", 1));
	struct stat st;
	R(fstat(fd, &st));
	R(st.st_nlink);
	R(open("/tmp", O_TMPFILE | O_RDONLY, 0600));
	char dir[] = "/tmp/cgemu-callsXXXXXX";
	mkdtemp(dir);
	fd = open(dir, O_PATH);
	rmdir(dir);
	R(fcntl(fd, F_GETFL));
	R(read(fd, b, 1));
	R(syscall(SYS_fchmod, fd, 0));
	R(fcntl(fd, F_SETFL, 0));
	R(ioctl(fd, 0));
	R(fstat(fd, &st));
	R((long)mmap(0, 4096, PROT_READ, MAP_SHARED, fd, 0));
}

static void seals(void) {
	int plain = memfd_create("plain", 0), fd = memfd_create("sealed", MFD_ALLOW_SEALING), ro;
	R(fcntl(plain, F_GET_SEALS));
	R(fcntl(plain, F_ADD_SEALS, F_SEAL_WRITE));
	R(fcntl(fd, F_GET_SEALS));
	R(ftruncate(fd, 4096));
	char *p = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	*p = 'x';
	R(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE));
	munmap(p, 4096);
	R(fcntl(fd, F_ADD_SEALS, 0x1000));
	R(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK));
	R(ftruncate(fd, 100));
	R(ftruncate(fd, 8192));
	R(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW));
	R(ftruncate(fd, 16384));
	R(pwrite(fd, "y", 1, 8192));
	R(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE));
	R(write(fd, "y", 1));
	R((long)mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
	R((p = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0)) != MAP_FAILED);
	R(p[0]);
	R(fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL));
	R(fcntl(fd, F_ADD_SEALS, 0));
	R(fcntl(fd, F_GET_SEALS));
	R(fcntl(null, F_GET_SEALS));
	sprintf(b, "/proc/self/fd/%d", plain);
	R((ro = open(b, O_RDONLY)) >= 0);
	R(fcntl(ro, F_ADD_SEALS, F_SEAL_WRITE));
	R(memfd_create("x", 0x100));
}

static void others(void) {
	static char there[] = "there", far[8192];
	int go[2], back[2], pid, st;
	struct iovec l[2] = {{b, 3}, {b + 50, 40}}, r[2] = {{there, 5}, {far, 1}};
	struct rlimit lim;
	pipe(go), pipe(back);
	if (!(pid = fork())) {
		there[0] = 'T';
		far[0] = '!';
		void *p = mmap((void *)0x70000000, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		strcpy(p, "child");
		struct rlimit own = {77, 100};
		setrlimit(RLIMIT_NOFILE, &own);
		write(back[1], "x", 1);
		read(go[0], b, 1);
		printf("%s %s\n", there, (char *)p);
		_exit(5);
	}
	read(back[0], b, 1);
	memset(b, 0, sizeof b);
	R(process_vm_readv(pid, l, 2, r, 2, 0));
	printf("%s %s\n", b, b + 50);
	R(process_vm_readv(pid, l, 2, r, 2, 1));
	R(process_vm_readv(pid, l, 0, r, 2, 0));
	R(process_vm_readv(pid, l, 2, r, 2000, 0));
	r[1] = (struct iovec){(void *)8, 4};
	R(process_vm_readv(pid, l, 2, r, 2, 0));
	R(process_vm_readv(pid, l, 2, r + 1, 1, 0));
	R(process_vm_readv(0x7ffffff, l, 2, r, 2, 0));
	R(process_vm_readv(-1, l, 2, r, 2, 0));
	r[0] = (struct iovec){there, 2}, r[1] = (struct iovec){(void *)0x70000000, 5};
	l[0] = (struct iovec){"we", 2}, l[1] = (struct iovec){"wrote", 5};
	R(process_vm_writev(pid, l, 2, r, 2, 0));
	r[0].iov_base = (void *)"constant";
	R(process_vm_writev(pid, l, 1, r, 1, 0));
	int pfd = syscall(434, pid, 0), got;
	R((got = syscall(438, pfd, go[0], 0)) >= 0);
	R(fcntl(got, F_GETFD));
	R(syscall(438, pfd, 99, 0));
	R(syscall(438, pfd, 0, 1));
	R(syscall(438, 1, 0, 0));
	r[0] = (struct iovec){(void *)0x70000000, 4096};
	R(syscall(440, pfd, r, 1, 20, 0));
	R(syscall(440, pfd, r, 1, 20, 1));
	R(syscall(440, 1, r, 1, 20, 0));
	R(prlimit(pid, RLIMIT_NOFILE, 0, &lim));
	R(lim.rlim_cur);
	R(prlimit(0x7ffffff, RLIMIT_NOFILE, 0, &lim));
	R(prlimit(pid, 99, 0, &lim));
	write(go[1], "x", 1);
	waitpid(pid, &st, 0);
	R(WEXITSTATUS(st));
	R(syscall(438, pfd, 0, 0));
	R(process_vm_readv(pid, l, 2, r, 2, 0));
}

static void scheduling(void) {
	struct { unsigned size, policy; long flags; int nice; unsigned prio; long run, dead, period; int min, max; } a;
	memset(&a, 1, sizeof a);
	R(syscall(315, 0, &a, 48, 0));
	printf("%u %u %d %u\n", a.size, a.policy, a.nice, a.prio);
	R(syscall(315, 0, &a, 47, 0));
	R(syscall(315, 0, &a, 48, 1));
	R(syscall(315, -1, &a, 48, 0));
	R(syscall(315, 0x7ffffff, &a, 48, 0));
	R(syscall(315, 0, (void *)8, 48, 0));
	R(syscall(314, 0, &a, 0));
	R(syscall(314, 0, &a, 1));
	R(syscall(314, 0, 0, 0));
	a.policy = 99;
	R(syscall(314, 0, &a, 0));
	void *p = mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	R(syscall(329, p, 4096, PROT_READ | PROT_WRITE, -1));
	*(char *)p = 1;
	R(syscall(329, p, 4096, PROT_READ, 7));
	R(syscall(331, 7));
	R(syscall(330, 1, 0));
	R(syscall(301, 99, 1, 2, -100, "/"));
	R(syscall(301, 1, 1, 2, -100, "/"));
	R(unshare(CLONE_FS));
	R(unshare(CLONE_FILES | CLONE_SYSVSEM));
}

int main(void) {
	setvbuf(stdout, 0, _IONBF, 0);
	null = open("/dev/null", O_RDWR);
	pipes();
	copying();
	seals();
	others();
	scheduling();
	return 0;
}

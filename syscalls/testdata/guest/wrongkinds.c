// Calls on files of another kind than they are for, and arguments that are checked before or after that.
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
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { file, wronly, rdonly, appending, dir, opath, rpipe, wpipe, fifo, sock, event, null, zero, proc, procdir, kinds };
static int fd[kinds];
static const char *const names[] = {
	"file", "wronly", "rdonly", "appending", "dir", "opath", "rpipe", "wpipe", "fifo", "sock", "event", "null", "zero", "proc", "procdir",
};

static void show(const char *what, const char *kind, long r) {
	printf("%-22s %-10s %ld %s\n", what, kind, r, r < 0 ? strerror(errno) : "");
}

static void open_all(void) {
	int p[2];
	unlink("w.file");
	unlink("w.fifo");
	fd[file] = open("w.file", O_RDWR | O_CREAT, 0600);
	write(fd[file], "hello", 5);
	fd[wronly] = open("w.file", O_WRONLY);
	fd[rdonly] = open("w.file", O_RDONLY);
	fd[appending] = open("w.file", O_RDWR | O_APPEND);
	fd[dir] = open(".", O_RDONLY | O_DIRECTORY);
	fd[opath] = open("w.file", O_PATH);
	pipe2(p, O_NONBLOCK);
	fd[rpipe] = p[0];
	fd[wpipe] = p[1];
	mkfifo("w.fifo", 0600);
	fd[fifo] = open("w.fifo", O_RDWR | O_NONBLOCK);
	socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, p);
	fd[sock] = p[0];
	fd[event] = eventfd(0, EFD_NONBLOCK);
	fd[null] = open("/dev/null", O_RDWR);
	fd[zero] = open("/dev/zero", O_RDWR);
	fd[proc] = open("/proc/self/status", O_RDONLY);
	fd[procdir] = open("/proc/self", O_RDONLY | O_DIRECTORY);
}

#define EACH(what, skip, call) \
	for (int i = 0; i < kinds; i++) { \
		int f = fd[i]; \
		if ((skip) >> i & 1) continue; \
		errno = 0; \
		show(what, names[i], call); \
	}
#define K(x) (1 << (x))

int main(void) {
	char b[16] = "abcdefgh";
	struct iovec v = {b, 4};
	loff_t off = 0;
	setvbuf(stdout, 0, _IOLBF, 0);
	open_all();
	EACH("pread", K(event), pread(f, b, 1, 0));
	EACH("pwrite", K(event) | K(proc), pwrite(f, "x", 1, 0));
	EACH("pread -1", 0, pread(f, b, 1, -1));
	EACH("preadv -1", 0, preadv(f, &v, 1, -1));
	EACH("preadv2 -5", K(event), syscall(SYS_preadv2, f, &v, 1, -5L, -1L, 0));
	EACH("pwritev2 -5", K(event), syscall(SYS_pwritev2, f, &v, 1, -5L, -1L, 0));
	EACH("preadv2 -2", K(event), syscall(SYS_preadv2, f, &v, 1, -2L, -1L, 0));
	EACH("preadv2 bad flag", K(event), syscall(SYS_preadv2, f, &v, 1, 0L, 0L, 1 << 30));
	EACH("preadv2 two flags", K(event) | K(dir) | K(proc) | K(procdir), syscall(SYS_preadv2, f, &v, 1, 0L, 0L, 1 | 2 | 4));
	EACH("preadv2 RWF_APPEND", K(event) | K(dir) | K(proc) | K(procdir), syscall(SYS_preadv2, f, &v, 1, 0L, 0L, 16) < 0 ? -1 : 0);
	EACH("ftruncate", 0, ftruncate(f, 5));
	EACH("ftruncate -1", 0, ftruncate(f, -1));
	EACH("fallocate pipe", K(file) | K(wronly) | K(appending), fallocate(f, 0, 0, 10));
	EACH("fallocate -1", 0, fallocate(f, 0, -1, 10));
	EACH("fallocate 0", 0, fallocate(f, 0, 0, 0));
	EACH("fallocate mode", 0, fallocate(f, 0x4000, 0, 10));
	EACH("fallocate overflow", 0, fallocate(f, 0, 1, 0x7fffffffffffffff));
	EACH("readahead", 0, readahead(f, 0, 10));
	EACH("sync_file_range", 0, sync_file_range(f, 0, 10, SYNC_FILE_RANGE_WRITE));
	EACH("sync_file_range -1", 0, sync_file_range(f, -1, 10, SYNC_FILE_RANGE_WRITE));
	EACH("sync_file_range flags", 0, sync_file_range(f, 0, 10, 99));
	EACH("fsync", K(dir) | K(procdir) | K(proc) | K(null) | K(zero), fsync(f));
	EACH("syncfs", 0, syncfs(f));
	EACH("fadvise", 0, posix_fadvise(f, 0, 0, POSIX_FADV_NORMAL));
	EACH("fadvise 99", 0, posix_fadvise(f, 0, 0, 99));
	EACH("fadvise length -1", 0, posix_fadvise(f, 0, -1, POSIX_FADV_NORMAL));
	EACH("lseek data", K(dir) | K(procdir) | K(file) | K(wronly) | K(rdonly) | K(appending) | K(event), lseek(f, 0, SEEK_DATA));
	EACH("lseek end", K(dir) | K(event), lseek(f, 0, SEEK_END));
	EACH("lseek 99", 0, lseek(f, 0, 99));
	show("lseek end", "dir", lseek(fd[dir], 0, SEEK_END) < 0);
	lseek(fd[file], 0, SEEK_SET);
	EACH("sendfile from", K(zero) | K(dir) | K(proc) | K(procdir), sendfile(fd[file], f, &off, 1));
	EACH("sendfile from -1", K(zero) | K(dir), sendfile(fd[file], f, 0, -1));
	EACH("sendfile to", K(zero) | K(null) | K(sock) | K(event), sendfile(f, fd[rdonly], &off, 0));
	EACH("getdents", K(dir) | K(procdir), syscall(SYS_getdents64, f, b, 16));
	EACH("F_GETPIPE_SZ", 0, fcntl(f, F_GETPIPE_SZ) < 0 ? -1 : 0);
	EACH("F_SETPIPE_SZ huge", 0, fcntl(f, F_SETPIPE_SZ, 0xffffffffL));
	EACH("F_GETSIG", 0, fcntl(f, F_SETSIG, SIGUSR1) < 0 ? -1 : fcntl(f, F_GETSIG));
	EACH("F_SETSIG 99", 0, fcntl(f, F_SETSIG, 99));
	EACH("fchmod", K(proc) | K(procdir) | K(null) | K(zero) | K(event) | K(dir), fchmod(f, 0600));
	EACH("mmap", 0, mmap(0, 4096, PROT_READ, MAP_PRIVATE, f, 0) == MAP_FAILED ? -1 : 0);
	EACH("mmap exec", K(event) | K(proc), mmap(0, 4096, PROT_WRITE, MAP_SHARED, f, 0) == MAP_FAILED ? -1 : 0);
	show("mmap sync", "file", mmap(0, 4096, PROT_READ, MAP_SHARED_VALIDATE | MAP_SYNC, fd[file], 0) == MAP_FAILED ? -1 : 0);
	show("mmap unknown", "file", mmap(0, 4096, PROT_READ, MAP_SHARED_VALIDATE | 1 << 30, fd[file], 0) == MAP_FAILED ? -1 : 0);
	show("truncate", "dir", truncate(".", 0));
	show("truncate", "fifo", truncate("w.fifo", 0));
	show("copy", "same", copy_file_range(fd[file], 0, fd[file], &off, 10, 0));
	show("lseek", "proc size", lseek(open("/proc/sys/kernel/ostype", O_RDONLY), 0, SEEK_END));
	show("lseek", "sysfs dir", lseek(open("/sys/devices", O_RDONLY), 0, SEEK_END));
	show("lseek", "sysfs", lseek(open("/sys/devices/system/cpu/online", O_RDONLY), 0, SEEK_END));
	EACH("f_type", K(file) | K(wronly) | K(rdonly) | K(appending) | K(dir) | K(opath) | K(fifo) | K(null) | K(zero), ({ struct statfs s; fstatfs(f, &s) < 0 ? -1 : s.f_type; }));
	struct statfs s;
	show("f_type", "sys", statfs("/sys", &s) < 0 ? -1 : s.f_type);
	show("f_type", "pts", statfs("/dev/pts", &s) < 0 ? -1 : s.f_type);
	show("f_type", "shm", statfs("/dev/shm", &s) < 0 ? -1 : s.f_type);
	show("f_type", "memfd", fstatfs(memfd_create("x", 0), &s) < 0 ? -1 : s.f_type);
	unlink("w.file");
	unlink("w.fifo");
	return 0;
}

// Files and directories.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

#define R(x) do { errno = 0; long r_ = (long)(x); int e_ = errno; printf("%-60s %ld %s\n", #x, r_, r_ == -1 ? strerror(e_) : ""); } while (0)

static void show(const char *what, struct stat *s) {
	printf("%s: mode %o nlink %ld size %ld blksize %ld rdev %lx mtime %ld\n", what, s->st_mode, (long)s->st_nlink, S_ISDIR(s->st_mode) ? 0 : (long)s->st_size,
	       (long)s->st_blksize, (long)s->st_rdev, (long)s->st_mtime < 2000000000 ? (long)(s->st_mtime == 1234567890) : 2);
}

static void list(const char *path) {
	struct dirent **names;
	int n = scandir(path, &names, 0, alphasort);
	for (int i = 0; i < n; i++) printf("%s(%d) ", names[i]->d_name, names[i]->d_type);
	printf("= %d\n", n);
}

// A working directory that is moved, removed, and too deep for a name.
static void cwd(const char *dir) {
	static char b[10000];
	size_t skip = strlen(dir);
	struct stat st;
	chdir(dir);
	mkdir("a", 0700), mkdir("a/b", 0700), mkdir("a/b/c", 0700);
	chdir("a/b");
	rename("../../a", "../../moved");
	R(syscall(SYS_getcwd, b, sizeof b) - skip);
	printf("%s\n", b + skip);
	R(chdir("c"));
	R(rmdir("../c"));
	R(syscall(SYS_getcwd, b, sizeof b));
	memset(b, 0, sizeof b);
	R(readlink("/proc/self/cwd", b, sizeof b) - skip);
	printf("%s\n", b + skip);
	R(open("x", O_CREAT | O_RDWR, 0600));
	R(stat(".", &st));
	printf("links %ld\n", (long)st.st_nlink);
	R(chdir(".."));
	R(syscall(SYS_getcwd, 0, sizeof b));
	char name[201];
	memset(name, 'a', 200);
	name[200] = 0;
	int depth = 0;
	while (depth < 30 && syscall(SYS_getcwd, b, sizeof b) > 0) mkdir(name, 0700), chdir(name), depth++;
	printf("depth %d: %s\n", depth, strerror(errno));
	R(access(".", 0));
	R(stat("..", &st));
	while (depth-- > 0) chdir(".."), rmdir(name);
	R(syscall(SYS_getcwd, b, sizeof b) - skip);
	chdir(dir);
	R(rmdir("moved/b"));
	R(rmdir("moved"));
}

int main(void) {
	setvbuf(stdout, 0, _IONBF, 0);
	char dir[] = "/tmp/cgemu-filesXXXXXX", buf[200] = {0};
	struct stat s;
	if (!mkdtemp(dir) || chdir(dir)) return 1;
	umask(022);
	R(open("none", O_RDONLY));
	int fd = open("a", O_RDWR | O_CREAT | O_EXCL, 0666);
	R(fd);
	R(open("a", O_RDWR | O_CREAT | O_EXCL, 0666));
	R(write(fd, "hello world", 11));
	R(lseek(fd, 0, SEEK_SET));
	R(read(fd, buf, 5));
	R(pread(fd, buf, 100, 6));
	R(pwrite(fd, "W", 1, 6));
	R(lseek(fd, -1, SEEK_SET));
	R(lseek(fd, 100, SEEK_END));
	R(write(fd, "x", 1));
	fstat(fd, &s);
	show("a", &s);
	R(lseek(fd, 0, SEEK_DATA));
	struct iovec v[2] = {{buf, 3}, {buf + 50, 4}};
	R(lseek(fd, 0, SEEK_SET));
	R(readv(fd, v, 2));
	printf("%.3s %.4s\n", buf, buf + 50);
	R(writev(fd, v, 2));
	R(preadv(fd, v, 2, 1));
	R(pwritev(fd, v, 2, 200));
	R(syscall(SYS_preadv2, fd, v, 2, -1L, -1L, 0));
	R(ftruncate(fd, 5));
	R(truncate("a", 7));
	R(fallocate(fd, 0, 0, 100));
	R(fsync(fd));
	R(fdatasync(fd));
	R(posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM));
	R(fcntl(fd, F_GETFL));
	R(fcntl(fd, F_SETFL, O_APPEND | O_NONBLOCK));
	R(fcntl(fd, F_GETFL));
	R(fcntl(fd, F_SETFL, 0));
	R(fcntl(fd, F_GETFD));
	R(fcntl(fd, F_SETFD, FD_CLOEXEC));
	R(fcntl(fd, F_GETFD));
	R(fcntl(fd, F_DUPFD, 20));
	R(fcntl(fd, F_DUPFD_CLOEXEC, 20));
	R(fcntl(21, F_GETFD));
	R(dup(fd));
	R(dup2(fd, 30));
	R(dup2(fd, fd));
	R(dup3(fd, fd, 0));
	R(dup3(fd, 31, O_CLOEXEC));
	R(dup2(99, 5));
	R(syscall(SYS_close_range, 20, 31, 0));
	R(fcntl(21, F_GETFD));
	struct flock fl = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	R(fcntl(fd, F_SETLK, &fl));
	R(fcntl(fd, F_GETLK, &fl));
	printf("lock type %d\n", fl.l_type);
	R(flock(fd, LOCK_EX));
	R(flock(fd, LOCK_UN));
	R(close(fd));
	R(close(fd));

	R(mkdir("d", 0777));
	R(mkdir("d", 0777));
	R(mkdir("d/e", 0700));
	R(mkdir("x/y", 0700));
	R(symlink("../a", "d/l"));
	R(symlink("loop", "loop"));
	R(open("loop", O_RDONLY));
	R(link("a", "d/hard"));
	R(link("none", "d/hard2"));
	R(link("a", "d/hard"));
	R(readlink("d/l", buf, 100));
	R(readlink("a", buf, 100));
	R(readlink("d/l", buf, 2));
	stat("d/hard", &s);
	show("hard", &s);
	lstat("d/l", &s);
	show("link", &s);
	stat("d/l", &s);
	show("through link", &s);
	stat("/dev/null", &s);
	show("null", &s);
	stat("/dev/urandom", &s);
	show("urandom", &s);
	list("d");
	R(rmdir("d"));
	R(unlink("d"));
	R(rename("a", "b"));
	R(rename("none", "b"));
	R(rename("d", "d/e/f"));
	R(rename("b", "d/"));
	R(open("d/", O_CREAT | O_EXCL | O_RDWR, 0600));
	R(rename("b", "d"));
	R(syscall(SYS_renameat2, AT_FDCWD, "b", AT_FDCWD, "d/l", 1));
	R(access("b", R_OK | W_OK));
	R(access("b", X_OK | 64));
	R(access("none", F_OK));
	R(faccessat(AT_FDCWD, "d", X_OK, AT_EACCESS));
	R(chmod("b", 0640));
	R(chmod("none", 0640));
	int dfd = open("d", O_RDONLY | O_DIRECTORY);
	R(openat(dfd, "hard", O_RDONLY));
	R(openat(99, "hard", O_RDONLY));
	R(openat(dfd, "../b", O_RDONLY | O_DIRECTORY));
	R(fstatat(dfd, "hard", &s, 0));
	show("fstatat", &s);
	R(fstatat(dfd, "", &s, AT_EMPTY_PATH));
	show("empty path", &s);
	R(fstatat(dfd, "", &s, 0));
	struct timespec ts[2] = {{1234567890, 5}, {1234567890, 6}};
	R(utimensat(dfd, "hard", ts, 0));
	fstatat(dfd, "hard", &s, 0);
	printf("times %ld.%ld %ld.%ld\n", (long)s.st_atim.tv_sec, (long)s.st_atim.tv_nsec, (long)s.st_mtim.tv_sec, (long)s.st_mtim.tv_nsec);
	struct statx sx;
	R(statx(dfd, "hard", 0, STATX_BASIC_STATS, &sx));
	printf("statx %x %o %d %lld %lld %d\n", sx.stx_mask & 0x7ff, sx.stx_mode, sx.stx_nlink, (long long)sx.stx_size, (long long)sx.stx_mtime.tv_sec, sx.stx_mtime.tv_nsec);
	R(fchdir(dfd));
	printf("cwd ok %d\n", getcwd(buf, sizeof buf) && !strcmp(buf + strlen(buf) - 2, "/d"));
	R(getcwd(buf, 3));
	R(mkdir("old", 0755));
	R(chdir("old"));
	R(rename("../old", "../new"));
	printf("renamed cwd ok %d\n", getcwd(buf, sizeof buf) && !strcmp(buf + strlen(buf) - 6, "/d/new"));
	memset(buf, 0, sizeof buf);
	printf("its link %d\n", readlink("/proc/self/cwd", buf, sizeof buf - 1) > 6 && !strcmp(buf + strlen(buf) - 6, "/d/new"));
	R(rmdir("../new"));
	R(syscall(SYS_getcwd, buf, sizeof buf));
	memset(buf, 0, sizeof buf);
	printf("its link %d\n", readlink("/proc/self/cwd", buf, sizeof buf - 1) > 16 && !strcmp(buf + strlen(buf) - 16, "/d/new (deleted)"));
	R(creat("none", 0644));
	R(stat(".", &s));
	printf("%d\n", (int)s.st_nlink);
	R(chdir(".."));
	R(fchdir(dfd));
	R(chdir("none"));
	R(chdir("hard"));
	R(chdir(".."));
	R(unlinkat(dfd, "hard", 0));
	R(unlinkat(dfd, "e", 0));
	R(unlinkat(dfd, "e", AT_REMOVEDIR));
	R(unlinkat(dfd, "l", 0));
	DIR *d = opendir(".");
	int n = 0;
	while (readdir(d)) n++;
	printf("entries %d\n", n);
	rewinddir(d);
	while (readdir(d)) n++;
	printf("entries %d\n", n);
	closedir(d);
	R(getxattr("b", "user.x", buf, 10) < 0);
	R(open(".", O_RDWR));
	R(open(".", O_TMPFILE | O_RDWR, 0600) >= 0);
	R(openat(AT_FDCWD, "b/c", O_RDONLY));
	R(creat("c", 0644) >= 0);
	R(mknod("fifo", S_IFIFO | 0644, 0));
	stat("fifo", &s);
	show("fifo", &s);
	int in = open("b", O_RDONLY), out = open("c", O_RDWR);
	off_t off = 2;
	R(sendfile(out, in, &off, 10));
	R(off);
	R(copy_file_range(in, 0, out, 0, 50, 0));
	R(lseek(out, 0, SEEK_CUR));
	R(ioctl(in, FIONREAD, &n));
	printf("fionread %d\n", n);
	R(isatty(in));
	R(ioctl(in, TIOCGWINSZ, buf));
	R(read(out, buf, 0));
	R(read(out, (void *)8, 10));
	R(write(in, buf, 10));
	R(read(dfd, buf, 10));
	int mfd = memfd_create("m", MFD_CLOEXEC);
	R(write(mfd, "abc", 3));
	fstat(mfd, &s);
	show("memfd", &s);
	int pfd = open("b", O_PATH);
	R(read(pfd, buf, 1));
	R(fstat(pfd, &s));
	char link[64];
	snprintf(link, sizeof link, "/proc/self/fd/%d", in);
	n = readlink(link, buf, sizeof buf);
	printf("proc fd ends with b: %d\n", n > 2 && !memcmp(buf + n - 2, "/b", 2));
	int in2 = open(link, O_RDONLY);
	R(lseek(in2, 0, SEEK_CUR));
	R(lseek(in, 0, SEEK_CUR));
	R(umask(077));
	R(umask(022));
	R(chown("b", -1, -1));
	symlink("nothing", "dangling");
	R(chown("dangling", -1, -1));
	R(lchown("dangling", -1, -1));
	R(fchownat(AT_FDCWD, "dangling", -1, -1, AT_SYMLINK_NOFOLLOW));
	R(fchownat(AT_FDCWD, "b", -1, -1, 0x8000));
	R(fchownat(in, "", -1, -1, AT_EMPTY_PATH));
	R(fchownat(in, 0, -1, -1, AT_EMPTY_PATH));
	R(fchownat(-1, 0, -1, -1, AT_EMPTY_PATH));
	R(fchown(open("b", O_PATH), -1, -1));
	unlink("dangling");
	R(open("", O_RDONLY));
	memset(buf, 'x', sizeof buf);
	char big[5000];
	memset(big, 'y', sizeof big);
	big[4999] = 0;
	R(open(big, O_RDONLY));
	big[300] = 0;
	R(open(big, O_RDONLY));
	cwd(dir);
	R(chdir("/"));
	snprintf(buf, sizeof buf, "%s/", dir);
	const char *rest[] = {"b", "c", "fifo", "loop", "d"};
	for (int i = 0; i < 5; i++) {
		snprintf(buf, sizeof buf, "%s/%s", dir, rest[i]);
		R(remove(buf));
	}
	R(rmdir(dir));
	return 0;
}

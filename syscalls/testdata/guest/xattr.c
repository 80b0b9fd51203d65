// Extended attributes, and openat2.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#ifndef SYS_openat2
#define SYS_openat2 437
#endif
// musl has no linux/openat2.h.
struct open_how { unsigned long long flags, mode, resolve; };
enum { RESOLVE_NO_MAGICLINKS = 2, RESOLVE_NO_SYMLINKS = 4, RESOLVE_BENEATH = 8, RESOLVE_IN_ROOT = 16, RESOLVE_CACHED = 32 };

#define R(x) do { errno = 0; long r_ = (long)(x); int e_ = errno; printf("%-75s %ld %s\n", #x, r_, r_ == -1 ? strerror(e_) : ""); } while (0)

static char b[70000], name[300];

// names counts and sums up, since file systems list in different orders.
static int names(const char *path, int sum) {
	int n = listxattr(path, b, sizeof b), s = 0;
	for (char *p = b; p < b + n; p += strlen(p) + 1)
		if (!strncmp(p, "user.", 5)) s += sum ? p[5] : 1;
	return n < 0 ? n : s;
}

static void attributes(void) {
	int fd = open("f", O_CREAT | O_RDWR, 0644), p[2];
	symlink("f", "l");
	mkdir("d", 0755);
	pipe(p);
	R(getxattr("f", "user.a", b, 10));
	R(setxattr("f", "user.a", "value", 5, XATTR_REPLACE));
	R(setxattr("f", "user.a", "value", 5, 0));
	R(setxattr("f", "user.a", "value", 5, XATTR_CREATE));
	R(setxattr("f", "user.a", "value", 5, 3));
	R(setxattr("f", "user.a", "value", 5, 4));
	R(getxattr("f", "user.a", 0, 0));
	R(getxattr("f", "user.a", b, 4));
	R(getxattr("f", "user.a", b, 10));
	printf("%.5s\n", b);
	R(getxattr("l", "user.a", b, 10));
	R(lgetxattr("l", "user.a", b, 10));
	R(lsetxattr("l", "user.a", "x", 1, 0));
	R(fgetxattr(fd, "user.a", b, 10));
	R(fsetxattr(fd, "user.empty", 0, 0, 0));
	R(getxattr("f", "user.empty", b, 10));
	R(setxattr("d", "user.d", "dir", 3, 0));
	R(names("f", 0));
	R(names("f", 1));
	R(names("d", 0));
	R(flistxattr(fd, b, 1));
	R(listxattr("none", b, 10));
	R(getxattr("none", "user.a", b, 10));
	R(setxattr("none", "user.a", b, 10, 0));
	R(getxattr("f", "", b, 10));
	memset(name, 'x', 299), memcpy(name, "user.", 5);
	R(setxattr("f", name, b, 1, 0));
	R(setxattr("f", "user.", b, 1, 0));
	R(setxattr("f", "nospace", b, 1, 0));
	R(getxattr("f", "nospace", b, 1));
	R(setxattr("f", "user.big", b, 65537, 0));
	R(setxattr("f", (char *)8, b, 1, 0));
	R(setxattr("f", "user.a", (char *)8, 1, 0));
	R(getxattr("f", "user.a", (char *)8, 5));
	R(fgetxattr(99, "user.a", b, 5));
	R(fgetxattr(p[0], "user.a", b, 5));
	R(fgetxattr(open("f", O_PATH), "user.a", b, 5));
	R(removexattr("f", "user.none"));
	R(removexattr("f", "user.a"));
	R(fremovexattr(fd, "user.empty"));
	R(names("f", 0));
	R(lremovexattr("l", "user.a"));
	R(setxattr("f", "user.1", "one", 3, 0));
	R(rename("f", "g"));
	R(getxattr("g", "user.1", b, 10));
	rename("g", "f");
}

static int open2(int dir, const char *path, long flags, long mode, long resolve) {
	struct open_how h = {flags, mode, resolve};
	int fd = syscall(SYS_openat2, dir, path, &h, sizeof h);
	if (fd >= 0) {
		memset(b, 0, 10);
		if (read(fd, b, 9) > 0) printf("%s: ", b);
		close(fd);
		return 0;
	}
	return fd;
}

static void opening(void) {
	struct { struct open_how h; long more; } big = {{O_RDONLY}, 0};
	int fd;
	mkdir("d/in", 0755);
	write(fd = open("d/file", O_CREAT | O_WRONLY, 0644), "inner", 5), close(fd);
	write(fd = open("f", O_WRONLY), "outer", 5), close(fd);
	symlink("../f", "d/up");
	symlink("file", "d/link");
	symlink("/file", "d/abs");
	symlink("in/../link", "d/twice");
	symlink("/proc/self/fd/1", "d/magic");
	symlink("loop", "d/loop");
	int d = open("d", O_RDONLY | O_DIRECTORY);
	R(syscall(SYS_openat2, d, "file", &big, 23));
	R((fd = syscall(SYS_openat2, d, "file", &big, sizeof big)) >= 0);
	R(close(fd));
	big.more = 1;
	R(syscall(SYS_openat2, d, "file", &big, sizeof big));
	R(syscall(SYS_openat2, d, "file", &big, 5000));
	R(syscall(SYS_openat2, d, "file", (void *)8, sizeof big.h));
	R(open2(d, "file", 1L << 40, 0, 0));
	R(open2(d, "file", O_RDONLY, 0600, 0));
	R(open2(d, "file", O_CREAT, 0x10000, 0));
	R(open2(d, "file", O_RDONLY, 0, 0x40));
	R(open2(d, "file", O_PATH | O_RDWR, 0, 0));
	R(open2(d, "file", O_RDONLY, 0, RESOLVE_BENEATH | RESOLVE_IN_ROOT));
	R(open2(d, "file", O_CREAT | O_RDWR, 0600, RESOLVE_CACHED));
	R(open2(d, "file", O_RDONLY, 0, 0));
	R(open2(99, "file", O_RDONLY, 0, RESOLVE_BENEATH));
	R(open2(d, "", O_RDONLY, 0, RESOLVE_BENEATH));
	printf("beneath\n");
	for (int i = 0; i < 4; i++) {
		long how = (long[]){0, RESOLVE_BENEATH, RESOLVE_IN_ROOT, RESOLVE_NO_SYMLINKS}[i];
		printf("%lx\n", how);
		R(open2(d, "file", O_RDONLY, 0, how));
		R(open2(d, "in/../file", O_RDONLY, 0, how));
		R(open2(d, "../f", O_RDONLY, 0, how));
		R(open2(d, "../file", O_RDONLY, 0, how));
		R(open2(d, "in/../../d/file", O_RDONLY, 0, how));
		R(open2(d, "up", O_RDONLY, 0, how));
		R(open2(d, "link", O_RDONLY, 0, how));
		R(open2(d, "link", O_PATH | O_NOFOLLOW, 0, how));
		R(open2(d, "twice", O_RDONLY, 0, how));
		R(open2(d, "abs", O_RDONLY, 0, how));
		R(open2(d, "/file", O_RDONLY, 0, how));
		R(open2(d, "loop", O_RDONLY, 0, how));
		R(open2(d, "none", O_RDONLY, 0, how));
		R(open2(d, "file/x", O_RDONLY, 0, how));
		R(open2(d, ".", O_RDONLY | O_DIRECTORY, 0, how));
		R(open2(d, "..", O_PATH, 0, how));
		R(open2(d, "made", O_CREAT | O_RDWR | O_EXCL, 0600, how));
		R(unlinkat(d, "made", 0));
	}
	R(open2(AT_FDCWD, "/dev/null", O_RDONLY, 0, RESOLVE_NO_SYMLINKS));
	R(open2(AT_FDCWD, "/proc/self/fd/1", O_WRONLY, 0, RESOLVE_NO_MAGICLINKS));
	R(open2(AT_FDCWD, "/proc/self/status", O_PATH, 0, RESOLVE_NO_MAGICLINKS));
	R(open2(AT_FDCWD, "/proc/self/status", O_PATH, 0, RESOLVE_NO_SYMLINKS));
	R(open2(d, "magic", O_WRONLY, 0, RESOLVE_NO_MAGICLINKS));
}

int main(void) {
	setvbuf(stdout, 0, _IONBF, 0);
	char dir[] = "/tmp/cgemu-xattrXXXXXX";
	if (!mkdtemp(dir) || chdir(dir)) return 1;
	attributes();
	opening();
	chdir("/");
	sprintf(b, "rm -r %s", dir);
	return system(b);
}

// A guest that tries to leave its root, or to change files that it has read-only: by names, by descriptors, over /proc, /dev and links,
// by what it makes itself, and by what other calls than open(2) do with names. walls_test.go runs it, with both walls and with the second
// alone.
//
//     escapes KINDS OUTSIDE INSIDE PORT
//
// KINDS is any of r (read what is outside), w (change it) and n (connect to who listens there). OUTSIDE has files f0, f1 … with "text",
// INSIDE is where the guest may write, if anywhere. Each attempt prints a line: held, or ESCAPED.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

static const char *kinds, *outside, *inside;
static int nth;

// out is the next file outside, path any name there.
static char *path(const char *dir, const char *name) {
	char *s;
	asprintf(&s, "%s/%s", dir, name);
	return s;
}

static char *out(void) {
	char name[20];
	sprintf(name, "f%d", nth++);
	return path(outside, name);
}

static char *fresh(const char *dir) {
	char name[20];
	sprintf(name, "new%d", nth++);
	return path(dir, name);
}

static void report(char kind, const char *name, long r) {
	printf("%c %s: ", kind, name);
	if (r < 0)
		printf("held: %s\n", strerror(errno));
	else
		printf("ESCAPED\n");
	errno = 0;
}

#define T(kind, name, expr) \
	if (strchr(kinds, kind)) report(kind, name, expr)

// reads is 0 if fd reads what is outside.
static int reads(int fd) {
	char b[8] = {0};
	if (fd < 0) return -1;
	int n = read(fd, b, 4);
	close(fd);
	if (n == 4 && !strcmp(b, "text")) return 0;
	if (n >= 0) errno = ENODATA;
	return -1;
}

static int lists(const char *name) {
	DIR *d = opendir(name);
	struct dirent *e;
	if (!d) return -1;
	while ((e = readdir(d)))
		if (!strcmp(e->d_name, "f0")) return 0;
	errno = ENODATA;
	return -1;
}

static char *fdname(const char *form, int fd, const char *rest) {
	char *s, *t;
	asprintf(&s, form, fd);
	asprintf(&t, "%s%s", s, rest);
	return t;
}

static int linked(const char *target, const char *rest) {
	char *l = fresh(inside);
	char *name;
	if (symlink(target, l) < 0) return -1;
	asprintf(&name, "%s%s", l, rest);
	return reads(open(name, O_RDONLY));
}

static int moved(void) { // a directory that is moved while it is the working directory
	char *a = fresh(inside), *b = path(a, "b"), *c = fresh(inside);
	if (mkdir(a, 0700) < 0 || mkdir(b, 0700) < 0 || chdir(b) < 0 || rename(b, c) < 0) return -1;
	char name[4096];
	snprintf(name, sizeof name, "../../../../../../../../../..%s", out());
	int r = reads(open(name, O_RDONLY));
	chdir("/");
	return r;
}

static int forked(const char *name) {
	int ws;
	pid_t pid = fork();
	if (!pid) {
		execl(name, "x", (char *)0);
		_exit(errno == 0 ? 200 : errno);
	}
	waitpid(pid, &ws, 0);
	errno = WEXITSTATUS(ws);
	return errno ? -1 : 0;
}

static int script(const char *interpreter) {
	char *name = fresh(inside);
	int fd = open(name, O_CREAT | O_WRONLY, 0700);
	if (fd < 0) return -1;
	dprintf(fd, "#!%s\n", interpreter);
	close(fd);
	return forked(name);
}

static int shared(int prot, int then) { // a shared mapping of a file that is open for reading
	int fd = open(out(), O_RDONLY);
	if (fd < 0) return -1;
	char *p = mmap(0, 4096, prot, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED || then && mprotect(p, 4096, then) < 0) return -1;
	p[0] = 'X';
	return 0;
}

static int onfd(int (*f)(int)) {
	int fd = open(out(), O_RDONLY);
	return fd < 0 ? -1 : f(fd);
}
static int chmods(int fd) { return fchmod(fd, 0777); }
static int touches(int fd) { return futimens(fd, 0); }
static int cuts(int fd) { return ftruncate(fd, 0); }
static int allots(int fd) { return fallocate(fd, 0, 0, 10000); }
static int names(int fd) { return fsetxattr(fd, "user.a", "b", 1, 0); }
static int writes(int fd) { return write(fd, "X", 1); }
static int reopens(int fd) { return open(fdname("/proc/self/fd/%d", fd, ""), O_RDWR); }
static int reopens2(int fd) { return open(fdname("/dev/fd/%d", fd, ""), O_WRONLY | O_TRUNC); }
static int cutsagain(int fd) { return truncate(fdname("/proc/self/fd/%d", fd, ""), 0); }
static int chmodsagain(int fd) { return chmod(fdname("/proc/thread-self/fd/%d", fd, ""), 0777); }
static int splices(int fd) {
	int p[2];
	pipe(p);
	write(p[1], "X", 1);
	return splice(p[0], 0, fd, 0, 1, 0);
}
static int copies(int fd) { return copy_file_range(fd, &(off_t){0}, fd, &(off_t){100}, 4, 0); }
static int sends(int fd) { return sendfile(fd, fd, &(off_t){0}, 4); }
static int clones(int fd) { return ioctl(fd, 0x40049409, fd); }
static int marks(int fd) { return ioctl(fd, 0x40086602, &(int){0x40}); }

static int local(const char *name, int len, int binds) {
	struct sockaddr_un a = {AF_UNIX};
	memcpy(a.sun_path, name, len);
	int s = socket(AF_UNIX, SOCK_STREAM, 0);
	socklen_t n = 2 + len;
	return binds ? bind(s, (void *)&a, n) : connect(s, (void *)&a, n);
}

static int tcp(const char *ip, int port) {
	struct sockaddr_in a = {AF_INET, htons(port)};
	a.sin_addr.s_addr = inet_addr(ip);
	return connect(socket(AF_INET, SOCK_STREAM, 0), (void *)&a, sizeof a);
}

static void reading(void) {
	int root = open("/", O_RDONLY | O_DIRECTORY), rootp = open("/", O_PATH), fd;
	char *o = out(), up[4096];
	struct { unsigned long long flags, mode, resolve; } how = {0};
	T('r', "by its name", reads(open(o, O_RDONLY)));
	snprintf(up, sizeof up, "/../../../../..%s", o);
	T('r', "above the root", reads(open(up, O_RDONLY)));
	T('r', "above the root from the working directory", reads(open(up + 1, O_RDONLY)));
	T('r', "above a descriptor", reads(openat(root, up + 1, O_RDONLY)));
	T('r', "above a descriptor of a path", reads(openat(rootp, up + 1, O_RDONLY)));
	T('r', "over /proc/self/root", reads(open(path("/proc/self/root/..", o), O_RDONLY)));
	T('r', "over /proc/self/cwd", reads(open(path("/proc/self/cwd/../../../..", o), O_RDONLY)));
	T('r', "over /proc/1/root", reads(open(path("/proc/1/root", o), O_RDONLY)));
	T('r', "over a thread's root", reads(open(path("/proc/thread-self/root/..", o), O_RDONLY)));
	T('r', "over a descriptor in /proc", reads(open(fdname("/proc/self/fd/%d", root, up), O_RDONLY)));
	T('r', "over a descriptor in /dev", reads(open(fdname("/dev/fd/%d", rootp, up), O_RDONLY)));
	T('r', "over /dev/shm", reads(open(path("/dev/shm/../../..", o), O_RDONLY)));
	T('r', "over /dev", reads(open(path("/dev/null/../..", o), O_RDONLY)));
	T('r', "openat2", reads(syscall(437, root, up + 1, &how, sizeof how)));
	how.resolve = 0x10;
	T('r', "openat2 with RESOLVE_IN_ROOT", reads(syscall(437, root, o, &how, sizeof how)));
	T('r', "a link", linked(o, ""));
	T('r', "a relative link", linked(up + 1, ""));
	T('r', "a link to the directory", linked(outside, strrchr(o, '/')));
	T('r', "a link over /proc", linked(path("/proc/self/root/..", o), ""));
	T('r', "a link in /dev/shm", (symlink(o, "/dev/shm/l"), reads(open("/dev/shm/l", O_RDONLY))));
	T('r', "a directory that was moved", moved());
	T('r', "a hard link", link(o, fresh(inside)));
	T('r', "a hard link to what is open as a path", (fd = open(o, O_PATH), linkat(fd, "", AT_FDCWD, fresh(inside), AT_EMPTY_PATH)));
	T('r', "moved inside", rename(o, fresh(inside)));
	T('r', "listed", lists(outside));
	T('r', "listed over links", lists(path("/proc/self/root/..", outside)));
	T('r', "executed", forked("/bin/true"));
	T('r', "a script's interpreter", script("/bin/true"));
	T('r', "mapped", (fd = open(o, O_RDONLY), fd < 0 ? -1 : mmap(0, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED ? -1 : 0));
	T('r', "a handle", syscall(SYS_open_by_handle_at, root, (char[64]){8, 0, 0, 0, 1, 0, 0, 0, 2}, O_RDONLY));
	T('r', "watched", inotify_add_watch(inotify_init(), outside, IN_ALL_EVENTS) < 0 ? -1 : reads(open(o, 0)));
}

static void changing(void) {
	struct timeval tv[2] = {{1, 0}, {1, 0}};
	int dir;
	T('w', "open to write", open(out(), O_WRONLY));
	T('w', "open to read and write", open(out(), O_RDWR));
	T('w', "open to append", open(out(), O_WRONLY | O_APPEND));
	T('w', "open to truncate", open(out(), O_WRONLY | O_TRUNC));
	T('w', "open to read and truncate", open(out(), O_RDONLY | O_TRUNC));
	T('w', "open to make or write", open(out(), O_CREAT | O_WRONLY, 0600));
	T('w', "make", open(fresh(outside), O_CREAT | O_WRONLY, 0600));
	T('w', "make to read", open(fresh(outside), O_CREAT | O_RDONLY, 0600));
	T('w', "make what is not there yet", open(fresh(outside), O_CREAT | O_EXCL | O_RDWR, 0600));
	T('w', "make without a name", open(outside, O_TMPFILE | O_RDWR, 0600));
	T('w', "creat", creat(out(), 0600));
	T('w', "make over a link in /dev/shm", (symlink(fresh(outside), "/dev/shm/m"), open("/dev/shm/m", O_CREAT | O_WRONLY, 0600)));
	T('w', "write over a link in /dev/shm", (symlink(out(), "/dev/shm/n"), open("/dev/shm/n", O_WRONLY)));
	T('w', "make in a directory over a link in /dev/shm",
	  (symlink(outside, "/dev/shm/d"), open(fresh("/dev/shm/d"), O_CREAT | O_WRONLY, 0600)));
	T('w', "the same from there", (chdir("/dev/shm/d") < 0 ? -1 : open("made", O_CREAT | O_WRONLY, 0600)));
	chdir("/");
	T('w', "truncate", truncate(out(), 0));
	T('w', "chmod", chmod(out(), 0777));
	T('w', "fchmodat2", syscall(452, AT_FDCWD, out(), 0777, AT_SYMLINK_NOFOLLOW));
	T('w', "utimes", utimes(out(), tv));
	T('w', "utimes of a link", lutimes(out(), tv));
	T('w', "setxattr", setxattr(out(), "user.a", "b", 1, 0));
	T('w', "lsetxattr", lsetxattr(out(), "user.a", "b", 1, 0));
	T('w', "unlink", unlink(out()));
	T('w', "unlink over a link", (symlink(outside, "/dev/shm/u"), unlink("/dev/shm/u/f0")));
	T('w', "unlink beside a descriptor",
	  (dir = open(outside, O_PATH | O_DIRECTORY), dir < 0 ? -1 : unlinkat(dir, "f1", 0)));
	T('w', "rmdir", rmdir(path(outside, "dir")));
	T('w', "mkdir", mkdir(fresh(outside), 0700));
	T('w', "symlink", symlink("x", fresh(outside)));
	T('w', "mknod", mknod(fresh(outside), S_IFREG | 0600, 0));
	T('w', "mkfifo", mkfifo(fresh(outside), 0600));
	T('w', "bind", local(path(outside, "own"), strlen(outside) + 5, 1));
	T('w', "link", link(out(), fresh(outside)));
	T('w', "link to /dev/shm", link(out(), fresh("/dev/shm")));
	T('w', "rename", rename(out(), fresh(outside)));
	T('w', "rename to /dev/shm", rename(out(), fresh("/dev/shm")));
	T('w', "rename from /dev/shm", (close(open("/dev/shm/own", O_CREAT | O_WRONLY, 0600)), rename("/dev/shm/own", out())));
	T('w', "exchange with /dev/shm", syscall(SYS_renameat2, AT_FDCWD, out(), AT_FDCWD, "/dev/shm/l", 2));
	T('w', "a shared mapping", shared(PROT_READ | PROT_WRITE, 0));
	T('w', "a shared mapping made writable", shared(PROT_READ, PROT_READ | PROT_WRITE));
	T('w', "write to a FIFO", open(path(outside, "fifo"), O_RDWR | O_NONBLOCK));
	T('w', "write to a disk", open("/dev/vda", O_RDWR));
	T('w', "write to the kernel's log", open("/dev/kmsg", O_WRONLY));
	T('w', "fchmod", onfd(chmods));
	T('w', "futimens", onfd(touches));
	T('w', "ftruncate", onfd(cuts));
	T('w', "fallocate", onfd(allots));
	T('w', "fsetxattr", onfd(names));
	T('w', "write", onfd(writes));
	T('w', "open again", onfd(reopens));
	T('w', "open again in /dev", onfd(reopens2));
	T('w', "truncate what is open", onfd(cutsagain));
	T('w', "chmod what is open", onfd(chmodsagain));
	T('w', "splice", onfd(splices));
	T('w', "copy_file_range", onfd(copies));
	T('w', "sendfile", onfd(sends));
	T('w', "clone", onfd(clones));
	T('w', "flags of the inode", onfd(marks));
}

// Two threads race: one exchanges a directory of its own and a link that leads outside, the other opens to write below it.
static volatile int racing = 1;

static void *exchanges(void *arg) {
	while (racing) syscall(SYS_renameat2, AT_FDCWD, "/dev/shm/race", AT_FDCWD, "/dev/shm/link", 2);
	return 0;
}

static int race(void) {
	pthread_t t;
	int got = 0;
	char name[40], *o = out();
	mkdir("/dev/shm/race", 0700);
	sprintf(name, "/dev/shm/race%s", strrchr(o, '/'));
	close(open(name, O_CREAT | O_WRONLY, 0600));
	symlink(outside, "/dev/shm/link");
	pthread_create(&t, 0, exchanges, 0);
	for (int i = 0; i < 2000; i++) {
		int fd = open(name, O_WRONLY | O_CREAT, 0600);
		struct stat st;
		if (fd >= 0 && !fstat(fd, &st) && st.st_size == 4) got = 1; // it has text
		close(fd);
	}
	racing = 0;
	pthread_join(t, 0);
	errno = EROFS;
	return got ? 0 : -1;
}

int main(int argc, char **argv) {
	if (argc < 5) return 2;
	kinds = argv[1], outside = argv[2], inside = argv[3];
	setbuf(stdout, 0);
	reading();
	changing();
	T('w', "two threads", race());
	char *sock = path(outside, "sock");
	T('n', "connect to a socket file", local(sock, strlen(sock) + 1, 0));
	char name[100] = {0};
	strcpy(name + 1, outside);
	T('n', "connect to an abstract name", local(name, strlen(outside) + 1, 0));
	T('n', "connect to TCP", tcp("127.0.0.1", atoi(argv[4])));
	T('n', "connect to any address", tcp("0.0.0.0", atoi(argv[4])));
	T('n', "connect to the host behind the router", tcp("10.0.2.2", atoi(argv[4])));
	return 0;
}

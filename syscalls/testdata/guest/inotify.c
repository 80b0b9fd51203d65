// Events of files and directories.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define R(x) do { errno = 0; long r_ = (long)(x); int e_ = errno; printf("%-60s %ld %s\n", #x, r_, r_ == -1 ? strerror(e_) : ""); } while (0)
#define DO(x) do { x; printf("%s:\n", #x); drain(); } while (0)

static int in;

static void drain(void) {
	char b[8192] __attribute__((aligned(8)));
	unsigned cookie = 0;
	int n;
	while ((n = read(in, b, sizeof b)) > 0)
		for (char *p = b; p < b + n;) {
			struct inotify_event *e = (void *)p;
			printf("  %d %x len %d %s%s\n", e->wd, e->mask, e->len, e->len ? e->name : "", !e->cookie ? "" : e->cookie == cookie ? " same" : " cookie");
			cookie = e->cookie;
			p += sizeof *e + e->len;
		}
}

int main(void) {
	setvbuf(stdout, 0, _IONBF, 0);
	char dir[] = "/tmp/cgemu-inotifyXXXXXX", b[200];
	int fd, n, w, f, out;
	struct pollfd p;
	if (!mkdtemp(dir) || chdir(dir)) return 1;
	R(inotify_init1(1));
	R((in = inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) >= 0);
	R(fcntl(in, F_GETFL));
	R(fcntl(in, F_GETFD));
	R(inotify_add_watch(in, ".", 0));
	R(inotify_add_watch(in, "none", IN_ALL_EVENTS));
	R(inotify_add_watch(99, ".", IN_ALL_EVENTS));
	R(inotify_add_watch(1, ".", IN_ALL_EVENTS));
	R(inotify_add_watch(in, ".", IN_ALL_EVENTS | IN_MASK_ADD | IN_MASK_CREATE));
	R(inotify_add_watch(in, ".", IN_ALL_EVENTS | 0x1000));
	R(inotify_add_watch(99, "none", IN_ALL_EVENTS | 0x10000));
	R(inotify_add_watch(in, (char *)8, IN_ALL_EVENTS));
	R(inotify_rm_watch(in, 1));
	R(inotify_rm_watch(99, 1));
	R(inotify_rm_watch(1, 1));
	R(read(in, b, 100));
	R(write(in, b, 100));
	R(lseek(in, 0, SEEK_SET));
	mkdir("d", 0777);
	R(inotify_add_watch(in, "d", IN_ALL_EVENTS));
	R(inotify_add_watch(in, "d", IN_ALL_EVENTS));
	R(inotify_add_watch(in, "d", IN_ALL_EVENTS | IN_MASK_CREATE));
	close(open("f", O_CREAT | O_WRONLY, 0666));
	R(inotify_add_watch(in, "f", IN_ALL_EVENTS | IN_ONLYDIR));
	R(w = inotify_add_watch(in, "f", IN_ALL_EVENTS));
	p = (struct pollfd){in, POLLIN | POLLOUT};
	R(poll(&p, 1, 0));

	DO(fd = open("d/a", O_CREAT | O_RDWR, 0666));
	p.revents = 0;
	DO(write(fd, "hello", 5));
	R(poll(&p, 1, 0));
	write(fd, "hello", 5);
	write(fd, "hello", 5);
	R(poll(&p, 1, 0));
	R(p.revents);
	R(ioctl(in, FIONREAD, &n));
	R(n);
	R(read(in, b, 10));
	drain();
	DO(pwrite(fd, "", 0, 0));
	DO(lseek(fd, 0, SEEK_SET));
	DO(read(fd, b, 5));
	DO(pread(fd, b, 5, 100));
	DO(ftruncate(fd, 3));
	DO(fchmod(fd, 0600));
	DO(fallocate(fd, 0, 0, 10));
	DO(futimens(fd, 0));
	DO(dup2(fd, 50));
	DO(close(fd));
	DO(close(50));
	DO(close(open("d/a", O_RDONLY)));
	DO(close(open("d/a", O_WRONLY | O_TRUNC)));
	DO(close(open("d/a", O_PATH)));
	DO(close(open("d", O_RDONLY)));
	DO(close(open("f", O_RDONLY)));
	DO(truncate("f", 10));
	DO(chmod("f", 0644));
	DO(utimensat(AT_FDCWD, "f", (struct timespec[]){{0, UTIME_OMIT}, {5, 5}}, 0));
	DO(utimensat(AT_FDCWD, "f", (struct timespec[]){{5, 5}, {0, UTIME_OMIT}}, 0));
	DO(utimensat(AT_FDCWD, "d/a", (struct timespec[]){{5, 5}, {5, 5}}, 0));
	DO(access("d/a", R_OK));
	DO(mkdir("d/sub", 0777));
	DO(rmdir("d/sub"));
	DO(symlink("a", "d/s"));
	DO(readlink("d/s", b, 10));
	DO(unlink("d/s"));
	DO(mkfifo("d/p", 0666));
	DO(unlink("d/p"));
	DO(link("d/a", "d/b"));
	DO(link("f", "d/f"));
	DO(unlink("d/f"));
	DO(rename("d/a", "d/c"));
	DO(rename("d/c", "d/b"));
	DO(unlink("d/c"));
	DO(rename("d/b", "out"));
	DO(rename("out", "d/a-name-of-more-than-sixteen-bytes"));
	DO(rename("d", "e"));
	DO(rename("e", "d"));
	DO(rename("none", "d/x"));
	DIR *o;
	DO(o = opendir("d"));
	DO(readdir(o));
	DO(closedir(o));
	f = open("f", O_RDONLY), out = open("d/out", O_CREAT | O_WRONLY, 0666), drain();
	DO(sendfile(out, f, 0, 5));
	DO(close(out));
	DO(close(f));

	R(inotify_add_watch(in, "d", IN_CREATE));
	DO(close(open("d/n", O_CREAT | O_WRONLY, 0666)));
	R(inotify_add_watch(in, "d", IN_DELETE | IN_MASK_ADD));
	DO(unlink("d/n"));
	DO(close(open("d/n", O_CREAT | O_WRONLY, 0666)));
	R(inotify_add_watch(in, "d", IN_CREATE | IN_ONESHOT));
	DO(close(open("d/n1", O_CREAT | O_WRONLY, 0666)));
	DO(close(open("d/n2", O_CREAT | O_WRONLY, 0666)));
	R(inotify_add_watch(in, "d", IN_ALL_EVENTS));
	DO(rename("d/n1", "f"));
	R(inotify_rm_watch(in, w));
	R(w = inotify_add_watch(in, "f", IN_ALL_EVENTS));
	fd = open("f", O_RDWR), drain();
	DO(unlink("f"));
	DO(write(fd, "x", 1));
	DO(close(fd));
	R(inotify_rm_watch(in, w));
	R(w = inotify_add_watch(in, "d/n2", IN_ATTRIB | IN_DELETE_SELF));
	DO(unlink("d/n2"));
	R(w = inotify_add_watch(in, "d/out", IN_MODIFY));
	DO(unlink("d/out"));
	close(open("l", O_CREAT | O_WRONLY, 0666));
	symlink("l", "link");
	R(w = inotify_add_watch(in, "link", IN_ALL_EVENTS | IN_DONT_FOLLOW));
	DO(close(open("link", O_RDONLY)));
	DO(unlink("link"));
	R(w = inotify_add_watch(in, "l", IN_ALL_EVENTS));
	R(inotify_rm_watch(in, w));
	drain();
	int ep = epoll_create1(0);
	struct epoll_event ev = {EPOLLIN};
	R(epoll_ctl(ep, EPOLL_CTL_ADD, in, &ev));
	R(epoll_wait(ep, &ev, 1, 0));
	mkdir("d/z", 0777);
	R(epoll_wait(ep, &ev, 1, 0));
	drain();
	mkdir("g", 0777);
	R(inotify_add_watch(in, "g", IN_ALL_EVENTS));
	DO(rmdir("g"));
	R(inotify_add_watch(in, "d", IN_OPEN | IN_EXCL_UNLINK | IN_MODIFY));
	fd = open("d/u", O_CREAT | O_WRONLY, 0666);
	unlink("d/u");
	DO(write(fd, "x", 1));
	R(close(in));
	chdir("/");
	sprintf(b, "rm -r %s", dir);
	return system(b);
}

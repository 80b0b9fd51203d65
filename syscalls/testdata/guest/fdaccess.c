// access(2) of what /proc/self/fd leads to: of the file, not of the link.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static void all(const char *what, int fd) {
	char name[40];
	snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
	printf("%s:", what);
	for (int mode = 0; mode < 8; mode++) {
		errno = 0;
		int r = access(name, mode);
		printf(" %d", r ? errno : 0);
		errno = 0;
		r = faccessat(AT_FDCWD, name, mode, AT_EACCESS);
		printf("/%d", r ? errno : 0);
	}
	puts("");
}

int main(void) {
	char dir[] = "/tmp/fdaccessXXXXXX";
	int p[2], s[2];
	if (!mkdtemp(dir) || chdir(dir)) return 1;
	close(open("x", O_CREAT | O_WRONLY, 0700));
	all("path", open("x", O_PATH));
	all("read", open("x", O_RDONLY));
	all("write", open("x", O_WRONLY));
	all("directory", open(".", O_RDONLY | O_DIRECTORY));
	all("directory's path", open(".", O_PATH));
	int fd = open("x", O_RDONLY);
	unlink("x");
	all("gone", fd);
	pipe(p), socketpair(AF_UNIX, SOCK_STREAM, 0, s);
	all("pipe", p[0]), all("pipe", p[1]), all("socket", s[0]);
	all("memory", memfd_create("m", 0));
	all("closed", 99);
	chdir("/");
	rmdir(dir);
}

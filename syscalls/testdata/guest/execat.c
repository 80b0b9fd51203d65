// execveat(2): programs and scripts below a directory's descriptor and by their own, and what is no program.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char self[4096], script[5000];

// ran is what the program does when it is executed.
static int ran(const char *what) {
	char comm[17] = "", exe[4096] = "";
	readlink("/proc/self/exe", exe, sizeof exe - 1);
	char *base = strrchr(exe, '/'), *name = (char *)getauxval(AT_EXECFN);
	prctl(PR_GET_NAME, comm);
	// The name of a program that is executed by its own descriptor is another since Linux 6.14.
	printf("%s: ran as %s, which is %s%s%s\n", what, name, base, strcmp(base, "/p") ? "" : ", name ", strcmp(base, "/p") ? "" : strrchr(name, '/') - name > 7 ? comm : "");
	return 0;
}

static void try(const char *what, int fd, const char *name, int flags) {
	fflush(stdout);
	if (fork() == 0) {
		char *args[] = {"prog", (char *)what, 0}, *env[] = {0};
		syscall(SYS_execveat, fd, name, args, env, flags);
		printf("%s: %s\n", what, strerror(errno));
		fflush(stdout);
		_exit(1);
	}
	wait(0);
}

static int make(const char *name, const char *text) {
	int fd = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0755);
	write(fd, text, strlen(text));
	return close(fd);
}

static void copySelf(int to) {
	char b[65536];
	int n, in = open(self, O_RDONLY);
	while ((n = read(in, b, sizeof b)) > 0)
		write(to, b, n);
	close(in);
}

static void programs(int dir) {
	int fd = open("d/p", O_CREAT | O_WRONLY, 0755);
	copySelf(fd);
	try("still written", dir, "p", 0);
	close(fd);
	symlink("p", "d/l");
	int path = open("d", O_PATH), p = open("d/p", O_RDONLY | O_CLOEXEC), pp = open("d/p", O_PATH), l = open("d/l", O_PATH | O_NOFOLLOW);
	try("in a directory", dir, "p", 0);
	try("link", dir, "l", 0);
	try("link, not followed", dir, "l", AT_SYMLINK_NOFOLLOW);
	try("O_PATH of the directory", path, "p", 0);
	try("own descriptor", p, "", AT_EMPTY_PATH);
	try("own O_PATH", pp, "", AT_EMPTY_PATH);
	try("O_PATH of the link", l, "", AT_EMPTY_PATH);
	try("below the link", l, "x", 0);
	try("below the program", p, "x", 0);
	try("below its O_PATH", pp, "x", 0);
	try("nothing", dir, "nothing", 0);
	try("no name", p, 0, AT_EMPTY_PATH);
	try("empty", p, "", 0);
	try("flags", dir, "p", 0x20);
	try("absolute", -1, "/proc/self/exe", 0);
	unlink("d/p");
	unlink("d/l");
	try("unlinked", p, "", AT_EMPTY_PATH);
}

static void scripts(int dir) {
	make("d/s", script);
	int fd = open("d/s", O_RDONLY), closes = open("d/s", O_RDONLY | O_CLOEXEC), closing = open("d", O_RDONLY | O_CLOEXEC);
	try("script", dir, "s", 0);
	try("script's descriptor", fd, "", AT_EMPTY_PATH);
	try("closes", closes, "", AT_EMPTY_PATH);
	try("directory closes", closing, "s", 0);
	unlink("d/s");
	try("unlinked script", fd, "", AT_EMPTY_PATH);
	rmdir("d");
	try("directory gone", dir, "s", 0);
	try("the directory", dir, "", AT_EMPTY_PATH);
}

static void others(void) {
	int p[2], event = eventfd(0, 0), sock = socket(AF_UNIX, SOCK_STREAM, 0), proc = open("/proc", O_RDONLY), status = open("/proc/self/status", O_RDONLY);
	pipe(p);
	int fds[] = {p[0], event, sock, proc, status, -1, 900};
	for (int i = 0; i < sizeof fds / sizeof *fds; i++) {
		try("other kind", fds[i], "", AT_EMPTY_PATH);
		try("below it", fds[i], "x", 0);
	}
	try("version", proc, "version", 0);
	int mem = memfd_create("mem", 0);
	copySelf(mem);
	try("memfd", mem, "", AT_EMPTY_PATH);
	make("n", "");
	chmod("n", 0644);
	try("not executable", open("n", O_RDONLY), "", AT_EMPTY_PATH);
	unlink("n");
}

int main(int argc, char **argv) {
	if (argc == 2)
		return ran(argv[1]);
	if (argc > 2)
		return printf("script %s, %s\n", argv[2], argv[3]) < 0;
	realpath("/proc/self/exe", self);
	snprintf(script, sizeof script, "#!%s script\n", self);
	char dir[] = "/tmp/cgemu-execatXXXXXX";
	chdir(mkdtemp(dir));
	mkdir("d", 0755);
	int fd = open("d", O_RDONLY);
	programs(fd);
	scripts(fd);
	others();
	chdir("/");
	rmdir(dir);
	return 0;
}

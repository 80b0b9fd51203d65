// Argument lists up to the last byte that execve(2) takes, and O_APPEND that fcntl(2) clears and sets.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *self = "/proc/self/exe";

static char *string(size_t n) {
	char *s = malloc(n + 1);
	memset(s, 'a', n);
	s[n] = 0;
	return s;
}

// attempt executes the program with args, and tells what became of it.
static void attempt(const char *what, char **args) {
	char *env[] = {0};
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		execve(self, args, env);
		_exit(errno);
	}
	int status;
	waitpid(pid, &status, 0);
	printf("%s: %s %d\n", what, WIFEXITED(status) ? "exit" : "signal", WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

// filled makes arguments that leave so many bytes of the limit free.
static char **filled(long limit, long left) {
	static char *args[100];
	long room = limit - left - (strlen(self) + 1);
	int n = 0;
	args[n++] = "x";
	room -= 2 + 8;
	while (room > 100000) {
		args[n++] = string(99991);
		room -= 100000;
	}
	args[n++] = string(room - 9);
	args[n] = 0;
	return args;
}

static void appended(void) {
	char name[] = "/tmp/append.XXXXXX", b[32] = {0};
	close(mkstemp(name));
	int fd = open(name, O_RDWR | O_APPEND);
	write(fd, "hello", 5);
	printf("%d\n", fcntl(fd, F_GETFL) & O_APPEND);
	fcntl(fd, F_SETFL, 0);
	pwrite(fd, "J", 1, 0);
	lseek(fd, 1, SEEK_SET);
	write(fd, "E", 1);
	printf("%d\n", fcntl(fd, F_GETFL) & O_APPEND);
	fcntl(fd, F_SETFL, O_APPEND);
	lseek(fd, 0, SEEK_SET);
	write(fd, "!", 1);
	pwrite(fd, "?", 1, 0); // "appends […] regardless of the value of offset" - pwrite(2), BUGS
	pread(fd, b, sizeof b, 0);
	printf("%s, at %ld\n", b, (long)lseek(fd, 0, SEEK_CUR));
	unlink(name);
}

int main(int argc, char **argv) {
	if (argc != 1 || strcmp(argv[0], "x") == 0)
		return 0;
	char *longest[] = {"x", string(131071), 0}, *longer[] = {"x", string(131072), 0};
	attempt("the longest string", longest);
	attempt("a longer one", longer);
	struct rlimit l = {8 << 20, RLIM_INFINITY};
	setrlimit(RLIMIT_STACK, &l);
	attempt("a full list", filled(2 << 20, 0));
	attempt("one byte more", filled(2 << 20, -1));
	l.rlim_cur = 256 << 10;
	setrlimit(RLIMIT_STACK, &l);
	attempt("a small stack, a full list", filled(128 << 10, 0));
	attempt("one byte more", filled(128 << 10, -1));
	l.rlim_cur = 8 << 20;
	setrlimit(RLIMIT_STACK, &l);
	char **many = calloc(6001, sizeof *many);
	for (int i = 0; i < 6000; i++)
		many[i] = longest[1];
	attempt("one string 6000 times", many);
	appended();
	return 0;
}

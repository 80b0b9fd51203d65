// execve of the process itself: what is kept and what is not.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

extern char **environ;
static void handler(int s) {}

int main(int argc, char **argv) {
	setvbuf(stdout, 0, _IONBF, 0);
	if (argc == 1) {
		char *args[] = {"zero", "one", "two words", 0}, *env[] = {"A=1", "B=", 0}, *none[] = {0};
		printf("none %d %d\n", execve("/nonexistent", args, env), errno);
		printf("dir %d %d\n", execve("/", args, env), errno);
		printf("noexec %d %d\n", execve("/etc/passwd", args, env), errno);
		printf("fault %d %d\n", execve("/bin/true", (char **)8, env), errno);
		(void)none;
		signal(SIGUSR1, handler);
		signal(SIGUSR2, SIG_IGN);
		sigset_t s;
		sigemptyset(&s);
		sigaddset(&s, SIGHUP);
		sigprocmask(SIG_BLOCK, &s, 0);
		fcntl(10, F_SETFD, 0);
		dup2(0, 10);
		dup3(0, 11, O_CLOEXEC);
		printf("%d\n", getpid() > 0);
		execve("/proc/self/exe", args, env);
		return 1;
	}
	for (int i = 0; i < argc; i++) printf("arg %s\n", argv[i]);
	for (char **e = environ; *e; e++) printf("env %s\n", *e);
	struct sigaction a, b;
	sigset_t s;
	sigaction(SIGUSR1, 0, &a);
	sigaction(SIGUSR2, 0, &b);
	sigprocmask(SIG_BLOCK, 0, &s);
	printf("%d %d %d\n", a.sa_handler == SIG_DFL, b.sa_handler == SIG_IGN, sigismember(&s, SIGHUP));
	printf("%d %d\n", fcntl(10, F_GETFD), fcntl(11, F_GETFD));
	char name[16];
	prctl(PR_GET_NAME, name);
	printf("comm %d\n", (int)strlen(name) > 0);
	char path[100] = "/tmp/cgemu-execXXXXXX";
	int fd = mkstemp(path);
	dprintf(fd, "#!/bin/echo -n script\n");
	fchmod(fd, 0755);
	close(fd);
	char *args[] = {"x", "last", 0};
	printf("x\n");
	if (argc > 1) {
		char *sh[] = {"sh", "-c", "rm -f \"$0\"", path, 0};
		(void)sh;
		unlink(path);
	}
	execv("/bin/echo", args);
	return 1;
}

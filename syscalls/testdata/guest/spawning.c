// Starting other programs: vfork, posix_spawn, system, popen; what a new program gets.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int end(int pid) {
	int st = -1;
	if (waitpid(pid, &st, 0) != pid) return -1000 - errno;
	return WIFEXITED(st) ? WEXITSTATUS(st) : -WTERMSIG(st);
}

static char stack[65536] __attribute__((aligned(16)));
static int shared;
static int cloned(void *x) {
	shared = *(int *)x;
	return 9;
}

int main(int argc, char **argv) {
	setvbuf(stdout, 0, _IOLBF, 0);
	if (argc > 1) {
		struct sigaction a, b;
		sigset_t s;
		sigaction(SIGUSR1, 0, &a);
		sigaction(SIGUSR2, 0, &b);
		sigprocmask(SIG_BLOCK, 0, &s);
		printf("program %s env %s fds %d %d handler %d ignored %d blocked %d\n", argv[1], getenv("V") ? getenv("V") : "none",
			fcntl(20, F_GETFD), fcntl(21, F_GETFD), a.sa_handler == SIG_DFL, b.sa_handler == SIG_IGN, sigismember(&s, SIGHUP));
		return 11;
	}
	char *args[] = {"x", "new", 0}, *env[] = {"V=value", 0};
	int pid, st;
	volatile int changed = 1;
	dup2(1, 20);
	dup3(1, 21, O_CLOEXEC);
	signal(SIGUSR1, _exit);
	signal(SIGUSR2, SIG_IGN);
	sigset_t s;
	sigemptyset(&s);
	sigaddset(&s, SIGHUP);
	sigprocmask(SIG_BLOCK, &s, 0);

	fflush(stdout);
	if (!(pid = fork())) execve("/proc/self/exe", args, env), _exit(99);
	printf("fork %d\n", end(pid));
	if (!(pid = vfork())) {
		changed = 2;
		_exit(12);
	}
	printf("vfork %d", changed);
	printf(" %d\n", end(pid));
	if (!(pid = vfork())) {
		changed = 3;
		execve("/proc/self/exe", args, env);
		_exit(99);
	}
	printf("vfork %d", changed);
	printf(" %d\n", end(pid));
	if (!(pid = vfork())) {
		execve("/nonexistent", args, env);
		changed = errno;
		_exit(13);
	}
	printf("no program %d", changed == ENOENT);
	printf(" %d\n", end(pid));
	if (!(pid = vfork())) kill(getpid(), SIGKILL);
	printf("killed %d\n", end(pid));

	int r = posix_spawn(&pid, "/proc/self/exe", 0, 0, args, env);
	printf("spawn %d", r);
	printf(" %d\n", end(pid));
	printf("fails %d\n", posix_spawn(&pid, "/nonexistent", 0, 0, args, env) == ENOENT);
	printf("fails %d\n", posix_spawn(&pid, "/etc/passwd", 0, 0, args, env) == EACCES);
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t at;
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addclose(&fa, 20);
	posix_spawn_file_actions_adddup2(&fa, 1, 21);
	posix_spawnattr_init(&at);
	posix_spawnattr_setflags(&at, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
	sigemptyset(&s);
	posix_spawnattr_setsigmask(&at, &s);
	sigaddset(&s, SIGUSR2);
	posix_spawnattr_setsigdefault(&at, &s);
	r = posix_spawnp(&pid, "/proc/self/exe", &fa, &at, args, env);
	printf("actions %d", r);
	printf(" %d\n", end(pid));

	printf("system %d\n", WEXITSTATUS(system("echo from sh; exit 4")));
	FILE *f = popen("echo one; echo two", "r");
	char line[100];
	while (fgets(line, sizeof line, f)) printf("popen %s", line);
	printf("pclose %d\n", pclose(f));
	f = popen("cat; exit 3", "w");
	fprintf(f, "to cat\n");
	printf("pclose %d\n", WEXITSTATUS(pclose(f)));
	pid = clone(cloned, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, &(int){77});
	printf("clone %d", shared);
	printf(" %d\n", end(pid));
	// A child that is not announced by SIGCHLD is no child for wait.
	pid = clone(cloned, stack + sizeof stack, 0, &(int){78});
	printf("private %d", shared);
	printf(" %d", waitpid(pid, &st, 0));
	printf(" %d", errno == ECHILD);
	printf(" %d\n", waitpid(pid, &st, __WALL) == pid);
	int tid = 0;
	pid = syscall(SYS_clone, CLONE_PARENT_SETTID | CLONE_CHILD_SETTID | SIGCHLD, 0, &tid, &shared, 0);
	if (!pid) _exit(shared == getpid() ? 14 : 15);
	printf("tids %d", tid == pid);
	printf(" %d", shared);
	printf(" %d\n", end(pid));
	return 0;
}

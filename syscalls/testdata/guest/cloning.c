// clone and clone3 with their flags: exit signals, and what a child may share.
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void signals(void) {
	static const long sigs[] = {0, 10, 64, 65, 200, 255, -1, 0x7fffffff, 0x100000011l, -9223372036854775807};
	signal(SIGUSR1, SIG_IGN);
	signal(SIGRTMAX, SIG_IGN);
	for (int i = 0; i < sizeof sigs / sizeof *sigs; i++)
		for (int three = i >= 6; three < 2; three++) {
			uint64_t args[8] = {[4] = sigs[i]};
			int status = 0;
			long p = three ? syscall(SYS_clone3, args, sizeof args) : syscall(SYS_clone, sigs[i], 0, 0, 0, 0);
			int e = errno;
			if (p == 0)
				_exit(3);
			printf("%s %ld: ", three ? "clone3" : "clone", sigs[i]);
			if (p < 0)
				printf("errno %d\n", e);
			else
				printf("%d %x\n", waitpid(p, &status, __WALL) == p, status);
			fflush(stdout);
		}
}

int main(void) {
	signals();
	return 0;
}

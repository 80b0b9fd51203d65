// clone and clone3 with their flags: exit signals, and what a child may share.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
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

static char stack[1 << 16] __attribute__((aligned(16)));
static volatile int shared, released;
static int childTID;

// heapEnd is brk(2); musl has no sbrk.
static long heapEnd(long want) { return syscall(SYS_brk, want); }

// child runs in a process that shares some of ours.
static int child(void *arg) {
	shared = 7;
	chdir("/");
	umask(027);
	signal(SIGUSR2, SIG_IGN);
	dup2(1, 99);
	if (arg)
		heapEnd(heapEnd(0) + 4096);
	while (arg && !released) // both run
		sched_yield();
	_exit(5);
}

static void sharing(int flags) {
	struct sigaction sa;
	char cwd[100];
	int status, vm = flags & CLONE_VM && !(flags & CLONE_VFORK);
	shared = released = 0;
	close(99);
	chdir("/proc");
	umask(022);
	signal(SIGUSR2, SIG_DFL);
	long end = heapEnd(0);
	int pid = clone(child, stack + sizeof stack, flags | SIGCHLD, (void *)(long)vm, 0, 0, &childTID);
	if (pid < 0) {
		printf("%x: errno %d\n", flags, errno);
		return;
	}
	while (vm && heapEnd(0) == end)
		sched_yield();
	released = 1;
	waitpid(pid, &status, 0);
	sigaction(SIGUSR2, 0, &sa);
	printf("%x: %x, memory %d, heap %d, cwd %s, umask %o, handler %d, file %d\n", flags, status, shared, (int)(heapEnd(0) - end),
		getcwd(cwd, sizeof cwd), umask(022), sa.sa_handler == SIG_IGN, fcntl(99, F_GETFD));
	fflush(stdout);
}

// A process that shares memory says at its end that its stack is free.
static void cleared(void) {
	childTID = 1;
	released = 1;
	int pid = clone(child, stack + sizeof stack, CLONE_VM | CLONE_CHILD_CLEARTID | SIGCHLD, (void *)1, 0, 0, &childTID);
	while (*(volatile int *)&childTID)
		syscall(SYS_futex, &childTID, 0 /* FUTEX_WAIT */, 1, 0, 0, 0);
	printf("cleared %d\n", waitpid(pid, 0, 0) == pid);
}

static int executes(void *self) {
	execl(self, "cloning", "executed", (char *)0);
	_exit(9);
}

// Flags that are refused, by rule or for want of privileges.
static void refused(void) {
	static const uint64_t flags[] = {
		1, 0x40, 0x7f, CLONE_DETACHED, 1ull << 40, 0x200000000 /* CLONE_INTO_CGROUP */, CLONE_NEWNS | CLONE_FS, CLONE_NEWUSER | CLONE_FS,
		CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWCGROUP, 0x80 /* CLONE_NEWTIME */,
	};
	if (geteuid() == 0) setresuid(1000, 1000, 1000);
	for (int i = 0; i < sizeof flags / sizeof *flags; i++) {
		uint64_t args[11] = {[0] = flags[i], [4] = SIGCHLD, [10] = 99};
		long p = syscall(SYS_clone3, args, sizeof args);
		if (p == 0) _exit(0);
		if (p > 0) waitpid(p, 0, 0);
		printf("clone3 with %llx: %s\n", (unsigned long long)flags[i], p < 0 ? strerror(errno) : "done");
	}
	static const int parts[] = {0x40, CLONE_DETACHED, CLONE_NEWNS, 0x80};
	for (int i = 0; i < 4; i++)
		printf("unshare %x: %s\n", parts[i], syscall(SYS_unshare, parts[i]) < 0 ? strerror(errno) : "done");
	fflush(stdout);
}

int main(int argc, char **argv) {
	if (argc > 1) {
		puts("executed");
		return 6;
	}
	signals();
	sharing(0);
	sharing(CLONE_FS);
	sharing(CLONE_FILES);
	sharing(CLONE_VM);
	sharing(CLONE_VM | CLONE_SIGHAND);
	sharing(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND);
	sharing(CLONE_VM | CLONE_VFORK | CLONE_SIGHAND | CLONE_FS);
	sharing(CLONE_SIGHAND);
	cleared();
	int status, pid = clone(executes, stack + sizeof stack, CLONE_VM | CLONE_SIGHAND | CLONE_FS | SIGCHLD, "/proc/self/exe");
	waitpid(pid, &status, 0);
	printf("%x\n", status);
	refused();
	return 0;
}

// Children and what is told of their ends: to whom, and what a thread's end means to them.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile int *shared;
static char stack[65536] __attribute__((aligned(16)));

static void show(const char *what, long r) {
	printf("%s: %ld %s\n", what, r, r == -1 ? strerror(errno) : "");
	fflush(stdout);
}

static void nothing(int sig) {}

// ignored ends a child while SIGCHLD is blocked and ignored: it is not even queued, which SA_NOCLDWAIT alone does not prevent.
static void ignored(void) {
	struct timespec soon = {0, 1000};
	sigset_t s, pending;
	sigemptyset(&s);
	sigaddset(&s, SIGCHLD);
	sigprocmask(SIG_BLOCK, &s, 0);
	for (int i = 0; i < 3; i++) {
		struct sigaction a = {0};
		a.sa_handler = i == 0 ? SIG_IGN : i == 1 ? nothing : SIG_DFL;
		a.sa_flags = i == 1 ? SA_NOCLDWAIT : 0;
		sigaction(SIGCHLD, &a, 0);
		if (fork() == 0)
			_exit(0);
		usleep(100000);
		sigpending(&pending);
		show("SIGCHLD is pending", sigismember(&pending, SIGCHLD));
		show("wait", wait(0) < 0);
		show("sigtimedwait", sigtimedwait(&s, 0, &soon));
	}
	signal(SIGCHLD, SIG_IGN);
	int pid = fork();
	if (pid == 0)
		for (;;)
			pause();
	kill(pid, SIGSTOP);
	waitpid(pid, 0, WUNTRACED);
	sigpending(&pending);
	show("stopped: SIGCHLD is pending", sigismember(&pending, SIGCHLD));
	kill(pid, SIGKILL);
	show("wait", wait(0));
	signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_UNBLOCK, &s, 0);
}

static void died(int sig) { shared[0]++; }

// forks makes a child that is to be told of the end of this thread, which ends then.
static void *forks(void *arg) {
	if (fork() == 0) {
		signal(SIGUSR1, died);
		prctl(PR_SET_PDEATHSIG, SIGUSR1);
		shared[1] = 1;
		for (int i = 0; i < 50 && !shared[0]; i++)
			usleep(10000);
		shared[2] = getppid() == *(int *)arg;
		_exit(0);
	}
	while (!shared[1])
		usleep(1000);
	return 0;
}

static void threads(void) {
	pthread_t t;
	int me = getpid();
	shared[0] = shared[1] = 0;
	pthread_create(&t, 0, forks, &me);
	pthread_join(t, 0);
	wait(0);
	show("told of the thread's end", shared[0]);
	show("the parent is the same", shared[2]);
}

// robust ends a process that holds nothing, but was about to wake: where the word is 0 that is done for it.
static void robust(void) {
	static void *head[3]; // struct robust_list_head: the list, what is to be added to each pointer, list_op_pending
	for (int pi = 0; pi < 2; pi++)
		for (int word = 0; word < 2; word++) {
			struct timespec soon = {0, 300000000};
			int *w = (int *)shared + 100;
			*w = word;
			if (fork() == 0) {
				usleep(50000);
				head[0] = head;
				head[2] = (char *)w + pi;
				syscall(SYS_set_robust_list, head, sizeof head);
				_exit(0);
			}
			show("futex", syscall(SYS_futex, w, 0, word, &soon, 0, 0));
			wait(0);
		}
}

static int asks(void *arg) {
	stack_t s;
	sigaltstack(0, &s);
	shared[0] = s.ss_flags;
	_exit(0);
}

static void altstack(void) {
	static const int flags[] = {SIGCHLD, CLONE_VM | SIGCHLD, CLONE_VM | CLONE_VFORK | SIGCHLD, CLONE_VFORK | SIGCHLD};
	static char alt[65536];
	stack_t s = {alt, 0, sizeof alt};
	sigaltstack(&s, 0);
	for (int i = 0; i < sizeof flags / sizeof *flags; i++) {
		waitpid(clone(asks, stack + 60000, flags[i], 0), 0, 0);
		show("flags of the child's signal stack", shared[0]);
	}
	s.ss_flags = SS_DISABLE;
	sigaltstack(&s, 0);
}

// waits has a process wait for its child in vfork, and sends it a signal.
static void waits(int sig) {
	int st, pid;
	shared[0] = -1;
	if ((pid = fork()) == 0) {
		signal(SIGUSR1, nothing);
		int parent = getpid();
		if (vfork() == 0) {
			kill(parent, sig);
			for (int i = 0; i < 20 && getppid() == parent; i++)
				usleep(10000);
			shared[0] = getppid() == parent;
			_exit(0);
		}
		_exit(5);
	}
	waitpid(pid, &st, 0);
	show("status", WIFSIGNALED(st) ? WTERMSIG(st) : st);
	while (shared[0] < 0)
		usleep(1000);
	show("it waited", shared[0]);
}

int main(void) {
	shared = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ignored();
	threads();
	robust();
	altstack();
	waits(SIGKILL);
	waits(SIGTERM);
	waits(SIGUSR1);
	waits(SIGURG);
}

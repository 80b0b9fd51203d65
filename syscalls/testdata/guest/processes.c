// Processes: how they end, who is told, who waits, and to which groups they belong.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/times.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int caught, caughtCode, caughtStatus, caughtPid;
static void onChild(int s, siginfo_t *i, void *c) {
	caught++;
	caughtCode = i->si_code;
	caughtStatus = i->si_status;
	caughtPid = i->si_pid;
}
static void nothing(int s) { caught++; }

static void show(const char *what, int got, int pid, int *at) {
	int st = *at;
	printf("%s %d", what, got == pid);
	if (got == -1) printf(" errno %d", errno);
	else if (WIFEXITED(st)) printf(" exited %d", WEXITSTATUS(st));
	else if (WIFSIGNALED(st)) printf(" signal %d core %d", WTERMSIG(st), !!WCOREDUMP(st));
	printf("\n");
}

// child forks; in the child it returns 0.
static int child(void) {
	fflush(stdout);
	int pid = fork();
	if (pid < 0) perror("fork");
	return pid;
}

static void statuses(void) {
	int st = 0, pid;
	errno = 0;
	show("no child", wait(&st), 0, &st);
	int codes[] = {0, 1, 255, 256, -1};
	for (int i = 0; i < 5; i++) {
		if (!(pid = child())) _exit(codes[i]);
		show("exit", waitpid(pid, &st, 0), pid, &st);
	}
	int sigs[] = {SIGKILL, SIGTERM, SIGSEGV, SIGUSR1, SIGALRM, SIGRTMIN};
	for (int i = 0; i < 6; i++) {
		if (!(pid = child())) {
			raise(sigs[i]);
			_exit(1);
		}
		show("raise", waitpid(pid, &st, 0), pid, &st);
	}
	if (!(pid = child())) {
		*(volatile int *)8 = 1;
		_exit(1);
	}
	show("segv", waitpid(pid, &st, 0), pid, &st);
	if (!(pid = child())) abort();
	show("abort", waitpid(pid, &st, 0), pid, &st);
	if (!(pid = child())) pause(), _exit(0);
	errno = 0;
	printf("nohang %d\n", waitpid(pid, &st, WNOHANG));
	kill(pid, SIGTERM);
	show("killed", wait4(pid, &st, 0, 0), pid, &st);
	printf("gone %d %d\n", kill(pid, 0), errno == ESRCH);
	printf("wrong %d", waitpid(pid, &st, 0));
	printf(" %d\n", errno == ECHILD);
	printf("options %d", waitpid(-1, &st, 0x100));
	printf(" %d\n", errno == EINVAL);
}

static void ids(void) {
	siginfo_t in;
	int pid, me = getpid(), st;
	if (!(pid = child())) _exit(!(getppid() == me && getpid() != me && getpid() == syscall(SYS_gettid)));
	memset(&in, 0xff, sizeof in);
	int r = waitid(P_PID, pid, &in, WEXITED | WNOWAIT);
	printf("nowait %d %d %d %d %d\n", r, in.si_signo, in.si_code, in.si_status, in.si_pid == pid);
	printf("zombie %d\n", kill(pid, 0));
	r = waitid(P_ALL, 0, &in, WEXITED);
	printf("all %d %d\n", r, in.si_pid == pid);
	r = waitid(P_ALL, 0, &in, WEXITED);
	printf("none %d %d\n", r, errno == ECHILD);
	if (!(pid = child())) pause(), _exit(0);
	r = waitid(P_PID, pid, &in, WEXITED | WNOHANG);
	printf("hang %d %d %d\n", r, in.si_pid, in.si_signo);
	r = waitid(P_PID, pid, &in, 0);
	printf("nothing %d %d\n", r, errno == EINVAL);
	r = waitid(P_PGID, getpgrp(), &in, WEXITED | WNOHANG);
	printf("group %d %d\n", r, in.si_pid);
	r = waitid(P_PGID, 1, &in, WEXITED | WNOHANG);
	printf("other %d %d\n", r, errno == ECHILD);
	kill(pid, SIGKILL);
	r = waitid(P_PGID, 0, &in, WEXITED);
	printf("killed %d %d %d %d\n", r, in.si_code, in.si_status, in.si_pid == pid);
	waitpid(-1, &st, WNOHANG);
}

static void groups(void) {
	int st, pid, p[2], q[2], c = 0;
	pipe(p);
	pipe(q);
	printf("leader %d\n", getpgid(0) == getpgrp());
	if (!(pid = child())) {
		printf("inherits %d %d\n", getpgrp() == getpgid(getppid()), getsid(0) == getsid(getppid()));
		printf("setpgid %d %d\n", setpgid(0, 0), getpgrp() == getpid());
		printf("setsid %d %d\n", setsid(), errno == EPERM);
		fflush(stdout);
		int gc = fork();
		if (!gc) {
			printf("grandchild %d %d\n", getpgrp() == getppid(), setsid() == getpid());
			printf("session %d %d %d\n", getsid(0) == getpid(), getpgrp() == getpid(), setpgid(0, 0) == -1 && errno == EPERM);
			fflush(stdout);
			_exit(0);
		}
		waitpid(gc, &st, 0);
		write(p[1], "x", 1);
		pause();
		_exit(1);
	}
	read(p[0], &c, 1);
	printf("child's %d\n", getpgid(pid) == pid);
	printf("join %d %d\n", setpgid(0, 12345678), errno == EPERM);
	printf("who %d %d\n", setpgid(12345678, 0), errno == ESRCH);
	printf("negative %d %d\n", setpgid(0, -1), errno == EINVAL);
	printf("kill group %d\n", kill(-pid, SIGTERM));
	show("by group", waitpid(-pid, &st, 0), pid, &st);
	printf("empty group %d %d\n", kill(-pid, 0), errno == ESRCH);
	// kill(0) reaches all of the group, oneself too.
	if (!(pid = child())) {
		setpgid(0, 0);
		int gc = fork();
		if (!gc) pause(), _exit(0);
		kill(0, SIGTERM);
		_exit(1);
	}
	show("kill 0", waitpid(pid, &st, 0), pid, &st);
	if (!(pid = child())) {
		execl("/proc/self/exe", "x", "wait", NULL);
		_exit(1);
	}
	close(q[1]);
	usleep(100000);
	printf("after exec %d", setpgid(pid, pid));
	printf(" %d\n", errno == EACCES);
	kill(pid, SIGKILL);
	waitpid(pid, &st, 0);
}

static void sigchld(void) {
	struct sigaction a = {0}, dfl = {0};
	int st, pid;
	sigset_t set, old;
	a.sa_sigaction = onChild;
	a.sa_flags = SA_SIGINFO;
	sigaction(SIGCHLD, &a, 0);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, &old);
	if (!(pid = child())) _exit(7);
	sigset_t empty;
	sigemptyset(&empty);
	sigsuspend(&empty);
	printf("sigchld %d code %d status %d pid %d\n", caught, caughtCode, caughtStatus, caughtPid == pid);
	waitpid(pid, &st, 0);
	if (!(pid = child())) raise(SIGKILL);
	sigsuspend(&empty);
	printf("sigchld %d code %d status %d\n", caught, caughtCode, caughtStatus);
	waitpid(pid, &st, 0);
	sigprocmask(SIG_SETMASK, &old, 0);
	// Without SA_RESTART a handler interrupts wait for another child.
	int other = child();
	if (!other) pause(), _exit(0);
	if (!(pid = child())) usleep(300000), _exit(1);
	printf("wait %d", waitpid(other, &st, 0));
	printf(" %d\n", errno == EINTR);
	waitpid(pid, &st, 0);
	kill(other, SIGKILL);
	waitpid(other, &st, 0);
	a.sa_flags |= SA_NOCLDWAIT;
	sigaction(SIGCHLD, &a, 0);
	caught = 0;
	if (!(pid = child())) _exit(0);
	while (waitpid(pid, &st, 0) == -1 && errno == EINTR) {}
	printf("nocldwait %d %d\n", errno == ECHILD, caught);
	signal(SIGCHLD, SIG_IGN);
	for (int i = 0; i < 3; i++)
		if (!child()) _exit(i);
	printf("ignored %d", wait(&st));
	printf(" %d\n", errno == ECHILD);
	sigaction(SIGCHLD, &dfl, 0);
}

static void inherited(void) {
	int st, pid, p[2];
	struct rlimit l;
	char *cwd;
	sigset_t s, old;
	pipe(p);
	signal(SIGUSR2, SIG_IGN);
	signal(SIGUSR1, nothing);
	sigemptyset(&s);
	sigaddset(&s, SIGUSR1);
	sigprocmask(SIG_BLOCK, &s, &old);
	raise(SIGUSR1);
	umask(077);
	alarm(100);
	chdir("/usr");
	printf("keepcaps %d %d", prctl(PR_SET_KEEPCAPS, 2, 0, 0, 0), prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0));
	printf(" %d %x\n", prctl(PR_GET_KEEPCAPS, 0, 0, 0, 0), prctl(PR_GET_SECUREBITS, 0, 0, 0, 0));
	prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0);
	prctl(PR_SET_NAME, "named");
	if (!(pid = child())) {
		struct sigaction a;
		sigpending(&s);
		printf("pending %d\n", sigismember(&s, SIGUSR1));
		sigprocmask(SIG_BLOCK, 0, &s);
		printf("blocked %d\n", sigismember(&s, SIGUSR1));
		sigaction(SIGUSR2, 0, &a);
		printf("ignored %d\n", a.sa_handler == SIG_IGN);
		sigaction(SIGUSR1, 0, &a);
		printf("handled %d\n", a.sa_handler == nothing);
		printf("umask %o alarm %u cwd %s\n", umask(0), alarm(0), cwd = get_current_dir_name());
		char name[16];
		prctl(PR_GET_NAME, name);
		printf("name %s\n", name);
		chdir("/etc");
		fflush(stdout);
		_exit(0);
	}
	waitpid(pid, &st, 0);
	printf("cwd %s umask %o alarm %d\n", get_current_dir_name(), umask(022), alarm(0) > 0);
	sigprocmask(SIG_SETMASK, &old, 0);
	printf("caught %d\n", caught > 0);
}

static void orphans(void) {
	int pid, st, p[2];
	char c = 0;
	pipe(p);
	int me = getpid();
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (!(pid = child())) {
		if (!fork()) {
			while (getppid() != me) usleep(1000);
			write(p[1], "o", 1);
			_exit(42);
		}
		_exit(0);
	}
	waitpid(pid, &st, 0);
	read(p[0], &c, 1);
	int r = wait(&st);
	printf("adopted %c %d %d\n", c, r > 0 && r != pid, WEXITSTATUS(st));
	prctl(PR_SET_CHILD_SUBREAPER, 0);
	// A child that asks for a signal when its parent dies.
	if (!(pid = child())) {
		int mine[2];
		pipe(mine);
		if (!fork()) {
			prctl(PR_SET_PDEATHSIG, SIGUSR1);
			sigset_t s;
			sigemptyset(&s);
			sigaddset(&s, SIGUSR1);
			sigprocmask(SIG_BLOCK, &s, 0);
			write(mine[1], "r", 1);
			int got;
			sigwait(&s, &got);
			c = got == SIGUSR1 ? 'd' : '?';
			write(p[1], &c, 1);
			_exit(0);
		}
		read(mine[0], &c, 1);
		_exit(0);
	}
	waitpid(pid, &st, 0);
	read(p[0], &c, 1);
	printf("pdeathsig %c\n", c);
}

static void times_(void) {
	struct rusage before, u;
	struct tms a, b;
	int st, pid;
	getrusage(RUSAGE_CHILDREN, &before);
	if (!(pid = child())) {
		for (volatile long i = 0; i < 60000000; i++) {}
		_exit(0);
	}
	wait4(pid, &st, 0, &u);
	printf("used %d\n", u.ru_utime.tv_sec * 1000000 + u.ru_utime.tv_usec > 1000);
	getrusage(RUSAGE_CHILDREN, &u);
	printf("children %d\n", u.ru_utime.tv_sec > before.ru_utime.tv_sec || u.ru_utime.tv_usec > before.ru_utime.tv_usec);
	times(&b);
	printf("times %d\n", b.tms_cutime > 0);
}

static void pidfds(void) {
	int st, pid, p[2];
	pipe(p);
	char c;
	if (!(pid = child())) read(p[0], &c, 1), _exit(3);
	int fd = syscall(SYS_pidfd_open, pid, 0);
	struct pollfd f = {fd, POLLIN, 0};
	printf("pidfd %d %d\n", fd > 0, poll(&f, 1, 0));
	printf("signal %d\n", (int)syscall(SYS_pidfd_send_signal, fd, 0, 0, 0));
	char dir[32];
	sprintf(dir, "/proc/%d", pid);
	int proc = open(dir, O_DIRECTORY), other = open("/proc", O_DIRECTORY);
	printf("directory %d", (int)syscall(SYS_pidfd_send_signal, proc, 0, 0, 0));
	printf(" %d %s\n", (int)syscall(SYS_pidfd_send_signal, other, 0, 0, 0), strerror(errno));
	close(proc);
	close(other);
	write(p[1], "x", 1);
	printf("ready %d", poll(&f, 1, 10000));
	printf(" %d\n", f.revents == POLLIN);
	siginfo_t in;
	printf("waitid %d", waitid(P_PIDFD, fd, &in, WEXITED));
	printf(" %d\n", in.si_status);
	printf("late %d", (int)syscall(SYS_pidfd_send_signal, fd, SIGTERM, 0, 0));
	printf(" %d\n", errno == ESRCH);
	printf("nobody %d", (int)syscall(SYS_pidfd_open, pid, 0));
	printf(" %d\n", errno == ESRCH);
	printf("self %d\n", syscall(SYS_pidfd_open, getpid(), 0) > 0);
}

int main(int argc, char **argv) {
	if (argc > 1) pause();
	statuses();
	ids();
	groups();
	sigchld();
	inherited();
	orphans();
	times_();
	pidfds();
	return 0;
}

// Stopping processes and letting them go on.
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int caught, code, status;
static void onChild(int s, siginfo_t *i, void *c) {
	caught++;
	code = i->si_code;
	status = i->si_status;
}
static volatile int continued;
static void onCont(int s) { continued++; }

static void show(const char *what, int got, int pid, int *at) {
	int st = *at;
	printf("%s %d", what, got == pid);
	if (got <= 0) printf(" %d", got);
	else if (WIFEXITED(st)) printf(" exited %d", WEXITSTATUS(st));
	else if (WIFSIGNALED(st)) printf(" signal %d", WTERMSIG(st));
	else if (WIFSTOPPED(st)) printf(" stopped %d", WSTOPSIG(st));
	else if (WIFCONTINUED(st)) printf(" continued");
	printf("\n");
	fflush(stdout);
}

int main(void) {
	int st, pid, go[2];
	siginfo_t in;
	char c;
	struct sigaction a = {0};
	pipe(go);
	if (!(pid = fork())) {
		setpgid(0, 0); // an orphaned group would not stop for SIGTSTP
		signal(SIGCONT, onCont);
		for (int i = 0; i < 3; i++) {
			raise(i == 1 ? SIGTSTP : SIGSTOP);
			// A stop makes wait forget that it went on before.
			while (read(go[0], &c, 1) < 0) {}
		}
		_exit(continued);
	}
	show("stopped", waitpid(pid, &st, WUNTRACED), pid, &st);
	show("once", waitpid(pid, &st, WUNTRACED | WNOHANG), pid, &st);
	kill(pid, SIGCONT);
	show("continued", waitpid(pid, &st, WCONTINUED), pid, &st);
	write(go[1], "x", 1);
	memset(&in, 0, sizeof in);
	int r = waitid(P_PID, pid, &in, WSTOPPED | WNOWAIT);
	printf("waitid %d %d %d %d\n", r, in.si_code, in.si_status, in.si_pid == pid);
	r = waitid(P_PID, pid, &in, WSTOPPED);
	printf("waitid %d %d %d\n", r, in.si_code, in.si_status);
	fflush(stdout);
	kill(pid, SIGCONT);
	write(go[1], "x", 1);
	show("again", waitpid(pid, &st, WUNTRACED), pid, &st);
	kill(pid, SIGCONT);
	write(go[1], "x", 1);
	show("end", waitpid(pid, &st, 0), pid, &st);
	// A stopped process can be killed, and not ended in another way.
	if (!(pid = fork())) pause(), _exit(0);
	kill(pid, SIGSTOP);
	show("stopped", waitpid(pid, &st, WUNTRACED), pid, &st);
	kill(pid, SIGTERM);
	show("still", waitpid(pid, &st, WNOHANG), pid, &st);
	kill(pid, SIGKILL);
	show("killed", waitpid(pid, &st, 0), pid, &st);
	if (!(pid = fork())) pause(), _exit(0);
	kill(pid, SIGSTOP);
	waitpid(pid, &st, WUNTRACED);
	kill(pid, SIGTERM);
	kill(pid, SIGCONT);
	show("pending", waitpid(pid, &st, 0), pid, &st);
	// SIGCHLD tells of stops, but with SA_NOCLDSTOP.
	a.sa_sigaction = onChild;
	a.sa_flags = SA_SIGINFO | SA_RESTART;
	sigaction(SIGCHLD, &a, 0);
	sigset_t s, old;
	sigemptyset(&s);
	sigaddset(&s, SIGCHLD);
	sigprocmask(SIG_BLOCK, &s, &old);
	if (!(pid = fork())) {
		raise(SIGSTOP);
		raise(SIGSTOP);
		_exit(0);
	}
	sigsuspend(&old);
	printf("told %d code %d status %d\n", caught, code, status);
	a.sa_flags |= SA_NOCLDSTOP;
	sigaction(SIGCHLD, &a, 0);
	kill(pid, SIGCONT);
	do r = waitpid(pid, &st, WUNTRACED);
	while (r == pid && !WIFSTOPPED(st));
	printf("not told %d\n", caught);
	kill(pid, SIGCONT);
	sigsuspend(&old);
	printf("end %d code %d status %d\n", caught, code, status);
	waitpid(pid, &st, 0);
	sigprocmask(SIG_SETMASK, &old, 0);
	// Ignored, blocked and handled ones do not stop.
	if (!(pid = fork())) {
		signal(SIGTSTP, SIG_IGN);
		raise(SIGTSTP);
		sigemptyset(&s);
		sigaddset(&s, SIGTTIN);
		sigprocmask(SIG_BLOCK, &s, 0);
		raise(SIGTTIN);
		sigpending(&s);
		int pending = sigismember(&s, SIGTTIN);
		kill(getpid(), SIGCONT);
		sigpending(&s);
		_exit(pending + 2 * sigismember(&s, SIGTTIN));
	}
	show("blocked", waitpid(pid, &st, WUNTRACED), pid, &st);
	// A descriptor tells of children, too.
	struct signalfd_siginfo fi;
	sigemptyset(&s);
	sigaddset(&s, SIGCHLD);
	sigprocmask(SIG_BLOCK, &s, 0);
	int fd = signalfd(-1, &s, 0);
	while (waitpid(-1, &st, WNOHANG) > 0) {}
	if (!(pid = fork())) _exit(21);
	read(fd, &fi, sizeof fi);
	printf("signalfd %d %d %d %d\n", fi.ssi_signo, fi.ssi_code, fi.ssi_status, fi.ssi_pid == pid);
	fflush(stdout);
	waitpid(pid, &st, 0);
	signal(SIGCHLD, SIG_DFL);
	// A sleep goes on.
	if (!(pid = fork())) _exit(sleep(1) ? 1 : 4);
	usleep(200000);
	kill(pid, SIGSTOP);
	waitpid(pid, &st, WUNTRACED);
	kill(pid, SIGCONT);
	show("slept", waitpid(pid, &st, 0), pid, &st);
	return 0;
}

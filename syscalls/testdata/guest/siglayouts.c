// What a signal tells, as signalfd(2) and rt_sigaction(2) show it.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int sf;

static void show(const char *what) {
	struct signalfd_siginfo i = {0};
	if (read(sf, &i, sizeof i) != sizeof i) {
		printf("%s: %s\n", what, strerror(errno));
		return;
	}
	printf("%s: signal %d code %d pid %d, made uid %d, fd %d tid %d band %x overrun %d trapno %d status %d int %d ptr %llx addr %llx lsb %d call %d at %llx arch %x\n", what, i.ssi_signo, i.ssi_code,
		i.ssi_pid == getpid() ? 1 : i.ssi_pid, i.ssi_uid == 105, i.ssi_fd, i.ssi_tid, i.ssi_band, i.ssi_overrun, i.ssi_trapno, i.ssi_status, i.ssi_int, (long long)i.ssi_ptr,
		(long long)i.ssi_addr, i.ssi_addr_lsb, ((int *)&i)[21], ((long long *)&i)[11], ((int *)&i)[24]);
}

// made sends this process a siginfo_t whose fields are numbers.
static void made(int sig, int code) {
	char what[64];
	int q[32] = {0};
	q[0] = sig;
	q[2] = code;
	for (int i = 4; i < 12; i++)
		q[i] = 100 + i;
	sprintf(what, "signal %d code %d: %ld", sig, code, syscall(SYS_rt_sigqueueinfo, getpid(), sig, q));
	show(what);
}

static void files(void) {
	int p[2];
	pipe(p);
	fcntl(p[0], F_SETSIG, SIGRTMIN);
	fcntl(p[0], F_SETOWN, getpid());
	fcntl(p[0], F_SETFL, O_ASYNC);
	write(p[1], "x", 1);
	show("F_SETSIG");
	fcntl(p[0], F_SETSIG, 0);
	write(p[1], "x", 1);
	show("SIGIO");
	close(p[0]);
	close(p[1]);
}

static void queue(void) {
	struct mq_attr a = {0, 4, 16};
	mqd_t m = mq_open("/siglayouts", O_CREAT | O_RDWR, 0600, &a);
	struct sigevent e = {0};
	e.sigev_notify = SIGEV_SIGNAL;
	e.sigev_signo = SIGRTMIN + 1;
	e.sigev_value.sival_int = 77;
	mq_notify(m, &e);
	mq_send(m, "a", 1, 0);
	show("mq_notify");
	mq_unlink("/siglayouts");
}

// flags are those that the kernel keeps: programs ask for SA_UNSUPPORTED to find out which.
static void flags(void) {
	unsigned long act[4] = {(unsigned long)SIG_IGN, -1UL, 0, 0}, old[4] = {0};
	printf("%ld ", syscall(SYS_rt_sigaction, SIGUSR2, act, 0, 8));
	printf("%ld %lx\n", syscall(SYS_rt_sigaction, SIGUSR2, 0, old, 8), old[1]);
}

int main(void) {
	static const int signals[] = {SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGUSR1, SIGSEGV, SIGCHLD, SIGIO, SIGSYS, 40};
	static const int codes[] = {SI_USER, 1, 2, 3, 4, 6, 7, 15, 0x80, 0x81, SI_QUEUE, SI_TIMER, SI_MESGQ, SI_ASYNCIO, SI_SIGIO, SI_TKILL, -10, -60};
	sigset_t s;
	sigfillset(&s);
	sigprocmask(SIG_BLOCK, &s, 0);
	sf = signalfd(-1, &s, SFD_NONBLOCK);
	for (int i = 0; i < sizeof signals / sizeof *signals; i++)
		for (int j = 0; j < sizeof codes / sizeof *codes; j++)
			made(signals[i], codes[j]);
	kill(getpid(), SIGUSR1);
	show("kill");
	raise(SIGUSR1);
	show("tkill");
	files();
	queue();
	if (fork() == 0)
		_exit(3);
	waitid(P_ALL, 0, &(siginfo_t){0}, WEXITED | WNOWAIT);
	wait(0);
	flags();
}

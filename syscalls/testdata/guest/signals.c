// Signals: what handlers see, masks, restarts, alternate stacks, queues.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static sigjmp_buf env;
static volatile int count;
static char *page;

static void set(int sig, void (*f)(int, siginfo_t *, void *), int flags) {
	struct sigaction sa = {0};
	sa.sa_sigaction = f;
	sa.sa_flags = SA_SIGINFO | flags;
	if (sigaction(sig, &sa, 0)) perror("sigaction");
}

static void fault(int sig, siginfo_t *si, void *p) {
	ucontext_t *uc = p;
	greg_t *g = uc->uc_mcontext.gregs;
	long addr = (long)si->si_addr;
	const char *where = si->si_addr == page ? "page" : addr == g[REG_RIP] ? "rip" : addr == 0 ? "0" : addr == 16 ? "16" : "?";
	printf("sig %d code %d addr %s trapno %lld err %lld cr2ok %d\n", sig, si->si_code, where, g[REG_TRAPNO], g[REG_ERR],
	       g[REG_TRAPNO] != 14 || g[REG_CR2] == addr);
	siglongjmp(env, 1);
}

static void faults(void) {
	int sigs[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
	for (int i = 0; i < 5; i++) set(sigs[i], fault, 0);
	page = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!sigsetjmp(env, 1)) *(volatile char *)16 = 1;
	if (!sigsetjmp(env, 1)) (void)*(volatile char *)16;
	if (!sigsetjmp(env, 1)) *(volatile char *)page = 1;
	mprotect(page, 4096, PROT_READ);
	(void)*(volatile char *)page;
	if (!sigsetjmp(env, 1)) *(volatile char *)page = 1;
	if (!sigsetjmp(env, 1)) ((void (*)(void))page)();
	if (!sigsetjmp(env, 1)) ((void (*)(void))16)();
	if (!sigsetjmp(env, 1)) *(volatile char *)0x8000000000000000ull = 1;
	if (!sigsetjmp(env, 1)) asm volatile("ud2");
	if (!sigsetjmp(env, 1)) asm volatile("int3");
	if (!sigsetjmp(env, 1)) asm volatile("hlt");
	if (!sigsetjmp(env, 1)) asm volatile("xor %%edx,%%edx; mov $1,%%eax; xor %%ecx,%%ecx; div %%ecx" ::: "eax", "ecx", "edx");
	if (!sigsetjmp(env, 1)) asm volatile("movl $0x1f00,-4(%%rsp); ldmxcsr -4(%%rsp); xorps %%xmm0,%%xmm0; divss %%xmm0,%%xmm0" ::: "xmm0");
	unsigned csr = 0x1f80;
	asm volatile("ldmxcsr %0" ::"m"(csr));
	if (!sigsetjmp(env, 1)) {
		unsigned short cw = 0x37b; // divide by zero unmasked
		asm volatile("fldcw %0; fld1; fldz; fdivrp; fwait" ::"m"(cw));
	}
	asm volatile("fninit");
	char name[] = "/tmp/cgemu-sigXXXXXX";
	int fd = mkstemp(name);
	unlink(name);
	ftruncate(fd, 4096);
	page = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	page += 4096;
	if (!sigsetjmp(env, 1)) *(volatile char *)page = 1;
	close(fd);
	for (int i = 0; i < 5; i++) signal(sigs[i], SIG_DFL);
}

static void info(int sig, siginfo_t *si, void *p) {
	sigset_t now;
	sigprocmask(SIG_BLOCK, 0, &now);
	printf("handler %d code %d pid %d uid %d value %d self-blocked %d usr2-blocked %d\n", sig, si->si_code, si->si_pid == getpid(),
	       si->si_code == SI_TIMER || si->si_uid == getuid(), si->si_code == SI_QUEUE ? si->si_value.sival_int : 0, sigismember(&now, sig), sigismember(&now, SIGUSR2));
	count++;
}

static void basics(void) {
	set(SIGUSR1, info, 0);
	raise(SIGUSR1);
	kill(getpid(), SIGUSR1);
	union sigval v = {.sival_int = 42};
	sigqueue(getpid(), SIGUSR1, v);
	struct sigaction sa = {0};
	sa.sa_sigaction = info;
	sa.sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESETHAND;
	sigaddset(&sa.sa_mask, SIGUSR2);
	sigaction(SIGUSR1, &sa, 0);
	raise(SIGUSR1);
	sigaction(SIGUSR1, 0, &sa);
	printf("after RESETHAND: %d flags %x\n", sa.sa_handler == SIG_DFL, sa.sa_flags);
	// A blocked standard signal is pending once, a real-time one as often as sent, in order.
	set(SIGUSR2, info, 0);
	set(SIGRTMIN, info, 0);
	set(SIGRTMIN + 1, info, 0);
	sigset_t s, old, pend;
	sigemptyset(&s);
	sigaddset(&s, SIGUSR2);
	sigaddset(&s, SIGRTMIN);
	sigaddset(&s, SIGRTMIN + 1);
	sigprocmask(SIG_BLOCK, &s, &old);
	raise(SIGUSR2);
	raise(SIGUSR2);
	for (int i = 1; i <= 3; i++) {
		v.sival_int = i;
		sigqueue(getpid(), SIGRTMIN + 1, v);
		sigqueue(getpid(), SIGRTMIN, v);
	}
	sigpending(&pend);
	printf("pending %d %d\n", sigismember(&pend, SIGUSR2), sigismember(&pend, SIGUSR1));
	siginfo_t si;
	struct timespec ts = {0, 0};
	int got = sigtimedwait(&s, &si, &ts);
	printf("sigtimedwait %d code %d\n", got, si.si_code);
	sigprocmask(SIG_SETMASK, &old, 0);
	got = sigtimedwait(&s, &si, &ts);
	printf("sigtimedwait %d %s\n", got, strerror(errno));
	ts.tv_nsec = 1000000;
	got = sigtimedwait(&s, &si, &ts);
	printf("sigtimedwait %d %s\n", got, strerror(errno));
	printf("kill 0: %d, bad: %d %d\n", kill(getpid(), 0), kill(getpid(), 99), errno);
	signal(SIGUSR1, SIG_IGN);
	raise(SIGUSR1);
	printf("SIGKILL handler: %d %d\n", sigaction(SIGKILL, &sa, 0), errno);
}

static void onalt(int sig, siginfo_t *si, void *p) {
	char here;
	stack_t ss;
	sigaltstack(0, &ss);
	printf("on stack %d: %d\n", ss.ss_flags, &here >= (char *)ss.ss_sp && &here < (char *)ss.ss_sp + ss.ss_size);
	stack_t other = {.ss_sp = malloc(65536), .ss_size = 65536};
	int r = sigaltstack(&other, 0);
	printf("change %d %d\n", r, errno);
	printf("uc_stack %d %zu\n", ((ucontext_t *)p)->uc_stack.ss_flags, ((ucontext_t *)p)->uc_stack.ss_size);
	if (sig == SIGSEGV) siglongjmp(env, 1);
}

static int recurse(int n) {
	volatile char buf[4096];
	buf[0] = n;
	return n == 0 ? 0 : recurse(n + 1) + buf[0];
}

static void withoutalt(int sig, siginfo_t *si, void *p) {
	stack_t ss, uc = ((ucontext_t *)p)->uc_stack;
	sigaltstack(0, &ss);
	printf("no alternate stack: %d, uc_stack %d %zu\n", ss.ss_flags, uc.ss_flags, uc.ss_size);
}

static void altstack(void) {
	set(SIGUSR1, withoutalt, SA_ONSTACK);
	raise(SIGUSR1);
	stack_t ss = {.ss_sp = malloc(65536), .ss_size = 65536}, old;
	sigaltstack(&ss, &old);
	printf("old flags %d\n", old.ss_flags);
	set(SIGUSR1, onalt, SA_ONSTACK);
	raise(SIGUSR1);
	set(SIGSEGV, onalt, SA_ONSTACK);
	if (!sigsetjmp(env, 1)) recurse(1);
	printf("survived stack overflow\n");
	ss.ss_size = 100;
	printf("too small %d %d\n", sigaltstack(&ss, 0), errno);
	ss.ss_flags = SS_DISABLE;
	sigaltstack(&ss, 0);
	sigaltstack(0, &old);
	printf("disabled %d\n", old.ss_flags);
	signal(SIGSEGV, SIG_DFL);
}

static void fpstate(int sig, siginfo_t *si, void *p) {
	fpregset_t fp = ((ucontext_t *)p)->uc_mcontext.fpregs;
	uint32_t *sw = (uint32_t *)((char *)fp + 464);
	uint64_t *xbv = (uint64_t *)((char *)fp + 512);
	printf("magic %x, magic2 %x, xmm3 %x, avx %d, mxcsr %x, ymm %x\n", sw[0], *(uint32_t *)((char *)fp + sw[4]), fp->_xmm[3].element[0],
	       (int)(*xbv >> 2 & 1), fp->mxcsr, *(uint32_t *)((char *)fp + 576 + 3 * 16));
	unsigned csr;
	unsigned short cw;
	asm volatile("stmxcsr %0; fnstcw %1" : "=m"(csr), "=m"(cw));
	printf("in handler mxcsr %x cw %x\n", csr, cw);
	asm volatile("vpcmpeqd %%ymm3,%%ymm3,%%ymm3; fninit; fldz; fldz" ::: "xmm3");
	fp->_xmm[4].element[0] = 0x1234;
	((ucontext_t *)p)->uc_mcontext.gregs[REG_RAX] = 7;
}

static void regs(void) {
	set(SIGTRAP, fpstate, 0);
	unsigned csr = 0x3f80;
	uint32_t v[8] __attribute__((aligned(32))) = {11, 12, 13, 14, 15, 16, 17, 18}, w[8] __attribute__((aligned(32)));
	double d = 3.5, r;
	unsigned four;
	long rax = 0;
	asm volatile("ldmxcsr %4; vmovdqa %5,%%ymm3; fldl %6; int3; vmovdqa %%ymm3,%1; vmovd %%xmm4,%3; fstpl %2; stmxcsr %4"
	             : "+a"(rax), "=m"(w), "=m"(r), "=r"(four), "+m"(csr) : "m"(v), "m"(d) : "xmm3", "xmm4");
	printf("rax %ld ymm3 %u %u st0 %g xmm4 %x mxcsr %x\n", rax, w[0], w[7], r, four, csr);
	csr = 0x1f80;
	asm volatile("ldmxcsr %0" ::"m"(csr));
}

static void tick(int sig, siginfo_t *si, void *p) { count++; }

static void restarts(void) {
	int fd[2];
	char c;
	struct itimerval it = {{0, 0}, {0, 1000}};
	pipe(fd);
	count = 0;
	set(SIGALRM, tick, 0);
	setitimer(ITIMER_REAL, &it, 0);
	int r = read(fd[0], &c, 1);
	printf("read %d %s count %d\n", r, strerror(errno), count);
	struct timespec ts = {5, 0}, rem;
	it.it_value.tv_usec = 20000;
	setitimer(ITIMER_REAL, &it, 0);
	r = nanosleep(&ts, &rem);
	printf("nanosleep %d %s left %d\n", r, strerror(errno), rem.tv_sec == 4);
	sigset_t s, old;
	sigemptyset(&s);
	sigaddset(&s, SIGALRM);
	sigprocmask(SIG_BLOCK, &s, &old);
	setitimer(ITIMER_REAL, &it, 0);
	sigsuspend(&old);
	sigprocmask(SIG_BLOCK, 0, &s);
	printf("sigsuspend %s count %d, still blocked %d\n", strerror(errno), count, sigismember(&s, SIGALRM));
	sigprocmask(SIG_SETMASK, &old, 0);
	it.it_interval.tv_usec = 1000;
	setitimer(ITIMER_REAL, &it, 0);
	while (count < 10) pause();
	memset(&it, 0, sizeof it);
	setitimer(ITIMER_REAL, &it, 0);
	printf("ticks ok\n");
	signal(SIGPIPE, SIG_IGN);
	close(fd[0]);
	r = write(fd[1], "x", 1);
	printf("write %d %s\n", r, strerror(errno));
	printf("alarm %d ", alarm(100));
	printf("%d\n", alarm(0));
}

int main(int argc, char **argv) {
	setvbuf(stdout, 0, _IONBF, 0);
	basics();
	faults();
	altstack();
	regs();
	restarts();
	timer_t id;
	struct sigevent sev = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 2, .sigev_value.sival_int = 77};
	set(SIGRTMIN + 2, info, 0);
	printf("timer_create %d\n", timer_create(CLOCK_MONOTONIC, &sev, &id));
	struct itimerspec its = {{0, 0}, {0, 1000000}};
	count = 0;
	timer_settime(id, 0, &its, 0);
	while (!count) pause();
	printf("timer fired, delete %d\n", timer_delete(id));
	signal(SIGTERM, SIG_DFL);
	kill(getpid(), SIGTERM);
	return 0;
}

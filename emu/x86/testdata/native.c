// native executes single instructions on the host CPU for native_oracle_test.go.
// Input: struct job, output: struct result each, until end of file. The instruction
// stands in front of INT3s; whatever it raises ends up in the handler.
// Build: gcc -O1 -static-pie -fno-stack-protector -fcf-protection=none native.c
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>

struct job { uint8_t code[16]; uint64_t regs[16], flags; };
struct result { uint64_t sig, ip, regs[16], flags; };

static struct job job;
static struct result res;
static jmp_buf back;
static uint8_t *code;
static int ticks;
static uint8_t vectors[16 * 32];
static uint8_t around[16384]; // what memory has where registers point

// Encoding order of registers -> index in gregs.
static const int order[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
	REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

static void handler(int sig, siginfo_t *si, void *p)
{
	ucontext_t *uc = p;
	if (sig == SIGALRM && ((uint64_t)uc->uc_mcontext.gregs[REG_RIP] - (uint64_t)code > 64 || ticks++ == 0))
		return;
	res.sig = sig;
	res.ip = uc->uc_mcontext.gregs[REG_RIP] - (uint64_t)code;
	for (int i = 0; i < 16; i++)
		res.regs[i] = uc->uc_mcontext.gregs[order[i]];
	res.flags = uc->uc_mcontext.gregs[REG_EFL];
	longjmp(back, 1);
}

static void run(void)
{
#define V(n) "vmovdqu " #n "*32(%0),%%ymm" #n "\n"
#define M(n) "movq " #n "*32(%0),%%mm" #n "\n"
	__asm__ volatile(
		M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7) "fninit\n"
		V(0) V(1) V(2) V(3) V(4) V(5) V(6) V(7) V(8) V(9) V(10) V(11) V(12) V(13) V(14) V(15)
		: : "r"(vectors) : "memory");
	__asm__ volatile(
		"push %1; popfq\n"
		"mov 0x18(%0),%%rbx; mov 0x20(%0),%%rsp; mov 0x28(%0),%%rbp; mov 0x30(%0),%%rsi; mov 0x38(%0),%%rdi\n"
		"mov 0x40(%0),%%r8; mov 0x48(%0),%%r9; mov 0x50(%0),%%r10; mov 0x58(%0),%%r11\n"
		"mov 0x60(%0),%%r12; mov 0x68(%0),%%r13; mov 0x70(%0),%%r14; mov 0x78(%0),%%r15\n"
		"mov 0x08(%0),%%rcx; mov 0x10(%0),%%rdx; mov 0(%0),%%rax\n"
		"jmp *%2\n"
		: : "a"(job.regs), "c"(job.flags), "m"(code) : "memory");
}

int main(void)
{
	static uint8_t alt[65536];
	stack_t ss = {.ss_sp = alt, .ss_size = sizeof alt};
	sigaltstack(&ss, 0);
	struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART};
	int sigs[] = {SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGFPE, SIGALRM};
	for (int i = 0; i < 6; i++)
		sigaction(sigs[i], &sa, 0);
	uint8_t *page = mmap((void *)0x10000000, 8192, 7, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	uint8_t *data = mmap((void *)0x20000000, 1 << 20, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	code = page + 64;
	for (int i = 0; i < (int)sizeof vectors; i++)
		vectors[i] = i * 73 + 5;
	for (int i = 0; i < (int)sizeof around; i++)
		around[i] = (i * 37 + 11) & 0x7f;
	// Should an instruction wait, the next tick but one ends it.
	struct itimerval t = {{0, 100000}, {0, 100000}};
	setitimer(ITIMER_REAL, &t, 0);
	while (fread(&job, sizeof job, 1, stdin) == 1) {
		memcpy(data + (1 << 19) - sizeof around / 2, around, sizeof around);
		memset(code - 64, 0xcc, 160);
		memcpy(code, job.code, 16);
		memset(&res, 0, sizeof res);
		ticks = 0;
		if (!setjmp(back))
			run();
		__asm__ volatile("cld; fninit");
		fwrite(&res, sizeof res, 1, stdout);
	}
	return fflush(stdout);
}

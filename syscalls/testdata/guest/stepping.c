// Flags that make instructions trap: TF, single steps, and AC, alignment checks.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { TF = 0x100, AC = 0x40000 };

extern char steps[], leaf[], fault[];
static long at[100], codes[100];
static int traps, others, other;
static long data[4];

static void trap(int s, siginfo_t *i, void *u) {
	greg_t *r = ((ucontext_t *)u)->uc_mcontext.gregs;
	if (traps < 100)
		at[traps] = r[REG_RIP] - (long)steps, codes[traps] = (i->si_code << 8 | (r[REG_EFL] & TF) != 0) ^ (i->si_addr != (void *)r[REG_RIP]);
	traps++;
}

static void stop(int s, siginfo_t *i, void *u) {
	greg_t *r = ((ucontext_t *)u)->uc_mcontext.gregs;
	others++, other = s << 8 | (i->si_code & 0xff);
	if (r[REG_EFL] & TF)
		other |= 1 << 20;
	r[REG_EFL] &= ~(AC | TF);
	r[REG_RIP] += 3; // behind an instruction of three bytes
}

asm(".text\n"
	"leaf: lea 1(%rax), %rax\n ret\n"
	"steps: push %rbp\n mov %rsp, %rbp\n push %rbx\n"
	"pushf\n orl $0x100, (%rsp)\n popf\n"
	"nop\n mov $3, %ecx\n"
	"1: dec %ecx\n jnz 1b\n"
	"call leaf\n lea leaf(%rip), %rdx\n call *%rdx\n"
	"push $7\n pop %rax\n cmp $7, %eax\n setz %al\n"
	"mov $110, %eax\n syscall\n nop\n" // getppid
	"cld\n lea data(%rip), %rdi\n mov %rdi, %rsi\n movsb\n"
	"fld1\n fstp %st\n pxor %xmm0, %xmm0\n"
	"lea 2f(%rip), %rdx\n jmp *%rdx\n hlt\n"
	"2: lea 3f(%rip), %rdx\n push %rdx\n ret\n hlt\n"
	"3: pushf\n andl $~0x100, (%rsp)\n popf\n nop\n"
	"pop %rbx\n pop %rbp\n ret\n");

static int aligned(void *p) {
	int before = others;
	asm volatile("pushf\n orl $0x40000, (%%rsp)\n popf\n"
		".byte 0x8b, 0x43, 0x00\n" // mov 0(%rbx), %eax
		"pushf\n andl $~0x40000, (%%rsp)\n popf" :: "b"(p) : "rax", "cc", "memory");
	return others - before;
}

static int aligned8(void *p) {
	int before = others;
	asm volatile("pushf\n orl $0x40000, (%%rsp)\n popf\n"
		".byte 0x48, 0x89, 0x03\n" // mov %rax, (%rbx)
		"pushf\n andl $~0x40000, (%%rsp)\n popf" :: "b"(p), "a"(0) : "cc", "memory");
	return others - before;
}

static volatile long target, behind;
static volatile int farTraps;

static void farTrap(int sig, siginfo_t *info, void *context) {
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
	behind = r[REG_RIP] - target;
	if (++farTraps % 3 == 0)
		r[REG_EFL] &= ~0x100;
}

// far has IRET set the trap flag.
static void far(void) {
	asm volatile(
		"mov %%rsp, %%rbx\n\t"
		"lea 1f(%%rip), %%rax\n\t"
		"mov %%rax, %0\n\t"
		"push $0x2b\n\t"
		"push %%rbx\n\t"
		"push $0x302\n\t"
		"push $0x33\n\t"
		"push %%rax\n\t"
		"iretq\n\t"
		"ud2\n"
		"1:\n\t"
		".byte 0x66, 0x90\n\t"
		"nop\n\t"
		".byte 0x0f, 0x1f, 0\n\t"
		"nop"
		: "=m"(target) : : "rax", "rbx", "memory");
	printf("far: %d traps, the last one %ld bytes behind\n", farTraps, behind);
}

int main(void) {
	struct sigaction a = {.sa_sigaction = trap, .sa_flags = SA_SIGINFO};
	sigaction(SIGTRAP, &a, 0);
	a.sa_sigaction = stop;
	sigaction(SIGBUS, &a, 0), sigaction(SIGSEGV, &a, 0);
	((void (*)(void))steps)();
	printf("%d traps:", traps);
	for (int i = 0; i < traps && i < 100; i++)
		printf(" %ld/%lx", at[i], codes[i]);
	traps = 0;
	asm volatile(".byte 0xcd, 3");
	printf("\nint 3: %d traps, si_code %lx", traps, codes[0] >> 8 & 0xff);
	traps = 0;
	asm volatile("pushf\n orl $0x100, (%%rsp)\n popf\n .byte 0x8b, 0x43, 0x00\n nop" :: "b"(1) : "rax", "cc", "memory");
	printf("\na fault: %d traps, %d others, %x\n", traps, others, other);
	char *p = (char *)data;
	for (int i = 0; i < 9; i++)
		printf("at %d: %d %d\n", i, aligned(p + i), aligned8(p + i));
	printf("last %x\n", other);
	printf("not there %d", aligned((void *)1));
	printf(" %x\n", other);
	a.sa_sigaction = farTrap;
	sigaction(SIGTRAP, &a, 0);
	far();
	far();
}

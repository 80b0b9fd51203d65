// Far transfers within 64-bit code: IRET, RETF and JMP by a far pointer, and what is wrong with those that lead elsewhere.
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { CODE = 0x33, DATA = 0x2b };

static long where[4];

// iret goes to one of two places with other flags and another stack pointer, and comes back.
static long iret(long flags, int second) {
	long got, sp = 0;
	static char stack[4096];
	__asm__ volatile(
		"mov %%rsp, %%rbx\n\t"
		"lea 1f(%%rip), %%rax\n\t"
		"lea 2f(%%rip), %%rcx\n\t"
		"test %k4, %k4\n\t"
		"cmovnz %%rcx, %%rax\n\t"
		"push $0x2b\n\t"
		"push %3\n\t"
		"push %2\n\t"
		"push $0x33\n\t"
		"push %%rax\n\t"
		"iretq\n"
		"1:\n\t"
		"pushf\n\t"
		"pop %0\n\t"
		"mov %%rsp, %1\n\t"
		"jmp 3f\n"
		"2:\n\t"
		"pushf\n\t"
		"pop %0\n\t"
		"neg %0\n\t"
		"mov %%rsp, %1\n"
		"3:\n\t"
		"mov %%rbx, %%rsp\n\t"
		"cld"
		: "=&r"(got), "=&r"(sp)
		: "r"(flags), "r"(stack + sizeof stack), "r"(second)
		: "rax", "rbx", "rcx", "memory", "cc");
	where[0] = sp - (long)stack;
	return got;
}

static long retf(void) {
	long moved;
	__asm__ volatile(
		"sub $128, %%rsp\n\t"
		"mov %%rsp, %%rbx\n\t"
		"lea 1f(%%rip), %%rax\n\t"
		"push $0x33\n\t"
		"push %%rax\n\t"
		"lretq $24\n"
		"1:\n\t"
		"mov %%rsp, %0\n\t"
		"sub %%rbx, %0\n\t"
		"lea 128(%%rbx), %%rsp"
		: "=&r"(moved) : : "rax", "rbx", "memory", "cc");
	return moved;
}

// low is code and a stack below 4 GiB, for operands of 32 bits.
static long low(void) {
	unsigned char *at = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	static const unsigned char code[] = {
		0x48, 0x87, 0xe3,             // xchg rsp, rbx
		0xcf,                         // iretd
		0x90, 0x90, 0x90, 0x90,
		0x83, 0xc1, 0x01,             // 8: add ecx, 1
		0xff, 0x2e,                   // jmp far [rsi]
		0x90, 0x90, 0x90,
		0x83, 0xc1, 0x10,             // 16: add ecx, 16
		0x48, 0x87, 0xe3,             // xchg rsp, rbx
		0xc3,                         // ret
		0x90,
		0x81, 0xc1, 0, 1, 0, 0,       // 24: add ecx, 256
		0xcb,                         // retf
	};
	memcpy(at, code, sizeof code);
	uint32_t *stack = (uint32_t *)(at + 6000);
	uint32_t base = (uint32_t)(uintptr_t)at;
	uint32_t frame[] = {base + 8, CODE, 0x202, base + 7000, DATA};
	memcpy(stack, frame, sizeof frame);
	uint32_t back[] = {base + 16, CODE};
	memcpy(at + 7000, back, sizeof back);
	struct { uint32_t offset; uint16_t selector; } __attribute__((packed)) pointer = {base + 24, CODE};
	long sum = 0;
	__asm__ volatile("call *%2" : "+c"(sum), "=b"(where[1]) : "r"(at), "S"(&pointer), "1"(stack) : "memory", "cc");
	where[1] -= base;
	return sum;
}

static volatile long expected, sp;
static void *resume;

static void handler(int sig, siginfo_t *info, void *context) {
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
	printf("signal %d, at it %d, stack as before %d\n", sig, r[REG_RIP] == expected, r[REG_RSP] == sp);
	r[REG_RIP] = (long)resume;
}

static void wrong(const char *what, long rip, long cs, long ss) {
	printf("%s: ", what);
	__asm__ volatile(
		"mov %%rsp, %%rbx\n\t"
		"lea 1f(%%rip), %%rax\n\t"
		"mov %%rax, %0\n\t"
		"lea 2f(%%rip), %%rax\n\t"
		"mov %%rax, %2\n\t"
		"push %5\n\t"
		"push %%rbx\n\t"
		"push $0x202\n\t"
		"push %4\n\t"
		"test %3, %3\n\t"
		"cmovnz %3, %%rax\n\t"
		"push %%rax\n\t"
		"mov %%rsp, %1\n"
		"1:\n\t"
		"iretq\n"
		"2:\n\t"
		"mov %%rbx, %%rsp"
		: "=m"(expected), "=m"(sp), "=m"(resume)
		: "r"(rip), "r"(cs), "r"(ss)
		: "rax", "rbx", "memory", "cc");
	printf("on\n");
}

int main(void) {
	setvbuf(stdout, NULL, _IONBF, 0);
	for (int i = 0; i < 6; i++) {
		long f = iret(0x202 | (i & 1 ? 0xcd5 : 0), i % 3 == 2);
		printf("iret: flags %#lx, stack %ld\n", f, where[0]);
	}
	long sum = 0;
	for (int i = 0; i < 3000; i++)
		sum += iret(0x246, i & 1) + where[0];
	printf("%ld\n", sum);
	printf("privileged flags %#lx\n", iret(0x202 | 3 << 12 | 1 << 17, 0));
	printf("retf: %ld\n", retf());
	sum = low();
	printf("low: %ld %ld\n", sum, where[1]);

	static char stack[65536];
	stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
	sigaltstack(&alternate, NULL);
	struct sigaction a = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	sigaction(SIGSEGV, &a, NULL);
	sigaction(SIGBUS, &a, NULL);
	sigaction(SIGILL, &a, NULL);
	wrong("right", 0, CODE, DATA);
	wrong("no code segment", 0, 0, DATA);
	wrong("the kernel's code segment", 0, 0x10, DATA);
	wrong("a data segment", 0, DATA, DATA);
	wrong("no descriptor", 0, 0x7fb, DATA);
	wrong("no stack segment", 0, CODE, 0);
	wrong("the kernel's stack segment", 0, CODE, 0x18);
	wrong("code for a stack", 0, CODE, CODE);
	return 0;
}

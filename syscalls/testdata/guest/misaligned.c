// RET where the stack pointer is no multiple of 8, between places where CALLs have put return addresses.
#include <stdint.h>
#include <stdio.h>

static char stack[1 << 16] __attribute__((aligned(64)));

// between calls twice, once with RSP = at and once 8 below, and then returns from the stack at other, where it stores where to. It returns what RSP is then beyond other.
uint64_t between(char *at, char *other);
asm(".text\n"
    ".globl between\n"
    "between: push %rbp\n"
    "mov %rsp, %rbp\n"
    "mov %rdi, %rsp\n"
    "call 1f\n"
    "jmp 2f\n"
    "1: call 3f\n"
    "ret\n"
    "3: ret\n"
    "2: lea 4f(%rip), %rax\n"
    "mov %rsi, %rsp\n"
    "mov %rax, (%rsp)\n"
    "lea 5f(%rip), %rcx\n"
    "jmp *%rcx\n"
    "5: ret\n"
    "hlt\n"
    "4: mov %rsp, %rax\n"
    "sub %rsi, %rax\n"
    "mov %rbp, %rsp\n"
    "pop %rbp\n"
    "ret\n");

// inner calls with RSP = at, and again from there.
uint64_t inner(char *at);
asm(".globl inner\n"
    "inner: push %rbp\n"
    "mov %rsp, %rbp\n"
    "mov %rdi, %rsp\n"
    "xor %eax, %eax\n"
    "call 1f\n"
    "add %rsp, %rax\n"
    "sub %rdi, %rax\n"
    "mov %rbp, %rsp\n"
    "pop %rbp\n"
    "ret\n"
    "1: call 2f\n"
    "call 2f\n"
    "ret\n"
    "2: inc %rax\n"
    "ret\n");

int main(void) {
	for (int d = 0; d <= 16; d++) {
		uint64_t beyond = 0, calls = 0;
		for (int i = 0; i < 50; i++) {
			char *at = stack + 4096 + 64 * i;
			beyond += between(at, at - 24 + d);
			calls += inner(at + d);
		}
		printf("%d: %lu %lu\n", d, beyond, calls);
	}
}

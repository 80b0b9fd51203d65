// Kernels of a few instructions each, for what costs an engine more than others: micro KERNEL N runs one N times. Needs AVX2 and FMA.
#define _GNU_SOURCE
#include <immintrin.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static char data[1 << 20] __attribute__((aligned(64)));
static volatile long sink;

#define KERNEL(name) static void name(long n)
#define TIMES for (long i = 0; i < n; i++)
#define X87(name, insn) \
	KERNEL(name) { \
		long double x = 0.7L, r; \
		TIMES __asm__ volatile(insn : "=t"(r) : "0"(x)); \
	}
X87(f_add, "fadd %%st(0), %%st")
X87(f_sin, "fsin")
X87(f_ptan, "fptan\n\tfstp %%st(0)")
X87(f_2xm1, "f2xm1")
X87(f_patan, "fld1\n\tfpatan")
X87(f_yl2x, "fld1\n\tfxch\n\tfyl2x")

#define REP(name, insn) \
	KERNEL(name) { \
		TIMES { \
			char *s = data, *d = data + 4096; \
			long c = 490; \
			__asm__ volatile(insn : "+S"(s), "+D"(d), "+c"(c) : "a"(1) : "memory", "cc"); \
		} \
	}
REP(rep_movs, "rep movsb")
REP(rep_stos, "rep stosb")
REP(rep_cmps, "repe cmpsb")
REP(rep_scas, "repne scasb")

#define PLAIN(name, insn) \
	KERNEL(name) { \
		TIMES { \
			long a = i, c = 7, d = 0; \
			__asm__ volatile(insn : "+a"(a), "+c"(c), "+d"(d) : "b"(data) : "rsi", "memory", "cc", "xmm0", "xmm1", "xmm2"); \
		} \
	}
PLAIN(divide, "divq %%rcx")
PLAIN(bit, "and $0xffff, %%eax\n\tbtsq %%rax, (%%rbx)")
PLAIN(xlat, "movzbl %%al, %%eax\n\txlatb")
PLAIN(masked, "vpcmpeqd %%xmm1, %%xmm1, %%xmm1\n\tvpmaskmovd (%%rbx), %%xmm1, %%xmm0\n\tvpmaskmovd %%xmm0, %%xmm1, 64(%%rbx)")
PLAIN(masked_apart, "vpcmpeqd %%xmm1, %%xmm1, %%xmm1\n\tvpmaskmovd 56(%%rbx), %%xmm1, %%xmm0")
PLAIN(gather, "vpxor %%xmm2, %%xmm2, %%xmm2\n\tvpcmpeqd %%ymm1, %%ymm1, %%ymm1\n\tvpgatherdd %%ymm1, (%%rbx, %%ymm2), %%ymm0")
PLAIN(cpuid, "mov %%rbx, %%rsi\n\txor %%eax, %%eax\n\tcpuid\n\tmov %%rsi, %%rbx")
PLAIN(rdtsc, "rdtsc")
PLAIN(rcp, "rcpps %%xmm0, %%xmm1")
PLAIN(fused, "vfmadd231ps (%%rbx), %%ymm0, %%ymm1")
PLAIN(string, "vmovdqa (%%rbx), %%xmm1\n\tvpcmpistri $0, (%%rbx), %%xmm1")

KERNEL(chase) {
	for (long i = 0; i < sizeof data; i += 64)
		*(long *)(data + i) = (i * 5 + 64 * 7) % sizeof data / 64 * 64;
	long at = 0;
	TIMES at = *(volatile long *)(data + at);
	sink = at;
}

KERNEL(branchy) {
	unsigned x = 1, odd = 0;
	TIMES {
		x = x * 1664525 + 1013904223;
		if (x >> 31)
			__asm__ volatile("inc %0" : "+r"(odd));
	}
	sink = odd;
}

static __attribute__((noinline)) long callee(long x) {
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

KERNEL(call) {
	long x = 0;
	TIMES x = callee(x);
	sink = x;
}

KERNEL(indirect) {
	static long (*volatile f)(long) = callee;
	long x = 0;
	TIMES x = f(x);
	sink = x;
}

KERNEL(call_kernel) { TIMES syscall(SYS_getppid); }

static void handler(int s) { sink = s; }

KERNEL(signals) {
	signal(SIGUSR1, handler);
	TIMES raise(SIGUSR1);
}

// store_and_call stores the turn's number into a page of code, at an offset, and calls the code: mov eax, 0; ret.
static void store_and_call(long n, int offset) {
	unsigned char *code = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(code, "\xb8\0\0\0\0\xc3", 6);
	long sum = 0;
	TIMES {
		*(volatile int *)(code + offset) = i;
		sum += ((int (*)(void))code)();
	}
	sink = sum;
}

KERNEL(rewrite) { store_and_call(n, 1); }

KERNEL(beside) { store_and_call(n, 64); }

#define ENTRY(name) {#name, name}
static const struct { const char *name; void (*run)(long); } kernels[] = {
	ENTRY(f_add), ENTRY(f_sin), ENTRY(f_ptan), ENTRY(f_2xm1), ENTRY(f_patan), ENTRY(f_yl2x),
	ENTRY(rep_movs), ENTRY(rep_stos), ENTRY(rep_cmps), ENTRY(rep_scas),
	ENTRY(divide), ENTRY(bit), ENTRY(xlat), ENTRY(masked), ENTRY(masked_apart), ENTRY(gather), ENTRY(cpuid), ENTRY(rdtsc), ENTRY(rcp), ENTRY(fused), ENTRY(string),
	ENTRY(chase), ENTRY(branchy), ENTRY(call), ENTRY(indirect), ENTRY(call_kernel), ENTRY(signals), ENTRY(rewrite), ENTRY(beside),
};

// Without arguments it names the kernels.
int main(int argc, char **argv) {
	for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
		if (argc < 3)
			puts(kernels[i].name);
		else if (!strcmp(kernels[i].name, argv[1])) {
			kernels[i].run(atol(argv[2]));
			return 0;
		}
	return argc >= 3;
}

// What AVX-512 has that AVX has not: masks that keep elements of memory from being accessed, gathers and scatters, rounding within
// instructions, registers 16 to 31, and state that signal handlers, forked processes and XSAVE see. It prints sums of what it computes; natively
// they are the same.
#include <immintrin.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static uint64_t sum(const void *p, size_t n)
{
	const unsigned char *b = p;
	uint64_t h = 14695981039346656037u;
	while (n--)
		h = (h ^ *b++) * 1099511628211u;
	return h;
}

static void show(const char *name, __m512i v)
{
	printf("%s %016llx\n", name, (unsigned long long)sum(&v, sizeof v));
}

// edge returns the last bytes of a page behind which nothing is mapped.
static char *edge(size_t n)
{
	char *p = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(p + 4096, 4096);
	for (int i = 0; i < 4096; i++)
		p[i] = i * 7;
	return p + 4096 - n;
}

static void masks(void)
{
	char *p = edge(24);
	show("load", _mm512_maskz_loadu_epi32(0x3f, p));
	show("bytes", _mm512_mask_loadu_epi8(_mm512_set1_epi8(9), 0xffffff, p));
	_mm512_mask_storeu_epi16(p, 0xa5a, _mm512_set1_epi16(0x1234));
	show("store", _mm512_maskz_loadu_epi8(0xffffff, p));
	_mm512_mask_compressstoreu_epi32(p, 0x8421, _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
	show("compress", _mm512_maskz_loadu_epi8(0xffffff, p));
	show("expand", _mm512_maskz_expandloadu_epi32(0x9009, p));
	show("broadcast", _mm512_maskz_add_epi64(0x55, _mm512_set1_epi64(*(int64_t *)p), _mm512_set1_epi64(3)));
	__mmask16 k = _mm512_cmp_epi32_mask(_mm512_maskz_loadu_epi32(0x3f, p), _mm512_set1_epi32(5), _MM_CMPINT_LT);
	printf("mask %x %x %d\n", k, _mm512_kunpackb(k, 0x55), _mm512_kortestc(k, _mm512_knot(k)));
}

static void tables(void)
{
	static int32_t table[256];
	__m512i index = _mm512_set_epi32(3, 250, 17, 99, 64, 5, 5, 201, 8, 13, 21, 34, 55, 89, 144, 233);
	for (int i = 0; i < 256; i++)
		table[i] = i * i;
	show("gather", _mm512_i32gather_epi32(index, table, 4));
	show("masked gather", _mm512_mask_i32gather_epi32(index, 0x0ff0, index, table, 4));
	_mm512_mask_i32scatter_epi32(table, 0xfff7, index, _mm512_set1_epi32(-1), 4);
	_mm512_i32scatter_epi32(table, _mm512_and_si512(index, _mm512_set1_epi32(3)), index, 4);
	printf("scatter %016llx\n", (unsigned long long)sum(table, sizeof table));
	show("permute", _mm512_permutexvar_epi32(_mm512_srli_epi32(index, 4), index));
	show("conflicts", _mm512_conflict_epi32(index));
	show("ternary", _mm512_ternarylogic_epi64(index, _mm512_set1_epi64(0x1122334455667788), _mm512_rol_epi64(index, 11), 0xe8));
}

static void numbers(void)
{
	__m512d x = _mm512_set_pd(1.5, -2.25, 1e300, 1e-300, 0.1, 7, -0.0, 1e18), y = _mm512_set_pd(3, 1e-3, 1e10, 1e-10, 0.2, 1.0 / 3, 5, -7);
	show("nearest", _mm512_castpd_si512(_mm512_div_pd(x, y)));
	show("down", _mm512_castpd_si512(_mm512_div_round_pd(x, y, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)));
	show("up", _mm512_castpd_si512(_mm512_fmadd_round_pd(x, y, y, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC)));
	show("zero", _mm512_castpd_si512(_mm512_sqrt_round_pd(y, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)));
	show("scale", _mm512_castpd_si512(_mm512_scalef_pd(x, y)));
	show("exponent", _mm512_castpd_si512(_mm512_getexp_pd(x)));
	show("significand", _mm512_castpd_si512(_mm512_getmant_pd(x, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_src)));
	show("steps", _mm512_castpd_si512(_mm512_roundscale_pd(x, 0x20)));
	show("range", _mm512_castpd_si512(_mm512_range_pd(x, y, 3)));
	show("unsigned", _mm512_cvtpd_epu64(_mm512_abs_pd(x)));
	show("back", _mm512_castpd_si512(_mm512_cvtepu64_pd(_mm512_castpd_si512(x))));
	printf("class %x\n", _mm512_fpclass_pd_mask(x, 0x46));
}

static volatile int handled;

// handler changes registers that the program has in use, and says how Linux saved them.
static void handler(int signo, siginfo_t *info, void *context)
{
	(void)signo, (void)info;
	const unsigned char *area = (void *)((ucontext_t *)context)->uc_mcontext.fpregs;
	uint32_t size, magic;
	memcpy(&size, area + 480, 4);
	memcpy(&magic, area + size, 4);
	printf("frame %d %x\n", size > 2400, magic);
	__asm__ volatile("vpternlogd $0xff, %%zmm1, %%zmm1, %%zmm1; vpxorq %%zmm31, %%zmm31, %%zmm31; kxorq %%k7, %%k7, %%k7" ::: "memory");
	handled++;
}

// registers makes a system call with registers in use, and says whether they are the same behind it.
static int registers(long nr, long a, long b)
{
	unsigned char in[64], low[64], high[64];
	uint64_t k = 0x123456789abcdef0, after;
	long r;
	for (int i = 0; i < 64; i++)
		in[i] = i * 5 + nr;
	__asm__ volatile("vmovdqu64 (%[in]), %%zmm1; vmovdqa64 %%zmm1, %%zmm31; kmovq %[k], %%k7; syscall;"
		"vmovdqu64 %%zmm1, (%[low]); vmovdqu64 %%zmm31, (%[high]); kmovq %%k7, %[after]"
		: "=a"(r), [after] "=r"(after)
		: "a"(nr), "D"(a), "S"(b), [in] "r"(in), [low] "r"(low), [high] "r"(high), [k] "r"(k)
		: "rcx", "r11", "memory", "xmm1", "xmm31", "k7");
	if (nr == 57 && r == 0)
		_exit(memcmp(in, low, 64) || memcmp(in, high, 64) || after != k);
	return !memcmp(in, low, 64) && !memcmp(in, high, 64) && after == k;
}

static void state(void)
{
	struct sigaction act = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	int status = -1;
	sigaction(SIGUSR1, &act, 0);
	int same = registers(62, getpid(), SIGUSR1);
	printf("signal %d %d\n", same, handled);
	same = registers(57, 0, 0);
	wait(&status);
	printf("fork %d %d\n", same, status);
	// VEX clears what lies above, EVEX writes what is there.
	__m512i v = _mm512_set1_epi64(-1);
	__asm__("vpaddd %%ymm0, %%ymm0, %%ymm0" : "+x"(v)::"xmm0");
	__asm__("vmovdqa64 %0, %%zmm0; vpaddd %%ymm0, %%ymm0, %%ymm0; vmovdqa64 %%zmm0, %0" : "+v"(v)::"xmm0");
	show("upper", v);
}

int main(void)
{
	masks();
	tables();
	numbers();
	state();
	return 0;
}

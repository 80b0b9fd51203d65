// Signal frames that a handler has changed: what rt_sigreturn(2) takes, and what it refuses.
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

// struct _fpstate, by bytes: FXSAVE's image, fx_sw_bytes at 464, XSAVE's header at 512.
typedef union {
	uint16_t half[0];
	uint32_t word[0];
	uint64_t quad[0];
	char byte[832];
} area;

static sigjmp_buf jump;
static const char *change;

static void set_mxcsr(ucontext_t *c, area *a) { (void)c, a->word[6] = 0xffffffff; }
static void set_mxcsr_bit(ucontext_t *c, area *a) { (void)c, a->word[6] = 0x10000; }
static void set_components(ucontext_t *c, area *a) { (void)c, a->quad[64] = ~0ull; }
static void no_components(ucontext_t *c, area *a) { (void)c, a->quad[64] = 0; }
static void compacted(ucontext_t *c, area *a) { (void)c, a->quad[65] = 1ull << 63; }
static void reserved(ucontext_t *c, area *a) { (void)c, a->quad[66] = 1; }
static void no_magic(ucontext_t *c, area *a) { (void)c, a->word[116] = 0; }
static void large(ucontext_t *c, area *a) { (void)c, a->word[117] = 0x7fffffff; }
static void small(ucontext_t *c, area *a) { (void)c, a->word[120] = 0; }
static void wild(ucontext_t *c, area *a) { (void)a, c->uc_mcontext.fpregs = (void *)0x10; }
static void none(ucontext_t *c, area *a) { (void)a, c->uc_mcontext.fpregs = 0; }
static void unaligned(ucontext_t *c, area *a) { c->uc_mcontext.fpregs = (void *)(a->byte + 4); }
static void x87(ucontext_t *c, area *a) {
	(void)c;
	a->half[0] = 0xffff, a->half[1] = 0xffff, a->byte[4] = 0xff;
	memset(a->byte + 32, 0xff, 128);
}
static void unmasked(ucontext_t *c, area *a) { (void)c, a->half[0] = 0, a->half[1] = 0x3f; }
static void flags(ucontext_t *c, area *a) { (void)a, c->uc_mcontext.gregs[REG_EFL] = ~0x40100ull; }
static void no_segment(ucontext_t *c, area *a) { (void)a, c->uc_mcontext.gregs[REG_CSGSFS] = 0; }
static void rpl(ucontext_t *c, area *a) { (void)a, c->uc_mcontext.gregs[REG_CSGSFS] = 0x2b000000000030; }
static void far_away(ucontext_t *c, area *a) { (void)a, c->uc_mcontext.gregs[REG_RIP] = 1ull << 63; }

static void (*make)(ucontext_t *, area *);

static void handler(int sig, siginfo_t *info, void *context) {
	ucontext_t *c = context;
	if (sig != SIGUSR1) {
		printf("%s: signal %d, code %d, flags %llx\n", change, sig, info->si_code, c->uc_mcontext.gregs[REG_EFL] & 0x4cd5);
		siglongjmp(jump, 1);
	}
	make(c, (area *)c->uc_mcontext.fpregs);
}

static void try(const char *what, void (*how)(ucontext_t *, area *)) {
	uint64_t efl;
	uint32_t mxcsr = 0x1f80;
	uint16_t cw, sw;
	change = what, make = how;
	if (sigsetjmp(jump, 1)) return;
	__asm__ volatile("ldmxcsr %0; fninit" ::"m"(mxcsr));
	raise(SIGUSR1);
	__asm__ volatile("fnstcw %0; fnstsw %1; stmxcsr %2; fnclex; fninit; pushfq; pop %3; cld" : "=m"(cw), "=m"(sw), "=m"(mxcsr), "=r"(efl));
	printf("%s: fcw %x, fsw %x, mxcsr %x, DF %d\n", what, cw, sw, mxcsr, (int)(efl >> 10 & 1));
	mxcsr = 0x1f80;
	__asm__ volatile("ldmxcsr %0" ::"m"(mxcsr));
}

int main(void) {
	static char stack[1 << 16];
	stack_t alt = {.ss_sp = stack, .ss_size = sizeof stack};
	struct sigaction act = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
	int sigs[] = {SIGUSR1, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
	sigaltstack(&alt, 0);
	for (int i = 0; i < 5; i++) sigaction(sigs[i], &act, 0);
#define TRY(how) try(#how, how)
	TRY(set_mxcsr), TRY(set_mxcsr_bit), TRY(set_components), TRY(no_components), TRY(compacted), TRY(reserved);
	TRY(no_magic), TRY(large), TRY(small), TRY(wild), TRY(none), TRY(unaligned), TRY(x87), TRY(unmasked);
	TRY(flags), TRY(no_segment), TRY(rpl), TRY(far_away);
}

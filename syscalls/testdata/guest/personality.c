// personality(2): flags are remembered and inherited; heaps that can be executed, and that follow the program.
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <unistd.h>

extern char end[];
static sigjmp_buf env;
static void fault(int sig) { siglongjmp(env, 1); }

// runs tries to execute a RET at p.
static const char *runs(unsigned char *p) {
	if (sigsetjmp(env, 1))
		return "faults";
	*p = 0xc3;
	((void (*)(void))p)();
	return "runs";
}

static void heap(void) {
	unsigned char *p = sbrk(4096), *q = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	printf("heap %s, mmap %s\n", runs(p), runs(q));
}

int main(int argc, char **argv) {
	setvbuf(stdout, 0, _IONBF, 0);
	signal(SIGSEGV, fault);
	if (argc > 1) {
		unsigned long gap = (char *)sbrk(0) - end;
		printf("%x, heap %s\n", personality(0xffffffff), gap < 4096 + 65536 ? "behind the program" : "elsewhere");
		heap();
		char *big = sbrk(200 << 20);
		printf("200 MiB: %s\n", big == (void *)-1 ? strerror(errno) : "there");
		return 0;
	}
	printf("%x\n", personality(0xffffffff));
	heap();
	printf("%x\n", personality(READ_IMPLIES_EXEC));
	printf("%x\n", personality(0xffffffff));
	heap();
	printf("%x\n", personality(ADDR_NO_RANDOMIZE | READ_IMPLIES_EXEC));
	if (fork() == 0) {
		printf("%x\n", personality(0xffffffff));
		execl("/proc/self/exe", argv[0], "again", NULL);
	}
	wait(0);
	return 0;
}

// Makes functions while it runs and names them for perf in several ways: see TestJITNames.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

typedef void (*function)(long);

// make writes a loop of two instructions, with n of one byte in front: it takes n + 2 * times + 1 instructions.
static void make(unsigned char *at, int n)
{
	memset(at, 0x90, n);                                        // NOP
	memcpy(at + n, "\x48\xff\xcf\x75\xfb\xc3", 6);              // DEC RDI; JNZ; RET
}

static void map_name(unsigned char *at, const char *name)
{
	static FILE *f;
	char path[64];
	if (!f) {
		sprintf(path, "/tmp/perf-%d.map", getpid());
		f = fopen(path, "w");
		if (!f) {
			perror(path);
			_exit(1);
		}
	}
	fprintf(f, "%lx 40 %s\n", (long)at, name);
	fflush(f);
}

static void dump_name(unsigned char *at, const char *name)
{
	char path[64];
	uint32_t header[10] = {0x4a695444, 1, 40, 62, 0, getpid()};
	uint32_t size = 56 + strlen(name) + 1 + 64;
	uint64_t load[7] = {(uint64_t)size << 32, 0, getpid(), (long)at, (long)at, 64, 0};
	sprintf(path, "jit-%d.dump", getpid());
	FILE *f = fopen(path, "w");
	fwrite(header, 1, sizeof header, f);
	fwrite(load, 1, sizeof load, f);
	fwrite(name, 1, strlen(name) + 1, f);
	fwrite(at, 1, 64, f);
	fclose(f);
}

int main(void)
{
	unsigned char *code = mmap(0, 0x5000, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	make(code, 1);
	map_name(code, "first name");
	((function)code)(1000);
	make(code, 2); // another function at the same place
	map_name(code, "second");
	((function)code)(100);

	make(code + 0x1000, 3);
	dump_name(code + 0x1000, "dumped");
	((function)(code + 0x1000))(10000);

	make(code + 0x2000, 4);
	((function)(code + 0x2000))(20000);
	make(code + 0x2800, 5); // what is on the page was counted before it has a name
	make(code + 0x3000, 6);
	((function)(code + 0x3000))(30000);
	if (fork() == 0) {
		((function)code)(50);
		_exit(0);
	}
	wait(0);
	map_name(code + 0x2000, "late");
	return 0;
}

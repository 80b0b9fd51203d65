// Makes functions that jump to each other, and names them for perf after they have run: see TestJITNamesLate.
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef void (*function)(long, void *);

static void map_name(unsigned char *at, const char *name)
{
	static FILE *f;
	char path[64];
	if (!f) {
		sprintf(path, "/tmp/perf-%d.map", getpid());
		f = fopen(path, "w");
	}
	fprintf(f, "%lx 40 %s\n", (long)at, name);
	fflush(f);
}

// body writes a loop of two instructions, n of one byte in front: n + 2 * times + 1 instructions.
static unsigned char *body(unsigned char *at, int n)
{
	memset(at, 0x90, n);                                        // NOP
	memcpy(at + n, "\x48\xff\xcf\x75\xfb\xc3", 6);              // DEC RDI; JNZ; RET
	return at;
}

// jump writes a jump to another place: directly, by RSI, or, from the 64 bytes in front of that, by going on.
static unsigned char *jump(unsigned char *at, unsigned char *to, char kind)
{
	int offset = to - (at + 5);
	switch (kind) {
	case 'd': *at = 0xe9; memcpy(at + 1, &offset, 4); break;
	case 'i': memcpy(at, "\xff\xe6", 2); break;
	case 't': memset(at, 0x90, 64); break;
	}
	return at;
}

int main(void)
{
	unsigned char *code = mmap(0, 0x8000, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char *to[3] = {body(code + 0x1000, 1), body(code + 0x3000, 2), body(code + 0x5000, 3)};
	unsigned char *from[3] = {jump(code, to[0], 'd'), jump(code + 0x2000, to[1], 'i'), jump(code + 0x4fc0, to[2], 't')};
	const char *name[3] = {"direct", "indirect", "through"}, *body_name[3] = {"direct body", "indirect body", "through body"};

	for (int i = 0; i < 3; i++)
		((function)from[i])(10, to[i]); // nothing has a name
	for (int i = 0; i < 3; i++)
		map_name(to[i], body_name[i]);
	for (int k = 0; k < 5; k++)
		for (int i = 0; i < 3; i++)
			((function)from[i])(100, to[i]); // what jumps has none
	for (int i = 0; i < 3; i++)
		map_name(from[i], name[i]);
	for (int k = 0; k < 7; k++)
		for (int i = 0; i < 3; i++)
			((function)from[i])(1000, to[i]);

	// Two that jump to each other in a circle, entered from one that had its name first.
	unsigned char *enter = code + 0x6000, *ping = code + 0x7000, *pong = code + 0x7800;
	memcpy(ping, "\x48\xff\xcf\x74\x02\xff\xe6\xc3", 8);   // DEC RDI; JZ +2; JMP RSI; RET
	map_name(enter, "enter");
	jump(enter, ping, 'd');
	jump(pong, ping, 'd');
	((function)enter)(10, pong);
	map_name(ping, "ping");
	((function)enter)(10, pong);
	map_name(pong, "pong");
	((function)enter)(10, pong);
	return 0;
}

// System calls whose buffer lies behind the end of a mapped file: EFAULT, where a load would raise SIGBUS. So do vector instructions of which CPUs' makers leave different things when they fault.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static void show(const char *what, long r) {
	printf("%-28s %ld %s\n", what, r < 0 ? -1 : r, r < 0 ? strerror(errno) : "");
}

static sigjmp_buf back;
static void onSignal(int signal) { siglongjmp(back, signal); }

// accesses shows which signal an instruction raises that accesses at, with all elements selected.
static void accesses(const char *what, void (*instruction)(char *at), char *at) {
	int signal = sigsetjmp(back, 1);
	if (!signal) instruction(at);
	printf("%-28s %d\n", what, signal);
}
static void maskedStore(char *at) { asm volatile("vpcmpeqd %%ymm0, %%ymm0, %%ymm0\n vmaskmovps %%ymm0, %%ymm0, (%0)" : : "r"(at) : "xmm0", "memory"); }
static void maskedLoad(char *at) { asm volatile("vpcmpeqd %%ymm0, %%ymm0, %%ymm0\n vmaskmovps (%0), %%ymm0, %%ymm1" : : "r"(at) : "xmm0", "xmm1", "memory"); }
static void maskedBytes(char *at) { asm volatile("mov %0, %%rdi\n vpcmpeqd %%xmm0, %%xmm0, %%xmm0\n vmaskmovdqu %%xmm0, %%xmm0" : : "r"(at) : "rdi", "xmm0", "memory"); }
static void gather(char *at) {
	asm volatile("vpcmpeqd %%ymm0, %%ymm0, %%ymm0\n vpxor %%ymm1, %%ymm1, %%ymm1\n vpgatherdd %%ymm0, (%0,%%ymm1), %%ymm2" : : "r"(at) : "xmm0", "xmm1", "xmm2", "memory");
}
static void toHalf(char *at) { asm volatile("vpxor %%xmm0, %%xmm0, %%xmm0\n vcvtps2ph $0, %%xmm0, (%0)" : : "r"(at) : "xmm0", "memory"); }
static void saveState(char *at) { asm volatile("fxsave (%0)" : : "r"((long)at & -16) : "memory"); }
static void fromMMX(char *at) { asm volatile("movq %%mm0, (%0)\n emms" : : "r"(at) : "memory"); }

static void instructions(char *at) {
	accesses("a masked store", maskedStore, at);
	accesses("a masked load", maskedLoad, at);
	accesses("a store of masked bytes", maskedBytes, at);
	accesses("a gather", gather, at);
	accesses("a store of half precision", toHalf, at);
	accesses("a store of MMX", fromMMX, at);
	accesses("a store of the state", saveState, at);
}

int main(void) {
	char path[] = "/tmp/behindeofXXXXXX";
	int file = mkstemp(path), p[2], s[2], zero = open("/dev/zero", O_RDONLY), urandom = open("/dev/urandom", O_RDONLY), proc = open("/proc/self/stat", O_RDONLY);
	unlink(path);
	if (ftruncate(file, 100) || pipe(p) || socketpair(AF_UNIX, SOCK_STREAM, 0, s))
		return 1;
	char *start = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0), *end = start + 4096;
	struct iovec there = {end, 16}, both[2] = {{end - 8, 16}, {end, 8}}, here = {(char[16]){0}, 16};
	struct msghdr m = {.msg_iov = &there, .msg_iovlen = 1};
	for (int at = 0; at < 2; at++) {
		char *b = at ? end : end - 8;
		printf("at %s\n", at ? "the end" : "8 bytes before the end");
		show("write to the pipe", write(p[1], "0123456789abcdef", 16));
		show("read from the pipe", read(p[0], b, 16));
		show("write to the socket", write(s[1], "0123456789abcdef", 16));
		show("recv", recv(s[0], b, 16, MSG_DONTWAIT));
		show("write from there to the pipe", write(p[1], b, 16));
		show("send from there", send(s[1], b, 16, 0));
		show("read from /dev/zero", read(zero, b, 4000));
		show("read from /dev/urandom", read(urandom, b, 16) > 0 ? 1 : -1);
		show("read from /proc", read(proc, b, 16));
		show("pread of the file", pread(file, b, 16, 0));
		show("pwrite to the file", pwrite(file, b, 16, 0));
		show("getrandom", syscall(SYS_getrandom, b, 16, 0) > 0 ? 1 : -1);
		show("getcwd", syscall(SYS_getcwd, b, 4000) > 0 ? 1 : -1);
		show("stat", syscall(SYS_stat, "/", b));
		show("uname", syscall(SYS_uname, b));
		show("clock_gettime", syscall(SYS_clock_gettime, CLOCK_MONOTONIC, b));
		show("open", open(b, O_RDONLY) < 0 ? -1 : 0);
		ftruncate(file, 100);
	}
	show("recvmsg", recvmsg(s[0], &m, MSG_DONTWAIT));
	show("readv across", readv(zero, both, 2));
	show("process_vm_readv", process_vm_readv(getpid(), &here, 1, &there, 1, 0));
	show("process_vm_readv across", process_vm_readv(getpid(), &here, 1, both, 1, 0));
	show("process_vm_writev", process_vm_writev(getpid(), &here, 1, &there, 1, 0));
	signal(SIGBUS, onSignal);
	signal(SIGSEGV, onSignal);
	instructions(end - 4);
	instructions(end);
	mprotect(end, 4096, PROT_NONE);
	instructions(end);
}

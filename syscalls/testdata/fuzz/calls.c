// Makes system calls at random: numbers, arguments, pointers to nowhere. Run it in an empty directory.
//
//	calls SEED PROCESSES CALLS [compare]
//
// Each process makes so many calls from a generator seeded by both numbers, and may die of them. What they return is
// added up and printed: equal seeds give equal sums. This runs under cgemu only, and refuses to run elsewhere.
//
// With "compare" it runs natively, too, as a user whom nothing belongs to. Each call is printed with what it returned, and each
// process with what it left: descriptors, memory, files. What depends on time, on chance or on the machine is left out of
// what is called, of the arguments, or of what is printed, so that every run prints the same.
//
// Nothing outside of the directory can be hit. Paths are texts of a page that cannot be written, relative and without
// dots that lead up, or addresses where nothing is. Descriptors are those of files opened by such paths. Process ids
// are the process' own, or nobody's.
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

enum { page = 4096, maxCalls = 1000 };

static int out = 900;

static uint64_t arenaSize = 1 << 20;

// comparing says that what is done is printed. master is a descriptor of what the arena has before each call: what a call of
// one side writes must not become the argument of another.
static int comparing, master = 240;

// A record is a call that was made.
struct record {
	int nr, kinds;
	uint64_t args[6], result, data;
};

static struct log {
	int n, descriptors[64], flags[64];
	long at[64];
	char memory[256];
	struct record calls[maxCalls];
} *record;

// Kinds of arguments: p path, d directory, f descriptor, b buffer, q what stat fills in, v array of iovec, n size, N size of a copy, o offset, i flags,
// k the same of clone, m mode, t type and mode, s signal, P process, a address of a page, l length of pages, c clock,
// u small number, x anything that is no address, z a pointer to nowhere or 0. A call that is not here gets x.
static const struct {
	short nr;
	const char *args;
} calls[] = {
	{0, "fbn"}, {1, "fbn"}, {2, "pim"}, {3, "f"}, {4, "pq"}, {5, "fq"}, {6, "pq"}, {7, "buu"}, {8, "fou"}, {9, "aluifo"}, {10, "alu"}, {11, "al"},
	{13, "sbbu"}, {14, "ubbu"}, {15, ""}, {16, "fxb"}, {17, "fbno"}, {18, "fbno"}, {19, "fvu"}, {20, "fvu"}, {21, "pu"}, {22, "b"},
	{23, "ubbbb"}, {24, ""}, {25, "allua"}, {26, "alu"}, {27, "alb"}, {28, "alu"}, {32, "f"}, {33, "ff"}, {34, ""}, {35, "bb"}, {36, "ub"},
	{37, "u"}, {38, "ubb"}, {39, ""}, {40, "ffbN"}, {44, "fbnubu"}, {45, "fbnubb"}, {46, "fbu"}, {47, "fbu"}, {48, "fu"}, {51, "fbb"}, {52, "fbb"},
	{53, "uuub"}, {54, "fuubu"}, {55, "fuubb"}, {56, "kzbbx"}, {57, ""}, {58, ""}, {59, "pzz"}, {61, "Pbub"}, {62, "Ps"}, {63, "b"},
	{72, "fux"}, {72, "fub"}, {73, "fu"}, {74, "f"}, {75, "f"}, {76, "po"}, {77, "fo"}, {78, "fbn"}, {79, "bn"}, {80, "p"}, {81, "f"}, {82, "pp"}, {83, "pm"},
	{84, "p"}, {85, "pm"}, {86, "pp"}, {87, "p"}, {88, "pp"}, {89, "pbn"}, {90, "pm"}, {91, "fm"}, {92, "pxx"}, {93, "fxx"}, {94, "pxx"}, {95, "u"},
	{96, "bb"}, {97, "ub"}, {98, "ub"}, {99, "b"}, {100, "b"}, {102, ""}, {104, ""}, {105, "x"}, {106, "x"}, {107, ""}, {108, ""}, {109, "PP"},
	{110, ""}, {111, ""}, {112, ""}, {113, "xx"}, {115, "ub"}, {117, "xxx"}, {118, "bbb"}, {120, "bbb"}, {121, "P"}, {122, "x"}, {124, "P"}, {125, "bb"},
	{127, "bn"}, {128, "bbbu"}, {129, "Psb"}, {130, "bu"}, {131, "bb"}, {132, "pb"}, {133, "ptx"}, {135, "x"}, {137, "pb"}, {138, "fb"}, {140, "uP"},
	{141, "uPx"}, {142, "Pb"}, {143, "Pb"}, {144, "Pub"}, {145, "P"}, {146, "u"}, {148, "Pb"}, {149, "al"}, {150, "al"}, {151, "u"}, {152, ""},
	{157, "uxxxx"}, {157, "ubbbb"}, {158, "xx"}, {160, "ub"}, {186, ""}, {187, "fon"}, {200, "Ps"}, {201, "b"}, {202, "buubbu"}, {202, "bxubbx"}, {203, "Pub"},
	{204, "Pub"}, {213, "u"}, {217, "fbn"}, {218, "b"}, {219, ""}, {221, "foou"}, {222, "cbb"}, {223, "uubb"}, {224, "ub"}, {225, "u"}, {226, "u"}, {228, "cb"},
	{229, "cb"}, {230, "cubb"}, {232, "fbuu"}, {233, "fufb"}, {234, "PPs"}, {235, "pb"}, {247, "uPbub"}, {251, "uPx"}, {252, "uP"}, {257, "dpim"}, {258, "dpm"},
	{259, "dptx"}, {260, "dpxxi"}, {261, "dpb"}, {262, "dpqi"}, {263, "dpi"}, {264, "dpdp"}, {265, "dpdpi"}, {266, "pdp"}, {267, "dpbn"}, {268, "dpm"},
	{269, "dpu"}, {270, "ubbbbb"}, {271, "bubbn"}, {273, "bu"}, {274, "Pbb"}, {275, "fbfbNu"}, {277, "foou"}, {280, "dpbi"}, {281, "fbuubn"}, {282, "fbn"},
	{283, "ci"}, {284, "u"}, {285, "fuoo"}, {286, "fubb"}, {287, "fb"}, {289, "fbni"}, {290, "ui"}, {291, "i"}, {292, "ffi"}, {293, "bi"}, {295, "fvuo"},
	{296, "fvuo"}, {297, "PPsb"}, {302, "Pubb"}, {309, "bbb"}, {316, "dpdpu"}, {318, "bnu"}, {319, "pu"}, {322, "dpzzi"}, {324, "uuu"}, {325, "alu"},
	{326, "fbfbNu"}, {327, "fvuoxu"}, {328, "fvuoxu"}, {332, "dpixq"}, {424, "fsbu"}, {434, "Pu"}, {435, "bn"}, {436, "ffu"}, {439, "dpui"}, {441, "fbubbn"},
	{452, "dpmi"},
};

static uint64_t state, self;
static char *arena, *names, *stats;
static int nameAt[32], nameCount;

static uint64_t rnd(void) {
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * 0x2545f4914f6cdd1d;
}

static uint64_t below(uint64_t n) { return (rnd() >> 11) % n; }

static uint64_t nowhere(void) {
	static const uint64_t bad[] = {0, 1, 8, 0x6000000000, 0x6000000ffd, 0x7ffffffff000, 0x800000000000, 0xffff800000000000, ~0ull, ~0ull - 4095};
	return bad[below(10)];
}

static uint64_t number(void) {
	static const uint64_t edges[] = {0, 1, 2, ~0ull, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, 1ull << 62, 1ull << 63, 4095, 4096, 65536};
	switch (below(4)) {
	case 0:
		return edges[below(13)];
	case 1: {
		uint64_t n = 1ull << below(64);
		return comparing && n == 1 << 26 ? 0 : n; // from where the guest maps: an address there alone
	}
	case 2:
		return rnd();
	}
	return below(100);
}

static uint64_t buffer(void) {
	uint64_t at = (uint64_t)arena;
	switch (below(8)) {
	case 0:
		return nowhere();
	case 1:
		return at + arenaSize - below(64); // its end
	case 2:
		return at + below(arenaSize);
	}
	return at + below(arenaSize / 64) * 64;
}

static uint64_t argument(char kind) {
	switch (kind) {
	case 'p':
		return below(8) == 0 ? nowhere() : (uint64_t)(names + nameAt[below(nameCount)]);
	case 'd':
		return below(2) ? (uint64_t)AT_FDCWD : below(24);
	case 'f':
		return below(16) == 0 ? number() : below(24);
	case 'b':
		return buffer();
	case 'q': // times of files are the host's: they must not become arguments
		return below(8) == 0 ? nowhere() : (uint64_t)stats + below(page);
	case 'v':
		return below(8) == 0 ? nowhere() : (uint64_t)arena + arenaSize / 2 + below(64) * 16;
	case 'n': {
		static const uint64_t sizes[] = {0, 1, 8, 64, 4096, 5000, 65536, 66000, ~0ull, 1ull << 63};
		return below(2) ? sizes[below(10)] : below(300);
	}
	case 'N': // of what may be copied: a file could feed itself
		return below(4) == 0 ? 0 : below(100000);
	case 'o': // nothing between 16 MiB and what no file has: files must stay small
		return below(8) == 0 ? (uint64_t)-(int64_t)below(1 << 20) : below(4) == 0 ? below(16 << 20) : below(10000);
	case 'i':
		return below(4) == 0 ? rnd() & 0x7fffffff : below(2) ? 1ull << below(22) | below(4) : below(4) | (below(2) ? O_CREAT : 0) | (below(2) ? O_NONBLOCK : 0);
	case 'k':
		return below(2) ? 17 | 1ull << below(33) : below(2) ? 0x50f00 : rnd() & 0xffffffff;
	case 'm':
		return 0700 | below(010000);
	case 't':
		return 0700 | below(0100) | (below(2) ? S_IFREG : below(2) ? S_IFIFO : below(2) ? S_IFSOCK : 0);
	case 's': {
		uint64_t sig = below(8) == 0 ? number() : below(66);
		return comparing && (int)sig == SIGSTOP ? SIGCONT : sig; // nobody would wake it
	}
	case 'P':
		return below(4) ? self : below(2) ? 0 : 500000 + below(10);
	case 'a':
		return below(4) == 0 ? 0 : (uint64_t)arena + below(arenaSize / page) * page + (below(16) == 0);
	case 'l':
		return below(8) == 0 ? (below(2) ? 0 : ~0ull - below(5000)) : below(16) * page + (below(8) == 0);
	case 'c':
		return below(4) == 0 ? number() : below(12);
	case 'u':
		return below(16) == 0 ? number() : below(40);
	case 'z':
		return nowhere();
	}
	return number();
}

// call makes a system call without the C library, whose thread-local data may be gone.
static long call(long nr, const uint64_t a[6]) {
	register long r10 __asm__("r10") = a[3], r8 __asm__("r8") = a[4], r9 __asm__("r9") = a[5];
	long ret;
	__asm__ volatile("syscall" : "=a"(ret) : "a"(nr), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
	return ret;
}

static void fillNames(void) {
	static const char *const list[] = {
		"", ".", "a", "b", "c", "d", "e", "l", "./a", "d/", "d/a", "d/d", "d/d/a", "e/l", "l/a", "a/b", "nothing", "d/nothing/a", "fifo", "a\xff\n",
	};
	int at = 0;
	names = mmap(comparing ? (void *)0x5100000000 : 0, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < sizeof list / sizeof *list; i++) {
		nameAt[nameCount++] = at;
		strcpy(names + at, list[i]);
		at += strlen(list[i]) + 1;
	}
	nameAt[nameCount++] = at;
	memset(names + at, 'n', 300); // longer than a name may be
	at += 301;
	nameAt[nameCount++] = at;
	memset(names + at, 'e', 2 * page - at); // no end
	nameAt[nameCount++] = page;             // longer than a path may be
	munmap(names + 2 * page, page);
	mprotect(names, 2 * page, PROT_READ);
}

// fillArena puts small numbers, random bytes, and iovecs into the arena.
static void fillArena(void) {
	uint64_t *w = (uint64_t *)arena;
	for (int i = 0; i < arenaSize / 16; i++)
		w[i] = below(3) == 0 ? rnd() : below(3) == 0 ? number() : below(50);
	for (int i = 0; i < 128; i++) {
		w[arenaSize / 16 + 2 * i] = buffer();
		w[arenaSize / 16 + 2 * i + 1] = argument('n');
	}
}

// deadly reports whether a call often ends the process, or costs much.
static int deadly(long nr) {
	static const short list[] = {
		SYS_rt_sigaction, SYS_rt_sigreturn, SYS_clone, SYS_fork, SYS_vfork, SYS_clone3, SYS_kill, SYS_tkill, SYS_tgkill, SYS_rt_sigqueueinfo,
		SYS_rt_tgsigqueueinfo, SYS_pidfd_send_signal, SYS_pause, SYS_rt_sigsuspend, SYS_ppoll, SYS_pselect6, SYS_epoll_pwait, SYS_futex,
	};
	for (int i = 0; i < sizeof list / sizeof *list; i++)
		if (list[i] == nr)
			return 1;
	return 0;
}

static void onAlarm(int s) {}

// alarms makes SIGALRM interrupt what waits, again and again.
static void alarms(int usec) {
	struct sigaction sa = {.sa_handler = onAlarm};
	struct timeval t = {usec / 1000000, usec % 1000000};
	struct itimerval limit = {t, t};
	sigaction(SIGALRM, &sa, 0);
	setitimer(ITIMER_REAL, &limit, 0);
}

// copied reads a word as the kernel does, by way of what is behind master: it may not be there. It is 0 then.
static uint64_t copied(uint64_t at) {
	uint64_t word = 0, to[6] = {master, at, 8, arenaSize}, from[6] = {master, (uint64_t)&word, call(SYS_pwrite64, to), arenaSize};
	if (from[2] == 8)
		call(SYS_pread64, from);
	return word;
}

// hasty reports whether a time at an address, whose second word counts parts of seconds, is shorter than three of the alarms that
// interrupt what waits: which of both is first depends on the machine.
static int hasty(uint64_t at, uint64_t parts) {
	uint64_t n = copied(at + 8);
	return copied(at) == 0 && n > 0 && n < parts / 100;
}

// races reports whether a call may wait for a time that is as short.
static int races(long nr, const uint64_t *a) {
	switch (nr) {
	case SYS_poll:
		return (int)a[2] > 0 && (int)a[2] < 10;
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
		return (int)a[3] > 0 && (int)a[3] < 10;
	case SYS_select:
		return hasty(a[4], 1000000);
	case SYS_ppoll:
	case SYS_rt_sigtimedwait:
		return hasty(a[2], 1000000000);
	case SYS_futex:
	case SYS_epoll_pwait2:
		return hasty(a[3], 1000000000);
	case SYS_pselect6:
		return hasty(a[4], 1000000000);
	}
	return 0;
}

// isDirectory reports whether a descriptor is that of a directory.
static int isDirectory(uint64_t fd) {
	struct stat st;
	uint64_t a[6] = {fd, (uint64_t)&st};
	return call(SYS_fstat, a) == 0 && S_ISDIR(st.st_mode);
}

// unreadable reports whether memory with a protection can be executed alone: on CPUs with protection keys it cannot be read then.
static int unreadable(uint64_t prot) { return (prot & (PROT_READ | PROT_WRITE | PROT_EXEC)) == PROT_EXEC; }

// unfit reports whether a call makes others depend on time, the machine or other processes.
static int unfit(long nr, const uint64_t *a) {
	switch (nr) {
	case SYS_alarm: // this program has the timer
	case SYS_setitimer:
	case SYS_getitimer:
	case SYS_timer_settime: // signals and events at some time
	case SYS_timerfd_settime:
	case SYS_sched_setaffinity: // how many processors there are
	case SYS_sched_getaffinity:
	case SYS_clone: // children on one stack
	case SYS_clone3:
	case SYS_personality: // any number is one natively
	case SYS_restart_syscall:
		return 1;
	case SYS_rt_sigaction:
		return (int)a[0] == SIGALRM;
	case SYS_setrlimit: // what these count is not the same
		return (unsigned)a[0] != 1 && (unsigned)a[0] != 7 && (unsigned)a[0] < 16;
	case SYS_prlimit64:
		return (unsigned)a[1] != 1 && (unsigned)a[1] != 7 && (unsigned)a[1] < 16;
	case SYS_setpriority: // of all of a user's processes
	case SYS_getpriority:
		return (int)a[0] == 2;
	case SYS_ioprio_set:
	case SYS_ioprio_get:
		return (int)a[0] == 3;
	case SYS_umask: // the guest's files are those of whoever runs the tests: the superuser, whom no mode keeps out
		return a[0] & 0700;
	case SYS_open: // how what is written with O_DIRECT must be aligned
		return a[1] & O_DIRECT;
	case SYS_openat:
		return a[2] & O_DIRECT;
	case SYS_fcntl:
		return (int)a[1] == F_SETFL && a[2] & O_DIRECT;
	case SYS_mmap: // which sizes of huge pages there are; MAP_DROPPABLE, which is of Linux 6.11
		return a[3] & MAP_HUGETLB || (a[3] & MAP_TYPE) == 8 || unreadable(a[2]);
	case SYS_mprotect:
	case SYS_pkey_mprotect:
		return unreadable(a[2]);
	case SYS_fallocate: // FALLOC_FL_WRITE_ZEROES, which is of Linux 6.17
		return ((unsigned)a[1] & ~FALLOC_FL_KEEP_SIZE) == 0x80;
	case SYS_lseek: // a directory's end, and where it has data, are up to its file system
		return (unsigned)a[2] >= SEEK_END && isDirectory(a[0]);
	case SYS_close_range: // this program's own descriptors
		return (unsigned)a[0] <= master && (unsigned)a[1] >= out;
	case SYS_prctl: // secure computing, and what reads the time faults
		return (int)a[0] == 22 || (int)a[0] == 26;
	}
	return 0;
}

// restore gives the arena what it had, as far as it can be written.
static void restore(void) {
	for (uint64_t at = 0; at < arenaSize; at += page) {
		uint64_t a[6] = {master, (uint64_t)arena + at, page, at};
		call(SYS_pread64, a);
	}
	uint64_t sigset = 1ull << (SIGALRM - 1), a[6] = {SIG_UNBLOCK, (uint64_t)&sigset, 0, 8};
	call(SYS_rt_sigprocmask, a);
}

// copyOf has n bytes at a copied by the kernel, to behind what master has: they may not be there.
static uint64_t copyOf(uint64_t at, uint64_t n) {
	static unsigned char b[page];
	uint64_t to[6] = {master, at, n < page ? n : page, arenaSize}, sum = 14695981039346656037ull;
	uint64_t from[6] = {master, (uint64_t)b, call(SYS_pwrite64, to), arenaSize};
	long got = (long)from[2] > 0 ? call(SYS_pread64, from) : 0;
	for (long i = 0; i < got; i++)
		sum = (sum ^ b[i]) * 0x100000001b3;
	return sum;
}

// note records a call. Results that name a process are made the same, addresses relative.
static void note(long nr, const char *kinds, const uint64_t *a, uint64_t r) {
	struct record *x = &record->calls[record->n];
	uint64_t lo = (uint64_t)arena;
	x->nr = nr;
	x->kinds = strlen(kinds);
	for (int i = 0; i < x->kinds; i++)
		x->args[i] = kinds[i] == 'P' && a[i] == self ? 1000000007 : a[i];
	switch (nr) {
	case SYS_read:
	case SYS_pread64:
	case SYS_readlink:
		if ((long)r > 0)
			x->data = copyOf(a[1], r);
		break;
	case SYS_getcwd:
		if ((long)r > 0)
			x->data = copyOf(a[0], r);
		break;
	case SYS_readlinkat:
		if ((long)r > 0)
			x->data = copyOf(a[2], r);
		break;
	case SYS_time:
	case SYS_times:
	case SYS_brk:
		if ((long)r > 0)
			r = 1;
		break;
	case SYS_fork:
	case SYS_vfork:
	case SYS_getppid:
		if ((long)r > 0)
			r = 1000000009;
		break;
	case SYS_mmap:
	case SYS_mremap:
	case SYS_shmat:
		if (r - lo > arenaSize && r < -4095ull)
			r = 1000000011; // where there was room
		break;
	case SYS_wait4:
	case SYS_getpriority: // from where it was started
	case SYS_ioprio_get:
		if ((long)r > 0)
			r = 1;
		break;
	case SYS_getpid:
	case SYS_gettid:
	case SYS_getpgid:
	case SYS_getpgrp:
	case SYS_getsid:
	case SYS_set_tid_address:
		if (r == self)
			r = 1000000007;
	}
	x->result = r;
	__atomic_store_n(&record->n, record->n + 1, __ATOMIC_RELEASE); // the process may be killed at any time
}

// leave records what the process leaves.
static void leave(void) {
	for (int fd = 0; fd < 64; fd++) {
		uint64_t a[6] = {fd, F_GETFD};
		record->descriptors[fd] = call(SYS_fcntl, a);
		a[1] = F_GETFL;
		record->flags[fd] = call(SYS_fcntl, a);
		uint64_t b[6] = {fd, 0, SEEK_CUR};
		record->at[fd] = isDirectory(fd) ? 0 : call(SYS_lseek, b); // file systems number names as they like
	}
	for (int i = 0; i < arenaSize / page; i++) {
		uint64_t at = (uint64_t)arena + i * page;
		char resident;
		uint64_t a[6] = {at, page, (uint64_t)&resident}, b[6] = {master, at, 1, 0};
		record->memory[i] = call(SYS_mincore, a) != 0 ? '-' : call(SYS_pread64, b) == 1 ? 'w' : 'r';
	}
}

// report prints what process i did.
static void report(int i, int status) {
	for (int j = 0; j < record->n; j++) {
		struct record *x = &record->calls[j];
		dprintf(out, "%d.%d\t%d", i, j, x->nr);
		for (int k = 0; k < 6; k++)
			dprintf(out, k < x->kinds ? "\t%#lx" : "\t", x->args[k]);
		dprintf(out, "\t%#lx\t%016lx\n", x->result, x->data);
	}
	dprintf(out, "%d.end\tstatus %x memory %.*s", i, status, (int)(arenaSize / page), record->memory);
	for (int fd = 0; fd < 64; fd++)
		if (record->descriptors[fd] >= 0)
			dprintf(out, " %d:%d,%#x,%ld", fd, record->descriptors[fd], record->flags[fd], record->at[fd]);
	dprintf(out, "\n");
	memset(record, 0, sizeof *record);
}

// settle gives process i a directory and standard files of its own: what it leaves there is nobody else's.
static void settle(int i) {
	char name[16];
	snprintf(name, sizeof name, "p%d", i);
	mkdir(name, 0700);
	chdir(name);
	mkdir("d", 0700);
	int in = open("std", O_RDWR | O_CREAT, 0700);
	for (int i = 0; i < 3; i++)
		dup2(in, i);
	close(in);
}

static void fuzz(int n, volatile uint64_t *sum) {
	setsid();
	self = getpid();
	close(out);
	for (int sig = 1; sig < 65; sig++)
		signal(sig, SIG_IGN);
	alarms(comparing ? 3000 : 1000); // calls that block are interrupted
	fillArena();
	if (comparing) {
		uint64_t a[6] = {master, (uint64_t)arena, arenaSize, 0};
		call(SYS_pwrite64, a);
	}
	for (int i = 0; i < n; i++) {
		int c = below(sizeof calls / sizeof *calls);
		long nr = calls[c].nr;
		const char *kinds = calls[c].args;
		uint64_t a[6];
		const char *given = kinds;
		if (below(50) == 0) {
			nr = number() & 0xffffff;
			given = kinds = "xxxxxx";
			if (nr < 462 || nr == SYS_exit_group)
				continue; // those that are there have arguments of their kinds
		}
		if (deadly(nr) && below(8))
			continue;
		for (int j = 0; j < 6; j++)
			a[j] = argument(*kinds ? *kinds++ : 'x');
		if (comparing) {
			if (unfit(nr, a))
				continue;
			restore();
			if (races(nr, a))
				continue;
		}
		long r = call(nr, a);
		if (r == 0 && (nr == SYS_fork || nr == SYS_vfork || nr == SYS_clone || nr == SYS_clone3))
			for (;;)
				call(SYS_exit, a); // a new process, or thread
		if (comparing) {
			if (nr == SYS_madvise && (int)a[2] == MADV_FREE) { // natively pages go when memory is short: now, on both sides
				uint64_t gone[6] = {a[0], a[1], MADV_DONTNEED};
				call(SYS_madvise, gone);
			}
			if (r > 0 && (nr == SYS_fork || nr == SYS_vfork)) {
				uint64_t w[6] = {1, r, 0, 0x01000004}; // until it has ended: P_PID, WEXITED and WNOWAIT
				while (call(SYS_waitid, w) == -4)
					;
			}
			note(nr, given, a, r);
		}
		sum[0] = (sum[0] ^ r) * 0x100000001b3;
		sum[1]++;
	}
	if (comparing)
		leave();
	_exit(0);
}

// limit sets limits that are the same everywhere, and that keep the program from harming the machine.
static void limit(void) {
	static const uint64_t limits[16] = {300, 64 << 20, 1 << 30, 8 << 20, 0, ~0ull, 100, 256, 64 << 10, 4ull << 30, ~0ull, 100, 8192, 0, 0, ~0ull};
	for (int i = 0; i < 16; i++) {
		uint64_t both[2] = {limits[i], limits[i]}, a[6] = {i, (uint64_t)both};
		if (call(SYS_setrlimit, a) < 0)
			fprintf(stderr, "calls: limit %d cannot be set\n", i), exit(1);
	}
}

// defaultSignals gives every signal its default action and unblocks it: whoever started this may have ignored or blocked
// some, and a signal of glibc's own, 32 and 33, which its sigaction refuses.
static void defaultSignals(void) {
	uint64_t action[4] = {0}, none = 0;
	for (int sig = 1; sig <= 64; sig++)
		syscall(SYS_rt_sigaction, sig, action, 0, 8);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, 0, 8);
}

// renumber makes this the process that it is under cgemu, number 1000, with a parent before it and an init before that:
// what is a small number natively could be an argument.
static void renumber(void) {
	while (getpid() < 1000) {
		int status = 0;
		pid_t p = fork();
		if (p < 0)
			perror("calls: fork"), _exit(1);
		if (p == 0 && getpid() < 999)
			_exit(0);
		if (p == 0)
			continue;
		waitpid(p, &status, 0);
		if (p >= 999)
			_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
	}
}

int main(int argc, char **argv) {
	struct utsname u;
	int timeouts = 0, died = 0;
	uname(&u);
	comparing = argc == 5 && strcmp(argv[4], "compare") == 0;
	if (!comparing && (argc != 4 || strcmp(u.nodename, "cgemu") != 0) || argc > 3 && atoi(argv[3]) > maxCalls) {
		fprintf(stderr, "calls: only under cgemu: SEED PROCESSES CALLS, or in a directory of its own: SEED PROCESSES CALLS compare\n");
		return 1;
	}
	if (comparing && (getuid() == 0 || geteuid() != getuid())) {
		fprintf(stderr, "calls: not as root\n");
		return 1;
	}
	if (comparing) {
		renumber();
		arenaSize = 64 * page;
		out = 239;
		defaultSignals();
		signal(SIGHUP, SIG_IGN);
		umask(022);
	}
	dup2(1, out);
	int in = open("std", O_RDWR | O_CREAT, 0700);
	for (int i = 0; i < 3; i++)
		dup2(in, i);
	mkdir("d", 0700);
	fillNames();
	if (comparing) {
		dup2(memfd_create("master", 0), master);
		for (int fd = 3; fd < master; fd++)
			if (fd != out)
				close(fd);
		record = mmap(0, sizeof *record, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		limit();
	}
	arena = mmap(comparing ? (void *)0x5000000000 : 0, arenaSize + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mprotect(arena + arenaSize, page, PROT_NONE);
	stats = mmap(comparing ? (void *)0x5200000000 : 0, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	volatile uint64_t *sum = mmap(0, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < atoi(argv[2]); i++) {
		int status = 0;
		state = (strtoull(argv[1], 0, 10) + 1) * 0x9e3779b97f4a7c15 + i + 1;
		pid_t p = fork();
		if (p == 0 && comparing)
			settle(i);
		if (p == 0)
			fuzz(atoi(argv[3]), sum);
		alarms(comparing ? 2000000 : 20000);
		while (waitpid(p, &status, 0) < 0) {
			timeouts++;
			kill(-p, SIGKILL);
			kill(p, SIGKILL);
		}
		alarms(0);
		died += WIFSIGNALED(status);
		if (comparing)
			report(i, status);
	}
	if (comparing)
		return 0;
	dprintf(out, "%d processes, %d died, %d timeouts, %lu calls, sum %016lx\n", atoi(argv[2]), died, timeouts, sum[1], sum[0]);
	return 0;
}

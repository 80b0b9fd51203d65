// What mmap(2) checks, and what first: all of some files, flags, addresses, lengths and offsets with each other. A row is a kind of
// mapping of a file, with an errno for each place, length and offset.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LENGTH(a) (sizeof(a) / sizeof *(a))

static const uint64_t base = 0x5000000000;
static const uint64_t addrs[] = {0, base, base + 1, 0x7ffffffff000}, lens[] = {0, 1, 4096, 1ull << 47, -4096ull};
static const uint64_t offs[] = {0, 1, 4096, -4096ull, -0x9000ull, 1ull << 63, (1ull << 63) - 4096};

// row maps fd at all places, and anonymous memory if fd is -1.
static void row(const char *name, int fd, int prot, int flags) {
	printf("%s %d %#x:", name, prot, flags);
	for (int a = 0; a < LENGTH(addrs); a++)
		for (int n = 0; n < LENGTH(lens); n++)
			for (int o = 0; o < LENGTH(offs); o++) {
				mmap((void *)base, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
				errno = 0;
				long r = syscall(SYS_mmap, a == 0 && flags & (MAP_FIXED | MAP_FIXED_NOREPLACE) ? base + 4096 : addrs[a], lens[n], prot, flags, fd, offs[o]);
				if (r != -1)
					munmap((void *)r, lens[n]);
				printf(" %d", errno);
			}
	printf("\n");
}

static void all(void) {
	char name[] = "/tmp/cgemu-mappingXXXXXX";
	int rw = mkstemp(name), ro = open(name, O_RDONLY), wo = open(name, O_WRONLY), path = open(name, O_PATH), p[2];
	unlink(name);
	pipe(p);
	const struct {
		const char *name;
		int fd;
	} files[] = {
		{"none", -1}, {"file", rw}, {"read only", ro}, {"write only", wo}, {"O_PATH", path}, {"pipe", p[0]}, {"socket", socket(AF_UNIX, SOCK_STREAM, 0)},
		{"eventfd", eventfd(0, 0)}, {"directory", open("/", O_RDONLY)}, {"zero", open("/dev/zero", O_RDWR)}, {"null", open("/dev/null", O_RDWR)},
	};
	static const int flags[] = {
		0, MAP_SHARED, MAP_PRIVATE, MAP_SHARED_VALIDATE, 7, MAP_SHARED | MAP_FIXED, MAP_PRIVATE | MAP_FIXED_NOREPLACE, MAP_PRIVATE | MAP_LOCKED,
		MAP_SHARED | MAP_GROWSDOWN, MAP_PRIVATE | MAP_GROWSDOWN, MAP_SHARED_VALIDATE | 0x800000,
	};
	for (int f = 0; f < LENGTH(files); f++)
		for (int k = 0; k < LENGTH(flags); k++) {
			row(files[f].name, files[f].fd, k % 4, flags[k] | (f == 0 ? MAP_ANONYMOUS : 0));
			if (flags[k] == MAP_SHARED)
				row(files[f].name, files[f].fd, PROT_READ | PROT_WRITE | PROT_EXEC, flags[k]);
		}
}

int main(void) {
	setvbuf(stdout, 0, _IOFBF, 1 << 16);
	all();
	struct rlimit memory = {64 << 20, 64 << 20}, locked = {0, 0};
	setrlimit(RLIMIT_AS, &memory);
	if (setuid(54321) == 0 || getuid() != 0)
		setrlimit(RLIMIT_MEMLOCK, &locked);
	all();
	return 0;
}

// Memory policies (numa(7)) of a machine with one node.
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DEFAULT, PREFERRED, BIND, INTERLEAVE, LOCAL, MANY };
enum { F_NODE = 1, F_ADDR = 2, F_ALLOWED = 4, STATIC_NODES = 1 << 15, RELATIVE_NODES = 1 << 14 };

#define R(x) do { errno = 0; long r_ = (long)(x); printf("%-90s %ld %s\n", #x, r_, r_ == -1 ? strerror(errno) : ""); } while (0)

static unsigned long none, first = 1, second = 2, both = 3;

static long set(int mode, unsigned long *nodes) { return syscall(SYS_set_mempolicy, mode, nodes, 64); }

static void show(const char *when) {
	int mode = -1;
	unsigned long nodes[16];
	memset(nodes, 0xaa, sizeof nodes);
	long r = syscall(SYS_get_mempolicy, &mode, nodes, 1024, 0, 0);
	printf("%s: %ld, mode %d, nodes %lx\n", when, r, mode, nodes[0]);
}

int main(void) {
	setvbuf(stdout, NULL, _IONBF, 0);
	show("at first");
	R(set(DEFAULT, NULL));
	R(set(DEFAULT, &none));
	R(set(DEFAULT, &first));
	R(set(PREFERRED, &none));
	show("preferred, none");
	R(set(PREFERRED, &first));
	show("preferred");
	R(set(BIND, &first));
	show("bind");
	R(set(BIND, &none));
	R(set(BIND, NULL));
	R(set(BIND, &second));
	R(set(INTERLEAVE, &both));
	show("interleave");
	R(set(LOCAL, &none));
	R(set(LOCAL, &first));
	R(set(LOCAL | STATIC_NODES, &none));
	show("local");
	R(set(MANY, &first));
	show("many");
	R(set(MANY, &none));
	R(set(77, &first));
	R(set(-1, &first));
	R(set(BIND | STATIC_NODES, &first));
	show("static");
	R(set(BIND | STATIC_NODES | RELATIVE_NODES, &first));
	R(syscall(SYS_set_mempolicy, BIND, 16, 64));
	R(syscall(SYS_set_mempolicy, BIND, &first, 1));
	R(syscall(SYS_set_mempolicy, BIND, &first, 2));
	R(syscall(SYS_set_mempolicy, BIND, &first, 1 << 20));
	R(set(BIND, &first));
	if (!fork()) {
		show("child");
		set(DEFAULT, NULL);
		_exit(0);
	}
	wait(NULL);
	show("parent");

	int mode = -1;
	unsigned long nodes[16] = {0};
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(page, 1, 8192);
	munmap(page + 4096, 4096);
	R(syscall(SYS_get_mempolicy, NULL, nodes, 1024, 0, F_ALLOWED));
	printf("allowed %lx\n", nodes[0]);
	R(syscall(SYS_get_mempolicy, &mode, NULL, 0, page, F_NODE | F_ADDR));
	printf("node %d\n", mode);
	R(syscall(SYS_get_mempolicy, &mode, NULL, 0, page + 4096, F_NODE | F_ADDR));
	R(syscall(SYS_get_mempolicy, &mode, NULL, 0, page, F_NODE));
	R(syscall(SYS_get_mempolicy, &mode, NULL, 0, page, 0));
	R(syscall(SYS_get_mempolicy, &mode, NULL, 0, NULL, F_NODE));
	R(syscall(SYS_get_mempolicy, &mode, NULL, 0, NULL, F_ALLOWED | F_NODE));
	R(syscall(SYS_get_mempolicy, &mode, NULL, 0, NULL, 8));
	R(syscall(SYS_get_mempolicy, NULL, NULL, 0, NULL, 0));
	R(syscall(SYS_get_mempolicy, 16, NULL, 0, NULL, 0));
	R(syscall(SYS_mbind, page, 4096, BIND, &first, 64, 0));
	R(syscall(SYS_mbind, page, 4096, BIND, &second, 64, 0));
	R(syscall(SYS_mbind, page, 8192, BIND, &first, 64, 0));
	R(syscall(SYS_mbind, page + 1, 4096, BIND, &first, 64, 0));
	R(syscall(SYS_mbind, page, 0, BIND, &first, 64, 0));
	R(syscall(SYS_mbind, page, 4096, BIND, &none, 64, 0));
	R(syscall(SYS_mbind, page, 4096, DEFAULT, NULL, 0, 0));
	R(syscall(SYS_mbind, page, 4096, BIND, &first, 64, 1 | 2));
	R(syscall(SYS_mbind, page, 4096, BIND, &first, 64, 8));

	void *pages[3] = {page, page + 4096, page};
	int to[3] = {0, 0, 9}, status[3] = {-1, -1, -1};
	R(syscall(SYS_move_pages, 0, 2, pages, NULL, status, 0));
	printf("status %d %d\n", status[0], status[1]);
	R(syscall(SYS_move_pages, 0, 1, pages, to, status, 2));
	printf("status %d\n", status[0]);
	R(syscall(SYS_move_pages, 0, 3, pages, to, status, 2));
	R(syscall(SYS_move_pages, 0, 0, NULL, NULL, NULL, 0));
	R(syscall(SYS_move_pages, 0, 1, pages, NULL, status, 8));
	R(syscall(SYS_move_pages, 99999, 1, pages, NULL, status, 0));
	R(syscall(SYS_migrate_pages, 0, 64, &first, &first));
	R(syscall(SYS_migrate_pages, 99999, 64, &first, &first));
	return 0;
}

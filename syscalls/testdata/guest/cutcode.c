// Code in a file that is cut and written anew while it is mapped.
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static const unsigned char code[] = {0xb8, 7, 0, 0, 0, 0xc3}; // mov eax, 7; ret

int main(void) {
	unsigned char changed = 9;
	int file = memfd_create("code", 0);
	if (ftruncate(file, 4096) || pwrite(file, code, sizeof code, 0) < 0)
		return 1;
	int (*f)(void) = mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
	printf("%d\n", f());
	ftruncate(file, 0), ftruncate(file, 4096), pwrite(file, code, sizeof code, 0), pwrite(file, &changed, 1, 1);
	printf("%d\n", f());
}

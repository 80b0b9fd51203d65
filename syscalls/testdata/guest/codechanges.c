// Code that changes behind the back of who executes it: through another mapping of the file, by write(2), by another process.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

typedef int (*function)(void);
static const unsigned char code[] = {0xb8, 0, 0, 0, 0, 0xc3}; // mov eax, 0; ret

static function rw, ro, private;

static void show(const char *what) {
	printf("%-24s %d %d %d\n", what, rw(), ro(), private());
}

int main(void) {
	setbuf(stdout, 0);
	char path[64], byte;
	int file = memfd_create("code", 0), other = memfd_create("source", 0), reader, p[2];
	if (ftruncate(file, 8192) || pwrite(file, code, sizeof code, 4096) < 0 || pipe(p))
		return 1;
	snprintf(path, sizeof path, "/proc/self/fd/%d", file);
	reader = open(path, O_RDONLY);
	unsigned char *store = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	rw = mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, file, 4096);
	ro = mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, reader, 4096);
	private = mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 4096);
	show("first");
	store[4097] = 1;
	show("store");
	byte = 2, pwrite(file, &byte, 1, 4097);
	show("pwrite");
	byte = 3, lseek(file, 4097, SEEK_SET), write(file, &byte, 1);
	show("write");
	byte = 4, pwritev(file, &(struct iovec){&byte, 1}, 1, 4097);
	show("pwritev");
	byte = 5, pwrite(other, &byte, 1, 0), lseek(file, 4097, SEEK_SET), sendfile(file, other, &(off_t){0}, 1);
	show("sendfile");
	byte = 6, pwrite(other, &byte, 1, 0), copy_file_range(other, &(off_t){0}, file, &(off_t){4097}, 1, 0);
	show("copy_file_range");
	byte = 7, write(p[1], &byte, 1), splice(p[0], 0, file, &(off_t){4097}, 1, 0);
	show("splice");
	byte = 8, read(p[0], store, 0), write(p[1], &byte, 1), read(p[0], store + 4097, 1);
	show("read into the mapping");
	if (fork() == 0) {
		store[4097] = 9;
		_exit(0);
	}
	wait(0);
	show("store of a child");
	if (fork() == 0) {
		byte = 10, pwrite(file, &byte, 1, 4097);
		show("pwrite of a child");
		_exit(0);
	}
	wait(0);
	show("pwrite of a child");
	int up[2], down[2];
	if (pipe(up) || pipe(down))
		return 1;
	if (fork() == 0) { // executes while its parent stores
		for (int i = 0; i < 5; i++) {
			read(down[0], &byte, 1);
			byte = rw(), write(up[1], &byte, 1);
		}
		_exit(0);
	}
	for (int i = 0; i < 5; i++) {
		store[4097] = 20 + i;
		write(down[1], &byte, 1), read(up[0], &byte, 1);
		printf("seen by a child: %d\n", byte);
	}
	wait(0);
	unsigned char *again = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 4096);
	again[1] = 30;
	show("a new mapping");
	mprotect(store, 8192, PROT_READ), again[1] = 31, mprotect(store, 8192, PROT_READ | PROT_WRITE);
	show("while another is closed");
	store[4097] = 32;
	show("opened again");
	unsigned char *shared = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	memcpy(shared, code, sizeof code);
	printf("anonymous %d\n", ((function)shared)());
	if (fork() == 0) {
		shared[1] = 1;
		_exit(((function)shared)());
	}
	int status;
	wait(&status);
	printf("child %d, parent %d\n", WEXITSTATUS(status), ((function)shared)());
	unsigned char *twice = mremap(shared, 0, 4096, MREMAP_MAYMOVE);
	twice[1] = 2;
	printf("second mapping %d\n", ((function)shared)());
}

// Results that look like errors in their low bits are none.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char buf[1 << 17];

int main(void) {
	FILE *f = tmpfile();
	int fd = fileno(f);
	for (int n = 65536 - 520; n <= 65536; n++) {
		if (pwrite(fd, buf, n, 0) != n || pread(fd, buf, n, 0) != n || lseek(fd, n, SEEK_SET) != n)
			printf("%d\n", n);
		if (lseek(fd, (7l << 32) + n, SEEK_SET) != (7l << 32) + n || lseek(fd, n - 65536, SEEK_SET) != -1)
			printf("%d\n", n);
	}
	puts("end");
	return 0;
}

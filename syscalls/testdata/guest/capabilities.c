/* capget and capset of a process that has no capabilities. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

// As <linux/capability.h> has them.
#define VERSION_1 0x19980330
#define VERSION_3 0x20080522
struct {
	unsigned version;
	int pid;
} h;
struct {
	unsigned effective, permitted, inheritable;
} d[2];

#define R(x) \
	do { \
		errno = 0; \
		long r = (x); \
		printf("%-40s %ld %s\n", #x, r, r < 0 ? strerror(errno) : ""); \
	} while (0)

#define GET(data) R(syscall(SYS_capget, &h, data))
#define SET(data) R(syscall(SYS_capset, &h, data))

int main(void)
{
	if (geteuid() == 0)
		setuid(1000);
	h.version = 0;
	SET(d);
	printf("%x\n", h.version);
	h.version = 0;
	GET(d);
	h.version = 0;
	GET(0);
	h.version = VERSION_3;
	memset(d, 0xff, sizeof d);
	GET(d);
	printf("%x %x %x %x\n", d[0].effective, d[0].permitted, d[1].effective, d[1].permitted);
	memset(d, 0, sizeof d);
	SET(d);
	h.pid = getpid();
	SET(d);
	h.pid = 1;
	SET(d);
	h.pid = -1;
	SET(d);
	GET(d);
	h.pid = 4000000;
	GET(d);
	h.pid = 0;
	SET((void *)1);
	SET(0);
	R(syscall(SYS_capset, 1, d));
	d[0].effective = 1;
	SET(d);
	d[0].effective = 0;
	d[0].inheritable = 1;
	SET(d);
	d[0].inheritable = 0;
	d[1].permitted = 1;
	SET(d);
	d[1].permitted = 1 << 30; /* there is no such capability */
	SET(d);
	h.version = VERSION_1;
	d[1].permitted = 1;
	SET(d);
	return 0;
}

// Terminals' speeds (struct termios2), and terminals for one process alone.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define R(x) do { errno = 0; long r_ = (long)(x); int e_ = errno; printf("%-60s %ld %s\n", #x, r_, r_ == -1 ? strerror(e_) : ""); } while (0)

// As the kernel has them; termios.h has others.
struct termios2 {
	unsigned i, o, c, l;
	unsigned char line, cc[19];
	unsigned ispeed, ospeed;
};
#undef TCGETS
#undef TCSETS
#undef TCGETS2
#undef TCSETS2
#undef TCSETSW2
#undef TCSETSF2
#undef TCSETAW
#define TCGETS 0x5401
#define TCSETS 0x5402
#define TCGETS2 0x802c542a
#define TCSETS2 0x402c542b
#define TCSETSW2 0x402c542c
#define TCSETSF2 0x402c542d
#define TCSETAW 0x5407
#undef TIOCGEXCL
#define TIOCGEXCL 0x80045440

static int m, s;

static void show(void) {
	struct termios2 t;
	memset(&t, 0x55, sizeof t);
	int r = ioctl(s, TCGETS2, &t);
	printf("  %d: %x %x %x %x %d, %u in, %u out\n", r, t.i, t.o, t.c, t.l, t.line, t.ispeed, t.ospeed);
	memset(&t, 0x55, sizeof t);
	ioctl(m, TCGETS, &t);
	printf("  %x, behind %x\n", t.c, t.ispeed);
}

static void set(unsigned long req, unsigned c, unsigned in, unsigned out) {
	struct termios2 t;
	ioctl(s, TCGETS2, &t);
	t.c = t.c & ~0x100f100fu | c;
	t.ispeed = in, t.ospeed = out;
	printf("%lx %x %u %u: %d\n", req, c, in, out, ioctl(s, req, &t));
	show();
}

static void one(void) {
	int n = -1;
	R(ioctl(s, TIOCGEXCL, &n));
	R(n);
	R(ioctl(s, TIOCEXCL));
	R(ioctl(m, TIOCGEXCL, &n));
	R(n);
	R(ioctl(s, TIOCGEXCL, &n));
	R(n);
	R(ioctl(s, TIOCGEXCL, 0));
	fflush(stdout);
	if (fork() == 0) {
		if (geteuid() == 0) setresuid(1000, 1000, 1000);
		R(ioctl(m, TIOCGPTPEER, O_RDWR | O_NOCTTY));
		R(ioctl(s, TIOCNXCL));
		R((n = ioctl(m, TIOCGPTPEER, O_RDWR | O_NOCTTY)) >= 0);
		R(ioctl(n, TIOCEXCL));
		R(close(n));
		R(ioctl(m, TIOCGPTPEER, O_RDWR | O_NOCTTY));
		close(s);
		R(ioctl(m, TIOCGPTPEER, O_RDWR | O_NOCTTY));
		R(ioctl(m, TIOCEXCL));
		R(ioctl(m, TIOCGEXCL, &n));
		R(n);
		R(ioctl(m, TIOCNXCL));
		fflush(stdout);
		_exit(0);
	}
	close(s); // nobody has it open any more when the child has closed it
	wait(0);
}

int main(void) {
	int n = 0;
	R((m = open("/dev/ptmx", O_RDWR | O_NOCTTY)) >= 0);
	R(ioctl(m, TIOCSPTLCK, &n));
	R((s = ioctl(m, TIOCGPTPEER, O_RDWR | O_NOCTTY)) >= 0);
	show();
	set(TCSETS2, 0xd, 1, 2);         // B9600
	set(TCSETSW2, 0x1002, 0, 0);     // B115200
	set(TCSETSF2, 0x100f, 0, 0);     // B4000000
	set(TCSETS2, 0, 5, 6);           // B0
	set(TCSETS2, 0x1000, 0, 12345);  // BOTHER
	set(TCSETS2, 0x10001000, 777, 12345);
	set(TCSETS2, 0x10001000, 777, 0);
	set(TCSETS2, 0x000d000d, 3, 4);  // B9600 both
	set(TCSETS2, 0x0007100d, 3, 4);
	set(TCSETS, 0x1000, 99, 98);     // BOTHER without speeds
	set(TCSETS, 0xf, 99, 98);
	struct {
		unsigned short i, o, c, l;
		unsigned char line, cc[9];
	} old = {0, 1, 0x30e, 2, 0, {0}};
	R(ioctl(s, TCSETAW, &old));
	show();
	R(ioctl(s, TCGETS2, 0));
	R(ioctl(s, TCSETS2, 8));
	R(ioctl(0, TCGETS2, 8));
	one();
}

// sendfile and splice between files of all kinds: which pairs Linux has, what it says of the others, when they wait.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define R(x) do { errno = 0; long r_ = (long)(x); int e_ = errno; printf("%-70s %ld %s\n", #x, r_, r_ == -1 ? strerror(e_) : ""); } while (0)

static char dir[] = "/tmp/cgemu-splice-XXXXXX";

static int tcp(int *peer) {
	int l = socket(AF_INET, SOCK_STREAM, 0), c = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in a = {AF_INET, 0, {htonl(INADDR_LOOPBACK)}};
	socklen_t n = sizeof a;
	bind(l, (void *)&a, n);
	listen(l, 1);
	getsockname(l, (void *)&a, &n);
	connect(c, (void *)&a, n);
	*peer = accept(l, 0, 0);
	close(l);
	return c;
}

static const char *const kinds[] = {
	"file", "append", "read-only", "write-only", "memfd", "pipe", "fifo", "stream", "datagram", "tcp", "zero", "null", "full", "directory",
	"eventfd", "timerfd", "epoll",
};

// A file of a kind that does not block, with something to read where that can be; *other keeps it usable.
static int make(const char *kind, int *other) {
	int p[2] = {-1, -1};
	if (!strcmp(kind, "file")) p[0] = open("f", O_RDWR | O_CREAT, 0600);
	if (!strcmp(kind, "append")) p[0] = open("f", O_RDWR | O_CREAT | O_APPEND, 0600);
	if (!strcmp(kind, "read-only")) p[0] = open("f", O_RDONLY);
	if (!strcmp(kind, "write-only")) p[0] = open("f", O_WRONLY);
	if (!strcmp(kind, "memfd")) p[0] = memfd_create("m", 0);
	if (!strcmp(kind, "fifo")) p[0] = open("fifo", O_RDWR | O_NONBLOCK);
	if (!strcmp(kind, "stream")) socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, p);
	if (!strcmp(kind, "datagram")) socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, p);
	if (!strcmp(kind, "tcp")) p[0] = tcp(&p[1]);
	if (!strcmp(kind, "zero")) p[0] = open("/dev/zero", O_RDWR);
	if (!strcmp(kind, "null")) p[0] = open("/dev/null", O_RDWR);
	if (!strcmp(kind, "full")) p[0] = open("/dev/full", O_RDWR);
	if (!strcmp(kind, "directory")) p[0] = open("/", O_RDONLY);
	if (!strcmp(kind, "eventfd")) p[0] = eventfd(1, EFD_NONBLOCK);
	if (!strcmp(kind, "timerfd")) p[0] = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	if (!strcmp(kind, "epoll")) p[0] = epoll_create1(0);
	if (!strcmp(kind, "memfd")) write(p[0], "hello", 5), lseek(p[0], 0, SEEK_SET);
	if (!strcmp(kind, "fifo")) write(p[0], "hello", 5);
	if (p[1] >= 0) write(p[1], "hello", 5);
	*other = p[1];
	return p[0];
}

static void pair(const char *from, const char *to, int splices) {
	int p[2], q[2], in, out;
	pipe2(p, O_NONBLOCK);
	pipe2(q, O_NONBLOCK);
	write(p[1], "hello", 5);
	int o1 = -1, o2 = -1;
	int is = !strcmp(from, "pipe"), os = !strcmp(to, "pipe");
	in = is ? p[0] : make(from, &o1);
	out = os ? q[1] : make(to, &o2);
	errno = 0;
	long r = splices ? splice(in, 0, out, 0, 4, 0) : sendfile(out, in, 0, 4);
	printf(" %s %ld %s;", to, r, r < 0 ? strerror(errno) : "");
	int all[] = {p[0], p[1], q[0], q[1], o1, o2, is ? -1 : in, os ? -1 : out};
	for (int i = 0; i < 8; i++)
		if (all[i] >= 0) close(all[i]);
}

static void waits(void) {
	int p[2], q[2];
	off_t off = -1;
	pipe(p), pipe(q);
	R(splice(p[0], 0, q[1], 0, 4, SPLICE_F_NONBLOCK));
	R(splice(p[0], 0, q[1], 0, 4, 0x100));
	R(splice(p[0], 0, q[1], 0, 0, 0x100));
	R(splice(99, 0, q[1], 0, 0, 0));
	R(splice(99, 0, q[1], 0, 1, 0));
	R(splice(p[0], 0, p[1], 0, 4, 0));
	R(splice(p[0], &off, q[1], 0, 4, 0));
	R(sendfile(99, p[0], 0, 1));
	R(sendfile(q[1], p[0], &off, 1));
	int f = open("f", O_RDWR);
	R(sendfile(f, p[0], 0, 0));
	R(sendfile(q[1], f, &off, 1));
	fcntl(q[1], F_SETFL, O_NONBLOCK);
	R(splice(p[0], 0, q[1], 0, 4, 0));
	fcntl(q[1], F_SETFL, 0);
	if (!fork()) {
		usleep(2000);
		write(p[1], "late", 4);
		_exit(0);
	}
	R(splice(p[0], 0, q[1], 0, 10, 0));
	wait(0);
	close(p[1]);
	R(splice(p[0], 0, q[1], 0, 4, 0));
}

static volatile int alarms;
static void on_alarm(int sig) { alarms++; }

// long_one lets a signal come while half a gigabyte is moved, which a signal that is ignored does not stop.
static void long_one(void) {
	int f = open("f", O_RDWR | O_TRUNC), null = open("/dev/null", O_WRONLY);
	struct itimerval soon = {{0}, {0, 3000}};
	const size_t much = 0x20000000;
	ftruncate(f, 3l << 30);
	for (int ignored = 0; ignored < 2; ignored++) {
		off_t at = 1000;
		signal(SIGALRM, ignored ? SIG_IGN : on_alarm);
		setitimer(ITIMER_REAL, &soon, 0);
		ssize_t n = sendfile(null, f, &at, much);
		printf("sendfile: %d, position %d, alarms %d\n", n > 0 && n < much, at == n + 1000, alarms);
	}
	close(f);
	close(null);
}

// checks has what comes first: the length, the offset, a pipe that nobody reads or that is full, and then what is to be moved.
static void checks(void) {
	int file = open("f", O_RDWR | O_TRUNC), empty[2], full[2], broken[2], dirfd = open(".", O_RDONLY);
	loff_t negative = -1, end = 1000;
	pipe(empty);
	pipe2(full, O_NONBLOCK);
	pipe(broken);
	close(broken[0]);
	while (write(full[1], dir, 1) == 1 || write(full[1], kinds, 4096) == 4096)
		;
	int to[] = {empty[1], full[1], broken[1]};
	for (int i = 0; i < 3; i++) {
		R(splice(file, 0, to[i], 0, -1, SPLICE_F_NONBLOCK));
		R(splice(file, &negative, to[i], 0, 10, SPLICE_F_NONBLOCK));
		R(splice(file, &end, to[i], 0, 10, SPLICE_F_NONBLOCK));
		R(splice(dirfd, 0, to[i], 0, 10, SPLICE_F_NONBLOCK));
		R(splice(file, 0, to[i], 0, 0, SPLICE_F_NONBLOCK));
		R(sendfile(to[i], file, 0, 10));
		R(sendfile(to[i], file, 0, 0));
		R(sendfile(to[i], dirfd, 0, 10));
		R(sendfile(to[i], empty[0], 0, 10));
	}
	R(splice(empty[0], 0, file, 0, -1, SPLICE_F_NONBLOCK));
	R(splice(empty[0], 0, dirfd, 0, -1, SPLICE_F_NONBLOCK));
}

// inside prints what a pipe has, in how many parts it is read, and how many buffers were free.
static void inside(int p[2]) {
	static char got[1 << 17];
	int n = 0, size, free = 0;
	ioctl(p[0], FIONREAD, &n);
	printf("%d bytes,", n);
	fcntl(p[0], F_SETFL, O_NONBLOCK);
	fcntl(p[1], F_SETFL, O_NONBLOCK | O_DIRECT);
	while (write(p[1], "x", 1) == 1)
		free++;
	printf(" %d writes until it is full; read:", free);
	while ((size = read(p[0], got, sizeof got)) > 1)
		printf(" %d", size);
	printf("\n");
	close(p[0]);
	close(p[1]);
}

// buffers moves pages of files, parts of buffers and packets: how many buffers of a pipe they take.
static void buffers(void) {
	static char many[100000];
	const off_t begins[] = {0, 100, 4095, 4096, 70000, 99999, 100000};
	const size_t lengths[] = {1, 4096, 8192, 65435, 65436, 65536, 100000};
	int sources[] = {open("f", O_RDWR | O_TRUNC), memfd_create("m", 0), open("/dev/zero", O_RDONLY)}, p[2], q[2];
	write(sources[0], many, sizeof many);
	write(sources[1], many, sizeof many);
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 7; j++)
			for (int k = 0; k < 14; k++) {
				off_t at = begins[j];
				pipe2(p, O_NONBLOCK);
				write(p[1], "before", 6);
				lseek(sources[i], at, SEEK_SET);
				ssize_t n = k < 7 ? splice(sources[i], &at, p[1], 0, lengths[k], 0) : sendfile(p[1], sources[i], 0, lengths[k - 7]);
				printf("source %d, from %ld, %zu: %zd, then at %ld and %ld, ", i, (long)begins[j], lengths[k % 7], n, (long)at, (long)lseek(sources[i], 0, SEEK_CUR));
				inside(p);
			}
	for (int tees = 0; tees < 2; tees++)
		for (int packets = 0; packets < 2; packets++)
			for (int k = 0; k < 7; k++) {
				pipe2(p, O_NONBLOCK | (packets ? O_DIRECT : 0));
				pipe2(q, O_NONBLOCK);
				fcntl(q[1], F_SETPIPE_SZ, 4 * 4096);
				write(p[1], "hello", 5);
				write(p[1], "world", 5);
				write(p[1], many, 9000);
				write(p[1], "end", 3);
				for (off_t at = 0; at < 30; at += 10)
					splice(sources[0], &at, p[1], 0, 10, 0);
				ssize_t n = tees ? tee(p[0], q[1], lengths[k], 0) : splice(p[0], 0, q[1], 0, lengths[k], 0);
				ssize_t more = write(q[1], "more", 4);
				printf("%s, packets %d, %zu: %zd, %zd more\n", tees ? "tee" : "splice", packets, lengths[k], n, more);
				inside(p);
				inside(q);
			}
	// Nothing comes any more: a reader is missed first, and room is waited for.
	for (int i = 0; i < 4; i++) {
		struct itimerval soon = {{0}, {0, 5000}};
		signal(SIGALRM, on_alarm);
		siginterrupt(SIGALRM, 1);
		pipe(p);
		pipe(q);
		fcntl(q[1], F_SETPIPE_SZ, 4096);
		write(q[1], many, 4096);
		close(p[1]);
		if (i & 1)
			close(q[0]);
		setitimer(ITIMER_REAL, &soon, 0);
		R(i & 2 ? tee(p[0], q[1], 10, 0) : splice(p[0], 0, q[1], 0, 10, 0));
		close(p[0]);
		close(q[1]);
		if (~i & 1)
			close(q[0]);
	}
	for (int i = 0; i < 3; i++)
		close(sources[i]);
}

int main(void) {
	setvbuf(stdout, 0, _IONBF, 0);
	signal(SIGPIPE, SIG_IGN);
	mkdtemp(dir);
	chdir(dir);
	int n = sizeof kinds / sizeof *kinds;
	close(open("f", O_WRONLY | O_CREAT, 0600));
	for (int splices = 0; splices < 2; splices++)
		for (int i = 0; i < n; i++) {
			printf("%s %s:", splices ? "splice" : "sendfile", kinds[i]);
			for (int j = 0; j < n; j++) {
				int f = open("f", O_WRONLY | O_TRUNC);
				write(f, "hello", 5);
				close(f);
				unlink("fifo");
				mkfifo("fifo", 0600);
				pair(kinds[i], kinds[j], splices);
			}
			printf("\n");
		}
	waits();
	long_one();
	checks();
	buffers();
	unlink("f");
	unlink("fifo");
	rmdir(dir);
	return 0;
}

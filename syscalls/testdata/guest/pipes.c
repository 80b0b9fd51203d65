// Pipes beyond bytes in order: packets (O_DIRECT), room counted in pages, vmsplice(2) that does not wait, FIFOs as pipes.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static char big[200000], out[200000], page[100000] __attribute__((aligned(4096)));
static int p[2], full;

static void show(const char *what, long r) {
	printf("%-34s %ld %s\n", what, r, r < 0 ? strerror(errno) : "");
}

static void again(int flags) {
	close(p[0]);
	close(p[1]);
	pipe2(p, flags);
}

static void packets(void) {
	int n;
	again(O_DIRECT | O_NONBLOCK);
	show("flags", fcntl(p[1], F_GETFL));
	show("two", write(p[1], "ab", 2));
	show("two more", write(p[1], "cd", 2));
	show("empty", write(p[1], "", 0));
	ioctl(p[0], FIONREAD, &n);
	show("there", n);
	show("read one packet", read(p[0], out, 10));
	show("part of one", read(p[0], out, 1));
	show("its rest is lost", read(p[0], out, 10));
	show("more than a page", write(p[1], big, 5000));
	show("first page", read(p[0], out, 9000));
	show("rest", read(p[0], out, 9000));
	fcntl(p[1], F_SETFL, O_NONBLOCK);
	show("bytes", write(p[1], "ef", 2));
	show("more bytes", write(p[1], "gh", 2));
	show("together", read(p[0], out, 10));
	fcntl(p[1], F_SETFL, O_NONBLOCK | O_DIRECT);
	int packets = 0;
	while (write(p[1], "x", 1) == 1)
		packets++;
	show("packets that fit", packets);
}

// room fills the pipe and sees what fits when some of it was read.
static void room(void) {
	struct pollfd f;
	again(O_NONBLOCK);
	long total = 0, n;
	while ((n = write(p[1], big, 4096)) > 0)
		total += n;
	show("fits", total);
	f = (struct pollfd){p[1], POLLOUT};
	show("one byte read", read(p[0], out, 1));
	show("writable", poll(&f, 1, 0));
	show("8192", write(p[1], big, 8192));
	show("1", write(p[1], big, 1));
	show("rest of the page", read(p[0], out, 4095));
	show("writable", poll(&f, 1, 0));
	show("8192", write(p[1], big, 8192));
	show("again", write(p[1], big, 1));
	again(O_NONBLOCK);
	show("odd", write(p[1], big, 100));
	total = 0;
	while ((n = write(p[1], big, 200000)) > 0)
		total += n;
	show("behind it", total);
	again(O_NONBLOCK);
	int small = 0;
	while (write(p[1], big, 3000) == 3000)
		small++;
	show("of 3000", small);
	show("of 1", write(p[1], big, 1));
	again(O_NONBLOCK);
	small = 0;
	while (write(p[1], "x", 1) == 1)
		small++;
	show("single bytes", small);
	show("set smaller", fcntl(p[1], F_SETPIPE_SZ, 4096));
	again(O_NONBLOCK);
	show("one page", fcntl(p[1], F_SETPIPE_SZ, 1));
	show("size", fcntl(p[0], F_GETPIPE_SZ));
	show("4097", write(p[1], big, 4097));
	show("1", write(p[1], big, 1));
}

static void splices(void) {
	again(0);
	struct iovec v[3] = {{page + 4000, 90000}, {big, 10}, {0, 0}};
	show("vmsplice, more than fits", vmsplice(p[1], v, 1, SPLICE_F_NONBLOCK));
	show("full", vmsplice(p[1], v, 1, SPLICE_F_NONBLOCK));
	show("bad flags", vmsplice(p[1], v, 1, 0x100));
	show("nothing", vmsplice(p[1], v, 0, 0));
	show("read", read(p[0], out, 100000));
	v[0].iov_len = 10;
	show("two pieces", vmsplice(p[1], v, 2, 0));
	show("from it", vmsplice(p[0], v, 1, 0));
	show("rest", read(p[0], out, 100));
	show("empty", vmsplice(p[0], v, 1, SPLICE_F_NONBLOCK));
	v[0] = (struct iovec){(void *)8, 10};
	show("bad memory", vmsplice(p[1], v, 1, 0));
	int in[2];
	pipe(in);
	while (write(p[1], page, 4096) == 4096 && ++full < 16)
		;
	if (fork() == 0) {
		char c;
		read(in[0], &c, 1);
		read(p[0], out, 4096);
		_exit(0);
	}
	write(in[1], "x", 1);
	v[0] = (struct iovec){page, 8192};
	show("waits for room for some", vmsplice(p[1], v, 1, 0));
	wait(0);
	close(p[0]);
	signal(SIGPIPE, SIG_IGN);
	show("nobody reads", vmsplice(p[1], v, 1, 0));
	p[0] = open("/dev/null", O_RDWR);
	show("no pipe", vmsplice(p[0], v, 1, 0));
}

static void fifos(void) {
	int n = -1;
	unlink("p.fifo");
	mkfifo("p.fifo", 0600);
	int f = open("p.fifo", O_RDWR | O_NONBLOCK);
	show("size", fcntl(f, F_GETPIPE_SZ));
	show("one page", fcntl(f, F_SETPIPE_SZ, 4096));
	show("size", fcntl(f, F_GETPIPE_SZ));
	show("write", write(f, big, 5000));
	show("full", write(f, big, 1));
	show("bytes", ioctl(f, FIONREAD, &n));
	show("that many", n);
	unlink("p.fifo");
}

static int ready(int fd) {
	struct pollfd f = {fd, POLLIN | POLLOUT};
	poll(&f, 1, 0);
	return f.revents;
}

// both opens an end again for reading and writing, which makes it both ends.
static void both(void) {
	char name[64];
	for (int end = 0; end < 2; end++) {
		again(O_NONBLOCK);
		sprintf(name, "/proc/self/fd/%d", p[end]);
		int f = open(name, O_RDWR | O_NONBLOCK);
		show("opened", f < 0);
		show("ready", ready(f));
		close(p[1]);
		show("a writer is left", read(p[0], out, 1));
		show("ready", ready(p[0]));
		show("write", write(f, "abc", 3));
		show("ready", ready(f));
		show("from memory", vmsplice(f, &(struct iovec){"de", 2}, 1, SPLICE_F_NONBLOCK));
		show("read", read(p[0], out, 10));
		close(p[0]);
		show("a reader is left", write(f, "f", 1));
		show("its own", read(f, out, 10));
		show("ready", ready(f));
		close(f);
	}
	p[0] = p[1] = -1;
	pipe(p);
	sprintf(name, "/proc/self/fd/%d", p[1]);
	int f = open(name, O_RDWR);
	close(p[0]);
	close(f);
	signal(SIGPIPE, SIG_IGN);
	show("no reader", write(p[1], "x", 1));
}

int main(void) {
	setvbuf(stdout, 0, _IOLBF, 0);
	packets();
	room();
	splices();
	fifos();
	both();
	return 0;
}

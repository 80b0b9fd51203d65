// Sockets of AF_UNIX: names, connections, datagrams, descriptors and credentials passed along, what poll and epoll say.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define R(x) do { errno = 0; long r_ = (long)(x); int e_ = errno; printf("%-70s %ld %s\n", #x, r_, r_ == -1 ? strerror(e_) : ""); } while (0)

static int pipes;
static void broken(int sig) { pipes++; }

static struct sockaddr_un *un(const char *path) {
	static struct sockaddr_un a;
	memset(&a, 0, sizeof a);
	a.sun_family = AF_UNIX;
	strcpy(a.sun_path, path);
	return &a;
}
#define UN(path) (struct sockaddr *)un(path), sizeof(struct sockaddr_un)

static int abstract(struct sockaddr_un *a, const char *name) {
	memset(a, 0, sizeof *a);
	a->sun_family = AF_UNIX;
	strcpy(a->sun_path + 1, name);
	return offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name);
}

static void show(const char *what, int (*get)(int, struct sockaddr *, socklen_t *), int fd) {
	struct sockaddr_un a;
	socklen_t n = sizeof a;
	memset(&a, 'x', sizeof a);
	if (get(fd, (void *)&a, &n) < 0) {
		printf("%s: %s\n", what, strerror(errno));
		return;
	}
	printf("%s: family %d length %d ", what, a.sun_family, (int)n);
	for (int i = 2; i < (int)n; i++) putchar(a.sun_path[i - 2] ? a.sun_path[i - 2] : '@');
	printf("\n");
}

static int events(int fd) {
	struct pollfd p = {fd, POLLIN | POLLOUT | POLLRDHUP | POLLPRI, 0};
	poll(&p, 1, 0);
	return p.revents;
}

static int opt(int fd, int name) {
	int v = -99;
	socklen_t n = sizeof v;
	if (getsockopt(fd, SOL_SOCKET, name, &v, &n) < 0) return -errno;
	return v;
}

static void names(void) {
	struct stat st;
	struct sockaddr_un a;
	puts("-- names");
	int s = socket(AF_UNIX, SOCK_STREAM, 0), c = socket(AF_UNIX, SOCK_STREAM, 0), d = socket(AF_UNIX, SOCK_DGRAM, 0);
	show("unbound", getsockname, s);
	show("unconnected", getpeername, s);
	printf("events %x %x\n", events(s), events(d));
	R(connect(c, UN("none")));
	umask(027);
	R(bind(s, UN("sock")));
	R(bind(s, UN("sock")));
	R(bind(s, UN("other")));
	R(access("other", F_OK));
	R(bind(c, UN("sock")));
	R(bind(c, UN("nodir/sock")));
	R(stat("sock", &st));
	printf("%o\n", st.st_mode);
	R(open("sock", O_RDWR));
	show("bound", getsockname, s);
	R(connect(c, UN("sock")));
	R(connect(d, UN("sock")));
	R(accept(s, 0, 0));
	R(listen(d, 1));
	R(listen(c, 1));
	R(listen(s, 0));
	printf("events %x accepting %d\n", events(s), opt(s, SO_ACCEPTCONN));
	R(chmod("sock", 0600));
	R(rename("sock", "moved"));
	R(connect(c, UN("sock")));
	R(connect(c, UN("moved")));
	printf("events %x %x\n", events(s), events(c));
	int c2 = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	R(connect(c2, UN("moved")));
	show("client", getsockname, c);
	show("client's peer", getpeername, c);
	R(write(c, "early", 5));
	socklen_t n = sizeof a;
	int acc = accept4(s, (void *)&a, &n, SOCK_CLOEXEC | SOCK_NONBLOCK);
	printf("accepted %d, length %d, flags %x %x\n", acc >= 0, (int)n, fcntl(acc, F_GETFD), fcntl(acc, F_GETFL));
	show("accepted", getsockname, acc);
	show("accepted's peer", getpeername, acc);
	char buf[64];
	R(read(acc, buf, sizeof buf));
	R(read(acc, buf, sizeof buf));
	R(connect(c, UN("moved")));
	R(connect(c2, UN("moved")));
	fcntl(s, F_SETFL, O_NONBLOCK);
	int acc2 = accept(s, 0, 0);
	R(accept(s, 0, 0));
	R(unlink("moved"));
	R(connect(d, UN("moved")));
	close(acc2);
	R(read(c2, buf, 1));
	close(c2);
	c2 = socket(AF_UNIX, SOCK_STREAM, 0);
	R(bind(c2, UN("moved")));
	close(c2);
	c2 = socket(AF_UNIX, SOCK_STREAM, 0);
	R(connect(c2, UN("moved")));
	R(bind(c2, UN("moved")));
	close(open("plain", O_CREAT | O_RDWR, 0600));
	R(connect(c2, UN("plain")));
	R(bind(c2, (struct sockaddr *)&a, 1));
	R(bind(c2, (struct sockaddr *)&a, 111));
	a.sun_family = AF_INET;
	R(bind(c2, (struct sockaddr *)&a, 16));
	R(connect(c2, (struct sockaddr *)&a, 16));
	n = abstract(&a, "cgemu test name");
	R(connect(c2, (void *)&a, n));
	R(bind(c2, (void *)&a, n));
	R(bind(c, (void *)&a, n));
	show("abstract", getsockname, c2);
	int d2 = socket(AF_UNIX, SOCK_DGRAM, 0);
	R(bind(d2, (void *)&a, n));
	close(d2);
	R(listen(c2, 5));
	d2 = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	R(connect(d2, (void *)&a, n));
	close(d2);
	d2 = socket(AF_UNIX, SOCK_STREAM, 0);
	R(connect(d2, (void *)&a, n));
	close(c2);
	R(read(d2, buf, 1));
	R(connect(d, (void *)&a, n));
	close(d2);
	d2 = socket(AF_UNIX, SOCK_DGRAM, 0);
	a.sun_family = AF_UNIX;
	R(bind(d2, (void *)&a, 2));
	n = sizeof a;
	getsockname(d2, (void *)&a, &n);
	printf("autobind: length %d, begins with %d\n", (int)n, a.sun_path[0]);
	R(socket(AF_UNIX, SOCK_STREAM, 6));
	R(socket(AF_UNIX, SOCK_RDM, 0));
	R(socket(AF_UNIX, 77, 0));
	R(socket(99, SOCK_STREAM, 0));
	R(bind(0, UN("x")));
	R(listen(0, 1));
	R(accept(77, 0, 0));
	R(getsockname(0, (void *)&a, &n));
	R(shutdown(c, 3));
	R(accept4(s, 0, 0, 1));
	close(s), close(c), close(d), close(d2), close(acc);
}

static void streams(void) {
	int p[2];
	char buf[64], *big = calloc(1, 1 << 20);
	puts("-- streams");
	R(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, p));
	show("pair", getsockname, p[0]);
	show("pair's peer", getpeername, p[0]);
	printf("type %d domain %d protocol %d error %d\n", opt(p[0], SO_TYPE), opt(p[0], SO_DOMAIN), opt(p[0], SO_PROTOCOL), opt(p[0], SO_ERROR));
	printf("events %x\n", events(p[0]));
	R(recv(p[0], buf, 1, 0));
	R(read(p[0], buf, 0));
	R(send(p[0], "abc", 3, 0));
	R(send(p[0], "defg", 4, MSG_DONTWAIT));
	int n;
	R(ioctl(p[1], FIONREAD, &n));
	printf("%d\n", n);
	R(recv(p[1], buf, 5, MSG_PEEK));
	printf("%.5s\n", buf);
	R(recv(p[1], buf, 5, 0));
	R(recv(p[1], buf, 64, MSG_PEEK | MSG_WAITALL));
	R(recv(p[1], buf, 64, MSG_WAITALL));
	R(sendto(p[0], "x", 1, 0, UN("none")));
	R(send(p[0], "x", 1, MSG_OOB) == 1 || errno == EOPNOTSUPP);
	while (recv(p[1], buf, 1, 0) > 0);
	R(pread(p[0], buf, 1, 0));
	R(lseek(p[0], 0, SEEK_SET));
	long sent = 0, got = 0, k;
	while ((k = write(p[0], big, 1 << 20)) > 0) sent += k;
	printf("full: %d, errno %d, events %x\n", sent > 100000, errno, events(p[0]));
	while ((k = read(p[1], big, 1 << 20)) > 0) got += k;
	printf("all came: %d, events %x\n", sent == got, events(p[0]));
	R(shutdown(p[0], SHUT_WR));
	printf("events %x %x\n", events(p[0]), events(p[1]));
	R(read(p[1], buf, 1));
	R(write(p[1], "back", 4));
	R(read(p[0], buf, 9));
	R(write(p[0], "x", 1));
	printf("SIGPIPE %d\n", pipes);
	R(send(p[0], "x", 1, MSG_NOSIGNAL));
	printf("SIGPIPE %d\n", pipes);
	R(shutdown(p[0], SHUT_RD));
	printf("events %x %x\n", events(p[0]), events(p[1]));
	R(write(p[1], "x", 1));
	close(p[0]), close(p[1]);
	socketpair(AF_UNIX, SOCK_STREAM, 0, p);
	R(write(p[0], "unread", 6));
	R(write(p[1], "mine", 4));
	close(p[1]);
	printf("events %x\n", events(p[0]));
	R(read(p[0], buf, 64));
	R(read(p[0], buf, 64));
	R(read(p[0], buf, 64));
	R(write(p[0], "x", 1));
	printf("SIGPIPE %d\n", pipes);
	show("peer gone", getpeername, p[0]);
	close(p[0]);
	socketpair(AF_UNIX, SOCK_STREAM, 0, p);
	write(p[0], "unread", 6);
	close(p[1]);
	printf("error %d %d\n", opt(p[0], SO_ERROR), opt(p[0], SO_ERROR));
	printf("events %x\n", events(p[0]));
	close(p[0]);
	socketpair(AF_UNIX, SOCK_STREAM, 0, p);
	struct iovec v[3] = {{"one", 3}, {"two", 3}, {"three", 5}};
	R(writev(p[0], v, 3));
	char x[4], y[30];
	struct iovec in[2] = {{x, 4}, {y, 30}};
	R(readv(p[1], in, 2));
	int f = open("plain", O_RDWR);
	R(write(f, "of a file", 9));
	off_t off = 3;
	R(sendfile(p[0], f, &off, 100));
	R(recv(p[1], buf, 64, 0));
	printf("%.6s\n", buf);
	int pp[2];
	pipe(pp);
	R(write(p[0], "through a pipe", 14));
	R(splice(p[1], 0, pp[1], 0, 7, 0));
	R(splice(pp[0], 0, p[1], 0, 7, 0));
	R(recv(p[0], buf, 64, 0));
	R(recv(p[1], buf, 64, 0));
	// Nothing is lost where the pipe has less room than the socket has bytes.
	fcntl(pp[1], F_SETPIPE_SZ, 4096);
	for (int i = 0; i < 50000; i++) big[i] = i % 251;
	send(p[0], big, 50000, 0);
	long through = 0, wrong = 0, m;
	while (through < 50000) {
		if ((m = splice(p[1], 0, pp[1], 0, 50000, 0)) <= 0) break;
		for (long k = 0; k < m;) {
			char part[999];
			long r = read(pp[0], part, sizeof part);
			for (long i = 0; i < r; i++, through++) wrong += (unsigned char)part[i] != through % 251;
			k += r;
		}
	}
	printf("through %ld, wrong %ld\n", through, wrong);
	struct timeval tv = {0, 20000};
	R(setsockopt(p[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv));
	R(recv(p[0], buf, 1, 0));
	R(read(p[0], buf, 1));
	tv.tv_usec = 1000000;
	R(setsockopt(p[0], SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof tv));
	tv.tv_usec = 20000;
	R(setsockopt(p[0], SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof tv));
	while (send(p[0], big, 50000, 0) == 50000);
	R(send(p[0], big, 1, 0));
	n = 5000;
	R(setsockopt(p[0], SOL_SOCKET, SO_SNDBUF, &n, sizeof n));
	printf("%d\n", opt(p[0], SO_SNDBUF));
	n = 1;
	R(setsockopt(p[0], SOL_SOCKET, SO_RCVBUF, &n, sizeof n));
	printf("%d\n", opt(p[0], SO_RCVBUF));
	R(setsockopt(p[0], SOL_SOCKET, SO_RCVBUF, &n, 3));
	R(setsockopt(p[0], SOL_SOCKET, 9999, &n, sizeof n));
	R(setsockopt(p[0], 6, 1, &n, sizeof n));
	R(ioctl(p[0], 0x5401, buf));
	close(p[0]), close(p[1]), close(f), close(pp[0]), close(pp[1]);
	int l = socket(AF_UNIX, SOCK_STREAM, 0);
	R(read(l, buf, 1));
	R(write(l, "x", 1));
	R(shutdown(l, SHUT_RDWR));
	R(sendto(l, "x", 1, 0, UN("none")));
	close(l);
	free(big);
}

static void packets(int type) {
	int p[2];
	char buf[64], *big = calloc(1, 1 << 20);
	printf("-- packets of type %d\n", type);
	R(socketpair(AF_UNIX, type | SOCK_NONBLOCK, 0, p));
	R(send(p[0], "first", 5, 0));
	R(send(p[0], "", 0, 0));
	R(send(p[0], "third one", 9, 0));
	R(recv(p[1], buf, 3, MSG_PEEK | MSG_TRUNC));
	R(recv(p[1], buf, 64, 0));
	R(recv(p[1], buf, 64, 0));
	struct iovec v = {buf, 5};
	struct msghdr m = {0};
	m.msg_iov = &v, m.msg_iovlen = 1;
	R(recvmsg(p[1], &m, 0));
	printf("flags %x\n", m.msg_flags);
	R(recv(p[1], buf, 64, 0));
	R(send(p[0], big, 1 << 20, 0));
	int n;
	R(send(p[0], "abc", 3, 0));
	R(send(p[0], "defgh", 5, 0));
	R(ioctl(p[1], FIONREAD, &n));
	printf("%d\n", n);
	printf("events %x %x\n", events(p[0]), events(p[1]));
	struct mmsghdr mm[3] = {0};
	char bufs[3][8];
	struct iovec vs[3];
	for (int i = 0; i < 3; i++) {
		vs[i] = (struct iovec){bufs[i], 8};
		mm[i].msg_hdr.msg_iov = &vs[i], mm[i].msg_hdr.msg_iovlen = 1;
	}
	R(recvmmsg(p[1], mm, 3, 0, 0));
	printf("%d %d\n", mm[0].msg_len, mm[1].msg_len);
	R(recvmmsg(p[1], mm, 3, 0, 0));
	R(sendmmsg(p[1], mm, 3, 0));
	R(recvmmsg(p[0], mm, 3, MSG_WAITFORONE, 0));
	R(shutdown(p[0], SHUT_WR));
	printf("events %x %x\n", events(p[0]), events(p[1]));
	R(send(p[0], "x", 1, MSG_NOSIGNAL));
	R(recv(p[1], buf, 1, 0));
	close(p[1]);
	printf("events %x\n", events(p[0]));
	R(send(p[0], "x", 1, MSG_NOSIGNAL));
	R(send(p[0], "x", 1, MSG_NOSIGNAL));
	R(recv(p[0], buf, 1, 0));
	close(p[0]);
	int s = socket(AF_UNIX, type, 0);
	printf("events %x\n", events(s));
	R(send(s, "x", 1, MSG_NOSIGNAL));
	R(recv(s, buf, 1, MSG_DONTWAIT));
	close(s);
	free(big);
}

static void datagrams(void) {
	char buf[64];
	struct sockaddr_un from;
	socklen_t n = sizeof from;
	puts("-- datagrams");
	int a = socket(AF_UNIX, SOCK_DGRAM, 0), b = socket(AF_UNIX, SOCK_DGRAM, 0), c = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	R(bind(a, UN("a")));
	R(bind(b, UN("b")));
	R(sendto(b, "hello", 5, 0, UN("a")));
	R(recvfrom(a, buf, 64, 0, (void *)&from, &n));
	printf("from %s, %d\n", from.sun_path, (int)n);
	n = sizeof from;
	R(sendto(c, "unnamed", 7, 0, UN("a")));
	R(recvfrom(a, buf, 64, 0, (void *)&from, &n));
	printf("%d\n", (int)n);
	int k = 0;
	while (sendto(c, "x", 1, 0, UN("a")) == 1) k++;
	printf("%d fit, errno %d\n", k, errno);
	R(connect(c, UN("a")));
	printf("events %x %x\n", events(c), events(a));
	R(recv(a, buf, 1, 0));
	printf("events %x\n", events(c));
	R(send(c, "y", 1, 0));
	R(send(c, "y", 1, 0));
	while (recv(a, buf, 1, MSG_DONTWAIT) == 1);
	R(connect(a, UN("b")));
	show("peer", getpeername, a);
	R(sendto(c, "x", 1, 0, UN("a")));
	R(connect(c, UN("a")));
	R(send(b, "x", 1, 0));
	R(connect(b, UN("a")));
	R(send(b, "x", 1, 0));
	R(recv(a, buf, 1, 0));
	struct sockaddr off = {AF_UNSPEC};
	R(connect(a, &off, sizeof off));
	show("peer", getpeername, a);
	close(a);
	R(send(b, "x", 1, 0));
	R(send(b, "x", 1, 0));
	R(sendto(b, "x", 1, 0, UN("a")));
	R(sendto(b, "x", 1, 0, UN("nothing")));
	R(getsockopt(b, SOL_SOCKET, SO_PEERCRED, buf, &n));
	close(b), close(c);
}

static int sendfd(int s, const char *text, const int *fds, int n, int cred) {
	char c[256] = {0};
	struct iovec v = {(char *)text, strlen(text)};
	struct msghdr m = {0};
	m.msg_iov = &v, m.msg_iovlen = 1;
	m.msg_control = c, m.msg_controllen = n ? CMSG_SPACE(n * 4) : 0;
	struct cmsghdr *h = (void *)c;
	if (n) {
		h->cmsg_level = SOL_SOCKET, h->cmsg_type = SCM_RIGHTS, h->cmsg_len = CMSG_LEN(n * 4);
		memcpy(CMSG_DATA(h), fds, n * 4);
	}
	if (cred) {
		struct ucred u = {getpid() + cred - 1, getuid(), getgid()};
		h = (void *)(c + m.msg_controllen);
		h->cmsg_level = SOL_SOCKET, h->cmsg_type = SCM_CREDENTIALS, h->cmsg_len = CMSG_LEN(sizeof u);
		memcpy(CMSG_DATA(h), &u, sizeof u);
		m.msg_controllen += CMSG_SPACE(sizeof u);
	}
	return sendmsg(s, &m, 0);
}

static int last[8];
static int recvfd(int s, int size, int room, int flags) {
	char buf[64], c[256];
	struct iovec v = {buf, size};
	struct msghdr m = {0};
	m.msg_iov = &v, m.msg_iovlen = 1;
	m.msg_control = c, m.msg_controllen = room;
	int n = recvmsg(s, &m, flags);
	if (n < 0) return n;
	printf("%.*s: flags %x, control %d:", n, buf, m.msg_flags, (int)m.msg_controllen);
	for (struct cmsghdr *h = CMSG_FIRSTHDR(&m); h; h = CMSG_NXTHDR(&m, h)) {
		int k = (h->cmsg_len - CMSG_LEN(0)) / 4;
		printf(" %d/%d", h->cmsg_level, h->cmsg_type);
		if (h->cmsg_type == SCM_RIGHTS) {
			memcpy(last, CMSG_DATA(h), k * 4);
			for (int i = 0; i < k; i++) printf(" fd, flags %x", fcntl(last[i], F_GETFD));
		} else {
			struct ucred u;
			memcpy(&u, CMSG_DATA(h), sizeof u);
			printf(" %d %d %d", u.pid == getpid(), u.uid == getuid(), u.gid == getgid());
		}
	}
	printf("\n");
	return n;
}

static void passing(void) {
	int p[2], q[2], one = 1;
	char buf[64];
	puts("-- passing");
	socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, p);
	pipe(q);
	R(sendfd(p[0], "pipe", q, 2, 0));
	close(q[0]), close(q[1]);
	R(recvfd(p[1], 64, 256, MSG_CMSG_CLOEXEC));
	R(write(last[1], "in a pipe", 9));
	close(last[1]);
	R(read(last[0], buf, 64));
	R(read(last[0], buf, 64));
	close(last[0]);
	pipe(q);
	R(sendfd(p[0], "ab", q, 1, 0));
	R(send(p[0], "cd", 2, 0));
	R(recvfd(p[1], 64, 256, MSG_PEEK));
	close(last[0]);
	R(recvfd(p[1], 1, 256, 0));
	close(last[0]);
	R(recvfd(p[1], 64, 256, 0));
	R(send(p[0], "ef", 2, 0));
	R(sendfd(p[0], "gh", q, 2, 0));
	R(send(p[0], "ij", 2, 0));
	R(recvfd(p[1], 64, 20, 0));
	close(last[0]);
	R(recvfd(p[1], 64, 256, 0));
	R(sendfd(p[0], "kl", q, 2, 0));
	R(recvfd(p[1], 64, 0, 0));
	R(sendfd(p[0], "mn", q + 1, 1, 0));
	close(q[1]);
	fcntl(q[0], F_SETFL, O_NONBLOCK);
	R(read(q[0], buf, 1));
	R(read(p[1], buf, 64));
	R(read(q[0], buf, 1));
	int bad = 77;
	R(sendfd(p[0], "op", &bad, 1, 0));
	// A descriptor in flight over a socket that is closed itself.
	int r[2];
	pipe(r);
	R(sendfd(p[0], "qr", r + 1, 1, 0));
	close(r[1]);
	close(p[1]), close(p[0]);
	R(read(r[0], buf, 1));
	close(r[0]);
	socketpair(AF_UNIX, SOCK_DGRAM, 0, p);
	R(setsockopt(p[1], SOL_SOCKET, SO_PASSCRED, &one, sizeof one));
	printf("%d %d\n", opt(p[1], SO_PASSCRED), opt(p[0], SO_PASSCRED));
	R(sendfd(p[0], "cred", 0, 0, 1));
	R(recvfd(p[1], 64, 256, 0));
	R(sendfd(p[0], "both", q, 1, 1));
	R(recvfd(p[1], 64, 256, 0));
	R(send(p[0], "none said", 9, 0));
	R(recvfd(p[1], 64, 256, 0));
	if (fork() == 0) {
		printf("child reads %d\n", recvfd(p[1], 64, 256, 0));
		_exit(0);
	}
	long sent = send(p[0], "from parent", 11, 0);
	wait(0);
	R(sent);
	struct ucred u;
	socklen_t n = sizeof u;
	R(getsockopt(p[0], SOL_SOCKET, SO_PEERCRED, &u, &n));
	printf("%d %d %d, %d\n", u.pid == getpid(), u.uid == getuid(), u.gid == getgid(), (int)n);
	close(p[0]), close(p[1]), close(q[0]);
	int s = socket(AF_UNIX, SOCK_STREAM, 0);
	getsockopt(s, SOL_SOCKET, SO_PEERCRED, &u, &n);
	printf("%d %d %d\n", u.pid, u.uid, u.gid);
	close(s);
	// At the end of a stream come credentials that are all zero, at that of packets none.
	for (int type = SOCK_STREAM; type <= SOCK_SEQPACKET; type += SOCK_SEQPACKET - SOCK_STREAM) {
		char c[64];
		struct iovec v = {c, sizeof c};
		struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = c, .msg_controllen = sizeof c};
		socketpair(AF_UNIX, type, 0, p);
		setsockopt(p[1], SOL_SOCKET, SO_PASSCRED, &one, sizeof one);
		R(send(p[0], "last", 4, 0));
		shutdown(p[0], SHUT_WR);
		R(recvfd(p[1], 64, 256, 0));
		R(recvmsg(p[1], &m, 0));
		printf("control %d\n", (int)m.msg_controllen);
		if (m.msg_controllen) {
			memcpy(&u, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof u);
			printf("%d %d %d\n", u.pid, u.uid, u.gid);
		}
		close(p[0]), close(p[1]);
	}
}

// What has the inode number of a socket file that is no more is not that socket.
static void numbers(void) {
	puts("-- numbers");
	int old[8], s, c, reached = 0;
	for (int i = 0; i < 8; i++) {
		old[i] = socket(AF_UNIX, SOCK_STREAM, 0);
		bind(old[i], UN("number"));
		listen(old[i], 5);
		unlink("number");
		if (i % 2) mknod("number", S_IFSOCK | 0700, 0);
		else close(open("number", O_CREAT | O_RDWR, 0700));
		c = socket(AF_UNIX, SOCK_STREAM, 0);
		reached += connect(c, UN("number")) == 0;
		close(c);
		unlink("number");
	}
	printf("%d reached\n", reached);
	s = socket(AF_UNIX, SOCK_STREAM, 0);
	R(bind(s, UN("number")));
	listen(s, 5);
	for (int i = 0; i < 8; i++) close(old[i]);
	c = socket(AF_UNIX, SOCK_STREAM, 0);
	R(connect(c, UN("number")));
	close(c), close(s), unlink("number");
}

static void *later(void *p) {
	int *fd = p;
	usleep(30000);
	write(fd[0], "later", 5);
	usleep(30000);
	write(fd[0], "on", 2);
	return 0;
}

static void *server(void *p) {
	int s = *(int *)p, a;
	char buf[64];
	long n;
	while ((a = accept(s, 0, 0)) >= 0) {
		while ((n = read(a, buf, 64)) > 0) write(a, buf, n);
		close(a);
	}
	return (void *)(long)errno;
}

static void waiting(void) {
	int p[2];
	char buf[64];
	pthread_t t;
	puts("-- waiting");
	socketpair(AF_UNIX, SOCK_STREAM, 0, p);
	pthread_create(&t, 0, later, p);
	R(recv(p[1], buf, 7, MSG_WAITALL));
	printf("%.7s\n", buf);
	pthread_join(t, 0);
	pthread_create(&t, 0, later, p);
	R(recv(p[1], buf, 5, 0));
	pthread_join(t, 0);
	R(recv(p[1], buf, 64, 0));
	close(p[0]), close(p[1]);
	int s = socket(AF_UNIX, SOCK_STREAM, 0);
	bind(s, UN("server"));
	listen(s, 1);
	pthread_create(&t, 0, server, &s);
	long sum = 0;
	for (int i = 0; i < 20; i++) {
		int c = socket(AF_UNIX, SOCK_STREAM, 0);
		if (connect(c, UN("server")) < 0) perror("connect");
		write(c, "ping", 4);
		shutdown(c, SHUT_WR);
		sum += recv(c, buf, 64, MSG_WAITALL);
		close(c);
	}
	printf("%ld\n", sum);
	R(shutdown(s, SHUT_RD));
	void *e;
	pthread_join(t, &e);
	printf("accept: %s\n", strerror((long)e));
	int c = socket(AF_UNIX, SOCK_STREAM, 0);
	R(connect(c, UN("server")));
	close(s), close(c);
}

static int waited(int ep) {
	struct epoll_event e[4];
	return epoll_wait(ep, e, 4, 0) > 0 ? e[0].events : 0;
}

static void edges(void) {
	int p[2];
	char buf[64];
	puts("-- edges");
	socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, p);
	int ep = epoll_create1(0);
	struct epoll_event e = {EPOLLIN | EPOLLET | EPOLLRDHUP, {0}};
	epoll_ctl(ep, EPOLL_CTL_ADD, p[0], &e);
	R(waited(ep));
	write(p[1], "a", 1);
	R(waited(ep));
	R(waited(ep));
	write(p[1], "b", 1);
	R(waited(ep));
	read(p[0], buf, 1);
	R(waited(ep));
	read(p[0], buf, 1);
	write(p[1], "c", 1);
	R(waited(ep));
	read(p[0], buf, 1);
	write(p[1], "d", 1);
	read(p[0], buf, 1);
	R(waited(ep));
	e.events = EPOLLIN | EPOLLOUT | EPOLLET;
	epoll_ctl(ep, EPOLL_CTL_MOD, p[0], &e);
	R(waited(ep));
	R(waited(ep));
	write(p[1], "e", 1);
	R(waited(ep));
	shutdown(p[1], SHUT_WR);
	R(waited(ep));
	R(waited(ep));
	close(p[1]);
	R(waited(ep));
	R(waited(ep));
	close(p[0]);
	R(waited(ep));
	int l = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	bind(l, UN("edge"));
	listen(l, 8);
	e.events = EPOLLIN | EPOLLET;
	epoll_ctl(ep, EPOLL_CTL_ADD, l, &e);
	R(waited(ep));
	int c[3];
	for (int i = 0; i < 3; i++) {
		c[i] = socket(AF_UNIX, SOCK_STREAM, 0);
		connect(c[i], UN("edge"));
		R(waited(ep));
	}
	R(waited(ep));
	for (int i = 0; i < 3; i++) {
		int a = accept(l, 0, 0);
		R(waited(ep));
		close(a);
		close(c[i]);
	}
	close(l), close(ep);
}

int main(void) {
	char dir[] = "/tmp/cgemu-unix-XXXXXX";
	setvbuf(stdout, 0, _IONBF, 0);
	signal(SIGPIPE, broken);
	if (!mkdtemp(dir) || chdir(dir)) return 1;
	names();
	streams();
	packets(SOCK_DGRAM);
	packets(SOCK_SEQPACKET);
	datagrams();
	passing();
	numbers();
	waiting();
	edges();
	printf("SIGPIPE %d\n", pipes);
	return system("rm -r $PWD") != 0;
}

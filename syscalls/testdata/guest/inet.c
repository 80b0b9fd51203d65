// TCP and UDP over the loopback interface: names, options, connections and how they end, what poll and epoll say.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#define R(x) do { errno = 0; long r_ = (long)(x); int e_ = errno; printf("%-70s %ld %s\n", #x, r_, r_ == -1 ? strerror(e_) : ""); } while (0)

static int pipes;
static void broken(int sig) { pipes++; }

typedef union {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
} addr;

static addr to;
static struct sockaddr *at(const char *text, int port) {
	memset(&to, 0, sizeof to);
	if (strchr(text, ':')) {
		to.in6.sin6_family = AF_INET6, to.in6.sin6_port = htons(port);
		inet_pton(AF_INET6, text, &to.in6.sin6_addr);
	} else {
		to.in.sin_family = AF_INET, to.in.sin_port = htons(port);
		inet_pton(AF_INET, text, &to.in.sin_addr);
	}
	return &to.sa;
}
#define AT(text, port) at(text, port), (strchr(text, ':') ? sizeof to.in6 : sizeof to.in)

// show prints a name; a port only as whether there is one.
static void show(const char *what, int (*get)(int, struct sockaddr *, socklen_t *), int fd) {
	addr a;
	char text[64];
	socklen_t n = sizeof a;
	if (get(fd, &a.sa, &n) < 0) {
		printf("%s: %s\n", what, strerror(errno));
		return;
	}
	inet_ntop(a.sa.sa_family, a.sa.sa_family == AF_INET ? (void *)&a.in.sin_addr : &a.in6.sin6_addr, text, sizeof text);
	printf("%s: %s, port %d, length %d\n", what, text, a.in.sin_port != 0, (int)n);
}

static int port(int fd) {
	addr a;
	socklen_t n = sizeof a;
	getsockname(fd, &a.sa, &n);
	return ntohs(a.in.sin_port);
}

static int events(int fd) {
	struct pollfd p = {fd, POLLIN | POLLOUT | POLLRDHUP | POLLPRI, 0};
	poll(&p, 1, 0);
	return p.revents;
}

// soon waits for events that come from the other end.
static int soon(int fd, int want) {
	struct pollfd p = {fd, want, 0};
	poll(&p, 1, 2000);
	return events(fd);
}

static int opt(int fd, int level, int name) {
	int v = -99;
	socklen_t n = sizeof v;
	if (getsockopt(fd, level, name, &v, &n) < 0) return -errno;
	return v;
}

static int set(int fd, int level, int name, int v) { return setsockopt(fd, level, name, &v, sizeof v); }

static int listener(const char *text, int backlog) {
	int s = socket(strchr(text, ':') ? AF_INET6 : AF_INET, SOCK_STREAM, 0);
	if (bind(s, AT(text, 0)) || listen(s, backlog)) perror("listener");
	return s;
}

static void pair(int p[2]) {
	int l = listener("127.0.0.1", 1);
	p[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(p[0], AT("127.0.0.1", port(l)))) perror("connect");
	p[1] = accept(l, 0, 0);
	close(l);
}

static void names(void) {
	puts("-- names");
	int s = socket(AF_INET, SOCK_STREAM, 0), c = socket(AF_INET, SOCK_STREAM, 0), d;
	printf("events %x\n", events(s));
	show("unbound", getsockname, s);
	show("unconnected", getpeername, s);
	R(bind(s, AT("192.0.2.1", 0)));
	R(bind(s, AT("::1", 0)));
	R(bind(s, AT("127.0.0.1", 0)));
	show("bound", getsockname, s);
	R(bind(s, AT("127.0.0.1", 0)));
	int p = port(s);
	R(bind(c, AT("127.0.0.1", p)));
	R(bind(c, AT("0.0.0.0", p)));
	R(bind(c, AT("127.0.0.2", p)));
	R(connect(c, AT("127.0.0.1", p)));
	show("after refusal", getpeername, c);
	R(bind(c, &to.sa, 8));
	R(listen(s, 1));
	printf("events %x accepting %d\n", events(s), opt(s, SOL_SOCKET, SO_ACCEPTCONN));
	R(listen(s, 5));
	R(connect(s, AT("127.0.0.1", p)));
	R(connect(c, AT("127.0.0.1", p)));
	show("client", getsockname, c);
	show("client's peer", getpeername, c);
	R(connect(c, AT("127.0.0.1", p)));
	printf("events %x %x\n", soon(s, POLLIN), events(c));
	addr a;
	socklen_t n = sizeof a;
	int acc = accept4(s, &a.sa, &n, SOCK_NONBLOCK);
	printf("%d %d\n", (int)n, ntohs(a.in.sin_port) == port(c));
	show("accepted", getsockname, acc);
	show("accepted's peer", getpeername, acc);
	printf("same port %d\n", port(acc) == p);
	close(s);
	d = socket(AF_INET, SOCK_STREAM, 0);
	R(bind(d, AT("127.0.0.1", p)));
	R(connect(d, AT("127.0.0.1", p)));
	close(d), close(acc), close(c);
	s = listener("0.0.0.0", 4);
	for (int i = 0; i < 3; i++) {
		c = socket(AF_INET, SOCK_STREAM, 0);
		if (connect(c, AT(i == 0 ? "0.0.0.0" : i == 1 ? "127.0.0.1" : "127.1.2.3", port(s)))) perror("connect");
		show("client", getsockname, c);
		show("client's peer", getpeername, c);
		acc = accept(s, 0, 0);
		show("accepted", getsockname, acc);
		show("accepted's peer", getpeername, acc);
		close(c), close(acc);
	}
	close(s);
	R(socket(AF_INET, SOCK_STREAM, IPPROTO_UDP));
	R(socket(AF_INET, SOCK_DGRAM, IPPROTO_TCP));
	R(socket(AF_INET, SOCK_SEQPACKET, 0));
	R(socket(AF_INET, SOCK_RAW, 0));
	int pr[2];
	R(socketpair(AF_INET, SOCK_STREAM, 0, pr));
	s = socket(AF_INET, SOCK_STREAM, 0);
	R(accept(s, 0, 0));
	R(shutdown(s, SHUT_RDWR));
	R(send(s, "x", 1, MSG_NOSIGNAL));
	R(recv(s, pr, 1, 0));
	R(listen(s, 1));
	show("listening unbound", getsockname, s);
	R(recv(s, pr, 1, 0));
	R(send(s, pr, 1, MSG_NOSIGNAL));
	R(sendto(s, "x", 1, MSG_NOSIGNAL, AT("127.0.0.1", 1)));
	close(s);
}

static void nonblocking(void) {
	char buf[8];
	puts("-- nonblocking");
	int l = listener("127.0.0.1", 1), c = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	fcntl(l, F_SETFL, O_NONBLOCK);
	R(accept(l, 0, 0));
	R(connect(c, AT("127.0.0.1", port(l))));
	printf("events %x error %d\n", soon(c, POLLOUT), opt(c, SOL_SOCKET, SO_ERROR));
	R(connect(c, AT("127.0.0.1", port(l))));
	R(connect(c, AT("127.0.0.1", port(l))));
	R(recv(c, buf, 1, 0));
	int a = (soon(l, POLLIN), accept(l, 0, 0));
	close(a), close(c);
	int p = port(l);
	close(l);
	c = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	R(connect(c, AT("127.0.0.1", p)));
	printf("events %x\n", soon(c, POLLOUT));
	printf("error %d\n", opt(c, SOL_SOCKET, SO_ERROR));
	printf("error %d events %x\n", opt(c, SOL_SOCKET, SO_ERROR), events(c));
	R(connect(c, AT("127.0.0.1", p)));
	R(connect(c, AT("127.0.0.1", p)));
	soon(c, POLLOUT);
	R(connect(c, AT("127.0.0.1", p)));
	R(connect(c, AT("127.0.0.1", p)));
	soon(c, POLLOUT);
	R(send(c, "x", 1, MSG_NOSIGNAL));
	R(send(c, "x", 1, MSG_NOSIGNAL));
	close(c);
}

static void streams(void) {
	int p[2], n;
	char buf[64], *big = calloc(1, 8 << 20);
	puts("-- streams");
	pair(p);
	printf("events %x\n", events(p[0]));
	R(send(p[0], "abc", 3, 0));
	R(send(p[0], "defg", 4, MSG_MORE));
	set(p[0], IPPROTO_TCP, TCP_NODELAY, 1);
	R(recv(p[1], buf, 7, MSG_WAITALL | MSG_PEEK));
	R(ioctl(p[1], FIONREAD, &n));
	printf("%d\n", n);
	R(recv(p[1], buf, 5, 0));
	addr a;
	socklen_t len = sizeof a;
	R(recvfrom(p[1], buf, 64, 0, &a.sa, &len));
	printf("%.2s, length %d\n", buf, (int)len);
	R(recv(p[1], buf, 64, MSG_DONTWAIT));
	R(sendto(p[0], "x", 1, 0, AT("127.0.0.1", 9)));
	R(recv(p[1], buf, 64, 0));
	R(send(p[0], "trunc", 5, 0));
	R(recv(p[1], buf, 5, MSG_TRUNC | MSG_WAITALL));
	R(send(p[0], "", 0, 0));
	R(ioctl(p[1], SIOCATMARK, &n));
	printf("%d\n", n);
	R(recv(p[1], buf, 1, MSG_OOB));
	R(lseek(p[0], 0, SEEK_CUR));
	fcntl(p[0], F_SETFL, O_NONBLOCK);
	long sent = 0, got = 0, k;
	while ((k = write(p[0], big, 8 << 20)) > 0) {
		sent += k;
		usleep(2000);
	}
	printf("full: %d, errno %d, events %x\n", sent > 100000, errno, events(p[0]));
	while (got < sent && (k = read(p[1], big, 1 << 20)) > 0) got += k;
	printf("all came: %d, events %x\n", sent == got, soon(p[0], POLLOUT));
	fcntl(p[0], F_SETFL, 0);
	puts("half closed");
	R(shutdown(p[0], SHUT_WR));
	printf("events %x %x\n", events(p[0]), soon(p[1], POLLRDHUP));
	R(recv(p[1], buf, 1, 0));
	R(send(p[1], "back", 4, 0));
	R(recv(p[0], buf, 64, 0));
	R(write(p[0], "x", 1));
	printf("SIGPIPE %d\n", pipes);
	R(shutdown(p[1], SHUT_WR));
	printf("events %x %x\n", soon(p[0], POLLRDHUP), events(p[1]));
	show("peer", getpeername, p[1]);
	R(shutdown(p[1], SHUT_WR));
	R(recv(p[0], buf, 1, 0));
	R(recv(p[1], buf, 1, 0));
	close(p[0]), close(p[1]);
	puts("closed");
	pair(p);
	R(send(p[1], "bye", 3, 0));
	close(p[1]);
	printf("events %x\n", soon(p[0], POLLRDHUP));
	R(send(p[0], "x", 1, 0));
	printf("events %x\n", soon(p[0], 0));
	R(recv(p[0], buf, 64, 0));
	R(recv(p[0], buf, 64, 0));
	R(send(p[0], "x", 1, 0));
	printf("SIGPIPE %d error %d\n", pipes, opt(p[0], SOL_SOCKET, SO_ERROR));
	close(p[0]);
	puts("closed with unread data");
	pair(p);
	R(send(p[0], "unread", 6, 0));
	R(send(p[1], "mine", 4, 0));
	soon(p[1], POLLIN);
	close(p[1]);
	printf("events %x\n", soon(p[0], 0));
	R(recv(p[0], buf, 64, 0));
	R(recv(p[0], buf, 64, 0));
	R(recv(p[0], buf, 64, 0));
	R(write(p[0], "x", 1));
	printf("SIGPIPE %d\n", pipes);
	show("peer", getpeername, p[0]);
	close(p[0]);
	pair(p);
	struct linger lg = {1, 0};
	R(setsockopt(p[1], SOL_SOCKET, SO_LINGER, &lg, sizeof lg));
	close(p[1]);
	printf("events %x\n", soon(p[0], 0));
	R(write(p[0], "x", 1));
	R(write(p[0], "x", 1));
	printf("SIGPIPE %d\n", pipes);
	R(recv(p[0], buf, 64, 0));
	close(p[0]);
	puts("not reading");
	pair(p);
	R(shutdown(p[1], SHUT_RD));
	printf("events %x\n", events(p[1]));
	R(recv(p[1], buf, 64, 0));
	R(send(p[0], "late", 4, 0));
	soon(p[1], POLLIN);
	usleep(2000);
	R(recv(p[1], buf, 64, 0));
	R(recv(p[1], buf, 64, 0));
	close(p[0]), close(p[1]);
	puts("vectors, files, timeouts");
	pair(p);
	struct iovec v[2] = {{"one", 3}, {"two", 3}};
	R(writev(p[0], v, 2));
	R(recv(p[1], buf, 6, MSG_WAITALL));
	FILE *f = tmpfile();
	fputs("of a file", f);
	fflush(f);
	off_t off = 3;
	R(sendfile(p[0], fileno(f), &off, 100));
	R(recv(p[1], buf, 6, MSG_WAITALL));
	struct timeval tv = {0, 20000};
	R(setsockopt(p[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv));
	memset(&tv, 0, sizeof tv);
	len = sizeof tv;
	R(getsockopt(p[0], SOL_SOCKET, SO_RCVTIMEO, &tv, &len));
	printf("%d %d\n", (int)tv.tv_sec, (int)tv.tv_usec);
	R(recv(p[0], buf, 1, 0));
	struct sockaddr none = {AF_UNSPEC};
	R(connect(p[0], &none, sizeof none));
	show("disconnected", getpeername, p[0]);
	R(recv(p[1], buf, 1, 0));
	close(p[0]), close(p[1]);
	fclose(f);
	free(big);
}

static void *drain(void *p) {
	int fd = *(int *)p;
	char buf[5000];
	long sum = 0, n;
	while ((n = read(fd, buf, sizeof buf)) > 0) sum += n;
	close(fd);
	return (void *)sum;
}

static void *dial(void *p) {
	int s = socket(AF_INET, SOCK_STREAM, 0);
	usleep(20000);
	connect(s, AT("127.0.0.1", *(int *)p));
	write(s, "dialled", 7);
	close(s);
	return 0;
}

static void waiting(void) {
	int p[2];
	char buf[64], *big = calloc(1, 8 << 20);
	pthread_t t;
	void *sum;
	puts("-- waiting");
	pair(p);
	pthread_create(&t, 0, drain, &p[1]);
	R(write(p[0], big, 8 << 20));
	close(p[0]);
	pthread_join(t, &sum);
	printf("%ld\n", (long)sum);
	int l = listener("127.0.0.1", 1), n = port(l);
	pthread_create(&t, 0, dial, &n);
	int a = accept(l, 0, 0);
	R(recv(a, buf, 64, MSG_WAITALL));
	pthread_join(t, 0);
	close(a);
	struct timeval tv = {0, 10000};
	setsockopt(l, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv);
	R(accept(l, 0, 0));
	close(l);
	free(big);
}

static void udp(void) {
	char buf[64], *big = calloc(1, 70000);
	addr from;
	socklen_t n = sizeof from;
	puts("-- UDP");
	int a = socket(AF_INET, SOCK_DGRAM, 0), b = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	printf("events %x\n", events(a));
	show("unbound", getsockname, a);
	R(send(a, "x", 1, 0));
	R(recv(b, buf, 1, 0));
	R(listen(a, 1));
	R(accept(a, 0, 0));
	R(bind(a, AT("127.0.0.1", 0)));
	int pa = port(a);
	R(bind(b, AT("0.0.0.0", pa)));
	R(sendto(b, "hello", 5, 0, AT("127.0.0.1", pa)));
	show("sender", getsockname, b);
	R(recvfrom(a, buf, 64, 0, &from.sa, &n));
	printf("%d, port %d\n", (int)n, ntohs(from.in.sin_port) == port(b));
	R(sendto(a, "back", 4, 0, &from.sa, n));
	printf("events %x\n", soon(b, POLLIN));
	int k;
	R(ioctl(b, FIONREAD, &k));
	printf("%d\n", k);
	R(recv(b, buf, 2, MSG_TRUNC));
	R(sendto(b, "", 0, 0, AT("127.0.0.1", pa)));
	R(sendto(b, "one", 3, 0, AT("127.0.0.1", pa)));
	R(recv(a, buf, 64, 0));
	R(recv(a, buf, 64, MSG_PEEK));
	R(recv(a, buf, 64, 0));
	R(sendto(b, big, 65508, 0, AT("127.0.0.1", pa)));
	R(sendto(b, big, 65507, 0, AT("127.0.0.1", pa)));
	R(recv(a, big, 70000, 0));
	R(sendto(b, "x", 1, 0, AT("127.0.0.1", 0)));
	R(sendto(b, "x", 1, 0, AT("255.255.255.255", 9)));
	R(sendto(b, "x", 1, 0, &to.sa, 5));
	R(connect(b, AT("127.0.0.1", pa)));
	show("connected", getpeername, b);
	int c = socket(AF_INET, SOCK_DGRAM, 0);
	R(sendto(c, "stranger", 8, 0, AT("127.0.0.1", port(b))));
	R(recv(b, buf, 64, 0));
	R(send(b, "friend", 6, 0));
	R(recv(a, buf, 64, 0));
	close(a);
	R(send(b, "x", 1, 0));
	printf("events %x\n", soon(b, 0));
	R(send(b, "x", 1, 0));
	R(send(b, "x", 1, 0));
	soon(b, 0);
	R(recv(b, buf, 1, 0));
	R(recv(b, buf, 1, 0));
	R(send(b, "x", 1, 0));
	soon(b, 0);
	printf("error %d %d\n", opt(b, SOL_SOCKET, SO_ERROR), opt(b, SOL_SOCKET, SO_TYPE));
	R(sendto(c, "x", 1, 0, AT("127.0.0.1", pa)));
	R(sendto(c, "x", 1, 0, AT("127.0.0.1", pa)));
	struct sockaddr none = {AF_UNSPEC};
	R(connect(b, &none, sizeof none));
	show("disconnected", getpeername, b);
	R(shutdown(b, SHUT_RD));
	R(connect(b, AT("127.0.0.1", port(c))));
	R(shutdown(b, SHUT_RD));
	printf("events %x\n", events(b));
	R(shutdown(b, SHUT_WR));
	printf("events %x\n", events(b));
	close(b), close(c);
	puts("shared ports");
	int s[2];
	for (int i = 0; i < 2; i++) {
		s[i] = socket(AF_INET, SOCK_DGRAM, 0);
		R(set(s[i], SOL_SOCKET, SO_REUSEADDR, 1));
		R(bind(s[i], AT("127.0.0.1", i ? port(s[0]) : 0)));
	}
	close(s[0]), close(s[1]);
	for (int i = 0; i < 2; i++) {
		s[i] = socket(AF_INET, SOCK_STREAM, 0);
		set(s[i], SOL_SOCKET, SO_REUSEADDR, 1);
		R(bind(s[i], AT("127.0.0.1", i ? port(s[0]) : 0)));
	}
	R(listen(s[0], 1));
	R(listen(s[1], 1));
	close(s[0]), close(s[1]);
	for (int i = 0; i < 2; i++) {
		s[i] = socket(AF_INET, SOCK_STREAM, 0);
		set(s[i], SOL_SOCKET, SO_REUSEPORT, 1);
		R(bind(s[i], AT("127.0.0.1", i ? port(s[0]) : 0)));
		R(listen(s[i], 1));
	}
	close(s[0]), close(s[1]);
	puts("packet information");
	a = socket(AF_INET, SOCK_DGRAM, 0), b = socket(AF_INET, SOCK_DGRAM, 0);
	bind(a, AT("0.0.0.0", 0));
	R(set(a, IPPROTO_IP, IP_PKTINFO, 1));
	R(sendto(b, "x", 1, 0, AT("127.0.0.7", port(a))));
	char ctl[64];
	struct iovec v = {buf, 64};
	struct msghdr m = {&from, sizeof from, &v, 1, ctl, sizeof ctl};
	R(recvmsg(a, &m, 0));
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);
	struct in_pktinfo *pi = (void *)CMSG_DATA(h);
	printf("%d %d %d to %s\n", (int)m.msg_controllen, h->cmsg_level, h->cmsg_type, inet_ntoa(pi->ipi_addr));
	close(a), close(b);
	free(big);
}

static void options(void) {
	puts("-- options");
	int s = socket(AF_INET, SOCK_STREAM, 0), u = socket(AF_INET, SOCK_DGRAM, 0);
	printf("%d %d %d %d\n", opt(s, SOL_SOCKET, SO_TYPE), opt(s, SOL_SOCKET, SO_DOMAIN), opt(s, SOL_SOCKET, SO_PROTOCOL), opt(u, SOL_SOCKET, SO_PROTOCOL));
	static const struct { int level, name; } o[] = {
		{SOL_SOCKET, SO_REUSEADDR}, {SOL_SOCKET, SO_KEEPALIVE}, {SOL_SOCKET, SO_BROADCAST}, {SOL_SOCKET, SO_OOBINLINE},
		{SOL_SOCKET, SO_REUSEPORT}, {IPPROTO_TCP, TCP_NODELAY}, {IPPROTO_TCP, TCP_CORK}, {IPPROTO_TCP, TCP_KEEPIDLE},
		{IPPROTO_TCP, TCP_KEEPINTVL}, {IPPROTO_TCP, TCP_KEEPCNT}, {IPPROTO_IP, IP_TOS}, {IPPROTO_IP, IP_TTL},
		{IPPROTO_IP, IP_RECVERR}, {IPPROTO_IP, IP_PKTINFO}, {IPPROTO_TCP, TCP_USER_TIMEOUT}, {SOL_SOCKET, SO_PRIORITY},
	};
	for (int i = 0; i < sizeof o / sizeof *o; i++) {
		printf("%d/%d: %d %d", o[i].level, o[i].name, opt(s, o[i].level, o[i].name), opt(u, o[i].level, o[i].name));
		set(s, o[i].level, o[i].name, 4);
		printf(" %d\n", opt(s, o[i].level, o[i].name));
	}
	R(set(s, IPPROTO_TCP, TCP_KEEPCNT, 0));
	R(set(s, IPPROTO_IP, IP_TTL, 256));
	R(set(s, SOL_SOCKET, SO_PRIORITY, 5));
	R(set(s, SOL_SOCKET, SO_RCVBUF, 20000));
	printf("%d\n", opt(s, SOL_SOCKET, SO_RCVBUF));
	R(set(s, SOL_SOCKET, SO_SNDBUF, 1));
	printf("%d\n", opt(s, SOL_SOCKET, SO_SNDBUF));
	R(set(s, 12345, 1, 1));
	R(set(u, IPPROTO_TCP, TCP_NODELAY, 1));
	R(set(s, IPPROTO_TCP, 999, 1));
	R(set(s, IPPROTO_IPV6, IPV6_V6ONLY, 1));
	struct linger l = {5, 7};
	socklen_t n = sizeof l;
	R(setsockopt(s, SOL_SOCKET, SO_LINGER, &l, sizeof l));
	R(getsockopt(s, SOL_SOCKET, SO_LINGER, &l, &n));
	printf("%d %d\n", l.l_onoff, l.l_linger);
	struct tcp_info ti;
	n = sizeof ti;
	R(getsockopt(s, IPPROTO_TCP, TCP_INFO, &ti, &n));
	printf("state %d\n", ti.tcpi_state);
	R(getsockopt(s, SOL_SOCKET, SO_TYPE, &ti, &n));
	printf("%d\n", (int)n);
	n = -1;
	R(getsockopt(s, SOL_SOCKET, SO_TYPE, &ti, &n));
	R(getsockopt(0, SOL_SOCKET, SO_TYPE, &ti, &n));
	close(s), close(u);
}

static void interfaces(void) {
	puts("-- interfaces");
	int s = socket(AF_INET, SOCK_DGRAM, 0);
	struct ifreq r = {0};
	strcpy(r.ifr_name, "lo");
	R(ioctl(s, SIOCGIFINDEX, &r));
	printf("%d\n", r.ifr_ifindex);
	R(ioctl(s, SIOCGIFFLAGS, &r));
	printf("%x\n", r.ifr_flags);
	R(ioctl(s, SIOCGIFADDR, &r));
	printf("%s\n", inet_ntoa(((struct sockaddr_in *)&r.ifr_addr)->sin_addr));
	R(ioctl(s, SIOCGIFNETMASK, &r));
	printf("%s\n", inet_ntoa(((struct sockaddr_in *)&r.ifr_addr)->sin_addr));
	R(ioctl(s, SIOCGIFMTU, &r));
	printf("%d\n", r.ifr_mtu);
	strcpy(r.ifr_name, "none0");
	R(ioctl(s, SIOCGIFINDEX, &r));
	char name[IF_NAMESIZE];
	R(if_nametoindex("lo"));
	printf("%s\n", if_indextoname(1, name));
	struct ifaddrs *list, *i;
	R(getifaddrs(&list));
	for (i = list; i; i = i->ifa_next) {
		if (strcmp(i->ifa_name, "lo") || !i->ifa_addr || i->ifa_addr->sa_family == AF_INET6) continue;
		printf("%s family %d flags %x", i->ifa_name, i->ifa_addr->sa_family, i->ifa_flags);
		if (i->ifa_addr->sa_family == AF_INET) printf(" %s", inet_ntoa(((struct sockaddr_in *)i->ifa_addr)->sin_addr));
		printf("\n");
	}
	freeifaddrs(list);
	struct addrinfo hints = {AI_NUMERICHOST, AF_UNSPEC, SOCK_STREAM}, *ai;
	R(getaddrinfo("127.0.0.1", "80", &hints, &ai));
	printf("%d %s\n", ai->ai_family, inet_ntoa(((struct sockaddr_in *)ai->ai_addr)->sin_addr));
	freeaddrinfo(ai);
	close(s);
}

static int waited(int ep) {
	struct epoll_event e[4];
	return epoll_wait(ep, e, 4, 0) > 0 ? e[0].events : 0;
}

static void edges(void) {
	int p[2];
	char buf[64];
	puts("-- edges");
	pair(p);
	fcntl(p[0], F_SETFL, O_NONBLOCK);
	int ep = epoll_create1(0);
	struct epoll_event e = {EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, {0}};
	epoll_ctl(ep, EPOLL_CTL_ADD, p[0], &e);
	R(waited(ep));
	R(waited(ep));
	write(p[1], "a", 1), soon(p[0], POLLIN);
	R(waited(ep));
	R(waited(ep));
	write(p[1], "b", 1), soon(p[0], POLLIN), usleep(2000);
	R(waited(ep));
	read(p[0], buf, 1);
	R(waited(ep));
	read(p[0], buf, 1);
	write(p[1], "c", 1), soon(p[0], POLLIN);
	R(waited(ep));
	shutdown(p[1], SHUT_WR), soon(p[0], POLLRDHUP);
	R(waited(ep));
	R(waited(ep));
	close(p[1]), close(p[0]), close(ep);
}

int main(void) {
	setvbuf(stdout, 0, _IONBF, 0);
	signal(SIGPIPE, broken);
	names();
	nonblocking();
	streams();
	waiting();
	udp();
	options();
	interfaces();
	edges();
	printf("SIGPIPE %d\n", pipes);
}

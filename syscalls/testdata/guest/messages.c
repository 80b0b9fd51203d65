// Datagrams in pieces (MSG_MORE, UDP_CORK), queues, options and names that lead nowhere.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static char b[200];
static void show(const char *what, long r) { printf("%-34s %ld %s\n", what, r, r < 0 ? strerror(errno) : ""); }
static int set(int s, int level, int name, int v) { return setsockopt(s, level, name, &v, sizeof v); }

static void pieces(void) {
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof a;
	int u = socket(AF_INET, SOCK_DGRAM, 0), v = socket(AF_INET, SOCK_DGRAM, 0);
	bind(u, (void *)&a, sizeof a);
	getsockname(u, (void *)&a, &n);
	connect(v, (void *)&a, n);
	show("more", send(v, "abc", 3, MSG_MORE));
	show("not there yet", recv(u, b, 100, MSG_DONTWAIT));
	show("rest", send(v, "def", 3, 0));
	show("both", recv(u, b, 100, MSG_DONTWAIT));
	printf("%.6s\n", b);
	show("no more", recv(u, b, 100, MSG_DONTWAIT));
	show("cork", set(v, IPPROTO_UDP, UDP_CORK, 1));
	send(v, "gh", 2, 0);
	send(v, "ij", 2, 0);
	show("corked", recv(u, b, 100, MSG_DONTWAIT));
	show("uncork", set(v, IPPROTO_UDP, UDP_CORK, 0));
	show("together", recv(u, b, 100, MSG_DONTWAIT));
	printf("%.4s\n", b);
	send(v, "kl", 2, MSG_MORE);
	show("to another in between", sendto(v, "mn", 2, 0, (void *)&a, n));
	show("one datagram", recv(u, b, 100, MSG_DONTWAIT));
	send(v, b, 100, MSG_MORE);
	static char big[65500];
	show("too much", send(v, big, sizeof big, 0));
	show("nothing", recv(u, b, 100, MSG_DONTWAIT));
	show("error queue", recv(u, b, 100, MSG_ERRQUEUE));
	struct msghdr h = {0};
	show("error queue", recvmsg(u, &h, MSG_ERRQUEUE));
	int s = socket(AF_INET, SOCK_STREAM, 0), c = socket(AF_INET, SOCK_STREAM, 0), d;
	a.sin_port = 0;
	bind(s, (void *)&a, sizeof a);
	listen(s, 1);
	getsockname(s, (void *)&a, &n);
	connect(c, (void *)&a, n);
	d = accept(s, 0, 0);
	show("error queue of TCP", recv(d, b, 100, MSG_ERRQUEUE));
	show("no such device", setsockopt(c, SOL_SOCKET, SO_BINDTODEVICE, "nope0", 5));
	show("device", setsockopt(c, SOL_SOCKET, SO_BINDTODEVICE, "lo", 2));
	n = sizeof b;
	memset(b, 0, sizeof b);
	show("get device", getsockopt(c, SOL_SOCKET, SO_BINDTODEVICE, b, &n));
	printf("[%s] %d\n", b, n);
	show("no device", setsockopt(c, SOL_SOCKET, SO_BINDTODEVICE, "", 0));
	n = sizeof b;
	show("get no device", getsockopt(c, SOL_SOCKET, SO_BINDTODEVICE, b, &n));
	printf("%d\n", n);
	show("send to nobody", send(c, "x", 1, 0));
	close(c);
	show("last", recv(d, b, 100, 0));
}

static void families(void) {
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(9), .sin6_addr = in6addr_loopback};
	struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 own = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
	int s = socket(AF_INET6, SOCK_DGRAM, 0);
	bind(s, (void *)&own, sizeof own);
	show("::1 to IPv4", sendto(s, "x", 1, 0, (void *)&four, sizeof four));
	s = socket(AF_INET6, SOCK_DGRAM, 0);
	show("any to IPv4", sendto(s, "x", 1, 0, (void *)&four, sizeof four));
	s = socket(AF_INET6, SOCK_DGRAM, 0);
	inet_pton(AF_INET6, "::ffff:127.0.0.1", &own.sin6_addr);
	bind(s, (void *)&own, sizeof own);
	show("mapped to IPv4", sendto(s, "x", 1, 0, (void *)&four, sizeof four));
	s = socket(AF_INET6, SOCK_DGRAM, 0);
	set(s, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	show("IPv6 alone to IPv4", sendto(s, "x", 1, 0, (void *)&four, sizeof four));
	s = socket(AF_INET, SOCK_DGRAM, 0);
	show("IPv4 to IPv6", sendto(s, "x", 1, 0, (void *)&six, sizeof six));
}

static void device(const char *name) {
	// The headers of the kernel are not there with every C library: nlmsghdr, ifinfomsg, rtattr.
	struct header { unsigned len; unsigned short type, flags; unsigned seq, pid; };
	struct {
		struct header h;
		struct { unsigned char family, pad; unsigned short type; int index; unsigned flags, change; } i;
		struct { unsigned short len, type; } a;
		char name[16];
	} req = {{sizeof req, 18, 1, 7}, {AF_UNSPEC}, {sizeof req.a + sizeof req.name, 3}};
	static int answer[16384];
	struct header *h = (void *)answer;
	int s = socket(AF_NETLINK, SOCK_RAW, 0), *body = answer + 4;
	strcpy(req.name, name);
	show("ask", send(s, &req, sizeof req, 0) == sizeof req);
	show("answer", recv(s, answer, sizeof answer, 0) > 0);
	printf("%s: type %d, number %d, %d\n", name, h->type, h->seq, h->type == 2 ? body[0] : body[1]);
	close(s);
}

static void queues(void) {
	int s[2], n = 0;
	socketpair(AF_UNIX, SOCK_DGRAM, 0, s);
	show("datagram", send(s[0], "f", 1, MSG_OOB));
	socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, s);
	while (send(s[0], "x", 1, 0) == 1)
		n++;
	show("datagrams that fit", n);
}

int main(void) {
	setvbuf(stdout, 0, _IOLBF, 0);
	signal(SIGPIPE, SIG_IGN);
	pieces();
	families();
	device("lo");
	device("nope0");
	queues();
	return 0;
}

// TCP and UDP over IPv6, and how it meets IPv4. The test leaves it out where the host has no IPv6.
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define R(x) do { errno = 0; long r_ = (long)(x); int e_ = errno; printf("%-70s %ld %s\n", #x, r_, r_ == -1 ? strerror(e_) : ""); } while (0)

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

static void interfaces(void) {
	struct ifaddrs *list, *i;
	char text[64];
	R(getifaddrs(&list));
	for (i = list; i; i = i->ifa_next) {
		if (strcmp(i->ifa_name, "lo") || !i->ifa_addr || i->ifa_addr->sa_family != AF_INET6) continue;
		struct sockaddr_in6 *a = (void *)i->ifa_addr, *m = (void *)i->ifa_netmask;
		printf("%s", inet_ntop(AF_INET6, &a->sin6_addr, text, sizeof text));
		printf(" %s scope %d\n", inet_ntop(AF_INET6, &m->sin6_addr, text, sizeof text), a->sin6_scope_id);
	}
	freeifaddrs(list);
}

int main(void) {
	setvbuf(stdout, 0, _IONBF, 0);
	char buf[64];
	int l = listener("::", 2), c = socket(AF_INET6, SOCK_STREAM, 0), d = socket(AF_INET, SOCK_STREAM, 0);
	printf("v6only %d\n", opt(l, IPPROTO_IPV6, IPV6_V6ONLY));
	R(set(l, IPPROTO_IPV6, IPV6_V6ONLY, 1));
	R(connect(c, AT("::1", port(l))));
	show("client", getsockname, c);
	show("client's peer", getpeername, c);
	int a = accept(l, 0, 0);
	show("accepted", getsockname, a);
	close(a), close(c);
	R(connect(d, AT("127.0.0.1", port(l))));
	a = accept(l, 0, 0);
	show("accepted", getsockname, a);
	show("accepted's peer", getpeername, a);
	close(a), close(d);
	c = socket(AF_INET6, SOCK_STREAM, 0);
	R(connect(c, AT("::ffff:127.0.0.1", port(l))));
	show("client", getsockname, c);
	close(accept(l, 0, 0)), close(c);
	d = socket(AF_INET, SOCK_STREAM, 0);
	R(bind(d, AT("0.0.0.0", port(l))));
	R(connect(d, AT("::1", port(l))));
	close(d);
	int p = port(l);
	close(l);
	// Others may have the port that is free in IPv6: then another is tried.
	for (int tries = 0; tries < 50; tries++) {
		l = socket(AF_INET6, SOCK_STREAM, 0), d = socket(AF_INET, SOCK_STREAM, 0);
		if (set(l, IPPROTO_IPV6, IPV6_V6ONLY, 1) || set(l, SOL_SOCKET, SO_REUSEADDR, 1) || bind(l, AT("::", 0))) perror("bind");
		if (!bind(d, AT("0.0.0.0", port(l)))) break;
		close(l), close(d);
	}
	close(d);
	R(listen(l, 1));
	d = socket(AF_INET, SOCK_STREAM, 0);
	R(connect(d, AT("127.0.0.1", port(l))));
	close(d);
	c = socket(AF_INET6, SOCK_STREAM, 0);
	R(connect(c, AT("::ffff:127.0.0.1", port(l))));
	close(c), close(l);
	l = socket(AF_INET6, SOCK_DGRAM, 0), c = socket(AF_INET, SOCK_DGRAM, 0);
	R(bind(l, AT("::", 0)));
	R(sendto(c, "x", 1, 0, AT("127.0.0.1", port(l))));
	addr from;
	socklen_t n = sizeof from;
	R(recvfrom(l, buf, 64, 0, &from.sa, &n));
	inet_ntop(AF_INET6, &from.in6.sin6_addr, buf, sizeof buf);
	printf("%s %d\n", buf, (int)n);
	R(sendto(l, "y", 1, 0, &from.sa, n));
	R(recv(c, buf, 64, 0));
	close(c), close(l);
	l = socket(AF_INET6, SOCK_STREAM, 0);
	R(bind(l, AT("::2", 0)));
	R(bind(l, AT("2001:db8::1", 0)));
	R(bind(l, &to.sa, 20));
	R(bind(l, AT("127.0.0.1", 0)));
	R(bind(l, AT("::ffff:127.0.0.1", 0)));
	show("mapped", getsockname, l);
	R(set(l, IPPROTO_IPV6, IPV6_UNICAST_HOPS, 3));
	printf("%d %d\n", opt(l, IPPROTO_IPV6, IPV6_UNICAST_HOPS), opt(l, SOL_SOCKET, SO_DOMAIN));
	close(l);
	interfaces();
}

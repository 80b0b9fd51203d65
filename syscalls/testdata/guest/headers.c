// What programs set and see of the headers of UDP's packets: hops and traffic class, by option and by control message.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int family, level;

static int opt(int s, int name, int value) { return setsockopt(s, level, name, &value, sizeof value); }

static void receive(const char *what, int s) {
	char data[8], control[256];
	struct iovec v = {data, sizeof data};
	struct msghdr h = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
	int n = recvmsg(s, &h, MSG_DONTWAIT);
	printf("%-24s %d:", what, n);
	if (n >= 0)
		for (struct cmsghdr *c = CMSG_FIRSTHDR(&h); c; c = CMSG_NXTHDR(&h, c)) {
			int x = 0;
			memcpy(&x, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0) < sizeof x ? c->cmsg_len - CMSG_LEN(0) : sizeof x);
			printf(" %d/%d of %d", c->cmsg_level, c->cmsg_type, (int)(c->cmsg_len - CMSG_LEN(0)));
			if (c->cmsg_type != IP_PKTINFO && c->cmsg_type != IPV6_PKTINFO) printf(" = %d", x);
		}
	printf("\n");
}

static void with(const char *what, int s, int r, int type, int value, int size) {
	char control[64] = {0};
	struct iovec v = {"x", 1};
	struct msghdr h = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = control, .msg_controllen = CMSG_SPACE(size)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&h);
	c->cmsg_level = level;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(size);
	memcpy(CMSG_DATA(c), &value, size);
	errno = 0;
	int n = sendmsg(s, &h, 0);
	printf("%s: %d %s\n", what, n, n < 0 ? strerror(errno) : "");
	receive(what, r);
}

static void all(int receive_hops, int hops, int unicast, int receive_class, int class_message, int class_option, int info) {
	struct sockaddr_storage a = {family};
	socklen_t len = sizeof a;
	if (family == AF_INET) ((struct sockaddr_in *)&a)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else ((struct sockaddr_in6 *)&a)->sin6_addr = in6addr_loopback;
	int r = socket(family, SOCK_DGRAM, 0), s = socket(family, SOCK_DGRAM, 0);
	bind(r, (void *)&a, family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6));
	getsockname(r, (void *)&a, &len);
	connect(s, (void *)&a, len);
	send(s, "x", 1, 0);
	receive("nothing asked", r);
	opt(r, receive_hops, 1);
	send(s, "x", 1, 0);
	receive("hops", r);
	opt(r, receive_class, 1);
	opt(r, info, 1);
	send(s, "x", 1, 0);
	receive("all", r);
	opt(s, unicast, 7);
	opt(s, class_option, 0x28);
	write(s, "x", 1);
	receive("options", r);
	with("hops by message", s, r, hops, 9, 4);
	with("class by message", s, r, class_message, 0x30, 4);
	with("class of a byte", s, r, class_message, 0x30, 1);
	with("hops of a byte", s, r, hops, 9, 1);
	with("too many hops", s, r, hops, 256, 4);
	with("no hops", s, r, hops, -2, 4);
	with("too large a class", s, r, class_message, 256, 4);
	with("nothing known", s, r, 99, 1, 4);
	opt(r, receive_hops, 0);
	send(s, "x", 1, 0);
	receive("no hops asked", r);
	close(r);
	close(s);
}

int main(void) {
	setvbuf(stdout, 0, _IONBF, 0);
	family = AF_INET, level = IPPROTO_IP;
	all(IP_RECVTTL, IP_TTL, IP_TTL, IP_RECVTOS, IP_TOS, IP_TOS, IP_PKTINFO);
	family = AF_INET6, level = IPPROTO_IPV6;
	all(IPV6_RECVHOPLIMIT, IPV6_HOPLIMIT, IPV6_UNICAST_HOPS, IPV6_RECVTCLASS, IPV6_TCLASS, IPV6_TCLASS, IPV6_RECVPKTINFO);
	return 0;
}

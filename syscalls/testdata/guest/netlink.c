// Sockets of AF_NETLINK: names, groups, options, and that nothing is told.
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// As in <linux/netlink.h> and <linux/filter.h>, which musl-gcc does not find.
enum { NETLINK_ROUTE = 0, NETLINK_KOBJECT_UEVENT = 15 };
enum { NETLINK_ADD_MEMBERSHIP = 1, NETLINK_DROP_MEMBERSHIP = 2, NETLINK_PKTINFO = 3, NETLINK_NO_ENOBUFS = 5, NETLINK_LIST_MEMBERSHIPS = 9 };
#ifndef SOL_NETLINK
#define SOL_NETLINK 270
#endif
struct sockaddr_nl {
	unsigned short nl_family, pad;
	unsigned nl_pid, nl_groups;
};
struct filter_insn {
	unsigned short code;
	unsigned char jt, jf;
	unsigned k;
};
struct filter_prog {
	unsigned short len;
	struct filter_insn *insns;
};

#define R(x) do { errno = 0; long r = (x); printf("%-70s %ld %s\n", #x, r, r < 0 ? strerror(errno) : ""); } while (0)

static void name(int s) {
	struct sockaddr_nl a;
	socklen_t n = sizeof a;
	R(getsockname(s, (void *)&a, &n));
	printf("family %d, pid %d, groups %x, length %d\n", a.nl_family, a.nl_pid == getpid(), a.nl_groups, n);
}

static void member(int s, int how, int group) {
	printf("%d: ", group);
	R(setsockopt(s, SOL_NETLINK, how, &group, sizeof group));
	name(s);
	unsigned list[2] = {0};
	socklen_t n = sizeof list;
	R(getsockopt(s, SOL_NETLINK, NETLINK_LIST_MEMBERSHIPS, list, &n));
	printf("%x %x\n", list[0], list[1]);
}

// addresses has several sockets of a protocol, which have different ones.
static void addresses(int protocol) {
	struct sockaddr_nl a[3];
	int s[3];
	for (int i = 0; i < 3; i++) {
		s[i] = socket(AF_NETLINK, SOCK_RAW, protocol);
		a[i] = (struct sockaddr_nl){.nl_family = AF_NETLINK};
		R(i == 2 ? connect(s[i], (void *)(a + i), sizeof *a) : bind(s[i], (void *)(a + i), sizeof *a));
		socklen_t n = sizeof *a;
		R(getsockname(s[i], (void *)(a + i), &n));
		printf("my pid %d, below -4096 %d\n", a[i].nl_pid == getpid(), (int)a[i].nl_pid < -4096);
	}
	printf("different %d\n", a[1].nl_pid != a[2].nl_pid);
	int other = socket(AF_NETLINK, SOCK_RAW, protocol);
	R(bind(other, (void *)a, sizeof *a));
	R(bind(other, (void *)(a + 1), sizeof *a));
	close(s[0]);
	R(bind(other, (void *)a, sizeof *a));
	name(other);
	close(other), close(s[1]), close(s[2]);
}

int main(void) {
	int protocols[] = {NETLINK_ROUTE, NETLINK_KOBJECT_UEVENT}, one = 1, got;
	addresses(NETLINK_ROUTE);
	addresses(NETLINK_KOBJECT_UEVENT);
	for (int i = 0; i < 2; i++)
		for (int type = SOCK_DGRAM; type <= SOCK_RAW; type++) {
			printf("-- protocol %d, type %d\n", protocols[i], type);
			int s = socket(AF_NETLINK, type | SOCK_NONBLOCK, protocols[i]);
			struct sockaddr_nl a = {.nl_family = AF_NETLINK, .nl_groups = 3};
			name(s);
			R(bind(s, (void *)&a, sizeof a));
			name(s);
			member(s, NETLINK_ADD_MEMBERSHIP, 5);
			member(s, NETLINK_ADD_MEMBERSHIP, 32);
			if (protocols[i] == NETLINK_ROUTE) member(s, NETLINK_ADD_MEMBERSHIP, 33);
			member(s, NETLINK_DROP_MEMBERSHIP, 5);
			member(s, NETLINK_DROP_MEMBERSHIP, 7);
			member(s, NETLINK_ADD_MEMBERSHIP, 0);
			member(s, NETLINK_ADD_MEMBERSHIP, -1);
			a.nl_groups = 4;
			R(bind(s, (void *)&a, sizeof a));
			name(s);
			a.nl_pid = getpid();
			R(bind(s, (void *)&a, sizeof a));
			name(s);
			R(setsockopt(s, SOL_NETLINK, NETLINK_PKTINFO, &one, sizeof one));
			R(setsockopt(s, SOL_NETLINK, NETLINK_NO_ENOBUFS, &one, sizeof one));
			socklen_t n = sizeof got;
			R(getsockopt(s, SOL_NETLINK, NETLINK_PKTINFO, &got, &n));
			printf("%d\n", got);
			R(setsockopt(s, SOL_SOCKET, SO_PASSCRED, &one, sizeof one));
			if (protocols[i] == NETLINK_KOBJECT_UEVENT) { // as libudev does
				struct filter_insn all[] = {{6, 0, 0, -1}}; // ret -1
				struct filter_prog filter = {1, all};
				R(setsockopt(s, SOL_SOCKET, SO_DETACH_FILTER, &one, sizeof one));
				struct filter_insn endless[] = {{0, 0, 0, 1}}; // ld #1
				struct filter_prog bad[] = {{0, all}, {1, 0}, {5000, all}, {1, (void *)8}, {1, endless}};
				for (int k = 0; k < 5; k++) R(setsockopt(s, SOL_SOCKET, SO_ATTACH_FILTER, bad + k, sizeof *bad));
				R(setsockopt(s, SOL_SOCKET, SO_ATTACH_FILTER, &filter, 8));
				R(setsockopt(s, SOL_SOCKET, SO_ATTACH_FILTER, (void *)8, sizeof filter));
				R(setsockopt(s, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter));
				R(setsockopt(s, SOL_SOCKET, SO_DETACH_FILTER, &one, sizeof one));
			}
			struct pollfd p = {s, POLLIN | POLLOUT, 0};
			R(poll(&p, 1, 0));
			printf("events %x\n", p.revents);
			char b[64];
			R(recv(s, b, sizeof b, 0));
			R(send(s, "add@/x", 7, 0));
			R(recv(s, b, sizeof b, 0));
			close(s);
		}
	return 0;
}

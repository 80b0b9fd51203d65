// Routes over the loopback interface, as a netlink socket tells them: RTM_GETROUTE, all or that to an address.
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// From linux/netlink.h and linux/rtnetlink.h, which musl has not.
struct sockaddr_nl { unsigned short family, pad; unsigned pid, groups; };
struct nlmsghdr { unsigned len; unsigned short type, flags; unsigned seq, pid; };
struct rtmsg { unsigned char family, dst_len, src_len, tos, table, protocol, scope, type; unsigned flags; };
struct rtattr { unsigned short len, type; };
enum { NLM_F_REQUEST = 1, NLM_F_DUMP = 0x300, NLMSG_ERROR = 2, NLMSG_DONE = 3, RTM_NEWROUTE = 24, RTM_GETROUTE = 26 };
enum { RTA_DST = 1, RTA_OIF = 4, RTA_GATEWAY = 5, RTA_PRIORITY = 6, RTA_PREFSRC = 7, RTA_TABLE = 15 };

static char buf[65536];

static void show(struct nlmsghdr *h) {
	struct rtmsg *m = (void *)(h + 1);
	struct rtattr *a;
	char line[500], text[64];
	int n = sprintf(line, "family %d, /%d, table %d, protocol %d, scope %d, type %d, flags %x", m->family, m->dst_len, m->table, m->protocol, m->scope,
		m->type, m->flags);
	int lo = 0;
	for (char *p = (char *)(m + 1); p < (char *)h + h->len; p += (a->len + 3) & ~3) {
		a = (void *)p;
		switch (a->type) {
		case RTA_DST:
		case RTA_PREFSRC:
		case RTA_GATEWAY:
			n += sprintf(line + n, ", %d: %s", a->type, inet_ntop(m->family, a + 1, text, sizeof text));
			break;
		case RTA_OIF:
			lo = *(int *)(a + 1) == 1;
			break;
		case RTA_TABLE:
		case RTA_PRIORITY:
			n += sprintf(line + n, ", %d: %d", a->type, *(int *)(a + 1));
		}
	}
	// An address more than ::1 of the host's is none of ours.
	if (lo && (m->family == AF_INET || strstr(line, ": ::1")))
		printf("%s\n", line);
}

static void ask(const char *what, int family, const char *to) {
	struct { struct nlmsghdr h; struct rtmsg m; struct rtattr a; char dst[16]; } q = {{sizeof q.h + sizeof q.m, RTM_GETROUTE, NLM_F_REQUEST, 7}};
	struct sockaddr_nl kernel = {AF_NETLINK};
	int s = socket(AF_NETLINK, SOCK_RAW, 0), more = 1;
	printf("%s\n", what);
	q.m.family = family;
	if (to) {
		int size = family == AF_INET ? 4 : 16;
		inet_pton(family, to, q.dst);
		q.m.dst_len = 8 * size;
		q.a = (struct rtattr){sizeof q.a + size, RTA_DST};
		q.h.len += q.a.len;
	} else
		q.h.flags |= NLM_F_DUMP;
	sendto(s, &q, q.h.len, 0, (void *)&kernel, sizeof kernel);
	while (more) {
		int n = recv(s, buf, sizeof buf, 0);
		for (struct nlmsghdr *h = (void *)buf; (char *)h < buf + n && more; h = (void *)((char *)h + ((h->len + 3) & ~3)))
			switch (h->type) {
			case RTM_NEWROUTE:
				show(h);
				more = !to;
				break;
			case NLMSG_ERROR:
				printf("%s\n", strerror(-*(int *)(h + 1)));
			case NLMSG_DONE:
				more = 0;
			}
	}
	close(s);
}

int main(void) {
	setvbuf(stdout, 0, _IONBF, 0);
	ask("IPv4", AF_INET, 0);
	ask("to 127.0.0.1", AF_INET, "127.0.0.1");
	ask("to 127.1.2.3", AF_INET, "127.1.2.3");
	return 0;
}

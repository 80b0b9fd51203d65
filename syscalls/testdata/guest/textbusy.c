// Programs that run cannot be written to, nor files that are written to be run: files on their way in messages are open, too.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char copy[64];
static int pair[2];

#define R(x) do { errno = 0; long r_ = (long)(x); int e_ = errno; printf("%s: %ld %s\n", #x, r_ < 0 ? r_ : 0, r_ < 0 ? strerror(e_) : ""); fflush(stdout); } while (0)

static void copyTo(const char *name) {
	char b[65536];
	int in = open("/proc/self/exe", O_RDONLY), out = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0700), n;
	while ((n = read(in, b, sizeof b)) > 0)
		write(out, b, n);
	close(in);
	close(out);
}

static int closed(int fd) { return fd < 0 ? fd : close(fd); }

// running is what the copy does.
static void running(void) {
	char fd[64];
	R(closed(open(copy, O_RDWR)));
	R(closed(open(copy, O_WRONLY)));
	R(closed(open(copy, O_WRONLY | O_CREAT, 0600)));
	R(closed(open(copy, O_RDWR | O_CREAT | O_EXCL, 0600)));
	R(closed(open(copy, O_RDONLY | O_TRUNC)));
	R(closed(open(copy, O_WRONLY | O_DIRECTORY)));
	R(closed(open(copy, O_RDONLY)));
	R(closed(open(copy, O_PATH)));
	R(closed(open("/proc/self/exe", O_WRONLY)));
	R(closed(open("/proc/self/exe", O_RDWR | O_NOFOLLOW)));
	R(truncate(copy, 0));
	R(truncate("/proc/self/exe", 0));
	R(access(copy, W_OK));
	sprintf(fd, "/proc/self/fd/%d", open(copy, O_RDONLY));
	R(closed(open(fd, O_RDWR)));
	R(closed(open("t.link", O_RDWR)));
	R(closed(open("t.link", O_RDWR | O_NOFOLLOW)));
	R(closed(open("t.hard", O_RDWR)));
	R(chmod(copy, 0500));
	int child = fork();
	if (child == 0) { // a process that runs it as well
		pause();
		_exit(0);
	}
	R(rename(copy, "t.moved"));
	R(closed(open("t.moved", O_RDWR)));
	copyTo(copy); // another file of that name
	R(closed(open(copy, O_RDWR)));
	R(closed(open("t.moved", O_RDWR)));
	kill(child, SIGKILL);
	wait(0);
}

static void sendOne(int fd) {
	char c[CMSG_SPACE(4)];
	struct iovec v = {"x", 1};
	struct msghdr m = {0};
	m.msg_iov = &v, m.msg_iovlen = 1, m.msg_control = c, m.msg_controllen = sizeof c;
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);
	h->cmsg_level = SOL_SOCKET, h->cmsg_type = SCM_RIGHTS, h->cmsg_len = CMSG_LEN(4);
	memcpy(CMSG_DATA(h), &fd, 4);
	sendmsg(pair[0], &m, 0);
	close(fd);
}

static int receive(void) {
	char b, c[CMSG_SPACE(4)];
	struct iovec v = {&b, 1};
	struct msghdr m = {0};
	int fd;
	m.msg_iov = &v, m.msg_iovlen = 1, m.msg_control = c, m.msg_controllen = sizeof c;
	recvmsg(pair[1], &m, 0);
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), 4);
	return fd;
}

static void run(const char *what) {
	char *none[] = {0};
	int st;
	fflush(stdout);
	if (fork() == 0) {
		execve("t.script", (char *[]){"t.script", 0}, none);
		printf("%s: %s\n", what, strerror(errno));
		fflush(stdout);
		_exit(1);
	}
	wait(&st);
	printf("%s: %x\n", what, st);
}

static void events(int in, const char *what) {
	char b[4096];
	int n = read(in, b, sizeof b);
	printf("%s:", what);
	for (char *p = b; p < b + n; p += sizeof(struct inotify_event) + ((struct inotify_event *)p)->len)
		printf(" %x", ((struct inotify_event *)p)->mask);
	printf("\n");
}

static void alarmed(int sig) {}

static void inFlight(void) {
	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	int f = open("t.script", O_WRONLY | O_CREAT, 0700), in = inotify_init1(IN_NONBLOCK);
	dprintf(f, "#!/proc/self/exe\n");
	run("written");
	sendOne(f);
	run("on its way");
	close(receive());
	unlink("t.script");

	f = open("t.file", O_RDWR | O_CREAT, 0600);
	inotify_add_watch(in, "t.file", IN_ALL_EVENTS);
	sendOne(f);
	unlink("t.file");
	events(in, "on its way");
	close(receive());
	events(in, "closed");
	close(in);

	mkfifo("t.fifo", 0600);
	int r = open("t.fifo", O_RDONLY | O_NONBLOCK), w = open("t.fifo", O_WRONLY);
	sendOne(w);
	close(r);
	struct sigaction a = {0};
	a.sa_handler = alarmed;
	sigaction(SIGALRM, &a, 0);
	alarm(2);
	R(r = open("t.fifo", O_RDONLY));
	alarm(0);
	close(receive());
	close(r);
	unlink("t.fifo");
}

int main(int argc, char **argv) {
	if (argc == 2) {
		strcpy(copy, argv[1]);
		running();
		return 0;
	}
	char *args[] = {"copy", "t.copy", 0}, *none[] = {0};
	copyTo("t.copy");
	symlink("t.copy", "t.link");
	link("t.copy", "t.hard");
	fflush(stdout);
	if (fork() == 0) {
		execve("t.copy", args, none);
		_exit(9);
	}
	int st;
	wait(&st);
	printf("%x\n", st);
	unlink("t.copy");
	unlink("t.link");
	unlink("t.hard");
	unlink("t.moved");
	inFlight();
}

// Calls that wait work with what they began with: open files, iovecs, sets and messages, whatever other threads do to
// descriptors and memory meanwhile.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_t thread;
static volatile int tid;
static long (*body)(void);
static long result;
static int failed;

static void *run(void *arg) {
	tid = syscall(SYS_gettid);
	errno = 0;
	result = body();
	failed = result < 0 ? errno : 0;
	return 0;
}

// begin lets another thread make a call, and waits until it sleeps there.
static void begin(long (*f)(void)) {
	char name[64], text[512];
	body = f;
	tid = 0;
	pthread_create(&thread, 0, run, 0);
	while (!tid)
		usleep(1000);
	snprintf(name, sizeof name, "/proc/self/task/%d/stat", tid);
	for (;;) {
		int fd = open(name, O_RDONLY);
		ssize_t n = read(fd, text, sizeof text - 1);
		close(fd);
		text[n > 0 ? n : 0] = 0;
		char *p = strrchr(text, ')');
		if (p && p[2] == 'S')
			return;
		usleep(1000);
	}
}

static void end(const char *what) {
	pthread_join(thread, 0);
	printf("%s: %ld %s\n", what, result, failed ? strerror(failed) : "");
}

static int p[2], q[2], victim;
static char a[8192], b[16];
static struct iovec iov;

// take makes fd refer to the victim, a file, instead of what it was.
static void take(int fd) { dup2(victim, fd); }

static void intact(void) {
	char text[64] = {0};
	struct stat st;
	pread(victim, text, sizeof text - 1, 0);
	fstat(victim, &st);
	printf("  the file has \"%s\", at %ld\n", text, (long)lseek(victim, 0, SEEK_CUR));
	ftruncate(victim, 0);
	pwrite(victim, "untouched", 9, 0);
	lseek(victim, 0, SEEK_SET);
}

static void small(int fds[2]) {
	pipe(fds);
	fcntl(fds[1], F_SETPIPE_SZ, 4096);
}

static void full(int fds[2]) {
	small(fds);
	memset(a, 'f', 4096);
	write(fds[1], a, 4096);
}

static long doWrite(void) { return write(p[1], "secret", 6); }
static long doWritev(void) { return writev(p[1], &iov, 1); }
static long doRead(void) { return read(p[0], b, 4); }
static long doReadv(void) { return readv(p[0], &iov, 1); }
static long doRecv(void) { return recv(p[0], b, 4, 0); }

static void pipes(void) {
	full(p);
	int keep = dup(p[1]);
	begin(doWrite);
	take(p[1]);
	read(p[0], a, 4096);
	end("write to a pipe");
	intact();
	close(p[1]), close(keep), close(p[0]);

	small(p);
	begin(doRead);
	take(p[0]);
	printf("write to who reads: %zd\n", write(p[1], "abc", 3));
	end("read from a pipe");
	printf("  %.4s\n", b);
	intact();
	close(p[0]), close(p[1]);

	small(p);
	begin(doRead);
	close(p[0]);
	close(p[1]);
	end("read from a pipe that was closed");

	small(p);
	iov = (struct iovec){b, 4};
	begin(doReadv);
	iov = (struct iovec){a, 1};
	memset(b, 0, 8);
	write(p[1], "xyz", 3);
	end("readv");
	printf("  %s\n", b);
	close(p[0]), close(p[1]);

	full(p);
	iov = (struct iovec){"right", 5};
	begin(doWritev);
	iov = (struct iovec){"wrong", 5};
	read(p[0], a, 4096);
	end("writev");
	read(p[0], a, 5);
	printf("  %.5s\n", a);
	close(p[0]), close(p[1]);

	// A long write, of which a part is done.
	small(p);
	memset(a, 'l', 8192);
	iov = (struct iovec){a, 8192};
	begin(doWritev);
	take(p[1]);
	char c[8192];
	size_t n = 0;
	ssize_t got;
	while ((got = read(p[0], c, sizeof c)) > 0)
		n += got;
	end("a long write");
	printf("  %zu read\n", n);
	intact();
	close(p[0]), close(p[1]);
}

static long doFIFO(void) { return open("fifo", O_WRONLY); }

static void fifos(void) {
	mkfifo("fifo", 0600);
	begin(doFIFO);
	rename("fifo", "moved");
	int in = open("moved", O_RDONLY | O_NONBLOCK);
	pthread_join(thread, 0);
	printf("open of a FIFO: %s\n", result >= 0 ? "ok" : strerror(failed));
	p[0] = in;
	fcntl(in, F_SETFL, 0);
	begin(doRead);
	take(in);
	int out = open("moved", O_RDWR);
	write(out, "fifo", 4);
	end("read from a FIFO");
	printf("  %.4s\n", b);
	intact();
	close(in), close(out);
	unlink("moved");
}

static long doSendmsg(void) {
	char control[CMSG_SPACE(sizeof(int))] = {0};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	c->cmsg_level = SOL_SOCKET, c->cmsg_type = SCM_RIGHTS, c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &q[1], sizeof(int));
	return sendmsg(p[1], &m, 0);
}

static int listener;
static struct sockaddr_un name = {AF_UNIX, "sock"};
static long doAccept(void) {
	int fd = accept(listener, 0, 0);
	close(fd);
	return fd >= 0;
}
static long doConnect(void) { return connect(p[0], (void *)&name, sizeof name); }

static void sockets(void) {
	signal(SIGPIPE, SIG_IGN);
	socketpair(AF_UNIX, SOCK_STREAM, 0, p);
	begin(doRecv);
	take(p[0]);
	printf("send to who receives: %zd\n", send(p[1], "net", 3, 0));
	end("recv");
	printf("  %.3s\n", b);
	intact();
	close(p[0]), close(p[1]);

	socketpair(AF_UNIX, SOCK_DGRAM, 0, p);
	while (send(p[1], "d", 1, MSG_DONTWAIT) == 1)
		;
	small(q);
	char text[] = "right";
	iov = (struct iovec){text, 5};
	begin(doSendmsg);
	take(p[1]);
	close(q[1]); // it is on its way: q has a writer still
	fcntl(q[0], F_SETFL, O_NONBLOCK);
	printf("read: %zd %s\n", read(q[0], a, 1), strerror(errno));
	int n = 0;
	while (recv(p[0], a, 8, MSG_DONTWAIT) == 1 || n == 0)
		n = 1;
	end("sendmsg");
	intact();
	close(p[0]), close(p[1]), close(q[0]);

	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	bind(listener, (void *)&name, sizeof name);
	listen(listener, 0);
	int old = listener, lowest = dup(0);
	close(lowest);
	begin(doAccept);
	int above = dup(0);
	printf("the descriptor is reserved: %d\n", above == lowest + 1);
	int e = syscall(SYS_dup2, 0, lowest); // musl's dup2 tries again
	printf("%d %s\n", e, strerror(errno));
	e = close(lowest);
	printf("%d %s\n", e, strerror(errno));
	close(above);
	int c = socket(AF_UNIX, SOCK_STREAM, 0);
	int keep = dup(old);
	take(old);
	printf("connect: %d\n", connect(c, (void *)&name, sizeof name));
	end("accept");
	intact();
	listener = keep;
	for (;;) { // until nobody else can connect
		p[0] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
		if (connect(p[0], (void *)&name, sizeof name) != 0)
			break;
	}
	fcntl(p[0], F_SETFL, 0);
	int other = dup(p[0]);
	begin(doConnect);
	take(p[0]);
	close(accept(listener, 0, 0));
	end("connect");
	printf("  %zd\n", write(other, "x", 1));
	close(listener), close(c), close(old), close(other), close(p[0]);
	unlink("sock");
}

static struct pollfd polled;
static fd_set set;
static int ep;
static struct epoll_event event;
static long doPoll(void) { return poll(&polled, 1, -1); }
static long doSelect(void) { return select(p[0] + 1, &set, 0, 0, 0); }
static long doEpoll(void) { return epoll_wait(ep, &event, 1, -1); }

static void polls(void) {
	small(p);
	int keep = dup(p[0]);
	polled = (struct pollfd){p[0], POLLIN};
	begin(doPoll);
	close(p[0]);
	write(p[1], "x", 1);
	end("poll of what was closed");
	printf("  %#x\n", polled.revents);
	dup2(keep, p[0]);
	read(keep, b, 1);

	polled = (struct pollfd){p[0], POLLIN};
	begin(doPoll);
	polled = (struct pollfd){77, POLLOUT, 0};
	write(p[1], "x", 1);
	end("poll with other arguments");
	printf("  fd %d events %#x revents %#x\n", polled.fd, polled.events, polled.revents);
	read(keep, b, 1);

	FD_ZERO(&set);
	FD_SET(p[0], &set);
	begin(doSelect);
	FD_ZERO(&set);
	write(p[1], "x", 1);
	end("select");
	printf("  %d\n", FD_ISSET(p[0], &set) != 0);
	read(keep, b, 1);

	ep = epoll_create1(0);
	event = (struct epoll_event){.events = EPOLLIN, .data.u32 = 5};
	epoll_ctl(ep, EPOLL_CTL_ADD, p[0], &event);
	begin(doEpoll);
	take(ep);
	write(p[1], "x", 1);
	end("epoll_wait");
	printf("  %u\n", event.data.u32);
	intact();
	close(ep), close(keep), close(p[0]), close(p[1]);
}

static long doSplice(void) { return splice(p[0], 0, q[1], 0, 4, 0); }
static long doTee(void) { return tee(p[0], q[1], 4, 0); }
static loff_t offset;
static int source;
static long doSendfile(void) { return sendfile(p[1], source, &offset, 5); }

static void splices(void) {
	small(p), small(q);
	for (int i = 0; i < 2; i++) {
		begin(i ? doTee : doSplice);
		int in = dup(p[0]), out = dup(q[1]);
		take(p[0]), take(q[1]);
		write(p[1], "pipe", 4);
		end(i ? "tee" : "splice");
		memset(b, 0, 8);
		read(q[0], b, 4);
		printf("  %s\n", b);
		intact();
		dup2(in, p[0]), dup2(out, q[1]), close(in), close(out);
	}
	close(p[0]), close(p[1]), close(q[0]), close(q[1]);

	full(p);
	source = open("source", O_CREAT | O_RDWR, 0600);
	write(source, "0123456789", 10);
	offset = 2;
	begin(doSendfile);
	take(source), take(p[1]);
	offset = 7;
	read(p[0], a, 4096);
	end("sendfile");
	memset(b, 0, 8);
	read(p[0], b, 5);
	printf("  %s, offset %ld\n", b, (long)offset);
	intact();
	close(source), close(p[0]), close(p[1]);
	unlink("source");
}

static long doEvent(void) {
	uint64_t n = 0;
	return read(p[0], &n, 8) == 8 ? n : -1;
}

static long doPty(void) { return read(p[0], b, 4); }

static void others(void) {
	p[0] = eventfd(0, 0);
	int keep = dup(p[0]);
	begin(doEvent);
	take(p[0]);
	uint64_t n = 7;
	write(keep, &n, 8);
	end("read from an eventfd");
	intact();
	close(keep), close(p[0]);

	int m = posix_openpt(O_RDWR | O_NOCTTY);
	grantpt(m), unlockpt(m);
	p[0] = open(ptsname(m), O_RDWR | O_NOCTTY);
	keep = dup(p[0]);
	begin(doPty);
	take(p[0]);
	write(m, "tty\n", 4);
	end("read from a terminal");
	printf("  %.3s\n", b);
	intact();
	close(keep), close(p[0]), close(m);
}

static int lock;
static long doFlock(void) { return flock(lock, LOCK_EX); }
static long doRecord(void) {
	struct flock l = {.l_type = F_WRLCK};
	return fcntl(lock, F_SETLKW, &l);
}

static void locks(void) {
	int one = open("lock", O_CREAT | O_RDWR, 0600);
	lock = open("lock", O_RDWR);
	flock(one, LOCK_EX);
	begin(doFlock);
	int keep = dup(lock);
	take(lock);
	flock(one, LOCK_UN);
	end("flock");
	printf("  %d %s\n", flock(one, LOCK_EX | LOCK_NB), strerror(errno));
	close(keep);
	printf("  %d\n", flock(one, LOCK_EX | LOCK_NB));
	flock(one, LOCK_UN);

	dup2(one, lock);
	int go[2], ready[2];
	char c;
	pipe(go), pipe(ready);
	pid_t child = fork();
	if (child == 0) {
		struct flock l = {.l_type = F_WRLCK};
		fcntl(one, F_SETLK, &l);
		write(ready[1], "x", 1);
		read(go[0], &c, 1);
		_exit(0);
	}
	read(ready[0], &c, 1);
	begin(doRecord);
	close(lock);
	write(go[1], "x", 1);
	waitpid(child, 0, 0);
	end("a record of a file that was closed");
	struct flock l = {.l_type = F_WRLCK};
	if (fork() == 0)
		_exit(fcntl(one, F_SETLK, &l) != 0);
	int status;
	wait(&status);
	printf("  is it free? %d\n", WEXITSTATUS(status) == 0);
	close(one), close(go[0]), close(go[1]), close(ready[0]), close(ready[1]);
	unlink("lock");
}

static int id;
static struct sembuf op;
static struct {
	long type;
	char text[8];
} message;
static long doSemop(void) { return semop(id, &op, 1); }
static long doMsgsnd(void) { return msgsnd(id, &message, 8, 0); }

static void sysv(void) {
	id = semget(IPC_PRIVATE, 2, 0600);
	int set = id;
	op = (struct sembuf){0, -1};
	begin(doSemop);
	op = (struct sembuf){1, -1};
	id = -1;
	struct sembuf up = {0, 1};
	semop(set, &up, 1);
	end("semop");
	id = set;
	op = (struct sembuf){0, -1};
	begin(doSemop);
	semctl(set, 0, IPC_RMID);
	end("semop on what is removed");

	id = msgget(IPC_PRIVATE, 0600);
	message.type = 1;
	while (msgsnd(id, &message, 8, IPC_NOWAIT) == 0)
		;
	memcpy(message.text, "right", 6);
	begin(doMsgsnd);
	memcpy(message.text, "wrong", 6);
	message.type = 2;
	do
		msgrcv(id, &message, 8, 0, 0);
	while (memcmp(message.text, "right", 6) != 0 && memcmp(message.text, "wrong", 6) != 0);
	end("msgsnd");
	printf("  %s of type %ld\n", message.text, message.type);
	msgctl(id, IPC_RMID, 0);
}

int main(void) {
	char dir[] = "/tmp/held.XXXXXX";
	setvbuf(stdout, 0, _IOLBF, 0);
	if (!mkdtemp(dir) || chdir(dir) != 0)
		return 1;
	victim = open("victim", O_CREAT | O_RDWR, 0600);
	write(victim, "untouched", 9);
	lseek(victim, 0, SEEK_SET);
	pipes();
	fifos();
	sockets();
	polls();
	splices();
	others();
	locks();
	sysv();
	struct rlimit none = {3, 3};
	setrlimit(RLIMIT_NOFILE, &none);
	int fd = open("new", O_CREAT | O_RDWR, 0600);
	printf("%d %s\n", fd, strerror(errno));
	printf("%d\n", access("new", F_OK));
	unlink("victim");
	rmdir(dir);
	return 0;
}

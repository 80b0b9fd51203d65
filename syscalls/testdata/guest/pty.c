// Pseudoterminals: line discipline, sessions, job control, hang-up.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define R(x) do { errno = 0; long r_ = (long)(x); int e_ = errno; printf("%-60s %ld %s\n", #x, r_, r_ == -1 ? strerror(e_) : ""); } while (0)

static int m, s;
static struct termios tio;

static void show(const char *what, const char *b, int n) {
	printf("%s %d:", what, n);
	for (int i = 0; i < n; i++) printf(b[i] >= ' ' && b[i] < 127 ? "%c" : "\\%o", (unsigned char)b[i]);
	printf("%s\n", n < 0 ? strerror(errno) : "");
}

// What is shown arrives a little later natively.
static int ready(int fd, int events, int ms) {
	struct pollfd p = {fd, events, 0};
	poll(&p, 1, ms);
	return p.revents;
}

static void fetch(const char *what) {
	char b[400];
	int n = 0, r;
	while (n < 300 && ready(m, POLLIN, n ? 40 : 200) & POLLIN && (r = read(m, b + n, sizeof b - n)) > 0) n += r;
	show(what, b, n);
}

static void get(int n) {
	char b[400];
	errno = 0;
	show("  read", b, read(s, b, n));
}

static void type(const char *keys, int n) {
	write(m, keys, n);
	fetch("  echo");
}

#define T(keys) type(keys, sizeof keys - 1)

static void mode(int in, int out, int local, int min, int time) {
	struct termios t = tio;
	t.c_iflag = in;
	t.c_oflag = out;
	t.c_lflag = local;
	t.c_cc[VMIN] = min;
	t.c_cc[VTIME] = time;
	tcsetattr(s, TCSANOW, &t);
}

static void lines(void) {
	int n;
	printf("canonical\n");
	T("hello\r");
	ioctl(s, FIONREAD, &n);
	printf("FIONREAD %d, poll %x\n", n, ready(s, POLLIN | POLLOUT, 1000));
	get(3), get(100);
	T("abc\177d\n"), get(100);
	T("one two\027x\n"), get(100);
	T("a\tb\177\177c\n"), get(100);
	T("kill\025yes\n"), get(100);
	T("\026\003\001\n"), get(100);
	T("\177\177x\n"), get(100);
	T("part\004"), get(100);
	T("full\004"), get(4);
	T("\004"), get(100);
	T("x\022y\n"), get(100);
	T("one\ntwo\n"), get(100), get(100);
	R(fcntl(s, F_SETFL, O_NONBLOCK));
	T("wait"), get(10);
	R(fcntl(s, F_SETFL, 0));
	T("\n"), get(10);
	write(s, "out\nput\r\tx", 10), fetch("shown");
	mode(tio.c_iflag | INLCR | IGNCR, OPOST | OCRNL | ONOCR | TAB3, tio.c_lflag & ~ECHO | ECHONL, 1, 0);
	T("a\rb\n");
	mode(tio.c_iflag, tio.c_oflag, tio.c_lflag & ~ECHO, 1, 0);
	T("\n"), get(10);
	mode(tio.c_iflag, OPOST | OCRNL | ONOCR | TAB3, tio.c_lflag & ~ECHO, 1, 0);
	write(s, "\ra\tb\rc\n", 7), fetch("shown");
	mode(tio.c_iflag, tio.c_oflag, tio.c_lflag & ~(ECHOE | ECHOKE | ECHOCTL), 1, 0);
	T("ab\177c\001\n"), get(10);
	T("ab\025c\n"), get(10);
	mode(tio.c_iflag | IUTF8, tio.c_oflag, tio.c_lflag, 1, 0);
	T("\303\244\303\266\177x\n"), get(10);
	mode(tio.c_iflag | ISTRIP, tio.c_oflag, tio.c_lflag, 1, 0);
	T("\341b\n"), get(10);
}

static void raw(void) {
	int n;
	printf("raw\n");
	mode(0, 0, 0, 1, 0);
	T("a\003\004\r\n");
	ioctl(s, FIONREAD, &n);
	printf("FIONREAD %d\n", n);
	get(2), get(100);
	write(s, "x\n", 2), fetch("shown");
	mode(0, 0, 0, 0, 0);
	get(10);
	mode(0, 0, 0, 0, 1);
	get(10);
	T("q"), get(10);
	mode(0, 0, 0, 3, 1);
	T("ab"), get(10);
	T("abcd"), get(10);
	mode(0, 0, 0, 3, 0);
	T("ab");
	printf("poll %x\n", ready(s, POLLIN | POLLOUT, 50));
	T("c");
	printf("poll %x\n", ready(s, POLLIN | POLLOUT, 50));
	get(2), get(1);
	mode(0, 0, ECHO, 1, 0);
	T("\001\n\t"), get(10);
	T("line\n");
	mode(tio.c_iflag, tio.c_oflag, tio.c_lflag, 1, 0);
	get(10);
	T("lost\n");
	tcflush(s, TCIFLUSH);
	T("kept\n"), get(10);
	R(ioctl(s, TCFLSH, 3));
	R(ioctl(s, TCXONC, 4));
	tcflow(s, TCOOFF);
	printf("stopped %x\n", ready(s, POLLOUT, 0));
	tcflow(s, TCOON);
	write(s, "go", 2), fetch("shown");
}

static void names(void) {
	struct stat st;
	struct winsize w = {0}, big = {10, 20, 0, 0};
	int n = 7;
	R(ioctl(m, TIOCGPTN, &n));
	R(strcmp(ptsname(m), ttyname(s)));
	R(isatty(m));
	R(fstat(s, &st));
	printf("mode %o major %d\n", st.st_mode & ~022, (int)(st.st_rdev >> 8));
	R(fstat(m, &st));
	printf("mode %o rdev %x\n", st.st_mode, (int)st.st_rdev);
	R(ioctl(s, TIOCGWINSZ, &w));
	R(w.ws_row);
	R(ioctl(m, TIOCSWINSZ, &big));
	R(ioctl(s, TIOCGWINSZ, &w));
	printf("%d %d\n", w.ws_row, w.ws_col);
	R(ioctl(s, TIOCGPTN, &n));
	R(ioctl(s, TIOCGPGRP, &n));
	R(ioctl(s, TIOCGSID, &n));
	R(ioctl(m, TIOCGSID, &n));
	R(tcsetpgrp(s, getpgrp()));
	R(ioctl(s, TIOCNOTTY));
	R(lseek(s, 0, SEEK_CUR));
	R(pread(s, &n, 1, 0));
	R(ftruncate(s, 0));
	R(ioctl(s, 0x1234, 0));
	printf("%x %x %x %x\n", tio.c_iflag, tio.c_oflag, tio.c_cflag, tio.c_lflag);
	for (int i = 0; i < 17; i++) printf("%o ", tio.c_cc[i]);
	printf("\n");
}

static volatile int got[65];
static void handler(int sig) { got[sig]++; }

static void catch(int sig) {
	struct sigaction a = {.sa_handler = handler};
	sigaction(sig, &a, 0);
}

// The leader of a session on the terminal: what it prints it writes to out.
static void leader(int out) {
	int st, pid, fd;
	char b[100];
	struct winsize w = {30, 40, 0, 0};
	dup2(out, 1);
	close(m);
	R(open("/dev/tty", O_RDWR));
	R(ioctl(s, TIOCSCTTY, 0));
	R(setsid() == getpid());
	R(open("/dev/tty", O_RDWR));
	R(ioctl(s, TIOCSCTTY, 0));
	R(ioctl(s, TIOCSCTTY, 0));
	R(tcgetpgrp(s) == getpid());
	R(tcgetsid(s) == getpid());
	fd = open("/dev/tty", O_RDWR);
	R(isatty(fd));
	R(tcgetpgrp(fd) == getpid());
	R(tcsetpgrp(s, 0x7ffffff));
	R(tcsetpgrp(s, -5));
	catch(SIGWINCH);
	R(ioctl(s, TIOCSWINSZ, &w));
	R(ioctl(s, TIOCSWINSZ, &w));
	R(got[SIGWINCH]);
	// Another group reads, writes and changes the terminal from the background.
	signal(SIGTTOU, SIG_IGN);
	if (!(pid = fork())) {
		struct termios t;
		setpgid(0, 0);
		catch(SIGTTIN);
		signal(SIGTTOU, SIG_DFL);
		R(read(fd, b, 100));
		R(got[SIGTTIN]);
		R(write(fd, "w", 1));
		tcgetattr(fd, &t);
		t.c_lflag |= TOSTOP;
		R(tcsetattr(fd, TCSANOW, &t));
		raise(SIGSTOP);
		catch(SIGTTOU);
		R(write(fd, "w", 1));
		R(got[SIGTTOU]);
		signal(SIGTTIN, SIG_IGN);
		R(read(fd, b, 100));
		signal(SIGTTOU, SIG_IGN);
		R(write(fd, "w", 1));
		R(tcsetpgrp(fd, getpgrp()));
		R(tcgetpgrp(fd) == getpgrp());
		_exit(0);
	}
	setpgid(pid, pid);
	for (int i = 0; waitpid(pid, &st, WUNTRACED) == pid && WIFSTOPPED(st); i++) {
		printf("stopped by %d\n", WSTOPSIG(st));
		R(tcsetpgrp(fd, i ? getpgrp() : pid));
		kill(-pid, SIGCONT);
	}
	printf("exited %d\n", WEXITSTATUS(st));
	R(tcsetpgrp(fd, getpgrp()));
	// An orphaned group gets an error instead of a signal.
	int p[2], go[2];
	pipe(p), pipe(go);
	if (!(pid = fork())) {
		if (fork()) _exit(0);
		setpgid(0, 0);
		close(go[1]);
		read(go[0], b, 1);
		signal(SIGTTIN, SIG_DFL), signal(SIGTTOU, SIG_DFL);
		R(read(fd, b, 100));
		R(tcsetpgrp(fd, getpgrp()));
		raise(SIGTSTP);
		_exit(0);
	}
	waitpid(pid, &st, 0);
	close(p[1]), close(go[1]);
	while (read(p[0], b, 1) > 0) {}
	// Typed signals.
	catch(SIGINT), catch(SIGQUIT);
	write(out, "@", 1);
	while (!got[SIGINT] || !got[SIGQUIT]) usleep(1000);
	R(got[SIGINT]);
	R(got[SIGQUIT]);
	catch(SIGHUP), catch(SIGCONT);
	R(ioctl(fd, TIOCNOTTY));
	R(open("/dev/tty", O_RDWR));
	R(got[SIGHUP]);
	R(got[SIGCONT]);
	R(ioctl(fd, TIOCGPGRP, &st));
	// The master goes.
	R(ioctl(s, TIOCSCTTY, 0));
	if (!(pid = fork())) {
		signal(SIGHUP, SIG_DFL);
		pause();
	}
	write(out, "@", 1);
	while (got[SIGHUP] < 2) usleep(1000);
	R(got[SIGHUP]);
	R(read(s, b, 100));
	R(write(s, "x", 1));
	R(ioctl(s, TIOCGWINSZ, &w));
	R(ioctl(s, TIOCSPGRP, &st));
	R(ready(s, POLLIN | POLLOUT, 0));
	R(open("/dev/tty", O_RDWR));
	kill(pid, SIGKILL);
	_exit(0);
}

static void session(void) {
	int p[2], st, pid;
	char b[2000];
	printf("session\n");
	pipe(p);
	tcsetattr(s, TCSANOW, &tio);
	if (!(pid = fork())) {
		close(p[0]);
		leader(p[1]);
	}
	close(p[1]);
	close(s);
	int n = 0, r, at = 0, marks = 0;
	while ((r = read(p[0], b + n, 1)) > 0) {
		if (b[n] != '@') {
			if (b[n++] == '\n' || n == sizeof b) fwrite(b, 1, n, stdout), n = 0;
			continue;
		}
		fwrite(b, 1, n, stdout), n = 0;
		fetch("shown");
		if (marks++ == 0) T("ab"), T("\003"), T("\034");
		else close(m);
	}
	waitpid(pid, &st, 0);
	printf("leader %x\n", st);
}

// termio is what terminals had in System V.
static void termio(int m, int s) {
	struct {
		unsigned short i, o, c, l;
		unsigned char line, cc[9];
	} t;
	R(ioctl(s, TCGETA, &t));
	printf("%x %x %x %x %d", t.i, t.o, t.c, t.l, t.line);
	for (int i = 0; i < 8; i++) printf(" %d", t.cc[i]);
	puts("");
	t.cc[2] = 99, t.l &= ~8;
	R(ioctl(s, TCSETA, &t));
	R(ioctl(s, TCSETAW, &t));
	R(ioctl(s, TCSETAF, &t));
	struct termios now;
	R(tcgetattr(m, &now));
	printf("%x %x %x %x %d\n", now.c_iflag, now.c_oflag, now.c_cflag, now.c_lflag, now.c_cc[2]);
	tcsetattr(s, TCSANOW, &tio);
	R(ioctl(s, TCGETA, 0));
}

int main(void) {
	int n = 0, pid, st;
	setvbuf(stdout, 0, _IOLBF, 0);
	signal(SIGALRM, SIG_DFL);
	alarm(30);
	R((m = posix_openpt(O_RDWR | O_NOCTTY)) >= 0);
	R(ioctl(m, TIOCGPTLCK, &n));
	R(n);
	R(open(ptsname(m), O_RDWR | O_NOCTTY));
	R(ioctl(m, TIOCGPTPEER, O_RDWR | O_NOCTTY));
	R(ready(m, POLLIN | POLLOUT, 0));
	R(grantpt(m));
	R(unlockpt(m));
	R((s = ioctl(m, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC)) >= 0);
	R(fcntl(s, F_GETFD));
	R(fcntl(s, F_GETFL) & O_ACCMODE);
	tcgetattr(s, &tio);
	names();
	termio(m, s);
	lines();
	raw();
	tcsetattr(s, TCSANOW, &tio);
	// The last slave goes, and comes again.
	write(s, "last", 4);
	close(s);
	R(ready(m, POLLIN | POLLHUP, 1000) & POLLHUP);
	fetch("shown");
	char b[10];
	R(read(m, b, 10));
	R((s = open(ptsname(m), O_RDWR | O_NOCTTY)) >= 0);
	R(ready(m, POLLIN, 0));
	// A session that ends with its leader: those in the foreground are told.
	if (!(pid = fork())) {
		int p[2];
		pipe(p);
		setsid();
		ioctl(s, TIOCSCTTY, 0);
		if (!fork()) {
			signal(SIGHUP, SIG_IGN);
			write(p[1], "x", 1);
			while (getppid() != 1 && tcgetpgrp(s) > 0) usleep(1000);
			_exit(0);
		}
		read(p[0], b, 1);
		_exit(7);
	}
	waitpid(pid, &st, 0);
	R(WEXITSTATUS(st));
	T("still\n"), get(10);
	session();
	R(open("/dev/pts/none", O_RDWR));
	R(access("/dev/ptmx", R_OK | W_OK));
	return 0;
}

// The `#!` line of scripts: what of it is the interpreter and its argument, and how long it may be.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

// run executes a script of n bytes.
static void run(const char *what, const char *text, int n) {
	char *args[] = {"s.script", "arg", 0}, *none[] = {0};
	int f = open("s.script", O_WRONLY | O_CREAT | O_TRUNC, 0700), st;
	write(f, text, n);
	close(f);
	fflush(stdout);
	if (fork() == 0) {
		execve("./s.script", args, none);
		printf("%s: %s\n", what, strerror(errno));
		fflush(stdout);
		_exit(1);
	}
	wait(&st);
	printf("%s: %x\n", what, st);
	unlink("s.script");
}

static void line(const char *text) { run(text, text, strlen(text)); }

// A filled line begins and ends as it says and has as many of fill between that it has a size.
static const struct { const char *what, *begin; char fill; const char *end; } filled[] = {
	{"argument", "#!s.me ", 'x', "\n"},
	{"open argument", "#!s.me ", 'x', ""},
	{"blanks", "#!s.me", ' ', ""},
	{"blanks and a line", "#!s.me", ' ', "\n"},
	{"blanks and an argument", "#!s.me", ' ', "x\n"},
	{"blanks in front", "#!", ' ', "s.me\n"},
	{"blanks in front, and behind", "#!", ' ', "s.me "},
	{"blanks only", "#!", ' ', "\n"},
	{"name", "#!././", '/', "s.me\n"},
	{"open name", "#!././", '/', "s.me"},
	{"name and zeros", "#!s.me", 0, "x\n"},
};

static void sized(int kind, int n) {
	const char *begin = filled[kind].begin, *end = filled[kind].end;
	char what[100], b[1000];
	sprintf(what, "%s %d", filled[kind].what, n);
	memset(b, filled[kind].fill, sizeof b);
	memcpy(b, begin, strlen(begin));
	memcpy(b + n - strlen(end), end, strlen(end));
	run(what, b, n);
}

int main(int argc, char **argv) {
	char self[300];
	if (argc > 1) {
		for (int i = 1; i < argc; i++)
			printf("%d %zu [%s]\n", i, strlen(argv[i]), argv[i]);
		return 0;
	}
	int n = readlink("/proc/self/exe", self, 200);
	self[n] = 0;
	unlink("s.me");
	symlink(self, "s.me");
	line("#!s.me\n");
	line("#!s.me");
	line("#!s.me ");
	line("#!s.me \n");
	line("#! \t s.me \t a  b\t \n");
	line("#!s.me a");
	line("#!s.me a ");
	line("#!");
	line("#!\n");
	line("#! ");
	line("#! \n");
	line("#! \t \ns.me\n");
	line("#!s.none\n");
	run("zero behind a blank", "#!s.me \0x\n", 10);
	run("zero", "#!s.me\0x\n", 9);
	run("zero in front", "#!\0s.me\n", 8);
	run("zero in the argument", "#!s.me a\0b\n", 11);
	run("zero behind zero", "#!s.me a\0\0", 10);
	run("blanks and zero", "#! \0", 4);
	for (int size = 253; size < 260; size++)
		for (int kind = 0; kind < sizeof filled / sizeof *filled; kind++)
			sized(kind, size);
	unlink("s.me");
}

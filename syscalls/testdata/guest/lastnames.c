// The last name of a path that is made, moved or removed: a link is not followed, even with a slash behind it, and ".", ".." and "/" are no names.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { noReplace = 1, exchange = 2 };

static const char *const names[] = {"d/in", "d/x", "e/in", "q/in", "nothing/in", "d", "e", "f", "ld", "lf", "dl", "le", "loop", "q", "nothing", "nx", "x"};

static void clear(void) {
	for (int i = 0; i < sizeof names / sizeof *names; i++)
		if (unlink(names[i]) < 0)
			rmdir(names[i]);
}

static void setUp(void) {
	clear();
	mkdir("d", 0700);
	mkdir("e", 0700);
	close(creat("f", 0600));
	close(creat("d/in", 0600));
	symlink("d", "ld");
	symlink("e", "le");
	symlink("f", "lf");
	symlink("nothing", "dl");
	symlink("loop", "loop");
}

static void show(void) {
	struct stat st;
	for (int i = 0; i < sizeof names / sizeof *names; i++)
		if (lstat(names[i], &st) == 0)
			printf(" %s:%o", names[i], st.st_mode >> 12);
	printf("\n");
}

static int rename2(const char *from, const char *to, int flags) { return syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, flags); }

static int node(const char *name) { return mknod(name, S_IFREG | 0600, 0); }

#define P(x) do { setUp(); errno = 0; int r_ = (x), e_ = errno; printf("%s: %d %s |", #x, r_, r_ < 0 ? strerror(e_) : ""); show(); } while (0)

static void removing(void) {
	P(rmdir("le/"));
	P(rmdir("ld/"));
	P(rmdir("lf/"));
	P(rmdir("dl/"));
	P(rmdir("loop/"));
	P(rmdir("f/"));
	P(rmdir("nx/"));
	P(rmdir("e//"));
	P(rmdir("le/."));
	P(rmdir("e/."));
	P(rmdir("e/./"));
	P(rmdir("d/.."));
	P(rmdir("nx/."));
	P(rmdir("nx/.."));
	P(rmdir("f/.."));
	P(rmdir("."));
	P(rmdir(".."));
	P(rmdir("../"));
	P(rmdir("/"));
	P(rmdir("//"));
	P(unlink("le/"));
	P(unlink("lf/"));
	P(unlink("dl/"));
	P(unlink("loop/"));
	P(unlink("d/"));
	P(unlink("f/"));
	P(unlink("nx/"));
	P(unlink("."));
	P(unlink("d/.."));
	P(unlink("nx/.."));
	P(unlink("/"));
	P(rmdir("ld/../le/"));
	P(unlink("ld/in"));
	P(unlink("ld/in/"));
}

static void making(void) {
	static const char *const made[] = {"dl/", "dl", "le/", "lf/", "f/", "loop/", "nx/", "q//", "d/.", "le/.", "d/..", "nx/.", "nx/..", "f/.", "/", "..", "ld/x/"};
	for (int i = 0; i < sizeof made / sizeof *made; i++) {
		printf("%s\n", made[i]);
		P(mkdir(made[i], 0700));
		P(node(made[i]));
		P(symlink("x", made[i]));
		P(link("f", made[i]));
	}
	P(link("f/", "q"));
	P(link("lf/", "q"));
	P(link("ld/", "q"));
	P(link("d", "q"));
	P(link("nx/", "f"));
	P(linkat(AT_FDCWD, "dl", AT_FDCWD, "q", AT_SYMLINK_FOLLOW));
	P(linkat(AT_FDCWD, "lf", AT_FDCWD, "q", AT_SYMLINK_FOLLOW));
	P(linkat(AT_FDCWD, "lf", AT_FDCWD, "q", 0));
}

static void moving(void) {
	static const char *const moved[] = {"le/", "f", "f/", "e/", "dl/", "nx/", "d/..", "nx/..", "/"};
	static const char *const to[] = {"q", "q/", "e/", "le/", "lf/", "dl", "dl/", "d/..", "nx/..", "/"};
	for (int i = 0; i < sizeof moved / sizeof *moved; i++)
		for (int j = 0; j < sizeof to / sizeof *to; j++) {
			printf("%s to %s\n", moved[i], to[j]);
			P(rename2(moved[i], to[j], 0));
			P(rename2(moved[i], to[j], noReplace));
		}
	P(rename2("f", "le/", exchange));
	P(rename2("f", "e/", exchange));
	P(rename2("f/", "e", exchange));
	P(rename2("e", "f/", exchange));
	P(rename2("le", "e/", exchange));
	P(rename2("le/", "e", exchange));
	P(rename2("f", "nx/", exchange));
	P(rename2("e", "d/..", exchange));
	P(rename("d", "d/x"));
	P(rename("d", "d/x/"));
	P(rename("d/in", "d"));
	P(rename("d/in", "d/"));
	P(rename("d", "e/"));
}

// opening follows links in front of a slash: these do not take a name as those above do.
static void opening(void) {
	struct stat st;
	char b[9];
	P(open("dl/", O_CREAT | O_RDWR, 0600));
	P(open("le/", O_CREAT | O_RDWR, 0600));
	P(open("dl", O_CREAT | O_EXCL | O_RDWR, 0600));
	P(open("loop/", O_RDONLY));
	P(open("lf/", O_RDONLY));
	P(close(open("le/", O_RDONLY | O_NOFOLLOW)));
	P(open("le", O_RDONLY | O_NOFOLLOW | O_DIRECTORY));
	P(readlink("le/", b, sizeof b));
	P(readlink("dl/", b, sizeof b));
	P(readlink("lf/", b, sizeof b));
	P(lstat("le/", &st) ? -1 : st.st_mode >> 12);
	P(lstat("lf/", &st));
	P(lstat("dl/", &st));
	P(truncate("lf/", 0));
	P(chmod("lf/", 0600));
	P(access("le/.", 0));
	P(fchownat(AT_FDCWD, "dl/", -1, -1, AT_SYMLINK_NOFOLLOW));
	P(utimensat(AT_FDCWD, "dl/", 0, AT_SYMLINK_NOFOLLOW));
}

// ours takes links of /proc with a slash behind them, which lead here.
static void ours(void) {
	P(rmdir("/proc/self/cwd/") < 0);
	P(rmdir("/proc/self/cwd/le/"));
	P(rmdir("/proc/self/cwd/e/"));
	P(mkdir("/proc/self/cwd/", 0700));
	P(mkdir("/proc/self/cwd/dl/", 0700));
	P(symlink("x", "/proc/self/cwd/"));
	P(rename("e", "/proc/self/cwd/q/"));
	P(rename("/proc/self/cwd/", "q") < 0);
	P(rename("/proc/self/status", "q"));
	P(rename("/proc/nx", "q"));
	P(rename("/proc/.", "q"));
	P(rename("e", "/proc/q"));
	P(rmdir("/proc/."));
	P(rmdir("/proc/self/./"));
	P(unlink("/proc/.."));
	P(mkdir("/proc/.", 0700));
	P(rename("nx", "/proc/q"));
	P(rename("nx/x", "/proc/q"));
	P(rename("f", "/proc/nx/q"));
	P(rename("f", "/proc/self/status/q"));
	P(link("/proc/self/status", "q"));
	P(link("/proc/self/status", "f"));
	P(link("/proc/self/status", "nx/q"));
	P(link("/proc/nx", "q"));
	P(link("f", "/proc/q"));
	P(link("f", "/proc/self/status"));
}

static void all(void) {
	char at[64];
	removing();
	making();
	moving();
	opening();
	clear();
	getcwd(at, sizeof at);
	mkdir("empty", 0700);
	symlink("empty", "link");
	chdir("empty");
	ours();
	clear();
	printf("%d\n", rmdir("/proc/self/cwd/"));
	chdir(at);
	printf("%d\n", rmdir("link/"));
	unlink("link");
	printf("%d\n", rmdir("empty"));
}

int main(void) {
	char here[] = "/tmp/lastnamesXXXXXX", shared[] = "/dev/shm/lastnamesXXXXXX";
	if (chdir(mkdtemp(here)) == 0)
		all();
	rmdir(here);
	if (mkdtemp(shared) && chdir(shared) == 0)
		all();
	rmdir(shared);
}

// Times of files that the program itself makes and changes: they are of the clock that it reads.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static struct timespec then;

static int before(struct timespec a, struct timespec b) {
	return a.tv_sec < b.tv_sec || (a.tv_sec == b.tv_sec && a.tv_nsec < b.tv_nsec);
}

// Linux's times of files are up to a tick behind the clock.
static void look(void) {
	usleep(20000);
	clock_gettime(CLOCK_REALTIME, &then);
	usleep(20000);
}

static void changed(const char *what, const char *path) {
	struct stat st;
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	if (lstat(path, &st)) {
		printf("%s: %s is not there\n", what, path);
		return;
	}
	printf("%-24s %s: %s%s\n", what, path, before(st.st_mtim, then) ? "old" : "new", before(now, st.st_mtim) ? ", from the future" : "");
}

// times3 says which of a file's three times are new.
static void times3(const char *what, const char *path) {
	struct stat st;
	lstat(path, &st);
	printf("%-32s %s: read %s, written %s, changed %s\n", what, path, before(st.st_atim, then) ? "old" : "new",
		before(st.st_mtim, then) ? "old" : "new", before(st.st_ctim, then) ? "old" : "new");
	look();
}

static void put(const char *path, const char *text) {
	int fd = open(path, O_CREAT | O_WRONLY | O_APPEND, 0600);
	write(fd, text, strlen(text));
	close(fd);
}

static void get(const char *path, int flags) {
	char b[100];
	int fd = open(path, O_RDONLY | flags);
	read(fd, b, sizeof b);
	close(fd);
}

// accesses is about when files were read, and their inodes changed.
static void accesses(void) {
	struct timespec past[2] = {{1000000000, 5}, {1100000000, 6}}, omit[2] = {{0, UTIME_OMIT}, {1200000000, 0}};
	struct timespec read_only[2] = {{1300000000, 7}, {0, UTIME_OMIT}}, future[2] = {{9000000000, 8}, {9500000000, 9}}, far[2] = {{16725225600, 0}, {16725225600, 0}};
	struct timespec early[2] = {{-1, 5}, {-1000000000, 6}};
	struct stat st;
	look();
	put("r", "one");
	times3("made", "r");
	times3("nothing", "r");
	get("r", O_NOATIME);
	times3("read, O_NOATIME", "r");
	get("r", 0);
	times3("read for the first time", "r");
	get("r", 0);
	times3("read again", "r");
	put("r", "two");
	times3("written", "r");
	get("r", 0);
	times3("read", "r");
	chmod("r", 0640);
	times3("chmod", "r");
	get("r", 0);
	times3("read", "r");
	link("r", "r2");
	times3("link", "r");
	unlink("r2");
	times3("unlink", "r");
	rename("r", "q");
	times3("rename", "q");
	rename("q", "r");
	look();
	int fd = open("r", O_RDWR);
	fchmod(fd, 0600);
	times3("fchmod", "r");
	futimens(fd, past);
	times3("futimens", "r");
	fstat(fd, &st);
	printf("%ld.%09ld %ld.%09ld\n", (long)st.st_atime, st.st_atim.tv_nsec, (long)st.st_mtime, st.st_mtim.tv_nsec);
	futimens(fd, omit);
	fstat(fd, &st);
	printf("%ld.%09ld %ld.%09ld\n", (long)st.st_atime, st.st_atim.tv_nsec, (long)st.st_mtime, st.st_mtim.tv_nsec);
	times3("futimens, one left out", "r");
	futimens(fd, read_only);
	fstat(fd, &st);
	printf("%ld.%09ld %ld.%09ld\n", (long)st.st_atime, st.st_atim.tv_nsec, (long)st.st_mtime, st.st_mtim.tv_nsec);
	times3("futimens, the other", "r");
	ftruncate(fd, 1);
	times3("ftruncate", "r");
	close(fd);
	get("r", 0);
	times3("read", "r");
	close(open("r", O_RDWR | O_TRUNC));
	times3("truncated", "r");
	mkdir("dir", 0700);
	look();
	put("dir/a", "x");
	times3("a name in it", "dir");
	struct timespec *sets[] = {past, future, far, early};
	for (int i = 0; i < 4; i++) {
		printf("%d", utimensat(AT_FDCWD, "r", sets[i], 0));
		stat("r", &st);
		printf(" %ld.%09ld %ld.%09ld\n", (long)st.st_atime, st.st_atim.tv_nsec, (long)st.st_mtime, st.st_mtim.tv_nsec);
	}
	get("r", 0);
	times3("read", "r");
	system("rm -r r dir");
}

int main(void) {
	setvbuf(stdout, 0, _IONBF, 0);
	char dir[] = "/tmp/timesXXXXXX";
	if (!mkdtemp(dir) || chdir(dir)) return 1;
	look();
	int fd = open("a", O_CREAT | O_RDWR, 0600);
	changed("create", "a");
	changed("create", ".");
	look();
	changed("nothing", "a");
	changed("nothing", ".");
	write(fd, "12345", 5);
	changed("write", "a");
	changed("write", ".");
	look();
	char b[5];
	pread(fd, b, 5, 0);
	changed("read", "a");
	ftruncate(fd, 2);
	changed("ftruncate", "a");
	look();
	truncate("a", 1);
	changed("truncate", "a");
	look();
	close(open("a", O_WRONLY));
	changed("open", "a");
	close(open("a", O_WRONLY | O_CREAT, 0600));
	changed("open, O_CREAT", "a");
	changed("open, O_CREAT", ".");
	close(open("a", O_WRONLY | O_TRUNC));
	changed("open, O_TRUNC", "a");
	look();
	mkdir("d", 0700);
	changed("mkdir", "d");
	changed("mkdir", ".");
	look();
	rename("a", "d/b");
	changed("rename", ".");
	changed("rename", "d");
	changed("rename", "d/b");
	look();
	link("d/b", "c");
	changed("link", ".");
	changed("link", "d");
	changed("link", "c");
	look();
	symlink("c", "s");
	changed("symlink", "s");
	changed("symlink", "c");
	look();
	unlink("d/b");
	changed("unlink", "d");
	changed("unlink", ".");
	look();
	mkfifo("f", 0600);
	changed("mkfifo", "f");
	look();
	struct timespec times[2] = {{7, 8}, {9, 10}};
	utimensat(AT_FDCWD, "c", times, 0);
	struct stat st;
	stat("c", &st);
	printf("utimensat: %ld.%09ld %ld.%09ld\n", (long)st.st_atime, st.st_atim.tv_nsec, (long)st.st_mtime, st.st_mtim.tv_nsec);
	utimensat(AT_FDCWD, "c", 0, 0);
	changed("utimensat, now", "c");
	look();
	futimens(fd, times);
	fstat(fd, &st);
	printf("futimens: %ld %ld\n", (long)st.st_atime, (long)st.st_mtime);
	write(fd, "x", 1);
	changed("write", "c");
	look();
	fallocate(fd, 0, 0, 100);
	changed("fallocate", "c");
	unlink("c");
	write(fd, "y", 1);
	fstat(fd, &st);
	printf("unlinked: %s\n", before(st.st_mtim, then) ? "old" : "new");
	int m = memfd_create("m", 0);
	fstat(m, &st);
	printf("memfd: %s\n", before(st.st_mtim, then) ? "old" : "new");
	accesses();
	char cmd[64];
	sprintf(cmd, "rm -r %s", dir);
	return system(cmd) != 0;
}

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
	char cmd[64];
	sprintf(cmd, "rm -r %s", dir);
	return system(cmd) != 0;
}

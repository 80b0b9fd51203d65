// Many threads wait for a lock of flock(2) while one that has it sleeps.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

enum { N = 100 };

static void *wait_for(void *name) {
	int fd = open(name, O_RDWR);
	flock(fd, LOCK_EX);
	close(fd);
	return 0;
}

int main(int argc, char **argv) {
	pthread_t t[N];
	int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
	flock(fd, LOCK_EX);
	for (int i = 0; i < N; i++) pthread_create(&t[i], 0, wait_for, argv[1]);
	usleep(500000);
	flock(fd, LOCK_UN);
	for (int i = 0; i < N; i++) pthread_join(t[i], 0);
	puts("done");
	return 0;
}

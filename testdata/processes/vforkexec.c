// A thread's vfork child runs in the process' memory while another thread of it executes a program.
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile long sink;

__attribute__((noinline)) static void before(void) {
	for (int i = 0; i < 100000; i++)
		sink++;
}

__attribute__((noinline)) static void meanwhile(void) {
	for (int i = 0; i < 100000; i++)
		sink++;
}

__attribute__((noinline)) static void after(void) {
	for (int i = 0; i < 100000; i++)
		sink++;
}

static void *spawns(void *arg) {
	if (vfork() == 0) {
		usleep(50000);
		meanwhile();
		_exit(7);
	}
	return 0;
}

int main(int argc, char **argv) {
	pthread_t t;
	int status;
	if (argc > 1) {
		after();
		wait(&status);
		printf("%d\n", WEXITSTATUS(status));
		return 0;
	}
	pthread_create(&t, 0, spawns, 0);
	usleep(10000);
	before();
	execl(argv[0], argv[0], "again", (char *)0);
	return 1;
}

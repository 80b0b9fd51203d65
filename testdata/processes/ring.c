// Makes N processes that live at once and stand in a ring. A number goes round R times, and each adds 1.
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void turns(int in, int out, int rounds) {
	int n;
	while (rounds--) {
		if (read(in, &n, sizeof n) != sizeof n)
			_exit(1);
		n++;
		write(out, &n, sizeof n);
	}
}

int main(int argc, char **argv) {
	int size = atoi(argv[1]), rounds = atoi(argv[2]), first[2], in, n = 0;
	pipe(first);
	in = first[0];
	for (int i = 0; i < size; i++) {
		int next[2];
		pipe(next);
		if (fork() == 0) {
			turns(in, next[1], rounds);
			_exit(0);
		}
		close(in);
		close(next[1]);
		in = next[0];
	}
	write(first[1], &n, sizeof n);
	turns(in, first[1], rounds - 1);
	read(in, &n, sizeof n);
	int failed = 0, status;
	while (wait(&status) > 0)
		failed += status != 0;
	printf("%d, %d failed\n", n, failed);
	return 0;
}

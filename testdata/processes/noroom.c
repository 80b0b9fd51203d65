// Maps 8 TiB, unless it has an argument, and makes children until there is no room for another one.
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
	int n = 0, p[2];
	char c;
	if (pipe(p))
		return 1;
	if (argc == 1 && mmap(0, 8l << 40, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED)
		return 1;
	for (pid_t pid; (pid = fork()) >= 0; n++)
		if (!pid) {
			close(p[1]);
			read(p[0], &c, 1);
			return 0;
		}
	perror("fork");
	printf("%d children\n", n);
	close(p[1]);
	while (wait(0) > 0)
		;
	return 0;
}

// A guest that leaves a file in /dev/shm and waits.
#include <fcntl.h>
#include <unistd.h>

int main() {
	open("/dev/shm/left-by-the-guest-1", O_CREAT | O_WRONLY, 0600);
	write(1, "there\n", 6);
	for (;;)
		;
}

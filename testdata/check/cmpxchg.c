// A difference of libunicorn for --engine=check to find: a 32-bit CMPXCHG that succeeds leaves RAX alone on
// CPUs, and clears its upper half there.
#include <stdio.h>

int main(void)
{
	unsigned m = 5;
	unsigned long rax = 0x100000005;
	asm("cmpxchg %2, %1" : "+a"(rax), "+m"(m) : "r"(7));
	printf("%lx %u\n", rax, m);
}

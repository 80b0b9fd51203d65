#include "inl.h"

int two(int);
int three(int);
int counter = 1; /* .data */

static __attribute__((noinline)) int local(int n)
{
	int s = 0;
	for (int i = 0; i < n; i++)
		s += twice(i) * counter;
	return s;
}

int alias_target(int x) { return x * 3 + counter; }
int al(int) __attribute__((alias("alias_target")));
int zz_alias(int) __attribute__((alias("alias_target")));
extern int aa(int) __attribute__((weak, alias("alias_target")));

#line 70 "made_up.y"
static __attribute__((noinline)) int lined(int x)
{
	return x + counter;
}

#line 5000 "/abs/made_up.y"
int main(void)
{
	volatile int s = local(10) + two(4) + three(3) + aa(5) + lined(2);
	return s == -1;
}

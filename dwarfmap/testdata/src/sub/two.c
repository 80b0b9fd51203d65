#include "../inc/inl.h"

int data_two = 7;

int two(int n)
{
	switch (n) {
	case 0: return twice(n);
	case 1: return n + data_two;
	default: return two(n - 1) + twice(data_two);
	}
}

#ifdef MAIN
int main(void)
{
	return two(9) == 0;
}
#endif

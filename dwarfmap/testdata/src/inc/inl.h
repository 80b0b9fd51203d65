/* Inlined into two files. */
static inline int twice(int x)
{
	int r = x;
	for (int i = 0; i < 3; i++)
		r += x ^ i;
	return r;
}

// OpenMP: reductions, tasks, critical sections, ordered loops, barriers.
#include <cstdio>
#include <omp.h>

static long fib(int n) {
	if (n < 2)
		return n;
	long a, b;
#pragma omp task shared(a) if (n > 8)
	a = fib(n - 1);
	b = fib(n - 2);
#pragma omp taskwait
	return a + b;
}

int main() {
	long sum = 0, critical = 0, fibs = 0;
	char text[101] = "";
	int len = 0, singles = 0;
	omp_set_num_threads(4);
#pragma omp parallel for reduction(+ : sum) schedule(dynamic, 7)
	for (int i = 0; i < 10000; i++)
		sum += i;
#pragma omp parallel
	for (int i = 0; i < 100; i++) {
#pragma omp critical
		critical++;
	}
#pragma omp parallel for ordered schedule(static, 1)
	for (int i = 0; i < 100; i++) {
#pragma omp ordered
		text[len++] = '0' + i % 10;
	}
#pragma omp parallel
	{
		for (int i = 0; i < 20; i++) {
#pragma omp single
			singles++;
#pragma omp barrier
		}
	}
#pragma omp parallel
#pragma omp single
	fibs = fib(14);
	std::printf("%ld %ld %ld %d\n%s\n", sum, critical, fibs, singles, text);
}

// Approximations (RCPPS, RSQRTPS) beside code that is written again and again, on pages of all numbers modulo 16.
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <xmmintrin.h>

int main(void) {
	float sum = 0;
	volatile float one = 1;
	unsigned char *pages = mmap(0, 16 * 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int k = 0; k < 16; k++) {
		unsigned char *page = pages + 4096 * k;
		for (int i = 0; i < 60; i++) {
			char code[] = {0xb8, (char)i, 0, 0, 0, 0xc3};
			memcpy(page, code, sizeof code);
			if (((int (*)(void))page)() != i) puts("another number");
			if (i % 20 == 0) {
				__m128 v = _mm_set_ps(one, 2, 4, 16); // whose approximations all CPUs have within 12 bits
				float f[4];
				_mm_storeu_ps(f, _mm_add_ps(_mm_rsqrt_ps(v), _mm_rcp_ps(v)));
				for (int n = 0; n < 4; n++) sum += f[n];
			}
		}
	}
	printf("%.1f\n", sum);
}

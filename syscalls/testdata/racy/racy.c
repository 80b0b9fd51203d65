// Threads add to a counter without a lock. What it is in the end depends on who is stopped in step.
#include <pthread.h>
#include <stdio.h>
static volatile long counter;
static __attribute__((noinline)) void step(void) { __asm__ volatile(""); }
static void *work(void *a) { for (int i = 0; i < 20000; i++) { long x = counter; step(); counter = x + 1; } return 0; }
int main(void) {
	pthread_t t[4];
	for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, work, 0);
	for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
	printf("%ld\n", counter);
}

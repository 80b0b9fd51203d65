// Semaphores: two threads take turns; of six at most three are inside.
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

static sem_t ping, pong, room;
static char text[2001];
static int len, inside, most, passed;

static void *first(void *arg) {
	for (int i = 0; i < 1000; i++) {
		sem_wait(&ping);
		text[len++] = 'a';
		sem_post(&pong);
	}
	return 0;
}

static void *second(void *arg) {
	for (int i = 0; i < 1000; i++) {
		sem_wait(&pong);
		text[len++] = 'b';
		sem_post(&ping);
	}
	return 0;
}

static void *guest(void *arg) {
	for (int i = 0; i < 200; i++) {
		sem_wait(&room);
		if (__sync_add_and_fetch(&inside, 1) > 3)
			most = 4;
		sched_yield();
		__sync_sub_and_fetch(&inside, 1);
		__sync_add_and_fetch(&passed, 1);
		sem_post(&room);
	}
	return 0;
}

int main(void) {
	pthread_t t[8];
	void *(*f[8])(void *) = {first, second, guest, guest, guest, guest, guest, guest};
	sem_init(&ping, 0, 1);
	sem_init(&pong, 0, 0);
	sem_init(&room, 0, 3);
	for (int i = 0; i < 8; i++)
		pthread_create(&t[i], 0, f[i], 0);
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], 0);
	int wrong = 0;
	for (int i = 0; i < 2000; i++)
		wrong += text[i] != "ab"[i % 2];
	printf("%d wrong, %d too many, %d passed\n", wrong, most, passed);
	return 0;
}

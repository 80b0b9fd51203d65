// A thread stops another by a signal, as runtimes with a garbage collector do, has it go on, releases the mutex that it waits for and takes it
// again, until the other one has got it: whoever holds the mutex wakes it each time, but it finds another signal first.
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t answered;
static volatile int had;

static void stop(int sig)
{
	sigset_t all;
	sigfillset(&all);
	sigdelset(&all, SIGUSR2);
	sem_post(&answered);
	sigsuspend(&all);
	sem_post(&answered);
}

static void go_on(int sig) {}

static void *waiter(void *arg)
{
	pthread_mutex_lock(&mutex);
	had = 1;
	pthread_mutex_unlock(&mutex);
	return NULL;
}

int main(void)
{
	struct sigaction on_stop = {.sa_handler = stop}, on_go = {.sa_handler = go_on};
	sigaddset(&on_stop.sa_mask, SIGUSR2);
	sigaction(SIGUSR1, &on_stop, NULL);
	sigaction(SIGUSR2, &on_go, NULL);
	sem_init(&answered, 0, 0);
	pthread_mutex_lock(&mutex);
	pthread_t thread;
	pthread_create(&thread, NULL, waiter, NULL);
	for (long rounds = 0; !had; rounds++) {
		if (rounds == 100000) {
			puts("the other thread starves");
			return 1;
		}
		pthread_kill(thread, SIGUSR1);
		sem_wait(&answered);
		pthread_kill(thread, SIGUSR2);
		sem_wait(&answered);
		pthread_mutex_unlock(&mutex);
		pthread_mutex_lock(&mutex);
	}
	pthread_mutex_unlock(&mutex);
	pthread_join(thread, NULL);
	puts("both had it");
	return 0;
}

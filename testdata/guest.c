/* guest: what the tests of the command run. The first argument says what it does. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

extern char **environ;

/* faults reads from an address without memory, n times; the handler steps over the instruction. */
static volatile long caught;

static void step(int sig, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;
    caught += info->si_addr == (void *)64;
    uc->uc_mcontext.gregs[REG_RIP] += 2;
}

static void faults(long n)
{
    struct sigaction act = {.sa_sigaction = step, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &act, 0);
    for (long i = 0; i < n; i++)
        __asm__ volatile("movl (%0), %%ecx" : : "a"(64L) : "ecx");
    printf("%ld faults\n", caught);
}

/* signals counts alarms while it computes, then some raised by hand. */
static volatile int alarms, users;

static void on_alarm(int sig) { alarms++; }
static void on_user(int sig) { users++; }

static void signals(void)
{
    struct itimerval every = {{0, 1000}, {0, 1000}};
    signal(SIGALRM, on_alarm);
    signal(SIGUSR1, on_user);
    setitimer(ITIMER_REAL, &every, 0);
    unsigned x = 1;
    while (alarms < 5)
        x = x * 1664525 + 1013904223;
    for (int i = 0; i < 10; i++)
        raise(SIGUSR1);
    printf("%d users, x = %u\n", users, x);
}

/* threads lets eight of them add up numbers, with a lock, a condition and atomics. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static long sum, order;
static int started;
static _Atomic long atomic;

static void *adder(void *arg)
{
    long me = (long)arg;
    pthread_mutex_lock(&lock);
    started++;
    pthread_cond_broadcast(&cond);
    while (started < 8)
        pthread_cond_wait(&cond, &lock);
    order = order * 8 + me;
    pthread_mutex_unlock(&lock);
    for (long i = 0; i < 20000; i++) {
        atomic += i;
        if (i % 100 == 0) {
            pthread_mutex_lock(&lock);
            sum += me;
            pthread_mutex_unlock(&lock);
        }
    }
    return 0;
}

static void threads(void)
{
    pthread_t t[8];
    for (long i = 0; i < 8; i++)
        pthread_create(&t[i], 0, adder, (void *)i);
    for (int i = 0; i < 8; i++)
        pthread_join(t[i], 0);
    printf("%ld %ld %lo\n", sum, (long)atomic, order);
}

/* world prints what Linux tells about the world. */
static void world(void)
{
    unsigned char b[8];
    getrandom(b, sizeof b, 0);
    printf("pid %d, time %ld, cpus %ld, stack %p, heap %p, random", getpid(), (long)time(0),
           sysconf(_SC_NPROCESSORS_ONLN), (void *)environ, malloc(100));
    for (int i = 0; i < 8; i++)
        printf(" %02x", b[i]);
    printf("\n");
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "hello";
    long n = argc > 2 ? atol(argv[2]) : 0;

    if (!strcmp(what, "exit"))
        return n;
    if (!strcmp(what, "kill"))
        raise(n);
    else if (!strcmp(what, "crash"))
        *(volatile int *)(n + 64) = 1;
    else if (!strcmp(what, "loop")) {
        write(1, "ready\n", 6);
        for (volatile long i = 0;; i++)
            ;
    }
    else if (!strcmp(what, "cat"))
        for (int c; (c = getchar()) != EOF;)
            putchar(c);
    else if (!strcmp(what, "sleep"))
        sleep(n);
    else if (!strcmp(what, "env"))
        for (char **e = environ; *e; e++)
            puts(*e);
    else if (!strcmp(what, "faults"))
        faults(n);
    else if (!strcmp(what, "signals"))
        signals();
    else if (!strcmp(what, "threads"))
        threads();
    else if (!strcmp(what, "world"))
        world();
    else
        for (int i = 1; i < argc; i++)
            printf("%s%c", argv[i], i + 1 < argc ? ' ' : '\n');
    return 0;
}

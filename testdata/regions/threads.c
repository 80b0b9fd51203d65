// One thread waits in region, others work meanwhile, some of them in region too.
#include <pthread.h>
#include <stdint.h>

#define THREADS 8

static void *work(void *arg)
{
    for (int i = 0; i < 100000; i++)
        __asm__ volatile(".rept 10\n\tnop\n\t.endr");
    return arg;
}

static void inner(void)
{
    for (int i = 0; i < 100000; i++)
        __asm__ volatile(".rept 20\n\tnop\n\t.endr");
}

__attribute__((noipa)) void *region(void *arg)
{
    if (arg)
        pthread_join(*(pthread_t *)arg, 0);
    inner();
    return 0;
}

int main(void)
{
    pthread_t t[THREADS];
    for (intptr_t i = 0; i < THREADS; i++)
        pthread_create(&t[i], 0, i % 2 ? region : work, 0);
    region(&t[0]);
    for (int i = 1; i < THREADS; i++)
        pthread_join(t[i], 0);
    return 0;
}

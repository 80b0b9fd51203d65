// How many objects of System V and POSIX queues there may be. It is not run natively, where they would be everybody's.
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>

static int queue(int i) {
	char name[20];
	struct mq_attr a = {.mq_maxmsg = 1, .mq_msgsize = 1};
	sprintf(name, "/q%d", i);
	int q = mq_open(name, O_RDWR | O_CREAT, 0600, &a);
	if (q >= 0) mq_close(q);
	return q;
}

#define MOST(x) do { int i; for (i = 0; i < 100000 && (x) >= 0; i++); printf("%s: %d, then %s\n", #x, i, strerror(errno)); } while (0)

int main(void) {
	MOST(shmget(IPC_PRIVATE, 1, 0600));
	MOST(msgget(IPC_PRIVATE, 0600));
	MOST(semget(IPC_PRIVATE, 1, 0600));
	MOST(queue(i));
	return 0;
}

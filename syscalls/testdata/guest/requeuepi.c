// FUTEX_WAIT_REQUEUE_PI and FUTEX_CMP_REQUEUE_PI: a condition variable whose waiters get the lock handed over.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// linux/futex.h, which musl has not
enum {
	FUTEX_WAIT, FUTEX_WAKE, FUTEX_REQUEUE = 3, FUTEX_CMP_REQUEUE, FUTEX_WAKE_OP, FUTEX_LOCK_PI, FUTEX_UNLOCK_PI, FUTEX_TRYLOCK_PI,
	FUTEX_WAIT_REQUEUE_PI = 11, FUTEX_CMP_REQUEUE_PI = 12, FUTEX_CLOCK_REALTIME = 256
};
enum { FUTEX_WAITERS = (int)0x80000000, FUTEX_TID_MASK = 0x3fffffff };

static int cond, lock, other, woken;

static long futex(int *a, int op, long val, long val2, int *b, long val3) {
	long r = syscall(SYS_futex, a, op, val, val2, b, val3);
	return r < 0 ? -errno : r;
}

static void show(const char *what, long r) {
	int owner = lock & FUTEX_TID_MASK;
	printf("%-32s %ld %s%s\n", what, r, owner == 0 ? "free" : owner == syscall(SYS_gettid) ? "mine" : "another's",
		lock & FUTEX_WAITERS ? ", waiters" : "");
}

static int begun; // threads that are about to wait

static void *waits(void *arg) {
	__atomic_fetch_add(&begun, 1, __ATOMIC_SEQ_CST);
	long r = futex(&cond, FUTEX_WAIT_REQUEUE_PI, 0, 0, &lock, 0);
	if (r == 0 && (lock & FUTEX_TID_MASK) != syscall(SYS_gettid))
		printf("not mine\n");
	if (r)
		printf("waits: %s\n", strerror(-r));
	__atomic_fetch_add(&woken, 1, __ATOMIC_SEQ_CST);
	if (r == 0)
		futex(&lock, FUTEX_UNLOCK_PI, 0, 0, 0, 0);
	return 0;
}

// asleep reports whether all other threads wait.
static int asleep(void) {
	int all = 1, self = syscall(SYS_gettid);
	DIR *d = opendir("/proc/self/task");
	for (struct dirent *e; all && (e = readdir(d));) {
		char path[300], text[512] = "";
		snprintf(path, sizeof path, "/proc/self/task/%s/stat", e->d_name);
		int fd = open(path, O_RDONLY);
		if (e->d_name[0] == '.' || atoi(e->d_name) == self || fd < 0) // one that has ended
			goto next;
		read(fd, text, sizeof text - 1);
		char *state = strrchr(text, ')');
		all = !state || state[2] == 'S' || state[2] == 'Z' || state[2] == 'X';
	next:
		close(fd);
	}
	closedir(d);
	return all;
}

// moment waits until all other threads have come to wait: on a busy host they take their time.
static void moment(void) {
	for (int i = 0, times = 0; i < 1000 && times < 3; i++) {
		usleep(10000);
		times = asleep() ? times + 1 : 0;
	}
}

static pthread_t threads[4];

static void start(int n) {
	woken = begun = 0;
	for (int i = 0; i < n; i++) {
		pthread_create(&threads[i], 0, waits, 0);
		while (__atomic_load_n(&begun, __ATOMIC_SEQ_CST) == i)
			usleep(1000);
		moment();
	}
}

static void join(int n) {
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], 0);
	show("joined", woken);
}

static void *plain(void *arg) {
	printf("plain: %ld\n", futex(&cond, FUTEX_WAIT, 0, 0, 0, 0));
	return 0;
}

static void nothing(int sig) {}

int main(void) {
	setvbuf(stdout, 0, _IONBF, 0);
	struct timespec past = {1, 0}, soon;
	show("nobody", futex(&cond, FUTEX_CMP_REQUEUE_PI, 1, 5, &lock, 0));
	show("two to wake", futex(&cond, FUTEX_CMP_REQUEUE_PI, 2, 5, &lock, 0));
	show("another value", futex(&cond, FUTEX_CMP_REQUEUE_PI, 1, 5, &lock, 1));
	show("the same", futex(&cond, FUTEX_CMP_REQUEUE_PI, 1, 5, &cond, 0));
	show("negative", futex(&cond, FUTEX_CMP_REQUEUE_PI, 1, -1, &lock, 0));
	show("wait, the same", futex(&cond, FUTEX_WAIT_REQUEUE_PI, 0, 0, &cond, 0));
	show("wait, another value", futex(&cond, FUTEX_WAIT_REQUEUE_PI, 1, 0, &lock, 0));
	show("wait, nowhere", futex(&cond, FUTEX_WAIT_REQUEUE_PI, 0, 0, (int *)8, 0));
	show("wait, past", futex(&cond, FUTEX_WAIT_REQUEUE_PI, 0, (long)&past, &lock, 0));
	clock_gettime(CLOCK_REALTIME, &soon);
	soon.tv_sec++;
	show("wait, soon", futex(&cond, FUTEX_WAIT_REQUEUE_PI | FUTEX_CLOCK_REALTIME, 0, (long)&soon, &lock, 0));

	start(3);
	show("wake", futex(&cond, FUTEX_WAKE, 1, 0, 0, 0));
	show("requeue", futex(&cond, FUTEX_REQUEUE, 1, 1, &other, 0));
	show("other lock", futex(&cond, FUTEX_CMP_REQUEUE_PI, 1, 5, &other, 0));
	show("lock", futex(&lock, FUTEX_LOCK_PI, 0, 0, 0, 0));
	show("all", futex(&cond, FUTEX_CMP_REQUEUE_PI, 1, 100, &lock, 0));
	moment();
	show("still", woken);
	long r = futex(&lock, FUTEX_UNLOCK_PI, 0, 0, 0, 0);
	join(3); // who looks at the lock at once sees who has it just then
	show("unlock", r);

	start(3);
	show("lock", futex(&lock, FUTEX_LOCK_PI, 0, 0, 0, 0));
	show("one", futex(&cond, FUTEX_CMP_REQUEUE_PI, 1, 0, &lock, 0));
	show("two", futex(&cond, FUTEX_CMP_REQUEUE_PI, 1, 1, &lock, 0));
	show("none", futex(&cond, FUTEX_CMP_REQUEUE_PI, 1, 1, &lock, 0));
	futex(&lock, FUTEX_UNLOCK_PI, 0, 0, 0, 0);
	join(3);

	start(2);
	r = futex(&cond, FUTEX_CMP_REQUEUE_PI, 1, 0, &lock, 0);
	moment();
	show("free, one", r);
	r = futex(&cond, FUTEX_CMP_REQUEUE_PI, 1, 0, &lock, 0);
	moment();
	show("free, the other", r);
	join(2);

	start(4);
	r = futex(&cond, FUTEX_CMP_REQUEUE_PI, 1, 100, &lock, 0);
	join(4);
	printf("free, all: %ld\n", r);

	pthread_t p;
	pthread_create(&p, 0, plain, 0);
	moment();
	show("plain waiter", futex(&cond, FUTEX_CMP_REQUEUE_PI, 1, 5, &lock, 0));
	r = futex(&cond, FUTEX_WAKE, 1, 0, 0, 0);
	pthread_join(p, 0);
	show("wake", r);

	signal(SIGUSR1, nothing);
	start(1);
	pthread_kill(threads[0], SIGUSR1);
	moment();
	show("after a signal", woken);
	r = futex(&cond, FUTEX_CMP_REQUEUE_PI, 1, 0, &lock, 0);
	moment();
	show("requeued", r);
	join(1);
	return 0;
}

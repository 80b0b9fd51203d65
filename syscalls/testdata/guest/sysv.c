// System V shared memory, semaphores and message queues.
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef MSG_COPY
#define MSG_COPY 040000
#endif
#define R(x) do { errno = 0; long r_ = (long)(x); int e_ = errno; printf("%-70s %ld %s\n", #x, r_, r_ == -1 ? strerror(e_) : ""); } while (0)
#define OK(x) do { errno = 0; int r_ = (x); int e_ = errno; printf("%-70s %s\n", #x, r_ ? "yes" : strerror(e_)); } while (0)

static int st;
static void handler(int sig) {}

static void memory(void) {
	struct shmid_ds ds;
	key_t key = getpid() ^ 0x5a000000;
	int id, id2, pid;
	volatile int *p, *q;
	R(shmget(key, 100, 0));
	R(shmget(key, 0, IPC_CREAT | 0600));
	R(shmget(IPC_PRIVATE, -1, 0600));
	OK((id = shmget(key, 5000, IPC_CREAT | IPC_EXCL | 0600)) >= 0);
	R(shmget(key, 100, IPC_CREAT | IPC_EXCL | 0600));
	OK(shmget(key, 100, 0) == id);
	OK(shmget(key, 0, 0) == id);
	R(shmget(key, 5001, 0));
	R((long)shmat(id, (void *)12345, 0));
	R((long)shmat(-1, 0, 0));
	R((long)shmat(0x7ffffff, 0, 0));
	R((long)shmat(id, 0, SHM_REMAP));
	OK((p = shmat(id, 0, 0)) != (void *)-1);
	R((long)shmat(id, (void *)p, 0));
	OK((q = shmat(id, 0, SHM_RDONLY)) != (void *)-1);
	*p = 77;
	R(*q);
	R(shmctl(id, IPC_STAT, &ds));
	R(ds.shm_segsz);
	R(ds.shm_nattch);
	R(ds.shm_perm.mode);
	OK(ds.shm_cpid == getpid() && ds.shm_lpid == getpid());
	OK(ds.shm_perm.__key == key && ds.shm_ctime != 0 && ds.shm_atime != 0 && ds.shm_dtime == 0);
	fflush(stdout);
	if (!(pid = fork())) {
		shmctl(id, IPC_STAT, &ds);
		p[1] = ds.shm_nattch;
		signal(SIGSEGV, SIG_DFL);
		*(int *)q = 1;
		_exit(1);
	}
	waitpid(pid, &st, 0);
	R(st & 0x7f);
	R(p[1]);
	R(shmdt((char *)p + 4096));
	R(shmdt((char *)p + 1));
	R(shmdt((void *)q));
	R(shmdt((void *)q));
	R(shmctl(id, IPC_STAT, &ds));
	R(ds.shm_nattch);
	OK(ds.shm_dtime != 0);
	ds.shm_perm.mode = 0640;
	R(shmctl(id, IPC_SET, &ds));
	R(shmctl(id, IPC_STAT, &ds));
	R(ds.shm_perm.mode);
	void *at = mmap(0, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	R((long)shmat(id, at + 4096, 0));
	OK(shmat(id, at + 4196, SHM_RND | SHM_REMAP) == at + 4096);
	R(*(int *)(at + 4096));
	munmap(at + 4096, 4096);
	shmctl(id, IPC_STAT, &ds);
	R(ds.shm_nattch);
	R(shmdt(at + 4096));
	R(shmctl(id, IPC_RMID, 0));
	R(shmctl(id, IPC_STAT, &ds));
	R(ds.shm_perm.mode);
	R(ds.shm_perm.__key);
	R(shmget(key, 100, 0));
	OK((q = shmat(id, 0, 0)) != (void *)-1);
	R(*q);
	R(shmdt((void *)q));
	R(shmdt((void *)p));
	R(shmctl(id, IPC_STAT, &ds));
	R((long)shmat(id, 0, 0));
	R(shmctl(id, IPC_RMID, 0));
	id = shmget(IPC_PRIVATE, 1, 0600), id2 = shmget(IPC_PRIVATE, 1, 0600);
	OK(id != id2);
	R(shmctl(id, 99, 0));
	R(shmctl(id, IPC_STAT, (void *)8));
	R(shmctl(id, IPC_RMID, 0));
	R(shmctl(id2, IPC_RMID, 0));
	R(shmctl(-1, IPC_RMID, 0));
}

union semun { int val; struct semid_ds *buf; unsigned short *array; };

static int op(int id, int num, int n, int flags) {
	struct sembuf b = {num, n, flags};
	return semop(id, &b, 1);
}

static void until(int id, int num, int cmd, int n) {
	while (semctl(id, num, cmd) != n) usleep(1000);
}

static void semaphores(void) {
	struct semid_ds ds;
	unsigned short all[3] = {5, 6, 7};
	union semun u = {.array = all}, ud = {.buf = &ds};
	key_t key = getpid() ^ 0x5b000000;
	struct timespec ms = {0, 1000000}, bad = {0, -1};
	int id, pid;
	R(semget(key, 3, 0));
	R(semget(key, 0, IPC_CREAT | 0600));
	R(semget(key, -1, IPC_CREAT | 0600));
	R(semget(key, 40000, IPC_CREAT | 0600));
	OK((id = semget(key, 3, IPC_CREAT | 0600)) >= 0);
	R(semget(key, 3, IPC_CREAT | IPC_EXCL));
	R(semget(key, 4, 0));
	OK(semget(key, 0, 0) == id);
	R(semctl(id, 0, GETVAL));
	R(semctl(id, 3, GETVAL));
	R(semctl(id, -1, GETVAL));
	R(semctl(id, 0, SETVAL, (union semun){.val = 2}));
	R(semctl(id, 0, SETVAL, (union semun){.val = 32768}));
	R(semctl(id, 0, SETVAL, (union semun){.val = -1}));
	R(op(id, 0, -1, 0));
	R(semctl(id, 0, GETVAL));
	OK(semctl(id, 0, GETPID) == getpid());
	R(op(id, 0, -2, IPC_NOWAIT));
	R(op(id, 0, 0, IPC_NOWAIT));
	R(op(id, 1, 0, IPC_NOWAIT));
	R(op(id, 3, 1, 0));
	R(op(-1, 0, 1, 0));
	R(op(0x7ffffff, 0, 1, 0));
	R(op(id, 0, 32767, 0));
	R(semop(id, 0, 0));
	R(semop(id, (void *)8, 1));
	R(semop(id, (struct sembuf[501]){}, 501));
	struct sembuf both[3] = {{0, 5, 0}, {1, -1, IPC_NOWAIT}, {2, 1, 0}}, chain[2] = {{1, 1, 0}, {1, -1, IPC_NOWAIT}};
	R(semop(id, both, 3));
	R(semctl(id, 0, GETVAL));
	R(semop(id, chain, 2));
	struct sembuf down = {1, -1, 0};
	R(semtimedop(id, &down, 1, &ms));
	R(semtimedop(id, &down, 1, &bad));
	R(semctl(id, 0, SETALL, u));
	memset(all, 0, sizeof all);
	R(semctl(id, 0, GETALL, u));
	printf("%d %d %d\n", all[0], all[1], all[2]);
	R(semctl(id, 0, IPC_STAT, ud));
	R(ds.sem_nsems);
	R(ds.sem_perm.mode);
	OK(ds.sem_otime != 0 && ds.sem_ctime != 0);
	// A child's undo.
	fflush(stdout);
	if (!(pid = fork())) {
		op(id, 0, -3, SEM_UNDO);
		op(id, 1, 4, SEM_UNDO);
		op(id, 2, 1, 0);
		op(id, 1, -9, 0);
		_exit(semctl(id, 0, GETVAL));
	}
	waitpid(pid, &st, 0);
	R(WEXITSTATUS(st));
	R(semctl(id, 0, GETALL, u));
	printf("%d %d %d\n", all[0], all[1], all[2]);
	// Who waits.
	if (!(pid = fork())) _exit(op(id, 0, -100, 0) == -1 ? errno : 0);
	until(id, 0, GETNCNT, 1);
	R(semctl(id, 0, GETZCNT));
	R(op(id, 0, 95, 0));
	waitpid(pid, &st, 0);
	R(WEXITSTATUS(st));
	R(semctl(id, 0, GETVAL));
	op(id, 0, 2, 0);
	if (!(pid = fork())) {
		struct sembuf zero[2] = {{0, 0, 0}, {0, 3, 0}};
		_exit(semop(id, zero, 2) == -1 ? errno : 0);
	}
	until(id, 0, GETZCNT, 1);
	R(semctl(id, 0, GETNCNT));
	R(op(id, 0, -2, 0));
	waitpid(pid, &st, 0);
	R(WEXITSTATUS(st));
	R(semctl(id, 0, GETVAL));
	if (!(pid = fork())) {
		struct sigaction a = {.sa_handler = handler, .sa_flags = SA_RESTART};
		sigaction(SIGUSR1, &a, 0);
		_exit(op(id, 0, -100, 0) == -1 ? errno : 0);
	}
	until(id, 0, GETNCNT, 1);
	kill(pid, SIGUSR1);
	waitpid(pid, &st, 0);
	OK(WEXITSTATUS(st) == EINTR);
	if (!(pid = fork())) _exit(op(id, 0, -100, 0) == -1 ? errno : 0);
	until(id, 0, GETNCNT, 1);
	R(semctl(id, 0, IPC_RMID));
	waitpid(pid, &st, 0);
	OK(WEXITSTATUS(st) == EIDRM);
	R(op(id, 0, 1, 0));
	R(semctl(id, 0, IPC_RMID));
	R(semctl(-1, 0, IPC_STAT, ud));
}

static struct { long type; char text[9000]; } m;

static int put(int id, long type, const char *text, int flags) {
	m.type = type;
	strcpy(m.text, text);
	return msgsnd(id, &m, strlen(text), flags);
}

static int get(int id, int size, long type, int flags) {
	memset(&m, 0, sizeof m);
	int n = msgrcv(id, &m, size, type, flags);
	if (n >= 0) printf("%ld %s: ", m.type, m.text);
	return n;
}

static void queues(void) {
	struct msqid_ds ds;
	key_t key = getpid() ^ 0x5c000000;
	int id, pid;
	R(msgget(key, 0));
	OK((id = msgget(key, IPC_CREAT | 0600)) >= 0);
	R(msgget(key, IPC_CREAT | IPC_EXCL));
	OK(msgget(key, 0) == id);
	R(get(id, 10, 0, IPC_NOWAIT));
	R(put(id, 0, "x", 0));
	R(put(id, -3, "x", 0));
	R(put(-1, 1, "x", 0));
	R(put(0x7ffffff, 1, "x", 0));
	R(msgsnd(id, &m, 8193, 0));
	R(msgsnd(id, &m, -1, 0));
	R(msgsnd(id, (void *)8, 1, 0));
	R(put(id, 3, "three", 0));
	R(put(id, 1, "one", 0));
	R(put(id, 2, "two", 0));
	R(put(id, 3, "again", 0));
	R(put(id, 5, "", 0));
	R(msgctl(id, IPC_STAT, &ds));
	R(ds.msg_qnum);
	R(ds.msg_qbytes);
	R(ds.__msg_cbytes);
	OK(ds.msg_lspid == getpid() && ds.msg_lrpid == 0 && ds.msg_stime != 0 && ds.msg_rtime == 0);
	R(get(id, 2, 3, 0));
	R(get(id, 2, 3, MSG_NOERROR));
	R(get(id, 100, -2, 0));
	R(get(id, 100, 3, MSG_EXCEPT));
	R(get(id, 100, 1, MSG_COPY | IPC_NOWAIT));
	R(get(id, 100, 0, MSG_COPY));
	R(get(id, 100, 9, MSG_COPY | IPC_NOWAIT));
	R(get(id, 100, 0, 0));
	R(get(id, -1, 0, 0));
	R(get(id, 100, 4, IPC_NOWAIT));
	R(get(id, 100, -4, IPC_NOWAIT));
	R(get(id, 100, 0, 0));
	R(get(-1, 100, 0, 0));
	// Full.
	R(msgsnd(id, (m.type = 1, &m), 8192, 0));
	R(msgsnd(id, &m, 8000, 0));
	R(msgsnd(id, &m, 193, IPC_NOWAIT));
	R(msgsnd(id, &m, 192, IPC_NOWAIT));
	R(msgsnd(id, &m, 0, IPC_NOWAIT));
	R(msgsnd(id, &m, 1, IPC_NOWAIT));
	fflush(stdout);
	if (!(pid = fork())) _exit(put(id, 9, "waited", 0) == -1 ? errno : 0);
	R(msgrcv(id, &m, 9000, 0, 0));
	waitpid(pid, &st, 0);
	R(WEXITSTATUS(st));
	R(msgrcv(id, &m, 9000, 0, 0));
	R(msgrcv(id, &m, 9000, 0, 0));
	R(msgrcv(id, &m, 9000, 0, 0));
	R(get(id, 9000, 0, 0));
	fflush(stdout);
	if (!(pid = fork())) _exit(msgrcv(id, &m, 100, 7, 0) == -1 ? errno : m.text[0]);
	R(put(id, 8, "eight", 0));
	R(put(id, 7, "seven", 0));
	waitpid(pid, &st, 0);
	R(WEXITSTATUS(st));
	if (!(pid = fork())) _exit(msgrcv(id, &m, 100, 7, 0) == -1 ? errno : m.text[0]);
	usleep(50000);
	R(msgctl(id, IPC_RMID, 0));
	waitpid(pid, &st, 0);
	OK(WEXITSTATUS(st) == EIDRM || WEXITSTATUS(st) == EINVAL);
	R(put(id, 7, "seven", 0));
	R(msgctl(id, IPC_STAT, &ds));
	R(msgctl(-1, IPC_STAT, &ds));
}

int main(void) {
	setvbuf(stdout, 0, _IONBF, 0);
	memory();
	semaphores();
	queues();
	return 0;
}

// Scheduling policies of a process without privileges.
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define R(x) do { errno = 0; long r_ = (x); int e_ = errno; printf("%-60s %ld %s\n", #x, r_, r_ < 0 ? strerror(e_) : ""); } while (0)
#define RESET 0x40000000

static struct sched_param none, one = {1};

static void inherited(void) {
	if (!fork()) {
		R(sched_getscheduler(0));
		_exit(0);
	}
	wait(0);
}

int main(void) {
	setvbuf(stdout, 0, _IONBF, 0);
	if (geteuid() == 0) setuid(1000);
	R(sched_getscheduler(0));
	R(sched_getscheduler(-1));
	R(sched_getscheduler(4000000));
	R(sched_setscheduler(0, SCHED_BATCH, &none));
	R(sched_getscheduler(0));
	R(sched_setscheduler(0, SCHED_BATCH, &one));
	R(sched_setscheduler(0, SCHED_BATCH | RESET, &none));
	R(sched_getscheduler(getpid()) & ~RESET);
	inherited();
	R(sched_setscheduler(0, SCHED_BATCH, &none));
	R(sched_setscheduler(0, SCHED_OTHER | RESET, &none));
	R(sched_setscheduler(0, SCHED_IDLE, &none));
	R(sched_getscheduler(0) & ~RESET);
	R(sched_setscheduler(0, SCHED_FIFO, &one));
	R(sched_setscheduler(0, SCHED_FIFO, &none));
	R(sched_setscheduler(0, SCHED_RR, &one));
	R(sched_setscheduler(0, 77, &none));
	R(sched_setscheduler(-1, 0, &none));
	R(sched_setscheduler(4000000, 0, &none));
	R(syscall(SYS_sched_setscheduler, 0, 0, 0));
	R(syscall(SYS_sched_setscheduler, 0, 0, 1));
	struct {
		unsigned size, policy;
		unsigned long flags;
		int nice;
		unsigned priority;
		unsigned long runtime, deadline, period;
	} attr = {sizeof attr};
	R(syscall(SYS_sched_getattr, 0, &attr, sizeof attr, 0));
	printf("%u %u %lx %d %u\n", attr.size, attr.policy, attr.flags, attr.nice, attr.priority);
	attr.policy = SCHED_IDLE;
	R(syscall(SYS_sched_setattr, 0, &attr, 0));
	R(sched_getscheduler(0) & ~RESET);
	R(sched_setscheduler(0, SCHED_OTHER | RESET, &none));
	inherited();
	return 0;
}

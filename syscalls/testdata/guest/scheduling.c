// Scheduling policies of a process without privileges.
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
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

static void parameters(void) {
	struct sched_param p = {7};
	R(sched_getparam(0, &p));
	printf("%d\n", p.sched_priority);
	R(sched_getparam(-1, &p));
	R(sched_getparam(0, 0));
	R(sched_getparam(4000000, &p));
	R(sched_setparam(0, &none));
	R(sched_setparam(0, &one));
	R(sched_setparam(-1, &none));
	R(sched_setparam(4000000, &none));
	R(sched_setparam(0, 0));
	R(sched_getscheduler(getppid()));
}

static void priorities(void) {
	R(getpriority(PRIO_PROCESS, 0));
	R(getpriority(PRIO_PROCESS, getpid()));
	R(getpriority(PRIO_PGRP, 0));
	R(getpriority(PRIO_PROCESS, 4000000));
	R(getpriority(PRIO_PROCESS, -1));
	R(getpriority(PRIO_PGRP, 4000000));
	R(getpriority(PRIO_USER, 4000000));
	R(getpriority(3, 0));
	R(setpriority(PRIO_PROCESS, 0, 3));
	R(getpriority(PRIO_PROCESS, 0));
	R(setpriority(PRIO_PROCESS, getpid(), 3));
	R(setpriority(PRIO_PROCESS, 0, 2));
	R(setpriority(PRIO_PROCESS, 1, 19));
	R(setpriority(PRIO_PROCESS, 4000000, 5));
	R(setpriority(4, 0, 5));
	if (!fork()) {
		R(getpriority(PRIO_PROCESS, 0));
		R(nice(4));
		R(nice(-1));
		_exit(0);
	}
	wait(0);
	R(getpriority(PRIO_PROCESS, 0));
	R(setpriority(PRIO_PROCESS, 0, 100));
	R(getpriority(PRIO_PROCESS, 0));
	struct {
		unsigned size, policy;
		unsigned long flags;
		int nice;
		unsigned priority;
		unsigned long more[3];
	} attr = {sizeof attr};
	R(syscall(SYS_sched_getattr, 0, &attr, sizeof attr, 0));
	printf("%d\n", attr.nice);
	attr.nice = 18;
	R(syscall(SYS_sched_setattr, 0, &attr, 0));
}

// The set has the first CPU that the program may run on, whichever that is.
static void affinity(void) {
	cpu_set_t all, one, none;
	CPU_ZERO(&all);
	CPU_ZERO(&one);
	CPU_ZERO(&none);
	R(sched_getaffinity(0, sizeof all, &all));
	int first = 0;
	while (!CPU_ISSET(first, &all)) first++;
	CPU_SET(first, &one);
	R(sched_setaffinity(0, sizeof one, &one));
	R(sched_getaffinity(0, sizeof all, &all));
	printf("%d %d\n", CPU_EQUAL(&all, &one), sched_getcpu() == first);
	R(sched_setaffinity(0, sizeof none, &none));
	R(sched_setaffinity(0, 0, &one));
	R(sched_setaffinity(-1, sizeof one, &one));
	R(sched_setaffinity(4000000, sizeof one, &one));
	R(sched_setaffinity(0, sizeof one, (void *)1));
	R(sched_getaffinity(-1, sizeof all, &all));
	R(syscall(SYS_sched_getaffinity, 0, 7, &all));
	R(syscall(SYS_sched_getaffinity, 0, 9, &all));
}

static void ioPriorities(void) {
	setpgid(0, 0);
	for (int class = 1; class < 8; class++) R(syscall(SYS_ioprio_set, 1, 0, class << 13 | 3));
	R(syscall(SYS_ioprio_get, 1, 0));
	R(syscall(SYS_ioprio_set, 2, 0, 2 << 13 | 5));
	R(syscall(SYS_ioprio_get, 1, getpid()));
	if (!fork()) {
		R(syscall(SYS_ioprio_get, 1, 0));
		R(syscall(SYS_ioprio_set, 1, 0, 2 << 13 | 1));
		R(syscall(SYS_ioprio_get, 2, 0));
		_exit(0);
	}
	wait(0);
	R(syscall(SYS_ioprio_set, 1, 0, 0 << 13 | 1));
	for (int which = 0; which < 5; which += 4) {
		R(syscall(SYS_ioprio_set, which, 0, 2 << 13));
		R(syscall(SYS_ioprio_get, which, 0));
	}
	R(syscall(SYS_ioprio_set, 1, 4000000, 2 << 13));
	R(syscall(SYS_ioprio_get, 1, 4000000));
	R(syscall(SYS_ioprio_get, 1, -1));
	R(syscall(SYS_ioprio_set, 1, 0, 0));
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
	parameters();
	priorities();
	affinity();
	ioPriorities();
	return 0;
}

package linux

// Scheduling policies (sched(7)), and the flag that a child does not inherit what is privileged.
const (
	SCHED_NORMAL        = 0
	SCHED_FIFO          = 1
	SCHED_RR            = 2
	SCHED_BATCH         = 3
	SCHED_IDLE          = 5
	SCHED_DEADLINE      = 6
	SCHED_RESET_ON_FORK = 0x40000000
)

// Whom getpriority(2) and setpriority(2) are about.
const (
	PRIO_PROCESS = 0
	PRIO_PGRP    = 1
	PRIO_USER    = 2
)

// Classes of ioprio_set(2), which are above the 13 bits of the level.
const (
	IOPRIO_CLASS_NONE  = 0
	IOPRIO_CLASS_RT    = 1
	IOPRIO_CLASS_BE    = 2
	IOPRIO_CLASS_IDLE  = 3
	IOPRIO_CLASS_SHIFT = 13
)

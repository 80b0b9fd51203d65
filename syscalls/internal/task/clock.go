package task

import (
	"time"
)

// BootTime is how long the virtual machine has been up when a program starts.
const BootTime = 100 * int64(time.Second)

// What a system call takes of virtual time, in nanoseconds: less for those that a C library on Linux answers
// itself, by the vDSO, which the guest has not (RATIONALE.md, "Virtual time: one
// instruction is one nanosecond, one system call 250").
const (
	CallPrice = 250
	VdsoPrice = 25
)

// Numbers of calls that this package must know (arch/x86/entry/syscalls/syscall_64.tbl).
const (
	nrGettimeofday = 96
	nrTime         = 201
	nrClockGettime = 228
	nrClockGetres  = 229
	nrGetcpu       = 309
)

// price is what call nr takes.
func price(nr uint64) int64 {
	switch nr {
	case nrGettimeofday, nrTime, nrClockGettime, nrClockGetres, nrGetcpu:
		return VdsoPrice
	}
	return CallPrice
}

// A clock is the source of time. The virtual one counts executed instructions,
// one nanosecond each, system calls, and what sleepers skipped.
type clock struct {
	Real     bool
	Epoch    int64 // wall clock at the program's start
	start    time.Time
	skipped  int64
	System   int64 // what system calls took
	LastRead int64 // the wall clock when the guest looked at it last
}

func (c *clock) init(realTime bool, epoch time.Time) {
	c.Real, c.Epoch = realTime, epoch.UnixNano()
	c.LastRead = c.Epoch
	if realTime {
		c.start = time.Now()
		c.Epoch = c.start.UnixNano()
	}
}

// advance lets d nanoseconds pass at once.
func (c *clock) advance(d int64) {
	if d > 0 {
		c.skipped += d
	}
}

// Now is the monotonic clock: nanoseconds since the machine was started.
func (k *Kernel) Now() int64 {
	if k.Clock.Real {
		return BootTime + int64(time.Since(k.Clock.start))
	}
	return BootTime + k.Executed() + k.Clock.System + k.Clock.skipped
}

// Wall is the wall clock: nanoseconds since 1970.
func (k *Kernel) Wall() int64 { return k.Clock.Epoch - BootTime + k.Now() }

// ReadWall is wall, for the guest to see.
func (k *Kernel) ReadWall() int64 {
	k.Clock.LastRead = k.Wall()
	return k.Clock.LastRead
}

// Executed is how many instructions were executed so far.
func (k *Kernel) Executed() int64 {
	n := k.reapedTime
	for _, p := range k.Processes {
		n += p.UserTime()
	}
	return n
}

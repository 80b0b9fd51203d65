package syscalls

import "time"

// bootTime is how long the virtual machine has been up when a program starts.
const bootTime = 100 * int64(time.Second)

// What a system call takes of virtual time, in nanoseconds: less for those that a C library on Linux answers
// itself, by the vDSO, which the guest has not (RATIONALE.md, "Virtual time: one
// instruction is one nanosecond, one system call 250").
const (
	callPrice = 250
	vdsoPrice = 25
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
		return vdsoPrice
	}
	return callPrice
}

// A clock is the source of time. The virtual one counts executed instructions,
// one nanosecond each, system calls, and what sleepers skipped.
type clock struct {
	real    bool
	epoch   int64 // wall clock at the program's start
	start   time.Time
	skipped int64
	system  int64 // what system calls took
	seen    int64 // the wall clock when the guest looked at it last
}

func (c *clock) init(realTime bool, epoch time.Time) {
	c.real, c.epoch = realTime, epoch.UnixNano()
	c.seen = c.epoch
	if realTime {
		c.start = time.Now()
		c.epoch = c.start.UnixNano()
	}
}

// advance lets d nanoseconds pass at once.
func (c *clock) advance(d int64) {
	if d > 0 {
		c.skipped += d
	}
}

// now is the monotonic clock: nanoseconds since the machine was started.
func (k *Kernel) now() int64 {
	if k.clock.real {
		return bootTime + int64(time.Since(k.clock.start))
	}
	return bootTime + k.executed() + k.clock.system + k.clock.skipped
}

// wall is the wall clock: nanoseconds since 1970.
func (k *Kernel) wall() int64 { return k.clock.epoch - bootTime + k.now() }

// look is wall, for the guest to see.
func (k *Kernel) look() int64 {
	k.clock.seen = k.wall()
	return k.clock.seen
}

// executed is how many instructions were executed so far.
func (k *Kernel) executed() int64 {
	n := k.reapedTime
	for _, p := range k.procs {
		n += p.userTime()
	}
	return n
}

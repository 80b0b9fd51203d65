package task

import (
	"time"
)

// BootTime is for how long the virtual machine has been up when a program starts.
const BootTime = 100 * int64(time.Second)

// What a system call takes of virtual time, in nanoseconds. It is less for those that a C library on Linux answers
// without the kernel, by the vDSO, which the guest does not have (RATIONALE.md, "Virtual time: one instruction is one
// nanosecond, one system call 250").
const (
	// CallPrice is the price of most calls.
	CallPrice = 250
	// VdsoPrice is the price of those that Linux's vDSO answers.
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

// price is how long call nr takes, in nanoseconds.
func price(nr uint64) int64 {
	switch nr {
	case nrGettimeofday, nrTime, nrClockGettime, nrClockGetres, nrGetcpu:
		return VdsoPrice
	}
	return CallPrice
}

// A clock is the source of time. The virtual one is a sum: instructions executed, one nanosecond each, the prices of
// system calls (System), and what was skipped while all threads slept.
type clock struct {
	// Real says that time is the host's: start is when the run began.
	Real bool
	// Epoch is what the wall clock said then.
	Epoch   int64
	start   time.Time
	skipped int64
	// System is how much time system calls have taken.
	System int64
	// LastRead is the wall clock's time when the guest last read it. Files are stamped with it, so that their times do
	// not lie ahead of what the program has seen.
	LastRead int64
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

// Now is the monotonic clock: nanoseconds since the virtual machine was booted. All deadlines are on this clock.
func (k *Kernel) Now() int64 {
	if k.Clock.Real {
		return BootTime + int64(time.Since(k.Clock.start))
	}
	return BootTime + k.Executed() + k.Clock.System + k.Clock.skipped
}

// Wall is the wall clock: nanoseconds since 1970.
func (k *Kernel) Wall() int64 { return k.Clock.Epoch - BootTime + k.Now() }

// ReadWall is Wall for the guest, which has then seen it (clock.LastRead).
func (k *Kernel) ReadWall() int64 {
	k.Clock.LastRead = k.Wall()
	return k.Clock.LastRead
}

// Executed is how many instructions all processes have executed so far. It asks the machines that ran since it was
// asked last: clocks are looked at all the time, and there may be many processes that wait.
func (k *Kernel) Executed() int64 {
	running := k.unsettled[:0]
	for _, m := range k.unsettled {
		m.settle()
		if m.unsettled = m.running; m.running {
			running = append(running, m)
		}
	}
	clear(k.unsettled[len(running):])
	k.unsettled = running
	return k.executed
}

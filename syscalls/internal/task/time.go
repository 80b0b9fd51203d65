package task

import (
	"encoding/binary"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// SplitTime splits ns into seconds and nanoseconds, as struct timespec has them.
func SplitTime(ns int64) (sec, nsec int64) {
	sec, nsec = ns/1e9, ns%1e9
	if nsec < 0 {
		sec, nsec = sec-1, nsec+1e9
	}
	return sec, nsec
}

// Timespec encodes ns as a struct timespec.
func Timespec(ns int64) []byte {
	sec, nsec := SplitTime(ns)
	return pair(sec, nsec)
}

// Timeval encodes ns as a struct timeval.
func Timeval(ns int64) []byte {
	sec, nsec := SplitTime(ns)
	return pair(sec, nsec/1000)
}

// pair encodes two numbers of 64 bits. Where it is inlined it makes no garbage.
func pair(a, b int64) []byte {
	p := make([]byte, 16)
	binary.LittleEndian.PutUint64(p, uint64(a))
	binary.LittleEndian.PutUint64(p[8:], uint64(b))
	return p
}

// MaxSeconds bounds times that the guest gives, so that sums do not overflow: 200 years are as good as for ever.
const MaxSeconds = 200 * 365 * 86400

// Timespec reads a struct timespec at a, in nanoseconds.
func (t *Thread) Timespec(a emu.Addr) (int64, linux.Errno) {
	b, e := t.CopyIn(a, 16)
	if e != 0 {
		return 0, e
	}
	sec, nsec := int64(linux.Uint64(b)), int64(linux.Uint64(b[8:]))
	if sec < 0 || nsec < 0 || nsec >= 1e9 {
		return 0, linux.EINVAL
	}
	return min(sec, MaxSeconds)*1e9 + nsec, 0
}

// After is the deadline d nanoseconds from now.
func (k *Kernel) After(d int64) int64 { return later(k.Now(), d) }

// later is t + d, or Never if that overflows.
func later(t, d int64) int64 {
	if d > Never-t {
		return Never
	}
	return t + d
}

// ClockTime is what clock id shows t.
func (t *Thread) ClockTime(id int) (int64, linux.Errno) {
	switch id {
	case linux.CLOCK_REALTIME, linux.CLOCK_REALTIME_COARSE, linux.CLOCK_REALTIME_ALARM:
		return t.Kernel.ReadWall(), 0
	case linux.CLOCK_TAI:
		return t.Kernel.Wall() + 37e9, 0
	case linux.CLOCK_MONOTONIC, linux.CLOCK_MONOTONIC_RAW, linux.CLOCK_MONOTONIC_COARSE, linux.CLOCK_BOOTTIME, linux.CLOCK_BOOTTIME_ALARM:
		return t.Kernel.Now(), 0
	}
	c, ok := t.CpuClock(id)
	if !ok {
		return 0, linux.EINVAL
	}
	return c.time(), 0
}

// DeadlineOn turns a time on clock id into a deadline on Now's clock.
func (t *Thread) DeadlineOn(id int, at int64) int64 {
	now, _ := t.ClockTime(id)
	return later(t.Kernel.Now(), at-now)
}

// Rusage encodes u as a struct rusage.
func Rusage(u Usage) []byte {
	b := linux.Pack(append(Timeval(u.User), Timeval(u.System)...))
	b.U64(ResidentKiB)
	b.Zero(144 - len(b))
	return b
}

// ResidentKiB is the resident size that every process shows.
const ResidentKiB = 4096

// Sleep implements clock_nanosleep(2).
func (t *Thread) Sleep(id, flags int, req, rem emu.Addr) (uint64, linux.Errno) {
	d, e := t.Timespec(req)
	if e != 0 {
		return 0, e
	}
	abs := flags&linux.TIMER_ABSTIME != 0
	deadline := t.Kernel.After(d)
	if abs {
		deadline = t.DeadlineOn(id, d)
	}
	if deadline <= t.Kernel.Now() {
		return 0, 0
	}
	w := Wait{Deadline: deadline, OnSignal: linux.ERESTARTNOHAND}
	if !abs {
		w.OnSignal = linux.EINTR
		w.cancel = func(timeout bool) {
			if !timeout && rem != 0 {
				if e := t.CopyOut(rem, Timespec(max(deadline-t.Kernel.Now(), 0))); e != 0 {
					t.Call.Wait.OnSignal = e
				}
			}
		}
	}
	return t.Block(w, func() (uint64, linux.Errno) { return 0, 0 })
}

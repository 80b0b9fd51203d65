package task

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// A scheduling is what a thread has set by the calls of sched(7). It changes only what those calls tell: all threads
// take turns.
type scheduling struct {
	// Policy and Nice are remembered. A new thread has SCHED_OTHER and 0.
	Policy uint32
	Nice   int
	// Cpus is the affinity, nil for all.
	Cpus cpuSet
	// Memory is what set_mempolicy(2) sets.
	Memory MemoryPolicy
	// IO is nil until ioprio_set(2) is called. CLONE_IO shares it.
	IO *ioContext
}

// A MemoryPolicy says on which nodes memory is to be (numa(7)).
type MemoryPolicy struct {
	Mode uint32
	Node bool // whether the one that there is belongs to it
}

// An ioContext is what Linux's I/O schedulers know of a thread.
type ioContext struct {
	Prio uint16 // class and level of ioprio_set(2)
}

// SetIOPrio does what ioprio_set(2) does to one thread, and to those that share its context.
func (s *scheduling) SetIOPrio(prio uint16) {
	if s.IO == nil {
		s.IO = &ioContext{}
	}
	s.IO.Prio = prio
}

// IOPrio is the priority that was set last, else 0.
func (s *scheduling) IOPrio() uint16 {
	if s.IO == nil {
		return 0
	}
	return s.IO.Prio
}

// A cpuSet has a bit for each CPU of the machine. As a thread's affinity, nil stands for all.
type cpuSet []byte

// inherited is what a new thread or process, made with flags, gets of its creator's s.
func (s scheduling) inherited(flags uint64) scheduling {
	if s.Policy&linux.SCHED_RESET_ON_FORK != 0 {
		s.Policy &^= linux.SCHED_RESET_ON_FORK
		s.Nice = max(s.Nice, 0)
	}
	switch prio := s.IOPrio(); {
	case flags&linux.CLONE_IO != 0:
	case prio>>linux.IOPRIO_CLASS_SHIFT == linux.IOPRIO_CLASS_NONE:
		s.IO = nil
	default:
		s.IO = &ioContext{prio}
	}
	return s
}

// First is the lowest CPU of c, which is not empty.
func (c cpuSet) First() int {
	i := slices.IndexFunc(c, func(x byte) bool { return x != 0 })
	return 8*i + bits.TrailingZeros8(c[i])
}

// String shows c in the list format of cpuset(7), such as 0-2,5.
func (c cpuSet) String() string {
	var parts []string
	has := func(i int) bool { return i/8 < len(c) && c[i/8]>>(i%8)&1 != 0 }
	for i := 0; i < 8*len(c); i++ {
		first := i
		for has(i) {
			i++
		}
		switch i - first {
		case 0:
		case 1:
			parts = append(parts, fmt.Sprint(first))
		default:
			parts = append(parts, fmt.Sprintf("%d-%d", first, i-1))
		}
	}
	return strings.Join(parts, ",")
}

// Cpus are all CPUs that the guest sees.
func (k *Kernel) Cpus() cpuSet {
	all := make(cpuSet, (k.Config.CPUs+63)/64*8)
	for i := range k.Config.CPUs {
		all[i/8] |= 1 << (i % 8)
	}
	return all
}

// Cpus are those that t may run on.
func (t *Thread) Cpus() cpuSet {
	if t.Sched.Cpus != nil {
		return t.Sched.Cpus
	}
	return t.Kernel.Cpus()
}

// ValidDeadline reports whether sched_setattr(2) takes such times for SCHED_DEADLINE (__checkparam_dl).
func ValidDeadline(runtime, deadline, period uint64) bool {
	const least = 1024
	return deadline != 0 && runtime >= least && runtime <= deadline && (period == 0 || deadline <= period) && (deadline|period)>>63 == 0
}

package syscalls

import (
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// sysSchedGetaffinity implements sched_getaffinity(2).
func sysSchedGetaffinity(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	o, e := schedulingOf(t, a.Int(0), false)
	if e != 0 {
		return 0, linux.ESRCH
	}
	cpus := o.Cpus()
	if a.Uint(1) < uint64(len(cpus)) || a.Uint(1)%8 != 0 {
		return 0, linux.EINVAL
	}
	return uint64(len(cpus)), t.CopyOut(a.Addr(2), cpus)
}

// sysSchedSetaffinity implements sched_setaffinity(2).
func sysSchedSetaffinity(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	all := t.Kernel.Cpus()
	b, e := t.CopyIn(a.Addr(2), int(min(a.Uint(1), uint64(len(all)))))
	if e != 0 {
		return 0, e
	}
	o, e := schedulingOf(t, a.Int(0), true)
	if e == linux.EINVAL {
		e = linux.ESRCH
	}
	if e != 0 {
		return 0, e
	}
	for i := range all {
		if i >= len(b) {
			all[i] = 0
		} else {
			all[i] &= b[i]
		}
	}
	if !slices.ContainsFunc(all, func(x byte) bool { return x != 0 }) {
		return 0, linux.EINVAL
	}
	o.Sched.Cpus = all
	return 0, 0
}

// sysSchedGetparam implements sched_getparam(2): all policies that the guest may have know only priority 0.
func sysSchedGetparam(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	if a.Addr(1) == 0 {
		return 0, linux.EINVAL
	}
	if _, e := schedulingOf(t, a.Int(0), false); e != 0 {
		return 0, e
	}
	return 0, t.Out32(a.Addr(1), 0)
}

// sysSchedSetparam implements sched_setparam(2).
func sysSchedSetparam(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	o, priority, e := scheduledWith(t, a.Int(0), a.Addr(1))
	if e != 0 {
		return 0, e
	}
	return 0, setPolicy(o, o.Sched.Policy, priority)
}

// sysSchedPriorityMax implements sched_get_priority_max(2).
func sysSchedPriorityMax(_ *task.Thread, a uio.Args) (uint64, linux.Errno) {
	switch a.Int(0) {
	case linux.SCHED_FIFO, linux.SCHED_RR:
		return 99, 0
	case linux.SCHED_NORMAL, linux.SCHED_BATCH, linux.SCHED_IDLE, linux.SCHED_DEADLINE:
		return 0, 0
	}
	return 0, linux.EINVAL
}

// sysSchedPriorityMin implements sched_get_priority_min(2).
func sysSchedPriorityMin(_ *task.Thread, a uio.Args) (uint64, linux.Errno) {
	switch a.Int(0) {
	case linux.SCHED_FIFO, linux.SCHED_RR:
		return 1, 0
	case linux.SCHED_NORMAL, linux.SCHED_BATCH, linux.SCHED_IDLE, linux.SCHED_DEADLINE:
		return 0, 0
	}
	return 0, linux.EINVAL
}

// sysSchedSetscheduler implements sched_setscheduler(2). Real-time policies are for the superuser. The others are
// remembered and have no effect.
func sysSchedSetscheduler(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	if a.Int(1) < 0 {
		return 0, linux.EINVAL
	}
	o, priority, e := scheduledWith(t, a.Int(0), a.Addr(2))
	if e != 0 {
		return 0, e
	}
	return 0, setPolicy(o, a.U32(1), priority)
}

// scheduledWith finds the thread that a call is to change, and reads the struct sched_param at param.
func scheduledWith(t *task.Thread, tid int, param emu.Addr) (o *task.Thread, priority uint32, e linux.Errno) {
	if tid < 0 || param == 0 {
		return nil, 0, linux.EINVAL
	}
	if priority, e = t.In32(param); e == 0 {
		o, e = schedulingOf(t, tid, true)
	}
	return o, priority, e
}

// sysSchedGetscheduler implements sched_getscheduler(2).
func sysSchedGetscheduler(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	o, e := schedulingOf(t, a.Int(0), false)
	if e != 0 {
		return 0, e
	}
	return uint64(o.Sched.Policy), 0
}

// schedulingOf returns the thread whose scheduling a call asks for or, with change, sets; 0 names t itself. A process
// that the guest can name although it is not there was never changed, and cannot be.
func schedulingOf(t *task.Thread, tid int, change bool) (*task.Thread, linux.Errno) {
	switch {
	case tid < 0:
		return nil, linux.EINVAL
	case tid == 0:
		return t, 0
	case task.Outside(tid) && change:
		return nil, linux.EPERM
	case task.Outside(tid):
		return &task.Thread{Kernel: t.Kernel}, 0
	}
	if o := t.Kernel.FindThread(-1, tid); o != nil {
		return o, 0
	}
	return nil, linux.ESRCH
}

func setPolicy(t *task.Thread, policy, priority uint32) linux.Errno {
	const highest = 99
	switch p := policy &^ linux.SCHED_RESET_ON_FORK; {
	case priority > highest:
		return linux.EINVAL
	case (p == linux.SCHED_FIFO || p == linux.SCHED_RR) != (priority != 0) && p != linux.SCHED_DEADLINE:
		return linux.EINVAL
	case p == linux.SCHED_DEADLINE:
		return linux.EINVAL // SCHED_DEADLINE needs times, which this call cannot give
	case p == linux.SCHED_FIFO || p == linux.SCHED_RR:
		return linux.EPERM
	case p != linux.SCHED_NORMAL && p != linux.SCHED_BATCH && p != linux.SCHED_IDLE:
		return linux.EINVAL
	case t.Sched.Policy&^policy&linux.SCHED_RESET_ON_FORK != 0, t.Sched.Policy&^linux.SCHED_RESET_ON_FORK == linux.SCHED_IDLE && p != linux.SCHED_IDLE:
		return linux.EPERM // a higher priority is for the superuser
	}
	t.Sched.Policy = policy
	return 0
}

// schedAttrSize is the size of the first version of struct sched_attr.
const schedAttrSize = 48

// sysSchedGetattr implements sched_getattr(2).
func sysSchedGetattr(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	if a.U32(2) < schedAttrSize || a.U32(2) > emu.PageSize || a.U32(3) != 0 {
		return 0, linux.EINVAL
	}
	o, e := schedulingOf(t, a.Int(0), false)
	if e != 0 {
		return 0, e
	}
	b := make([]byte, schedAttrSize)
	linux.PutUint32(b, schedAttrSize)
	linux.PutUint32(b[4:], o.Sched.Policy&^linux.SCHED_RESET_ON_FORK)
	linux.PutUint32(b[8:], o.Sched.Policy/linux.SCHED_RESET_ON_FORK)
	linux.PutUint32(b[16:], uint32(o.Sched.Nice))
	return 0, t.CopyOut(a.Addr(1), b)
}

// sysSchedSetattr implements sched_setattr(2).
func sysSchedSetattr(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	if a.Addr(1) == 0 || a.Int(0) < 0 || a.U32(2) != 0 {
		return 0, linux.EINVAL
	}
	b, e := t.CopyIn(a.Addr(1), schedAttrSize)
	if e != 0 {
		return 0, e
	}
	if size := linux.Uint32(b); size != 0 && size < schedAttrSize || size > emu.PageSize {
		return 0, linux.E2BIG
	}
	o, e := schedulingOf(t, a.Int(0), true)
	if e != 0 {
		return 0, e
	}
	policy, nice := linux.Uint32(b[4:]), min(max(int(int32(linux.Uint32(b[16:]))), -20), 19)
	fair := policy == linux.SCHED_NORMAL || policy == linux.SCHED_BATCH
	if fair && nice < o.Sched.Nice {
		return 0, linux.EPERM
	}
	if policy == linux.SCHED_DEADLINE && task.ValidDeadline(linux.Uint64(b[24:]), linux.Uint64(b[32:]), linux.Uint64(b[40:])) {
		return 0, linux.EPERM
	}
	if e := setPolicy(o, policy|linux.Uint32(b[8:])&1*linux.SCHED_RESET_ON_FORK, linux.Uint32(b[20:])); e != 0 {
		return 0, e
	}
	if fair {
		o.Sched.Nice = nice
	}
	return 0, 0
}

// sysSchedRrGetInterval implements sched_rr_get_interval(2).
func sysSchedRrGetInterval(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	if _, e := schedulingOf(t, a.Int(0), false); e != 0 {
		return 0, e
	}
	return 0, t.CopyOut(a.Addr(1), task.Timespec(4_000_000))
}

// prioritized returns the threads that the arguments of getpriority(2) and setpriority(2) name: one thread, or those of
// a process group or a user.
func prioritized(t *task.Thread, which, who int, change bool) (threads []*task.Thread, e linux.Errno) {
	switch which {
	case linux.PRIO_PROCESS:
		o, e := schedulingOf(t, who, change)
		if e == linux.EINVAL {
			e = linux.ESRCH
		}
		return []*task.Thread{o}, e
	case linux.PRIO_PGRP, linux.PRIO_USER:
	default:
		return nil, linux.EINVAL
	}
	for _, p := range t.Kernel.Processes {
		in := which == linux.PRIO_USER && (who == 0 || who == int(t.Kernel.UID)) || which == linux.PRIO_PGRP && (who == p.PGID || who == 0 && p.PGID == t.Process.PGID)
		for _, o := range p.Threads {
			if in && !o.Dead {
				threads = append(threads, o)
			}
		}
	}
	if len(threads) == 0 {
		return nil, linux.ESRCH
	}
	return threads, 0
}

// sysGetpriority implements getpriority(2). Its result is 20 minus the lowest nice value.
func sysGetpriority(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	threads, e := prioritized(t, a.Int(0), a.Int(1), false)
	if e != 0 {
		return 0, e
	}
	least := slices.MinFunc(threads, func(a, b *task.Thread) int { return a.Sched.Nice - b.Sched.Nice })
	return uint64(20 - least.Sched.Nice), 0
}

// sysSetpriority implements setpriority(2).
func sysSetpriority(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	threads, e := prioritized(t, a.Int(0), a.Int(1), true)
	if e != 0 {
		return 0, e
	}
	nice := min(max(a.Int(2), -20), 19)
	for _, o := range threads {
		if nice < o.Sched.Nice {
			e = linux.EACCES // RLIMIT_NICE, which is 0, allows no lower value
			continue
		}
		o.Sched.Nice = nice
	}
	return 0, e
}

// sysIoprioSet implements ioprio_set(2). It names processes as setpriority(2) does, by numbers that are 1 higher.
func sysIoprioSet(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	prio := a.U32(2)
	switch class, level := prio>>linux.IOPRIO_CLASS_SHIFT&7, prio&7; {
	case class == linux.IOPRIO_CLASS_RT:
		return 0, linux.EPERM
	case class > linux.IOPRIO_CLASS_IDLE, class == linux.IOPRIO_CLASS_NONE && level != 0:
		return 0, linux.EINVAL
	}
	threads, e := prioritized(t, a.Int(0)-1, a.Int(1), true)
	if e != 0 {
		return 0, e
	}
	for _, o := range threads {
		o.Sched.SetIOPrio(uint16(prio))
	}
	return 0, 0
}

// sysIoprioGet implements ioprio_get(2): the highest priority of several threads. One that was never set follows from
// the nice value.
func sysIoprioGet(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	threads, e := prioritized(t, a.Int(0)-1, a.Int(1), false)
	if e != 0 {
		return 0, e
	}
	if a.Int(0)-1 == linux.PRIO_PROCESS {
		return uint64(threads[0].Sched.IOPrio()), 0
	}
	best := uint64(linux.IOPRIO_CLASS_IDLE<<linux.IOPRIO_CLASS_SHIFT | 7)
	for _, o := range threads {
		prio := uint64(o.Sched.IOPrio())
		if prio>>linux.IOPRIO_CLASS_SHIFT == linux.IOPRIO_CLASS_NONE {
			prio = linux.IOPRIO_CLASS_BE<<linux.IOPRIO_CLASS_SHIFT | uint64(o.Sched.Nice+20)/5
		}
		best = min(best, prio)
	}
	return best, 0
}

package syscalls

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// A scheduling is what sched(7) lets a thread say about when it runs. It changes nothing but what the guest is told: all
// threads take turns.
type scheduling struct {
	policy uint32
	nice   int
	cpus   cpuSet
	ioprio uint16 // class and level of ioprio_set(2)
}

// A cpuSet has a bit for each CPU of the machine; nil has all.
type cpuSet []byte

// inherited is what a child has of s.
func (s scheduling) inherited() scheduling {
	if s.policy&linux.SCHED_RESET_ON_FORK != 0 {
		s.policy &^= linux.SCHED_RESET_ON_FORK
		s.nice = max(s.nice, 0)
	}
	return s
}

// first returns the lowest CPU.
func (c cpuSet) first() int {
	i := slices.IndexFunc(c, func(x byte) bool { return x != 0 })
	return 8*i + bits.TrailingZeros8(c[i])
}

// String is the list format of cpuset(7).
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

// cpus is the set of all CPUs.
func (k *Kernel) cpus() cpuSet {
	all := make(cpuSet, (k.cfg.CPUs+63)/64*8)
	for i := range k.cfg.CPUs {
		all[i/8] |= 1 << (i % 8)
	}
	return all
}

// cpus is the set of CPUs a thread may run on.
func (t *Thread) cpus() cpuSet {
	if t.sched.cpus != nil {
		return t.sched.cpus
	}
	return t.k.cpus()
}

// sysSchedGetaffinity implements sched_getaffinity(2).
func sysSchedGetaffinity(t *Thread, a Args) (uint64, linux.Errno) {
	o, e := t.scheduled(a.Int(0), false)
	if e != 0 {
		return 0, linux.ESRCH
	}
	cpus := o.cpus()
	if a.Uint(1) < uint64(len(cpus)) || a.Uint(1)%8 != 0 {
		return 0, linux.EINVAL
	}
	return uint64(len(cpus)), t.copyOut(a.Addr(2), cpus)
}

// sysSchedSetaffinity implements sched_setaffinity(2).
func sysSchedSetaffinity(t *Thread, a Args) (uint64, linux.Errno) {
	all := t.k.cpus()
	b, e := t.copyIn(a.Addr(2), int(min(a.Uint(1), uint64(len(all)))))
	if e != 0 {
		return 0, e
	}
	o, e := t.scheduled(a.Int(0), true)
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
	o.sched.cpus = all
	return 0, 0
}

// sysSchedGetparam implements sched_getparam(2): the policies that the guest may have know priority 0 alone.
func sysSchedGetparam(t *Thread, a Args) (uint64, linux.Errno) {
	if a.Addr(1) == 0 {
		return 0, linux.EINVAL
	}
	if _, e := t.scheduled(a.Int(0), false); e != 0 {
		return 0, e
	}
	return 0, t.out32(a.Addr(1), 0)
}

// sysSchedSetparam implements sched_setparam(2).
func sysSchedSetparam(t *Thread, a Args) (uint64, linux.Errno) {
	o, priority, e := t.scheduledWith(a.Int(0), a.Addr(1))
	if e != 0 {
		return 0, e
	}
	return 0, o.setPolicy(o.sched.policy, priority)
}

// sysSchedPriorityMax implements sched_get_priority_max(2).
func sysSchedPriorityMax(_ *Thread, a Args) (uint64, linux.Errno) {
	switch a.Int(0) {
	case linux.SCHED_FIFO, linux.SCHED_RR:
		return 99, 0
	case linux.SCHED_NORMAL, linux.SCHED_BATCH, linux.SCHED_IDLE, linux.SCHED_DEADLINE:
		return 0, 0
	}
	return 0, linux.EINVAL
}

// sysSchedPriorityMin implements sched_get_priority_min(2).
func sysSchedPriorityMin(_ *Thread, a Args) (uint64, linux.Errno) {
	switch a.Int(0) {
	case linux.SCHED_FIFO, linux.SCHED_RR:
		return 1, 0
	case linux.SCHED_NORMAL, linux.SCHED_BATCH, linux.SCHED_IDLE, linux.SCHED_DEADLINE:
		return 0, 0
	}
	return 0, linux.EINVAL
}

// sysSchedSetscheduler implements sched_setscheduler(2): real-time classes are for the superuser, and the others
// have no effect but that sched_getscheduler tells of them.
func sysSchedSetscheduler(t *Thread, a Args) (uint64, linux.Errno) {
	if a.Int(1) < 0 {
		return 0, linux.EINVAL
	}
	o, priority, e := t.scheduledWith(a.Int(0), a.Addr(2))
	if e != 0 {
		return 0, e
	}
	return 0, o.setPolicy(a.U32(1), priority)
}

// scheduledWith finds the thread to change and the priority at param, a struct sched_param.
func (t *Thread) scheduledWith(tid int, param emu.Addr) (o *Thread, priority uint32, e linux.Errno) {
	if tid < 0 || param == 0 {
		return nil, 0, linux.EINVAL
	}
	if priority, e = t.in32(param); e == 0 {
		o, e = t.scheduled(tid, true)
	}
	return o, priority, e
}

// sysSchedGetscheduler implements sched_getscheduler(2).
func sysSchedGetscheduler(t *Thread, a Args) (uint64, linux.Errno) {
	o, e := t.scheduled(a.Int(0), false)
	if e != 0 {
		return 0, e
	}
	return uint64(o.sched.policy), 0
}

// scheduled finds the thread that an argument names, 0 being t. Those of processes that are not there have never
// been changed, and cannot be.
func (t *Thread) scheduled(tid int, change bool) (*Thread, linux.Errno) {
	switch {
	case tid < 0:
		return nil, linux.EINVAL
	case tid == 0:
		return t, 0
	case absent(tid) && change:
		return nil, linux.EPERM
	case absent(tid):
		return &Thread{k: t.k}, 0
	}
	if o := t.k.findThread(-1, tid); o != nil {
		return o, 0
	}
	return nil, linux.ESRCH
}

// validDeadline reports whether sched_setattr(2) takes such times for SCHED_DEADLINE (__checkparam_dl).
func validDeadline(runtime, deadline, period uint64) bool {
	const least = 1024
	return deadline != 0 && runtime >= least && runtime <= deadline && (period == 0 || deadline <= period) && (deadline|period)>>63 == 0
}

func (t *Thread) setPolicy(policy, priority uint32) linux.Errno {
	const highest = 99
	switch p := policy &^ linux.SCHED_RESET_ON_FORK; {
	case priority > highest:
		return linux.EINVAL
	case (p == linux.SCHED_FIFO || p == linux.SCHED_RR) != (priority != 0) && p != linux.SCHED_DEADLINE:
		return linux.EINVAL
	case p == linux.SCHED_DEADLINE:
		return linux.EINVAL // without its times
	case p == linux.SCHED_FIFO || p == linux.SCHED_RR:
		return linux.EPERM
	case p != linux.SCHED_NORMAL && p != linux.SCHED_BATCH && p != linux.SCHED_IDLE:
		return linux.EINVAL
	case t.sched.policy&^policy&linux.SCHED_RESET_ON_FORK != 0, t.sched.policy&^linux.SCHED_RESET_ON_FORK == linux.SCHED_IDLE && p != linux.SCHED_IDLE:
		return linux.EPERM // nobody gets more than he has
	}
	t.sched.policy = policy
	return 0
}

// schedAttrSize is struct sched_attr without what came later.
const schedAttrSize = 48

// sysSchedGetattr implements sched_getattr(2).
func sysSchedGetattr(t *Thread, a Args) (uint64, linux.Errno) {
	if a.U32(2) < schedAttrSize || a.U32(2) > emu.PageSize || a.U32(3) != 0 {
		return 0, linux.EINVAL
	}
	o, e := t.scheduled(a.Int(0), false)
	if e != 0 {
		return 0, e
	}
	b := make([]byte, schedAttrSize)
	put32(b, schedAttrSize)
	put32(b[4:], o.sched.policy&^linux.SCHED_RESET_ON_FORK)
	put32(b[8:], o.sched.policy/linux.SCHED_RESET_ON_FORK)
	put32(b[16:], uint32(o.sched.nice))
	return 0, t.copyOut(a.Addr(1), b)
}

// sysSchedSetattr implements sched_setattr(2).
func sysSchedSetattr(t *Thread, a Args) (uint64, linux.Errno) {
	if a.Addr(1) == 0 || a.Int(0) < 0 || a.U32(2) != 0 {
		return 0, linux.EINVAL
	}
	b, e := t.copyIn(a.Addr(1), schedAttrSize)
	if e != 0 {
		return 0, e
	}
	if size := le32(b); size != 0 && size < schedAttrSize || size > emu.PageSize {
		return 0, linux.E2BIG
	}
	o, e := t.scheduled(a.Int(0), true)
	if e != 0 {
		return 0, e
	}
	policy, nice := le32(b[4:]), min(max(int(int32(le32(b[16:]))), -20), 19)
	fair := policy == linux.SCHED_NORMAL || policy == linux.SCHED_BATCH
	if fair && nice < o.sched.nice {
		return 0, linux.EPERM
	}
	if policy == linux.SCHED_DEADLINE && validDeadline(le64(b[24:]), le64(b[32:]), le64(b[40:])) {
		return 0, linux.EPERM
	}
	if e := o.setPolicy(policy|le32(b[8:])&1*linux.SCHED_RESET_ON_FORK, le32(b[20:])); e != 0 {
		return 0, e
	}
	if fair {
		o.sched.nice = nice
	}
	return 0, 0
}

// sysSchedRrGetInterval implements sched_rr_get_interval(2).
func sysSchedRrGetInterval(t *Thread, a Args) (uint64, linux.Errno) {
	if _, e := t.scheduled(a.Int(0), false); e != 0 {
		return 0, e
	}
	return 0, t.copyOut(a.Addr(1), timespec(4_000_000))
}

// prioritized returns the threads that the arguments of getpriority(2) and setpriority(2) name: a thread, those of a process
// group, or those of a user.
func (t *Thread) prioritized(which, who int, change bool) (threads []*Thread, e linux.Errno) {
	switch which {
	case linux.PRIO_PROCESS:
		o, e := t.scheduled(who, change)
		if e == linux.EINVAL {
			e = linux.ESRCH
		}
		return []*Thread{o}, e
	case linux.PRIO_PGRP, linux.PRIO_USER:
	default:
		return nil, linux.EINVAL
	}
	for _, p := range t.k.procs {
		in := which == linux.PRIO_USER && (who == 0 || who == int(t.k.uid)) || which == linux.PRIO_PGRP && (who == p.pgid || who == 0 && p.pgid == t.p.pgid)
		for _, o := range p.threads {
			if in && !o.dead {
				threads = append(threads, o)
			}
		}
	}
	if len(threads) == 0 {
		return nil, linux.ESRCH
	}
	return threads, 0
}

// sysGetpriority implements getpriority(2): 20 minus the least nice value.
func sysGetpriority(t *Thread, a Args) (uint64, linux.Errno) {
	threads, e := t.prioritized(a.Int(0), a.Int(1), false)
	if e != 0 {
		return 0, e
	}
	least := slices.MinFunc(threads, func(a, b *Thread) int { return a.sched.nice - b.sched.nice })
	return uint64(20 - least.sched.nice), 0
}

// sysSetpriority implements setpriority(2).
func sysSetpriority(t *Thread, a Args) (uint64, linux.Errno) {
	threads, e := t.prioritized(a.Int(0), a.Int(1), true)
	if e != 0 {
		return 0, e
	}
	nice := min(max(a.Int(2), -20), 19)
	for _, o := range threads {
		if nice < o.sched.nice {
			e = linux.EACCES // RLIMIT_NICE is 0
			continue
		}
		o.sched.nice = nice
	}
	return 0, e
}

// sysIoprioSet implements ioprio_set(2). Its ways to name processes are those of setpriority(2), plus 1.
func sysIoprioSet(t *Thread, a Args) (uint64, linux.Errno) {
	prio := a.U32(2)
	switch class, level := prio>>linux.IOPRIO_CLASS_SHIFT&7, prio&7; {
	case class == linux.IOPRIO_CLASS_RT:
		return 0, linux.EPERM
	case class > linux.IOPRIO_CLASS_IDLE, class == linux.IOPRIO_CLASS_NONE && level != 0:
		return 0, linux.EINVAL
	}
	threads, e := t.prioritized(a.Int(0)-1, a.Int(1), true)
	if e != 0 {
		return 0, e
	}
	for _, o := range threads {
		o.sched.ioprio = uint16(prio)
	}
	return 0, 0
}

// sysIoprioGet implements ioprio_get(2): of several processes the highest priority, which without one set follows from the nice value.
func sysIoprioGet(t *Thread, a Args) (uint64, linux.Errno) {
	threads, e := t.prioritized(a.Int(0)-1, a.Int(1), false)
	if e != 0 {
		return 0, e
	}
	if a.Int(0)-1 == linux.PRIO_PROCESS {
		return uint64(threads[0].sched.ioprio), 0
	}
	best := uint64(linux.IOPRIO_CLASS_IDLE<<linux.IOPRIO_CLASS_SHIFT | 7)
	for _, o := range threads {
		prio := uint64(o.sched.ioprio)
		if prio>>linux.IOPRIO_CLASS_SHIFT == linux.IOPRIO_CLASS_NONE {
			prio = linux.IOPRIO_CLASS_BE<<linux.IOPRIO_CLASS_SHIFT | uint64(o.sched.nice+20)/5
		}
		best = min(best, prio)
	}
	return best, 0
}

package syscalls

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
)

// Everything about users and groups is made up: one user, one group.

func sysGetpid(t *Thread, _ Args) (uint64, linux.Errno)  { return uint64(t.p.pid), 0 }
func sysGettid(t *Thread, _ Args) (uint64, linux.Errno)  { return uint64(t.tid), 0 }
func sysGetuid(t *Thread, _ Args) (uint64, linux.Errno)  { return uint64(t.k.uid), 0 }
func sysGetgid(t *Thread, _ Args) (uint64, linux.Errno)  { return uint64(t.k.gid), 0 }
func sysGetpgrp(t *Thread, _ Args) (uint64, linux.Errno) { return uint64(t.p.pgid), 0 }

// sysGetppid implements getppid(2).
func sysGetppid(t *Thread, _ Args) (uint64, linux.Errno) { return uint64(t.p.ppid()), 0 }

// named finds the process that an argument names, 0 being one's own.
func (t *Thread) named(pid int) *Process {
	if pid == 0 {
		return t.p
	}
	return t.k.processOf(pid)
}

// processOf finds a process by its id or that of one of its threads: Linux has one table for both.
func (k *Kernel) processOf(id int) *Process {
	if p := k.process(id); p != nil {
		return p
	}
	if t := k.findThread(-1, id); t != nil {
		return t.p
	}
	return nil
}

// sysGetpgid implements getpgid(2).
func sysGetpgid(t *Thread, a Args) (uint64, linux.Errno) {
	if absent(a.Int(0)) {
		return a.Uint(0), 0
	}
	p := t.named(a.Int(0))
	if p == nil {
		return 0, linux.ESRCH
	}
	return uint64(p.pgid), 0
}

// sysGetsid implements getsid(2).
func sysGetsid(t *Thread, a Args) (uint64, linux.Errno) {
	if absent(a.Int(0)) {
		return a.Uint(0), 0
	}
	p := t.named(a.Int(0))
	if p == nil {
		return 0, linux.ESRCH
	}
	return uint64(p.sid), 0
}

// sysSetpgid implements setpgid(2).
func sysSetpgid(t *Thread, a Args) (uint64, linux.Errno) {
	p, pgid := t.named(a.Int(0)), a.Int(1)
	if pgid < 0 {
		return 0, linux.EINVAL
	}
	switch {
	case p == nil, p != t.p && p.parent != t.p && p.pid == a.Int(0):
		return 0, linux.ESRCH
	case a.Int(0) != 0 && p.pid != a.Int(0):
		return 0, linux.EINVAL // a thread that is no process' first
	}
	if pgid == 0 {
		pgid = p.pid
	}
	switch {
	case p != t.p && p.sid != t.p.sid, p.sid == p.pid:
		return 0, linux.EPERM
	case p != t.p && p.executed:
		return 0, linux.EACCES
	case pgid != p.pid && !slices.ContainsFunc(t.k.procs, func(o *Process) bool { return o.pgid == pgid && o.sid == p.sid }):
		return 0, linux.EPERM
	}
	p.pgid = pgid
	return 0, 0
}

// sysSetsid implements setsid(2).
func sysSetsid(t *Thread, _ Args) (uint64, linux.Errno) {
	p := t.p
	if slices.ContainsFunc(t.k.procs, func(o *Process) bool { return o.pgid == p.pid }) {
		return 0, linux.EPERM
	}
	p.pgid, p.sid, p.tty = p.pid, p.pid, nil
	return uint64(p.pid), 0
}

// sysSetuid implements setuid(2): to what one is.
func sysSetuid(t *Thread, a Args) (uint64, linux.Errno) { return 0, become(t.k.uid, a.U32(0)) }

// sysSetgid implements setgid(2).
func sysSetgid(t *Thread, a Args) (uint64, linux.Errno) { return 0, become(t.k.gid, a.U32(0)) }

// become is allAre for one id that must be one.
func become(own, id uint32) linux.Errno {
	if id == 1<<32-1 {
		return linux.EINVAL
	}
	return allAre(own, id)
}

// sysSetreuid implements setreuid(2).
func sysSetreuid(t *Thread, a Args) (uint64, linux.Errno) {
	return 0, allAre(t.k.uid, a.U32(0), a.U32(1))
}

// sysSetregid implements setregid(2).
func sysSetregid(t *Thread, a Args) (uint64, linux.Errno) {
	return 0, allAre(t.k.gid, a.U32(0), a.U32(1))
}

// sysSetresuid implements setresuid(2).
func sysSetresuid(t *Thread, a Args) (uint64, linux.Errno) {
	return 0, allAre(t.k.uid, a.U32(0), a.U32(1), a.U32(2))
}

// sysSetresgid implements setresgid(2).
func sysSetresgid(t *Thread, a Args) (uint64, linux.Errno) {
	return 0, allAre(t.k.gid, a.U32(0), a.U32(1), a.U32(2))
}

// allAre is EPERM unless all ids are own, or -1, which leaves an id as it is.
func allAre(own uint32, ids ...uint32) linux.Errno {
	const leave = 1<<32 - 1
	for _, id := range ids {
		if id != leave && id != own {
			return linux.EPERM
		}
	}
	return 0
}

// sysSetfsuid implements setfsuid(2), which returns the old id.
func sysSetfsuid(t *Thread, _ Args) (uint64, linux.Errno) { return uint64(t.k.uid), 0 }

// sysSetfsgid implements setfsgid(2).
func sysSetfsgid(t *Thread, _ Args) (uint64, linux.Errno) { return uint64(t.k.gid), 0 }

// sysGetresuid implements getresuid(2).
func sysGetresuid(t *Thread, a Args) (uint64, linux.Errno) { return t.threeIDs(a, t.k.uid) }

// sysGetresgid implements getresgid(2).
func sysGetresgid(t *Thread, a Args) (uint64, linux.Errno) { return t.threeIDs(a, t.k.gid) }

func (t *Thread) threeIDs(a Args, id uint32) (uint64, linux.Errno) {
	for i := range 3 {
		if e := t.out32(a.Addr(i), id); e != 0 {
			return 0, e
		}
	}
	return 0, 0
}

// sysGetgroups implements getgroups(2): the one group.
func sysGetgroups(t *Thread, a Args) (uint64, linux.Errno) {
	switch n := a.Int(0); {
	case n < 0:
		return 0, linux.EINVAL
	case n > 0:
		return 1, t.out32(a.Addr(1), t.k.gid)
	}
	return 1, 0
}

// capHeader reads the header of capget(2) and capset(2). Size is that of the sets that follow.
func (t *Thread) capHeader(at emu.Addr) (pid, size int, e linux.Errno) {
	const version1, version2, version3 = 0x19980330, 0x20071026, 0x20080522
	v, e := t.in32(at)
	if e != 0 {
		return 0, 0, e
	}
	size = 24
	switch v {
	case version1:
		size = 12
	case version2, version3:
	default:
		if e := t.out32(at, version3); e != 0 {
			return 0, 0, e
		}
		return 0, 0, linux.EINVAL
	}
	n, e := t.in32(at + 4)
	return int(int32(n)), size, e
}

// sysCapget implements capget(2): no capabilities.
func sysCapget(t *Thread, a Args) (uint64, linux.Errno) {
	pid, size, e := t.capHeader(a.Addr(0))
	switch {
	case e == linux.EINVAL && a.Addr(1) == 0:
		return 0, 0 // it asks for the version
	case e != 0:
		return 0, e
	case pid < 0:
		return 0, linux.EINVAL
	case pid != 0 && t.k.processOf(pid) == nil:
		return 0, linux.ESRCH
	}
	return 0, t.copyOutIf(a.Addr(1), make([]byte, size))
}

// sysCapset implements capset(2): from no capabilities to none.
func sysCapset(t *Thread, a Args) (uint64, linux.Errno) {
	pid, size, e := t.capHeader(a.Addr(0))
	if e != 0 {
		return 0, e
	}
	if pid != 0 && pid != t.p.pid {
		return 0, linux.EPERM
	}
	sets, e := t.copyIn(a.Addr(1), size)
	if e != 0 {
		return 0, e
	}
	for i := 0; i < size; i += 4 {
		set := uint32(math.MaxUint32)
		if i >= 12 {
			set = 1<<(41-32) - 1 // there are no others
		}
		if binary.LittleEndian.Uint32(sets[i:])&set != 0 {
			return 0, linux.EPERM
		}
	}
	return 0, 0
}

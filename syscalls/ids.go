package syscalls

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/cgemu/cgemu/emu"
	"github.com/cgemu/cgemu/syscalls/internal/files"
	"github.com/cgemu/cgemu/syscalls/internal/linux"
	"github.com/cgemu/cgemu/syscalls/internal/task"
	"github.com/cgemu/cgemu/syscalls/internal/uio"
)

// This file has the calls about ids of processes, users and groups. There is one user and one group.

func sysGetpid(t *task.Thread, _ uio.Args) (uint64, linux.Errno) { return uint64(t.Process.PID), 0 }

func sysGettid(t *task.Thread, _ uio.Args) (uint64, linux.Errno) { return uint64(t.TID), 0 }

func sysGetuid(t *task.Thread, _ uio.Args) (uint64, linux.Errno) { return uint64(t.Kernel.UID), 0 }

func sysGetgid(t *task.Thread, _ uio.Args) (uint64, linux.Errno) { return uint64(t.Kernel.GID), 0 }

func sysGetpgrp(t *task.Thread, _ uio.Args) (uint64, linux.Errno) { return uint64(t.Process.PGID), 0 }

// sysGetppid implements getppid(2).
func sysGetppid(t *task.Thread, _ uio.Args) (uint64, linux.Errno) { return uint64(t.Process.Ppid()), 0 }

// named finds the process that an argument names, 0 being t's own.
func named(t *task.Thread, pid int) *task.Process {
	if pid == 0 {
		return t.Process
	}
	return processOf(t.Kernel, pid)
}

// processOf finds a process by its id or by that of one of its threads: Linux has one table for both.
func processOf(k *task.Kernel, id int) *task.Process {
	if p := k.Process(id); p != nil {
		return p
	}
	if t := k.FindThread(-1, id); t != nil {
		return t.Process
	}
	return nil
}

// sysGetpgid implements getpgid(2).
func sysGetpgid(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	if task.Outside(a.Int(0)) {
		return a.Uint(0), 0
	}
	p := named(t, a.Int(0))
	if p == nil {
		return 0, linux.ESRCH
	}
	return uint64(p.PGID), 0
}

// sysGetsid implements getsid(2).
func sysGetsid(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	if task.Outside(a.Int(0)) {
		return a.Uint(0), 0
	}
	p := named(t, a.Int(0))
	if p == nil {
		return 0, linux.ESRCH
	}
	return uint64(p.SID), 0
}

// sysSetpgid implements setpgid(2).
func sysSetpgid(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	p, pgid := named(t, a.Int(0)), a.Int(1)
	if pgid < 0 {
		return 0, linux.EINVAL
	}
	switch {
	case p == nil, p != t.Process && p.Parent != t.Process && p.PID == a.Int(0):
		return 0, linux.ESRCH
	case a.Int(0) != 0 && p.PID != a.Int(0):
		return 0, linux.EINVAL // a thread's id that is not a process' id
	}
	if pgid == 0 {
		pgid = p.PID
	}
	switch {
	case p != t.Process && p.SID != t.Process.SID, p.SID == p.PID:
		return 0, linux.EPERM
	case p != t.Process && p.Executed:
		return 0, linux.EACCES
	case pgid != p.PID && !slices.ContainsFunc(t.Kernel.Processes, func(o *task.Process) bool { return o.PGID == pgid && o.SID == p.SID }):
		return 0, linux.EPERM
	}
	p.PGID = pgid
	return 0, 0
}

// sysSetsid implements setsid(2).
func sysSetsid(t *task.Thread, _ uio.Args) (uint64, linux.Errno) {
	p := t.Process
	if slices.ContainsFunc(t.Kernel.Processes, func(o *task.Process) bool { return o.PGID == p.PID }) {
		return 0, linux.EPERM
	}
	p.PGID, p.SID, p.Tty = p.PID, p.PID, nil
	return uint64(p.PID), 0
}

// sysSetuid implements setuid(2): the only id to change to is one's own.
func sysSetuid(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return 0, become(t.Kernel.UID, a.U32(0))
}

// sysSetgid implements setgid(2).
func sysSetgid(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return 0, become(t.Kernel.GID, a.U32(0))
}

// become is the result of setuid(2) and setgid(2), own being the only id there is.
func become(own, id uint32) linux.Errno {
	if id == 1<<32-1 {
		return linux.EINVAL
	}
	return files.AllAre(own, id)
}

// sysSetreuid implements setreuid(2).
func sysSetreuid(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return 0, files.AllAre(t.Kernel.UID, a.U32(0), a.U32(1))
}

// sysSetregid implements setregid(2).
func sysSetregid(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return 0, files.AllAre(t.Kernel.GID, a.U32(0), a.U32(1))
}

// sysSetresuid implements setresuid(2).
func sysSetresuid(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return 0, files.AllAre(t.Kernel.UID, a.U32(0), a.U32(1), a.U32(2))
}

// sysSetresgid implements setresgid(2).
func sysSetresgid(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return 0, files.AllAre(t.Kernel.GID, a.U32(0), a.U32(1), a.U32(2))
}

// sysSetfsuid implements setfsuid(2), which returns the old id.
func sysSetfsuid(t *task.Thread, _ uio.Args) (uint64, linux.Errno) { return uint64(t.Kernel.UID), 0 }

// sysSetfsgid implements setfsgid(2).
func sysSetfsgid(t *task.Thread, _ uio.Args) (uint64, linux.Errno) { return uint64(t.Kernel.GID), 0 }

// sysGetresuid implements getresuid(2).
func sysGetresuid(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return threeIDs(t, a, t.Kernel.UID)
}

// sysGetresgid implements getresgid(2).
func sysGetresgid(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	return threeIDs(t, a, t.Kernel.GID)
}

func threeIDs(t *task.Thread, a uio.Args, id uint32) (uint64, linux.Errno) {
	for i := range 3 {
		if e := t.Out32(a.Addr(i), id); e != 0 {
			return 0, e
		}
	}
	return 0, 0
}

// sysGetgroups implements getgroups(2): the one group.
func sysGetgroups(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	switch n := a.Int(0); {
	case n < 0:
		return 0, linux.EINVAL
	case n > 0:
		return 1, t.Out32(a.Addr(1), t.Kernel.GID)
	}
	return 1, 0
}

// capHeader reads the header of capget(2) and capset(2). size is that of the sets that follow it.
func capHeader(t *task.Thread, at emu.Addr) (pid, size int, e linux.Errno) {
	const version1, version2, version3 = 0x19980330, 0x20071026, 0x20080522
	v, e := t.In32(at)
	if e != 0 {
		return 0, 0, e
	}
	size = 24
	switch v {
	case version1:
		size = 12
	case version2, version3:
	default:
		if e := t.Out32(at, version3); e != 0 {
			return 0, 0, e
		}
		return 0, 0, linux.EINVAL
	}
	n, e := t.In32(at + 4)
	return int(int32(n)), size, e
}

// sysCapget implements capget(2): no process has a capability.
func sysCapget(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	pid, size, e := capHeader(t, a.Addr(0))
	switch {
	case e == linux.EINVAL && a.Addr(1) == 0:
		return 0, 0 // the caller only asks which version there is
	case e != 0:
		return 0, e
	case pid < 0:
		return 0, linux.EINVAL
	case pid != 0 && processOf(t.Kernel, pid) == nil:
		return 0, linux.ESRCH
	}
	return 0, t.CopyOutIf(a.Addr(1), make([]byte, size))
}

// sysCapset implements capset(2): a process that has no capabilities cannot get any.
func sysCapset(t *task.Thread, a uio.Args) (uint64, linux.Errno) {
	pid, size, e := capHeader(t, a.Addr(0))
	if e != 0 {
		return 0, e
	}
	if pid != 0 && pid != t.Process.PID {
		return 0, linux.EPERM
	}
	sets, e := t.CopyIn(a.Addr(1), size)
	if e != 0 {
		return 0, e
	}
	for i := 0; i < size; i += 4 {
		set := uint32(math.MaxUint32)
		if i >= 12 {
			set = 1<<(41-32) - 1 // bits of capabilities that do not exist are ignored
		}
		if binary.LittleEndian.Uint32(sets[i:])&set != 0 {
			return 0, linux.EPERM
		}
	}
	return 0, 0
}

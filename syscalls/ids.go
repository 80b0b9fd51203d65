package syscalls

// Everything about identity is made up: one user, one group, one session.

func sysGetpid(t *Thread, _ Args) (uint64, Errno)  { return uint64(t.p.pid), 0 }
func sysGettid(t *Thread, _ Args) (uint64, Errno)  { return uint64(t.tid), 0 }
func sysGetuid(t *Thread, _ Args) (uint64, Errno)  { return uint64(t.k.uid), 0 }
func sysGetgid(t *Thread, _ Args) (uint64, Errno)  { return uint64(t.k.gid), 0 }
func sysGetpgrp(t *Thread, _ Args) (uint64, Errno) { return uint64(t.p.pid), 0 }

// sysGetppid implements getppid(2).
func sysGetppid(t *Thread, _ Args) (uint64, Errno) { return uint64(parentPID), 0 }

// parentPID is the shell that is not there.
const parentPID = DefaultPID - 1

// sysGetpgid implements getpgid(2) and getsid(2).
func sysGetpgid(t *Thread, a Args) (uint64, Errno) {
	if pid := a.Int(0); pid != 0 && pid != t.p.pid && pid != parentPID {
		return 0, ESRCH
	}
	return uint64(t.p.pid), 0
}

// sysSetpgid implements setpgid(2).
func sysSetpgid(t *Thread, a Args) (uint64, Errno) {
	pid, pgid := a.Int(0), a.Int(1)
	switch {
	case pgid < 0:
		return 0, EINVAL
	case pid != 0 && pid != t.p.pid:
		return 0, ESRCH
	case pgid != 0 && pgid != t.p.pid:
		return 0, EPERM
	}
	return 0, 0
}

// sysSetsid implements setsid(2): the process leads its group already.
func sysSetsid(*Thread, Args) (uint64, Errno) { return 0, EPERM }

// sysSetuid implements setuid(2): to what one is.
func sysSetuid(t *Thread, a Args) (uint64, Errno) { return 0, allAre(t.k.uid, a.U32(0)) }

// sysSetgid implements setgid(2).
func sysSetgid(t *Thread, a Args) (uint64, Errno) { return 0, allAre(t.k.gid, a.U32(0)) }

// sysSetreuid implements setreuid(2).
func sysSetreuid(t *Thread, a Args) (uint64, Errno) {
	return 0, allAre(t.k.uid, a.U32(0), a.U32(1))
}

// sysSetregid implements setregid(2).
func sysSetregid(t *Thread, a Args) (uint64, Errno) {
	return 0, allAre(t.k.gid, a.U32(0), a.U32(1))
}

// sysSetresuid implements setresuid(2).
func sysSetresuid(t *Thread, a Args) (uint64, Errno) {
	return 0, allAre(t.k.uid, a.U32(0), a.U32(1), a.U32(2))
}

// sysSetresgid implements setresgid(2).
func sysSetresgid(t *Thread, a Args) (uint64, Errno) {
	return 0, allAre(t.k.gid, a.U32(0), a.U32(1), a.U32(2))
}

// allAre is EPERM unless all ids are own, or -1, which leaves an id as it is.
func allAre(own uint32, ids ...uint32) Errno {
	const leave = 1<<32 - 1
	for _, id := range ids {
		if id != leave && id != own {
			return EPERM
		}
	}
	return 0
}

// sysSetfsuid implements setfsuid(2), which returns the old id.
func sysSetfsuid(t *Thread, _ Args) (uint64, Errno) { return uint64(t.k.uid), 0 }

// sysSetfsgid implements setfsgid(2).
func sysSetfsgid(t *Thread, _ Args) (uint64, Errno) { return uint64(t.k.gid), 0 }

// sysGetresuid implements getresuid(2).
func sysGetresuid(t *Thread, a Args) (uint64, Errno) { return t.threeIDs(a, t.k.uid) }

// sysGetresgid implements getresgid(2).
func sysGetresgid(t *Thread, a Args) (uint64, Errno) { return t.threeIDs(a, t.k.gid) }

func (t *Thread) threeIDs(a Args, id uint32) (uint64, Errno) {
	for i := range 3 {
		if e := t.out32(a.Addr(i), id); e != 0 {
			return 0, e
		}
	}
	return 0, 0
}

// sysGetgroups implements getgroups(2): the one group.
func sysGetgroups(t *Thread, a Args) (uint64, Errno) {
	switch n := a.Int(0); {
	case n < 0:
		return 0, EINVAL
	case n > 0:
		return 1, t.out32(a.Addr(1), t.k.gid)
	}
	return 1, 0
}

// sysCapget implements capget(2): no capabilities.
func sysCapget(t *Thread, a Args) (uint64, Errno) {
	const version3 = 0x20080522
	v, e := t.in32(a.Addr(0))
	if e != 0 {
		return 0, e
	}
	if v != version3 && v != 0x20071026 && v != 0x19980330 {
		if e := t.out32(a.Addr(0), version3); e != 0 {
			return 0, e
		}
		if a.Addr(1) == 0 {
			return 0, 0
		}
		return 0, EINVAL
	}
	size := 24
	if v == 0x19980330 {
		size = 12
	}
	return 0, t.copyOutIf(a.Addr(1), make([]byte, size))
}

package syscalls

// Everything about identity is made up: one user, one group, one session.

func sysGetpid(t *Thread, _ Args) (uint64, Errno)  { return uint64(t.p.pid), 0 }
func sysGettid(t *Thread, _ Args) (uint64, Errno)  { return uint64(t.tid), 0 }
func sysGetuid(*Thread, Args) (uint64, Errno)      { return DefaultUID, 0 }
func sysGetgid(*Thread, Args) (uint64, Errno)      { return DefaultGID, 0 }
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

// sysSetuid implements setuid(2) and setgid(2): to what one is.
func sysSetuid(_ *Thread, a Args) (uint64, Errno) {
	if a.U32(0) != DefaultUID {
		return 0, EPERM
	}
	return 0, 0
}

// sysSetreuid implements setreuid(2), setregid(2), setresuid(2) and setresgid(2).
func sysSetreuid(_ *Thread, a Args) (uint64, Errno) { return 0, ownIDs(a.U32(0), a.U32(1)) }

func sysSetresuid(_ *Thread, a Args) (uint64, Errno) {
	return 0, ownIDs(a.U32(0), a.U32(1), a.U32(2))
}

func ownIDs(ids ...uint32) Errno {
	const leave = 1<<32 - 1
	for _, id := range ids {
		if id != leave && id != DefaultUID {
			return EPERM
		}
	}
	return 0
}

// sysSetfsuid implements setfsuid(2) and setfsgid(2), which return the old id.
func sysSetfsuid(*Thread, Args) (uint64, Errno) { return DefaultUID, 0 }

// sysGetresuid implements getresuid(2) and getresgid(2).
func sysGetresuid(t *Thread, a Args) (uint64, Errno) {
	for i := range 3 {
		if e := t.out32(a.Addr(i), DefaultUID); e != 0 {
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
		return 1, t.out32(a.Addr(1), DefaultGID)
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
